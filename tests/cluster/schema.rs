//! The table of the API's types is what upstream's documents and Go types say.

use cluster_tests::tool;
use std::process::Command;

const TYPES: &str = include_str!("../../pkg/sandbox/schema/src/types.txt");
const MODULE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/cluster/kube");

#[test]
fn table_of_types_is_upstreams() {
    let program = tool("schema").expect("`make cluster-tools` builds it");
    let made = Command::new(program).current_dir(MODULE).output();
    let made = made.expect("it can be started");
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    let made = String::from_utf8(made.stdout).expect("the table is text");
    // Not with `assert_eq`: three thousand lines, twice, would hide the ones that differ.
    let differing = TYPES.lines().zip(made.lines()).find(|(here, upstream)| here != upstream);
    assert!(made == TYPES, "run `make schema`; the table and upstream: {differing:#?}");
}
