//! Volumes and classes that are deleted while something refers to them, and a pod with a volume of
//! its own.

use cluster_tests::Objects;
use serde_json::{Value, json};

pub(super) const VOLUMES: &str = "persistentvolumes";
pub(super) const CLASSES: &str = "volumeattributesclasses.v1.storage.k8s.io";
const CLAIMS: &str = "persistentvolumeclaims";

/// Returns once all are as they stay.
pub(super) async fn make(objects: &Objects) -> anyhow::Result<()> {
    let all = objects.of_all();
    for name in ["bound", "free"] {
        let spec = json!({"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"],
            "hostPath": {"path": "/tmp/data"}});
        all.create(VOLUMES, &json!({"metadata": {"name": name}, "spec": spec})).await?;
        unprotect_and_wait(&all, VOLUMES, name).await?;
    }
    all.merge(VOLUMES, "bound/status", &json!({"status": {"phase": "Bound"}})).await?;
    all.delete(VOLUMES, "bound").await?;
    for name in ["used", "unused"] {
        let class = json!({"metadata": {"name": name}, "driverName": "csi.example.com",
            "parameters": {"iops": "500"}});
        all.create(CLASSES, &class).await?;
        unprotect_and_wait(&all, CLASSES, name).await?;
    }
    let claim = spec(json!({"volumeAttributesClassName": "used"}));
    objects.create(CLAIMS, &json!({"metadata": {"name": "classy"}, "spec": claim})).await?;
    all.delete(CLASSES, "used").await?;
    let template = json!({"metadata": {"labels": {"app": "own"}}, "spec": spec(json!({}))});
    let volume = json!({"name": "a", "ephemeral": {"volumeClaimTemplate": template}});
    let pod = json!({"metadata": {"name": "own"}, "spec": {"nodeName": "node-0",
        "volumes": [volume], "containers": [{"name": "main", "image": "main"}]}});
    objects.create("pods", &pod).await?;
    objects.wait(CLAIMS, "own-a", "to be made", |_| true).await?;
    let runs = |pod: &Value| pod["status"]["phase"] == "Running";
    objects.wait("pods", "own", "to run", runs).await.map(drop)
}

/// What waited goes on to its end.
pub(super) async fn go_on(objects: &Objects) -> anyhow::Result<()> {
    let all = objects.of_all();
    all.merge(VOLUMES, "bound/status", &json!({"status": {"phase": "Released"}})).await?;
    all.gone(VOLUMES, "bound").await?;
    all.get(VOLUMES, "free").await?;
    objects.delete(CLAIMS, "classy").await?;
    all.gone(CLASSES, "used").await?;
    all.get(CLASSES, "unused").await?;
    objects.delete("pods", "own").await?;
    objects.gone(CLAIMS, "own-a").await
}

/// The API server protects what is new; here the manager does it once more.
async fn unprotect_and_wait(all: &Objects, resource: &str, name: &str) -> anyhow::Result<()> {
    all.merge(resource, name, &json!({"metadata": {"finalizers": null}})).await?;
    let is_protected = |object: &Value| object["metadata"]["finalizers"].is_array();
    all.wait(resource, name, "to be protected", is_protected).await.map(drop)
}

/// Of a claim, with `more` in it.
#[expect(clippy::needless_pass_by_value, reason = "each caller makes it for this call")]
fn spec(more: Value) -> Value {
    let mut spec = json!({"storageClassName": "", "accessModes": ["ReadWriteOnce"],
        "resources": {"requests": {"storage": "1Gi"}}});
    for (field, value) in more.as_object().into_iter().flatten() {
        spec[field] = value.clone();
    }
    spec
}
