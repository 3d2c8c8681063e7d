//! In what few kinds differ from all others.

use crate::{NameRule, Strategy, builtin};

/// The resources for which something does not hold, by plural.
fn except(holds: impl Fn(&dyn Strategy) -> bool) -> Vec<&'static str> {
    let rows = builtin().iter().filter(|row| !holds(row.strategy));
    let mut plurals: Vec<_> = rows.map(|row| row.plural).collect();
    plurals.sort_unstable();
    plurals.dedup();
    plurals
}

/// The name functions of pkg/apis/*/validation.
#[test]
fn names() {
    let with = |rule: NameRule| except(|kind| kind.name_rule() != rule);
    assert_eq!(with(NameRule::Label), ["namespaces", "services", "statefulsets"]);
    assert_eq!(with(NameRule::IpAddress), ["ipaddresses"]);
    let paths = [
        "apiservices",
        "certificatesigningrequests",
        "clusterrolebindings",
        "clusterroles",
        "events",
        "rolebindings",
        "roles",
    ];
    assert_eq!(with(NameRule::PathSegment), paths);
}

/// DefaultGarbageCollectionPolicy of the strategies in pkg/registry.
#[test]
fn propagation() {
    let with = |policy: &str| except(|kind| kind.default_propagation() != policy);
    assert_eq!(with("Orphan"), ["jobs", "replicationcontrollers"]);
    assert_eq!(with(""), ["events"]);
    let all = ["events", "jobs", "replicationcontrollers"];
    assert_eq!(except(|kind| kind.default_propagation() == "Background"), all);
}
