//! PodDisruptionBudgets on the real API server: upstream's integration tests
//! (test/integration/disruption, and test/integration/evictions in `evictions`), a drain, and
//! silence afterwards. kwok plays the kubelets, so pods are ready when they are created.

mod evictions;

use std::time::Duration;

use anyhow::{Context as _, ensure};
use cluster_tests::{
    Binary, Cluster, Manager, Objects, Options, User, kubectl, none_forbidden, silent, since,
    wait_until,
};
use serde_json::{Value, json};

const ARGS: &[&str] =
    &["--controllers=disruption-controller,deployment-controller,replicaset-controller"];
const BUDGETS: &str = "poddisruptionbudgets.v1.policy";
const DEFINITIONS: &str = "customresourcedefinitions.v1.apiextensions.k8s.io";
const PACKS: &str = "packs.v1.disruption.example.com";
const LIMIT: Duration = Duration::from_mins(1);
/// How long nothing may happen until the manager counts as done.
const CALM: Duration = Duration::from_secs(3);

#[tokio::test]
async fn budgets_are_kept() -> anyhow::Result<()> {
    let cluster = Cluster::start(Options { nodes: 3, ..Options::default() }).await?;
    let binary = Binary::under_test()?;
    // Before the manager: upstream's looks for new kinds every half minute, and does not try again.
    let all = Objects::of(&cluster, "")?;
    let scale = json!({"specReplicasPath": ".spec.replicas",
        "statusReplicasPath": ".status.replicas"});
    define(&all, "packs", "Pack", &json!({ "scale": scale })).await?;
    define(&all, "heaps", "Heap", &json!({"status": {}})).await?;
    let mut manager = Manager::start(&cluster, binary, User::ControllerManager, ARGS)?;
    manager.healthy().await?;
    let requests = cluster.request_counts().await?;
    let run = async {
        a_scale_says_how_many_pods_there_should_be(&cluster).await?;
        what_has_no_scale_allows_nothing(&cluster).await?;
        an_empty_selector_is_for_all_pods(&cluster).await?;
        pods_without_labels_can_be_selected(&cluster).await?;
        selectors_are_patched(&cluster).await?;
        stale_marks_are_reset(&cluster).await?;
        evictions::many_at_once(&cluster).await?;
        evictions::pods_that_have_ended(&cluster).await?;
        evictions::versions(&cluster).await?;
        evictions::with_finalizers(&cluster).await?;
        evictions::of_pods_that_are_not_ready(&cluster).await?;
        evictions::with_preconditions(&cluster).await?;
        evictions::a_node_is_drained(&cluster).await?;
        let made = since(&requests, &cluster.request_counts().await?);
        none_forbidden(&made)?;
        converged_is_silent(&cluster, &manager).await
    };
    run.await.with_context(|| manager.log())
}

/// TestPDBWithScaleSubresource.
async fn a_scale_says_how_many_pods_there_should_be(cluster: &Cluster) -> anyhow::Result<()> {
    let objects = Objects::in_new(cluster, "scale-subresource").await?;
    let pack = json!({"apiVersion": "disruption.example.com/v1", "kind": "Pack",
        "metadata": {"name": "it"}, "spec": {"replicas": 4}});
    let pack = objects.create(PACKS, &pack).await?;
    for number in 0..4 {
        let pod = owned(pod(&format!("pod-{number}"), &json!({"app": "pack"})), &pack);
        objects.create("pods", &pod).await?;
    }
    objects
        .create(BUDGETS, &budget(&json!({"maxUnavailable": 2}), &json!({"app": "pack"})))
        .await?;
    has(&objects, [4, 2, 4, 2]).await?;
    // Nothing but the size has changed; upstream's looks again when a pod has.
    objects.merge(PACKS, "it", &json!({"spec": {"replicas": 6}})).await?;
    objects.merge("pods", "pod-0", &json!({"metadata": {"labels": {"a": "b"}}})).await?;
    has(&objects, [4, 4, 6, 0]).await
}

/// The kind of the pods' owner has no scale.
async fn what_has_no_scale_allows_nothing(cluster: &Cluster) -> anyhow::Result<()> {
    let objects = Objects::in_new(cluster, "no-scale").await?;
    let heap = json!({"apiVersion": "disruption.example.com/v1", "kind": "Heap",
        "metadata": {"name": "it"}});
    let heap = objects.create("heaps.v1.disruption.example.com", &heap).await?;
    let pod = owned(pod("pod", &json!({"app": "heap"})), &heap);
    objects.create("pods", &pod).await?;
    let spec = json!({"minAvailable": "10%"});
    objects.create(BUDGETS, &budget(&spec, &json!({"app": "heap"}))).await?;
    let message = "heaps.disruption.example.com does not implement the scale subresource";
    let failed = |budget: &Value| {
        let condition = &budget["status"]["conditions"][0];
        condition["reason"] == "SyncFailed" && condition["message"] == message
    };
    let budget = objects.wait(BUDGETS, "it", "to have failed", failed).await?;
    ensure!(budget["status"]["disruptionsAllowed"] == 0, "{budget}");
    Ok(())
}

/// TestEmptySelector: in v1beta1, in which etcd may still have some, it is for no pod.
async fn an_empty_selector_is_for_all_pods(cluster: &Cluster) -> anyhow::Result<()> {
    for (namespace, version, healthy) in [("empty-v1beta1", "v1beta1", 0), ("empty-v1", "v1", 4)] {
        let objects = Objects::in_new(cluster, namespace).await?;
        for number in 0..4 {
            objects.create("pods", &pod(&format!("pod-{number}"), &json!({"a": "b"}))).await?;
        }
        let mut budget = budget(&json!({"minAvailable": 2}), &json!({}));
        budget["spec"]["selector"] = json!({});
        make(cluster, &objects, version, budget).await?;
        counts(&objects, healthy).await?;
    }
    Ok(())
}

/// TestSelectorsForPodsWithoutLabels: the budget is there first.
async fn pods_without_labels_can_be_selected(cluster: &Cluster) -> anyhow::Result<()> {
    let lacks = json!({"matchExpressions": [{"key": "DoesNotExist", "operator": "DoesNotExist"}]});
    for (namespace, version, selector) in [
        ("no-labels-empty", "v1", &json!({})),
        ("no-labels-lacks", "v1", &lacks),
        ("no-labels-v1beta1", "v1beta1", &lacks),
    ] {
        let objects = Objects::in_new(cluster, namespace).await?;
        let mut budget = budget(&json!({"minAvailable": 1}), &json!({}));
        budget["spec"]["selector"] = selector.clone();
        make(cluster, &objects, version, budget).await?;
        counts(&objects, 0).await?;
        objects.create("pods", &pod("pod", &Value::Null)).await?;
        counts(&objects, 1).await?;
    }
    Ok(())
}

/// TestPatchCompatibility.
async fn selectors_are_patched(cluster: &Cluster) -> anyhow::Result<()> {
    let objects = Objects::in_new(cluster, "patches").await?;
    let key = |key: &str| json!([{"key": key, "operator": "In", "values": ["true"]}]);
    let base =
        json!({"matchLabels": {"basematch": "true"}, "matchExpressions": key("baseexpression")});
    let patch =
        json!({"matchLabels": {"patchmatch": "true"}, "matchExpressions": key("patchexpression")});
    let mut merged = patch.clone();
    merged["matchLabels"]["basematch"] = "true".into();
    for (name, how, expected) in
        [("strategic", "strategic", &patch), ("merge", "merge", &merged), ("apply", "", &patch)]
    {
        let mut budget = budget(&json!({"maxUnavailable": 2}), &json!({}));
        budget["metadata"]["name"] = name.into();
        budget["spec"]["selector"] = base.clone();
        objects.create(BUDGETS, &budget).await?;
        let spec = json!({"spec": {"selector": patch}});
        if how.is_empty() {
            let mut whole = json!({"apiVersion": "policy/v1", "kind": "PodDisruptionBudget",
                "metadata": {"name": name, "namespace": "patches"}});
            whole["spec"] = spec["spec"].clone();
            let file = cluster.dir().join("applied.json");
            std::fs::write(&file, whole.to_string())?;
            let file = file.display().to_string();
            let args = ["apply", "--server-side", "--force-conflicts", "-f", &file];
            kubectl(cluster, &args).await?;
        } else {
            let (how, patch) = (format!("--type={how}"), spec.to_string());
            let args = ["-n", "patches", "patch", "pdb", name, &how, "-p", &patch];
            kubectl(cluster, &args).await?;
        }
        let patched = objects.get(BUDGETS, name).await?;
        ensure!(patched["spec"]["selector"] == *expected, "{name}: {patched}");
    }
    Ok(())
}

/// TestStalePodDisruption, with marks of long ago instead of a shorter time.
async fn stale_marks_are_reset(cluster: &Cluster) -> anyhow::Result<()> {
    let objects = Objects::in_new(cluster, "stale-marks").await?;
    for (name, reason, outcome) in [
        ("stale", "", "none"),
        ("deleted", "", "none"),
        ("by-kubelet", "TerminationByKubelet", "failed"),
        ("failed", "", "failed"),
    ] {
        let mut pod = pod(name, &json!({"a": "b"}));
        pod["metadata"]["annotations"] = json!({"cluster-tests/outcome": outcome});
        pod["metadata"]["finalizers"] = json!(["example.com/hold"]);
        objects.create("pods", &pod).await?;
        let phase = if outcome == "failed" { "Failed" } else { "Running" };
        let is_so = |pod: &Value| pod["status"]["phase"] == phase;
        objects.wait("pods", name, "to come so far", is_so).await?;
        if name == "deleted" {
            objects.delete("pods", name).await?;
        }
        let mark = json!({"type": "DisruptionTarget", "status": "True", "reason": reason,
            "message": "as a test", "lastTransitionTime": "2020-01-01T00:00:00Z"});
        add_condition(&objects, name, mark).await?;
    }
    let is_reset = |pod: &Value| mark_of(pod)["status"] == "False";
    let pod = objects.wait("pods", "stale", "to be unmarked", is_reset).await?;
    let mark = mark_of(&pod);
    let text = |field: &str| mark[field].as_str().unwrap_or_default();
    ensure!((text("reason"), text("message")) == ("", ""), "{mark}");
    ensure!(mark["observedGeneration"] == 1, "{mark}");
    ensure!(text("lastTransitionTime") > "2021", "{mark}");
    ensure!(pod["status"]["phase"] == "Running", "nothing else changes: {pod}");
    for name in ["deleted", "by-kubelet", "failed"] {
        let pod = objects.get("pods", name).await?;
        ensure!(mark_of(&pod)["status"] == "True", "{name}: {pod}");
    }
    for name in ["stale", "deleted", "by-kubelet", "failed"] {
        objects.merge("pods", name, &json!({"metadata": {"finalizers": null}})).await?;
    }
    Ok(())
}

/// Nothing is written when nothing happens.
async fn converged_is_silent(cluster: &Cluster, manager: &Manager) -> anyhow::Result<()> {
    silent(cluster, manager, [CALM; 2], |it| {
        it.resource.starts_with("poddisruptionbudgets") || it.resource == "pods/status"
    })
    .await
}

// === What the scenes share ===

/// Defines a kind of the group `disruption.example.com`.
async fn define(
    all: &Objects,
    plural: &str,
    kind: &str,
    subresources: &Value,
) -> anyhow::Result<()> {
    let any = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    let version = json!({"name": "v1", "served": true, "storage": true,
        "schema": {"openAPIV3Schema": any}, "subresources": subresources});
    let names = json!({"plural": plural, "singular": kind.to_lowercase(), "kind": kind});
    let spec = json!({"group": "disruption.example.com", "scope": "Namespaced", "names": names,
        "versions": [version]});
    let name = format!("{plural}.disruption.example.com");
    let definition = json!({"metadata": {"name": name}, "spec": spec});
    all.create(DEFINITIONS, &definition).await?;
    let resource = format!("{plural}.v1.disruption.example.com");
    let served = async || Ok(Some(all.list(&resource).await?));
    wait_until(&format!("{plural} to be served"), LIMIT, served).await.map(drop)
}

/// A budget in this version; one that is no longer served is written where etcd has it.
async fn make(
    cluster: &Cluster,
    objects: &Objects,
    version: &str,
    mut budget: Value,
) -> anyhow::Result<()> {
    if version == "v1" {
        return objects.create(BUDGETS, &budget).await.map(drop);
    }
    let namespace = objects.namespace();
    budget["apiVersion"] = format!("policy/{version}").into();
    budget["kind"] = "PodDisruptionBudget".into();
    budget["metadata"]["namespace"] = namespace.into();
    budget["metadata"]["uid"] = format!("of-{namespace}").into();
    budget["metadata"]["generation"] = 1.into();
    budget["metadata"]["creationTimestamp"] = "2026-01-01T00:00:00Z".into();
    cluster.store(&format!("/registry/poddisruptionbudgets/{namespace}/it"), &budget).await
}

fn pod(name: &str, labels: &Value) -> Value {
    json!({"metadata": {"name": name, "labels": labels},
        "spec": {"containers": [{"name": "main", "image": "main"}]}})
}

fn owned(mut pod: Value, owner: &Value) -> Value {
    pod["metadata"]["ownerReferences"] = json!([{"apiVersion": owner["apiVersion"],
        "kind": owner["kind"], "name": owner["metadata"]["name"],
        "uid": owner["metadata"]["uid"], "controller": true}]);
    pod
}

/// A budget for pods with these labels.
fn budget(spec: &Value, labels: &Value) -> Value {
    let mut spec = spec.clone();
    spec["selector"] = json!({ "matchLabels": labels });
    json!({"metadata": {"name": "it"}, "spec": spec})
}

/// Waits until the budget has so many healthy pods. As upstream's `waitPDBStable`.
async fn counts(objects: &Objects, healthy: i64) -> anyhow::Result<()> {
    let is_so = |budget: &Value| {
        let status = &budget["status"];
        status["observedGeneration"] == 1 && status["currentHealthy"] == healthy
    };
    let what = format!("to count {healthy} healthy pods");
    objects.wait(BUDGETS, "it", &what, is_so).await.map(drop)
}

/// Waits until a budget says: healthy, desired, expected and allowed.
async fn has(objects: &Objects, numbers: [i64; 4]) -> anyhow::Result<()> {
    let fields = ["currentHealthy", "desiredHealthy", "expectedPods", "disruptionsAllowed"];
    let is_so = |budget: &Value| {
        let status = &budget["status"];
        status["observedGeneration"] == budget["metadata"]["generation"]
            && fields.iter().zip(numbers).all(|(field, number)| status[field] == number)
    };
    objects.wait(BUDGETS, "it", &format!("to have {numbers:?}"), is_so).await.map(drop)
}

/// Puts a condition into the status of a pod, which kwok writes, too.
async fn add_condition(objects: &Objects, pod: &str, condition: Value) -> anyhow::Result<()> {
    wait_until(&format!("{pod} to get a condition"), LIMIT, async || {
        let mut object = objects.get("pods", pod).await?;
        let conditions = object["status"]["conditions"].as_array_mut().context("conditions")?;
        conditions.push(condition.clone());
        objects.replace("pods", &format!("{pod}/status"), &object).await?;
        Ok(Some(()))
    })
    .await
}

/// The condition `DisruptionTarget`.
fn mark_of(pod: &Value) -> Value {
    let conditions = pod["status"]["conditions"].as_array();
    let found = conditions.into_iter().flatten().find(|it| it["type"] == "DisruptionTarget");
    found.cloned().unwrap_or_default()
}
