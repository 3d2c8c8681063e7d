//! Which taints and labels nodes get.

use controller::fixture::{body, with};
use controller::{Action, Plan, Step, Write};
use serde_json::{Value, json};

use super::world::{World, bare, node};

/// The patch of a plan; null: there is none.
fn patched(plan: &Plan) -> Value {
    let actions = plan.steps.iter().flat_map(|step| match step {
        Step::InOrder(actions) => actions.as_slice(),
        Step::Together(_) | Step::SlowStart(_) | Step::Chains(_) | Step::Fetch(_) => &[],
    });
    let mut writes = actions.filter_map(Action::write);
    writes.next().map_or(Value::Null, |write: &Write| body(write))
}

/// The taints after a look, each as `key:effect`; null: they stay.
fn taints(plan: &Plan) -> Value {
    let short = |it: &Value| {
        let key = it["key"].as_str().unwrap_or_default();
        let key = key.trim_start_matches("node.kubernetes.io/");
        format!("{key}:{}", it["effect"].as_str().unwrap_or_default())
    };
    let patch = patched(plan);
    let taints = patch["spec"]["taints"].as_array();
    taints.map_or(Value::Null, |taints| taints.iter().map(short).collect())
}

fn conditions(all: &[(&str, &str)]) -> Value {
    let all: Vec<_> = all.iter().map(|(name, is)| json!({"type": name, "status": is})).collect();
    json!({"status": {"conditions": all}})
}

/// TestTaintsNodeByCondition.
#[test]
fn conditions_keep_new_pods_away() {
    let ready = ("Ready", "True");
    for (name, conditions, tainted, expected) in [
        (
            "NetworkUnavailable is true",
            conditions(&[ready, ("NetworkUnavailable", "True")]),
            json!([]),
            json!(["network-unavailable:NoSchedule"]),
        ),
        (
            "NetworkUnavailable and OutOfDisk are true",
            conditions(&[ready, ("NetworkUnavailable", "True"), ("OutOfDisk", "True")]),
            json!([]),
            json!(["network-unavailable:NoSchedule"]),
        ),
        (
            "NetworkUnavailable is true, OutOfDisk is unknown",
            conditions(&[ready, ("NetworkUnavailable", "True"), ("OutOfDisk", "Unknown")]),
            json!([]),
            json!(["network-unavailable:NoSchedule"]),
        ),
        (
            "Ready is false",
            conditions(&[("Ready", "False")]),
            json!([]),
            json!(["not-ready:NoSchedule"]),
        ),
        (
            "Ready is unknown",
            conditions(&[("Ready", "Unknown")]),
            json!([]),
            json!(["unreachable:NoSchedule"]),
        ),
        (
            "all pressures, and cordoned",
            with(
                conditions(&[
                    ready,
                    ("MemoryPressure", "True"),
                    ("DiskPressure", "True"),
                    ("PIDPressure", "True"),
                ]),
                json!({"spec": {"unschedulable": true}}),
            ),
            json!([]),
            json!([
                "memory-pressure:NoSchedule",
                "disk-pressure:NoSchedule",
                "pid-pressure:NoSchedule",
                "unschedulable:NoSchedule"
            ]),
        ),
        (
            "what is over goes, what others have added stays",
            conditions(&[ready]),
            json!([
                {"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"},
                {"key": "dedicated", "value": "db", "effect": "NoSchedule"},
                {"key": "node.kubernetes.io/memory-pressure", "effect": "NoExecute"},
            ]),
            json!(["dedicated:NoSchedule", "memory-pressure:NoExecute"]),
        ),
        ("all is well", conditions(&[ready]), json!([]), Value::Null),
    ] {
        let mut node = with(bare("node0", 0), conditions);
        node["spec"]["taints"] = tainted;
        let mut world = World::new();
        world.node(&node);
        assert_eq!(taints(&world.plan("node0")), expected, "{name}");
    }
}

/// TestApplyNoExecuteTaints, …ToUnreachableNode, …EnqueueTwice and
/// TestSwapUnreachableNotReadyTaints.
#[test]
fn taints_that_evict_come_in_turn_and_are_swapped_at_once() {
    let (other, ready) = (node("node1", "True", 0), node("node0", "True", 0));
    let tainted = |ready: &str, keys: &[&str]| {
        let all = keys.iter().flat_map(|key| {
            let key = format!("node.kubernetes.io/{key}");
            [
                json!({"key": key, "effect": "NoSchedule"}),
                json!({"key": key, "effect": "NoExecute"}),
            ]
        });
        let all: Vec<_> = all.collect();
        with(node("node0", ready, 0), json!({"spec": {"taints": all}}))
    };
    let mut world = World::with(&[ready, other]);
    world.node(&node("node0", "False", 1));
    assert_eq!(taints(&world.plan("node0")), json!(["not-ready:NoSchedule"]), "not yet");
    world.look("node0");
    let enqueued = world.zones();
    assert!(enqueued.starts_with("now node0\n"), "{enqueued}");
    let plan = world.plan("node0");
    assert_eq!(taints(&plan), json!(["not-ready:NoSchedule", "not-ready:NoExecute"]));
    let Step::InOrder(actions) = &plan.steps[0] else { panic!("{plan}") };
    let counts = &actions[0].write().unwrap().counts;
    assert_eq!(counts.len(), 1, "an eviction is counted");
    world.look("node0");
    world.node(&tainted("False", &["not-ready"]));
    assert_eq!(taints(&world.plan("node0")), Value::Null);
    // Without a token of the zone.
    world.node(&tainted("Unknown", &["not-ready"]));
    let plan = world.plan("node0");
    assert_eq!(taints(&plan), json!(["unreachable:NoSchedule", "unreachable:NoExecute"]));
    let Step::InOrder(actions) = &plan.steps[0] else { panic!("{plan}") };
    assert!(actions[0].write().unwrap().counts.is_empty(), "a swap is no eviction");
    world.node(&tainted("True", &["unreachable"]));
    assert_eq!(taints(&world.plan("node0")), json!([]));
    // A successor leaves what is right.
    let mut next = World::new();
    next.node(&tainted("False", &["not-ready"]));
    assert_eq!(taints(&next.plan("node0")), Value::Null);
    // One that has never reported.
    let mut world = World::with(&[bare("node0", 0)]);
    world.zones();
    assert_eq!(taints(&world.plan("node0")), Value::Null);
}

/// TestReconcileNodeLabels.
#[test]
fn old_labels_follow_the_new_ones() {
    let (os, arch) = ("beta.kubernetes.io/os", "beta.kubernetes.io/arch");
    for (name, labels, expected) in [
        ("No-op if node has no labels", Value::Null, Value::Null),
        (
            "No-op if no target labels present",
            json!({"topology.kubernetes.io/region": "region1"}),
            Value::Null,
        ),
        (
            "Create OS/arch beta labels when they don't exist",
            json!({"kubernetes.io/os": "linux", "kubernetes.io/arch": "amd64"}),
            json!({os: "linux", arch: "amd64"}),
        ),
        (
            "Reconcile OS/arch beta labels to match stable labels",
            json!({os: "windows", arch: "arm", "kubernetes.io/os": "linux",
                "kubernetes.io/arch": "amd64"}),
            json!({os: "linux", arch: "amd64"}),
        ),
        ("an old one alone stays", json!({ os: "windows" }), Value::Null),
    ] {
        let mut node = bare("node0", 0);
        node["metadata"]["labels"] = labels;
        let mut world = World::new();
        world.node(&node);
        assert_eq!(patched(&world.plan("node0"))["metadata"]["labels"], expected, "{name}");
    }
}

/// Of the taints the list is one value: others may have changed it.
#[test]
fn taints_are_written_on_the_version_that_was_decided_on() {
    let mut world = World::new();
    let added = "2024-01-01T00:00:00Z";
    let taint = json!({"key": "a", "value": "b", "effect": "NoExecute", "timeAdded": added});
    world.node(&with(node("node0", "False", 0), json!({"spec": {"taints": [taint]}})));
    let patch = patched(&world.plan("node0"));
    assert_eq!(patch["metadata"], json!({"uid": "u-node0", "resourceVersion": "7"}));
    assert_eq!(patch["spec"]["taints"][0], taint, "nothing of it is lost");
}
