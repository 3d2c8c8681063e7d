//! Claims that grow, on the real API server, with upstream's roles. As upstream's
//! `csimock/csi_volume_expansion.go` in test/e2e/storage, which needs a driver: here the test says
//! what is bound to what, and what is done when.

use std::time::Duration;

use anyhow::{Context as _, ensure};
use cluster_tests::{
    Binary, Cluster, Manager, Objects, Options, User, none_forbidden, quiet, silent, since,
    wait_until, writes,
};
use serde_json::{Value, json};

const ARGS: &[&str] = &["--controllers=persistentvolume-expander-controller"];
const CLAIMS: &str = "persistentvolumeclaims";
const VOLUMES: &str = "persistentvolumes";
const CLASSES: &str = "storageclasses.v1.storage.k8s.io";
const RESIZER: &str = "volume.kubernetes.io/storage-resizer";
const LIMIT: Duration = Duration::from_mins(1);
/// How long nothing may happen until the manager counts as done.
const CALM: Duration = Duration::from_secs(3);

#[tokio::test]
async fn claims_that_grow_are_announced() -> anyhow::Result<()> {
    let cluster = Cluster::start(Options { nodes: 1, ..Options::default() }).await?;
    let all = Objects::of(&cluster, "")?;
    let class = json!({"metadata": {"name": "grows"}, "provisioner": "driver.example.com",
        "allowVolumeExpansion": true});
    all.create(CLASSES, &class).await?;
    let binary = Binary::under_test()?;
    let mut manager = Manager::start(&cluster, binary, User::ControllerManager, ARGS)?;
    manager.healthy().await?;
    let requests = cluster.request_counts().await?;
    let run = async {
        a_drivers_volume_waits_for_its_resizer(&cluster).await?;
        a_migrated_volume_names_its_resizer(&cluster).await?;
        a_claim_that_does_not_grow_is_left_alone(&cluster, &manager).await?;
        let ours = [CLAIMS, VOLUMES];
        silent(&cluster, &manager, [CALM; 2], |it| ours.contains(&&*it.resource)).await?;
        none_forbidden(&since(&requests, &cluster.request_counts().await?))
    };
    run.await.with_context(|| manager.log())
}

/// "should expand volume by restarting pod if attach=off, nodeExpansion=off": what the manager does
/// of it.
async fn a_drivers_volume_waits_for_its_resizer(cluster: &Cluster) -> anyhow::Result<()> {
    let objects = Objects::in_new(cluster, "driver").await?;
    let csi = json!({"driver": "driver.example.com", "volumeHandle": "one"});
    bound(cluster, &objects, "csi", &json!({ "csi": csi })).await?;
    grow(&objects, "csi", "2Gi").await?;
    let waits = "waiting for an external controller to expand this PVC";
    let event = announced(&objects, waits).await?;
    ensure!(event["source"]["component"] == "volume_expand", "{event}");
    ensure!(event["type"] == "Normal" && event["involvedObject"]["name"] == "csi", "{event}");
    let claim = objects.get(CLAIMS, "csi").await?;
    ensure!(claim["metadata"]["annotations"].get(RESIZER).is_none(), "{claim}");
    ensure!(claim["status"]["capacity"]["storage"] == "1Gi", "{claim}");
    Ok(())
}

/// The same of a volume whose plugin was a part of Kubernetes: the claim names the driver.
async fn a_migrated_volume_names_its_resizer(cluster: &Cluster) -> anyhow::Result<()> {
    let objects = Objects::in_new(cluster, "migrated").await?;
    let ebs = json!({"awsElasticBlockStore": {"volumeID": "two"}});
    bound(cluster, &objects, "ebs", &ebs).await?;
    grow(&objects, "ebs", "2Gi").await?;
    let waits = "CSI migration enabled for kubernetes.io/aws-ebs; waiting for external resizer to \
                 expand the pvc";
    announced(&objects, waits).await?;
    let names = |claim: &Value| claim["metadata"]["annotations"][RESIZER] == "ebs.csi.aws.com";
    let claim = objects.wait(CLAIMS, "ebs", "to name the resizer", names).await?;
    ensure!(claim["status"]["phase"] == "Bound", "nothing else changes: {claim}");
    ensure!(claim["status"]["capacity"]["storage"] == "1Gi", "{claim}");
    Ok(())
}

/// One that has what it asks for, and of which something else changes.
async fn a_claim_that_does_not_grow_is_left_alone(
    cluster: &Cluster,
    manager: &Manager,
) -> anyhow::Result<()> {
    let objects = Objects::in_new(cluster, "still").await?;
    let nfs = json!({"nfs": {"server": "nfs", "path": "/"}});
    bound(cluster, &objects, "still", &nfs).await?;
    quiet(cluster, manager, CALM).await?;
    let before = cluster.request_counts().await?;
    let note = json!({"metadata": {"labels": {"a": "b"}}});
    objects.merge(CLAIMS, "still", &note).await?;
    quiet(cluster, manager, CALM).await?;
    let made = since(&before, &cluster.request_counts().await?);
    let ours = |it: &cluster_tests::Request| it.resource == "persistentvolumeclaims/status";
    ensure!(writes(&made, ours) == 0, "{made:?}");
    let events = objects.list("events").await?;
    ensure!(events.is_empty(), "{events:?}");
    Ok(())
}

/// A claim and its volume, bound to each other.
async fn bound(
    cluster: &Cluster,
    objects: &Objects,
    name: &str,
    source: &Value,
) -> anyhow::Result<()> {
    let all = Objects::of(cluster, "")?;
    let claim = json!({"metadata": {"name": name}, "spec": {"storageClassName": "grows",
        "volumeName": name, "accessModes": ["ReadWriteOnce"],
        "resources": {"requests": {"storage": "1Gi"}}}});
    let claim = objects.create(CLAIMS, &claim).await?;
    let mut spec = json!({"storageClassName": "grows", "capacity": {"storage": "1Gi"},
        "accessModes": ["ReadWriteOnce"],
        "claimRef": {"namespace": objects.namespace(), "name": name,
            "uid": claim["metadata"]["uid"]}});
    for (field, value) in source.as_object().into_iter().flatten() {
        spec[field] = value.clone();
    }
    all.create(VOLUMES, &json!({"metadata": {"name": name}, "spec": spec})).await?;
    let status = json!({"status": {"phase": "Bound", "capacity": {"storage": "1Gi"}}});
    objects.merge(CLAIMS, &format!("{name}/status"), &status).await
}

async fn grow(objects: &Objects, name: &str, size: &str) -> anyhow::Result<()> {
    let more = json!({"spec": {"resources": {"requests": {"storage": size}}}});
    objects.merge(CLAIMS, name, &more).await
}

/// The event with this message.
async fn announced(objects: &Objects, message: &str) -> anyhow::Result<Value> {
    wait_until("an event about the claim", LIMIT, async || {
        let events = objects.list("events").await?;
        let is_it = |event: &Value| event["reason"] == "ExternalExpanding";
        let event = events.into_iter().find(is_it);
        if let Some(event) = &event {
            ensure!(event["message"] == message, "{event}");
        }
        Ok(event)
    })
    .await
}
