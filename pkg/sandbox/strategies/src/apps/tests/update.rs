//! What updates do and may not do.

use serde_json::{Value, json};

use super::body;
use crate::Strategy;
use crate::apps::{ControllerRevision, DaemonSet, Deployment, ReplicaSet, StatefulSet};
use crate::fixture::{created, lines, merged, refused, status_updated, updated};

const ALL: [&dyn Strategy; 4] = [&Deployment, &ReplicaSet, &DaemonSet, &StatefulSet];

fn generation(object: &Value) -> i64 {
    object.pointer("/metadata/generation").and_then(Value::as_i64).unwrap()
}

/// A new spec is a new generation, for Deployments new annotations too; nothing else is
/// (PrepareForUpdate of each).
#[test]
fn generations() {
    let rows: [(Value, [i64; 4]); 6] = [
        (json!({}), [1, 1, 1, 1]),
        (json!({ "metadata": { "labels": { "a": "b" } } }), [1, 1, 1, 1]),
        (json!({ "metadata": { "annotations": { "a": "b" } } }), [2, 1, 1, 1]),
        (json!({ "metadata": { "generation": 9 }, "status": { "replicas": 9 } }), [1, 1, 1, 1]),
        (json!({ "spec": { "minReadySeconds": 5 } }), [2, 2, 2, 2]),
        (
            json!({ "spec": { "template": { "spec": { "volumes": [], "nodeSelector": {} } } } }),
            [1; 4],
        ),
    ];
    for (patch, expected) in rows {
        for (strategy, expected) in ALL.into_iter().zip(expected) {
            let old = created(strategy, &body("Any"));
            let new = updated(strategy, &merged(&old, &patch), &old);
            assert_eq!(generation(&new), expected, "{patch}");
            assert_eq!(new.get("status"), old.get("status"), "{patch}");
        }
    }
}

/// TestDaemonsetDefaultGarbageCollectionPolicy's neighbour: TestSelectorImmutability and the
/// template's generation.
#[test]
fn template_generation_counts_templates() {
    let key = "deprecated.daemonset.template.generation";
    let rows = [
        (json!({ "spec": { "minReadySeconds": 5 } }), "1"),
        (json!({ "spec": { "template": { "spec": { "hostNetwork": true } } } }), "2"),
        (json!({ "metadata": { "annotations": { key: "7" } } }), "1"),
        (json!({ "metadata": { "annotations": null } }), "1"),
    ];
    for (patch, expected) in rows {
        let old = created(&DaemonSet, &body("DaemonSet"));
        let new = updated(&DaemonSet, &merged(&old, &patch), &old);
        let annotations = new.pointer("/metadata/annotations").unwrap();
        assert_eq!(annotations, &json!({ key: expected }), "{patch}");
    }
}

#[test]
fn a_status_update_leaves_the_rest() {
    for strategy in ALL {
        let old = created(strategy, &body("Any"));
        let patch = json!({ "spec": { "replicas": 7 }, "status": { "observedGeneration": 1 } });
        let new = status_updated(strategy, &merged(&old, &patch), &old);
        assert_eq!(new.get("spec"), old.get("spec"));
        assert_eq!(new.pointer("/status/observedGeneration"), Some(&json!(1)));
        assert_eq!(generation(&new), 1);
    }
    // TestStatusUpdates: the labels of a Deployment stay, its annotations do not.
    let old = created(&Deployment, &body("Deployment"));
    let patch = json!({ "metadata": { "labels": { "a": "b" }, "annotations": { "a": "b" } } });
    let new = status_updated(&Deployment, &merged(&old, &patch), &old);
    assert_eq!(new.pointer("/metadata/labels"), None);
    assert_eq!(new.pointer("/metadata/annotations"), Some(&json!({ "a": "b" })));
}

/// TestSelectorImmutability of each.
#[test]
fn selectors_are_immutable() {
    let patch = json!({ "spec": {
        "selector": { "matchLabels": { "app": "web", "tier": "front" } },
        "template": { "metadata": { "labels": { "tier": "front" } } },
    } });
    let immutable = "spec.selector invalid {\"matchLabels\":{\"app\":\"web\",\"tier\":\
                     \"front\"}}: field is immutable";
    for strategy in [&Deployment as &dyn Strategy, &ReplicaSet, &DaemonSet] {
        let old = created(strategy, &body("Any"));
        assert_eq!(refused(strategy, &merged(&old, &patch), &old), [immutable]);
        assert!(refused(strategy, &old, &old).is_empty());
    }
}

/// TestValidateStatefulSetUpdate.
#[test]
fn most_of_a_stateful_set_is_immutable() {
    let forbidden = "spec forbidden: updates to statefulset spec for fields other than \
                     'replicas', 'ordinals', 'template', 'updateStrategy', \
                     'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and \
                     'minReadySeconds' are forbidden";
    let rows: [(Value, &[&str]); 10] = [
        (json!({}), &[]),
        (json!({ "replicas": 3 }), &[]),
        (json!({ "ordinals": { "start": 1 } }), &[]),
        (json!({ "template": { "spec": { "hostNetwork": true } } }), &[]),
        (json!({ "updateStrategy": { "rollingUpdate": { "partition": 1 } } }), &[]),
        (json!({ "revisionHistoryLimit": 1, "minReadySeconds": 1 }), &[]),
        (json!({ "persistentVolumeClaimRetentionPolicy": { "whenScaled": "Delete" } }), &[]),
        (json!({ "podManagementPolicy": "Parallel" }), &[forbidden]),
        (json!({ "serviceName": "other" }), &[forbidden]),
        (json!({ "volumeClaimTemplates": [{ "metadata": { "name": "data" } }] }), &[forbidden]),
    ];
    let old = created(&StatefulSet, &body("StatefulSet"));
    for (patch, expected) in rows {
        let new = merged(&old, &json!({ "spec": patch }));
        assert_eq!(refused(&StatefulSet, &new, &old), expected, "{patch}");
    }
    // A StatefulSet that was wrong before is not asked for more than the labels of its pods.
    let wrong = merged(&old, &json!({ "spec": { "replicas": -1 } }));
    let patch = json!({ "spec": { "template": { "metadata": { "labels": { "a": "-" } } } } });
    let found = refused(&StatefulSet, &merged(&old, &patch), &wrong);
    assert!(found.iter().any(|line| line.starts_with("spec.template.labels invalid \"-\"")));
    // Nor the service, if it was wrong before: "allowInvalidServiceName".
    let old = merged(&old, &json!({ "spec": { "serviceName": "a.b" } }));
    assert!(refused(&StatefulSet, &old, &old).is_empty());
}

/// TestValidateControllerRevisionUpdate: of a revision only its data stays.
#[test]
fn the_data_of_a_revision_is_immutable() {
    let old = json!({ "revision": 1, "data": { "a": 1 } });
    let rows: [(Value, &[&str]); 3] = [
        (json!({ "revision": 2, "metadata": { "labels": { "a": "b" } } }), &[]),
        (json!({ "data": { "a": 2 } }), &["data invalid {\"a\":2}: field is immutable"]),
        (json!({ "revision": -1 }), &["revision invalid -1: must be greater than or equal to 0"]),
    ];
    for (patch, expected) in rows {
        let new = merged(&old, &patch);
        assert_eq!(refused(&ControllerRevision, &new, &old), expected, "{patch}");
    }
}

/// TestValidateDeploymentStatus, TestValidateReplicaSetStatus, TestValidateStatefulSetStatus,
/// TestValidateDeploymentStatusUpdate, …
#[test]
#[expect(clippy::too_many_lines, reason = "a table")]
fn statuses() {
    let rows: [(&dyn Strategy, Value, &[&str]); 12] = [
        (&Deployment, json!({ "replicas": 3, "updatedReplicas": 3, "readyReplicas": 3 }), &[]),
        (
            &Deployment,
            json!({ "observedGeneration": -1, "collisionCount": -3 }),
            &[
                "status.observedGeneration invalid -1: must be greater than or equal to 0",
                "status.collisionCount invalid -3: must be greater than or equal to 0",
                "status.collisionCount invalid -3: cannot be decremented",
            ],
        ),
        (
            &Deployment,
            json!({
                "replicas": 2,
                "updatedReplicas": 3,
                "readyReplicas": 1,
                "availableReplicas": 2,
            }),
            &[
                "status.updatedReplicas invalid 3: cannot be greater than status.replicas",
                "status.availableReplicas invalid 2: cannot be greater than readyReplicas",
            ],
        ),
        (
            &Deployment,
            json!({ "collisionCount": null }),
            &["status.collisionCount invalid 0: cannot be decremented"],
        ),
        (&ReplicaSet, json!({ "replicas": 3, "fullyLabeledReplicas": 3 }), &[]),
        (
            &ReplicaSet,
            json!({
                "replicas": 1,
                "fullyLabeledReplicas": 2,
                "readyReplicas": 2,
                "availableReplicas": 3,
            }),
            &[
                "status.fullyLabeledReplicas invalid 2: cannot be greater than status.replicas",
                "status.readyReplicas invalid 2: cannot be greater than status.replicas",
                "status.availableReplicas invalid 3: cannot be greater than status.replicas",
                "status.availableReplicas invalid 3: cannot be greater than readyReplicas",
            ],
        ),
        (
            &ReplicaSet,
            json!({ "terminatingReplicas": -2 }),
            &["status.terminatingReplicas invalid -2: must be greater than or equal to 0"],
        ),
        (&DaemonSet, json!({ "numberReady": 9 }), &[]),
        (
            &DaemonSet,
            json!({ "numberMisscheduled": -1, "numberUnavailable": -1 }),
            &[
                "status.numberMisscheduled invalid -1: must be greater than or equal to 0",
                "status.numberUnavailable invalid -1: must be greater than or equal to 0",
            ],
        ),
        (
            &DaemonSet,
            json!({ "collisionCount": 1 }),
            &["status.collisionCount invalid 1: cannot be decremented"],
        ),
        (
            &StatefulSet,
            json!({ "replicas": 1, "currentReplicas": 2 }),
            &["status.currentReplicas invalid 2: cannot be greater than status.replicas"],
        ),
        (
            &StatefulSet,
            json!({ "replicas": 3, "readyReplicas": 1, "availableReplicas": 2 }),
            &["status.availableReplicas invalid 2: cannot be greater than status.readyReplicas"],
        ),
    ];
    let old = json!({ "status": { "collisionCount": 2 } });
    for (strategy, status, expected) in rows {
        let new = merged(&old, &json!({ "status": status }));
        assert_eq!(lines(&strategy.validate_status(&new, &old)), expected, "{status}");
    }
}
