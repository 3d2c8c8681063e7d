//! Tables, mirroring upstream's `pkg/controller/disruption/disruption_test.go`.

mod live;
mod stale;
mod upstream;

use api::{
    Deployment, Key, Kind as _, Pod, PodDisruptionBudget, ReplicaSet, ReplicationController,
    StatefulSet,
};
use controller::fixture::{self, Fixture, ago, pod, with};
use controller::{Action, Controller as _, Facts, Outcome, Plan, Step};
use serde_json::{Value, json};

use super::*;

/// Caches as a test sets them.
#[derive(Default)]
struct World {
    budgets: Vec<Value>,
    pods: Vec<Value>,
    controllers: Vec<Value>,
    sets: Vec<Value>,
    deployments: Vec<Value>,
    stateful: Vec<Value>,
}

/// What a sync came to.
struct Synced {
    plan: Plan,
    verdict: Verdict,
    /// The fields of the status that are written.
    status: Option<Value>,
}

/// As upstream's `newMinAvailablePodDisruptionBudget`: `shop/budget`, for `foo=bar`.
fn budget(spec: &Value) -> Value {
    let base = json!({
        "apiVersion": "policy/v1", "kind": "PodDisruptionBudget",
        "metadata": {"name": "budget", "namespace": "shop", "uid": "b1", "resourceVersion": "7",
            "generation": 1},
        "spec": {"selector": {"matchLabels": {"foo": "bar"}}},
    });
    with(base, json!({ "spec": spec }))
}

/// A ready pod that the budget is for, and that nothing manages.
fn naked(name: &str) -> Value {
    with(pod(name), json!({"metadata": {"labels": {"foo": "bar"}}}))
}

fn not_ready(pod: Value) -> Value {
    with(pod, json!({"status": {"conditions": null}}))
}

fn leaving(pod: Value) -> Value {
    with(pod, json!({"metadata": {"deletionTimestamp": ago(1)}}))
}

/// The same, managed by something.
fn owned(pod: Value, api_version: &str, kind: &str, name: &str, uid: &str) -> Value {
    let owner = json!({"apiVersion": api_version, "kind": kind, "name": name, "uid": uid,
        "controller": true});
    with(pod, json!({"metadata": {"ownerReferences": [owner]}}))
}

/// A workload `shop/<name>` with uid `uid-<name>` that asks for so many pods.
fn workload(name: &str, replicas: i32) -> Value {
    json!({
        "metadata": {"name": name, "namespace": "shop", "uid": format!("uid-{name}"),
            "resourceVersion": "3"},
        "spec": {"replicas": replicas, "template": {"metadata": {"labels": {"foo": "bar"}}}},
    })
}

fn of_set(pod: Value, name: &str) -> Value {
    owned(pod, "apps/v1", "ReplicaSet", name, &format!("uid-{name}"))
}

/// Current, desired, expected and allowed.
fn numbers(synced: &Synced) -> [i32; 4] {
    match &synced.verdict {
        Verdict::Counted(it) => [it.current, it.desired, it.expected, it.allowed],
        Verdict::Nothing | Verdict::Failed(_) => panic!("no numbers: {:?}", synced.verdict),
    }
}

/// The reasons of the Events, in order.
fn events(plan: &Plan) -> Vec<String> {
    let mut reasons = Vec::new();
    for step in &plan.steps {
        let Step::InOrder(actions) = step else { panic!("another step: {step:?}") };
        for action in actions {
            let Action::Event(event) = action else { panic!("a write: {action}") };
            reasons.push(format!("{:?} {}: {}", event.r#type, event.reason, event.message));
        }
    }
    reasons
}

/// The condition that is written.
fn condition(synced: &Synced) -> Value {
    let status = synced.status.as_ref().expect("a status is written");
    status["conditions"].as_array().and_then(|all| all.last()).cloned().unwrap_or_default()
}

// === impl World ===

impl World {
    fn fixture(&self) -> Fixture {
        Fixture::default()
            .holding::<PodDisruptionBudget>(&self.budgets)
            .holding::<Pod>(&self.pods)
            .holding::<ReplicationController>(&self.controllers)
            .holding::<ReplicaSet>(&self.sets)
            .holding::<Deployment>(&self.deployments)
            .holding::<StatefulSet>(&self.stateful)
    }

    fn of(budget: Value, pods: Vec<Value>) -> Self {
        Self { budgets: vec![budget], pods, ..Self::default() }
    }

    fn snapshot(&self) -> Snapshot {
        let key = Key::new("shop", "budget");
        Controller.observe(&key, &self.fixture().view(), &()).unwrap()
    }

    /// One sync, with these answers to live reads; what is written is there afterwards.
    fn sync_with(&mut self, facts: &Facts) -> Synced {
        let snapshot = self.snapshot();
        let (plan, verdict) = Controller.decide(&snapshot, facts);
        let write = Controller.report(&snapshot, Some(&verdict), &Outcome::default());
        let status = write.map(|write| {
            assert_eq!(write.object.resource, PodDisruptionBudget::RESOURCE);
            self.budgets[0] = fixture::body(&write);
            Value::Object(fixture::status(&write))
        });
        Synced { plan, verdict, status }
    }

    fn sync(&mut self) -> Synced {
        self.sync_with(&Facts::default())
    }
}
