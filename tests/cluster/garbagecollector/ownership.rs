//! Pods and what owns them: upstream's garbage_collector_test.go, and what its cards add.

use super::{LIMIT, World, all_of, background, foreground, name_of, owned_by};
use anyhow::{Context, ensure};
use cluster_tests::wait_until;
use futures::FutureExt;
use serde_json::{Value, json};

/// A finalizer that no controller removes.
const KEPT: &str = "x/y";

/// TestCascadingDeletion: a pod with another owner, or without one, stays.
pub(super) async fn cascade(world: World<'_>) -> anyhow::Result<()> {
    let (goes, stays) = (world.owner("goes").await?, world.owner("stays").await?);
    let (goes_ref, stays_ref) = (owned_by(&goes, json!({})), owned_by(&stays, json!({})));
    let dependent = world.pod("dependent", std::slice::from_ref(&goes_ref)).await?;
    world.pod("shared", &[goes_ref, stays_ref.clone()]).await?;
    let free = world.pod("free", &[]).await?;
    world.seen(&dependent).await?;
    world.delete_owner("goes", json!({"orphanDependents": false})).await?;
    world.forgotten(&goes).await?;
    world.objects.gone("pods", "dependent").await?;
    // Only the reference to the deleted owner is removed.
    world
        .objects
        .wait("pods", "shared", "to have one owner", |pod| {
            pod["metadata"]["ownerReferences"] == json!([stays_ref])
        })
        .await?;
    ensure!(world.names("pods").await? == ["free", "shared"]);
    // The scheduler may have written its status.
    let still = world.objects.get("pods", "free").await?;
    ensure!(still["metadata"]["uid"] == free["metadata"]["uid"], "{still}");
    ensure!(!is_deleted(&still), "{still}");
    Ok(())
}

/// TestCreateWithNonExistentOwner
pub(super) async fn no_owner(world: World<'_>) -> anyhow::Result<()> {
    let owner = json!({"apiVersion": "v1", "kind": "ReplicationController", "name": "nobody",
        "uid": "doesn't matter"});
    world.pod("dependent", &[owner]).await?;
    world.objects.gone("pods", "dependent").await
}

/// TestStressingCascadingDeletion: five ways to delete, ten of each, at the same time.
pub(super) async fn stress(world: World<'_>) -> anyhow::Result<()> {
    const ORPHAN: &[&str] = &["orphan"];
    let ways: [(&str, &[&str], Value); 5] = [
        ("stays-1", &[], json!({})),
        ("stays-2", ORPHAN, json!({})),
        ("goes", ORPHAN, json!({"orphanDependents": false})),
        ("stays-3", &[], json!({"orphanDependents": true})),
        ("stays-4", &[], json!({"propagationPolicy": "Orphan"})),
    ];
    let (world, mut all, mut stay) = (&world, Vec::new(), Vec::new());
    for (way, finalizers, options) in &ways {
        for number in 0..10 {
            let name = format!("{way}-{number}");
            if *way != "goes" {
                stay.extend((0..3).map(|pod| format!("{name}-{pod}")));
            }
            let run = async move {
                collection(world, &name, finalizers, options.clone()).await.context(name)
            };
            all.push(run.boxed_local());
        }
    }
    all_of(all).await?;
    stay.sort();
    wait_until("what stays to be all", LIMIT, async || {
        let (owners, pods) =
            (world.names("replicationcontrollers").await?, world.names("pods").await?);
        ensure!(owners.is_empty() && pods == stay, "{owners:?}, {pods:?}");
        Ok(Some(()))
    })
    .await?;
    for pod in world.objects.list("pods").await? {
        ensure!(pod["metadata"]["ownerReferences"].is_null(), "{pod}");
    }
    Ok(())
}

async fn collection(
    world: &World<'_>,
    name: &str,
    finalizers: &[&str],
    options: Value,
) -> anyhow::Result<()> {
    let owner = world.owner_with(name, json!({"finalizers": finalizers})).await?;
    for number in 0..3 {
        let pod = world.pod(&format!("{name}-{number}"), &[owned_by(&owner, json!({}))]).await?;
        // Otherwise the end of the owner may be seen before the pod is.
        world.seen(&pod).await?;
    }
    world.delete_owner(name, options).await.map(drop)
}

/// TestOrphaning
pub(super) async fn orphans(world: World<'_>) -> anyhow::Result<()> {
    let owner = world.owner("owner").await?;
    for name in ["one", "two", "three"] {
        let pod = world.pod(name, &[owned_by(&owner, json!({}))]).await?;
        world.seen(&pod).await?;
    }
    world.delete_owner("owner", json!({"orphanDependents": true})).await?;
    world.objects.gone("replicationcontrollers", "owner").await?;
    let pods = world.objects.list("pods").await?;
    ensure!(pods.len() == 3);
    for pod in pods {
        ensure!(pod["metadata"]["ownerReferences"].is_null(), "{pod}");
        ensure!(pod["metadata"]["deletionTimestamp"].is_null(), "{pod}");
    }
    Ok(())
}

/// TestSolidOwnerDoesNotBlockWaitingOwner
pub(super) async fn solid(world: World<'_>) -> anyhow::Result<()> {
    let (goes, stays) = (world.owner("goes").await?, world.owner("stays").await?);
    let goes = owned_by(&goes, json!({"blockOwnerDeletion": true}));
    let stays = owned_by(&stays, json!({}));
    world.pod("pod", &[goes, stays.clone()]).await?;
    world.delete_owner("goes", foreground()).await?;
    world.objects.gone("replicationcontrollers", "goes").await?;
    let pod = world.objects.get("pods", "pod").await?;
    ensure!(pod["metadata"]["ownerReferences"] == json!([stays]), "{pod}");
    Ok(())
}

/// TestNonBlockingOwnerRefDoesNotBlock
pub(super) async fn not_blocking(world: World<'_>) -> anyhow::Result<()> {
    let owner = world.owner("owner").await?;
    let none = owned_by(&owner, json!({}));
    let no = owned_by(&owner, json!({"blockOwnerDeletion": false}));
    world.pod_with("pod-1", &[none], &[KEPT]).await?;
    world.pod_with("pod-2", &[no], &[KEPT]).await?;
    world.delete_owner("owner", foreground()).await?;
    world.objects.gone("replicationcontrollers", "owner").await?;
    ensure!(world.names("pods").await? == ["pod-1", "pod-2"]);
    // They are to go all the same, when their finalizer does.
    for name in ["pod-1", "pod-2"] {
        world.objects.wait("pods", name, "to be deleted", is_deleted).await?;
        ensure!(finalizers(&world.objects.get("pods", name).await?) == [KEPT]);
    }
    Ok(())
}

/// TestDoubleDeletionWithFinalizer
pub(super) async fn twice(world: World<'_>) -> anyhow::Result<()> {
    world.pod_with("lucy", &[], &[KEPT]).await?;
    for _ in 0..2 {
        world.objects.delete_with("pods", "lucy", &foreground()).await?;
        world
            .objects
            .wait("pods", "lucy", "to have its own finalizer", |pod| finalizers(pod) == [KEPT])
            .await?;
    }
    without_finalizers(&world, "lucy").await?;
    world.objects.gone("pods", "lucy").await
}

/// TestBlockingOwnerRefDoesBlock: it still does when another one that was deleted later is deleted.
pub(super) async fn blocking(world: World<'_>) -> anyhow::Result<()> {
    let (owner, later) = (world.owner("owner").await?, world.owner("later").await?);
    let block = json!({"blockOwnerDeletion": true});
    let pod = world.pod_with("pod", &[owned_by(&owner, block.clone())], &[KEPT]).await?;
    let later = world.pod("pod-later", &[owned_by(&later, block)]).await?;
    world.seen(&pod).await?;
    world.seen(&later).await?;
    world.delete_owner("owner", foreground()).await?;
    world.objects.wait("pods", "pod", "to be deleted", is_deleted).await?;
    world.delete_owner("later", foreground()).await?;
    world.objects.gone("replicationcontrollers", "later").await?;
    let owner = world.objects.get("replicationcontrollers", "owner").await?;
    ensure!(finalizers(&owner) == ["foregroundDeletion"], "{owner}");
    ensure!(world.names("pods").await? == ["pod"]);
    without_finalizers(&world, "pod").await?;
    world.objects.gone("replicationcontrollers", "owner").await
}

/// Upstream's e2e test "should not be blocked by dependency circle".
pub(super) async fn circle(world: World<'_>) -> anyhow::Result<()> {
    let names = ["pod-1", "pod-2", "pod-3"];
    let mut pods = Vec::new();
    for name in names {
        pods.push(world.pod(name, &[]).await?);
    }
    for (pod, owner) in [(0, 2), (1, 0), (2, 1)] {
        let more = json!({"controller": true, "blockOwnerDeletion": true});
        let owners = json!([owned_by(&pods[owner], more)]);
        let patch = json!({"metadata": {"ownerReferences": owners}});
        world.objects.merge("pods", names[pod], &patch).await?;
    }
    for pod in &pods {
        world.seen(pod).await?;
    }
    world.objects.delete_with("pods", "pod-1", &foreground()).await?;
    for name in names {
        world.objects.gone("pods", name).await?;
    }
    Ok(())
}

/// An owner that is made again has another uid: what the first one owned is deleted, what the
/// second one owns stays.
pub(super) async fn again(world: World<'_>) -> anyhow::Result<()> {
    let first = world.owner("owner").await?;
    let pod = world.pod("of-the-first", &[owned_by(&first, json!({}))]).await?;
    world.seen(&pod).await?;
    world.delete_owner("owner", background()).await?;
    let second = world.owner("owner").await?;
    let pod = world.pod("of-the-second", &[owned_by(&second, json!({}))]).await?;
    world.seen(&pod).await?;
    world.objects.gone("pods", "of-the-first").await?;
    // So does what refers to the first one only now.
    world.pod("late", &[owned_by(&first, json!({}))]).await?;
    world.objects.gone("pods", "late").await?;
    ensure!(world.names("pods").await? == ["of-the-second"]);
    ensure!(name_of(&second) == "owner");
    Ok(())
}

async fn without_finalizers(world: &World<'_>, pod: &str) -> anyhow::Result<()> {
    world.objects.merge("pods", pod, &json!({"metadata": {"finalizers": null}})).await
}

fn is_deleted(object: &Value) -> bool {
    object["metadata"]["deletionTimestamp"].is_string()
}

fn finalizers(object: &Value) -> Vec<&str> {
    let finalizers = object["metadata"]["finalizers"].as_array().into_iter().flatten();
    finalizers.filter_map(Value::as_str).collect()
}
