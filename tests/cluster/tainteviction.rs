//! Evictions by taints on the real API server: upstream's integration tests
//! (test/integration/node/lifecycle_test.go) and e2e tests (node/taints.go). kwok plays the
//! kubelets, the test taints the nodes.

use std::time::Duration;

use anyhow::{Context as _, ensure};
use cluster_tests::{
    Binary, Cluster, Manager, Objects, Options, User, none_forbidden, silent, since, wait_until,
    writes,
};
use serde_json::{Value, json};

// Upstream's finds the pods of a node only if the controller of DaemonSets runs, too, or that of
// the life of nodes.
const ARGS: &[&str] = &["--controllers=taint-eviction-controller,daemonset-controller"];
const LIMIT: Duration = Duration::from_mins(1);
const CALM: Duration = Duration::from_secs(3);
const DELETIONS: &str = "taint_eviction_controller_pod_deletions_total";
const MANY: usize = 60;

#[tokio::test]
async fn pods_leave_tainted_nodes() -> anyhow::Result<()> {
    let cluster = Cluster::start(Options { nodes: 3, ..Options::default() }).await?;
    let mut manager =
        Manager::start(&cluster, Binary::under_test()?, User::ControllerManager, ARGS)?;
    manager.healthy().await?;
    let requests = cluster.request_counts().await?;
    let run = async {
        a_user_taints_a_node(&cluster).await?;
        pods_tolerate_a_taint_for_a_time(&cluster).await?;
        without_the_taint_they_stay(&cluster).await?;
        all_pods_of_a_node_go_once(&cluster, &manager).await?;
        let made = since(&requests, &cluster.request_counts().await?);
        none_forbidden(&made)?;
        silent(&cluster, &manager, [CALM; 2], |it| !it.is_fake_clusters_own()).await
    };
    run.await.with_context(|| manager.log())?;
    timers_begin_anew_with_the_next_manager(&cluster, manager).await
}

/// TestEvictionForNoExecuteTaintAddedByUser, and "doesn't evict pod with tolerations from tainted
/// nodes".
async fn a_user_taints_a_node(cluster: &Cluster) -> anyhow::Result<()> {
    let objects = Objects::in_new(cluster, "taint-no-execute").await?;
    let node = node(cluster, 0).await?;
    let forever = json!([{"key": "CustomTaintByUser", "operator": "Exists"}]);
    for (name, tolerations) in [("testpod", json!([])), ("stays", forever)] {
        let mut pod = pod(name, &node, &tolerations);
        pod["metadata"]["finalizers"] = json!(["example.com/hold"]);
        runs(&objects, pod).await?;
    }
    taint(cluster, &node, json!([{"key": "CustomTaintByUser", "effect": "NoExecute"}])).await?;
    let pod = objects.wait("pods", "testpod", "to be evicted", is_evicted).await?;
    let conditions = pod["status"]["conditions"].as_array().context("conditions")?;
    let mark = conditions.iter().find(|it| it["type"] == "DisruptionTarget").context("no mark")?;
    ensure!(
        mark["status"] == "True"
            && mark["reason"] == "DeletionByTaintManager"
            && mark["message"] == "Taint manager: deleting due to NoExecute taint"
            && mark["observedGeneration"] == 1,
        "{mark}"
    );
    has_event(&objects, "Marking for deletion Pod taint-no-execute/testpod").await?;
    ensure!(!is_evicted(&objects.get("pods", "stays").await?), "it tolerates the taint");
    free(&objects, &["testpod", "stays"]).await?;
    taint(cluster, &node, Value::Null).await
}

/// TestTaintBasedEvictions: what admission adds, and no seconds at all; "eventually evict pod with
/// finite tolerations from tainted nodes" and "evicts pods with minTolerationSeconds".
async fn pods_tolerate_a_taint_for_a_time(cluster: &Cluster) -> anyhow::Result<()> {
    let objects = Objects::in_new(cluster, "taint-based-evictions").await?;
    let node = node(cluster, 1).await?;
    let not_ready = |seconds: i64| {
        json!([{"key": "node.kubernetes.io/not-ready", "operator": "Exists",
            "effect": "NoExecute", "tolerationSeconds": seconds}])
    };
    let shortest = json!([
        {"key": "node.kubernetes.io/not-ready", "operator": "Exists", "effect": "NoExecute"},
        {"key": "example.com/other", "operator": "Exists", "tolerationSeconds": 4,
            "effect": "NoExecute"},
    ]);
    for (name, tolerations) in [
        ("for-200s", not_ready(200)),
        ("by-default", json!([])),
        ("for-0s", not_ready(0)),
        ("for-4s", not_ready(4)),
        ("shortest", shortest),
    ] {
        runs(&objects, pod(name, &node, &tolerations)).await?;
    }
    let added = &objects.get("pods", "by-default").await?["spec"]["tolerations"];
    ensure!(added.to_string().matches("\"tolerationSeconds\":300").count() == 2, "{added}");
    let taints = ["node.kubernetes.io/not-ready", "example.com/other"]
        .map(|key| json!({"key": key, "effect": "NoExecute"}));
    taint(cluster, &node, json!([taints[0]])).await?;
    for name in ["for-0s", "for-4s"] {
        objects.gone("pods", name).await?;
    }
    for name in ["for-200s", "by-default", "shortest"] {
        ensure!(!is_evicted(&objects.get("pods", name).await?), "{name} tolerates it for longer");
    }
    taint(cluster, &node, json!(taints)).await?;
    // Those that do not tolerate the other taint leave at once, whatever timer runs.
    for name in ["for-200s", "by-default", "shortest"] {
        objects.gone("pods", name).await?;
    }
    has_event(&objects, "Cancelling deletion of Pod taint-based-evictions/for-200s").await?;
    taint(cluster, &node, Value::Null).await
}

/// "removing taint cancels eviction".
async fn without_the_taint_they_stay(cluster: &Cluster) -> anyhow::Result<()> {
    let objects = Objects::in_new(cluster, "cancels").await?;
    let node = node(cluster, 0).await?;
    let tolerations = json!([{"key": "a", "operator": "Exists", "tolerationSeconds": 6,
        "effect": "NoExecute"}]);
    runs(&objects, pod("first", &node, &tolerations)).await?;
    taint(cluster, &node, json!([{"key": "a", "effect": "NoExecute"}])).await?;
    // Evicted at once, so the first one's timer runs by now.
    objects.create("pods", &pod("witness", &node, &json!([]))).await?;
    objects.gone("pods", "witness").await?;
    taint(cluster, &node, Value::Null).await?;
    has_event(&objects, "Cancelling deletion of Pod cancels/first").await?;
    // A timer of as many seconds that begins now runs out later than the first one would have.
    let other = self::node(cluster, 2).await?;
    runs(&objects, pod("second", &other, &tolerations)).await?;
    taint(cluster, &other, json!([{"key": "a", "effect": "NoExecute"}])).await?;
    objects.gone("pods", "second").await?;
    ensure!(!is_evicted(&objects.get("pods", "first").await?), "its timer was cancelled");
    taint(cluster, &other, Value::Null).await
}

/// TestUpdateNodeWithMultiplePods, of many: each is marked once and deleted once.
async fn all_pods_of_a_node_go_once(cluster: &Cluster, manager: &Manager) -> anyhow::Result<()> {
    let objects = Objects::in_new(cluster, "many").await?;
    let node = node(cluster, 1).await?;
    let names: Vec<_> = (0..MANY).map(|number| format!("pod-{number}")).collect();
    objects.create_all("pods", names.iter().map(|name| pod(name, &node, &json!([])))).await?;
    for name in &names {
        objects.wait("pods", name, "to run", is_running).await?;
    }
    let deleted = deletions(manager).await?;
    let requests = cluster.request_counts().await?;
    taint(cluster, &node, json!([{"key": "a", "effect": "NoExecute"}])).await?;
    for name in &names {
        objects.gone("pods", name).await?;
    }
    let made = since(&requests, &cluster.request_counts().await?);
    let marks = writes(&made, |it| it.resource == "pods/status" && it.verb == "PATCH");
    // kwok patches the status of pods, too.
    ensure!(marks >= u64::try_from(MANY)?, "{made:?}");
    let counted = deletions(manager).await? - deleted;
    ensure!(counted == MANY, "{counted} deletions are counted");
    taint(cluster, &node, Value::Null).await
}

/// A restart in the middle: as upstream, the seconds count from then on.
async fn timers_begin_anew_with_the_next_manager(
    cluster: &Cluster,
    mut manager: Manager,
) -> anyhow::Result<()> {
    let objects = Objects::in_new(cluster, "restart").await?;
    let node = node(cluster, 2).await?;
    let tolerations = json!([{"key": "a", "operator": "Exists", "tolerationSeconds": 5,
        "effect": "NoExecute"}]);
    runs(&objects, pod("waits", &node, &tolerations)).await?;
    taint(cluster, &node, json!([{"key": "a", "effect": "NoExecute"}])).await?;
    manager.sigterm()?;
    manager.ended(LIMIT).await?;
    let mut next = Manager::start(cluster, Binary::under_test()?, User::ControllerManager, ARGS)?;
    next.healthy().await?;
    objects.gone("pods", "waits").await.with_context(|| next.log())?;
    taint(cluster, &node, Value::Null).await
}

// === What the scenes share ===

async fn node(cluster: &Cluster, number: usize) -> anyhow::Result<String> {
    let nodes = Objects::of(cluster, "")?.list("nodes").await?;
    let name = nodes.get(number).and_then(|node| node["metadata"]["name"].as_str());
    name.map(str::to_owned).context("a node")
}

async fn taint(cluster: &Cluster, node: &str, taints: Value) -> anyhow::Result<()> {
    Objects::of(cluster, "")?.merge("nodes", node, &json!({"spec": {"taints": taints}})).await
}

fn pod(name: &str, node: &str, tolerations: &Value) -> Value {
    json!({
        "metadata": {"name": name},
        "spec": {"nodeName": node, "tolerations": tolerations, "terminationGracePeriodSeconds": 1,
            "containers": [{"name": "container", "image": "pause"}]},
    })
}

async fn runs(objects: &Objects, pod: Value) -> anyhow::Result<()> {
    let name = pod["metadata"]["name"].as_str().unwrap_or_default().to_owned();
    objects.create("pods", &pod).await?;
    objects.wait("pods", &name, "to run", is_running).await.map(drop)
}

fn is_running(pod: &Value) -> bool {
    pod["status"]["phase"] == "Running"
}

/// As `PodIsGettingEvicted`.
fn is_evicted(pod: &Value) -> bool {
    pod["metadata"]["deletionTimestamp"].is_string()
}

async fn free(objects: &Objects, names: &[&str]) -> anyhow::Result<()> {
    for name in names {
        objects.merge("pods", name, &json!({"metadata": {"finalizers": null}})).await?;
    }
    Ok(())
}

async fn has_event(objects: &Objects, message: &str) -> anyhow::Result<()> {
    wait_until(&format!("the event {message:?}"), LIMIT, async || {
        let events = objects.list("events").await?;
        let is_it = |event: &Value| {
            event["message"] == message
                && event["reason"] == "TaintManagerEviction"
                && event["type"] == "Normal"
                && event["source"]["component"] == "taint-eviction-controller"
                && event["involvedObject"]["uid"].is_null()
        };
        Ok(events.iter().any(is_it).then_some(()))
    })
    .await
}

/// How many pods the manager says it has deleted.
async fn deletions(manager: &Manager) -> anyhow::Result<usize> {
    let page = manager.get("/metrics").await?;
    let mut values =
        page.lines().filter_map(|line| line.strip_prefix(DELETIONS)?.strip_prefix(' '));
    Ok(values.next().context("no deletions are counted")?.parse()?)
}
