//! Quotas over what the other workloads are, and over pods that nothing changes.

use cluster_tests::{Cluster, Objects};
use serde_json::{Value, json};

pub(super) const QUOTAS: &str = "resourcequotas";
/// A namespace of pods that are as they stay.
const CALM: &str = "swap-limits";

/// Returns once all are counted.
pub(super) async fn make(cluster: &Cluster, objects: &Objects) -> anyhow::Result<()> {
    let hard = json!({"count/pods": "1k", "services": "100", "services.nodeports": "100",
        "configmaps": "100", "count/configmaps": "0.1k", "secrets": "100",
        "persistentvolumeclaims": "100", "requests.storage": "1Ti",
        "count/deployments.apps": "100", "count/replicasets.apps": "100", "count/jobs.batch": "100",
        "count/poddisruptionbudgets.policy": "100", "count/nothing.example.com": "1"});
    objects.create(QUOTAS, &quota("counts", &hard, &[])).await?;
    counted(objects, "counts", hard.as_object().map_or(0, serde_json::Map::len) - 1).await?;
    let calm = Objects::in_new(cluster, CALM).await?;
    let hard = json!({"cpu": "10", "limits.cpu": "20", "memory": "10Gi", "pods": "10",
        "requests.ephemeral-storage": "1Gi", "requests.example.com/dongle": "3"});
    calm.create(QUOTAS, &quota("limits", &hard, &[])).await?;
    calm.create(QUOTAS, &quota("scoped", &json!({"pods": "10"}), &["Terminating"])).await?;
    counted(&calm, "limits", 6).await?;
    counted(&calm, "scoped", 1).await?;
    for (name, deadline) in [("one", Value::Null), ("two", json!(100_000)), ("three", Value::Null)]
    {
        let resources = json!({"requests": {"cpu": "0.25", "memory": "1536Mi",
            "example.com/dongle": "1"}, "limits": {"cpu": "1.5", "example.com/dongle": "1"}});
        let container = json!({"name": "main", "image": "main", "resources": resources});
        let spec = json!({"nodeName": "node-0", "activeDeadlineSeconds": deadline,
            "containers": [container]});
        calm.create("pods", &json!({"metadata": {"name": name}, "spec": spec})).await?;
        let runs = |pod: &Value| pod["status"]["phase"] == "Running";
        calm.wait("pods", name, "to run", runs).await?;
    }
    calm.delete("pods", "three").await?;
    uses(
        &calm,
        "limits",
        &json!({"cpu": "500m", "limits.cpu": "3", "memory": "3Gi", "pods": "2",
        "requests.ephemeral-storage": "0", "requests.example.com/dongle": "2"}),
    )
    .await
}

/// What is used and what may be changes.
pub(super) async fn go_on(cluster: &Cluster) -> anyhow::Result<()> {
    let calm = Objects::of(cluster, CALM)?;
    calm.delete("pods", "two").await?;
    uses(&calm, "scoped", &json!({"pods": "0"})).await?;
    uses(
        &calm,
        "limits",
        &json!({"cpu": "250m", "limits.cpu": "1500m", "memory": "1536Mi",
        "pods": "1", "requests.ephemeral-storage": "0", "requests.example.com/dongle": "1"}),
    )
    .await?;
    let hard = json!({"spec": {"hard": {"cpu": null, "secrets": "7"}}});
    calm.merge(QUOTAS, "limits", &hard).await?;
    let is_new = |quota: &Value| {
        let status = &quota["status"];
        status["hard"]["secrets"] == "7"
            && status["used"]["secrets"] == "0"
            && status["used"]["cpu"].is_null()
    };
    calm.wait(QUOTAS, "limits", "to have other limits", is_new).await.map(drop)
}

fn quota(name: &str, hard: &Value, scopes: &[&str]) -> Value {
    json!({"metadata": {"name": name}, "spec": {"hard": hard, "scopes": scopes}})
}

/// Waits until a quota says of so many names what is used.
async fn counted(objects: &Objects, name: &str, names: usize) -> anyhow::Result<()> {
    let is_so =
        |quota: &Value| quota["status"]["used"].as_object().is_some_and(|used| used.len() == names);
    objects.wait(QUOTAS, name, "to be counted", is_so).await.map(drop)
}

async fn uses(objects: &Objects, name: &str, used: &Value) -> anyhow::Result<()> {
    let is_so = |quota: &Value| quota["status"]["used"] == *used;
    objects.wait(QUOTAS, name, &format!("to have used {used}"), is_so).await.map(drop)
}
