//! Tables, mirroring upstream's `pkg/controller/daemon/daemon_controller_test.go`,
//! `update_test.go`, `util/daemonset_util_test.go` and `test/integration/daemonset`. What upstream
//! tests of its expectations, queues and status retries is the engine's here; what it tests of
//! capacity and ports is that these are not looked at, and our views do not hold them.

mod backoff;
mod enqueues;
mod fits;
mod history;
mod manage;
mod pods;
mod refusals;
mod rollout;
mod status;
mod walk;
mod world;

use controller::fixture::{ago, ready, with};
use serde_json::{Value, json};

use world::World;

/// As upstream's `newDaemonSet`: `shop/foo`, which selects `name=simple-daemon`.
fn set() -> Value {
    json!({
        "apiVersion": "apps/v1", "kind": "DaemonSet",
        "metadata": {
            "name": "foo", "namespace": "shop", "uid": "u1", "resourceVersion": "18",
            "generation": 2,
        },
        "spec": {
            "revisionHistoryLimit": 10,
            "updateStrategy": {"type": "OnDelete"},
            "selector": {"matchLabels": {"name": "simple-daemon"}},
            "template": {
                "metadata": {"labels": {"name": "simple-daemon"}},
                "spec": {"containers": [{"name": "main", "image": "foo/bar"}]},
            },
        },
    })
}

fn template(set: Value, spec: &Value) -> Value {
    with(set, json!({"spec": {"template": {"spec": spec}}}))
}

fn image(set: Value, image: &str) -> Value {
    template(set, &json!({"containers": [{"name": "main", "image": image}]}))
}

fn unavailable(set: Value, amount: &Value) -> Value {
    let rolling = json!({"maxUnavailable": amount, "maxSurge": null});
    with(
        set,
        json!({"spec": {"updateStrategy": {"type": "RollingUpdate", "rollingUpdate": rolling}}}),
    )
}

fn surge(set: Value, amount: &Value) -> Value {
    let rolling = json!({"maxUnavailable": 0, "maxSurge": amount});
    with(
        set,
        json!({"spec": {"updateStrategy": {"type": "RollingUpdate", "rollingUpdate": rolling}}}),
    )
}

/// As upstream's `updateStrategies`.
fn strategies() -> [Value; 2] {
    [set(), with(set(), json!({"spec": {"updateStrategy": {"type": "RollingUpdate"}}}))]
}

fn node(name: &str) -> Value {
    json!({"metadata": {"name": name, "uid": format!("uid-{name}"), "resourceVersion": "1"}})
}

fn labelled(object: Value, labels: &Value) -> Value {
    with(object, json!({"metadata": {"labels": labels}}))
}

fn tainted(node: Value, key: &str, effect: &str) -> Value {
    with(node, json!({"spec": {"taints": [{"key": key, "effect": effect}]}}))
}

fn phase(pod: Value, phase: &str) -> Value {
    with(pod, json!({"status": {"phase": phase, "conditions": null}}))
}

fn deleted(object: Value) -> Value {
    with(object, json!({"metadata": {"deletionTimestamp": ago(1)}}))
}

fn created(object: Value, seconds_ago: i64) -> Value {
    with(object, json!({"metadata": {"creationTimestamp": ago(seconds_ago)}}))
}

fn ready_for(pod: Value, seconds: i64) -> Value {
    with(pod, json!({"status": {"phase": "Running", "conditions": [ready(&ago(seconds))]}}))
}

fn with_hash(pod: Value, hash: &Value) -> Value {
    labelled(pod, &json!({"controller-revision-hash": hash}))
}

/// A pod of the set on a node, not ready, of no template in particular.
fn own(name: &str, node: &str) -> Value {
    let owner = json!({"apiVersion": "apps/v1", "kind": "DaemonSet", "name": "foo", "uid": "u1",
        "controller": true, "blockOwnerDeletion": true});
    json!({
        "metadata": {
            "name": name, "namespace": "shop", "uid": format!("uid-{name}"),
            "resourceVersion": "1", "creationTimestamp": ago(3600),
            "labels": {"name": "simple-daemon"}, "ownerReferences": [owner],
        },
        "spec": {"nodeName": node},
        "status": {"phase": "Running"},
    })
}

/// A pod of the set that waits for a node.
fn waiting(name: &str, node: &str) -> Value {
    let field = json!({"key": "metadata.name", "operator": "In", "values": [node]});
    let required = json!({"nodeSelectorTerms": [{"matchFields": [field]}]});
    let affinity = json!({"requiredDuringSchedulingIgnoredDuringExecution": required});
    let spec = json!({"nodeName": null, "affinity": {"nodeAffinity": affinity}});
    with(own(name, ""), json!({"spec": spec}))
}

/// The node that a pod was made for.
fn target(pod: &Value) -> String {
    let term = "/spec/affinity/nodeAffinity/requiredDuringSchedulingIgnoredDuringExecution/\
                nodeSelectorTerms/0/matchFields/0/values/0";
    pod.pointer(term).unwrap().as_str().unwrap().to_owned()
}

/// `node-0`, `node-1` and so on.
fn world(set: &Value, nodes: usize) -> World {
    let mut world = World::new(set.clone());
    (0..nodes).for_each(|n| world.put_node(node(&format!("node-{n}"))));
    world
}
