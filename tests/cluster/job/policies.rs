//! What policies say of pods that end.

use anyhow::ensure;
use cluster_tests::Objects;
use serde_json::{Value, json};

use super::{
    COMPLETE, FAILED, condition, end_index, end_with, has_ended_so, indexes, is_tracked, one, pods,
    running, says, start,
};

/// TestJobPodFailurePolicy: a code that fails the Job, and one that counts.
pub(super) async fn failure(objects: Objects) -> anyhow::Result<()> {
    let rules = json!([
        {"action": "FailJob", "onExitCodes": {"containerName": "main", "operator": "In",
            "values": [5]}},
        {"action": "Count", "onExitCodes": {"operator": "In", "values": [6]}},
    ]);
    let more = json!({"parallelism": 1, "podFailurePolicy": {"rules": rules}});
    start(&objects, "code", more, 1).await?;
    let pod = one(&objects, "code").await?;
    end_with(&objects, &pod, "Failed", 6).await?;
    says(&objects, "code", &json!({"active": 1, "failed": 1})).await?;
    let pod = one(&objects, "code").await?;
    end_with(&objects, &pod, "Failed", 5).await?;
    let job = has_ended_so(&objects, "code", FAILED, "PodFailurePolicy").await?;
    let message = format!(
        "Container main for pod failure-policy/{pod} failed with exit code 5 matching FailJob rule \
         at index 0"
    );
    ensure!(condition(&job, "Failed")["message"] == message, "{}", job["status"]);
    says(&objects, "code", &json!({"failed": 2})).await
}

/// TestJobPodFailurePolicy: a condition that is ignored.
pub(super) async fn ignored(objects: Objects) -> anyhow::Result<()> {
    let on = json!([{"type": "DisruptionTarget"}]);
    let rules = json!([{"action": "Ignore", "onPodConditions": on}]);
    let more = json!({"backoffLimit": 0, "podFailurePolicy": {"rules": rules}});
    start(&objects, "evicted", more, 1).await?;
    let pod = one(&objects, "evicted").await?;
    let condition = json!({"type": "DisruptionTarget", "status": "True",
        "lastTransitionTime": "2026-01-01T00:00:00Z"});
    let status = json!({"status": {"phase": "Failed", "conditions": [condition]}});
    objects.merge("pods", &format!("{pod}/status"), &status).await?;
    says(&objects, "evicted", &json!({"active": 1, "failed": 0})).await?;
    let next = one(&objects, "evicted").await?;
    ensure!(next != pod, "another one runs");
    end_with(&objects, &next, "Succeeded", 0).await?;
    has_ended_so(&objects, "evicted", COMPLETE, "CompletionsReached").await?;
    says(&objects, "evicted", &json!({"succeeded": 1, "failed": 0})).await
}

/// TestSuccessPolicy: indexes, a number of them, and both.
pub(super) async fn success(objects: Objects) -> anyhow::Result<()> {
    let rows: [(&str, Value, &[u32], &str); 3] = [
        ("indexes", json!([{"succeededIndexes": "1"}]), &[1], "1"),
        ("number", json!([{"succeededCount": 2}]), &[0, 2], "0,2"),
        ("both", json!([{"succeededIndexes": "0-2", "succeededCount": 1}]), &[2], "2"),
    ];
    for (name, rules, done, completed) in rows {
        let more = json!({"parallelism": 3, "completions": 3, "completionMode": "Indexed",
            "successPolicy": {"rules": rules}});
        start(&objects, name, more, 3).await?;
        for index in done {
            end_index(&objects, name, *index, 0).await?;
        }
        let job = has_ended_so(&objects, name, COMPLETE, "SuccessPolicy").await?;
        let status = &job["status"];
        ensure!(condition(&job, "Complete")["message"] == "Matched rules at index 0", "{status}");
        ensure!(status["completedIndexes"] == completed && status["failed"].is_null(), "{status}");
        ensure!(running(&objects, name).await?.is_empty(), "{name}: the others are deleted");
    }
    Ok(())
}

/// TestBackoffLimitPerIndex, TestBackoffLimitPerIndex_DelayedPodDeletion,
/// TestBackoffLimitPerIndex_JobPodsCreatedWithExponentialBackoff.
pub(super) async fn per_index(objects: Objects) -> anyhow::Result<()> {
    let more = json!({"parallelism": 3, "completions": 3, "completionMode": "Indexed",
        "backoffLimitPerIndex": 1});
    start(&objects, "each", more, 3).await?;
    end_index(&objects, "each", 0, 1).await?;
    // It keeps its finalizer until its index has another one.
    says(&objects, "each", &json!({"active": 2, "failed": 0})).await?;
    says(&objects, "each", &json!({"active": 3, "failed": 1, "failedIndexes": ""})).await?;
    let count = |pod: &Value| {
        pod["metadata"]["annotations"]["batch.kubernetes.io/job-index-failure-count"].clone()
    };
    let mut counts: Vec<_> = running(&objects, "each").await?.iter().map(count).collect();
    counts.sort_by_key(ToString::to_string);
    ensure!(counts == ["0", "0", "1"], "{counts:?}");
    end_index(&objects, "each", 0, 1).await?;
    says(&objects, "each", &json!({"active": 2, "failed": 2, "failedIndexes": "0"})).await?;
    ensure!(indexes(&objects, "each").await? == ["1", "2"], "index 0 is given up");
    let tracked = pods(&objects, "each").await?.iter().filter(|pod| is_tracked(pod)).count();
    ensure!(tracked == 2, "{tracked} pods have the finalizer, 2 run");
    for index in [1, 2] {
        end_index(&objects, "each", index, 0).await?;
    }
    let job = has_ended_so(&objects, "each", FAILED, "FailedIndexes").await?;
    ensure!(condition(&job, "Failed")["message"] == "Job has failed indexes", "{}", job["status"]);
    says(&objects, "each", &json!({"succeeded": 2, "failed": 2, "completedIndexes": "1,2"})).await
}

/// TestBackoffLimitPerIndex: maxFailedIndexes, and the action FailIndex.
pub(super) async fn fail_index(objects: Objects) -> anyhow::Result<()> {
    let rules = json!([{"action": "FailIndex", "onExitCodes": {"operator": "In", "values": [13]}}]);
    let more = json!({"parallelism": 4, "completions": 4, "completionMode": "Indexed",
        "backoffLimitPerIndex": 5, "maxFailedIndexes": 1, "podFailurePolicy": {"rules": rules}});
    start(&objects, "corrupt", more, 4).await?;
    end_index(&objects, "corrupt", 3, 13).await?;
    says(&objects, "corrupt", &json!({"active": 3, "failed": 1, "failedIndexes": "3"})).await?;
    end_index(&objects, "corrupt", 1, 13).await?;
    let job = has_ended_so(&objects, "corrupt", FAILED, "MaxFailedIndexesExceeded").await?;
    ensure!(job["status"]["failedIndexes"] == "1,3", "{}", job["status"]);
    ensure!(running(&objects, "corrupt").await?.is_empty(), "the others are deleted");
    Ok(())
}
