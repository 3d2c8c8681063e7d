//! Nodes, taints, tolerations and node selectors.

use serde_json::{Value, json};

use crate::scheduling::WirePlacement;
use crate::*;

use super::labels;

fn placement(spec: Value) -> Placement {
    serde_json::from_value::<WirePlacement>(spec).unwrap().view()
}

fn affinity(terms: &Value) -> Value {
    json!({"affinity": {"nodeAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms},
    }}})
}

#[test]
fn upstreams_bytes_of_a_node_are_read_from_both_codecs() {
    let protobuf = Node::decode(Codec::Protobuf, include_bytes!("../../testdata/node.pb"));
    let json = Node::decode(Codec::Json, include_bytes!("../../testdata/node.json"));
    let node = protobuf.unwrap();
    assert_eq!(json.as_ref(), Ok(&node));
    assert_eq!((&node.meta.key, node.meta.resource_version), (&Key::new("", "node-1"), 77));
    assert_eq!(node.meta.labels, labels(&[("kubernetes.io/hostname", "node-1"), ("zone", "a")]));
    let noon = Some(Time::parse("2024-05-01T12:00:00Z").unwrap());
    let unschedulable = Taint::new("node.kubernetes.io/unschedulable", "", Effect::NoSchedule);
    assert_eq!(
        *node.taints,
        [
            Taint { added: noon, ..unschedulable },
            Taint::new("dedicated", "db", Effect::NoExecute),
            Taint::new("soft", "1", Effect::PreferNoSchedule),
        ]
    );
    assert_eq!((node.ready, node.ttl.as_deref()), (Some(Status::True), Some("15")));
    let conditions: Vec<_> = node.conditions.iter().map(|it| (&*it.r#type, it.status)).collect();
    assert_eq!(conditions, [("MemoryPressure", Status::False), ("Ready", Status::True)]);
    assert_eq!(node.condition("Ready").and_then(|ready| ready.heartbeat), noon);
}

/// The node is read from the first required `matchFields` entry, not from labels or preferences.
#[test]
fn the_node_of_a_daemon_pod_is_read_from_both_codecs() {
    let protobuf = Pod::decode(Codec::Protobuf, include_bytes!("../../testdata/daemon-pod.pb"));
    let json = Pod::decode(Codec::Json, include_bytes!("../../testdata/daemon-pod.json"));
    let pod = protobuf.unwrap();
    assert_eq!(json.as_ref(), Ok(&pod));
    assert_eq!((pod.node_name, pod.target_node), (None, Some("node-7".into())));
    assert_eq!((pod.phase, pod.evicted), (Phase::Failed, true));
}

fn toleration(key: &str, operator: &str, value: &str, effect: &str) -> Toleration {
    Toleration {
        key: key.to_owned(),
        operator: operator.to_owned(),
        value: value.to_owned(),
        effect: effect.to_owned(),
        seconds: None,
    }
}

/// Rows of upstream's TestTolerationToleratesTaint (k8s.io/api/core/v1/toleration_test.go).
#[test]
fn tolerations_tolerate_as_upstreams() {
    let foo = Taint::new("foo", "bar", Effect::NoSchedule);
    for (row, toleration, tolerated) in [
        (
            "same key, operator Exists, same effect",
            toleration("foo", "Exists", "", "NoSchedule"),
            true,
        ),
        ("same key, Exists, any effect", toleration("foo", "Exists", "", ""), true),
        ("any key, Exists", toleration("", "Exists", "", ""), true),
        ("same key, Exists, other effect", toleration("foo", "Exists", "", "NoExecute"), false),
        ("other key, Exists", toleration("moo", "Exists", "", "NoSchedule"), false),
        ("same key, Equal, same value", toleration("foo", "Equal", "bar", "NoSchedule"), true),
        ("no operator means Equal", toleration("foo", "", "bar", ""), true),
        ("same key, Equal, other value", toleration("foo", "Equal", "baz", "NoSchedule"), false),
        ("any key, Equal, same value", toleration("", "Equal", "bar", ""), true),
        ("a comparison while its gate is off", toleration("foo", "Gt", "bar", ""), false),
    ] {
        assert_eq!(toleration.tolerates(&foo), tolerated, "{row}");
    }
    let soft = Taint::new("x", "", Effect::parse("Whatever"));
    assert!(!toleration("x", "Exists", "", "NoSchedule").tolerates(&soft));
}

/// Rows of upstream's TestTolerationToleratesTaint of the operators that compare
/// (k8s.io/api/core/v1/toleration_test.go), and of TestIsDecimalInteger.
#[test]
fn numbers_are_compared_as_upstream() {
    for (operator, value, taint, tolerated) in [
        ("Gt", "950", "999", true),
        ("Gt", "950", "950", false),
        ("Gt", "950", "800", false),
        ("Lt", "950", "800", true),
        ("Lt", "950", "950", false),
        ("Lt", "950", "999", false),
        ("Lt", "5", "-5", true),
        ("Gt", "-9223372036854775808", "9223372036854775807", true),
        ("Gt", "1", "9223372036854775808", false),
        ("Gt", "0950", "999", false),
        ("Gt", "950", "+999", false),
        ("Gt", "950", "0999", false),
        ("Lt", "1", "-0", false),
        ("Gt", "950", "high", false),
        ("Gt", "", "999", false),
        ("Gt", "950", "", false),
        ("Exists", "950", "999", false),
        ("Equal", "950", "950", false),
    ] {
        let found = Taint::new("sla", taint, Effect::NoSchedule);
        let by_number =
            |key, effect| toleration(key, operator, value, effect).tolerates_by_number(&found);
        for (key, effect, matches) in [
            ("sla", "NoSchedule", true),
            ("", "", true),
            ("other", "NoSchedule", false),
            ("sla", "NoExecute", false),
        ] {
            assert_eq!(by_number(key, effect), tolerated && matches, "{value} {operator} {taint}");
        }
    }
}

/// Rows of upstream's TestNodeSelectorMatch and TestPodMatchesNodeSelectorAndAffinityTerms
/// (component-helpers/scheduling/corev1/nodeaffinity/nodeaffinity_test.go).
#[test]
fn nodes_are_selected_as_upstreams() {
    let expression = |key: &str, operator: &str, values: &[&str]| {
        let requirement = json!({"key": key, "operator": operator, "values": values});
        json!({ "matchExpressions": [requirement] })
    };
    let field = |operator: &str, values: &[&str]| {
        let requirement = json!({"key": "metadata.name", "operator": operator, "values": values});
        json!({ "matchFields": [requirement] })
    };
    let both = json!({
        "matchExpressions": [{"key": "foo", "operator": "In", "values": ["bar"]}],
        "matchFields": [{"key": "metadata.name", "operator": "In", "values": ["other"]}],
    });
    let rows: &[(&str, Value, bool)] = &[
        ("nothing asked for", json!({}), true),
        ("nodeSelector holds", json!({"nodeSelector": {"foo": "bar"}}), true),
        ("nodeSelector without such a label", json!({"nodeSelector": {"moo": "bar"}}), false),
        ("nodeSelector with another value", json!({"nodeSelector": {"foo": "baz"}}), false),
        ("no terms at all", affinity(&json!([])), false),
        ("an empty term", affinity(&json!([{}])), false),
        ("terms that are null", affinity(&Value::Null), false),
        ("no required affinity", json!({"affinity": {"nodeAffinity": {}}}), true),
        ("In", affinity(&json!([expression("foo", "In", &["x", "bar"])])), true),
        ("NotIn", affinity(&json!([expression("foo", "NotIn", &["bar"])])), false),
        (
            "NotIn of an absent label",
            affinity(&json!([expression("moo", "NotIn", &["bar"])])),
            true,
        ),
        ("Exists", affinity(&json!([expression("foo", "Exists", &[])])), true),
        ("DoesNotExist", affinity(&json!([expression("foo", "DoesNotExist", &[])])), false),
        ("Gt", affinity(&json!([expression("gen", "Gt", &["6"])])), true),
        ("Gt itself", affinity(&json!([expression("gen", "Gt", &["7"])])), false),
        ("Lt", affinity(&json!([expression("gen", "Lt", &["8"])])), true),
        ("Gt of a word", affinity(&json!([expression("foo", "Gt", &["6"])])), false),
        ("Gt of two", affinity(&json!([expression("gen", "Gt", &["1", "2"])])), false),
        ("Exists with values", affinity(&json!([expression("foo", "Exists", &["x"])])), false),
        ("an invalid value", affinity(&json!([expression("foo", "NotIn", &["*"])])), false),
        ("an unknown operator", affinity(&json!([expression("foo", "Near", &["bar"])])), false),
        ("the name", affinity(&json!([field("In", &["node-1"])])), true),
        ("another name", affinity(&json!([field("In", &["node-2"])])), false),
        ("not another name", affinity(&json!([field("NotIn", &["node-2"])])), true),
        ("two names are invalid", affinity(&json!([field("In", &["node-1", "node-2"])])), false),
        ("a field is not asked whether it exists", affinity(&json!([field("Exists", &[])])), false),
        ("labels and fields are both asked for", affinity(&json!([both])), false),
        (
            "one of several terms, though another is invalid",
            affinity(&json!([expression("foo", "Near", &[]), field("In", &["node-1"])])),
            true,
        ),
    ];
    let node_labels = labels(&[("foo", "bar"), ("gen", "7")]);
    for (row, spec, matches) in rows {
        assert_eq!(placement(spec.clone()).matches("node-1", &node_labels), *matches, "{row}");
    }
    let mut spec = affinity(&json!([field("In", &["node-1"])]));
    spec["nodeSelector"] = json!({"foo": "baz"});
    assert!(!placement(spec).matches("node-1", &node_labels), "selector and affinity must hold");
}
