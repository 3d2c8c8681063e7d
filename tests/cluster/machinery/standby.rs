//! A standby beside a leader that is busy.

use std::time::Duration;

use anyhow::{Context as _, ensure};
use cluster_tests::{Binary, Cluster, Manager, Objects, Options, Queues, User, wait_until};
use serde_json::{Value, json};

/// For whatever takes some seconds, and for a lease to run out.
const LIMIT: Duration = Duration::from_mins(2);
/// All controllers, of which one process leads.
const ARGS: &[&str] = &["--leader-elect=true", "--kube-api-qps=2000", "--kube-api-burst=2000"];
/// How many pods come and go in a round.
const PODS: u64 = 1000;
/// So often, after once that warms caches and allocator.
const ROUNDS: u64 = 3;

/// A standby's queues stay empty, however many objects are created and deleted: it has no workers.
/// When it leads at last it finds by itself what there is to do.
#[tokio::test]
async fn a_standby_remembers_nothing_of_what_came_and_went() -> anyhow::Result<()> {
    // Without nodes pods disappear as soon as they are deleted.
    let cluster = Cluster::start(Options::default()).await?;
    let objects = Objects::in_new(&cluster, "churn").await?;
    let mut leader = start(&cluster)?;
    leader.healthy().await?;
    says(&leader, "Successfully acquired lease").await?;
    let mut standby = start(&cluster)?;
    standby.healthy().await?;
    says(&standby, "Attempting to acquire leader lease").await?;

    come_and_go(&objects, &standby, 0).await?;
    let before = standby.rss_kib()?;
    for round in 1..=ROUNDS {
        come_and_go(&objects, &standby, round).await?;
    }
    let after = standby.rss_kib()?;
    println!("resident before {before} KiB, after {ROUNDS} times {PODS} pods {after} KiB");

    // Something is left to do for the next leader: an owner is deleted while no manager collects.
    scale(&objects, "left", 3).await?;
    leader.sigkill();
    let left = objects.get("replicasets", "left").await?;
    objects.delete("replicasets", "left").await?;
    objects.create("replicasets", &set("new", 2)).await?;
    settled(&objects, "new", 2).await?;
    wait_until("the pods of the deleted owner to be deleted", LIMIT, async || {
        let pods = objects.list("pods").await?;
        let owned = pods.iter().filter(|pod| is_owned(pod, &left)).count();
        Ok((owned == 0 && pods.len() == 2).then_some(()))
    })
    .await
    .with_context(|| standby.log())
}

/// Many pods are made and deleted; the standby sees it and queues nothing.
async fn come_and_go(objects: &Objects, standby: &Manager, round: u64) -> anyhow::Result<()> {
    let name = format!("round-{round}");
    scale(objects, &name, PODS).await?;
    holds(standby, PODS).await?;
    // The owner is deleted first: each pod is then a key for the collector.
    objects.delete("replicasets", &name).await?;
    holds(standby, 0).await?;
    let queues = Queues::of(standby).await?;
    ensure!(queues.depth == 0, "{} keys wait in the queues of a standby", queues.depth);
    let added: u64 = queues.adds.values().sum();
    ensure!(added == 0, "a standby has queued {added} keys: {:?}", queues.adds);
    Ok(())
}

async fn scale(objects: &Objects, name: &str, replicas: u64) -> anyhow::Result<()> {
    objects.create("replicasets", &set(name, replicas)).await?;
    settled(objects, name, replicas).await
}

async fn settled(objects: &Objects, name: &str, replicas: u64) -> anyhow::Result<()> {
    wait_until(&format!("{replicas} pods of {name}"), LIMIT, async || {
        let status = objects.get("replicasets", name).await?["status"].take();
        ensure!(status["replicas"] == replicas && !status["observedGeneration"].is_null());
        Ok(Some(()))
    })
    .await
}

/// The manager's cache holds so many pods.
async fn holds(manager: &Manager, pods: u64) -> anyhow::Result<()> {
    wait_until(&format!("{pods} pods in the cache"), LIMIT, async || {
        let page = manager.get("/debug/controllers").await?;
        let line = page.lines().find(|line| line.starts_with("pods ")).context("a line of pods")?;
        let held = line.split_whitespace().nth(2).context("how many it holds")?;
        ensure!(held == pods.to_string(), "{line}");
        Ok(Some(()))
    })
    .await
}

fn start(cluster: &Cluster) -> anyhow::Result<Manager> {
    Manager::start(cluster, Binary::Ours, User::ControllerManager, ARGS)
}

async fn says(manager: &Manager, words: &str) -> anyhow::Result<()> {
    wait_until(words, LIMIT, async || Ok(manager.log().contains(words).then_some(()))).await
}

fn is_owned(pod: &Value, owner: &Value) -> bool {
    pod["metadata"]["ownerReferences"][0]["uid"] == owner["metadata"]["uid"]
}

fn set(name: &str, replicas: u64) -> Value {
    json!({"metadata": {"name": name}, "spec": {
        "replicas": replicas, "selector": {"matchLabels": {"app": name}},
        "template": {"metadata": {"labels": {"app": name}},
            "spec": {"containers": [{"name": "main", "image": "example.com/image"}]}}}})
}
