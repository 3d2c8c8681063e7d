//! What new pods look like.

use api::{DaemonSet, Text};
use controller::Action;
use controller::fixture::{self, decode, with};
use serde_json::{Value, json};

use super::super::template::creates;
use super::{set, template};

fn made(set: &Value, nodes: &[&str]) -> Vec<Value> {
    let nodes: Vec<Text> = nodes.iter().map(|node| Text::from(*node)).collect();
    let set = decode::<DaemonSet>(set);
    let bodies = creates(&set, &nodes, "abc").unwrap().into_iter().map(|action| {
        let Action::Write(create) = action else { panic!("{action}") };
        fixture::body(&create)
    });
    bodies.collect()
}

fn terms(node: &str) -> Value {
    json!([{"matchFields": [{"key": "metadata.name", "operator": "In", "values": [node]}]}])
}

fn toleration(name: &str, effect: &str) -> Value {
    json!({"key": format!("node.kubernetes.io/{name}"), "operator": "Exists", "effect": effect})
}

/// TestCreatePodTemplate, TestReplaceDaemonSetPodNodeNameNodeAffinity.
#[test]
fn a_pod_is_the_template_pinned_to_its_node() {
    let [pod, other] = made(&set(), &["node-1", "node-2"]).try_into().unwrap();
    let owner = json!({"apiVersion": "apps/v1", "kind": "DaemonSet", "name": "foo", "uid": "u1",
        "controller": true, "blockOwnerDeletion": true});
    let pod_on = |node: &str| {
        json!({
            "apiVersion": "v1", "kind": "Pod",
            "metadata": {
                "generateName": "foo-", "ownerReferences": [owner],
                "labels": {"name": "simple-daemon", "controller-revision-hash": "abc"},
            },
            "spec": {
                "containers": [{"name": "main", "image": "foo/bar"}],
                "affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution":
                    {"nodeSelectorTerms": terms(node)}}},
                "tolerations": [
                    toleration("not-ready", "NoExecute"),
                    toleration("unreachable", "NoExecute"),
                    toleration("disk-pressure", "NoSchedule"),
                    toleration("memory-pressure", "NoSchedule"),
                    toleration("pid-pressure", "NoSchedule"),
                    toleration("unschedulable", "NoSchedule"),
                ],
            },
        })
    };
    assert_eq!(pod, pod_on("node-1"));
    assert_eq!(other, pod_on("node-2"));
}

/// TestCreatePodTemplate: the label of old is there if the annotation is a number.
#[test]
fn a_pod_carries_the_template_generation_if_the_set_has_one() {
    let with_generation = |text: &str| {
        let annotations = json!({"deprecated.daemonset.template.generation": text});
        let set = with(set(), json!({"metadata": {"annotations": annotations}}));
        made(&set, &["n"])[0]["metadata"]["labels"]["pod-template-generation"].clone()
    };
    assert_eq!(with_generation("42"), json!("42"));
    assert_eq!(with_generation("x"), Value::Null);
}

/// TestReplaceDaemonSetPodNodeNameNodeAffinity: required terms are removed, everything else stays.
#[test]
fn required_node_affinity_is_replaced_and_the_rest_kept() {
    let preferred = json!([{"weight": 1, "preference": {"matchExpressions": [
        {"key": "a", "operator": "Exists"}]}}]);
    let anti = json!({"requiredDuringSchedulingIgnoredDuringExecution": [{"topologyKey": "x"}]});
    let required = |terms: Value| json!({"nodeSelectorTerms": terms});
    let rows: &[(&str, Value)] = &[
        ("no affinity", Value::Null),
        ("an empty one", json!({})),
        ("without node affinity", json!({"podAntiAffinity": anti})),
        ("an empty node affinity", json!({"nodeAffinity": {}, "podAntiAffinity": anti})),
        (
            "preferred only",
            json!({"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": preferred}}),
        ),
        (
            "other fields",
            json!({"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": preferred,
                "requiredDuringSchedulingIgnoredDuringExecution": required(json!([
                    {"matchExpressions": [{"key": "a", "operator": "Exists"}]},
                    {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["b"]}]},
                ]))}, "podAntiAffinity": anti}),
        ),
    ];
    for (name, affinity) in rows {
        let pod = &made(&template(set(), &json!({"affinity": affinity})), &["node-1"])[0];
        let pinned = json!({"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution":
            required(terms("node-1"))}});
        let base = if affinity.is_null() { json!({}) } else { affinity.clone() };
        assert_eq!(pod["spec"]["affinity"], with(base, pinned), "{name}");
    }
}

/// AddOrUpdateTolerationInPodSpec compares all but the seconds, and replaces in place.
#[test]
fn tolerations_of_the_template_come_first_and_lose_their_seconds_where_they_are_the_same() {
    let mine = json!({"key": "mine", "operator": "Equal", "value": "v", "effect": "NoExecute",
        "tolerationSeconds": 5});
    let limited = with(toleration("unreachable", "NoExecute"), json!({"tolerationSeconds": 300}));
    let other = with(toleration("not-ready", "NoExecute"), json!({"operator": "Equal"}));
    let spec = json!({"hostNetwork": true, "tolerations": [limited, mine, other, limited]});
    let pod = &made(&template(set(), &spec), &["n"])[0];
    let unreachable = toleration("unreachable", "NoExecute");
    let want = json!([
        unreachable,
        mine,
        other,
        unreachable,
        toleration("not-ready", "NoExecute"),
        toleration("disk-pressure", "NoSchedule"),
        toleration("memory-pressure", "NoSchedule"),
        toleration("pid-pressure", "NoSchedule"),
        toleration("unschedulable", "NoSchedule"),
        toleration("network-unavailable", "NoSchedule"),
    ]);
    assert_eq!(pod["spec"]["tolerations"], want);
}

#[test]
fn texts_of_the_template_that_look_like_the_gap_for_the_node_stay() {
    let annotations = json!({"a": "<node>", "b": "<node>>"});
    let set =
        with(set(), json!({"spec": {"template": {"metadata": {"annotations": annotations}}}}));
    let pod = &made(&set, &["node-1"])[0];
    assert_eq!(pod["metadata"]["annotations"], annotations);
    let required = "/spec/affinity/nodeAffinity/requiredDuringSchedulingIgnoredDuringExecution";
    assert_eq!(pod.pointer(required).unwrap()["nodeSelectorTerms"], terms("node-1"));
}

#[test]
fn numbers_and_unknown_fields_of_the_template_stay_as_they_are() {
    let spec =
        json!({"terminationGracePeriodSeconds": 9_007_199_254_740_993_i64, "future": {"a": []}});
    let pod = &made(&template(set(), &spec), &["n"])[0];
    assert_eq!(pod["spec"]["terminationGracePeriodSeconds"], json!(9_007_199_254_740_993_i64));
    assert_eq!(pod["spec"]["future"], json!({"a": []}));
}
