//! Ephemeral volumes, and volumes and their classes that are deleted while something refers to
//! them, on the real API server, with upstream's roles. As upstream's `pv_protection.go`,
//! `volumeattributesclass.go` and `testsuites/ephemeral.go` in test/e2e/storage, which need
//! drivers; here the test says what is bound to what.

use std::time::Duration;

use anyhow::{Context as _, ensure};
use cluster_tests::{
    Binary, Cluster, Manager, Objects, Options, User, none_forbidden, quiet, silent, since,
    wait_until,
};
use serde_json::{Value, json};

const ARGS: &[&str] =
    &["--controllers=ephemeral-volume-controller,persistentvolume-protection-controller,\
     volumeattributesclass-protection-controller"];
const CLAIMS: &str = "persistentvolumeclaims";
const VOLUMES: &str = "persistentvolumes";
const CLASSES: &str = "volumeattributesclasses.v1.storage.k8s.io";
const LIMIT: Duration = Duration::from_mins(1);
/// How long nothing may happen until the manager counts as done.
const CALM: Duration = Duration::from_secs(3);

#[tokio::test]
async fn volumes_are_made_and_protected() -> anyhow::Result<()> {
    let cluster = Cluster::start(Options { nodes: 1, ..Options::default() }).await?;
    let binary = Binary::under_test()?;
    let mut manager = Manager::start(&cluster, binary, User::ControllerManager, ARGS)?;
    manager.healthy().await?;
    let requests = cluster.request_counts().await?;
    let run = async {
        an_ephemeral_volume_gets_its_claim(&cluster).await?;
        a_claim_in_the_way_is_left_alone(&cluster).await?;
        a_bound_volume_stays(&cluster, &manager).await?;
        a_class_stays_while_something_refers_to_it(&cluster, &manager).await?;
        let ours = ["persistentvolumeclaims", "persistentvolumes", "volumeattributesclasses"];
        silent(&cluster, &manager, [CALM; 2], |it| ours.contains(&&*it.resource)).await?;
        none_forbidden(&since(&requests, &cluster.request_counts().await?))
    };
    run.await.with_context(|| manager.log())
}

/// "should support multiple inline ephemeral volumes"; a claim that is lost is made again.
async fn an_ephemeral_volume_gets_its_claim(cluster: &Cluster) -> anyhow::Result<()> {
    let objects = Objects::in_new(cluster, "ephemeral").await?;
    let template = json!({
        "metadata": {"labels": {"app": "web"}, "annotations": {"example.com/note": "<&>"}},
        "spec": spec("1Gi"),
    });
    let more = json!({"metadata": {}, "spec": spec("1536Mi")});
    let pod = objects.create("pods", &pod("web", &[("a", &template), ("b", &more)])).await?;
    let is_there = |_: &Value| true;
    let claim = objects.wait(CLAIMS, "web-a", "to be made", is_there).await?;
    ensure!(claim["metadata"]["labels"] == json!({"app": "web"}), "{claim}");
    let note = &claim["metadata"]["annotations"]["example.com/note"];
    ensure!(note == "<&>", "{claim}");
    let owner = json!([{"apiVersion": "v1", "kind": "Pod", "name": "web",
        "uid": pod["metadata"]["uid"], "controller": true, "blockOwnerDeletion": true}]);
    ensure!(claim["metadata"]["ownerReferences"] == owner, "{claim}");
    ensure!(claim["spec"]["accessModes"] == json!(["ReadWriteOnce"]), "{claim}");
    ensure!(claim["spec"]["storageClassName"] == "", "{claim}");
    let other = objects.wait(CLAIMS, "web-b", "to be made", is_there).await?;
    ensure!(other["spec"]["resources"]["requests"]["storage"] == "1536Mi", "{other}");

    objects.merge(CLAIMS, "web-a", &json!({"metadata": {"finalizers": null}})).await?;
    objects.delete(CLAIMS, "web-a").await?;
    let old = claim["metadata"]["uid"].clone();
    let is_new = move |claim: &Value| claim["metadata"]["uid"] != old;
    objects.wait(CLAIMS, "web-a", "to be made again", is_new).await.map(drop)
}

/// TestSyncHandler, "wrong-PVC-owner".
async fn a_claim_in_the_way_is_left_alone(cluster: &Cluster) -> anyhow::Result<()> {
    let objects = Objects::in_new(cluster, "in-the-way").await?;
    let made = claim(&objects, "web-a", &json!({})).await?;
    let template = json!({"spec": spec("1Gi")});
    let pod = objects.create("pods", &pod("web", &[("a", &template)])).await?;
    let event = wait_until("an event about the claim", LIMIT, async || {
        let events = objects.list("events").await?;
        Ok(events.into_iter().find(|event| event["reason"] == "FailedBinding"))
    });
    let event = event.await?;
    let text = "ephemeral volume a: PVC in-the-way/web-a was not created for pod in-the-way/web \
                (pod is not owner)";
    ensure!(event["message"] == text && event["type"] == "Warning", "{event}");
    ensure!(event["source"]["component"] == "ephemeral_volume", "{event}");
    ensure!(event["involvedObject"]["uid"] == pod["metadata"]["uid"], "{event}");
    let claim = objects.get(CLAIMS, "web-a").await?;
    ensure!(claim["metadata"]["resourceVersion"] == made["metadata"]["resourceVersion"]);
    objects.merge(CLAIMS, "web-a", &json!({"metadata": {"finalizers": null}})).await?;
    objects.delete(CLAIMS, "web-a").await?;
    let is_owned = |claim: &Value| claim["metadata"]["ownerReferences"].is_array();
    objects.wait(CLAIMS, "web-a", "to be the pod's", is_owned).await.map(drop)
}

/// "Verify that PV bound to a PVC is not removed immediately", and "immediate deletion of a PV that
/// is not bound to a PVC".
async fn a_bound_volume_stays(cluster: &Cluster, manager: &Manager) -> anyhow::Result<()> {
    let objects = Objects::of(cluster, "")?;
    let spec = json!({"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"],
        "hostPath": {"path": "/tmp/data"}, "claimRef": {"namespace": "default", "name": "data"}});
    let volume = json!({"metadata": {"name": "data"}, "spec": spec});
    objects.create(VOLUMES, &volume).await?;
    let protection = "kubernetes.io/pv-protection";
    let other = json!({"metadata": {"finalizers": ["example.com/hold"]}});
    objects.merge(VOLUMES, "data", &other).await?;
    let both = json!(["example.com/hold", protection]);
    let has_both = |volume: &Value| volume["metadata"]["finalizers"] == both;
    objects.wait(VOLUMES, "data", "to be protected", has_both).await?;
    let phase = |phase: &str| json!({"status": {"phase": phase}});
    objects.merge(VOLUMES, "data/status", &phase("Bound")).await?;
    objects.delete(VOLUMES, "data").await?;
    quiet(cluster, manager, CALM).await?;
    let volume = objects.get(VOLUMES, "data").await?;
    ensure!(volume["metadata"]["finalizers"] == both, "{volume}");
    objects.merge(VOLUMES, "data/status", &phase("Released")).await?;
    let alone = json!(["example.com/hold"]);
    let is_free = |volume: &Value| volume["metadata"]["finalizers"] == alone;
    let volume = objects.wait(VOLUMES, "data", "to be let go", is_free).await?;
    ensure!(volume["spec"]["claimRef"]["name"] == "data", "nothing else changes: {volume}");
    objects.merge(VOLUMES, "data", &json!({"metadata": {"finalizers": null}})).await?;
    objects.gone(VOLUMES, "data").await
}

/// "should protect the VolumeAttributesClass from deletion when it's used", by volumes and claims.
async fn a_class_stays_while_something_refers_to_it(
    cluster: &Cluster,
    manager: &Manager,
) -> anyhow::Result<()> {
    let all = Objects::of(cluster, "")?;
    let objects = Objects::in_new(cluster, "classes").await?;
    for name in ["gold", "silver", "unused"] {
        let class = json!({"metadata": {"name": name}, "driverName": "csi.example.com",
            "parameters": {"iops": "500"}});
        all.create(CLASSES, &class).await?;
    }
    claim(&objects, "data", &json!({"volumeAttributesClassName": "gold"})).await?;
    let csi = json!({"driver": "csi.example.com", "volumeHandle": "1"});
    let spec = json!({"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"],
        "csi": csi, "volumeAttributesClassName": "silver"});
    all.create(VOLUMES, &json!({"metadata": {"name": "of-class"}, "spec": spec})).await?;
    quiet(cluster, manager, CALM).await?;
    for name in ["gold", "silver", "unused"] {
        all.delete(CLASSES, name).await?;
    }
    all.gone(CLASSES, "unused").await?;
    quiet(cluster, manager, CALM).await?;
    for name in ["gold", "silver"] {
        let class = all.get(CLASSES, name).await?;
        let finalizers = json!(["kubernetes.io/vac-protection"]);
        ensure!(class["metadata"]["finalizers"] == finalizers, "{class}");
    }
    all.delete(VOLUMES, "of-class").await?;
    all.gone(CLASSES, "silver").await?;
    objects.merge(CLAIMS, "data", &json!({"metadata": {"finalizers": null}})).await?;
    objects.delete(CLAIMS, "data").await?;
    all.gone(CLASSES, "gold").await
}

fn spec(size: &str) -> Value {
    json!({"storageClassName": "", "accessModes": ["ReadWriteOnce"],
        "resources": {"requests": {"storage": size}}})
}

/// A claim with `more` in its spec.
async fn claim(objects: &Objects, name: &str, more: &Value) -> anyhow::Result<Value> {
    let mut spec = spec("1Gi");
    for (field, value) in more.as_object().into_iter().flatten() {
        spec[field] = value.clone();
    }
    objects.create(CLAIMS, &json!({"metadata": {"name": name}, "spec": spec})).await
}

/// A pod on no node, with these ephemeral volumes.
pub(crate) fn pod(name: &str, volumes: &[(&str, &Value)]) -> Value {
    let source = |template: &Value| json!({ "volumeClaimTemplate": template });
    let volumes = volumes.iter();
    let volumes = volumes.map(|(name, it)| json!({"name": name, "ephemeral": source(it)}));
    let volumes: Vec<_> = volumes.collect();
    json!({"metadata": {"name": name}, "spec": {"schedulerName": "nobody", "volumes": volumes,
        "containers": [{"name": "main", "image": "main"}]}})
}
