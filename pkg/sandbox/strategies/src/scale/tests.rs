//! Tests, after TestScaleGet and TestScaleUpdate of upstream's storages.

use serde_json::{Value, json};

use super::{columns, read, row, selector, write};
use crate::fixture::lines;

fn object(kind: &str, spec: &Value) -> Value {
    json!({
        "kind": kind,
        "metadata": {
            "name": "web",
            "namespace": "shop",
            "uid": "1-2",
            "resourceVersion": "7",
            "creationTimestamp": "2024-05-01T12:00:00Z",
            "labels": { "a": "b" },
        },
        "spec": spec,
        "status": { "replicas": 2 },
    })
}

#[test]
fn scales() {
    let set = json!({ "matchLabels": { "b": "1", "a": "2" } });
    let expressions = json!({ "matchExpressions": [{ "key": "a", "operator": "DoesNotExist" }] });
    let rows = [
        ("Deployment", json!({ "replicas": 3, "selector": set }), json!(3), json!("a=2,b=1")),
        ("ReplicaSet", json!({ "replicas": 1, "selector": expressions }), json!(1), json!("!a")),
        ("StatefulSet", json!({ "replicas": 0 }), json!(null), json!(null)),
        (
            "ReplicationController",
            json!({ "replicas": 1, "selector": { "b": "1", "a": "2" } }),
            json!(1),
            json!("a=2,b=1"),
        ),
    ];
    for (kind, spec, replicas, selected) in rows {
        let scale = read(&object(kind, &spec)).unwrap();
        let mut expected = json!({
            "kind": "Scale",
            "apiVersion": "autoscaling/v1",
            "metadata": {
                "name": "web",
                "namespace": "shop",
                "uid": "1-2",
                "resourceVersion": "7",
                "creationTimestamp": "2024-05-01T12:00:00Z",
            },
            "spec": { "replicas": replicas },
            "status": { "replicas": 2, "selector": selected },
        });
        for (part, field) in [("spec", "replicas"), ("status", "selector")] {
            let part = expected.get_mut(part).unwrap().as_object_mut().unwrap();
            part.retain(|name, value| name != field || !value.is_null());
        }
        assert_eq!(scale, expected, "{kind}");
    }
    let broken = json!({ "selector": { "matchExpressions": [{ "key": "a", "operator": "Is" }] } });
    assert_eq!(read(&object("Deployment", &broken)), None);
    assert_eq!(selector(&object("ReplicationController", &json!({}))).as_deref(), Some(""));
}

#[test]
fn writes() {
    for (scale, replicas, faults) in [
        (json!({ "spec": { "replicas": 5 } }), 5, vec![]),
        (json!({ "spec": {} }), 0, vec![]),
        (json!({}), 0, vec![]),
        (
            json!({ "spec": { "replicas": -1 } }),
            3,
            vec!["spec.replicas invalid -1: must be greater than or equal to 0"],
        ),
    ] {
        let mut object = object("Deployment", &json!({ "replicas": 3, "paused": true }));
        assert_eq!(lines(&write(&mut object, &scale)), faults);
        let expected = json!({ "replicas": replicas, "paused": true });
        assert_eq!(object.get("spec"), Some(&expected), "{scale}");
    }
}

/// TestPrintScale
#[test]
fn columns_are_those_of_a_scale() {
    let scale = json!({
        "metadata": { "name": "web", "creationTimestamp": "2026-01-01T00:00:00Z" },
        "spec": { "replicas": 3 },
        "status": { "replicas": 2 },
    });
    let now = api::Time::parse("2026-01-01T00:00:10Z").unwrap();
    assert_eq!(row(&scale, now), [json!("web"), json!(3), json!(2), json!("10s")]);
    let names: Vec<_> = columns().iter().map(|it| it.name).collect();
    assert_eq!(names, ["Name", "Desired", "Available", "Age"]);
}
