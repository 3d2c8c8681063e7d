//! How Jobs end, and what they leave.

use anyhow::ensure;
use cluster_tests::{Objects, wait_until};
use serde_json::{Value, json};

use super::{
    COMPLETE, FAILED, FINALIZER, JOBS, LIMIT, becomes, change, condition, end, end_index,
    has_ended_so, is_tracked, job, name_of, none_is_tracked, one, pods, running, says, start,
    start_kept, unblock,
};

/// TestDelayTerminalPhaseCondition: job backoff limit exceeded.
pub(super) async fn failure_waits_for_pods(objects: Objects) -> anyhow::Result<()> {
    let more = json!({"parallelism": 2, "completions": 2, "backoffLimit": 0});
    start_kept(&objects, "fails", more, 2).await?;
    end(&objects, "fails", "Failed", 1).await?;
    let job = becomes(&objects, "fails", "FailureTarget").await?;
    ensure!(condition(&job, "Failed").is_null(), "{}", job["status"]);
    says(&objects, "fails", &json!({"active": 0, "failed": 2, "terminating": 1})).await?;
    let job = objects.get(JOBS, "fails").await?;
    ensure!(condition(&job, "Failed").is_null(), "it waits: {}", job["status"]);
    end(&objects, "fails", "Succeeded", 1).await?;
    has_ended_so(&objects, "fails", FAILED, "BackoffLimitExceeded").await?;
    says(&objects, "fails", &json!({"failed": 2, "succeeded": 0})).await?;
    unblock(&objects, "fails").await
}

/// TestDelayTerminalPhaseCondition: job scale down to meet completions.
pub(super) async fn success_waits_for_pods(objects: Objects) -> anyhow::Result<()> {
    let more = json!({"parallelism": 2, "completions": 2, "completionMode": "Indexed"});
    start_kept(&objects, "enough", more, 2).await?;
    end_index(&objects, "enough", 0, 0).await?;
    change(&objects, "enough", json!({"parallelism": 1, "completions": 1})).await?;
    let job = becomes(&objects, "enough", "SuccessCriteriaMet").await?;
    ensure!(condition(&job, "Complete").is_null(), "it waits: {}", job["status"]);
    let fields = json!({"succeeded": 1, "terminating": 1, "completedIndexes": "0"});
    says(&objects, "enough", &fields).await?;
    end(&objects, "enough", "Succeeded", 1).await?;
    has_ended_so(&objects, "enough", COMPLETE, "CompletionsReached").await?;
    says(&objects, "enough", &json!({"succeeded": 1, "failed": 0})).await?;
    unblock(&objects, "enough").await
}

/// TestManagedBy, TestManagedBy_RecreatedJob: a Job of the same name that is managed here runs.
pub(super) async fn managed_elsewhere(objects: Objects) -> anyhow::Result<()> {
    let elsewhere = job("elsewhere", json!({"managedBy": "example.com/other"}));
    objects.create(JOBS, &elsewhere).await?;
    let own = json!({"managedBy": "kubernetes.io/job-controller"});
    start(&objects, "own", own, 1).await?;
    end(&objects, "own", "Succeeded", 1).await?;
    has_ended_so(&objects, "own", COMPLETE, "CompletionsReached").await?;
    let status = objects.get(JOBS, "elsewhere").await?["status"].clone();
    ensure!(status == json!({}), "nothing is written: {status}");
    ensure!(pods(&objects, "elsewhere").await?.is_empty(), "no pod is made");
    start(&objects, "again", json!({}), 1).await?;
    objects.delete(JOBS, "again").await?;
    objects.gone(JOBS, "again").await?;
    let elsewhere = job("again", json!({"managedBy": "example.com/other"}));
    objects.create(JOBS, &elsewhere).await?;
    none_is_left(&objects, "again").await?;
    let status = objects.get(JOBS, "again").await?["status"].clone();
    ensure!(status == json!({}), "nothing is written: {status}");
    Ok(())
}

/// TestManagedBy_UsingReservedJobFinalizers: the pods of a Job that is managed elsewhere keep the
/// finalizer, whatever becomes of them and of the Job. Its pod is seen before one of a Job that is
/// managed here, which ends.
pub(super) async fn finalizers_of_others_stay(objects: Objects) -> anyhow::Result<()> {
    let made = job("theirs", json!({"managedBy": "example.com/other"}));
    let mut theirs = objects.create(JOBS, &made).await?;
    let owner = json!({"apiVersion": "batch/v1", "kind": "Job", "name": "theirs",
        "uid": theirs["metadata"]["uid"], "controller": true, "blockOwnerDeletion": true});
    let mut pod = json!({"metadata": {"name": "theirs-0", "finalizers": [FINALIZER],
        "labels": theirs["spec"]["template"]["metadata"]["labels"], "ownerReferences": [owner]}});
    pod["spec"] = theirs["spec"]["template"]["spec"].clone();
    objects.create("pods", &pod).await?;
    let status = json!({"status": {"phase": "Succeeded"}});
    objects.merge("pods", "theirs-0/status", &status).await?;
    theirs["status"] = json!({"startTime": "2026-01-01T00:00:00Z",
        "conditions": [{"type": "SuccessCriteriaMet", "status": "True"}]});
    objects.replace(JOBS, "theirs/status", &theirs).await?;
    let condition = json!({"type": "CustomCondition", "status": "True"});
    let status = json!({"status": {"conditions": [condition]}});
    objects.merge("pods", "theirs-0/status", &status).await?;
    start(&objects, "ours", json!({}), 1).await?;
    end(&objects, "ours", "Succeeded", 1).await?;
    has_ended_so(&objects, "ours", COMPLETE, "CompletionsReached").await?;
    let pod = objects.get("pods", "theirs-0").await?;
    ensure!(is_tracked(&pod), "{}", pod["metadata"]);
    objects.merge("pods", "theirs-0", &json!({"metadata": {"finalizers": null}})).await
}

/// TestImmediateJobRecreation: the failures of the last one delay nothing.
pub(super) async fn recreated_at_once(objects: Objects) -> anyhow::Result<()> {
    let first = start(&objects, "name", json!({}), 1).await?;
    end(&objects, "name", "Failed", 1).await?;
    says(&objects, "name", &json!({"failed": 1, "active": 0})).await?;
    objects.delete(JOBS, "name").await?;
    objects.gone(JOBS, "name").await?;
    let next = start(&objects, "name", json!({}), 1).await?;
    ensure!(first["metadata"]["uid"] != next["metadata"]["uid"], "it is another one");
    says(&objects, "name", &json!({"active": 1, "failed": 0})).await?;
    end(&objects, "name", "Succeeded", 1).await?;
    has_ended_so(&objects, "name", COMPLETE, "CompletionsReached").await?;
    says(&objects, "name", &json!({"succeeded": 1, "failed": 0})).await
}

/// TestOrphanPodsFinalizersClearedWithGC.
pub(super) async fn orphans_lose_their_finalizers(objects: Objects) -> anyhow::Result<()> {
    for (name, policy) in
        [("left", "Orphan"), ("background", "Background"), ("foreground", "Foreground")]
    {
        start(&objects, name, json!({"parallelism": 2}), 2).await?;
        objects.delete_with(JOBS, name, &json!({"propagationPolicy": policy})).await?;
        objects.gone(JOBS, name).await?;
        if policy == "Orphan" {
            none_is_tracked(&objects, name).await?;
            let owners = |pod: &Value| pod["metadata"]["ownerReferences"].clone();
            let owners: Vec<_> = pods(&objects, name).await?.iter().map(owners).collect();
            ensure!(owners == [Value::Null, Value::Null], "{owners:?}");
        } else {
            none_is_left(&objects, name).await?;
        }
    }
    // One that loses its labels is let go, and another one is made.
    start(&objects, "keeps", json!({}), 1).await?;
    let pod = one(&objects, "keeps").await?;
    let labels = json!({"metadata": {"labels": {"batch.kubernetes.io/controller-uid": null}}});
    objects.merge("pods", &pod, &labels).await?;
    let is_free = |it: &Value| it["metadata"]["ownerReferences"].is_null() && !is_tracked(it);
    objects.wait("pods", &pod, "to be let go", is_free).await?;
    says(&objects, "keeps", &json!({"active": 1, "failed": 0})).await?;
    objects.delete(JOBS, "keeps").await
}

/// TestFinalizersClearedWhenBackoffLimitExceeded, TestJobFailedWithInterrupts: pods that are
/// deleted at the same time count as failed.
pub(super) async fn finalizers_go_when_the_limit_is_exceeded(
    objects: Objects,
) -> anyhow::Result<()> {
    let more = json!({"parallelism": 50, "completions": 50, "backoffLimit": 0});
    start(&objects, "many", more, 50).await?;
    for pod in running(&objects, "many").await?.iter().take(5) {
        objects.delete("pods", &name_of(pod)).await?;
    }
    has_ended_so(&objects, "many", FAILED, "BackoffLimitExceeded").await?;
    says(&objects, "many", &json!({"failed": 50, "active": 0})).await
}

async fn none_is_left(objects: &Objects, name: &str) -> anyhow::Result<()> {
    wait_until(&format!("the pods of {name} to be deleted"), LIMIT, async || {
        Ok(pods(objects, name).await?.is_empty().then_some(()))
    })
    .await
}
