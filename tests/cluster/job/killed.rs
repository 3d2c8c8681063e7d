//! A manager that is killed at any moment.

use std::time::Duration;

use anyhow::{Context, ensure};
use cluster_tests::{Binary, Cluster, Manager, Objects, Options, User, wait_until};
use serde_json::{Value, json};

use super::{JOBS, condition, is_tracked, name_of};

const LIMIT: Duration = Duration::from_mins(15);
/// How many Jobs; the long form is 1000.
const COUNT: &str = "KILLED_JOBS";
const COUNT_BY_DEFAULT: usize = 30;
const PODS: usize = 10;

/// Issue: indexed Jobs finish with exact counts though the manager is killed again and again: no
/// pod is counted twice, and no finalizer stays. Also TestOrphanPodsFinalizersClearedOnRestart.
#[tokio::test]
async fn jobs_survive_a_manager_that_is_killed() -> anyhow::Result<()> {
    let count = std::env::var(COUNT).map_or(Ok(COUNT_BY_DEFAULT), |it| it.parse())?;
    let binary = Binary::under_test()?;
    killed(count, &[binary]).await
}

/// Rule: each manager counts on where the other one was killed, with pods that are not counted yet.
#[tokio::test]
async fn jobs_survive_managers_that_take_turns() -> anyhow::Result<()> {
    killed(COUNT_BY_DEFAULT, &[Binary::Ours, Binary::Upstream]).await
}

async fn killed(count: usize, binaries: &[Binary]) -> anyhow::Result<()> {
    let mut turns = binaries.iter().cycle();
    let mut next = || *turns.next().expect("there are managers");
    let nodes = (count / 10).clamp(3, 100);
    let cluster = Cluster::start(Options { nodes, ..Options::default() }).await?;
    let objects = Objects::in_new(&cluster, "killed").await?;
    let mut manager = start(&cluster, next())?;
    let names: Vec<String> = (0..count).map(|at| format!("job-{at}")).collect();
    objects.create_all(JOBS, names.iter().map(|name| job(name))).await?;
    let total = count * PODS;
    for share in [3, 17, 31, 47, 61, 79, 93] {
        let wanted = total * share / 100;
        wait_until(&format!("{wanted} pods to have succeeded"), LIMIT, async || {
            let ended = |pod: &&Value| pod["status"]["phase"] == "Succeeded";
            let ended = objects.list("pods").await?.iter().filter(ended).count();
            ensure!(ended >= wanted, "{ended} have");
            Ok(Some(()))
        })
        .await
        .with_context(|| manager.log())?;
        manager.sigkill();
        // Its pods are of no Job while no manager runs.
        if share == 47 {
            let options = json!({"propagationPolicy": "Orphan"});
            objects.delete_with(JOBS, &names[0], &options).await?;
        }
        manager = start(&cluster, next())?;
    }
    let rest = &names[1..];
    wait_until("all Jobs to be complete", LIMIT, async || {
        let jobs = objects.list(JOBS).await?;
        let done = jobs.iter().filter(|job| condition(job, "Complete")["status"] == "True");
        let done = done.count();
        ensure!(done >= rest.len(), "{done} are");
        Ok(Some(()))
    })
    .await
    .with_context(|| manager.log())?;
    for job in objects.list(JOBS).await? {
        let status = &job["status"];
        let is_exact = status["succeeded"] == PODS
            && status["failed"].is_null()
            && status["completedIndexes"] == format!("0-{}", PODS - 1)
            && status["uncountedTerminatedPods"] == json!({});
        ensure!(is_exact || !rest.contains(&name_of(&job)), "{}: {status}", name_of(&job));
    }
    wait_until("no pod to have the finalizer", LIMIT, async || {
        let pods = objects.list("pods").await?;
        let held: Vec<_> = pods.iter().filter(|pod| is_tracked(pod)).map(name_of).collect();
        ensure!(held.is_empty(), "{held:?}");
        let of_rest = |pod: &&Value| pod["metadata"]["labels"]["job-name"] != names[0];
        let made = pods.iter().filter(of_rest).count();
        ensure!(made == rest.len() * PODS, "{made} pods were made for {} Jobs", rest.len());
        Ok(Some(()))
    })
    .await
    .with_context(|| manager.log())
}

fn start(cluster: &Cluster, binary: Binary) -> anyhow::Result<Manager> {
    let args = ["--controllers=job-controller,garbage-collector-controller", "--kube-api-qps=200"];
    Manager::start(cluster, binary, User::ControllerManager, &args)
}

fn job(name: &str) -> Value {
    let container = json!({"name": "main", "image": "example.com/image"});
    let pod = json!({"spec": {"restartPolicy": "Never", "containers": [container]}});
    json!({"metadata": {"name": name}, "spec": {"completions": PODS, "parallelism": PODS / 2,
        "completionMode": "Indexed", "template": pod}})
}
