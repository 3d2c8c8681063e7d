//! Pods that are made, replaced and deleted, in which order and how many at a time.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, ensure};
use cluster_tests::{Objects, wait_until};
use futures::{StreamExt, TryStreamExt};
use kube::api::WatchEvent;
use serde_json::{Value, json};

use super::claims::claims;
use super::{LIMIT, SETS, claim, has_status, scale, set, settled, uids};

/// e2e: should perform rolling updates and roll backs of template modifications with PVCs. As
/// there, a pod that is not ready stops each of them until it is.
pub(super) async fn rolled_back_with_claims(objects: Objects) -> anyhow::Result<()> {
    objects.create(SETS, &set("sts", 3, json!({"volumeClaimTemplates": [claim("data")]}))).await?;
    settled(&objects, "sts", 3).await?;
    let of_claims = claims(&objects).await?;
    let [first, _] = revisions(&objects).await?;
    let mut second = Value::Null;
    for image in ["new-image", "example.com/image"] {
        let [current, _] = revisions(&objects).await?;
        let before = uids(&objects).await?;
        has_outcome(&objects, "sts-1", "unready").await?;
        has_status(&objects, "sts", &json!({"readyReplicas": 2})).await?;
        let container = json!([{"name": "main", "image": image}]);
        let template = json!({"spec": {"template": {"spec": {"containers": container}}}});
        objects.merge(SETS, "sts", &template).await?;
        let is_new = |set: &Value| set["status"]["updateRevision"] != current;
        objects.wait(SETS, "sts", "to have another revision", is_new).await?;
        let [still, update] = revisions(&objects).await?;
        ensure!(still == current, "it is under way");
        ensure!(uids(&objects).await? == before, "one pod is not ready");
        if second.is_null() {
            second = update;
        } else {
            ensure!(update == first, "it is the revision that there was: {update}");
        }
        has_outcome(&objects, "sts-1", "running").await?;
        settled(&objects, "sts", 3).await?;
        let [current, update] = revisions(&objects).await?;
        ensure!(current == update, "it is done");
        for pod in objects.list("pods").await? {
            let label = &pod["metadata"]["labels"]["controller-revision-hash"];
            ensure!(*label == current, "{label}, not {current}");
            ensure!(pod["spec"]["containers"][0]["image"] == image, "{pod}");
        }
        ensure!(claims(&objects).await? == of_claims, "the claims stay");
    }
    let all = objects.list("controllerrevisions").await?;
    let numbers: BTreeMap<_, _> = all
        .iter()
        .map(|it| (it["metadata"]["name"].to_string(), it["revision"].as_u64()))
        .collect();
    let expected = [(first.to_string(), Some(3)), (second.to_string(), Some(2))];
    ensure!(numbers == expected.into(), "{numbers:?}");
    Ok(())
}

/// The current revision, and the one that an update leads to.
async fn revisions(objects: &Objects) -> anyhow::Result<[Value; 2]> {
    let set = objects.get(SETS, "sts").await?;
    Ok(["currentRevision", "updateRevision"].map(|field| set["status"][field].clone()))
}

/// e2e: should perform rolling updates with maxUnavailable.
pub(super) async fn several_at_once(objects: Objects) -> anyhow::Result<()> {
    let strategy = json!({"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 2}});
    objects.create(SETS, &set("sts", 5, json!({"updateStrategy": strategy}))).await?;
    settled(&objects, "sts", 5).await?;
    let (_, version) = objects.list_at("pods").await?;
    let mut events = objects.watch("pods", &version).await?;
    let annotation = json!({"metadata": {"annotations": {"version": "two"}}});
    objects.merge(SETS, "sts", &json!({"spec": {"template": annotation}})).await?;
    let (mut updated, mut unavailable, mut most) = (BTreeSet::new(), BTreeSet::new(), 0);
    while updated.len() < 5 {
        let event = events.try_next().await?.context("the watch ended")?;
        let (pod, is_there) = match event {
            WatchEvent::Added(pod) | WatchEvent::Modified(pod) => (pod, true),
            WatchEvent::Deleted(pod) => (pod, false),
            WatchEvent::Bookmark(_) => continue,
            WatchEvent::Error(error) => anyhow::bail!("{error:?}"),
        };
        let name = name_of(&pod);
        if is_there && is_ready(&pod) && pod["metadata"]["deletionTimestamp"].is_null() {
            unavailable.remove(&name);
            if pod["metadata"]["annotations"]["version"] == "two" {
                updated.insert(name);
            }
        } else {
            unavailable.insert(name);
        }
        most = most.max(unavailable.len());
        ensure!(most <= 2, "{unavailable:?} are unavailable");
    }
    ensure!(most == 2, "never were two unavailable");
    settled(&objects, "sts", 5).await?;
    has_status(&objects, "sts", &json!({"updatedReplicas": 5})).await
}

/// e2e: Scaling should happen in predictable order and halt if any stateful pod is unhealthy.
pub(super) async fn scaling_halts_at_an_unready_pod(objects: Objects) -> anyhow::Result<()> {
    objects.create(SETS, &set("sts", 1, json!({}))).await?;
    settled(&objects, "sts", 1).await?;
    let (_, version) = objects.list_at("pods").await?;
    let pods = ["sts-0", "sts-1", "sts-2"];
    for (replicas, ready) in [(3, &pods[..1]), (0, &pods[..])] {
        for pod in ready {
            has_outcome(&objects, pod, "unready").await?;
        }
        let is_unready = |set: &Value| set["status"]["readyReplicas"].as_u64().unwrap_or(0) == 0;
        objects.wait(SETS, "sts", "to have no pod that is ready", is_unready).await?;
        scale(&objects, "sts", replicas).await?;
        let has_seen =
            |set: &Value| set["status"]["observedGeneration"] == set["metadata"]["generation"];
        objects.wait(SETS, "sts", "to be seen", has_seen).await?;
        let names: Vec<_> = uids(&objects).await?.into_keys().collect();
        ensure!(names == ready, "none is made or deleted: {names:?}");
        for pod in ready {
            has_outcome(&objects, pod, "running").await?;
        }
        settled(&objects, "sts", replicas).await?;
    }
    let events = objects.watch("pods", &version).await?;
    let lines = events.try_filter_map(async |event| {
        Ok(match event {
            WatchEvent::Added(pod) => Some(format!("made {}", name_of(&pod))),
            WatchEvent::Deleted(pod) => Some(format!("deleted {}", name_of(&pod))),
            WatchEvent::Modified(_) | WatchEvent::Bookmark(_) | WatchEvent::Error(_) => None,
        })
    });
    let lines: Vec<_> = lines.take(5).try_collect().await?;
    let expected = ["made sts-1", "made sts-2", "deleted sts-2", "deleted sts-1", "deleted sts-0"];
    ensure!(lines == expected, "{lines:?}");
    Ok(())
}

/// e2e: Setting, Increasing, Decreasing and Removing .start.ordinal.
pub(super) async fn another_first_number(objects: Objects) -> anyhow::Result<()> {
    let rows = [
        ("setting", Value::Null, json!({"start": 2}), 3, 2),
        ("increasing", json!({"start": 2}), json!({"start": 4}), 2, 4),
        ("decreasing", json!({"start": 3}), json!({"start": 2}), 2, 2),
        ("removing", json!({"start": 3}), Value::Null, 2, 0),
    ];
    for (name, ordinals, ..) in &rows {
        objects.create(SETS, &set(name, 2, json!({"ordinals": ordinals}))).await?;
    }
    for (name, _, ordinals, replicas, _) in &rows {
        settled(&objects, name, 2).await?;
        let spec = json!({"ordinals": ordinals, "replicas": replicas});
        objects.merge(SETS, name, &json!({ "spec": spec })).await?;
    }
    for (name, _, _, replicas, start) in rows {
        let expected: Vec<_> =
            (start..start + replicas).map(|ordinal| format!("{name}-{ordinal}")).collect();
        // First the names: as many as asked for are there in between, too.
        wait_until(&format!("the pods of {name}"), LIMIT, async || {
            let mut names: Vec<_> = uids(&objects).await?.into_keys().collect();
            names.retain(|pod| pod.starts_with(name));
            ensure!(names == expected, "{names:?}");
            Ok(Some(()))
        })
        .await?;
        settled(&objects, name, replicas).await?;
    }
    Ok(())
}

/// e2e: MinReadySeconds should be honored when enabled; AvailableReplicas should get updated
/// accordingly when MinReadySeconds is enabled.
pub(super) async fn available_after_a_while(objects: Objects) -> anyhow::Result<()> {
    objects.create(SETS, &set("sts", 2, json!({"minReadySeconds": 4}))).await?;
    let one = json!({"replicas": 1, "readyReplicas": 1, "availableReplicas": 0});
    has_status(&objects, "sts", &one).await?;
    settled(&objects, "sts", 2).await?;
    let pods = uids(&objects).await?;
    objects.merge(SETS, "sts", &json!({"spec": {"minReadySeconds": 3600}})).await?;
    let none = json!({"replicas": 2, "readyReplicas": 2, "availableReplicas": 0});
    has_status(&objects, "sts", &none).await?;
    objects.merge(SETS, "sts", &json!({"spec": {"minReadySeconds": 0}})).await?;
    settled(&objects, "sts", 2).await?;
    ensure!(uids(&objects).await? == pods, "the pods stay");
    Ok(())
}

fn name_of(pod: &Value) -> String {
    pod["metadata"]["name"].as_str().unwrap_or_default().to_owned()
}

fn is_ready(pod: &Value) -> bool {
    let mut conditions = pod["status"]["conditions"].as_array().into_iter().flatten();
    conditions.any(|it| it["type"] == "Ready" && it["status"] == "True")
}

/// What kwok makes of the pod: `cluster/stages.yaml`.
async fn has_outcome(objects: &Objects, pod: &str, outcome: &str) -> anyhow::Result<()> {
    let annotations = json!({"cluster-tests/outcome": outcome});
    objects.merge("pods", pod, &json!({"metadata": {"annotations": annotations}})).await
}
