//! Volumes and classes that end, and the claims of pods with volumes of their own.

use anyhow::Context as _;
use cluster_tests::quiet;
use serde_json::{Value, json};

use super::{CALM, Scene, Teller};
use crate::volumes::pod;

const VOLUMES: &str = "persistentvolumes";
const CLASSES: &str = "volumeattributesclasses.v1.storage.k8s.io";
const CLAIMS: &str = "persistentvolumeclaims";

impl Teller {
    /// One that is bound, one that is not, and one that somebody has left without protection.
    pub(super) async fn volumes_end(&mut self) -> anyhow::Result<()> {
        let scene = self.scene(VOLUMES, "volumes").await?;
        let all = scene.objects.of_all();
        for name in ["bound", "free", "bare"] {
            let spec = json!({"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"],
                "csi": {"driver": "csi.example.com", "volumeHandle": name}});
            all.create(VOLUMES, &json!({"metadata": {"name": name}, "spec": spec})).await?;
        }
        // Not the first one, not the last.
        let finalizers = json!({"metadata": {"finalizers":
            ["example.com/a", "kubernetes.io/pv-protection", "example.com/b"]}});
        all.merge(VOLUMES, "bound", &finalizers).await?;
        all.merge(VOLUMES, "bare", &json!({"metadata": {"finalizers": null}})).await?;
        let is_protected = |volume: &Value| volume["metadata"]["finalizers"].is_array();
        all.wait(VOLUMES, "bare", "to be protected", is_protected).await?;
        all.merge(VOLUMES, "bound/status", &json!({"status": {"phase": "Bound"}})).await?;
        for name in ["bound", "free"] {
            all.delete(VOLUMES, name).await?;
        }
        all.gone(VOLUMES, "free").await?;
        self.stored(&scene, "deleted").await?;
        all.merge(VOLUMES, "bound/status", &json!({"status": {"phase": "Released"}})).await?;
        let is_free = |volume: &Value| {
            volume["metadata"]["finalizers"] == json!(["example.com/a", "example.com/b"])
        };
        all.wait(VOLUMES, "bound", "to be let go", is_free).await?;
        self.stored(&scene, "released").await
    }

    /// Classes that a claim asks for, that one has, that a volume is of, and that nothing is of.
    pub(super) async fn classes_end(&mut self) -> anyhow::Result<()> {
        let scene = self.scene(CLASSES, "classes").await?;
        let (objects, all) = (&scene.objects, scene.objects.of_all());
        for name in ["asked", "current", "target", "volume", "unused", "bare"] {
            let class = json!({"metadata": {"name": name}, "driverName": "csi.example.com",
                "parameters": {"iops": "500"}});
            all.create(CLASSES, &class).await?;
        }
        all.merge(CLASSES, "bare", &json!({"metadata": {"finalizers": null}})).await?;
        let is_protected = |class: &Value| class["metadata"]["finalizers"].is_array();
        all.wait(CLASSES, "bare", "to be protected", is_protected).await?;
        let mut claim = json!({"metadata": {"name": "data"}, "spec": spec()});
        claim["spec"]["volumeAttributesClassName"] = "asked".into();
        objects.create(CLAIMS, &claim).await?;
        let target = json!({"status": "InProgress", "targetVolumeAttributesClassName": "target"});
        let status = json!({"status": {"currentVolumeAttributesClassName": "current",
            "modifyVolumeStatus": target}});
        objects.merge(CLAIMS, "data/status", &status).await?;
        let volume = json!({"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"],
            "csi": {"driver": "csi.example.com", "volumeHandle": "1"},
            "volumeAttributesClassName": "volume"});
        all.create(VOLUMES, &json!({"metadata": {"name": "classy"}, "spec": volume})).await?;
        quiet(&self.cluster, &self.manager, CALM).await.with_context(|| self.manager.log())?;
        for name in ["asked", "current", "target", "volume", "unused"] {
            all.delete(CLASSES, name).await?;
        }
        all.gone(CLASSES, "unused").await?;
        self.stored(&scene, "deleted").await?;
        let done = json!({"status": {"modifyVolumeStatus": null}});
        objects.merge(CLAIMS, "data/status", &done).await?;
        all.gone(CLASSES, "target").await?;
        all.delete(VOLUMES, "classy").await?;
        all.gone(CLASSES, "volume").await?;
        self.stored(&scene, "without a volume").await?;
        objects.delete(CLAIMS, "data").await?;
        for name in ["asked", "current"] {
            all.gone(CLASSES, name).await?;
        }
        self.stored(&scene, "without a claim").await
    }

    /// A pod with two, one of which is lost; and one that waits for a claim in its way.
    pub(super) async fn pods_get_volumes(&mut self) -> anyhow::Result<()> {
        let scene = self.scene("pods", "blocked").await?;
        let objects = &scene.objects;
        let template = json!({"metadata": {"labels": {"app": "web"}, "annotations":
            {"example.com/note": "<é>"}}, "spec": spec()});
        let bare = json!({"spec": spec()});
        objects.create("pods", &pod("web", &[("a", &template), ("b", &bare)])).await?;
        for name in ["web-a", "web-b"] {
            objects.wait(CLAIMS, name, "to be made", |_| true).await?;
        }
        self.stored(&scene, "made").await?;
        let old = objects.get(CLAIMS, "web-a").await?["metadata"]["uid"].clone();
        objects.delete(CLAIMS, "web-a").await?;
        let is_new = |claim: &Value| claim["metadata"]["uid"] != old;
        objects.wait(CLAIMS, "web-a", "to be made again", is_new).await?;
        self.stored(&scene, "made again").await?;
        let claim = json!({"metadata": {"name": "late-b"}, "spec": spec()});
        objects.create(CLAIMS, &claim).await?;
        let volumes = [("a", &bare), ("b", &bare), ("c", &bare)];
        objects.create("pods", &pod("late", &volumes)).await?;
        objects.wait(CLAIMS, "late-a", "to be made", |_| true).await?;
        cluster_tests::wait_until("an Event about the claim", super::LIMIT, async || {
            let events = objects.list("events").await?;
            Ok(events.iter().any(|event| event["reason"] == "FailedBinding").then_some(()))
        })
        .await?;
        objects.delete(CLAIMS, "late-b").await?;
        objects.wait(CLAIMS, "late-c", "to be made", |_| true).await?;
        self.stored(&scene, "no longer blocked").await?;
        for name in ["web", "late"] {
            objects.delete("pods", name).await?;
        }
        for name in ["web-a", "web-b", "late-a", "late-b", "late-c"] {
            objects.gone(CLAIMS, name).await?;
        }
        self.stored(&scene, "without pods").await
    }

    /// Waits until nothing more happens, and keeps what there is of storage.
    async fn stored(&mut self, scene: &Scene, step: &str) -> anyhow::Result<()> {
        quiet(&self.cluster, &self.manager, CALM).await.with_context(|| self.manager.log())?;
        // The pods first, as the owners of what follows.
        let mut objects = scene.objects.list("pods").await?;
        objects.extend(scene.objects.list(CLAIMS).await?);
        let all = scene.objects.of_all();
        for resource in [VOLUMES, CLASSES] {
            objects.extend(all.list(resource).await?);
        }
        self.keep(scene, step, &objects);
        Ok(())
    }
}

fn spec() -> Value {
    json!({"storageClassName": "", "accessModes": ["ReadWriteOnce"],
        "resources": {"requests": {"storage": "1Gi"}}})
}
