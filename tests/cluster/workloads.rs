//! DaemonSets and Deployments on the real cluster, as their users see them: many nodes, rollouts
//! that keep their word at every moment, pods that fail, and kubectl.

use anyhow::{Context, ensure};
use cluster_tests::{
    Binary, Cluster, Manager, Objects, Options, User, kubectl, now, rolled_out, wait_until,
};
use futures::{StreamExt, TryStreamExt};
use k8s_openapi::api::core::v1::Pod;
use kube::Api;
use kube::api::{ListParams, WatchEvent, WatchParams};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::pin::pin;
use std::time::Duration;
use tokio::time::Instant;

/// For what each of many nodes takes part in.
const MANY_LIMIT: Duration = Duration::from_mins(3);
/// When the API server ends a watch, in seconds.
const WATCH_LIMIT_S: u32 = 180;
/// How many nodes; the 500 take some minutes on two cores.
const NODES: &str = "WORKLOAD_NODES";
const NODES_BY_DEFAULT: usize = 60;
const ARGS: &[&str] = &[
    "--controllers=daemonset-controller,deployment-controller,replicaset-controller,\
     pod-garbage-collector-controller",
    "--kube-api-qps=500",
    "--kube-api-burst=500",
];

/// Issue: a DaemonSet reaches all nodes, follows them, and rolls out with 20 % away at most.
#[tokio::test]
async fn a_daemon_set_follows_many_nodes() -> anyhow::Result<()> {
    let nodes = std::env::var(NODES).map_or(Ok(NODES_BY_DEFAULT), |text| text.parse())?;
    let cluster = Cluster::start(Options { nodes, ..Options::default() }).await?;
    let manager = start(&cluster)?;
    let objects = Objects::of(&cluster, "default")?;
    let strategy = json!({"rollingUpdate": {"maxUnavailable": "20%"}});
    let started = now();
    objects.create("daemonsets", &daemon_set("agent", json!({"updateStrategy": strategy}))).await?;
    reaches(&objects, nodes).await.with_context(|| manager.log())?;
    println!("{nodes} nodes were reached in {:?}", now() - started);

    let started = now();
    let change = json!({"spec": {"template": {"metadata": {"labels": {"version": "two"}}}}});
    let fewest = fewest_available(&cluster, nodes, &change).await?;
    reaches(&objects, nodes).await?;
    println!("rolled out in {:?}, {fewest} available at every moment", now() - started);
    // Upstream rounds what may be away up.
    ensure!(fewest >= nodes - nodes.div_ceil(5), "{fewest} of {nodes} were available");

    let all = Objects::of(&cluster, "")?;
    let new = cluster.add_nodes(5).await?;
    reaches(&objects, nodes + 5).await?;
    all.delete("nodes", &new[0]).await?;
    reaches(&objects, nodes + 4).await?;
    for (node, effect) in [("node-0", "NoExecute"), (&new[1], "NoSchedule")] {
        let taints = json!([{"key": "example.com/taint", "effect": effect}]);
        all.merge("nodes", node, &json!({"spec": {"taints": taints}})).await?;
        if effect == "NoSchedule" {
            // As upstream, such a taint alone is not looked at before the DaemonSet is.
            let touched = json!({"metadata": {"annotations": {"touched": "true"}}});
            objects.merge("daemonsets", "agent", &touched).await?;
        }
        counted(&objects, "desiredNumberScheduled", nodes + 3).await?;
        // One runs where it should not, but is only evicted if the taint says so.
        let misplaced = usize::from(effect == "NoSchedule");
        counted(&objects, "numberMisscheduled", misplaced).await?;
        all.merge("nodes", node, &json!({"spec": {"taints": null}})).await?;
        reaches(&objects, nodes + 4).await?;
    }
    all.merge("nodes", "node-1", &json!({"spec": {"unschedulable": true}})).await?;
    counted(&objects, "numberMisscheduled", 0).await?;
    reaches(&objects, nodes + 4).await
}

/// Upstream's unit test TestDaemonKillFailedPodsBackoff, with pods that do fail: the delay before
/// the next one is killed starts at a second and doubles.
#[tokio::test]
async fn failing_daemon_pods_back_off() -> anyhow::Result<()> {
    const DELAYS_S: [u64; 4] = [1, 2, 4, 8];
    let cluster = Cluster::start(Options { nodes: 1, ..Options::default() }).await?;
    let manager = start(&cluster)?;
    let pods = Api::<Pod>::namespaced(cluster.admin()?, "default");
    let version = pods.list(&ListParams::default()).await?.metadata.resource_version;
    let mut set = daemon_set("fails", json!({}));
    set["spec"]["template"]["metadata"]["annotations"] = json!({"cluster-tests/outcome": "failed"});
    Objects::of(&cluster, "default")?.create("daemonsets", &set).await?;
    let params = WatchParams::default().timeout(WATCH_LIMIT_S);
    let events = pods.watch(&params, &version.context("a version")?).await?;
    let mut killed: Vec<(String, Instant)> = Vec::new();
    let mut events = pin!(events.try_filter_map(async |event| Ok(changed(event))));
    while killed.len() <= DELAYS_S.len() {
        let pod = events.next().await.context("the watch has ended")??;
        let name = pod.metadata.name.context("a pod's name")?;
        let is_known = killed.last().is_some_and(|(last, _)| *last == name);
        if pod.metadata.deletion_timestamp.is_some() && !is_known {
            killed.push((name, now()));
        }
    }
    let gaps: Vec<_> = killed.windows(2).map(|pair| pair[1].1 - pair[0].1).collect();
    println!("failed pods were killed {gaps:?} after each other");
    for (gap, delay) in gaps.iter().zip(DELAYS_S.map(Duration::from_secs)) {
        // A pod is made and fails within moments; its kill may reach us later than the next.
        let expected =
            delay.saturating_sub(Duration::from_millis(200))..delay + Duration::from_millis(1500);
        ensure!(expected.contains(gap), "{gaps:?}: {gap:?} is not {expected:?}: {}", manager.log());
    }
    Ok(())
}

/// Issue: `kubectl rollout status|history|undo|restart|pause|resume`, `scale` and `wait`.
#[tokio::test]
async fn kubectl_rolls_out() -> anyhow::Result<()> {
    let cluster = Cluster::start(Options { nodes: 3, ..Options::default() }).await?;
    let manager = start(&cluster)?;
    deployment_by_kubectl(&cluster).await.with_context(|| manager.log())?;
    daemon_set_by_kubectl(&cluster).await.with_context(|| manager.log())
}

async fn deployment_by_kubectl(cluster: &Cluster) -> anyhow::Result<()> {
    let objects = Objects::of(cluster, "default")?;
    let run = async |line: &str| kubectl(cluster, &line.split(' ').collect::<Vec<_>>()).await;
    let says = async |line: &str, text: &str| {
        let said = run(line).await?;
        ensure!(said.contains(text), "{line}: {text:?} is not in {said:?}");
        Ok(())
    };
    let done = "deployment \"web\" successfully rolled out";
    let status = "rollout status deployment/web --timeout=60s";
    run("create deployment web --image=example.com/one --replicas=3").await?;
    says(status, done).await?;
    run("wait --for=condition=Available --timeout=60s deployment/web").await?;
    run("set image deployment/web one=example.com/two").await?;
    says(status, done).await?;
    ensure!(revisions(&run("rollout history deployment/web").await?) == [1, 2]);
    says("rollout history deployment/web --revision=1", "example.com/one").await?;
    says("rollout undo deployment/web", "rolled back").await?;
    says(status, done).await?;
    ensure!(revisions(&run("rollout history deployment/web").await?) == [2, 3]);
    run("rollout undo deployment/web --to-revision=2").await?;
    says(status, done).await?;
    let web = objects.get("deployments", "web").await?;
    ensure!(web["spec"]["template"]["spec"]["containers"][0]["image"] == "example.com/two");
    run("rollout restart deployment/web").await?;
    says(status, done).await?;

    run("rollout pause deployment/web").await?;
    run("set image deployment/web one=example.com/three").await?;
    run("scale deployment/web --replicas=5").await?;
    run("wait --for=jsonpath={.status.availableReplicas}=5 --timeout=60s deployment/web").await?;
    ensure!(objects.get("deployments", "web").await?["status"]["updatedReplicas"].is_null());
    run("rollout resume deployment/web").await?;
    says(status, done).await?;
    ensure!(objects.get("deployments", "web").await?["status"]["updatedReplicas"] == 5);

    let metadata = json!({"annotations": {"cluster-tests/outcome": "unready"}});
    let stuck = json!({"progressDeadlineSeconds": 2, "template": {"metadata": metadata}});
    objects.merge("deployments", "web", &json!({"spec": stuck})).await?;
    let error = run(status).await.err().context("a rollout that hangs")?;
    ensure!(format!("{error:#}").contains("exceeded its progress deadline"), "{error:#}");
    Ok(())
}

async fn daemon_set_by_kubectl(cluster: &Cluster) -> anyhow::Result<()> {
    let objects = Objects::of(cluster, "default")?;
    let run = async |line: &str| kubectl(cluster, &line.split(' ').collect::<Vec<_>>()).await;
    objects.create("daemonsets", &daemon_set("agent", json!({}))).await?;
    let status = "rollout status daemonset/agent --timeout=60s";
    let done = "daemon set \"agent\" successfully rolled out";
    ensure!(run(status).await?.contains(done));
    run("wait --for=jsonpath={.status.numberReady}=3 --timeout=60s daemonset/agent").await?;
    run("set image daemonset/agent main=example.com/two").await?;
    ensure!(run(status).await?.contains(done));
    ensure!(revisions(&run("rollout history daemonset/agent").await?) == [1, 2]);
    run("rollout undo daemonset/agent").await?;
    ensure!(run(status).await?.contains(done));
    ensure!(revisions(&run("rollout history daemonset/agent").await?) == [2, 3]);
    run("rollout restart daemonset/agent").await?;
    ensure!(run(status).await?.contains(done));
    ensure!(revisions(&run("rollout history daemonset/agent").await?) == [2, 3, 4]);
    ensure!(rolled_out(&objects.get("daemonsets", "agent").await?));
    Ok(())
}

/// The first column of `kubectl rollout history`.
fn revisions(history: &str) -> Vec<u64> {
    history.lines().filter_map(|line| line.split_whitespace().next()?.parse().ok()).collect()
}

fn start(cluster: &Cluster) -> anyhow::Result<Manager> {
    Manager::start(cluster, Binary::Ours, User::ControllerManager, ARGS)
}

/// A DaemonSet with `more` in its spec.
fn daemon_set(name: &str, mut more: Value) -> Value {
    let labels = json!({"app": name});
    more["selector"] = json!({"matchLabels": labels});
    let containers = json!([{"name": "main", "image": "example.com/one"}]);
    more["template"] = json!({"metadata": {"labels": labels}, "spec": {"containers": containers}});
    json!({"metadata": {"name": name}, "spec": more})
}

/// Waits until the DaemonSet runs its current template on this many nodes and no others.
async fn reaches(objects: &Objects, nodes: usize) -> anyhow::Result<()> {
    wait_until(&format!("an agent on {nodes} nodes"), MANY_LIMIT, async || {
        let set = objects.get("daemonsets", "agent").await?;
        let status = &set["status"];
        let counts = (&status["desiredNumberScheduled"], &status["numberMisscheduled"]);
        ensure!(rolled_out(&set) && counts == (&json!(nodes), &json!(0)), "{status}");
        Ok(Some(()))
    })
    .await
}

/// Waits until the DaemonSet's status counts this.
async fn counted(objects: &Objects, key: &str, count: usize) -> anyhow::Result<()> {
    let what = format!("to count {count} in {key}");
    objects.wait("daemonsets", "agent", &what, |set| set["status"][key] == count).await.map(drop)
}

/// Changes the DaemonSet, follows the rollout from the watch and returns the lowest number of its
/// pods that were ready, and not being deleted, at any moment.
async fn fewest_available(
    cluster: &Cluster,
    nodes: usize,
    change: &Value,
) -> anyhow::Result<usize> {
    let pods = Api::<Pod>::namespaced(cluster.admin()?, "default");
    let list = pods.list(&ListParams::default()).await?;
    let version = list.metadata.resource_version.clone().context("a version")?;
    // Whether each pod is available, and of the new version.
    let mut states: BTreeMap<String, (bool, bool)> = BTreeMap::new();
    for pod in list {
        states.insert(pod.metadata.name.clone().unwrap_or_default(), state(&pod));
    }
    let params = WatchParams::default().timeout(WATCH_LIMIT_S);
    let mut events = pin!(pods.watch(&params, &version).await?);
    Objects::of(cluster, "default")?.merge("daemonsets", "agent", change).await?;
    let mut fewest = nodes;
    loop {
        let available = states.values().filter(|(available, _)| *available).count();
        let done = states.values().filter(|state| **state == (true, true)).count();
        fewest = fewest.min(available);
        if done == nodes {
            return Ok(fewest);
        }
        let event = events.next().await.context("the rollout takes too long")??;
        let is_deleted = matches!(event, WatchEvent::Deleted(_));
        let Some(pod) = changed(event) else { continue };
        let name = pod.metadata.name.clone().unwrap_or_default();
        if is_deleted {
            states.remove(&name);
        } else {
            states.insert(name, state(&pod));
        }
    }
}

fn changed(event: WatchEvent<Pod>) -> Option<Pod> {
    match event {
        WatchEvent::Added(pod) | WatchEvent::Modified(pod) | WatchEvent::Deleted(pod) => Some(pod),
        WatchEvent::Bookmark(_) | WatchEvent::Error(_) => None,
    }
}

fn state(pod: &Pod) -> (bool, bool) {
    let conditions = pod.status.iter().flat_map(|status| status.conditions.iter().flatten());
    let mut conditions = conditions.map(|condition| (&*condition.type_, &*condition.status));
    let is_ready = conditions.any(|condition| condition == ("Ready", "True"));
    let labels = pod.metadata.labels.iter().flatten();
    let is_new = labels.into_iter().any(|(key, value)| key == "version" && value == "two");
    (is_ready && pod.metadata.deletion_timestamp.is_none(), is_new)
}
