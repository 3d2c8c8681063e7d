//! StatefulSets as others read and write them.

use anyhow::ensure;
use cluster_tests::{Cluster, Objects, wait_until};
use k8s_openapi::api::apps::v1::StatefulSet;
use kube::Api;
use kube::api::{DeleteParams, ListParams};
use serde_json::{Value, json};

use super::{LIMIT, SETS, set, settled};

/// e2e: should have a working scale subresource.
pub(super) async fn scale(objects: Objects) -> anyhow::Result<()> {
    objects.create(SETS, &set("sts", 1, json!({}))).await?;
    settled(&objects, "sts", 1).await?;
    let mut scale = objects.get(SETS, "sts/scale").await?;
    ensure!(scale["spec"]["replicas"] == 1 && scale["status"]["replicas"] == 1, "{scale}");
    ensure!(scale["status"]["selector"] == "app=sts", "{scale}");
    scale["spec"]["replicas"] = 2.into();
    scale["metadata"]["resourceVersion"] = Value::Null;
    objects.replace(SETS, "sts/scale", &scale).await?;
    let set = objects.get(SETS, "sts").await?;
    ensure!(set["spec"]["replicas"] == 2, "{set}");
    objects.merge(SETS, "sts/scale", &json!({"spec": {"replicas": 4}})).await?;
    let set = objects.get(SETS, "sts").await?;
    ensure!(set["spec"]["replicas"] == 4, "{set}");
    settled(&objects, "sts", 4).await?;
    let scale = objects.get(SETS, "sts/scale").await?;
    ensure!(scale["status"]["replicas"] == 4, "{scale}");
    Ok(())
}

/// e2e: should validate Statefulset Status endpoints. What others write there stays as long as the
/// controller has nothing to say.
pub(super) async fn status(objects: Objects) -> anyhow::Result<()> {
    objects.create(SETS, &set("sts", 1, json!({}))).await?;
    settled(&objects, "sts", 1).await?;
    objects.merge(SETS, "sts", &json!({"metadata": {"labels": {"e2e": "testing"}}})).await?;
    let mut set = objects.get(SETS, "sts/status").await?;
    let update = json!([{"type": "StatusUpdate", "status": "True", "reason": "E2E",
        "message": "Set from e2e test", "lastTransitionTime": null}]);
    set["status"]["conditions"] = update.clone();
    objects.replace(SETS, "sts/status", &set).await?;
    let patch = json!([{"type": "StatusPatched", "status": "True", "lastTransitionTime": null}]);
    for (conditions, patched) in [(update, false), (patch, true)] {
        if patched {
            let status = json!({"status": {"conditions": conditions}});
            objects.merge(SETS, "sts/status", &status).await?;
        }
        let set = objects.get(SETS, "sts").await?;
        ensure!(set["status"]["conditions"] == conditions, "{}", set["status"]);
        ensure!(set["status"]["replicas"] == 1, "{}", set["status"]);
    }
    settled(&objects, "sts", 1).await
}

/// e2e: should list, patch and delete a collection of StatefulSets.
pub(super) async fn collection(cluster: &Cluster, objects: Objects) -> anyhow::Result<()> {
    for name in ["patched", "other"] {
        objects.create(SETS, &set(name, 1, json!({}))).await?;
        settled(&objects, name, 1).await?;
    }
    let container = json!([{"name": "main", "image": "new-image"}]);
    let patch = json!({"metadata": {"labels": {"test-sts": "patched"}}, "spec": {"replicas": 2,
        "template": {"spec": {"containers": container}}}});
    objects.merge(SETS, "patched", &patch).await?;
    settled(&objects, "patched", 2).await?;
    for pod in ["patched-0", "patched-1"] {
        let pod = objects.get("pods", pod).await?;
        ensure!(pod["spec"]["containers"][0]["image"] == "new-image", "{pod}");
    }
    let those = ListParams::default().labels("test-sts=patched");
    let everywhere: Api<StatefulSet> = Api::all(cluster.admin()?);
    let listed = everywhere.list(&those).await?.items;
    let names: Vec<_> = listed.iter().filter_map(|set| set.metadata.name.as_deref()).collect();
    ensure!(names == ["patched"], "{names:?}");
    let here: Api<StatefulSet> = Api::namespaced(cluster.admin()?, objects.namespace());
    here.delete_collection(&DeleteParams::background(), &those).await?;
    ensure!(everywhere.list(&those).await?.items.is_empty(), "they are deleted");
    wait_until("the pods of the other set alone", LIMIT, async || {
        let names = super::uids(&objects).await?.into_keys().collect::<Vec<_>>();
        ensure!(names == ["other-0"], "{names:?}");
        Ok(Some(()))
    })
    .await
}
