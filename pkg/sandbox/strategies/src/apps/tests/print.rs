//! Tables, after upstream's printers_test.go.

use serde_json::{Value, json};

use crate::Strategy;
use crate::apps::{ControllerRevision, DaemonSet, Deployment, ReplicaSet, StatefulSet};
use crate::fixture::{merged, row};

/// Five minutes old, with two containers.
fn object(patch: &Value) -> Value {
    let object = json!({
        "metadata": { "name": "test1", "creationTimestamp": "2024-05-01T11:55:00Z" },
        "spec": {
            "selector": { "matchLabels": { "foo": "bar" } },
            "template": { "spec": { "containers": [
                { "name": "fake-container1", "image": "fake-image1" },
                { "name": "fake-container2", "image": "fake-image2" },
            ] } },
        },
    });
    merged(&object, patch)
}

const NAMES: &str = "fake-container1,fake-container2";
const IMAGES: &str = "fake-image1,fake-image2";

#[test]
fn rows() {
    let counts =
        json!({ "replicas": 10, "updatedReplicas": 2, "readyReplicas": 4, "availableReplicas": 1 });
    let daemon = json!({
        "desiredNumberScheduled": 2,
        "currentNumberScheduled": 1,
        "numberReady": 3,
        "updatedNumberScheduled": 4,
        "numberAvailable": 5,
    });
    let expressions = json!([
        { "key": "b", "operator": "NotIn", "values": ["y", "x"] },
        { "key": "a", "operator": "Exists" },
    ]);
    let nodes = json!({ "spec": { "nodeSelector": { "b": "1", "a": "2" } } });
    let rows: [(&dyn Strategy, Value, Value); 9] = [
        // TestPrintDeployment
        (
            &Deployment,
            json!({ "spec": { "replicas": 5 }, "status": counts }),
            json!(["test1", "4/5", 2, 1, "5m", NAMES, IMAGES, "foo=bar"]),
        ),
        (
            &Deployment,
            json!({ "metadata": { "creationTimestamp": null }, "spec": { "selector": null } }),
            json!(["test1", "0/0", 0, 0, "<unknown>", NAMES, IMAGES, ""]),
        ),
        (
            &Deployment,
            json!({ "spec": { "selector": { "matchLabels": { "foo": "-" } } } }),
            json!(["test1", "0/0", 0, 0, "5m", NAMES, IMAGES, "<invalid>"]),
        ),
        // TestPrintReplicaSet
        (
            &ReplicaSet,
            json!({ "spec": { "replicas": 5 }, "status": counts }),
            json!(["test1", 5, 10, 4, "5m", NAMES, IMAGES, "foo=bar"]),
        ),
        (
            &ReplicaSet,
            json!({ "spec": { "selector": { "matchExpressions": expressions } } }),
            json!(["test1", 0, 0, 0, "5m", NAMES, IMAGES, "a,b notin (x,y),foo=bar"]),
        ),
        // TestPrintDaemonSet
        (
            &DaemonSet,
            json!({ "status": daemon }),
            json!(["test1", 2, 1, 3, 4, 5, "<none>", "5m", NAMES, IMAGES, "foo=bar"]),
        ),
        (
            &DaemonSet,
            json!({ "spec": { "template": nodes, "selector": null } }),
            json!(["test1", 0, 0, 0, 0, 0, "a=2,b=1", "5m", NAMES, IMAGES, "<none>"]),
        ),
        // TestPrintStatefulSet
        (
            &StatefulSet,
            json!({ "spec": { "replicas": 5 }, "status": counts }),
            json!(["test1", "4/5", "5m", NAMES, IMAGES]),
        ),
        (
            &StatefulSet,
            json!({ "spec": { "template": null } }),
            json!(["test1", "0/0", "5m", "", ""]),
        ),
    ];
    for (strategy, patch, expected) in rows {
        assert_eq!(json!(row(strategy, &object(&patch))), expected, "{patch}");
    }
}

/// TestPrintControllerRevision.
#[test]
fn controller_revisions() {
    let owner = |controller: bool, version: &str| {
        json!([{
            "controller": controller,
            "apiVersion": version,
            "kind": "DaemonSet",
            "name": "foo",
        }])
    };
    for (owners, expected) in [
        (owner(true, "apps/v1"), "daemonset.apps/foo"),
        (owner(true, "v1"), "daemonset/foo"),
        (owner(false, "apps/v1"), "<none>"),
        (json!([]), "<none>"),
    ] {
        let patch = json!({ "metadata": { "ownerReferences": owners }, "revision": 3 });
        let cells = row(&ControllerRevision, &object(&patch));
        assert_eq!(json!(cells), json!(["test1", expected, 3, "5m"]));
    }
}

#[test]
fn headings() {
    let names = |strategy: &dyn Strategy| -> Vec<&'static str> {
        strategy.columns().iter().filter(|it| !it.wide).map(|it| it.name).collect()
    };
    assert_eq!(names(&Deployment), ["Name", "Ready", "Up-to-date", "Available", "Age"]);
    assert_eq!(names(&ReplicaSet), ["Name", "Desired", "Current", "Ready", "Age"]);
    assert_eq!(names(&StatefulSet), ["Name", "Ready", "Age"]);
    assert_eq!(names(&ControllerRevision), ["Name", "Controller", "Revision", "Age"]);
    let daemon =
        ["Name", "Desired", "Current", "Ready", "Up-to-date", "Available", "Node Selector", "Age"];
    assert_eq!(names(&DaemonSet), daemon);
}

/// TestReplicaSetStatusStrategy's neighbour: lists can be filtered by the status.
#[test]
fn selectable_fields() {
    let set = json!({ "status": { "replicas": 3 } });
    assert_eq!(ReplicaSet.selectable(&set, "status.replicas").as_deref(), Some("3"));
    assert_eq!(ReplicaSet.selectable(&json!({}), "status.replicas").as_deref(), Some("0"));
    assert_eq!(ReplicaSet.selectable(&set, "spec.replicas"), None);
    assert_eq!(Deployment.selectable_fields(), [""; 0]);
}
