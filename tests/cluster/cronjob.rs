//! CronJobs start Jobs on the real API server. After upstream's integration test
//! TestCronJobLaunchesPodAndCleansUp and its e2e tests, apps/cronjob.go. No controller runs the
//! Jobs here: the tests write their statuses. Two minutes pass, since a Job is named after its
//! minute.

use anyhow::{Context, ensure};
use cluster_tests::{
    Binary, Cluster, Manager, Objects, Options, User, kubectl, none_forbidden, silent, wait_until,
};
use serde_json::{Value, json};
use std::time::Duration;

/// A minute begins meanwhile.
const LIMIT: Duration = Duration::from_secs(100);
const CRON_JOBS: &str = "cronjobs.v1.batch";
const JOBS: &str = "jobs.v1.batch";
const ARGS: &[&str] = &["--controllers=cronjob-controller,garbage-collector-controller"];
const NAMESPACE: &str = "crons";
const SKEW: &str = "cronjob_controller_job_creation_skew_duration_seconds_count";

#[tokio::test]
async fn jobs_start_by_schedules() -> anyhow::Result<()> {
    let cluster = Cluster::start(Options::default()).await?;
    let mut manager =
        Manager::start(&cluster, Binary::under_test()?, User::ControllerManager, ARGS)?;
    manager.healthy().await?;
    let objects = Objects::in_new(&cluster, NAMESPACE).await?;
    let run = async {
        // These need another minute.
        for (name, policy) in [("forbids", "Forbid"), ("replaces", "Replace"), ("allows", "Allow")]
        {
            create(&objects, name, json!({"concurrencyPolicy": policy})).await?;
        }
        let first = first(&objects, "replaces").await?;
        a_job_is_made_of_the_template(&objects).await?;
        finished_jobs_are_history(&objects).await?;
        jobs_that_go_leave_the_list(&objects).await?;
        jobs_by_hand_are_reported(&cluster, &objects).await?;
        what_is_suspended_starts_nothing(&objects).await?;
        the_next_minute(&objects, &first).await?;
        then_all_is_silent(&cluster, &objects, &manager).await
    };
    run.await.with_context(|| manager.log())?;
    manager.sigterm()?;
    manager.ended(LIMIT).await.map(drop)
}

/// e2e: should support timezone; should set the cronjob-scheduled-timestamp annotation on a job.
async fn a_job_is_made_of_the_template(objects: &Objects) -> anyhow::Result<()> {
    let made = create(objects, "made", json!({"timeZone": "Asia/Tokyo"})).await?;
    let name = first(objects, "made").await?;
    let cron = objects.get(CRON_JOBS, "made").await?;
    let job = objects.get(JOBS, &name).await?;
    let minute = name.strip_prefix("made-").and_then(|minute| minute.parse::<i64>().ok());
    let due = cron["status"]["lastScheduleTime"].as_str().context("lastScheduleTime")?;
    let unix = api::Time::parse(due).map_err(anyhow::Error::msg)?.unix_nanos() / 1_000_000_000;
    ensure!(minute == Some(unix / 60), "{name} is due at {due}");
    let meta = &job["metadata"];
    let owner = json!([{"apiVersion": "batch/v1", "kind": "CronJob", "name": "made",
        "uid": made["metadata"]["uid"], "controller": true, "blockOwnerDeletion": true}]);
    ensure!(meta["ownerReferences"] == owner, "{meta}");
    ensure!(meta["labels"]["from"] == "template" && meta["annotations"]["note"] == "x", "{meta}");
    let shown = meta["annotations"]["batch.kubernetes.io/cronjob-scheduled-timestamp"].as_str();
    ensure!(shown.is_some_and(|shown| shown.ends_with("+09:00")), "{meta}");
    ensure!(job["spec"]["backoffLimit"] == 3, "{job}");
    let entry = &cron["status"]["active"][0];
    let expected = json!({"apiVersion": "batch/v1", "kind": "Job", "namespace": NAMESPACE,
        "name": name, "uid": meta["uid"], "resourceVersion": entry["resourceVersion"]});
    ensure!(*entry == expected, "{entry}");
    event(objects, "made", "SuccessfulCreate").await
}

/// e2e: should delete successful finished jobs with limit of one successful job.
async fn finished_jobs_are_history(objects: &Objects) -> anyhow::Result<()> {
    create(objects, "history", json!({"successfulJobsHistoryLimit": 0})).await?;
    let name = first(objects, "history").await?;
    // Or the next one of this minute would take its name.
    suspend(objects, "history").await?;
    finish(objects, &name).await?;
    objects.gone(JOBS, &name).await?;
    let is_done = |cron: &Value| {
        cron["status"]["active"].is_null() && cron["status"]["lastSuccessfulTime"].is_string()
    };
    objects.wait(CRON_JOBS, "history", "to list no Job", is_done).await?;
    event(objects, "history", "SuccessfulDelete").await
}

/// e2e: should remove from active list jobs that have been deleted.
async fn jobs_that_go_leave_the_list(objects: &Objects) -> anyhow::Result<()> {
    create(objects, "loses", json!({})).await?;
    let name = first(objects, "loses").await?;
    suspend(objects, "loses").await?;
    objects.delete_with(JOBS, &name, &json!({"propagationPolicy": "Background"})).await?;
    let is_empty = |cron: &Value| cron["status"]["active"].is_null();
    objects.wait(CRON_JOBS, "loses", "to list no Job", is_empty).await?;
    event(objects, "loses", "MissingJob").await
}

/// `kubectl create job --from`.
async fn jobs_by_hand_are_reported(cluster: &Cluster, objects: &Objects) -> anyhow::Result<()> {
    create(objects, "by-hand", json!({"suspend": true})).await?;
    let args = ["create", "job", "manual", "--from=cronjob/by-hand", "-n", NAMESPACE];
    kubectl(cluster, &args).await?;
    event(objects, "by-hand", "UnexpectedJob").await?;
    let cron = objects.get(CRON_JOBS, "by-hand").await?;
    ensure!(cron["status"]["active"].is_null(), "it is not adopted: {cron}");
    finish(objects, "manual").await?;
    let is_done = |cron: &Value| cron["status"]["lastSuccessfulTime"].is_string();
    objects.wait(CRON_JOBS, "by-hand", "to count it as a success", is_done).await.map(drop)
}

/// e2e: should not schedule jobs when suspended.
async fn what_is_suspended_starts_nothing(objects: &Objects) -> anyhow::Result<()> {
    create(objects, "rests", json!({"suspend": true})).await?;
    Ok(())
}

/// e2e: should not schedule new jobs when ForbidConcurrent; should replace jobs when
/// ReplaceConcurrent; should schedule multiple jobs concurrently.
async fn the_next_minute(objects: &Objects, first: &str) -> anyhow::Result<()> {
    event(objects, "forbids", "JobAlreadyActive").await?;
    objects.gone(JOBS, first).await?;
    let two = |cron: &Value| cron["status"]["active"].as_array().is_some_and(|it| it.len() >= 2);
    objects.wait(CRON_JOBS, "allows", "to list two Jobs", two).await?;
    for name in ["forbids", "replaces", "allows", "made"] {
        suspend(objects, name).await?;
    }
    for (name, count) in [("forbids", 1), ("replaces", 1), ("rests", 0)] {
        let jobs = jobs_of(objects, name).await?;
        ensure!(jobs.len() == count, "{name}: {jobs:?}");
    }
    let rests = objects.get(CRON_JOBS, "rests").await?;
    ensure!(rests["status"] == json!({}), "{rests}");
    Ok(())
}

async fn then_all_is_silent(
    cluster: &Cluster,
    objects: &Objects,
    manager: &Manager,
) -> anyhow::Result<()> {
    let calm = [Duration::from_secs(2), Duration::from_secs(8)];
    silent(cluster, manager, calm, |request| !request.is_fake_clusters_own()).await?;
    none_forbidden(&cluster.request_counts().await?)?;
    let page = manager.get("/metrics").await?;
    let started = page.lines().find_map(|line| line.strip_prefix(SKEW)).map(str::trim);
    let started = started.and_then(|count| count.parse::<u64>().ok());
    ensure!(started.is_some_and(|count| count >= 8), "{SKEW} {started:?}");
    if Binary::under_test()? == Binary::Ours {
        let path = "/debug/controllers/cronjob-controller/explain";
        let page = manager.get(&format!("{path}?key={NAMESPACE}/forbids")).await?;
        ensure!(page.contains("the CronJob is suspended"), "{page}");
    }
    objects.list(JOBS).await.map(drop)
}

// === Acts ===

/// A CronJob that is due a second after it was made, and each second from then on: a Job a minute.
async fn create(objects: &Objects, name: &str, patch: Value) -> anyhow::Result<Value> {
    let container = json!({"name": "main", "image": "example.com/image"});
    let pod = json!({"spec": {"restartPolicy": "Never", "containers": [container]}});
    let metadata = json!({"labels": {"from": "template"}, "annotations": {"note": "x"}});
    let template = json!({"metadata": metadata, "spec": {"backoffLimit": 3, "template": pod}});
    let mut spec = json!({"schedule": "@every 1s", "jobTemplate": template});
    for (field, value) in patch.as_object().into_iter().flatten() {
        spec[field] = value.clone();
    }
    objects.create(CRON_JOBS, &json!({"metadata": {"name": name}, "spec": spec})).await
}

/// The first Job that the status lists.
async fn first(objects: &Objects, name: &str) -> anyhow::Result<String> {
    let has_job = |cron: &Value| cron["status"]["active"][0]["name"].is_string();
    let cron = objects.wait(CRON_JOBS, name, "to list a Job", has_job).await?;
    Ok(cron["status"]["active"][0]["name"].as_str().context("a name")?.to_owned())
}

async fn suspend(objects: &Objects, name: &str) -> anyhow::Result<()> {
    objects.merge(CRON_JOBS, name, &json!({"spec": {"suspend": true}})).await
}

/// Says that the Job has completed when it was made.
async fn finish(objects: &Objects, name: &str) -> anyhow::Result<()> {
    let job = objects.get(JOBS, name).await?;
    let at = &job["metadata"]["creationTimestamp"];
    let is = |word: &str| json!({"type": word, "status": "True", "lastTransitionTime": at});
    let conditions = json!([is("SuccessCriteriaMet"), is("Complete")]);
    let status = json!({"startTime": at, "completionTime": at, "conditions": conditions});
    objects.merge(JOBS, &format!("{name}/status"), &json!({ "status": status })).await
}

async fn jobs_of(objects: &Objects, name: &str) -> anyhow::Result<Vec<Value>> {
    let mut jobs = objects.list(JOBS).await?;
    jobs.retain(|job| job["metadata"]["ownerReferences"][0]["name"] == name);
    Ok(jobs)
}

/// Waits for an Event about a CronJob.
async fn event(objects: &Objects, name: &str, reason: &str) -> anyhow::Result<()> {
    let what = format!("the Event {reason} about {name}");
    wait_until(&what, LIMIT, async || {
        let events = objects.list("events").await?;
        let is_it = |event: &Value| {
            event["reason"] == reason
                && event["involvedObject"]["name"] == name
                && event["source"]["component"] == "cronjob-controller"
        };
        Ok(events.iter().any(is_it).then_some(()))
    })
    .await
}
