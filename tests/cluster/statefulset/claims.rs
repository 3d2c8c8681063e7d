//! Pods and their claims.

use std::collections::BTreeMap;

use anyhow::{Context, ensure};
use cluster_tests::{Objects, wait_until};
use serde_json::{Value, json};

use super::{LIMIT, SETS, claim, idle, make_ready, release, scale, set, settled, uids};

const CLAIMS: &str = "persistentvolumeclaims";

/// e2e: should provide basic identity. Pods that are made again are the same but for their uid, and
/// have the claims that they had.
pub(super) async fn pods_keep_their_identity(objects: Objects) -> anyhow::Result<()> {
    let more = json!({"serviceName": "test", "volumeClaimTemplates": [claim("data")]});
    objects.create(SETS, &set("sts", 3, more)).await?;
    let of_pods = identities(&objects).await?;
    let of_claims = claims(&objects).await?;
    let revision = objects.get(SETS, "sts").await?["status"]["currentRevision"].clone();
    for (ordinal, (name, pod)) in of_pods.iter().enumerate() {
        ensure!(*name == format!("sts-{ordinal}"), "{name}");
        let labels = json!({"app": "sts", "statefulset.kubernetes.io/pod-name": name,
            "apps.kubernetes.io/pod-index": ordinal.to_string(),
            "controller-revision-hash": revision});
        ensure!(pod["labels"] == labels, "{pod}");
        let spec = &pod["spec"];
        ensure!(spec["hostname"] == *name && spec["subdomain"] == "test", "{spec}");
        let volume = json!({"claimName": format!("data-{name}")});
        let volumes = json!([{"name": "data", "persistentVolumeClaim": volume}]);
        ensure!(spec["volumes"] == volumes, "{spec}");
        let claim = objects.get(CLAIMS, &format!("data-{name}")).await?;
        ensure!(claim["metadata"]["labels"] == json!({"app": "sts"}), "{claim}");
    }
    let before = uids(&objects).await?;
    scale(&objects, "sts", 0).await?;
    settled(&objects, "sts", 0).await?;
    scale(&objects, "sts", 3).await?;
    ensure!(identities(&objects).await? == of_pods, "they are as they were");
    let after = uids(&objects).await?;
    ensure!(before.iter().all(|(name, uid)| after.get(name) != Some(uid)), "they are others");
    ensure!(claims(&objects).await? == of_claims, "they have the same claims");
    Ok(())
}

/// What makes up the pods of the set, by name, once all are there.
async fn identities(objects: &Objects) -> anyhow::Result<BTreeMap<String, Value>> {
    settled(objects, "sts", 3).await?;
    let pods = objects.list("pods").await?;
    let identity = |pod: &Value| {
        let name = pod["metadata"]["name"].as_str().unwrap_or_default().to_owned();
        (name, json!({"labels": pod["metadata"]["labels"], "spec": pod["spec"]}))
    };
    Ok(pods.iter().map(identity).collect())
}

/// e2e: should delete PVCs after adopting pod (WhenDeleted), (WhenScaled). The set acts before it
/// has the pod again that was taken from it.
pub(super) async fn of_pods_that_were_adopted(objects: Objects) -> anyhow::Result<()> {
    for (name, policy) in [("deleted", "whenDeleted"), ("scaled", "whenScaled")] {
        let more = json!({"volumeClaimTemplates": [claim("data")],
            "persistentVolumeClaimRetentionPolicy": {policy: "Delete"}});
        objects.create(SETS, &set(name, 3, more)).await?;
    }
    for name in ["deleted", "scaled"] {
        settled(&objects, name, 3).await?;
        // Nobody is there who would let go of those that pods have used.
        for ordinal in 0..3 {
            release(&objects, &format!("data-{name}-{ordinal}"), "Delete").await?;
        }
        let owners = json!({"metadata": {"ownerReferences": null}});
        objects.merge("pods", &format!("{name}-2"), &owners).await?;
    }
    objects.delete(SETS, "deleted").await?;
    scale(&objects, "scaled", 1).await?;
    for name in ["data-deleted-0", "data-deleted-1", "data-deleted-2"] {
        objects.gone(CLAIMS, name).await?;
    }
    settled(&objects, "scaled", 1).await?;
    for name in ["data-scaled-1", "data-scaled-2"] {
        objects.gone(CLAIMS, name).await?;
    }
    let left: Vec<_> = claims(&objects).await?.into_keys().collect();
    ensure!(left == ["data-scaled-0"], "{left:?}");
    Ok(())
}

/// e2e: should not delete PVC with OnScaledown policy if another controller owns the PVC.
pub(super) async fn of_another_controller_stay(objects: Objects) -> anyhow::Result<()> {
    objects.create(SETS, &set("sts", 3, json!({"volumeClaimTemplates": [claim("data")]}))).await?;
    settled(&objects, "sts", 3).await?;
    let map = objects.create("configmaps", &json!({"metadata": {"name": "other"}})).await?;
    let owners = json!([{"apiVersion": "v1", "kind": "ConfigMap", "name": "other",
        "uid": map["metadata"]["uid"], "controller": true}]);
    let owned = json!({"metadata": {"ownerReferences": owners}});
    objects.merge(CLAIMS, "data-sts-1", &owned).await?;
    let before = claims(&objects).await?;
    for name in before.keys() {
        release(&objects, name, "Delete").await?;
    }
    let policy = json!({"persistentVolumeClaimRetentionPolicy": {"whenScaled": "Delete"}});
    objects.merge(SETS, "sts", &json!({"spec": policy})).await?;
    scale(&objects, "sts", 0).await?;
    for name in ["data-sts-0", "data-sts-2"] {
        objects.gone(CLAIMS, name).await?;
    }
    settled(&objects, "sts", 0).await?;
    let claim = objects.get(CLAIMS, "data-sts-1").await?;
    ensure!(claim["metadata"]["ownerReferences"] == owners, "{claim}");
    objects.merge(CLAIMS, "data-sts-1", &json!({"metadata": {"ownerReferences": null}})).await?;
    scale(&objects, "sts", 2).await?;
    settled(&objects, "sts", 2).await?;
    let after = claims(&objects).await?;
    let names: Vec<_> = after.keys().collect();
    ensure!(names == ["data-sts-0", "data-sts-1"], "{names:?}");
    ensure!(after["data-sts-1"] == before["data-sts-1"], "it is the one that stayed");
    ensure!(after["data-sts-0"] != before["data-sts-0"], "it is another one");
    scale(&objects, "sts", 1).await?;
    objects.gone(CLAIMS, "data-sts-1").await?;
    settled(&objects, "sts", 1).await?;
    objects.get(CLAIMS, "data-sts-0").await.map(drop)
}

/// e2e: PVC should be recreated when pod is pending due to missing PVC.
pub(super) async fn of_a_pending_pod_are_made_again(objects: Objects) -> anyhow::Result<()> {
    let more = json!({"volumeClaimTemplates": [claim("data")]});
    objects.create(SETS, &idle(set("sts", 1, more))).await?;
    objects.wait(SETS, "sts", "to have a pod", |set| set["status"]["replicas"] == 1).await?;
    let first = objects.get(CLAIMS, "data-sts-0").await?["metadata"]["uid"].clone();
    release(&objects, "data-sts-0", "Delete").await?;
    objects.delete(CLAIMS, "data-sts-0").await?;
    let mut looks = 0;
    wait_until("another claim", LIMIT, async || {
        looks += 1;
        // As the scheduler, which says again and again why the pod has to wait.
        let said = json!({"metadata": {"annotations": {"looks": looks.to_string()}}});
        objects.merge("pods", "sts-0", &said).await?;
        let claim = objects.find(CLAIMS, "data-sts-0").await?.context("there is none")?;
        Ok((claim["metadata"]["uid"] != first).then_some(()))
    })
    .await?;
    make_ready(&objects, "sts-0", "True", "2020-01-01T00:00:00Z").await?;
    settled(&objects, "sts", 1).await
}

/// The uids of the claims, by name.
pub(super) async fn claims(objects: &Objects) -> anyhow::Result<BTreeMap<String, Value>> {
    let claims = objects.list(CLAIMS).await?;
    let name = |claim: &Value| claim["metadata"]["name"].as_str().unwrap_or_default().to_owned();
    Ok(claims.iter().map(|claim| (name(claim), claim["metadata"]["uid"].clone())).collect())
}
