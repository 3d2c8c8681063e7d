//! What is filled in, and what a new object starts with.

use serde_json::{Value, json};

use super::body;
use crate::Strategy;
use crate::apps::{ControllerRevision, DaemonSet, Deployment, ReplicaSet, StatefulSet};
use crate::fixture::{created, defaulted, merged};

/// The spec, without what the tests do not look at.
fn spec(strategy: &dyn Strategy, kind: &str, patch: &Value) -> Value {
    let object = defaulted(strategy, &merged(&body(kind), &json!({ "spec": patch })));
    let mut spec = object.get("spec").unwrap().clone();
    spec.as_object_mut().unwrap().retain(|name, _| name != "selector" && name != "template");
    spec
}

#[test]
#[expect(clippy::too_many_lines, reason = "a table")]
fn defaults() {
    let deployment = json!({
        "replicas": 1,
        "strategy": {
            "type": "RollingUpdate",
            "rollingUpdate": { "maxSurge": "25%", "maxUnavailable": "25%" },
        },
        "revisionHistoryLimit": 10,
        "progressDeadlineSeconds": 600,
    });
    let daemon = json!({
        "updateStrategy": {
            "type": "RollingUpdate",
            "rollingUpdate": { "maxSurge": 0, "maxUnavailable": 1 },
        },
        "revisionHistoryLimit": 10,
    });
    let stateful = json!({
        "podManagementPolicy": "OrderedReady",
        "serviceName": "",
        "updateStrategy": { "type": "RollingUpdate", "rollingUpdate": { "partition": 0 } },
        "persistentVolumeClaimRetentionPolicy": { "whenDeleted": "Retain", "whenScaled": "Retain" },
        "replicas": 1,
        "revisionHistoryLimit": 10,
    });
    let rows: [(&dyn Strategy, Value, Value); 12] = [
        // TestSetDefaultDeployment
        (&Deployment, json!({}), deployment.clone()),
        (
            &Deployment,
            json!({ "replicas": 5, "strategy": { "rollingUpdate": { "maxSurge": 1 } } }),
            merged(
                &deployment,
                &json!({ "replicas": 5, "strategy": { "rollingUpdate": { "maxSurge": 1 } } }),
            ),
        ),
        (
            &Deployment,
            json!({ "strategy": { "type": "Recreate" }, "progressDeadlineSeconds": 30 }),
            merged(
                &merged(&deployment, &json!({ "strategy": { "rollingUpdate": null } })),
                &json!({ "strategy": { "type": "Recreate" }, "progressDeadlineSeconds": 30 }),
            ),
        ),
        (&Deployment, json!({ "replicas": 0 }), merged(&deployment, &json!({ "replicas": 0 }))),
        // TestSetDefaultDaemonSetSpec
        (&DaemonSet, json!({}), daemon.clone()),
        (
            &DaemonSet,
            json!({ "updateStrategy": { "type": "OnDelete" } }),
            json!({ "updateStrategy": { "type": "OnDelete" }, "revisionHistoryLimit": 10 }),
        ),
        (
            &DaemonSet,
            json!({ "updateStrategy": { "rollingUpdate": { "maxSurge": 1 } } }),
            merged(&daemon, &json!({ "updateStrategy": { "rollingUpdate": { "maxSurge": 1 } } })),
        ),
        // TestSetDefaultStatefulSet
        (&StatefulSet, json!({}), stateful.clone()),
        (
            &StatefulSet,
            json!({ "updateStrategy": { "type": "OnDelete" } }),
            merged(
                &stateful,
                &json!({ "updateStrategy": { "type": "OnDelete", "rollingUpdate": null } }),
            ),
        ),
        (
            &StatefulSet,
            json!({ "updateStrategy": { "type": "RollingUpdate" } }),
            merged(&stateful, &json!({ "updateStrategy": { "rollingUpdate": null } })),
        ),
        (
            &StatefulSet,
            json!({ "persistentVolumeClaimRetentionPolicy": { "whenScaled": "Delete" } }),
            merged(
                &stateful,
                &json!({ "persistentVolumeClaimRetentionPolicy": { "whenScaled": "Delete" } }),
            ),
        ),
        // TestSetDefaultReplicaSetReplicas
        (&ReplicaSet, json!({}), json!({ "replicas": 1 })),
    ];
    for (strategy, patch, expected) in rows {
        assert_eq!(spec(strategy, "Any", &patch), expected, "{patch}");
    }
}

#[test]
fn defaults_reach_the_template() {
    for strategy in [&Deployment as &dyn Strategy, &ReplicaSet, &DaemonSet, &StatefulSet] {
        let object = defaulted(strategy, &body("Any"));
        let policy = object.pointer("/spec/template/spec/restartPolicy");
        assert_eq!(policy, Some(&json!("Always")));
    }
}

#[test]
fn claims_name_their_kind_and_get_defaults() {
    let claim = json!({ "metadata": { "name": "data" }, "spec": {} });
    let patch = json!({ "spec": { "volumeClaimTemplates": [claim] } });
    let object = defaulted(&StatefulSet, &merged(&body("StatefulSet"), &patch));
    let expected = json!([{
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": { "name": "data" },
        "spec": { "volumeMode": "Filesystem" },
        "status": { "phase": "Pending" },
    }]);
    assert_eq!(object.pointer("/spec/volumeClaimTemplates"), Some(&expected));
}

#[test]
fn odd_bodies_do_not_panic() {
    for strategy in
        [&Deployment as &dyn Strategy, &ReplicaSet, &DaemonSet, &StatefulSet, &ControllerRevision]
    {
        for body in [
            json!({}),
            json!({ "spec": null, "metadata": null, "status": null }),
            json!({ "spec": { "template": null, "strategy": null, "updateStrategy": null } }),
            json!({ "spec": { "volumeClaimTemplates": [null], "template": { "spec": null } } }),
        ] {
            let object = created(strategy, &body);
            strategy.validate_create(&object);
            strategy.validate_update(&object, &json!({}));
            strategy.validate_status(&object, &json!({}));
            strategy.row(&object, crate::fixture::now());
            strategy.warnings(&object, None);
        }
    }
}

#[test]
fn new_objects_have_no_status_and_the_first_generation() {
    let daemon_status = json!({
        "currentNumberScheduled": 0,
        "numberMisscheduled": 0,
        "desiredNumberScheduled": 0,
        "numberReady": 0,
    });
    // TestDeploymentStrategy, TestReplicaSetStrategy, TestStatefulSetStrategy, …
    let rows: [(&dyn Strategy, Value); 4] = [
        (&Deployment, json!({})),
        (&ReplicaSet, json!({ "replicas": 0 })),
        (&DaemonSet, daemon_status),
        (&StatefulSet, json!({ "replicas": 0, "availableReplicas": 0 })),
    ];
    for (strategy, status) in rows {
        let patch = json!({
            "metadata": { "generation": 7 },
            "status": { "readyReplicas": 3, "observedGeneration": 9 },
        });
        let object = created(strategy, &merged(&body("Any"), &patch));
        assert_eq!(object.pointer("/metadata/generation"), Some(&json!(1)));
        assert_eq!(object.get("status"), Some(&status));
    }
}

/// The template's generation is an annotation, and 1 for a new DaemonSet unless it says more.
#[test]
fn template_generation_of_new_daemon_sets() {
    let key = "deprecated.daemonset.template.generation";
    for (said, expected) in [(None, "1"), (Some("-1"), "1"), (Some("5"), "5"), (Some("x"), "1")] {
        let patch = json!({ "metadata": { "annotations": { key: said } } });
        let object = created(&DaemonSet, &merged(&body("DaemonSet"), &patch));
        let annotations = object.pointer("/metadata/annotations").unwrap();
        assert_eq!(annotations, &json!({ key: expected }), "{said:?}");
    }
}

/// The gate MaxUnavailableStatefulSet is off (TestDropStatefulSetDisabledFields).
#[test]
fn max_unavailable_of_stateful_sets_is_dropped_unless_in_use() {
    let patch =
        json!({ "spec": { "updateStrategy": { "rollingUpdate": { "maxUnavailable": 2 } } } });
    let with = merged(&body("StatefulSet"), &patch);
    let pointer = "/spec/updateStrategy/rollingUpdate/maxUnavailable";
    assert_eq!(created(&StatefulSet, &with).pointer(pointer), None);
    let old = created(&StatefulSet, &body("StatefulSet"));
    let updated = |old: &Value| crate::fixture::updated(&StatefulSet, &with, old);
    assert_eq!(updated(&old).pointer(pointer), None);
    assert_eq!(updated(&defaulted(&StatefulSet, &with)).pointer(pointer), Some(&json!(2)));
}
