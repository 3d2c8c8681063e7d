//! What the page shows, as JSON. All lists are bounded.

use std::collections::BTreeMap;
use std::sync::Arc;

use api::{Key, Resource};
use manager::debug::Source;
use runtime::Clock;
use sandbox::{Follower, Server};
use serde_json::{Value, json};

use crate::view::{DAEMON_SETS, DEPLOYMENTS, EVENTS, NODES, PODS, is, text, trouble, workload};

const JOBS: Resource = Resource::namespaced("batch", "v1", "jobs", "Job");
const REPLICA_SETS: Resource = Resource::namespaced("apps", "v1", "replicasets", "ReplicaSet");
const STATEFUL_SETS: Resource = Resource::namespaced("apps", "v1", "statefulsets", "StatefulSet");
/// In the order in which they are shown.
const WORKLOADS: [Resource; 5] = [DEPLOYMENTS, REPLICA_SETS, STATEFUL_SETS, DAEMON_SETS, JOBS];

/// How many of each are shown at most.
const NODES_MAX: usize = 200;
const PODS_MAX: usize = 3000;
const WORKLOADS_MAX: usize = 200;
const EVENTS_MAX: usize = 60;

/// The objects that the page shows.
pub(super) struct Board {
    follower: Follower,
    source: Arc<dyn Source>,
    clock: Clock,
    objects: BTreeMap<(Resource, Key), Arc<Value>>,
}

impl Board {
    pub(super) fn new(server: Server, source: Arc<dyn Source>) -> Self {
        let clock = server.runtime().clock.clone();
        let resources = [NODES, PODS, EVENTS].into_iter().chain(WORKLOADS).collect();
        Self { follower: Follower::new(server, resources), source, clock, objects: BTreeMap::new() }
    }

    /// Waits until an object has changed.
    pub(super) async fn changed(&self) {
        self.follower.changed().await;
    }

    /// The present state.
    pub(super) fn state(&mut self) -> Value {
        for change in self.follower.changes() {
            let name = |path: &str| text(&change.object, path);
            let key = Key::new(&name("/metadata/namespace"), &name("/metadata/name"));
            if change.gone {
                self.objects.remove(&(change.resource, key));
            } else {
                self.objects.insert((change.resource, key), change.object);
            }
        }
        json!({
            "time": self.clock.now().to_string(),
            "speed": self.clock.speed(),
            "nodes": self.all(&NODES).take(NODES_MAX).map(node).collect::<Vec<_>>(),
            "pods": self.all(&PODS).take(PODS_MAX).map(pod).collect::<Vec<_>>(),
            "workloads": self.workloads(),
            "events": self.events(),
            "controllers": self.controllers(),
            "counts": {"nodes": self.all(&NODES).count(), "pods": self.all(&PODS).count()},
        })
    }

    fn all(&self, resource: &Resource) -> impl Iterator<Item = &Value> + use<'_> {
        let resource = resource.clone();
        let of = self.objects.iter().filter(move |((of, _), _)| *of == resource);
        of.map(|(_, object)| &**object)
    }

    fn workloads(&self) -> Vec<Value> {
        let row = |resource: &Resource, object: &Value| {
            // What another one makes is shown as part of that.
            let is_own = object.pointer("/metadata/ownerReferences").is_none();
            let said = if *resource == JOBS { Some(job(object)) } else { workload(object) };
            is_own.then(|| {
                json!({
                    "kind": resource.kind, "resource": resource.plural,
                    "namespace": text(object, "/metadata/namespace"),
                    "name": text(object, "/metadata/name"),
                    "replicas": object.pointer("/spec/replicas"),
                    "container": text(object, "/spec/template/spec/containers/0/name"),
                    "image": text(object, "/spec/template/spec/containers/0/image"),
                    "status": said.unwrap_or_else(|| "not observed yet".to_owned()),
                })
            })
        };
        let rows = WORKLOADS.into_iter().flat_map(|resource| {
            self.all(&resource).filter_map(move |object| row(&resource, object))
        });
        rows.take(WORKLOADS_MAX).collect()
    }

    /// The last ones, the newest first.
    fn events(&self) -> Vec<Value> {
        let mut events: Vec<_> = self.all(&EVENTS).collect();
        let time = |event: &&Value| {
            let times = ["/lastTimestamp", "/series/lastObservedTime", "/eventTime"];
            times.map(|path| text(event, path)).into_iter().max()
        };
        events.sort_by_cached_key(|event| std::cmp::Reverse(time(event)));
        let shown = events.into_iter().take(EVENTS_MAX).map(|event| {
            let about = |field: &str| text(event, &format!("/involvedObject/{field}"));
            json!({
                "time": time(&event), "type": text(event, "/type"),
                "about": format!("{}/{}", about("kind").to_lowercase(), about("name")),
                "reason": text(event, "/reason"), "message": text(event, "/message"),
            })
        });
        shown.collect()
    }

    /// Those that run.
    fn controllers(&self) -> Vec<Value> {
        let rows = self.source.controllers();
        let shown = rows.iter().filter_map(|row| {
            let status = row.engine.as_ref().ok()?.status();
            let plan = status.plans.first();
            Some(json!({
                "name": row.name, "queued": status.queued, "failing": status.failing.len(),
                "plan": plan.map(|plan| format!("{}: {}", plan.key, plan.why)),
                "at": plan.map(|plan| plan.at.to_string()),
            }))
        });
        shown.collect()
    }
}

fn node(node: &Value) -> Value {
    let is_ready = is(node, "Ready");
    let is_cordoned = node.pointer("/spec/unschedulable").and_then(Value::as_bool) == Some(true);
    let taints = node.pointer("/spec/taints").and_then(Value::as_array);
    let taints = taints
        .into_iter()
        .flatten()
        .map(|taint| format!("{}:{}", text(taint, "/key"), text(taint, "/effect")));
    json!({
        "name": text(node, "/metadata/name"), "ready": is_ready, "cordoned": is_cordoned,
        "taints": taints.collect::<Vec<_>>(),
    })
}

fn pod(pod: &Value) -> Value {
    let is_ready = is(pod, "Ready");
    let phase = text(pod, "/status/phase");
    let trouble = trouble(pod);
    let state = match phase.as_str() {
        _ if pod.pointer("/metadata/deletionTimestamp").is_some() => "terminating",
        "Failed" => "failed",
        "Succeeded" => "succeeded",
        _ if is_ready => "ready",
        _ if trouble.is_some() => "waiting",
        _ => "starting",
    };
    json!({
        "namespace": text(pod, "/metadata/namespace"), "name": text(pod, "/metadata/name"),
        "node": text(pod, "/spec/nodeName"), "state": state, "trouble": trouble,
    })
}

fn job(job: &Value) -> String {
    let number = |field: &str| {
        let number = job.pointer(&format!("/status/{field}")).and_then(Value::as_i64);
        format!("{} {field}", number.unwrap_or(0))
    };
    let ended = ["Complete", "Failed", "Suspended"].into_iter().find(|name| is(job, name));
    let counts = ["active", "succeeded", "failed"].map(number).join(", ");
    ended.map_or(counts.clone(), |ended| format!("{ended}: {counts}"))
}
