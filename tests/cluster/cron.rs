//! The table of schedules that `pkg/api` is held to is what upstream's parser makes of it: that of
//! the Kubernetes of go.mod, with the zones of its Go. No fresh cases: where a zone changed its
//! rules after that Go was made, both are an hour apart.

use cluster_tests::tool;
use std::path::PathBuf;
use std::process::Command;

const CASES: &str = include_str!("../../pkg/api/testdata/cron.txt");
const MODULE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/cluster/kube");

/// What upstream makes of so many cases.
fn printed(seed: u64, cases: usize) -> String {
    let root = Command::new("go").args(["env", "GOROOT"]).current_dir(MODULE).output();
    let root = String::from_utf8(root.expect("Go can be started").stdout).expect("a path is text");
    let zones = PathBuf::from(root.trim()).join("lib/time/zoneinfo.zip");
    let (seed, cases) = (seed.to_string(), cases.to_string());
    let program = tool("cron").expect("`make cluster-tools` builds it");
    let made = Command::new(program).args([&seed, &cases]).env("ZONEINFO", zones).output();
    let made = made.expect("it can be started");
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    String::from_utf8(made.stdout).expect("the table is text")
}

fn differing<'a>(here: &'a str, upstream: &'a str) -> Vec<(&'a str, &'a str)> {
    here.lines()
        .zip(upstream.lines())
        .filter(|(here, upstream)| here != upstream)
        .take(10)
        .collect()
}

#[test]
fn table_of_schedules_is_upstreams() {
    let made = printed(1, 4000);
    let differing = differing(CASES, &made);
    assert!(made == CASES, "run `make cron`; the table and upstream: {differing:#?}");
}
