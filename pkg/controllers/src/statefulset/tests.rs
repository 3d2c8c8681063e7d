//! Tables, mirroring upstream's `stateful_set_test.go`, `stateful_set_control_test.go`,
//! `stateful_pod_control_test.go`, `stateful_set_utils_test.go`,
//! `stateful_set_compatibility_test.go` and `stateful_set_status_updater_test.go` in
//! `pkg/controller/statefulset`. What upstream tests of its queue, its listers, its retries and its
//! consistency store is the engine's here.

mod claims;
mod enqueues;
mod pods;
mod revisions;
mod rollout;
mod scaling;
mod status;
mod world;

use controller::fixture::with;
use serde_json::{Value, json};

use super::*;

const DEFAULT: Controller =
    Controller { comparison: Comparison::Semantic, max_unavailable: MaxUnavailable::One };

const REST: &str = "why: each pod is there, available and up to date\n";

/// The fields of a status that count pods.
const COUNTS: [&str; 5] =
    ["replicas", "readyReplicas", "availableReplicas", "currentReplicas", "updatedReplicas"];

/// As upstream's `newStatefulSet`: `shop/foo`, which selects `foo=bar`, with a claim template
/// `datadir`.
fn set(replicas: i32) -> Value {
    json!({
        "apiVersion": "apps/v1", "kind": "StatefulSet",
        "metadata": {
            "name": "foo", "namespace": "shop", "uid": "test", "resourceVersion": "18",
            "generation": 1,
        },
        "spec": {
            "replicas": replicas,
            "revisionHistoryLimit": 10,
            "podManagementPolicy": "OrderedReady",
            "serviceName": "governingsvc",
            "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"partition": 0}},
            "persistentVolumeClaimRetentionPolicy": {
                "whenDeleted": "Retain", "whenScaled": "Retain",
            },
            "selector": {"matchLabels": {"foo": "bar"}},
            "volumeClaimTemplates": [claim_template("datadir")],
            "template": {
                "metadata": {"labels": {"foo": "bar"}},
                "spec": {
                    "containers": [{
                        "name": "nginx", "image": "nginx",
                        "volumeMounts": [
                            {"name": "datadir", "mountPath": "/tmp"},
                            {"name": "home", "mountPath": "/home"},
                        ],
                    }],
                    "volumes": [{"name": "home", "hostPath": {"path": "/tmp/home"}}],
                },
            },
        },
    })
}

fn claim_template(name: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "PersistentVolumeClaim",
        "metadata": {"name": name, "creationTimestamp": null},
        "spec": {"resources": {"requests": {"storage": "1"}}, "accessModes": ["ReadWriteOnce"]},
        "status": {"phase": "Pending"},
    })
}

fn parallel(set: Value) -> Value {
    with(set, json!({"spec": {"podManagementPolicy": "Parallel"}}))
}

/// Without claims.
fn bare(set: Value) -> Value {
    with(set, json!({"spec": {"volumeClaimTemplates": []}}))
}

fn retention(set: Value, when_scaled: &str, when_deleted: &str) -> Value {
    let policy = json!({"whenScaled": when_scaled, "whenDeleted": when_deleted});
    with(set, json!({"spec": {"persistentVolumeClaimRetentionPolicy": policy}}))
}

fn rolling(set: Value, rolling: &Value) -> Value {
    let strategy = json!({"type": "RollingUpdate", "rollingUpdate": rolling});
    with(set, json!({"spec": {"updateStrategy": strategy}}))
}

/// With another template, and as many replicas; as a person would change it.
fn image(set: &Value, image: &str) -> Value {
    let mut set = set.clone();
    set["spec"]["template"]["spec"]["containers"][0]["image"] = json!(image);
    generation(set)
}

fn replicas(set: &Value, replicas: i32) -> Value {
    generation(with(set.clone(), json!({"spec": {"replicas": replicas}})))
}

fn generation(set: Value) -> Value {
    let generation = set["metadata"]["generation"].as_i64().unwrap() + 1;
    with(set, json!({"metadata": {"generation": generation}}))
}
