//! Jobs that have finished go when their time is up, on the real API server. Upstream has one e2e
//! test, apps/ttl_after_finished.go, and no integration tests. No Job controller runs here: the
//! tests write their statuses.

use anyhow::{Context, ensure};
use api::Time;
use cluster_tests::{
    Binary, Cluster, Manager, Objects, Options, User, none_forbidden, silent, wait_until,
};
use serde_json::{Value, json};
use std::time::Duration;

const LIMIT: Duration = Duration::from_mins(1);
const JOBS: &str = "jobs.v1.batch";
const ARGS: &[&str] = &["--controllers=ttl-after-finished-controller,garbage-collector-controller"];
const EXPLAIN: &str = "/debug/controllers/ttl-after-finished-controller/explain";
const HELD: &str = "example.com/dummy";
const DELETIONS: &str = "ttl_after_finished_controller_job_deletion_duration_seconds_count";

#[tokio::test]
async fn finished_jobs_go_when_their_time_is_up() -> anyhow::Result<()> {
    let cluster = Cluster::start(Options::default()).await?;
    let mut manager =
        Manager::start(&cluster, Binary::under_test()?, User::ControllerManager, ARGS)?;
    manager.healthy().await?;
    let objects = Objects::in_new(&cluster, "jobs").await?;
    let run = async {
        a_job_is_deleted_after_its_time(&objects).await?;
        the_dependents_of_a_job_are_deleted_first(&objects).await?;
        time_may_be_given_and_taken(&objects).await?;
        others_stay(&cluster, &objects, &manager).await
    };
    run.await.with_context(|| manager.log())?;
    manager.sigterm()?;
    manager.ended(LIMIT).await?;
    time_that_is_up_meanwhile(&cluster, &objects).await
}

/// e2e: job should be deleted once it finishes after TTL seconds.
async fn a_job_is_deleted_after_its_time(objects: &Objects) -> anyhow::Result<()> {
    for (name, word) in [("completes", "Complete"), ("fails", "Failed")] {
        let ttl_seconds = 4;
        let job = create(objects, name, json!(ttl_seconds), json!([HELD])).await?;
        let at = finish(objects, &job, word).await?;
        let is_deleted = |job: &Value| job["metadata"]["deletionTimestamp"].is_string();
        let job = objects.wait(JOBS, name, "to be deleted", is_deleted).await?;
        let deleted = job["metadata"]["deletionTimestamp"].as_str().unwrap_or_default();
        let (deleted, at) = (time(deleted)?, time(&at)?);
        let after = deleted.since(at);
        ensure!(after >= Duration::from_secs(ttl_seconds), "{name} was deleted after {after:?}");
        let free = json!({"metadata": {"finalizers": null}});
        objects.merge(JOBS, name, &free).await?;
        objects.gone(JOBS, name).await?;
    }
    Ok(())
}

/// It is deleted in the foreground.
async fn the_dependents_of_a_job_are_deleted_first(objects: &Objects) -> anyhow::Result<()> {
    let job = create(objects, "owner", json!(0), json!([])).await?;
    let owner = json!([{"apiVersion": "batch/v1", "kind": "Job", "name": "owner",
        "uid": job["metadata"]["uid"], "blockOwnerDeletion": true}]);
    let metadata = json!({"name": "owned", "ownerReferences": owner, "finalizers": [HELD]});
    objects.create("configmaps", &json!({ "metadata": metadata })).await?;
    finish(objects, &job, "Complete").await?;
    let is_deleted = |map: &Value| map["metadata"]["deletionTimestamp"].is_string();
    objects.wait("configmaps", "owned", "to be deleted", is_deleted).await?;
    let waits = objects.get(JOBS, "owner").await?;
    ensure!(waits["metadata"]["finalizers"] == json!(["foregroundDeletion"]), "{waits}");
    objects.merge("configmaps", "owned", &json!({"metadata": {"finalizers": null}})).await?;
    objects.gone(JOBS, "owner").await
}

/// Less time counts at once; a time may be given to one that had none.
async fn time_may_be_given_and_taken(objects: &Objects) -> anyhow::Result<()> {
    for (name, ttl_seconds) in [("long", json!(86_400)), ("endless", Value::Null)] {
        let job = create(objects, name, ttl_seconds, json!([])).await?;
        finish(objects, &job, "Failed").await?;
        objects.merge(JOBS, name, &json!({"spec": {"ttlSecondsAfterFinished": 1}})).await?;
        objects.gone(JOBS, name).await?;
    }
    Ok(())
}

/// A Job that has not finished, or that has time left or no TTL, stays, and nothing is written.
async fn others_stay(
    cluster: &Cluster,
    objects: &Objects,
    manager: &Manager,
) -> anyhow::Result<()> {
    for (name, ttl_seconds, word) in [
        ("runs", json!(0), None),
        ("stays", Value::Null, Some("Complete")),
        ("waits", json!(86_400), Some("Failed")),
    ] {
        let job = create(objects, name, ttl_seconds, json!([])).await?;
        if let Some(word) = word {
            finish(objects, &job, word).await?;
        }
    }
    let calm = [Duration::from_secs(2), Duration::from_secs(8)];
    silent(cluster, manager, calm, |request| !request.is_fake_clusters_own()).await?;
    ensure!(objects.count(JOBS).await? == 3, "they stay");
    // Of all that went only what the manager deleted counts.
    let page = manager.get("/metrics").await?;
    let deletions = page.lines().find_map(|line| line.strip_prefix(DELETIONS));
    ensure!(deletions.map(str::trim) == Some("5"), "{DELETIONS}{deletions:?}");
    none_forbidden(&cluster.request_counts().await?)?;
    if Binary::under_test()? == Binary::Ours {
        let page = manager.get(&format!("{EXPLAIN}?key=jobs/waits")).await?;
        ensure!(page.contains("stays for") && page.contains("again in"), "{page}");
    }
    Ok(())
}

/// No manager ran when its time was up.
async fn time_that_is_up_meanwhile(cluster: &Cluster, objects: &Objects) -> anyhow::Result<()> {
    objects.merge(JOBS, "waits", &json!({"spec": {"ttlSecondsAfterFinished": 0}})).await?;
    let manager = Manager::start(cluster, Binary::under_test()?, User::ControllerManager, ARGS)?;
    objects.gone(JOBS, "waits").await.with_context(|| manager.log())?;
    wait_until("two that stay", LIMIT, async || Ok((objects.count(JOBS).await? == 2).then_some(())))
        .await
}

async fn create(
    objects: &Objects,
    name: &str,
    ttl_seconds: Value,
    finalizers: Value,
) -> anyhow::Result<Value> {
    let container = json!({"name": "main", "image": "example.com/image"});
    let template = json!({"spec": {"restartPolicy": "Never", "containers": [container]}});
    let spec = json!({"ttlSecondsAfterFinished": ttl_seconds, "template": template});
    let metadata = json!({"name": name, "finalizers": finalizers});
    objects.create(JOBS, &json!({"metadata": metadata, "spec": spec})).await
}

/// Says that the Job has finished when it was made, and returns that time.
async fn finish(objects: &Objects, job: &Value, word: &str) -> anyhow::Result<String> {
    let [name, at] = ["name", "creationTimestamp"].map(|key| &job["metadata"][key]);
    let is = |word: &str| json!({"type": word, "status": "True", "lastTransitionTime": at});
    let first = if word == "Complete" { "SuccessCriteriaMet" } else { "FailureTarget" };
    let mut status = json!({"startTime": at, "conditions": [is(first), is(word)]});
    if word == "Complete" {
        status["completionTime"] = at.clone();
    }
    let name = name.as_str().context("a name")?;
    objects.merge(JOBS, &format!("{name}/status"), &json!({ "status": status })).await?;
    Ok(at.as_str().context("a time")?.to_owned())
}

fn time(text: &str) -> anyhow::Result<Time> {
    Time::parse(text).map_err(anyhow::Error::msg)
}
