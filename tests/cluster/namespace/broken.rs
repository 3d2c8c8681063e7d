//! Kinds that cannot be listed hold the namespaces that may have them; all other objects are
//! deleted.

use super::{config_map, delete, explained, gone, says};
use cluster_tests::{Cluster, CustomKind, Manager, NoServer, Objects};
use serde_json::json;

/// Kubernetes issue 60037: a kind whose conversion webhook is down holds every namespace, since the
/// API server then cannot list its objects; what can be deleted is deleted.
pub(super) async fn conversion(cluster: &Cluster, manager: &Manager) -> anyhow::Result<()> {
    let kind = CustomKind::new("wrecks");
    kind.define(cluster).await?;
    let objects = Objects::in_new(cluster, "broken-conversion").await?;
    objects.create(&kind.resource(), &kind.object(&json!({"name": "wreck"}))).await?;
    objects.create("configmaps", &config_map("goes", &[])).await?;
    kind.break_conversion(&objects, "wreck").await?;
    delete(cluster, &objects).await?;
    let told = [[
        "NamespaceDeletionContentFailure",
        "ContentDeletionFailed",
        "Failed to delete all resource types, 1 remaining: *conversion webhook for \
         wrecks.example.com/v1beta1, Kind=Wreck failed: Post \
         \"https://127.0.0.1:1/convert?timeout=30s\": dial tcp 127.0.0.1:1: connect: connection \
         refused",
    ]];
    says(cluster, &objects, &told).await?;
    objects.gone("configmaps", "goes").await?;
    explained(manager, &objects, &["wrecks.wrecks.example.com"]).await?;
    kind.repair_conversion(&objects, "wreck").await?;
    gone(cluster, &objects).await
}

/// An aggregated API without a server holds every namespace, since any may have objects of it; what
/// is known goes.
pub(super) async fn aggregated_api(cluster: &Cluster, manager: &Manager) -> anyhow::Result<()> {
    let absent = NoServer::promise(cluster, "absent.example.com").await?;
    let objects = Objects::in_new(cluster, "no-aggregated-api").await?;
    objects.create("configmaps", &config_map("goes", &[])).await?;
    delete(cluster, &objects).await?;
    let told = [[
        "NamespaceDeletionDiscoveryFailure",
        "DiscoveryFailed",
        "Discovery failed for some groups, 1 failing: unable to retrieve the complete list of \
         server APIs: absent.example.com/v1: stale GroupVersion discovery: absent.example.com/v1",
    ]];
    says(cluster, &objects, &told).await?;
    objects.gone("configmaps", "goes").await?;
    explained(manager, &objects, &["discovery", "absent.example.com"]).await?;
    absent.take_back(cluster).await?;
    gone(cluster, &objects).await
}
