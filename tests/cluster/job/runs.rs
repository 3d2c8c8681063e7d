//! How many pods run, and which.

use anyhow::ensure;
use cluster_tests::{Objects, wait_until};
use serde_json::{Value, json};

use super::{
    COMPLETE, FINALIZER, JOBS, LIMIT, becomes, change, condition, end, end_index, has_ended_so,
    indexes, is_tracked, job, name_of, pods, running, says, start, start_kept, unblock,
};

/// TestNonParallelJob.
pub(super) async fn one_pod(objects: Objects) -> anyhow::Result<()> {
    let made = start(&objects, "one", json!({}), 1).await?;
    let pod = pods(&objects, "one").await?.swap_remove(0);
    let owner = json!([{"apiVersion": "batch/v1", "kind": "Job", "name": "one",
        "uid": made["metadata"]["uid"], "controller": true, "blockOwnerDeletion": true}]);
    ensure!(pod["metadata"]["ownerReferences"] == owner, "{}", pod["metadata"]);
    ensure!(pod["metadata"]["finalizers"] == json!([FINALIZER]), "{}", pod["metadata"]);
    end(&objects, "one", "Failed", 1).await?;
    says(&objects, "one", &json!({"active": 1, "failed": 1})).await?;
    end(&objects, "one", "Succeeded", 1).await?;
    has_ended_so(&objects, "one", COMPLETE, "CompletionsReached").await?;
    says(&objects, "one", &json!({"succeeded": 1, "failed": 1, "ready": 0})).await
}

/// TestParallelJob, TestParallelJobChangingParallelism.
pub(super) async fn without_completions(objects: Objects) -> anyhow::Result<()> {
    start(&objects, "queue", json!({"parallelism": 4}), 4).await?;
    change(&objects, "queue", json!({"parallelism": 2})).await?;
    says(&objects, "queue", &json!({"active": 2, "failed": 0})).await?;
    change(&objects, "queue", json!({"parallelism": 5})).await?;
    says(&objects, "queue", &json!({"active": 5})).await?;
    for pod in running(&objects, "queue").await?.iter().take(2) {
        let ready = json!({"type": "Ready", "status": "True",
            "lastTransitionTime": pod["metadata"]["creationTimestamp"]});
        let status = json!({"status": {"phase": "Running", "conditions": [ready]}});
        objects.merge("pods", &format!("{}/status", name_of(pod)), &status).await?;
    }
    says(&objects, "queue", &json!({"active": 5, "ready": 2})).await?;
    end(&objects, "queue", "Failed", 2).await?;
    says(&objects, "queue", &json!({"active": 5, "failed": 2})).await?;
    // Once one has succeeded no more are made.
    end(&objects, "queue", "Succeeded", 1).await?;
    says(&objects, "queue", &json!({"active": 4, "failed": 2, "succeeded": 1})).await?;
    end(&objects, "queue", "Failed", 2).await?;
    says(&objects, "queue", &json!({"active": 2, "failed": 4, "succeeded": 1})).await?;
    end(&objects, "queue", "Succeeded", 2).await?;
    has_ended_so(&objects, "queue", COMPLETE, "CompletionsReached").await?;
    says(&objects, "queue", &json!({"failed": 4, "succeeded": 3})).await
}

/// TestParallelJobWithCompletions.
pub(super) async fn with_completions(objects: Objects) -> anyhow::Result<()> {
    let more = json!({"parallelism": 6, "completions": 5});
    start(&objects, "five", more, 5).await?;
    end(&objects, "five", "Failed", 2).await?;
    says(&objects, "five", &json!({"active": 5, "failed": 2})).await?;
    end(&objects, "five", "Succeeded", 3).await?;
    says(&objects, "five", &json!({"active": 2, "failed": 2, "succeeded": 3})).await?;
    end(&objects, "five", "Succeeded", 2).await?;
    has_ended_so(&objects, "five", COMPLETE, "CompletionsReached").await?;
    says(&objects, "five", &json!({"failed": 2, "succeeded": 5})).await
}

/// TestIndexedJob.
pub(super) async fn indexed(objects: Objects) -> anyhow::Result<()> {
    let more = json!({"parallelism": 3, "completions": 4, "completionMode": "Indexed"});
    start(&objects, "four", more, 3).await?;
    ensure!(indexes(&objects, "four").await? == ["0", "1", "2"], "the first indexes");
    end_index(&objects, "four", 1, 0).await?;
    says(&objects, "four", &json!({"active": 3, "succeeded": 1, "completedIndexes": "1"})).await?;
    ensure!(indexes(&objects, "four").await? == ["0", "2", "3"], "the next index");
    end_index(&objects, "four", 2, 1).await?;
    says(&objects, "four", &json!({"active": 3, "succeeded": 1, "failed": 1})).await?;
    ensure!(indexes(&objects, "four").await? == ["0", "2", "3"], "the same index again");
    for index in [0, 2, 3] {
        end_index(&objects, "four", index, 0).await?;
    }
    let job = has_ended_so(&objects, "four", COMPLETE, "CompletionsReached").await?;
    ensure!(job["status"]["completedIndexes"] == "0-3", "{}", job["status"]);
    says(&objects, "four", &json!({"succeeded": 4, "failed": 1})).await
}

/// TestElasticIndexedJob: scale down, and up again; to zero.
pub(super) async fn elastic(objects: Objects) -> anyhow::Result<()> {
    let three = json!({"parallelism": 3, "completions": 3, "completionMode": "Indexed"});
    start(&objects, "ring", three.clone(), 3).await?;
    start(&objects, "ends", three, 3).await?;
    end_index(&objects, "ring", 2, 0).await?;
    says(&objects, "ring", &json!({"active": 2, "completedIndexes": "2"})).await?;
    change(&objects, "ring", json!({"parallelism": 2, "completions": 2})).await?;
    says(&objects, "ring", &json!({"active": 2, "completedIndexes": "", "succeeded": 0})).await?;
    change(&objects, "ring", json!({"parallelism": 3, "completions": 3})).await?;
    says(&objects, "ring", &json!({"active": 3})).await?;
    for index in 0..3 {
        end_index(&objects, "ring", index, 0).await?;
    }
    let job = has_ended_so(&objects, "ring", COMPLETE, "CompletionsReached").await?;
    ensure!(job["status"]["completedIndexes"] == "0-2", "{}", job["status"]);
    change(&objects, "ends", json!({"parallelism": 0, "completions": 0})).await?;
    has_ended_so(&objects, "ends", COMPLETE, "CompletionsReached").await?;
    says(&objects, "ends", &json!({"succeeded": 0, "failed": 0})).await
}

/// TestSuspendJob, TestStartTimeUpdateOnResume.
pub(super) async fn suspended(objects: Objects) -> anyhow::Result<()> {
    start(&objects, "waits", json!({"parallelism": 2, "suspend": true}), 0).await?;
    let job = becomes(&objects, "waits", "Suspended").await?;
    ensure!(condition(&job, "Suspended")["reason"] == "JobSuspended", "{}", job["status"]);
    ensure!(job["status"]["startTime"].is_null(), "{}", job["status"]);
    change(&objects, "waits", json!({"suspend": false})).await?;
    says(&objects, "waits", &json!({"active": 2})).await?;
    let job = objects.get(JOBS, "waits").await?;
    ensure!(condition(&job, "Suspended")["reason"] == "JobResumed", "{}", job["status"]);
    ensure!(job["status"]["startTime"].is_string(), "{}", job["status"]);
    change(&objects, "waits", json!({"suspend": true})).await?;
    let job = becomes(&objects, "waits", "Suspended").await?;
    ensure!(job["status"]["startTime"].is_null(), "{}", job["status"]);
    says(&objects, "waits", &json!({"active": 0, "failed": 0, "terminating": 0})).await?;
    change(&objects, "waits", json!({"suspend": false})).await?;
    says(&objects, "waits", &json!({"active": 2})).await?;
    end(&objects, "waits", "Succeeded", 2).await?;
    has_ended_so(&objects, "waits", COMPLETE, "CompletionsReached").await.map(drop)
}

/// TestSuspendJobWithZeroCompletions.
pub(super) async fn suspended_with_nothing_to_do(objects: Objects) -> anyhow::Result<()> {
    let more = json!({"completions": 0, "suspend": true});
    objects.create(JOBS, &job("nothing", more)).await?;
    has_ended_so(&objects, "nothing", COMPLETE, "CompletionsReached").await.map(drop)
}

/// TestNodeSelectorUpdate, TestMutableSchedulingDirectivesForSuspendedJobs: also of one that ran,
/// since it has no start any more.
pub(super) async fn directives_change_while_suspended(objects: Objects) -> anyhow::Result<()> {
    start(&objects, "moved", json!({"parallelism": 1}), 1).await?;
    let elsewhere = json!({"template": {"spec": {"nodeSelector": {"foo": "bar"}}}});
    ensure!(change(&objects, "moved", elsewhere.clone()).await.is_err(), "it runs");
    change(&objects, "moved", json!({"suspend": true})).await?;
    becomes(&objects, "moved", "Suspended").await?;
    wait_until("the pod to be deleted", LIMIT, async || {
        Ok(pods(&objects, "moved").await?.is_empty().then_some(()))
    })
    .await?;
    says(&objects, "moved", &json!({"active": 0, "terminating": 0})).await?;
    change(&objects, "moved", elsewhere).await?;
    change(&objects, "moved", json!({"suspend": false})).await?;
    says(&objects, "moved", &json!({"active": 1})).await?;
    let pods = running(&objects, "moved").await?;
    let selectors: Vec<_> = pods.iter().map(|pod| &pod["spec"]["nodeSelector"]["foo"]).collect();
    ensure!(selectors == ["bar"], "{selectors:?}");
    end(&objects, "moved", "Succeeded", 1).await?;
    has_ended_so(&objects, "moved", COMPLETE, "CompletionsReached").await.map(drop)
}

/// TestUpdateJobPodResources, TestMutablePodResourcesForSuspendedJobsNotYetStarted and
/// TestMutablePodResourcesWithPodReplacementPolicyFailed: pods that are being deleted have the old
/// resources, and are replaced when they are gone.
pub(super) async fn resources_change_while_suspended(objects: Objects) -> anyhow::Result<()> {
    let cpu = |cpu: &str| {
        let requests = json!({"cpu": cpu, "memory": "128Mi"});
        let container = json!({"name": "main", "image": "example.com/image",
            "resources": {"requests": requests}});
        json!({"template": {"spec": {"containers": [container]}}})
    };
    start(&objects, "unstarted", json!({"parallelism": 1, "suspend": true}), 0).await?;
    change(&objects, "unstarted", cpu("200m")).await?;
    let more = json!({"parallelism": 2, "completions": 2, "podReplacementPolicy": "Failed"});
    start_kept(&objects, "resized", more, 2).await?;
    ensure!(change(&objects, "resized", cpu("300m")).await.is_err(), "it runs");
    change(&objects, "resized", json!({"suspend": true})).await?;
    becomes(&objects, "resized", "Suspended").await?;
    says(&objects, "resized", &json!({"active": 0, "terminating": 2})).await?;
    change(&objects, "resized", cpu("300m")).await?;
    change(&objects, "resized", json!({"suspend": false})).await?;
    let job = objects.get(JOBS, "resized").await?;
    let is_resumed = |job: &Value| condition(job, "Suspended")["reason"] == "JobResumed";
    let name = name_of(&job);
    let job = objects.wait(JOBS, &name, "to be resumed", is_resumed).await?;
    ensure!(job["status"]["terminating"] == 2, "{}", job["status"]);
    ensure!(job["status"]["active"].is_null(), "not before they are gone: {}", job["status"]);
    unblock(&objects, "resized").await?;
    says(&objects, "resized", &json!({"active": 2, "terminating": 0})).await?;
    for pod in running(&objects, "resized").await? {
        let requests = &pod["spec"]["containers"][0]["resources"]["requests"];
        ensure!(requests["cpu"] == "300m", "{requests}");
    }
    end(&objects, "resized", "Succeeded", 2).await?;
    has_ended_so(&objects, "resized", COMPLETE, "CompletionsReached").await?;
    unblock(&objects, "resized").await
}

/// TestJobPodReplacementPolicy, with both policies.
pub(super) async fn replaced_while_or_after_ending(objects: Objects) -> anyhow::Result<()> {
    for (name, policy) in [("either", "TerminatingOrFailed"), ("failed", "Failed")] {
        let more = json!({"parallelism": 2, "completions": 2, "completionMode": "Indexed",
            "podReplacementPolicy": policy});
        start_kept(&objects, name, more, 2).await?;
        for pod in running(&objects, name).await? {
            objects.delete("pods", &name_of(&pod)).await?;
        }
        let while_ending = match policy {
            "Failed" => json!({"active": 0, "failed": 0, "terminating": 2}),
            _ => json!({"active": 2, "failed": 2, "terminating": 2}),
        };
        says(&objects, name, &while_ending).await?;
        let is_ending = |pod: &&Value| pod["metadata"]["deletionTimestamp"].is_string();
        for pod in pods(&objects, name).await?.iter().filter(is_ending) {
            let failed = json!({"status": {"phase": "Failed"}});
            objects.merge("pods", &format!("{}/status", name_of(pod)), &failed).await?;
        }
        says(&objects, name, &json!({"active": 2, "failed": 2, "terminating": 0})).await?;
        end(&objects, name, "Succeeded", 2).await?;
        has_ended_so(&objects, name, COMPLETE, "CompletionsReached").await?;
        unblock(&objects, name).await?;
    }
    Ok(())
}

/// TestJobPodsCreatedWithExponentialBackoff: ten seconds, then twenty.
pub(super) async fn pods_wait_longer_after_each_failure(objects: Objects) -> anyhow::Result<()> {
    start(&objects, "slower", json!({}), 1).await?;
    for failed in 1..=2 {
        end(&objects, "slower", "Failed", 1).await?;
        says(&objects, "slower", &json!({"active": 1, "failed": failed})).await?;
    }
    let made = |pod: &Value| {
        let text = pod["metadata"]["creationTimestamp"].as_str().unwrap_or_default().to_owned();
        api::Time::parse(&text).map_err(anyhow::Error::msg)
    };
    let pods = pods(&objects, "slower").await?;
    let mut times = pods.iter().map(made).collect::<anyhow::Result<Vec<_>>>()?;
    times.sort();
    let waits: Vec<_> = times.windows(2).map(|it| it[1].since(it[0]).as_secs()).collect();
    let is_right = waits.len() == 2 && waits[0] >= 9 && waits[1] >= 19;
    ensure!(is_right, "the pods came after {waits:?} seconds");
    ensure!(pods.iter().filter(|pod| is_tracked(pod)).count() == 1, "one runs");
    end(&objects, "slower", "Succeeded", 1).await?;
    has_ended_so(&objects, "slower", COMPLETE, "CompletionsReached").await.map(drop)
}
