//! Jobs in all states that last: also those that wait for what does not come.

use anyhow::ensure;
use cluster_tests::Objects;
use serde_json::{Value, json};

const JOBS: &str = "jobs.v1.batch";
const CRON_JOBS: &str = "cronjobs.v1.batch";
const INDEX: &str = "batch.kubernetes.io/job-completion-index";

/// Jobs that run, with some of their indexes done; that are suspended; that fail by policy and wait
/// for a pod to end; that are done; and finished ones of users that wait for a day or stay.
pub(super) async fn make(objects: &Objects) -> anyhow::Result<()> {
    of_users(objects).await?;
    let indexed = json!({"completions": 4, "parallelism": 2, "completionMode": "Indexed"});
    create(objects, "j-runs", "running", indexed).await?;
    says(objects, "j-runs", json!({"active": 2, "ready": 2})).await?;
    let (succeeded, failed) = ("Succeeded", "Failed");
    end(objects, "j-runs", "0", succeeded).await?;
    says(objects, "j-runs", json!({"active": 2, "ready": 2, "completedIndexes": "0"})).await?;
    let per_index = json!({"completions": 3, "parallelism": 3, "completionMode": "Indexed",
        "backoffLimitPerIndex": 0});
    create(objects, "j-indexes", "running", per_index).await?;
    says(objects, "j-indexes", json!({"active": 3, "ready": 3})).await?;
    end(objects, "j-indexes", "1", failed).await?;
    says(objects, "j-indexes", json!({"active": 2, "failed": 1, "failedIndexes": "1"})).await?;
    create(objects, "j-suspended", "running", json!({"parallelism": 2})).await?;
    says(objects, "j-suspended", json!({"active": 2, "ready": 2})).await?;
    objects.merge(JOBS, "j-suspended", &json!({"spec": {"suspend": true}})).await?;
    let is_suspended = |job: &Value| job["status"].to_string().contains("JobSuspended");
    objects.wait(JOBS, "j-suspended", "to be suspended", is_suspended).await?;
    create(objects, "j-done", "none", json!({"completions": 3, "parallelism": 3})).await?;
    let is_done = |job: &Value| job["status"]["completionTime"].is_string();
    objects.wait(JOBS, "j-done", "to be done", is_done).await?;
    failing(objects).await
}

/// A Job of which one pod has ended so that it fails, and another one does not come to its end.
async fn failing(objects: &Objects) -> anyhow::Result<()> {
    let rules = json!([{"action": "FailJob", "onPodConditions": [{"type": "ConfigIssue"}]}]);
    let more = json!({"completions": 2, "parallelism": 2, "completionMode": "Indexed",
        "podFailurePolicy": {"rules": rules}});
    create(objects, "j-fails", "held", more).await?;
    says(objects, "j-fails", json!({"active": 2, "ready": 2})).await?;
    let condition = json!({"type": "ConfigIssue", "status": "True",
        "lastTransitionTime": "2026-01-01T00:00:00Z"});
    let status = json!({"status": {"phase": "Failed", "conditions": [condition]}});
    let name = pod(objects, "j-fails", "0").await?;
    objects.merge("pods", &format!("{name}/status"), &status).await?;
    let waits = |job: &Value| {
        let status = &job["status"];
        status["terminating"] == 1
            && status["failed"] == 2
            && status["uncountedTerminatedPods"] == json!({})
            && status.to_string().contains("FailureTarget")
    };
    objects.wait(JOBS, "j-fails", "to wait for its pod", waits).await.map(drop)
}

/// Jobs whose end a user has written.
async fn of_users(objects: &Objects) -> anyhow::Result<()> {
    for (name, ttl_seconds, finished) in
        [("waits", json!(86_400), true), ("stays", Value::Null, true), ("runs", json!(0), false)]
    {
        let more = json!({"ttlSecondsAfterFinished": ttl_seconds,
            "managedBy": "example.com/user"});
        let job = objects.create(JOBS, &job(name, "none", more)).await?;
        if finished {
            let at = &job["metadata"]["creationTimestamp"];
            let is = |word| json!({"type": word, "status": "True", "lastTransitionTime": at});
            let conditions = json!([is("FailureTarget"), is("Failed")]);
            let status = json!({"status": {"startTime": at, "conditions": conditions}});
            objects.merge(JOBS, &format!("{name}/status"), &status).await?;
        }
    }
    Ok(())
}

/// CronJobs that are not due for long, that are suspended, and of which a Job runs.
pub(super) async fn make_cron(objects: &Objects) -> anyhow::Result<()> {
    for (name, schedule, suspended) in [
        ("yearly", "0 0 1 1 *", false),
        ("suspended", "* * * * *", true),
        ("started", "@every 1s", false),
    ] {
        let template = job("", "running", json!({}))["spec"].clone();
        let spec = json!({"schedule": schedule, "timeZone": "Asia/Kolkata", "suspend": suspended,
            "jobTemplate": {"spec": template}});
        objects.create(CRON_JOBS, &json!({"metadata": {"name": name}, "spec": spec})).await?;
    }
    let runs = |cron: &Value| cron["status"]["active"][0].is_object();
    objects.wait(CRON_JOBS, "started", "to start a Job", runs).await?;
    objects.merge(CRON_JOBS, "started", &json!({"spec": {"suspend": true}})).await
}

/// What waited goes on to its end, whichever manager counted what came before.
pub(super) async fn go_on(objects: &Objects) -> anyhow::Result<()> {
    for index in ["1", "2", "3"] {
        says(objects, "j-runs", json!({"terminating": 0})).await?;
        end(objects, "j-runs", index, "Succeeded").await?;
    }
    ends(objects, "j-runs", "Complete", json!({"succeeded": 4, "completedIndexes": "0-3"})).await?;
    for index in ["0", "2"] {
        end(objects, "j-indexes", index, "Succeeded").await?;
    }
    let fields = json!({"succeeded": 2, "failed": 1, "completedIndexes": "0,2"});
    ends(objects, "j-indexes", "Failed", fields).await?;
    let free = json!({"metadata": {"annotations": {"cluster-tests/outcome": "running"}}});
    let name = pod(objects, "j-fails", "1").await?;
    objects.merge("pods", &name, &free).await?;
    ends(objects, "j-fails", "Failed", json!({"failed": 2})).await?;
    objects.merge(JOBS, "j-suspended", &json!({"spec": {"suspend": false}})).await?;
    says(objects, "j-suspended", json!({"active": 2, "ready": 2})).await?;
    for pod in pods(objects, "j-suspended").await? {
        let ended = json!({"status": {"phase": "Succeeded"}});
        objects.merge("pods", &format!("{}/status", name_of(&pod)), &ended).await?;
    }
    ends(objects, "j-suspended", "Complete", json!({"succeeded": 2})).await
}

/// Waits for its end, with these fields, and without a failure that nobody made.
async fn ends(objects: &Objects, name: &str, how: &str, fields: Value) -> anyhow::Result<()> {
    let is = |it: &&Value| it["type"] == how && it["status"] == "True";
    let has_ended = |job: &Value| {
        let conditions = job["status"]["conditions"].as_array();
        conditions.into_iter().flatten().any(|it| is(&it))
    };
    let job = objects.wait(JOBS, name, "to end", has_ended).await?;
    let mut all = fields.as_object().into_iter().flatten();
    ensure!(all.all(|(field, value)| job["status"][field] == *value), "{}", job["status"]);
    let failed = fields["failed"].as_u64().unwrap_or(0);
    ensure!(job["status"]["failed"].as_u64().unwrap_or(0) == failed, "{}", job["status"]);
    Ok(())
}

async fn create(objects: &Objects, name: &str, how: &str, more: Value) -> anyhow::Result<()> {
    objects.create(JOBS, &job(name, how, more)).await.map(drop)
}

#[expect(clippy::needless_pass_by_value, reason = "each caller makes it for this call")]
fn job(name: &str, outcome: &str, more: Value) -> Value {
    let mut template = json!({"metadata": {}, "spec": {"restartPolicy": "Never",
        "containers": [{"name": "main", "image": "example.com/image"}]}});
    if outcome != "none" {
        template["metadata"]["annotations"] = json!({"cluster-tests/outcome": outcome});
    }
    let mut spec = json!({ "template": template });
    for (field, value) in more.as_object().into_iter().flatten() {
        spec[field] = value.clone();
    }
    json!({"metadata": {"name": name}, "spec": spec})
}

async fn says(objects: &Objects, name: &str, fields: Value) -> anyhow::Result<()> {
    let is_so = |job: &Value| {
        let mut all = fields.as_object().into_iter().flatten();
        all.all(|(field, value)| job["status"][field] == *value)
            && job["status"]["uncountedTerminatedPods"] == json!({})
    };
    objects.wait(JOBS, name, &format!("to say {fields}"), is_so).await.map(drop)
}

fn name_of(object: &Value) -> String {
    object["metadata"]["name"].as_str().unwrap_or_default().to_owned()
}

async fn pods(objects: &Objects, name: &str) -> anyhow::Result<Vec<Value>> {
    let mut pods = objects.list("pods").await?;
    pods.retain(|pod| pod["metadata"]["labels"]["job-name"] == name);
    Ok(pods)
}

/// The pod of an index, once it is there.
async fn pod(objects: &Objects, name: &str, index: &str) -> anyhow::Result<String> {
    cluster_tests::wait_until(&format!("index {index} of {name}"), super::LIMIT, async || {
        let pods = pods(objects, name).await?;
        let of_index = |pod: &&Value| pod["metadata"]["labels"][INDEX] == index;
        Ok(pods.iter().find(of_index).map(name_of))
    })
    .await
}

async fn end(objects: &Objects, name: &str, index: &str, phase: &str) -> anyhow::Result<()> {
    let pod = pod(objects, name, index).await?;
    let runs = |pod: &Value| pod["status"]["phase"] == "Running";
    objects.wait("pods", &pod, "to run", runs).await?;
    objects.merge("pods", &format!("{pod}/status"), &json!({"status": {"phase": phase}})).await
}
