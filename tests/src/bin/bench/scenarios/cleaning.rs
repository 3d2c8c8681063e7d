//! What is deleted, and nodes that come and go.

use super::{AT_ONCE, timed};
use crate::time::timestamp;
use crate::world::{Acted, World};
use cluster_tests::{Follow, Objects, Weight};
use futures::{StreamExt, TryStreamExt, stream};
use serde_json::{Value, json};

const CONFIG_MAPS: &str = "configmaps";
const COLLECTED: &str = "collected";
const DOOMED: &str = "doomed";

/// Each object must go.
fn none(_: &Value) -> Weight {
    Weight::one(false)
}

// === The garbage collector ===

pub(super) async fn prepare_collected(world: &mut World) -> anyhow::Result<()> {
    let objects = world.namespace(COLLECTED).await?;
    let owner = json!({"metadata": {"name": "owner"}});
    let owner = objects.create(CONFIG_MAPS, &owner).await?;
    let reference = json!([{"apiVersion": "v1", "kind": "ConfigMap", "name": "owner",
        "uid": owner["metadata"]["uid"]}]);
    let all = (0..world.plan.scaled(3_000)).map(|number| {
        let labels = json!({"is": "dependent"});
        json!({"metadata": {"name": format!("dependent-{number}"), "labels": labels,
            "ownerReferences": reference}, "data": {"key": "value"}})
    });
    objects.create_all(CONFIG_MAPS, all).await
}

pub(super) async fn collected(world: &mut World) -> anyhow::Result<Acted> {
    let (objects, limit) = (world.objects(COLLECTED)?, world.plan.limit);
    let is_dependent = |it: &Value| match &it["metadata"]["labels"]["is"] {
        Value::String(_) => Weight::one(false),
        _ => Weight::default(),
    };
    let mut left = Follow::start(&objects, CONFIG_MAPS, is_dependent).await?;
    let change = objects.delete(CONFIG_MAPS, "owner");
    timed(change, left.becomes("the dependents to be deleted", limit, 0)).await
}

// === A namespace ===

pub(super) async fn prepare_namespace(world: &mut World) -> anyhow::Result<()> {
    let objects = world.namespace(DOOMED).await?;
    let named = |kind: &str, count| {
        let kind = kind.to_owned();
        (0..count).map(move |number| json!({"metadata": {"name": format!("{kind}-{number}")}}))
    };
    objects.create_all(CONFIG_MAPS, named("map", world.plan.scaled(3_000))).await?;
    objects.create_all("secrets", named("secret", world.plan.scaled(1_500))).await?;
    objects.create_all("serviceaccounts", named("account", world.plan.scaled(500))).await
}

pub(super) async fn namespace(world: &mut World) -> anyhow::Result<Acted> {
    let (all, limit) = (world.objects("")?, world.plan.limit);
    let is_it = |it: &Value| {
        if it["metadata"]["name"] == DOOMED { none(it) } else { Weight::default() }
    };
    let mut left = Follow::start(&all, "namespaces", is_it).await?;
    let change = all.delete("namespaces", DOOMED);
    timed(change, left.becomes("the namespace to be deleted", limit, 0)).await
}

// === Nodes ===

/// More nodes, which nobody plays: they are deleted before they count as lost.
pub(super) async fn nodes(world: &mut World) -> anyhow::Result<Acted> {
    let (all, limit) = (world.objects("")?, world.plan.limit);
    let has_range = |node: &Value| Weight::one(node["spec"]["podCIDR"].is_string());
    let (before, more) = (world.plan.nodes, world.plan.scaled(2_000));
    let mut followed = Follow::start(&all, "nodes", has_range).await?;
    let change = all.create_all("nodes", (0..more).map(|number| node(&name(number))));
    let count = u64::try_from(before + more)?;
    timed(change, followed.becomes("the nodes to have ranges", limit, count)).await
}

pub(super) async fn clear_nodes(world: &mut World) -> anyhow::Result<()> {
    let all: Objects = world.objects("")?;
    stream::iter((0..world.plan.scaled(2_000)).map(name))
        .map(|name| {
            let all = &all;
            async move { all.delete("nodes", &name).await }
        })
        .buffer_unordered(AT_ONCE)
        .try_collect()
        .await
}

fn name(number: usize) -> String {
    format!("more-{number}")
}

fn node(name: &str) -> Value {
    let (capacity, now) = (json!({"cpu": "8", "memory": "32Gi", "pods": "110"}), timestamp());
    let ready = json!({"type": "Ready", "status": "True", "reason": "KubeletReady",
        "lastHeartbeatTime": now.to_string(), "lastTransitionTime": now.to_string()});
    json!({"metadata": {"name": name, "labels": {"kubernetes.io/hostname": name}},
        "spec": {"taints": [{"key": "bench", "effect": "NoSchedule"}]},
        "status": {"capacity": capacity, "allocatable": capacity, "conditions": [ready]}})
}
