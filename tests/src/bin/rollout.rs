//! What a manager's work costs where many Deployments roll at once, ours beside upstream's: they
//! are made at once on a fresh cluster of fake nodes, and the processor time of the manager is
//! taken until all pods are ready, all statuses say so and the manager is quiet.

use anyhow::Context;
use clap::Parser;
use cluster_tests::{
    Binary, Cluster, Manager, Options, Request, Requests, User, since, wait_until,
};
use futures::{StreamExt, TryStreamExt, stream};
use k8s_openapi::api::apps::v1::{Deployment, ReplicaSet};
use k8s_openapi::api::core::v1::Pod;
use kube::api::{DeleteParams, ListParams, PostParams};
use kube::{Api, Client};
use serde_json::json;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// Longest wait for pods to come or go.
const LIMIT: Duration = Duration::from_mins(3);
/// A manager that used no processor time for so long is done; longer than a status may be delayed.
const QUIET: Duration = Duration::from_secs(2);
/// Requests in flight while Deployments are made.
const AT_ONCE: usize = 16;

/// Measures what rollouts cost a manager.
#[derive(Parser)]
struct Cli {
    /// How often each manager does it, in turns.
    #[arg(long, default_value_t = 4)]
    runs: usize,
    /// How many Deployments are made at once.
    #[arg(long, default_value_t = 40)]
    deployments: usize,
    /// How many pods each has.
    #[arg(long, default_value_t = 25)]
    replicas: i32,
    /// How many fake nodes there are.
    #[arg(long, default_value_t = 300)]
    nodes: usize,
    /// Which controllers run.
    #[arg(long, default_value = "deployment,replicaset")]
    controllers: String,
    /// Leaves upstream's manager out.
    #[arg(long)]
    ours: bool,
    /// Prints what the API server was asked for.
    #[arg(long)]
    requests: bool,
}

/// What one run took.
struct Figures {
    start_cpu: f64,
    took: Duration,
    cpu: [f64; 2],
    requests: Requests,
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let cli = Cli::parse();
    let cluster = Cluster::start(Options { nodes: cli.nodes, ..Options::default() }).await?;
    let binaries: &[_] = if cli.ours { &[Binary::Ours] } else { &[Binary::Ours, Binary::Upstream] };
    let mut sums = BTreeMap::<String, f64>::new();
    for number in 0..cli.runs {
        for binary in binaries {
            let Figures { start_cpu, took, cpu: [user, system], requests } =
                run(&cluster, *binary, &cli, number).await?;
            let name = format!("{binary:?}");
            let cpu = user + system;
            println!(
                "{name:<8} took {:.1} s, cpu {cpu:.2} s (user {user:.2}, system {system:.2}), \
                 start {start_cpu:.2} s",
                took.as_secs_f64()
            );
            if cli.requests {
                print(&requests);
            }
            *sums.entry(name).or_default() += cpu;
        }
    }
    for (name, sum) in sums {
        println!("{name:<8} mean cpu {:.3} s", sum / f64::from(u32::try_from(cli.runs)?));
    }
    Ok(())
}

async fn run(
    cluster: &Cluster,
    binary: Binary,
    cli: &Cli,
    number: usize,
) -> anyhow::Result<Figures> {
    let args = [
        &format!("--controllers={}", cli.controllers),
        "--kube-api-qps=1000",
        "--kube-api-burst=2000",
    ];
    let mut manager = Manager::start(cluster, binary, User::ControllerManager, &args)?;
    manager.healthy().await?;
    quiet(&manager).await?;
    let namespace = &format!("rollout-{number}-{binary:?}").to_lowercase();
    cluster.create_namespace(namespace).await?;
    quiet(&manager).await?;
    let client = cluster.admin()?;
    let (before, requests) = (manager.cpu_split()?, cluster.request_counts().await?);
    let took = roll_out(&client, namespace, cli).await?;
    quiet(&manager).await?;
    let after = manager.cpu_split()?;
    let requests = since(&requests, &cluster.request_counts().await?);
    manager.sigkill();
    clear(&client, namespace).await?;
    let cpu = [after[0] - before[0], after[1] - before[1]];
    Ok(Figures { start_cpu: before[0] + before[1], took, cpu, requests })
}

/// Makes the Deployments and waits until each says that all its pods are available. How long that
/// took.
async fn roll_out(client: &Client, namespace: &str, cli: &Cli) -> anyhow::Result<Duration> {
    let api = &Api::<Deployment>::namespaced(client.clone(), namespace);
    let started = now();
    stream::iter(0..cli.deployments)
        .map(|number| async move {
            let deployment = deployment(&format!("web-{number}"), cli.replicas)?;
            api.create(&PostParams::default(), &deployment).await?;
            anyhow::Ok(())
        })
        .buffer_unordered(AT_ONCE)
        .try_collect::<()>()
        .await?;
    wait_until("the Deployments to be complete", LIMIT, async || {
        let all = api.list(&ListParams::default()).await?;
        let done = all.iter().filter(|deployment| is_complete(deployment, cli.replicas)).count();
        Ok((done == cli.deployments).then_some(()))
    })
    .await?;
    Ok(now() - started)
}

/// Takes all away by hand: no collector need run.
async fn clear(client: &Client, namespace: &str) -> anyhow::Result<()> {
    let (one, all) = (DeleteParams::background(), ListParams::default());
    let namespaced = || client.clone();
    Api::<Deployment>::namespaced(namespaced(), namespace).delete_collection(&one, &all).await?;
    Api::<ReplicaSet>::namespaced(namespaced(), namespace).delete_collection(&one, &all).await?;
    let pods = Api::<Pod>::namespaced(namespaced(), namespace);
    pods.delete_collection(&one, &all).await?;
    wait_until("the pods to go", LIMIT, async || {
        Ok(pods.list(&ListParams::default().limit(1)).await?.items.is_empty().then_some(()))
    })
    .await
}

/// Waits until the manager does nothing any more.
async fn quiet(manager: &Manager) -> anyhow::Result<()> {
    let (mut last, mut since) = (manager.cpu_seconds()?, now());
    wait_until("the manager to be quiet", LIMIT, async || {
        let cpu = manager.cpu_seconds()?;
        // A tick now and then is the process being alive.
        if cpu - last > 0.015 {
            (last, since) = (cpu, now());
        }
        Ok((now() - since >= QUIET).then_some(()))
    })
    .await
}

fn deployment(name: &str, replicas: i32) -> anyhow::Result<Deployment> {
    let labels = json!({"app": name});
    let value = json!({"metadata": {"name": name, "labels": labels}, "spec": {
        "replicas": replicas,
        "selector": {"matchLabels": labels},
        "template": {"metadata": {"labels": labels}, "spec": {
            "containers": [{"name": "main", "image": "example.com/image"}]}}}});
    serde_json::from_value(value).context("a Deployment")
}

fn is_complete(deployment: &Deployment, replicas: i32) -> bool {
    let Some(status) = &deployment.status else { return false };
    let all = [
        status.replicas,
        status.updated_replicas,
        status.ready_replicas,
        status.available_replicas,
    ];
    status.observed_generation == deployment.metadata.generation
        && all.iter().all(|count| *count == Some(replicas))
}

fn print(requests: &Requests) {
    let is_own = |request: &Request| request.is_fake_clusters_own();
    for (request, count) in requests.iter().filter(|(request, _)| !is_own(request)) {
        let Request { group, resource, verb, code } = request;
        println!("  {count:>6} {verb} {resource}.{group} {code}");
    }
}

#[expect(clippy::disallowed_methods, reason = "real processes keep real time")]
fn now() -> Instant {
    Instant::now()
}
