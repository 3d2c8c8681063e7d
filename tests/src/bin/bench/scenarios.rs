//! What the managers are measured at: the table, in the order in which it is played. What a
//! scenario makes stays, unless the table says otherwise, so the later ones meet a full cluster.

mod cleaning;
mod lives;
mod services;
mod workloads;

use crate::time::Clock;
use crate::world::{Acted, World};
use cluster_tests::Objects;
use futures::future::LocalBoxFuture;
use futures::{FutureExt, StreamExt, TryStreamExt, stream};
use serde_json::{Value, json};

/// Requests in flight while many objects are changed.
const AT_ONCE: usize = 48;

type Step<T> = for<'a> fn(&'a mut World) -> LocalBoxFuture<'a, anyhow::Result<T>>;

/// A row of the table.
pub(crate) struct Scenario {
    /// As `ONLY=` has it.
    pub(crate) name: &'static str,
    /// What happens until its end, in a report.
    pub(crate) text: &'static str,
    /// Brings about what it starts from, unless an earlier one has.
    pub(crate) prepare: Step<()>,
    /// Starts the clock with the first change, and stops it when the end is seen.
    pub(crate) act: Step<Acted>,
    /// Takes away what would disturb the later ones.
    pub(crate) clear: Step<()>,
}

/// All of them.
pub(crate) const ALL: [Scenario; 17] = [
    Scenario {
        name: "idle",
        text: "nothing happens for 60 s on the fresh cluster",
        prepare: nothing,
        act: |world| lives::idle(world).boxed_local(),
        clear: nothing,
    },
    Scenario {
        name: "daemonset",
        text: "a DaemonSet is made: a pod on every node",
        prepare: |world| workloads::prepare_daemon_set(world).boxed_local(),
        act: |world| workloads::daemon_set(world).boxed_local(),
        clear: nothing,
    },
    Scenario {
        name: "daemonset-roll",
        text: "its template changes, a tenth of the pods at a time",
        prepare: |world| workloads::prepare_daemon_set_roll(world).boxed_local(),
        act: |world| workloads::daemon_set_roll(world).boxed_local(),
        clear: nothing,
    },
    Scenario {
        name: "replicaset",
        text: "a ReplicaSet is scaled from 0 to 3,000",
        prepare: |world| workloads::prepare_replica_set(world).boxed_local(),
        act: |world| workloads::replica_set(world).boxed_local(),
        clear: nothing,
    },
    Scenario {
        name: "deployments",
        text: "40 Deployments × 25 are made",
        prepare: |world| workloads::prepare_deployments(world).boxed_local(),
        act: |world| workloads::deployments(world).boxed_local(),
        clear: nothing,
    },
    Scenario {
        name: "deployments-roll",
        text: "their templates change",
        prepare: |world| workloads::prepare_deployments_roll(world).boxed_local(),
        act: |world| workloads::deployments_roll(world).boxed_local(),
        clear: nothing,
    },
    Scenario {
        name: "statefulsets",
        text: "100 StatefulSets × 10 with two claims each are made",
        prepare: |world| workloads::prepare_stateful_sets(world).boxed_local(),
        act: |world| workloads::stateful_sets(world).boxed_local(),
        clear: nothing,
    },
    Scenario {
        name: "jobs",
        text: "500 Jobs × 10, indexed, are made and finish",
        prepare: |world| workloads::prepare_jobs(world).boxed_local(),
        act: |world| workloads::jobs(world).boxed_local(),
        clear: nothing,
    },
    Scenario {
        name: "services",
        text: "500 Services over 5,000 pods of 500 Deployments are made; 10 select 1,000 pods",
        prepare: |world| services::prepare(world).boxed_local(),
        act: |world| services::make(world).boxed_local(),
        clear: nothing,
    },
    Scenario {
        name: "services-roll",
        text: "all their pods are replaced by rolling updates",
        prepare: |world| services::prepare_roll(world).boxed_local(),
        act: |world| services::roll(world).boxed_local(),
        clear: nothing,
    },
    Scenario {
        name: "collected",
        text: "3,000 ConfigMaps are collected after their owner was deleted",
        prepare: |world| cleaning::prepare_collected(world).boxed_local(),
        act: |world| cleaning::collected(world).boxed_local(),
        clear: nothing,
    },
    Scenario {
        name: "namespace",
        text: "a namespace of 5,000 objects is deleted",
        prepare: |world| cleaning::prepare_namespace(world).boxed_local(),
        act: |world| cleaning::namespace(world).boxed_local(),
        clear: nothing,
    },
    Scenario {
        name: "nodes",
        text: "2,000 more nodes are made and get their ranges of addresses; then deleted",
        prepare: nothing,
        act: |world| cleaning::nodes(world).boxed_local(),
        clear: |world| cleaning::clear_nodes(world).boxed_local(),
    },
    Scenario {
        name: "idle-full",
        text: "nothing happens for 60 s with all that is left of the above",
        prepare: nothing,
        act: |world| lives::idle(world).boxed_local(),
        clear: nothing,
    },
    Scenario {
        name: "restart",
        text: "the manager starts, with all that: until the first pod that waited for it",
        prepare: |world| lives::prepare_restart(world).boxed_local(),
        act: |world| lives::restart(world).boxed_local(),
        clear: nothing,
    },
    Scenario {
        name: "takeover-term",
        text: "the leader gets SIGTERM: until the first pod that the other one makes",
        prepare: |world| lives::prepare_takeover(world).boxed_local(),
        act: |world| lives::takeover_after_term(world).boxed_local(),
        clear: nothing,
    },
    Scenario {
        name: "takeover-kill",
        text: "the leader gets SIGKILL right after a renewal: the same",
        prepare: |world| lives::prepare_takeover(world).boxed_local(),
        act: |world| lives::takeover_after_kill(world).boxed_local(),
        clear: nothing,
    },
];

fn nothing(_: &mut World) -> LocalBoxFuture<'_, anyhow::Result<()>> {
    std::future::ready(Ok(())).boxed_local()
}

/// Changes objects of one resource, many at a time, by a JSON merge patch.
async fn merge_all(
    objects: &Objects,
    resource: &str,
    names: impl IntoIterator<Item = String>,
    patch: &Value,
) -> anyhow::Result<()> {
    stream::iter(names)
        .map(|name| async move { objects.merge(resource, &name, patch).await })
        .buffer_unordered(AT_ONCE)
        .try_collect()
        .await
}

/// Starts the clock, changes something, and stops the clock when its end was seen as well.
async fn timed(
    change: impl Future<Output = anyhow::Result<()>>,
    end: impl Future<Output = anyhow::Result<()>>,
) -> anyhow::Result<Acted> {
    let clock = Clock::start();
    futures::future::try_join(change, end).await?;
    Ok(Acted::by(&clock))
}

/// A template of pods as large as an ordinary one.
fn template(labels: &Value) -> Value {
    let probe = json!({"httpGet": {"path": "/healthz", "port": 8080}, "periodSeconds": 10});
    json!({"metadata": {"labels": labels}, "spec": {"containers": [{
        "name": "main",
        "image": "registry.example.com/team/image:1.2.3",
        "args": ["serve", "--port=8080"],
        "env": [
            {"name": "LEVEL", "value": "info"},
            {"name": "POD_IP", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}},
        ],
        "ports": [{"name": "http", "containerPort": 8080}],
        "resources": {"requests": {"cpu": "10m", "memory": "16Mi"}, "limits": {"memory": "64Mi"}},
        "livenessProbe": probe,
        "readinessProbe": probe,
    }]}})
}

/// A merge patch that gives the template of a workload this version.
fn to_version(version: &str) -> Value {
    json!({"spec": {"template": {"metadata": {"annotations": {"version": version}}}}})
}

/// Whether the template has that version.
fn has_version(object: &Value, version: &str) -> bool {
    object["spec"]["template"]["metadata"]["annotations"]["version"] == version
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn names_are_different() {
        let names: BTreeSet<_> = ALL.iter().map(|scenario| scenario.name).collect();
        assert_eq!(names.len(), ALL.len());
    }
}
