//! The life of nodes on the real API server: upstream's integration tests
//! (test/integration/node/lifecycle_test.go) and e2e tests (apps/…, node/taints.go), with kwok's
//! nodes, whose Leases stop when a test silences them.

use std::time::Duration;

use anyhow::{Context as _, ensure};
use cluster_tests::{
    Binary, Cluster, Manager, Objects, Options, User, none_forbidden, since, wait_until, writes,
};
use serde_json::{Value, json};

// kwok renews a Lease every ten seconds.
const ARGS: &[&str] = &[
    "--controllers=node-lifecycle-controller,taint-eviction-controller",
    "--node-monitor-period=1s",
    "--node-monitor-grace-period=24s",
    "--node-startup-grace-period=24s",
    "--node-eviction-rate=100",
    "--secondary-node-eviction-rate=100",
];
const LIMIT: Duration = Duration::from_mins(2);
/// Longer than the grace period.
const OUTAGE: Duration = Duration::from_secs(35);

#[tokio::test]
async fn nodes_live_and_die() -> anyhow::Result<()> {
    let cluster = Cluster::start(Options { nodes: 4, ..Options::default() }).await?;
    let mut manager =
        Manager::start(&cluster, Binary::under_test()?, User::ControllerManager, ARGS)?;
    manager.healthy().await?;
    let requests = cluster.request_counts().await?;
    let run = async {
        conditions_become_taints(&cluster).await?;
        labels_follow(&cluster).await?;
        a_node_dies_and_comes_back(&cluster).await?;
        without_any_node_nobody_is_evicted(&cluster).await?;
        let made = since(&requests, &cluster.request_counts().await?);
        none_forbidden(&made)?;
        living_nodes_are_left_alone(&cluster).await
    };
    run.await.with_context(|| manager.log())
}

/// Issue: the manager is stopped, or the API server is away, for longer than the grace period, and
/// no node is declared unknown: all kubelets report as soon as they can. Upstream promises less.
#[tokio::test]
async fn outages_kill_no_node() -> anyhow::Result<()> {
    let cluster = Cluster::start(Options { nodes: 4, ..Options::default() }).await?;
    let mut manager = Manager::start(&cluster, Binary::Ours, User::ControllerManager, ARGS)?;
    manager.healthy().await?;
    let run = async {
        renewals(&cluster, 1).await?;
        manager.sigstop()?;
        renewals(&cluster, 4).await?;
        manager.sigcont()?;
        all_live(&cluster).await?;
        cluster.stop_apiserver().await?;
        let since = now();
        let is_long = async || Ok((since.elapsed() > OUTAGE).then_some(()));
        wait_until("the outage to last", LIMIT, is_long).await?;
        cluster.start_apiserver().await?;
        all_live(&cluster).await
    };
    run.await.with_context(|| manager.log())
}

/// For longer than the grace period nobody says that a node does not live.
async fn all_live(cluster: &Cluster) -> anyhow::Result<()> {
    let all = Objects::of(cluster, "")?;
    for _ in 0..4 {
        renewals(cluster, 1).await?;
        for node in all.list("nodes").await? {
            ensure!(ready(&node) == "True", "{node}");
        }
    }
    let events = Objects::of(cluster, "default")?.list("events").await?;
    let lost = events.iter().find(|it| it["reason"] == "NodeNotReady");
    ensure!(lost.is_none(), "{lost:?}");
    Ok(())
}

#[expect(clippy::disallowed_methods, reason = "real processes keep real time")]
fn now() -> std::time::Instant {
    std::time::Instant::now()
}

/// TestTaintsNodeByCondition (test/integration/scheduler/taint): as long as a condition holds.
async fn conditions_become_taints(cluster: &Cluster) -> anyhow::Result<()> {
    let (all, node) = (Objects::of(cluster, "")?, "node-0");
    let set = async |kind: &str, status: &str| {
        wait_until("the status to be written", LIMIT, async || {
            let mut object = all.get("nodes", node).await?;
            let conditions = object["status"]["conditions"].as_array_mut().context("conditions")?;
            conditions.retain(|it| it["type"] != kind);
            conditions.push(json!({"type": kind, "status": status,
                "lastHeartbeatTime": "2026-01-01T00:00:00Z"}));
            all.replace("nodes", &format!("{node}/status"), &object).await?;
            Ok(Some(()))
        })
        .await
    };
    for (kind, key) in [
        ("MemoryPressure", "memory-pressure"),
        ("DiskPressure", "disk-pressure"),
        ("PIDPressure", "pid-pressure"),
        ("NetworkUnavailable", "network-unavailable"),
    ] {
        set(kind, "True").await?;
        tainted(&all, node, &[(key, "NoSchedule")]).await?;
        set(kind, "False").await?;
        tainted(&all, node, &[]).await?;
    }
    all.merge("nodes", node, &json!({"spec": {"unschedulable": true}})).await?;
    tainted(&all, node, &[("unschedulable", "NoSchedule")]).await?;
    all.merge("nodes", node, &json!({"spec": {"unschedulable": null}})).await?;
    tainted(&all, node, &[]).await
}

/// TestReconcileNodeLabels.
async fn labels_follow(cluster: &Cluster) -> anyhow::Result<()> {
    let all = Objects::of(cluster, "")?;
    let labels = json!({"kubernetes.io/os": "linux", "beta.kubernetes.io/os": "windows"});
    all.merge("nodes", "node-1", &json!({"metadata": {"labels": labels}})).await?;
    let is_so = |node: &Value| node["metadata"]["labels"]["beta.kubernetes.io/os"] == "linux";
    all.wait("nodes", "node-1", "to have the old label", is_so).await.map(drop)
}

/// TestTaintBasedEvictions for a node that is unreachable; what happens to its pods meanwhile, and
/// when it is heard of again.
async fn a_node_dies_and_comes_back(cluster: &Cluster) -> anyhow::Result<()> {
    let objects = Objects::in_new(cluster, "taint-based-evictions").await?;
    let (all, node) = (Objects::of(cluster, "")?, "node-2");
    let seconds = |seconds: i64| {
        json!([{"key": "node.kubernetes.io/unreachable", "operator": "Exists",
            "effect": "NoExecute", "tolerationSeconds": seconds}])
    };
    for (name, tolerations) in [("for-0s", seconds(0)), ("for-200s", seconds(200))] {
        let pod = json!({"metadata": {"name": name}, "spec": {"nodeName": node,
            "tolerations": tolerations, "containers": [{"name": "container", "image": "pause"}]}});
        objects.create("pods", &pod).await?;
        objects.wait("pods", name, "to be ready", |pod| ready(pod) == "True").await?;
    }
    cluster.silence_node(node).await?;
    let unknown = all.wait("nodes", node, "to be unknown", |node| ready(node) == "Unknown").await?;
    let condition = condition(&unknown, "Ready");
    ensure!(
        condition["reason"] == "NodeStatusUnknown"
            && condition["message"] == "Kubelet stopped posting node status.",
        "{condition}"
    );
    tainted(&all, node, &[("unreachable", "NoSchedule"), ("unreachable", "NoExecute")]).await?;
    let is_evicted = |pod: &Value| pod["metadata"]["deletionTimestamp"].is_string();
    objects.wait("pods", "for-0s", "to be evicted", is_evicted).await?;
    let pod = objects.wait("pods", "for-200s", "not to be ready", |pod| ready(pod) == "False");
    ensure!(!is_evicted(&pod.await?), "it tolerates the taint");
    event(&objects, "Warning", "NodeNotReady", "Node is not ready").await?;
    let default = Objects::of(cluster, "default")?;
    let message = format!("Node {node} status is now: NodeNotReady");
    event(&default, "Normal", "NodeNotReady", &message).await?;
    let message = format!("Node {node} event: Registered Node {node} in Controller");
    event(&default, "Normal", "RegisteredNode", &message).await?;
    for other in ["node-0", "node-1", "node-3"] {
        ensure!(ready(&all.get("nodes", other).await?) == "True", "{other} lives");
    }
    cluster.revive_node(node).await?;
    all.wait("nodes", node, "to be ready", |node| ready(node) == "True").await?;
    tainted(&all, node, &[]).await?;
    objects.delete("pods", "for-200s").await
}

/// All nodes are silent: none gets a taint that evicts, and those that have one lose it.
async fn without_any_node_nobody_is_evicted(cluster: &Cluster) -> anyhow::Result<()> {
    let all = Objects::of(cluster, "")?;
    let nodes = ["node-0", "node-1", "node-2", "node-3"];
    for node in nodes {
        cluster.silence_node(node).await?;
    }
    for node in nodes {
        all.wait("nodes", node, "to be unknown", |node| ready(node) == "Unknown").await?;
    }
    for node in nodes {
        tainted(&all, node, &[("unreachable", "NoSchedule")]).await?;
    }
    for node in nodes {
        cluster.revive_node(node).await?;
    }
    for node in nodes {
        all.wait("nodes", node, "to be ready", |node| ready(node) == "True").await?;
        tainted(&all, node, &[]).await?;
    }
    Ok(())
}

/// Nothing is written while all kubelets report. The zones are looked at all the time, so the
/// queue is never quiet.
async fn living_nodes_are_left_alone(cluster: &Cluster) -> anyhow::Result<()> {
    renewals(cluster, 1).await?;
    let requests = cluster.request_counts().await?;
    renewals(cluster, 1).await?;
    let made = since(&requests, &cluster.request_counts().await?);
    ensure!(writes(&made, |it| !it.is_fake_clusters_own()) == 0, "{made:?}");
    Ok(())
}

// === What the scenes share ===

/// Waits until a node has renewed its Lease so often.
async fn renewals(cluster: &Cluster, times: u32) -> anyhow::Result<()> {
    let leases = Objects::of(cluster, "kube-node-lease")?;
    let renewed = async || {
        let lease = leases.get("leases.v1.coordination.k8s.io", "node-0").await?;
        anyhow::Ok(lease["spec"]["renewTime"].clone())
    };
    for _ in 0..times {
        let last = renewed().await?;
        let is_next = async || Ok((renewed().await? != last).then_some(()));
        wait_until("node-0 to renew its Lease", LIMIT, is_next).await?;
    }
    Ok(())
}

fn condition(object: &Value, kind: &str) -> Value {
    let conditions = object["status"]["conditions"].as_array();
    let found = conditions.into_iter().flatten().find(|it| it["type"] == kind);
    found.cloned().unwrap_or_default()
}

fn ready(object: &Value) -> String {
    condition(object, "Ready")["status"].as_str().unwrap_or_default().to_owned()
}

/// Waits until a node has exactly these of the taints of conditions, in any order.
async fn tainted(all: &Objects, node: &str, wanted: &[(&str, &str)]) -> anyhow::Result<()> {
    let mut wanted: Vec<_> =
        wanted.iter().map(|(key, effect)| format!("node.kubernetes.io/{key}:{effect}")).collect();
    wanted.sort();
    let is_so = |node: &Value| {
        let taints = node["spec"]["taints"].as_array();
        let text = |it: &Value, field: &str| it[field].as_str().unwrap_or_default().to_owned();
        let taints = taints.into_iter().flatten();
        let mut taints: Vec<_> =
            taints.map(|it| format!("{}:{}", text(it, "key"), text(it, "effect"))).collect();
        taints.sort();
        taints == wanted
    };
    all.wait("nodes", node, &format!("to have the taints {wanted:?}"), is_so).await.map(drop)
}

async fn event(objects: &Objects, kind: &str, reason: &str, message: &str) -> anyhow::Result<()> {
    wait_until(&format!("the event {message:?}"), LIMIT, async || {
        let events = objects.list("events").await?;
        let is_it = |event: &Value| {
            event["type"] == kind
                && event["reason"] == reason
                && event["message"] == message
                && event["source"]["component"] == "node-controller"
        };
        Ok(events.iter().any(is_it).then_some(()))
    })
    .await
}
