//! DaemonSets, ReplicaSets, Deployments, StatefulSets and Jobs.

use super::{has_version, merge_all, template, timed, to_version};
use crate::world::{Acted, World};
use anyhow::Context;
use cluster_tests::{Follow, Objects, Weight, rolled_out, status_code};
use futures::TryStreamExt;
use futures::future::{Either, select};
use kube::api::WatchEvent;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::pin::pin;

const DAEMON_SETS: &str = "daemonsets";
const REPLICA_SETS: &str = "replicasets";
const DEPLOYMENTS: &str = "deployments";
const STATEFUL_SETS: &str = "statefulsets";
const JOBS: &str = "jobs.v1.batch";
const CLAIMS: &str = "persistentvolumeclaims";
const VOLUMES: &str = "persistentvolumes";
const DRIVER: &str = "driver.example.com";
/// The class of the claims of StatefulSets.
const CLASS: &str = "bench";
/// Volumes that the provisioner makes at once.
const VOLUMES_AT_ONCE: usize = 16;
/// The version that is rolled out.
const NEXT: &str = "2";

// === A DaemonSet ===

pub(super) async fn prepare_daemon_set(world: &mut World) -> anyhow::Result<()> {
    world.namespace("daemons").await.map(drop)
}

pub(super) async fn daemon_set(world: &mut World) -> anyhow::Result<Acted> {
    let objects = world.objects("daemons")?;
    let (nodes, limit) = (world.plan.nodes, world.plan.limit);
    let is_done = move |set: &Value| {
        Weight::one(rolled_out(set) && set["status"]["numberAvailable"] == nodes)
    };
    let mut sets = Follow::start(&objects, DAEMON_SETS, is_done).await?;
    let labels = json!({"app": "daemon"});
    let mut template = template(&labels);
    // Not on the nodes of another scenario, which no kubelet plays.
    template["spec"]["nodeSelector"] = json!({"type": "kwok"});
    let set = json!({"metadata": {"name": "daemon", "labels": labels}, "spec": {
        "selector": {"matchLabels": labels}, "template": template,
        "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": "10%"}}}});
    let change = async { objects.create(DAEMON_SETS, &set).await.map(drop) };
    timed(change, sets.becomes("the DaemonSet to be complete", limit, 1)).await
}

pub(super) async fn prepare_daemon_set_roll(world: &mut World) -> anyhow::Result<()> {
    let objects = world.namespace("daemons").await?;
    match objects.find(DAEMON_SETS, "daemon").await? {
        Some(_) => Ok(()),
        None => daemon_set(world).await.map(drop),
    }
}

pub(super) async fn daemon_set_roll(world: &mut World) -> anyhow::Result<Acted> {
    let (objects, limit) = (world.objects("daemons")?, world.plan.limit);
    let is_done = |set: &Value| Weight::one(has_version(set, NEXT) && rolled_out(set));
    let mut sets = Follow::start(&objects, DAEMON_SETS, is_done).await?;
    let patch = to_version(NEXT);
    let change = objects.merge(DAEMON_SETS, "daemon", &patch);
    timed(change, sets.becomes("the DaemonSet to be rolled out", limit, 1)).await
}

// === A ReplicaSet ===

pub(super) async fn prepare_replica_set(world: &mut World) -> anyhow::Result<()> {
    let objects = world.namespace("replicas").await?;
    objects.create(REPLICA_SETS, &empty_replica_set("many")).await.map(drop)
}

pub(super) async fn replica_set(world: &mut World) -> anyhow::Result<Acted> {
    let (objects, limit) = (world.objects("replicas")?, world.plan.limit);
    let replicas = world.plan.scaled(3_000);
    let is_done = |set: &Value| {
        Weight::one(set["spec"]["replicas"] != 0 && set["status"]["availableReplicas"] == replicas)
    };
    let mut sets = Follow::start(&objects, REPLICA_SETS, is_done).await?;
    let patch = json!({"spec": {"replicas": replicas}});
    let change = objects.merge(REPLICA_SETS, "many", &patch);
    timed(change, sets.becomes("the ReplicaSet to be complete", limit, 1)).await
}

/// A ReplicaSet that waits to be scaled.
pub(super) fn empty_replica_set(name: &str) -> Value {
    let labels = json!({"app": name});
    json!({"metadata": {"name": name, "labels": labels}, "spec": {"replicas": 0,
        "selector": {"matchLabels": labels}, "template": template(&labels)}})
}

// === Deployments ===

pub(super) async fn prepare_deployments(world: &mut World) -> anyhow::Result<()> {
    world.namespace("deployments").await.map(drop)
}

pub(super) async fn deployments(world: &mut World) -> anyhow::Result<Acted> {
    let (objects, limit) = (world.objects("deployments")?, world.plan.limit);
    let all = (0..world.plan.scaled(40)).map(|number| {
        let name = format!("web-{number}");
        let labels = json!({"app": name});
        deployment(&name, &labels, 25)
    });
    let count = u64::try_from(all.len())?;
    let is_done = |it: &Value| Weight::one(rolled_out(it));
    let mut followed = Follow::start(&objects, DEPLOYMENTS, is_done).await?;
    let change = objects.create_all(DEPLOYMENTS, all);
    timed(change, followed.becomes("the Deployments to be complete", limit, count)).await
}

pub(super) async fn prepare_deployments_roll(world: &mut World) -> anyhow::Result<()> {
    let objects = world.namespace("deployments").await?;
    match objects.find(DEPLOYMENTS, "web-0").await? {
        Some(_) => Ok(()),
        None => deployments(world).await.map(drop),
    }
}

pub(super) async fn deployments_roll(world: &mut World) -> anyhow::Result<Acted> {
    let (objects, limit) = (world.objects("deployments")?, world.plan.limit);
    let count = world.plan.scaled(40);
    let is_done = |it: &Value| Weight::one(has_version(it, NEXT) && rolled_out(it));
    let mut followed = Follow::start(&objects, DEPLOYMENTS, is_done).await?;
    let (names, patch) = ((0..count).map(|number| format!("web-{number}")), to_version(NEXT));
    let change = merge_all(&objects, DEPLOYMENTS, names, &patch);
    let what = "the Deployments to be rolled out";
    timed(change, followed.becomes(what, limit, u64::try_from(count)?)).await
}

pub(super) fn deployment(name: &str, labels: &Value, replicas: usize) -> Value {
    json!({"metadata": {"name": name, "labels": labels}, "spec": {"replicas": replicas,
        "selector": {"matchLabels": {"app": labels["app"]}}, "template": template(labels)}})
}

// === StatefulSets ===

/// There is a provisioner, this tool, and volumes need not be attached.
pub(super) async fn prepare_stateful_sets(world: &mut World) -> anyhow::Result<()> {
    let all = world.objects("")?;
    world.namespace("stateful").await?;
    let class = json!({"metadata": {"name": CLASS}, "provisioner": DRIVER});
    all.create("storageclasses.v1.storage.k8s.io", &class).await?;
    let driver = json!({"metadata": {"name": DRIVER}, "spec": {"attachRequired": false}});
    all.create("csidrivers.v1.storage.k8s.io", &driver).await.map(drop)
}

pub(super) async fn stateful_sets(world: &mut World) -> anyhow::Result<Acted> {
    let (objects, volumes) = (world.objects("stateful")?, world.objects("")?);
    let (count, limit) = (world.plan.scaled(100), world.plan.limit);
    let is_done = |set: &Value| {
        let (metadata, status) = (&set["metadata"], &set["status"]);
        let is_all = |key: &str| status[key] == 10;
        let is_seen = status["observedGeneration"] == metadata["generation"];
        Weight::one(is_seen && is_all("readyReplicas") && is_all("availableReplicas"))
    };
    let mut sets = Follow::start(&objects, STATEFUL_SETS, is_done).await?;
    let provisioner = pin!(provision(&objects, &volumes));
    let all = (0..count).map(|number| stateful_set(&format!("db-{number}")));
    let change = objects.create_all(STATEFUL_SETS, all);
    let what = "the StatefulSets to be complete";
    let acted = pin!(timed(change, sets.becomes(what, limit, u64::try_from(count)?)));
    match select(acted, provisioner).await {
        Either::Left((acted, _)) => acted,
        Either::Right((ended, _)) => Err(ended.context("the provisioner")),
    }
}

fn stateful_set(name: &str) -> Value {
    let labels = json!({"app": name});
    let claim = |name: &str| {
        json!({"metadata": {"name": name}, "spec": {"storageClassName": CLASS,
            "accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}})
    };
    let mut template = template(&labels);
    template["spec"]["containers"][0]["volumeMounts"] = json!([
        {"name": "data", "mountPath": "/data"}, {"name": "log", "mountPath": "/log"}]);
    json!({"metadata": {"name": name, "labels": labels}, "spec": {"replicas": 10,
        "serviceName": name, "selector": {"matchLabels": labels}, "template": template,
        "volumeClaimTemplates": [claim("data"), claim("log")]}})
}

/// Makes a volume for each claim that the manager passes on, until an error.
async fn provision(claims: &Objects, volumes: &Objects) -> anyhow::Error {
    let work = async {
        let (_, version) = claims.list_at(CLAIMS).await?;
        let mut seen = BTreeSet::new();
        let asked = claims.watch(CLAIMS, &version).await?.map_err(anyhow::Error::from);
        let asked = asked.try_filter_map(|event| {
            let claim = match event {
                WatchEvent::Added(claim) | WatchEvent::Modified(claim) => Some(claim),
                WatchEvent::Deleted(_) | WatchEvent::Bookmark(_) | WatchEvent::Error(_) => None,
            };
            let claim = claim.filter(|claim| {
                let annotations = &claim["metadata"]["annotations"];
                let asks = annotations["volume.kubernetes.io/storage-provisioner"] == DRIVER;
                asks && seen.insert(claim["metadata"]["uid"].to_string())
            });
            std::future::ready(anyhow::Ok(claim))
        });
        let made = asked.try_for_each_concurrent(VOLUMES_AT_ONCE, |claim| async move {
            match volumes.create(VOLUMES, &volume_for(&claim)).await {
                Err(error) if status_code(&error) == Some(409) => Ok(()),
                made => made.map(drop),
            }
        });
        made.await?;
        anyhow::Ok(())
    };
    match work.await {
        Ok(()) => anyhow::anyhow!("the watch ended"),
        Err(error) => error,
    }
}

/// The volume that an external provisioner makes for a claim.
fn volume_for(claim: &Value) -> Value {
    let (meta, spec) = (&claim["metadata"], &claim["spec"]);
    let name = format!("pvc-{}", meta["uid"].as_str().unwrap_or_default());
    json!({
        "metadata": {"name": name, "annotations": {"pv.kubernetes.io/provisioned-by": DRIVER}},
        "spec": {
            "storageClassName": spec["storageClassName"],
            "capacity": spec["resources"]["requests"],
            "accessModes": spec["accessModes"],
            "persistentVolumeReclaimPolicy": "Delete",
            "csi": {"driver": DRIVER, "volumeHandle": name},
            "claimRef": {"apiVersion": "v1", "kind": "PersistentVolumeClaim",
                "namespace": meta["namespace"], "name": meta["name"], "uid": meta["uid"]},
        },
    })
}

// === Jobs ===

pub(super) async fn prepare_jobs(world: &mut World) -> anyhow::Result<()> {
    world.namespace("jobs").await.map(drop)
}

pub(super) async fn jobs(world: &mut World) -> anyhow::Result<Acted> {
    let (objects, limit) = (world.objects("jobs")?, world.plan.limit);
    let count = world.plan.scaled(500);
    let is_done = |job: &Value| {
        let conditions = job["status"]["conditions"].as_array();
        let mut conditions = conditions.into_iter().flatten();
        let is_complete = conditions.any(|it| it["type"] == "Complete" && it["status"] == "True");
        Weight::one(is_complete && job["status"]["succeeded"] == 10)
    };
    let mut followed = Follow::start(&objects, JOBS, is_done).await?;
    let all = (0..count).map(|number| job(&format!("task-{number}")));
    let change = objects.create_all(JOBS, all);
    let complete = followed.becomes("the Jobs to finish", limit, u64::try_from(count)?);
    timed(change, complete).await.context("Jobs")
}

fn job(name: &str) -> Value {
    let mut template = template(&json!({"app": name}));
    template["spec"]["restartPolicy"] = "Never".into();
    json!({"metadata": {"name": name}, "spec": {"completionMode": "Indexed", "completions": 10,
        "parallelism": 10, "template": template}})
}
