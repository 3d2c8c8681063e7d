//! Evictions under budgets: upstream's test/integration/evictions, and `kubectl drain`.

use anyhow::{Context as _, bail, ensure};
use cluster_tests::{Cluster, Objects, kubectl, status_code, wait_until};
use futures::{StreamExt as _, TryStreamExt as _, stream};
use serde_json::{Value, json};

use super::{BUDGETS, LIMIT, budget, counts, has, mark_of, pod};

/// TestConcurrentEvictionRequests: the API server may refuse one for now, and no more.
pub(super) async fn many_at_once(cluster: &Cluster) -> anyhow::Result<()> {
    let objects = &Objects::in_new(cluster, "many-evictions").await?;
    for number in 0..10 {
        objects.create("pods", &pod(&name(number), &json!({"app": "evicted"}))).await?;
    }
    objects.create(BUDGETS, &guard(&json!({"minAvailable": 0}))).await?;
    counts(objects, 10).await?;
    let once = &Objects::asking_once(cluster, objects.namespace())?;
    let evictions = stream::iter(0..10).map(|number| async move {
        let name = name(number);
        wait_until(&format!("{name} to be evicted"), LIMIT, async || {
            match evict(once, &name, &json!({})).await {
                Err(error) if status_code(&error) == Some(429) => Ok(None),
                // Final.
                result => Ok(Some(result.map(drop))),
            }
        })
        .await??;
        objects.gone("pods", &name).await
    });
    evictions.buffer_unordered(10).try_collect::<()>().await?;
    has(objects, [0, 0, 0, 0]).await
}

/// TestTerminalPodEviction: no budget counts such a pod.
pub(super) async fn pods_that_have_ended(cluster: &Cluster) -> anyhow::Result<()> {
    let objects = Objects::in_new(cluster, "ended-evictions").await?;
    let mut ended = pod("ended", &json!({"app": "evicted"}));
    ended["metadata"]["annotations"] = json!({"cluster-tests/outcome": "failed"});
    objects.create("pods", &ended).await?;
    let is_so = |pod: &Value| pod["status"]["phase"] == "Failed";
    objects.wait("pods", "ended", "to fail", is_so).await?;
    objects.create(BUDGETS, &guard(&json!({"minAvailable": 1}))).await?;
    has(&objects, [0, 1, 1, 0]).await?;
    let once = Objects::asking_once(cluster, objects.namespace())?;
    evict(&once, "ended", &json!({})).await?;
    objects.gone("pods", "ended").await?;
    let budget = objects.get(BUDGETS, "it").await?;
    ensure!(budget["status"]["disruptedPods"].is_null(), "{budget}");
    Ok(())
}

/// TestEvictionVersions.
pub(super) async fn versions(cluster: &Cluster) -> anyhow::Result<()> {
    let objects = Objects::in_new(cluster, "evictions-versions").await?;
    objects.create("pods", &pod("pod", &json!({}))).await?;
    let path = "pods/pod/eviction";
    let read = objects.get(path, "").await.err().and_then(|error| status_code(&error));
    ensure!(read == Some(405), "{read:?}");
    let patched = objects.merge(path, "", &json!({})).await;
    let patched = patched.err().and_then(|error| status_code(&error));
    ensure!(patched == Some(405), "{patched:?}");
    for version in ["", "policy/v1beta1", "policy/v1"] {
        let mut eviction =
            json!({"metadata": {"name": "pod"}, "deleteOptions": {"dryRun": ["All"]}});
        if !version.is_empty() {
            eviction["apiVersion"] = version.into();
            eviction["kind"] = "Eviction".into();
        }
        let status = objects.create(path, &eviction).await?;
        let is_status =
            (&status["apiVersion"], &status["kind"]) == (&json!("v1"), &json!("Status"));
        ensure!(is_status, "{version}: {status}");
    }
    let unknown =
        json!({"apiVersion": "policy/v2", "kind": "Eviction", "metadata": {"name": "pod"}});
    let error = objects.create(path, &unknown).await.err().context("an unknown version")?;
    ensure!(format!("{error:#}").contains("policy/v2"), "{error:#}");
    Ok(())
}

/// TestEvictionWithFinalizers: what is evicted is marked.
pub(super) async fn with_finalizers(cluster: &Cluster) -> anyhow::Result<()> {
    let objects = Objects::in_new(cluster, "evictions-finalizers").await?;
    for (name, outcome, phase, options, is_marked) in [
        ("ended", "failed", "Failed", json!({}), true),
        ("runs", "none", "Running", json!({}), true),
        ("dry-run", "none", "Running", json!({"dryRun": ["All"]}), false),
    ] {
        let mut held = pod(name, &json!({"app": "evicted"}));
        held["metadata"]["annotations"] = json!({"cluster-tests/outcome": outcome});
        held["metadata"]["finalizers"] = json!(["example.com/hold"]);
        objects.create("pods", &held).await?;
        let is_so = |pod: &Value| pod["status"]["phase"] == phase;
        objects.wait("pods", name, "to come so far", is_so).await?;
        evict(&objects, name, &options).await?;
        let pod = objects.get("pods", name).await?;
        ensure!((mark_of(&pod)["status"] == "True") == is_marked, "{pod}");
        objects.merge("pods", name, &json!({"metadata": {"finalizers": null}})).await?;
    }
    Ok(())
}

/// TestEvictionWithUnhealthyPodEvictionPolicy, and the policy that refuses.
pub(super) async fn of_pods_that_are_not_ready(cluster: &Cluster) -> anyhow::Result<()> {
    for (namespace, policy, outcome, min, is_evicted) in [
        ("policy-none", Value::Null, "none", 0, true),
        ("policy-budget", json!("IfHealthyBudget"), "none", 0, true),
        ("policy-always", json!("AlwaysAllow"), "none", 0, true),
        ("policy-always-ill", json!("AlwaysAllow"), "unready", 1, true),
        ("policy-budget-ill", json!("IfHealthyBudget"), "unready", 1, false),
    ] {
        let objects = Objects::in_new(cluster, namespace).await?;
        let mut one = pod("pod", &json!({"app": "evicted"}));
        one["metadata"]["annotations"] = json!({"cluster-tests/outcome": outcome});
        objects.create("pods", &one).await?;
        let spec = json!({"minAvailable": min, "unhealthyPodEvictionPolicy": policy});
        objects.create(BUDGETS, &guard(&spec)).await?;
        let is_running = |pod: &Value| pod["status"]["phase"] == "Running";
        objects.wait("pods", "pod", "to run", is_running).await?;
        let healthy = i64::from(outcome == "none");
        has(&objects, [healthy, min, 1, (healthy - min).max(0)]).await?;
        let once = Objects::asking_once(cluster, namespace)?;
        let code = evict(&once, "pod", &json!({})).await.err().map(|it| status_code(&it));
        if is_evicted {
            ensure!(code.is_none(), "{namespace}: {code:?}");
            objects.gone("pods", "pod").await?;
            has(&objects, [0, min, 0, 0]).await?;
        } else {
            ensure!(code == Some(Some(429)), "{namespace}: {code:?}");
        }
    }
    Ok(())
}

/// TestEvictionWithPrecondition.
pub(super) async fn with_preconditions(cluster: &Cluster) -> anyhow::Result<()> {
    let objects = Objects::in_new(cluster, "evictions-preconditions").await?;
    let once = Objects::asking_once(cluster, objects.namespace())?;
    for (name, version, uid, is_evicted) in [
        ("right-version", Some(true), None, true),
        ("right-uid", None, Some(true), true),
        ("right-both", Some(true), Some(true), true),
        ("wrong-version", Some(false), None, false),
        ("wrong-uid", None, Some(false), false),
    ] {
        let made = objects.create("pods", &pod(name, &json!({"app": "evicted"}))).await?;
        let is_ready = |pod: &Value| {
            let conditions = pod["status"]["conditions"].as_array().into_iter().flatten();
            let mut ready = conditions.filter(|it| it["type"] == "Ready");
            ready.any(|it| it["status"] == "True")
        };
        let now = objects.wait("pods", name, "to be ready", is_ready).await?;
        let mut preconditions = json!({});
        if let Some(right) = version {
            let of = if right { &now } else { &made };
            preconditions["resourceVersion"] = of["metadata"]["resourceVersion"].clone();
        }
        if let Some(right) = uid {
            let wrong = json!("00000000-0000-0000-0000-000000000000");
            preconditions["uid"] = if right { now["metadata"]["uid"].clone() } else { wrong };
        }
        let options = json!({ "preconditions": preconditions });
        let code = evict(&once, name, &options).await.err().map(|it| status_code(&it));
        let expected = (!is_evicted).then_some(Some(409));
        ensure!(code == expected, "{name}: {code:?}");
    }
    Ok(())
}

/// `kubectl drain` moves the pods of a Deployment one by one, as its budget says; and waits where
/// no disruption is allowed.
pub(super) async fn a_node_is_drained(cluster: &Cluster) -> anyhow::Result<()> {
    let objects = Objects::in_new(cluster, "drain").await?;
    let labels = json!({"app": "drained"});
    // On one node, until that is cordoned.
    let near = json!({"podAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [{
        "weight": 100, "podAffinityTerm": {"topologyKey": "kubernetes.io/hostname",
            "labelSelector": {"matchLabels": labels}}}]}});
    let template = json!({"metadata": {"labels": labels}, "spec": {"affinity": near,
        "containers": [{"name": "main", "image": "main"}]}});
    let spec = json!({"replicas": 6, "selector": {"matchLabels": labels}, "template": template});
    let web = json!({"metadata": {"name": "web"}, "spec": spec});
    objects.create("deployments", &web).await?;
    objects.create(BUDGETS, &budget(&json!({"maxUnavailable": 0}), &labels)).await?;
    has(&objects, [6, 6, 6, 0]).await?;
    let mut nodes = objects.list("pods").await?;
    nodes.sort_by_key(|pod| pod["spec"]["nodeName"].to_string());
    let node = nodes[0]["spec"]["nodeName"].as_str().context("a node")?.to_owned();
    let drain = async |limit: &str| {
        let args = ["drain", &node, "--pod-selector=app=drained", "--force", limit];
        kubectl(cluster, &args).await
    };
    let Err(error) = drain("--timeout=2s").await else { bail!("no disruption was allowed") };
    let refusal = "Cannot evict pod as it would violate the pod's disruption budget";
    ensure!(format!("{error:#}").contains(refusal), "{error:#}");
    objects.merge(BUDGETS, "it", &json!({"spec": {"maxUnavailable": 1}})).await?;
    has(&objects, [6, 5, 6, 1]).await?;
    let (_, fewest) = tokio::try_join!(drain("--timeout=120s"), fewest_ready(&objects, &node))?;
    ensure!(fewest >= 5, "only {fewest} pods were ready");
    has(&objects, [6, 5, 6, 1]).await?;
    Ok(())
}

/// Watches until no pod is left on a node: how few were ready at a time.
async fn fewest_ready(objects: &Objects, node: &str) -> anyhow::Result<usize> {
    let mut fewest = usize::MAX;
    let is_ready = |pod: &&Value| {
        let conditions = pod["status"]["conditions"].as_array().into_iter().flatten();
        let mut ready = conditions.filter(|it| it["type"] == "Ready");
        pod["metadata"]["deletionTimestamp"].is_null() && ready.any(|it| it["status"] == "True")
    };
    wait_until("the node to be empty", LIMIT * 2, async || {
        let pods = objects.list("pods").await?;
        fewest = fewest.min(pods.iter().filter(is_ready).count());
        Ok((!pods.iter().any(|pod| pod["spec"]["nodeName"] == node)).then_some(()))
    })
    .await?;
    Ok(fewest)
}

fn name(number: usize) -> String {
    format!("pod-{number}")
}

fn guard(spec: &Value) -> Value {
    budget(spec, &json!({"app": "evicted"}))
}

async fn evict(objects: &Objects, name: &str, options: &Value) -> anyhow::Result<Value> {
    let eviction = json!({"apiVersion": "policy/v1", "kind": "Eviction",
        "metadata": {"name": name}, "deleteOptions": options});
    objects.create(&format!("pods/{name}/eviction"), &eviction).await
}
