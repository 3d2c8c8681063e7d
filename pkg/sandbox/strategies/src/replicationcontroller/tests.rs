//! Tests, after TestSetDefaultReplicationController, TestValidateReplicationController,
//! TestControllerStrategy and TestPrintReplicationController.

use serde_json::{Value, json};

use super::ReplicationController;
use crate::Strategy;
use crate::fixture::{created, defaulted, lines, merged, row, template, updated};

fn body(patch: &Value) -> Value {
    let spec = json!({ "template": template(&json!({ "app": "web" })) });
    merged(&json!({ "metadata": { "name": "web" }, "spec": spec }), patch)
}

#[test]
fn defaults() {
    let app = json!({ "app": "web" });
    let own = json!({ "own": "1" });
    for (patch, labels, selector, replicas) in [
        (json!({}), &app, &app, 1),
        (json!({ "metadata": { "labels": own } }), &own, &app, 1),
        (json!({ "spec": { "selector": own, "replicas": 0 } }), &app, &own, 0),
    ] {
        let object = defaulted(&ReplicationController, &body(&patch));
        assert_eq!(object.pointer("/metadata/labels"), Some(labels), "{patch}");
        assert_eq!(object.pointer("/spec/selector"), Some(selector), "{patch}");
        assert_eq!(object.pointer("/spec/replicas"), Some(&json!(replicas)), "{patch}");
    }
    let bare = defaulted(&ReplicationController, &json!({}));
    assert_eq!(bare.pointer("/spec"), Some(&json!({ "replicas": 1 })));
}

#[test]
fn create() {
    let spec = |patch: Value| json!({ "spec": patch });
    let rows: [(Value, &[&str]); 6] = [
        (json!({}), &[]),
        (
            spec(json!({ "minReadySeconds": -1, "replicas": -1 })),
            &[
                "spec.minReadySeconds invalid -1: must be greater than or equal to 0",
                "spec.replicas invalid -1: must be greater than or equal to 0",
            ],
        ),
        (
            spec(json!({ "selector": { "a": "b" } })),
            &["spec.template.metadata.labels invalid {\"app\":\"web\"}: `selector` does not \
               match template `labels`"],
        ),
        (
            spec(json!({ "template": null })),
            &["spec.selector required: ", "spec.template required: "],
        ),
        (
            spec(json!({ "template": { "spec": { "restartPolicy": "Never" } } })),
            &["spec.template.spec.restartPolicy unsupported \"Never\": Always"],
        ),
        (
            spec(json!({ "template": { "spec": { "activeDeadlineSeconds": 1 } } })),
            &["spec.template.spec.activeDeadlineSeconds forbidden: activeDeadlineSeconds in \
               ReplicationController is not Supported"],
        ),
    ];
    for (patch, expected) in rows {
        let object = created(&ReplicationController, &body(&patch));
        assert_eq!(lines(&ReplicationController.validate_create(&object)), expected, "{patch}");
    }
}

#[test]
fn update() {
    let old = created(&ReplicationController, &body(&json!({})));
    assert_eq!(old.get("status"), Some(&json!({ "replicas": 0 })));
    // Unlike that of a ReplicaSet, its selector may change.
    let labels = json!({ "a": "b" });
    let template = json!({ "metadata": { "labels": labels } });
    let patch = json!({ "spec": { "selector": labels, "template": template } });
    let new = updated(&ReplicationController, &merged(&old, &patch), &old);
    assert_eq!(new.pointer("/metadata/generation"), Some(&json!(2)));
    assert_eq!(lines(&ReplicationController.validate_update(&new, &old)), [""; 0]);
    let status = json!({ "status": { "replicas": 1, "readyReplicas": 2 } });
    assert_eq!(
        lines(&ReplicationController.validate_status(&status, &old)),
        ["status.readyReplicas invalid 2: cannot be greater than status.replicas"],
    );
}

#[test]
fn rows() {
    let patch = json!({
        "metadata": { "creationTimestamp": "2024-05-01T11:55:00Z" },
        "spec": { "replicas": 5, "selector": { "b": "1", "a": "2" } },
        "status": { "replicas": 4, "readyReplicas": 3 },
    });
    let cells = json!(row(&ReplicationController, &body(&patch)));
    assert_eq!(cells, json!(["web", 5, 4, 3, "5m", "main", "web:1", "a=2,b=1"]));
    let none = json!(row(&ReplicationController, &json!({ "metadata": { "name": "web" } })));
    assert_eq!(none, json!(["web", 0, 0, 0, "<unknown>", "", "", "<none>"]));
}
