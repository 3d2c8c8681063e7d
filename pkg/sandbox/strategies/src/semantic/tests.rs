//! Tests: what apimachinery's equality.Semantic takes for equal, of what the types of k8s.io/api
//! make of JSON.

use serde_json::{Value, json};

use super::{changes, same, same_at};

/// What a row stands for, two values, and whether they say the same.
type Row = (&'static str, Value, Value, bool);

fn check<const COUNT: usize>(rows: [Row; COUNT]) {
    for (row, left, right, equal) in rows {
        assert_eq!(same(&left, &right), equal, "{row}");
        assert_eq!(same(&right, &left), equal, "{row}, turned around");
        assert_eq!(changes(&left, &right).is_empty(), equal, "{row}");
    }
}

#[test]
fn lists_and_fields() {
    check([
        ("nil slices and maps are empty ones", json!({ "a": [] }), json!({}), true),
        ("null is absent", json!({ "a": null }), json!({}), true),
        ("an item that is empty", json!([{ "a": [] }]), json!([{}]), true),
        ("an item more", json!([{}]), json!([]), false),
        ("order of items", json!([1, 2]), json!([2, 1]), false),
        ("a field more", json!({ "a": 1 }), json!({ "a": 1, "b": 2 }), false),
    ]);
}

#[test]
fn plain_values_and_pointers() {
    check([
        ("int32", json!({ "minReadySeconds": 0 }), json!({}), true),
        ("int32, not zero", json!({ "minReadySeconds": 1 }), json!({}), false),
        ("bool", json!({ "paused": false }), json!({}), true),
        ("bool, true", json!({ "paused": true }), json!({}), false),
        ("string", json!({ "subdomain": "" }), json!({ "subdomain": null }), true),
        ("*int32", json!({ "ttlSecondsAfterFinished": 0 }), json!({}), false),
        ("*int64", json!({ "runAsUser": 0 }), json!({}), false),
        ("*bool", json!({ "hostUsers": false }), json!({}), false),
        ("*string", json!({ "ingressClassName": "" }), json!({}), false),
        ("EnvVar.Value", json!({ "env": [{ "value": "" }] }), json!({ "env": [{}] }), true),
        ("HTTPHeader.Value", json!({ "headers": [{ "value": "" }] }), json!({}), false),
        ("PodSpec.NodeName", json!({ "spec": { "nodeName": "" } }), json!({ "spec": {} }), true),
        (
            "Endpoint.NodeName is a pointer",
            json!({ "endpoints": [{ "nodeName": "" }] }),
            json!({ "endpoints": [{}] }),
            false,
        ),
    ]);
}

#[test]
fn objects_and_maps() {
    check([
        (
            "ObjectMeta is no pointer",
            json!({ "template": { "metadata": { "labels": {} } } }),
            json!({}),
            true,
        ),
        ("EmptyDirVolumeSource is a pointer", json!({ "emptyDir": {} }), json!({}), false),
        ("LabelSelector is a pointer", json!({ "namespaceSelector": {} }), json!({}), false),
        (
            "CustomResourceSubresourceStatus is a pointer",
            json!({ "subresources": { "status": {} } }),
            json!({ "subresources": {} }),
            false,
        ),
        (
            "a property may have any name",
            json!({ "properties": { "spec": {} } }),
            json!({ "properties": {} }),
            false,
        ),
        (
            "a label may have any name",
            json!({ "labels": { "paused": "" } }),
            json!({ "labels": {} }),
            false,
        ),
    ]);
}

#[test]
fn amounts() {
    check([
        (
            "Quantity",
            json!({ "limits": { "a": "1000m" } }),
            json!({ "limits": { "a": "1" } }),
            true,
        ),
        (
            "Quantity, number",
            json!({ "requests": { "memory": 1024 } }),
            json!({ "requests": { "memory": "1Ki" } }),
            true,
        ),
        (
            "Quantity, other",
            json!({ "limits": { "cpu": "1" } }),
            json!({ "limits": { "cpu": "2" } }),
            false,
        ),
        (
            "a quantity of nothing is one",
            json!({ "limits": { "cpu": "0" } }),
            json!({ "limits": {} }),
            false,
        ),
        ("a text like one", json!({ "image": "1000m" }), json!({ "image": "1" }), false),
        (
            "a text like none",
            json!({ "limits": { "a": "x" } }),
            json!({ "limits": { "a": "y" } }),
            false,
        ),
    ]);
}

/// The field that a pointer leads to counts, and the one around it.
#[test]
fn places() {
    let spec = |spec: Value| json!({ "spec": spec });
    assert!(same_at(&spec(json!({ "hostname": "" })), &json!({}), "/spec"));
    assert!(same_at(&spec(json!({ "hostname": "" })), &json!({}), "/spec/hostname"));
    assert!(!same_at(&spec(json!({ "b": "" })), &json!({}), "/spec/b"));
    assert!(same_at(&json!({ "data": {} }), &json!({}), "/data"));
    assert!(!same_at(&json!({ "data": { "a": "" } }), &json!({}), "/data"));
}

#[test]
fn paths() {
    let old = json!({ "a": [{ "b": 1 }, { "b": 2 }], "c": { "d": 3 } });
    let new = json!({ "a": [{ "b": 1 }, { "b": 4 }], "c": { "d": 3, "e": 5 } });
    let paths: Vec<_> = changes(&old, &new).into_iter().map(|(path, _, _)| path).collect();
    assert_eq!(paths, ["a[1].b", "c.e"]);
}
