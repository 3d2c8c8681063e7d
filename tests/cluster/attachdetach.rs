//! Volumes that are attached to nodes, on the real API server, with upstream's roles. As upstream's
//! `test/integration/volume/attach_detach_test.go`, whose names the scenes have, and its e2e tests
//! of attachments (`storage/csimock/csi_attach_volume.go`, `storage/non_graceful_node_shutdown.go`,
//! `storage/detach_mounted.go`). What its plugin for tests does there, this test does: it plays the
//! external attacher, and the kubelets of nodes that nobody else looks after.

use std::time::Duration;

use anyhow::{Context as _, ensure};
use cluster_tests::{
    Binary, Cluster, Manager, Objects, Options, User, none_forbidden, quiet, since, wait_until,
    writes,
};
use serde_json::{Value, json};

const ARGS: &[&str] = &[
    "--controllers=persistentvolume-attach-detach-controller,persistentvolume-binder-controller,\
     pod-garbage-collector-controller",
    "--attach-detach-reconcile-sync-period=5s",
];
const ATTACHMENTS: &str = "volumeattachments.v1.storage.k8s.io";
const DRIVERS: &str = "csidrivers.v1.storage.k8s.io";
const CLAIMS: &str = "persistentvolumeclaims";
const VOLUMES: &str = "persistentvolumes";
const DRIVER: &str = "attached.example.com";
const FINALIZER: &str = "external-attacher/attached-example-com";
const MANAGED: &str = "volumes.kubernetes.io/controller-managed-attach-detach";
const LIMIT: Duration = Duration::from_mins(2);
/// How often the attacher looks.
const PERIOD: Duration = Duration::from_millis(200);
/// How long nothing may happen until the manager counts as done.
const CALM: Duration = Duration::from_secs(3);

#[tokio::test]
async fn volumes_are_attached_where_pods_need_them() -> anyhow::Result<()> {
    let cluster = Cluster::start(Options { nodes: 0, ..Options::default() }).await?;
    let scenes = async {
        let mut manager = start(&cluster)?;
        manager.healthy().await?;
        let requests = cluster.request_counts().await?;
        let run = async {
            claims_that_are_bound_later(&cluster).await?;
            a_pod_that_ends(&cluster).await?;
            a_pod_that_is_deleted(&cluster).await?;
            a_volume_moves(&cluster).await?;
            a_node_out_of_service(&cluster, &manager).await?;
            a_driver_without_attachments(&cluster).await?;
            none_forbidden(&since(&requests, &cluster.request_counts().await?))
        };
        run.await.with_context(|| manager.log())?;
        manager.sigkill();
        another_manager_goes_on(&cluster).await
    };
    tokio::select! {
        biased;
        done = scenes => done,
        error = attacher(&cluster) => Err(error.context("the attacher")),
    }
}

fn start(cluster: &Cluster) -> anyhow::Result<Manager> {
    Manager::start(cluster, Binary::under_test()?, User::ControllerManager, ARGS)
}

/// `TestPVCBoundWithADC`: pods whose claims are not bound yet get their volumes when these are.
async fn claims_that_are_bound_later(cluster: &Cluster) -> anyhow::Result<()> {
    let scene = Scene::new(cluster, "bound-later").await?;
    let node = scene.node("bound-later").await?;
    for n in 0..3 {
        scene.claim(&format!("later-{n}"), "ReadWriteOnce").await?;
        scene.pod(&format!("later-{n}"), &format!("later-{n}"), &node).await?;
    }
    ensure!(scene.all.count(ATTACHMENTS).await? == 0, "nothing is bound");
    for n in 0..3 {
        scene.volume(&format!("later-{n}"), "ReadWriteOnce").await?;
    }
    for n in 0..3 {
        scene.attached(&format!("later-{n}"), &node).await?;
        scene.event(&format!("later-{n}"), "SuccessfulAttachVolume", &succeeded(n)).await?;
    }
    scene.end(&node).await
}

fn succeeded(n: usize) -> String {
    format!("AttachVolume.Attach succeeded for volume \"later-{n}\" ")
}

/// `TestPodUpdateWithADC`: a pod that has succeeded needs nothing any more.
async fn a_pod_that_ends(cluster: &Cluster) -> anyhow::Result<()> {
    let scene = Scene::new(cluster, "pod-ends").await?;
    let node = scene.node("pod-ends").await?;
    scene.pair("ends", "ReadWriteOnce").await?;
    scene.pod("ends", "ends", &node).await?;
    scene.attached("ends", &node).await?;
    scene.pods.merge("pods", "ends/status", &json!({"status": {"phase": "Succeeded"}})).await?;
    scene.detached("ends", &node).await?;
    scene.end(&node).await
}

/// `TestPodDeletionWithDswp`, as far as it shows from outside; `TestPodAddedByDswp`: of two pods
/// with one volume, both count.
async fn a_pod_that_is_deleted(cluster: &Cluster) -> anyhow::Result<()> {
    let scene = Scene::new(cluster, "pod-goes").await?;
    let node = scene.node("pod-goes").await?;
    scene.pair("goes", "ReadWriteOnce").await?;
    for name in ["first", "second"] {
        scene.pod(name, "goes", &node).await?;
    }
    scene.attached("goes", &node).await?;
    scene.delete("first").await?;
    pause(CALM).await;
    ensure!(scene.attachment("goes", &node).await?.is_some(), "the second pod needs it");
    scene.delete("second").await?;
    scene.detached("goes", &node).await?;
    scene.end(&node).await
}

/// An exclusive volume is attached to one node at a time, and stays while the first one uses it; a
/// shared one is attached to both.
async fn a_volume_moves(cluster: &Cluster) -> anyhow::Result<()> {
    let scene = Scene::new(cluster, "moves").await?;
    let (from, to) = (scene.node("moves-from").await?, scene.node("moves-to").await?);
    scene.pair("exclusive", "ReadWriteOnce").await?;
    scene.pair("shared", "ReadWriteMany").await?;
    for volume in ["exclusive", "shared"] {
        scene.pod(&format!("{volume}-from"), volume, &from).await?;
        scene.attached(volume, &from).await?;
    }
    scene.uses(&from, &["exclusive"]).await?;
    for volume in ["exclusive", "shared"] {
        scene.pod(&format!("{volume}-to"), volume, &to).await?;
    }
    scene.attached("shared", &to).await?;
    let text = "Multi-Attach error for volume \"exclusive\" Volume is already used by pod(s) \
                exclusive-from";
    scene.event("exclusive-to", "FailedAttachVolume", text).await?;
    scene.delete("exclusive-from").await?;
    pause(CALM).await;
    ensure!(scene.attachment("exclusive", &from).await?.is_some(), "it is in use there");
    ensure!(scene.attachment("exclusive", &to).await?.is_none(), "and not attached twice");
    scene.uses(&from, &[]).await?;
    scene.detached("exclusive", &from).await?;
    scene.attached("exclusive", &to).await?;
    scene.end(&from).await?;
    scene.end(&to).await
}

/// `TestPodTerminationWithNodeOOSDetach`: pods of a node that is out of service are deleted, and
/// its volumes are detached at once, although they are in use there.
async fn a_node_out_of_service(cluster: &Cluster, manager: &Manager) -> anyhow::Result<()> {
    let scene = Scene::new(cluster, "out-of-service").await?;
    let node = scene.node("out-of-service").await?;
    scene.pair("stuck", "ReadWriteOnce").await?;
    scene.pod("stuck", "stuck", &node).await?;
    scene.attached("stuck", &node).await?;
    scene.uses(&node, &["stuck"]).await?;
    scene.ready(&node, "Unknown").await?;
    scene.pods.delete_with("pods", "stuck", &json!({"gracePeriodSeconds": 300})).await?;
    let taint = json!([{"key": "node.kubernetes.io/out-of-service", "effect": "NoExecute"}]);
    scene.all.merge("nodes", &node, &json!({"spec": {"taints": taint}})).await?;
    scene.pods.gone("pods", "stuck").await?;
    scene.detached("stuck", &node).await?;
    let metrics = manager.get("/metrics").await?;
    let line = "attach_detach_controller_attachdetach_controller_forced_detaches\
                {reason=\"out-of-service\"} 1";
    ensure!(metrics.contains(line), "the metric counts it");
    scene.all.delete("nodes", &node).await
}

/// e2e (`csi_attach_volume.go`): should not require VolumeAttach for drivers without attachment;
/// and once there is no such driver any more, as for drivers that have no CSIDriver.
async fn a_driver_without_attachments(cluster: &Cluster) -> anyhow::Result<()> {
    let scene = Scene::new(cluster, "driver").await?;
    let node = scene.node("driver").await?;
    let driver = json!({"metadata": {"name": DRIVER}, "spec": {"attachRequired": false}});
    scene.all.create(DRIVERS, &driver).await?;
    pause(PERIOD * 5).await;
    scene.pair("without", "ReadWriteOnce").await?;
    scene.pod("first", "without", &node).await?;
    pause(CALM).await;
    ensure!(scene.attachment("without", &node).await?.is_none(), "it needs no attachment");
    scene.all.delete(DRIVERS, DRIVER).await?;
    pause(PERIOD * 5).await;
    // Upstream looks at the next pod.
    scene.pod("second", "without", &node).await?;
    scene.attached("without", &node).await?;
    for name in ["first", "second"] {
        scene.delete(name).await?;
    }
    scene.detached("without", &node).await?;
    scene.end(&node).await
}

/// A manager that starts changes nothing of what is attached, and detaches what nobody needs any
/// more (`Test_ADC_VolumeAttachmentRecovery`).
async fn another_manager_goes_on(cluster: &Cluster) -> anyhow::Result<()> {
    let scene = Scene::new(cluster, "restart").await?;
    let node = scene.node("restart").await?;
    let mut manager = start(cluster)?;
    manager.healthy().await?;
    let run = async {
        for volume in ["stays", "leaves"] {
            scene.pair(volume, "ReadWriteOnce").await?;
            scene.pod(volume, volume, &node).await?;
        }
        scene.attached("stays", &node).await?;
        scene.attached("leaves", &node).await
    };
    run.await.with_context(|| manager.log())?;
    manager.sigkill();
    let before = cluster.request_counts().await?;
    let mut manager = start(cluster)?;
    manager.healthy().await?;
    quiet(cluster, &manager, CALM).await.with_context(|| manager.log())?;
    let made = since(&before, &cluster.request_counts().await?);
    let count = writes(&made, |it| it.resource.starts_with("volumeattachments"));
    ensure!(count == 0, "nothing is written: {made:?}");
    manager.sigkill();
    scene.delete("leaves").await?;
    let mut manager = start(cluster)?;
    manager.healthy().await?;
    let run = async {
        scene.detached("leaves", &node).await?;
        ensure!(scene.attachment("stays", &node).await?.is_some(), "a pod needs it");
        scene.end(&node).await
    };
    run.await.with_context(|| manager.log())
}

/// Attaches what is asked for and detaches what is deleted, as kubernetes-csi/external-attacher.
/// Returns why it cannot.
async fn attacher(cluster: &Cluster) -> anyhow::Error {
    loop {
        if let Err(error) = attach_all(cluster).await {
            return error;
        }
        pause(PERIOD).await;
    }
}

async fn attach_all(cluster: &Cluster) -> anyhow::Result<()> {
    let all = Objects::of(cluster, "")?;
    for attachment in all.list(ATTACHMENTS).await? {
        let meta = &attachment["metadata"];
        let name = meta["name"].as_str().context("a name")?;
        let is_held = meta["finalizers"] == json!([FINALIZER]);
        if meta["deletionTimestamp"].is_string() {
            all.merge(ATTACHMENTS, name, &json!({"metadata": {"finalizers": null}})).await?;
        } else if !is_held {
            // It may be deleted meanwhile.
            let hold = json!({"metadata": {"finalizers": [FINALIZER]}});
            let _ = all.merge(ATTACHMENTS, name, &hold).await;
        } else if attachment["status"]["attached"] != true {
            let status = json!({"status": {"attached": true}});
            all.merge(ATTACHMENTS, &format!("{name}/status"), &status).await?;
        }
    }
    Ok(())
}

#[expect(clippy::disallowed_methods, reason = "real time passes in a real cluster")]
async fn pause(time: Duration) {
    tokio::time::sleep(time).await;
}

// === Objects ===

/// A namespace, and what belongs to no namespace.
struct Scene {
    all: Objects,
    pods: Objects,
}

impl Scene {
    async fn new(cluster: &Cluster, namespace: &str) -> anyhow::Result<Self> {
        let (all, pods) = (Objects::of(cluster, "")?, Objects::in_new(cluster, namespace).await?);
        Ok(Self { all, pods })
    }

    /// A node without a kubelet.
    async fn node(&self, name: &str) -> anyhow::Result<String> {
        let node = json!({"metadata": {"name": name, "annotations": {MANAGED: "true"}}});
        self.all.create("nodes", &node).await?;
        self.ready(name, "True").await?;
        Ok(name.to_owned())
    }

    async fn ready(&self, node: &str, status: &str) -> anyhow::Result<()> {
        let conditions = json!([{"type": "Ready", "status": status}]);
        let patch = json!({"status": {"conditions": conditions}});
        self.all.merge("nodes", &format!("{node}/status"), &patch).await
    }

    /// What the kubelet of a node says that it uses.
    async fn uses(&self, node: &str, volumes: &[&str]) -> anyhow::Result<()> {
        let names: Vec<String> = volumes.iter().map(|it| named(it)).collect();
        let patch = json!({"status": {"volumesInUse": names}});
        self.all.merge("nodes", &format!("{node}/status"), &patch).await
    }

    async fn pair(&self, name: &str, mode: &str) -> anyhow::Result<()> {
        self.claim(name, mode).await?;
        self.volume(name, mode).await?;
        let is_bound = |claim: &Value| claim["status"]["phase"] == "Bound";
        self.pods.wait(CLAIMS, name, "to be bound", is_bound).await.map(drop)
    }

    async fn claim(&self, name: &str, mode: &str) -> anyhow::Result<()> {
        let claim = json!({"metadata": {"name": name}, "spec": {"storageClassName": "attached",
            "volumeName": name, "accessModes": [mode],
            "resources": {"requests": {"storage": "1Gi"}}}});
        self.pods.create(CLAIMS, &claim).await.map(drop)
    }

    async fn volume(&self, name: &str, mode: &str) -> anyhow::Result<()> {
        let volume = json!({"metadata": {"name": name}, "spec": {"storageClassName": "attached",
            "capacity": {"storage": "1Gi"}, "accessModes": [mode],
            "persistentVolumeReclaimPolicy": "Retain",
            "claimRef": {"namespace": self.pods.namespace(), "name": name},
            "csi": {"driver": DRIVER, "volumeHandle": name}}});
        self.all.create(VOLUMES, &volume).await.map(drop)
    }

    /// A pod that runs.
    async fn pod(&self, name: &str, claim: &str, node: &str) -> anyhow::Result<()> {
        let volume = json!({"name": "data", "persistentVolumeClaim": {"claimName": claim}});
        let pod = json!({"metadata": {"name": name}, "spec": {"nodeName": node,
            "volumes": [volume], "containers": [{"name": "main", "image": "main"}]}});
        self.pods.create("pods", &pod).await?;
        let running = json!({"name": "main", "ready": true, "restartCount": 0, "image": "main",
            "imageID": "main", "state": {"running": {"startedAt": "2026-01-01T00:00:00Z"}}});
        let status = json!({"status": {"phase": "Running", "containerStatuses": [running]}});
        self.pods.merge("pods", &format!("{name}/status"), &status).await
    }

    async fn delete(&self, pod: &str) -> anyhow::Result<()> {
        let now = json!({"gracePeriodSeconds": 0});
        self.pods.delete_with("pods", pod, &now).await.map(drop)
    }

    async fn attachment(&self, volume: &str, node: &str) -> anyhow::Result<Option<Value>> {
        let mut all = self.all.list(ATTACHMENTS).await?.into_iter();
        Ok(all.find(|it| {
            let spec = &it["spec"];
            spec["source"]["persistentVolumeName"] == volume && spec["nodeName"] == node
        }))
    }

    /// Waits until the attachment is there and the node lists the volume.
    async fn attached(&self, volume: &str, node: &str) -> anyhow::Result<()> {
        wait_until(&format!("{volume} to be attached to {node}"), LIMIT, async || {
            let Some(attachment) = self.attachment(volume, node).await? else {
                anyhow::bail!("there is no attachment")
            };
            ensure!(attachment["spec"]["attacher"] == DRIVER, "{attachment}");
            let listed = self.listed(node).await?;
            let is_listed = listed.contains(&named(volume));
            Ok((is_listed && attachment["status"]["attached"] == true).then_some(()))
        })
        .await
    }

    /// Waits until there is no attachment and the node does not list the volume.
    async fn detached(&self, volume: &str, node: &str) -> anyhow::Result<()> {
        wait_until(&format!("{volume} to be detached from {node}"), LIMIT, async || {
            let is_gone = self.attachment(volume, node).await?.is_none();
            let is_listed = self.listed(node).await?.contains(&named(volume));
            ensure!(!is_gone || !is_listed, "it is detached and still listed");
            Ok(is_gone.then_some(()))
        })
        .await
    }

    async fn listed(&self, node: &str) -> anyhow::Result<Vec<String>> {
        let node = self.all.get("nodes", node).await?;
        let listed = node["status"]["volumesAttached"].as_array().cloned().unwrap_or_default();
        Ok(listed.iter().filter_map(|it| it["name"].as_str().map(str::to_owned)).collect())
    }

    async fn event(&self, pod: &str, reason: &str, message: &str) -> anyhow::Result<()> {
        wait_until(&format!("an Event {reason} of {pod}"), LIMIT, async || {
            let events = self.pods.list("events").await?;
            let mut of_pod = events.iter().filter(|it| it["involvedObject"]["name"] == pod);
            let is_it = of_pod.any(|it| {
                it["reason"] == reason
                    && it["message"] == message
                    && it["source"]["component"] == "attachdetach-controller"
            });
            ensure!(is_it, "{events:?}");
            Ok(Some(()))
        })
        .await
    }

    /// Deletes the pods of a node, waits until nothing is attached to it, and deletes it.
    async fn end(&self, node: &str) -> anyhow::Result<()> {
        self.uses(node, &[]).await?;
        for pod in self.pods.list("pods").await? {
            if pod["spec"]["nodeName"] == node {
                self.delete(pod["metadata"]["name"].as_str().context("a name")?).await?;
            }
        }
        wait_until(&format!("nothing to be attached to {node}"), LIMIT, async || {
            let all = self.all.list(ATTACHMENTS).await?;
            Ok((!all.iter().any(|it| it["spec"]["nodeName"] == node)).then_some(()))
        })
        .await?;
        self.all.delete("nodes", node).await
    }
}

/// What nodes call a volume.
fn named(volume: &str) -> String {
    format!("kubernetes.io/csi/{DRIVER}^{volume}")
}
