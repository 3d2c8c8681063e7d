//! Finalizers that hold a namespace: of its pods, of other objects, and its own.

use super::{config_map, delete, explained, gone, says};
use anyhow::ensure;
use cluster_tests::{Cluster, Manager, Objects};
use serde_json::{Value, json};

const FREE: &str = r#"{"metadata": {"finalizers": null}}"#;

/// TestNamespaceCondition
pub(super) async fn of_a_deployment(cluster: &Cluster) -> anyhow::Result<()> {
    let objects = Objects::in_new(cluster, "test-namespace-conditions").await?;
    objects.create("pods", &pod("pod", &[])).await?;
    let labels = json!({"a": "b"});
    let template = json!({"metadata": {"labels": labels}, "spec": pod("", &[])["spec"]});
    let deployment = json!({
        "metadata": {"name": "deployment", "finalizers": ["custom.io/finalizer"]},
        "spec": {"selector": {"matchLabels": labels}, "template": template},
    });
    objects.create("deployments", &deployment).await?;
    delete(cluster, &objects).await?;
    let told = [
        [
            "NamespaceContentRemaining",
            "SomeResourcesRemain",
            "Some resources are remaining: deployments.apps has 1 resource instances",
        ],
        [
            "NamespaceFinalizersRemaining",
            "SomeFinalizersRemain",
            "Some content in the namespace has finalizers remaining: custom.io/finalizer in 1 \
             resource instances",
        ],
    ];
    says(cluster, &objects, &told).await?;
    ensure!(objects.find("pods", "pod").await?.is_none());
    objects.merge("deployments", "deployment", &serde_json::from_str(FREE)?).await?;
    gone(cluster, &objects).await
}

/// Several kinds and finalizers are reported in order, and again when there are fewer.
pub(super) async fn of_many(cluster: &Cluster, manager: &Manager) -> anyhow::Result<()> {
    let objects = Objects::in_new(cluster, "many-finalizers").await?;
    objects.create("configmaps", &config_map("one", &["b.io/two"])).await?;
    objects.create("configmaps", &config_map("two", &["b.io/two"])).await?;
    objects.create("configmaps", &config_map("free", &[])).await?;
    objects.create("secrets", &config_map("one", &["b.io/two", "a.io/one"])).await?;
    delete(cluster, &objects).await?;
    let resources = "Some resources are remaining: configmaps. has 2 resource instances, secrets. \
                     has 1 resource instances";
    let finalizers = "Some content in the namespace has finalizers remaining: a.io/one in 1 \
                      resource instances, b.io/two in 3 resource instances";
    remaining(cluster, &objects, resources, finalizers).await?;
    explained(manager, &objects, &["configmaps", "secrets", "a.io/one", "b.io/two"]).await?;
    ensure!(objects.find("configmaps", "free").await?.is_none());
    for name in ["one", "two"] {
        objects.merge("configmaps", name, &serde_json::from_str(FREE)?).await?;
    }
    let resources = "Some resources are remaining: secrets. has 1 resource instances";
    let finalizers = "Some content in the namespace has finalizers remaining: a.io/one in 1 \
                      resource instances, b.io/two in 1 resource instances";
    remaining(cluster, &objects, resources, finalizers).await?;
    objects.merge("secrets", "one", &serde_json::from_str(FREE)?).await?;
    gone(cluster, &objects).await
}

/// Pods are deleted first: while one is left, nothing else is deleted, and no condition reports it,
/// as upstream.
pub(super) async fn of_a_pod(cluster: &Cluster) -> anyhow::Result<()> {
    let objects = Objects::in_new(cluster, "pods-first").await?;
    objects.create("pods", &pod("held", &["example.com/held"])).await?;
    objects.create("pods", &pod("free", &[])).await?;
    let kept = objects.create("configmaps", &config_map("kept", &[])).await?;
    let later = Objects::in_new(cluster, "without-pods").await?;
    later.create("configmaps", &config_map("kept", &[])).await?;
    delete(cluster, &objects).await?;
    objects
        .wait("pods", "held", "to be deleted", |pod| {
            pod["metadata"]["deletionTimestamp"].is_string()
        })
        .await?;
    delete(cluster, &later).await?;
    gone(cluster, &later).await?;
    says(cluster, &objects, &[]).await?;
    objects.gone("pods", "free").await?;
    ensure!(objects.get("configmaps", "kept").await? == kept);
    objects.merge("pods", "held", &serde_json::from_str(FREE)?).await?;
    gone(cluster, &objects).await
}

/// Only the finalizer `kubernetes` of the namespace itself is the controller's.
pub(super) async fn of_the_namespace(cluster: &Cluster) -> anyhow::Result<()> {
    const NAME: &str = "own-finalizers";
    let all = Objects::of(cluster, "")?;
    let finalizers = json!(["example.com/two", "kubernetes", "example.com/one"]);
    let namespace = json!({"metadata": {"name": NAME}, "spec": {"finalizers": finalizers}});
    all.create("namespaces", &namespace).await?;
    let objects = Objects::of(cluster, NAME)?;
    objects.create("configmaps", &config_map("goes", &[])).await?;
    delete(cluster, &objects).await?;
    let left = json!(["example.com/one", "example.com/two"]);
    let mut namespace = all
        .wait("namespaces", NAME, "to be left by the controller", |namespace| {
            namespace["spec"]["finalizers"] == left
        })
        .await?;
    ensure!(objects.find("configmaps", "goes").await?.is_none());
    namespace["spec"]["finalizers"] = json!([]);
    all.replace("namespaces", &format!("{NAME}/finalize"), &namespace).await?;
    gone(cluster, &objects).await
}

async fn remaining(
    cluster: &Cluster,
    objects: &Objects,
    resources: &str,
    finalizers: &str,
) -> anyhow::Result<()> {
    let told = [
        ["NamespaceContentRemaining", "SomeResourcesRemain", resources],
        ["NamespaceFinalizersRemaining", "SomeFinalizersRemain", finalizers],
    ];
    says(cluster, objects, &told).await
}

fn pod(name: &str, finalizers: &[&str]) -> Value {
    let containers = json!([{"name": "main", "image": "main"}]);
    json!({"metadata": {"name": name, "finalizers": finalizers},
        "spec": {"containers": containers, "terminationGracePeriodSeconds": 0}})
}
