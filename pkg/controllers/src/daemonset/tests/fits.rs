//! Whether a node should have a pod.

use controller::fixture::decode;
use serde_json::{Value, json};

use super::super::fit::{Fit, fit};
use super::{labelled, node, set, tainted, template};

fn affinity(values: &Value) -> Value {
    let term = json!({"matchExpressions": [{"key": "type", "operator": "In", "values": values}]});
    json!({"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution":
        {"nodeSelectorTerms": [term]}}}})
}

fn tolerating(key: &str, effect: &str) -> Value {
    json!({"tolerations": [{"key": key, "operator": "Exists", "effect": effect}]})
}

#[test]
fn a_node_should_have_a_pod_if_it_matches_and_its_taints_are_tolerated() {
    let plain = || labelled(node("test-node"), &json!({"type": "production"}));
    let with_taint = |key, effect| tainted(plain(), key, effect);
    let by_condition = |name: &str| format!("node.kubernetes.io/{name}");
    let rows: &[(&str, Value, Value, Fit)] = &[
        // TestNodeShouldRunDaemonPod
        ("ShouldRunDaemonPod", json!({}), plain(), Fit::Run),
        ("ErrPodNotMatchHostName", json!({"nodeName": "other-node"}), plain(), Fit::Leave),
        ("the host name matches", json!({"nodeName": "test-node"}), plain(), Fit::Run),
        ("ErrNodeSelectorNotMatch", json!({"nodeSelector": {"type": "x"}}), plain(), Fit::Leave),
        ("selector", json!({"nodeSelector": {"type": "production"}}), plain(), Fit::Run),
        ("ErrPodAffinityNotMatch", affinity(&json!(["test"])), plain(), Fit::Leave),
        ("affinity", affinity(&json!(["production"])), plain(), Fit::Run),
        (
            "ShouldRunDaemonPodOnUnschedulableNode",
            json!({}),
            with_taint(&by_condition("unschedulable"), "NoSchedule"),
            Fit::Run,
        ),
        // TestNoScheduleTaintedDoesntEvicitRunningIntolerantPod, TestTaintedNodeDaemonDoesNot…
        ("NoSchedule", json!({}), with_taint("foo", "NoSchedule"), Fit::Stay),
        // TestNoExecuteTaintedDoesEvicitRunningIntolerantPod
        ("NoExecute", json!({}), with_taint("foo", "NoExecute"), Fit::Leave),
        ("PreferNoSchedule", json!({}), with_taint("foo", "PreferNoSchedule"), Fit::Run),
        // TestTaintedNodeDaemonLaunchesToleratePod, TestNodeDaemonLaunchesToleratePod
        ("tolerated", tolerating("foo", "NoSchedule"), with_taint("foo", "NoSchedule"), Fit::Run),
        (
            "only NoSchedule is tolerated",
            tolerating("foo", "NoSchedule"),
            with_taint("foo", "NoExecute"),
            Fit::Leave,
        ),
        // TestNotReadyNodeDaemonLaunchesPod
        ("not ready", json!({}), with_taint(&by_condition("not-ready"), "NoExecute"), Fit::Run),
        // TestUnreachableNodeDaemonLaunchesPod
        ("unreachable", json!({}), with_taint(&by_condition("unreachable"), "NoExecute"), Fit::Run),
        // TestTaintPressureNodeDaemonLaunchesPod
        ("disk", json!({}), with_taint(&by_condition("disk-pressure"), "NoSchedule"), Fit::Run),
        ("memory", json!({}), with_taint(&by_condition("memory-pressure"), "NoSchedule"), Fit::Run),
        ("pids", json!({}), with_taint(&by_condition("pid-pressure"), "NoSchedule"), Fit::Run),
        // TestNetworkUnavailableNodeDaemonLaunchesPod
        (
            "no network, and the host's is used",
            json!({"hostNetwork": true}),
            with_taint(&by_condition("network-unavailable"), "NoSchedule"),
            Fit::Run,
        ),
        (
            "no network",
            json!({}),
            with_taint(&by_condition("network-unavailable"), "NoSchedule"),
            Fit::Stay,
        ),
    ];
    for (name, spec, node, want) in rows {
        let set = decode(&template(set(), spec));
        assert_eq!(fit(&set, &decode(node), false), *want, "{name}");
    }
}

#[test]
fn of_several_taints_each_counts() {
    let taints = json!([{"key": "a", "effect": "NoSchedule"}, {"key": "b", "effect": "NoExecute"}]);
    let node = controller::fixture::with(node("n"), json!({"spec": {"taints": taints}}));
    assert_eq!(fit(&decode(&set()), &decode(&node), false), Fit::Leave);
    let tolerant = template(set(), &tolerating("b", "NoExecute"));
    assert_eq!(fit(&decode(&tolerant), &decode(&node), false), Fit::Stay);
}

/// TestNodeShouldRunDaemonPod's rows of the gate `TaintTolerationComparisonOperators`.
#[test]
fn tolerations_that_compare_count_with_the_gate_alone() {
    let toleration = json!({"key": "sla", "operator": "Gt", "value": "90", "effect": "NoExecute"});
    let set = decode(&template(set(), &json!({"tolerations": [toleration]})));
    let node = |value: &str| {
        let taint = json!({"key": "sla", "value": value, "effect": "NoExecute"});
        decode(&controller::fixture::with(node("n"), json!({"spec": {"taints": [taint]}})))
    };
    assert_eq!(fit(&set, &node("95"), true), Fit::Run);
    assert_eq!(fit(&set, &node("85"), true), Fit::Leave);
    assert_eq!(fit(&set, &node("95"), false), Fit::Leave);
}
