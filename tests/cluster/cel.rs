//! The declarations that `pkg/cel` has, and the warnings that it is held to, are those of the
//! Kubernetes of go.mod.

use std::process::Command;

use cluster_tests::tool;

const DECLARATIONS: &[u8] = include_bytes!("../../pkg/cel/src/declarations.txt");
const WARNINGS: &[u8] = include_bytes!("../../pkg/cel/testdata/warnings.json.gz");

fn printed(args: &[&str]) -> Vec<u8> {
    let program = tool("cel").expect("`make cluster-tools` builds it");
    let made = Command::new(program).args(args).output().expect("it can be started");
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    made.stdout
}

#[test]
fn declarations_and_warnings_are_upstreams() {
    assert!(printed(&["declarations"]) == DECLARATIONS, "run `make cel`");
    assert!(printed(&["warnings", "1", "1500"]) == WARNINGS, "run `make cel`");
}
