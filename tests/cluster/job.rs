//! Jobs on the real API server: upstream's integration tests (test/integration/job), and a manager
//! that is killed again and again.
//!
//! Most pods fit no node here, so that nothing but the test says what becomes of them. The cases
//! run side by side, since most of them wait for a back-off of ten seconds.

mod ends;
mod killed;
mod late;
mod policies;
mod restarts;
mod runs;

use anyhow::{Context, ensure};
use cluster_tests::{
    Binary, Case, Cluster, Manager, Objects, Options, User, none_forbidden, play_all, silent,
    wait_until,
};
use futures::FutureExt;
use serde_json::{Value, json};
use std::time::Duration;

const LIMIT: Duration = Duration::from_mins(2);
const JOBS: &str = "jobs.v1.batch";
const FINALIZER: &str = "batch.kubernetes.io/job-tracking";
/// Another client's, which keeps a pod that is being deleted.
const BLOCK: &str = "fake.example.com/blockDeletion";
const INDEX: &str = "batch.kubernetes.io/job-completion-index";
const ARGS: &[&str] =
    &["--controllers=job-controller,garbage-collector-controller", "--kube-api-qps=200"];

const CASES: [Case; 23] = [
    ("non-parallel", |it| runs::one_pod(it).boxed_local()),
    ("parallel", |it| runs::without_completions(it).boxed_local()),
    ("completions", |it| runs::with_completions(it).boxed_local()),
    ("indexed", |it| runs::indexed(it).boxed_local()),
    ("elastic", |it| runs::elastic(it).boxed_local()),
    ("suspended", |it| runs::suspended(it).boxed_local()),
    ("suspended-zero", |it| runs::suspended_with_nothing_to_do(it).boxed_local()),
    ("directives", |it| runs::directives_change_while_suspended(it).boxed_local()),
    ("resources", |it| runs::resources_change_while_suspended(it).boxed_local()),
    ("replacement", |it| runs::replaced_while_or_after_ending(it).boxed_local()),
    ("backoff", |it| runs::pods_wait_longer_after_each_failure(it).boxed_local()),
    ("failure-policy", |it| policies::failure(it).boxed_local()),
    ("ignored", |it| policies::ignored(it).boxed_local()),
    ("success-policy", |it| policies::success(it).boxed_local()),
    ("per-index", |it| policies::per_index(it).boxed_local()),
    ("fail-index", |it| policies::fail_index(it).boxed_local()),
    ("delayed-failure", |it| ends::failure_waits_for_pods(it).boxed_local()),
    ("delayed-success", |it| ends::success_waits_for_pods(it).boxed_local()),
    ("managed-by", |it| ends::managed_elsewhere(it).boxed_local()),
    ("reserved", |it| ends::finalizers_of_others_stay(it).boxed_local()),
    ("recreated", |it| ends::recreated_at_once(it).boxed_local()),
    ("orphans", |it| ends::orphans_lose_their_finalizers(it).boxed_local()),
    ("finalizers", |it| ends::finalizers_go_when_the_limit_is_exceeded(it).boxed_local()),
];

#[tokio::test]
async fn jobs_run_to_their_end() -> anyhow::Result<()> {
    let cluster = Cluster::start(Options { nodes: 1, ..Options::default() }).await?;
    let mut manager =
        Manager::start(&cluster, Binary::under_test()?, User::ControllerManager, ARGS)?;
    manager.healthy().await?;
    let run = async {
        play_all(&cluster, &CASES).await?;
        then_all_is_silent(&cluster, &manager).await
    };
    run.await.with_context(|| manager.log())
}

async fn then_all_is_silent(cluster: &Cluster, manager: &Manager) -> anyhow::Result<()> {
    let calm = [Duration::from_secs(5), Duration::from_secs(15)];
    silent(cluster, manager, calm, |request| !request.is_fake_clusters_own()).await?;
    none_forbidden(&cluster.request_counts().await?)?;
    let page = manager.get("/metrics").await?;
    for family in ["job_controller_job_syncs_total", "job_controller_jobs_finished_total"] {
        ensure!(page.contains(&format!("\n{family}{{")), "no {family}");
    }
    if Binary::under_test()? == Binary::Ours {
        let path = "/debug/controllers/job-controller/explain";
        let page = manager.get(&format!("{path}?key=managed-by/elsewhere")).await?;
        ensure!(page.contains("another controller manages the Job"), "{page}");
    }
    Ok(())
}

// === Acts ===

/// A Job with these fields in its spec, whose pods fit no node.
#[expect(clippy::needless_pass_by_value, reason = "each caller makes it for this call")]
fn job(name: &str, more: Value) -> Value {
    let mut spec = json!({"template": {"metadata": {}, "spec": {
        "restartPolicy": "Never",
        "nodeSelector": {"fits": "none"},
        "containers": [{"name": "main", "image": "example.com/image"}],
    }}});
    for (field, value) in more.as_object().into_iter().flatten() {
        spec[field] = value.clone();
    }
    json!({"metadata": {"name": name}, "spec": spec})
}

/// Makes one, and waits for so many pods.
async fn start(objects: &Objects, name: &str, more: Value, pods: i64) -> anyhow::Result<Value> {
    let made = objects.create(JOBS, &job(name, more)).await?;
    says(objects, name, &json!({"active": pods, "terminating": 0})).await?;
    Ok(made)
}

/// The same, with pods that another client's finalizer keeps.
async fn start_kept(objects: &Objects, name: &str, more: Value, pods: i64) -> anyhow::Result<()> {
    let mut job = job(name, more);
    job["spec"]["template"]["metadata"]["finalizers"] = json!([BLOCK]);
    objects.create(JOBS, &job).await?;
    says(objects, name, &json!({"active": pods})).await
}

async fn change(objects: &Objects, name: &str, spec: Value) -> anyhow::Result<()> {
    objects.merge(JOBS, name, &json!({ "spec": spec })).await
}

/// The pods of a Job.
async fn pods(objects: &Objects, name: &str) -> anyhow::Result<Vec<Value>> {
    let mut pods = objects.list("pods").await?;
    pods.retain(|pod| pod["metadata"]["labels"]["job-name"] == name);
    Ok(pods)
}

fn name_of(object: &Value) -> String {
    object["metadata"]["name"].as_str().unwrap_or_default().to_owned()
}

fn has_ended(pod: &Value) -> bool {
    pod["status"]["phase"] == "Failed" || pod["status"]["phase"] == "Succeeded"
}

/// Those that have not ended.
async fn running(objects: &Objects, name: &str) -> anyhow::Result<Vec<Value>> {
    let mut pods = pods(objects, name).await?;
    pods.retain(|pod| !has_ended(pod));
    Ok(pods)
}

/// A pod that has not ended, once there is one.
async fn one(objects: &Objects, name: &str) -> anyhow::Result<String> {
    wait_until(&format!("a pod of {name}"), LIMIT, async || {
        Ok(running(objects, name).await?.first().map(name_of))
    })
    .await
}

/// Ends so many pods of a Job.
async fn end(objects: &Objects, name: &str, phase: &str, count: usize) -> anyhow::Result<()> {
    let running = running(objects, name).await?;
    ensure!(running.len() >= count, "{} pods run, {count} are to end", running.len());
    for pod in running.iter().take(count) {
        let status = json!({"status": {"phase": phase}});
        objects.merge("pods", &format!("{}/status", name_of(pod)), &status).await?;
    }
    Ok(())
}

/// Ends the pod of an index as soon as it is there, with an exit code.
async fn end_index(objects: &Objects, name: &str, index: u32, code: i32) -> anyhow::Result<()> {
    let phase = if code == 0 { "Succeeded" } else { "Failed" };
    let what = format!("a pod of index {index} of {name}");
    let pod = wait_until(&what, LIMIT, async || {
        let running = running(objects, name).await?;
        let index = index.to_string();
        let of_index = |pod: &&Value| pod["metadata"]["labels"][INDEX] == index;
        Ok(running.iter().find(of_index).map(name_of))
    })
    .await?;
    end_with(objects, &pod, phase, code).await
}

async fn end_with(objects: &Objects, pod: &str, phase: &str, code: i32) -> anyhow::Result<()> {
    let ended = json!({"exitCode": code, "reason": "Error"});
    let container = json!({"name": "main", "image": "example.com/image", "imageID": "",
        "ready": false, "restartCount": 0, "state": {"terminated": ended}});
    let status = json!({"status": {"phase": phase, "containerStatuses": [container]}});
    objects.merge("pods", &format!("{pod}/status"), &status).await
}

/// The indexes that have pods which run.
async fn indexes(objects: &Objects, name: &str) -> anyhow::Result<Vec<String>> {
    let running = running(objects, name).await?;
    let index = |pod: &Value| pod["metadata"]["annotations"][INDEX].as_str().map(str::to_owned);
    let mut indexes: Vec<_> = running.iter().filter_map(index).collect();
    indexes.sort();
    Ok(indexes)
}

/// Waits until these fields of the status are so; a number that is not there is zero.
async fn says(objects: &Objects, name: &str, fields: &Value) -> anyhow::Result<()> {
    let is_so = |job: &Value, field: &str, value: &Value| {
        let is = &job["status"][field];
        is == value || is.is_null() && (*value == 0 || *value == "")
    };
    let wanted = |job: &Value| {
        let mut fields = fields.as_object().into_iter().flatten();
        fields.all(|(field, value)| is_so(job, field, value))
    };
    let what = format!("{JOBS} {name} to say {fields}");
    wait_until(&what, LIMIT, async || {
        let job = objects.get(JOBS, name).await?;
        ensure!(wanted(&job), "{}", job["status"]);
        Ok(Some(()))
    })
    .await
}

/// Waits until the status has this condition; returns the Job.
async fn becomes(objects: &Objects, name: &str, r#type: &str) -> anyhow::Result<Value> {
    wait_until(&format!("{name} to be {type}"), LIMIT, async || {
        let job = objects.get(JOBS, name).await?;
        ensure!(condition(&job, r#type)["status"] == "True", "{}", job["status"]);
        Ok(Some(job))
    })
    .await
}

fn condition<'a>(job: &'a Value, r#type: &str) -> &'a Value {
    let conditions = job["status"]["conditions"].as_array().into_iter().flatten();
    let mut those = conditions.filter(|it| it["type"] == r#type);
    those.next().unwrap_or(&Value::Null)
}

/// The end of a Job: its conditions, all for this reason; nothing active, nothing uncounted; and no
/// pod has the finalizer.
async fn has_ended_so(
    objects: &Objects,
    name: &str,
    types: [&str; 2],
    reason: &str,
) -> anyhow::Result<Value> {
    let job = becomes(objects, name, types[1]).await?;
    for r#type in types {
        ensure!(condition(&job, r#type)["reason"] == reason, "{type}: {}", job["status"]);
    }
    let status = &job["status"];
    ensure!(status["active"].is_null() && status["terminating"] == 0, "{status}");
    ensure!(status["uncountedTerminatedPods"] == json!({}), "{status}");
    let is_complete = types[1] == "Complete";
    ensure!(status["completionTime"].is_string() == is_complete, "{status}");
    none_is_tracked(objects, name).await?;
    Ok(job)
}

async fn none_is_tracked(objects: &Objects, name: &str) -> anyhow::Result<()> {
    wait_until(&format!("no pod of {name} to have the finalizer"), LIMIT, async || {
        let pods = pods(objects, name).await?;
        let held: Vec<_> = pods.iter().filter(|pod| is_tracked(pod)).map(name_of).collect();
        ensure!(held.is_empty(), "{held:?}");
        Ok(Some(()))
    })
    .await
}

fn is_tracked(pod: &Value) -> bool {
    let finalizers = pod["metadata"]["finalizers"].as_array().into_iter().flatten();
    finalizers.into_iter().any(|it| it == FINALIZER)
}

/// Lets go what another client's finalizer keeps.
async fn unblock(objects: &Objects, name: &str) -> anyhow::Result<()> {
    for pod in pods(objects, name).await? {
        let finalizers = pod["metadata"]["finalizers"].as_array().into_iter().flatten();
        let rest: Vec<_> = finalizers.filter(|it| **it != BLOCK).collect();
        let patch = json!({"metadata": {"finalizers": rest}});
        objects.merge("pods", &name_of(&pod), &patch).await?;
    }
    Ok(())
}

const COMPLETE: [&str; 2] = ["SuccessCriteriaMet", "Complete"];
const FAILED: [&str; 2] = ["FailureTarget", "Failed"];
