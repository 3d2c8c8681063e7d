//! A manager that is stopped and started again: upstream's integration tests that do so, and those
//! for which another one is started in any case.

use std::cell::OnceCell;

use anyhow::{Context, ensure};
use cluster_tests::{Binary, Cluster, Manager, Objects, Options, User, wait_until};
use futures::FutureExt;
use futures::future::{LocalBoxFuture, try_join_all};
use serde_json::{Value, json};
use tokio::sync::Barrier;

use super::late::{Relay, events_come_after_those_of_pods};
use super::{
    ARGS, COMPLETE, FAILED, JOBS, LIMIT, becomes, change, condition, end, end_index, end_with,
    has_ended_so, is_tracked, job, one, pods, running, says, start, start_kept, unblock,
};

/// Of the API server alone: it keeps the groups of pods and serves them.
const WORKLOADS_SERVED: [&str; 2] =
    ["--feature-gates=GenericWorkload=true", "--runtime-config=scheduling.k8s.io/v1alpha2=true"];
/// Of the first manager alone. It is on by default.
const GATE_OFF: &str = "--feature-gates=MutableSchedulingDirectivesForSuspendedJobs=false";

/// What a scene does before, during and after the restart, in a namespace of its own.
type Case =
    (&'static str, for<'a> fn(Objects, &'a Restart) -> LocalBoxFuture<'a, anyhow::Result<()>>);

const CASES: [Case; 5] = [
    ("matched", |it, restart| the_pod_that_matched_is_deleted(it, restart).boxed_local()),
    ("suspended", |it, restart| suspended_meanwhile(it, restart).boxed_local()),
    ("interrupts", |it, restart| pods_end_meanwhile(it, restart).boxed_local()),
    ("start-time", |it, restart| a_gate_decides_over_the_start(it, restart).boxed_local()),
    ("gang", |it, restart| groups_are_the_templates(it, restart).boxed_local()),
];

/// The one restart that all scenes share.
struct Restart {
    step: Barrier,
}

impl Restart {
    /// Returns when the first manager has ended.
    async fn down(&self) {
        self.step.wait().await;
        self.step.wait().await;
    }

    /// Returns when the second one is started.
    async fn up(&self) {
        self.step.wait().await;
    }
}

/// Upstream restarts its controller in each of these tests. Its tests that switch gates while they
/// do so are about gates that are locked by now, but for one.
#[tokio::test]
async fn jobs_outlast_a_restart() -> anyhow::Result<()> {
    let apiserver_args = WORKLOADS_SERVED.map(str::to_owned).to_vec();
    let cluster =
        Cluster::start(Options { nodes: 1, apiserver_args, ..Options::default() }).await?;
    let relay = Relay::start(&cluster).await?;
    let binary = Binary::under_test()?;
    let args = [ARGS, &[GATE_OFF]].concat();
    let mut first = Manager::start(&cluster, binary, User::ControllerManager, &args)?;
    first.healthy().await?;
    let restart = Restart { step: Barrier::new(CASES.len() + 1) };
    let second = OnceCell::new();
    let scenes = CASES.map(|(name, case)| {
        let (cluster, restart) = (&cluster, &restart);
        async move {
            let objects = Objects::in_new(cluster, name).await?;
            case(objects, restart).await.context(name)
        }
    });
    let managers = async {
        restart.step.wait().await;
        first.sigterm()?;
        first.ended(LIMIT).await?;
        restart.step.wait().await;
        restart.step.wait().await;
        let through_relay = [ARGS, &[relay.flag()]].concat();
        let manager = Manager::start(&cluster, binary, User::Admin, &through_relay)?;
        ensure!(second.set(manager).is_ok(), "there is one restart");
        anyhow::Ok(())
    };
    let done = async { tokio::try_join!(managers, try_join_all(scenes)).map(drop) }.await;
    let log = || second.get().map_or_else(|| first.log(), Manager::log);
    done.with_context(log)?;
    let objects = Objects::in_new(&cluster, "late").await?;
    let second = second.get().context("a second manager")?;
    events_come_after_those_of_pods(&cluster, second, &relay, objects).await.with_context(log)
}

/// TestJobPodFailurePolicyWithFailedPodDeletedDuringControllerRestart: the first manager announces
/// the end, and waits for the other pods; the second one says the same, without the pod that
/// matched.
async fn the_pod_that_matched_is_deleted(
    objects: Objects,
    restart: &Restart,
) -> anyhow::Result<()> {
    let rules = json!([{"action": "FailJob", "onExitCodes": {"operator": "In", "values": [5]}}]);
    let more = json!({"parallelism": 3, "completions": 3, "podFailurePolicy": {"rules": rules}});
    start_kept(&objects, "code", more, 3).await?;
    let pod = one(&objects, "code").await?;
    end_with(&objects, &pod, "Failed", 5).await?;
    becomes(&objects, "code", "FailureTarget").await?;
    objects.wait("pods", &pod, "to be counted", |pod| !is_tracked(pod)).await?;
    says(&objects, "code", &json!({"active": 0, "failed": 3, "terminating": 2})).await?;
    restart.down().await;
    let job = objects.get(JOBS, "code").await?;
    ensure!(condition(&job, "Failed").is_null(), "it waits: {}", job["status"]);
    objects.delete("pods", &pod).await?;
    unblock(&objects, "code").await?;
    objects.gone("pods", &pod).await?;
    restart.up().await;
    let job = has_ended_so(&objects, "code", FAILED, "PodFailurePolicy").await?;
    let message = format!("Container main for pod matched/{pod} failed with exit code 5");
    for r#type in FAILED {
        let text = condition(&job, r#type)["message"].as_str().unwrap_or_default();
        ensure!(text.starts_with(&message), "{type}: {text}");
    }
    says(&objects, "code", &json!({"failed": 3, "succeeded": 0})).await
}

/// TestSuspendJobControllerRestart: nothing is written to a Job that is suspended already, and one
/// is suspended while no manager runs.
async fn suspended_meanwhile(objects: Objects, restart: &Restart) -> anyhow::Result<()> {
    let more = json!({"parallelism": 2, "completions": 4, "suspend": true});
    start(&objects, "held", more, 0).await?;
    let held = becomes(&objects, "held", "Suspended").await?;
    start(&objects, "runs", json!({"parallelism": 2, "completions": 2}), 2).await?;
    restart.down().await;
    change(&objects, "runs", json!({"suspend": true})).await?;
    restart.up().await;
    becomes(&objects, "runs", "Suspended").await?;
    says(&objects, "runs", &json!({"active": 0, "failed": 0, "terminating": 0})).await?;
    wait_until("the pods to be deleted", LIMIT, async || {
        Ok(objects.list("pods").await?.is_empty().then_some(()))
    })
    .await?;
    let still = objects.get(JOBS, "held").await?;
    ensure!(still == held, "nothing is to be done: {still}");
    change(&objects, "held", json!({"suspend": false})).await?;
    for succeeded in [0, 2] {
        says(&objects, "held", &json!({"active": 2, "succeeded": succeeded})).await?;
        end(&objects, "held", "Succeeded", 2).await?;
    }
    has_ended_so(&objects, "held", COMPLETE, "CompletionsReached").await.map(drop)
}

/// TestJobFailedWithInterrupts: the one that has failed counts, whatever became of the others.
async fn pods_end_meanwhile(objects: Objects, restart: &Restart) -> anyhow::Result<()> {
    let more = json!({"parallelism": 10, "completions": 10, "backoffLimit": 0});
    start(&objects, "ten", more, 10).await?;
    restart.down().await;
    end(&objects, "ten", "Failed", 1).await?;
    end(&objects, "ten", "Succeeded", 9).await?;
    restart.up().await;
    has_ended_so(&objects, "ten", FAILED, "BackoffLimitExceeded").await?;
    says(&objects, "ten", &json!({"failed": 1, "succeeded": 9})).await
}

/// TestMutableSchedulingDirectivesForSuspendedJobs, with the gate off and then on: a Job that is
/// suspended keeps its start with the gate off, until it is suspended once more.
async fn a_gate_decides_over_the_start(objects: Objects, restart: &Restart) -> anyhow::Result<()> {
    start(&objects, "paused", json!({"parallelism": 1}), 1).await?;
    let began = objects.get(JOBS, "paused").await?["status"]["startTime"].clone();
    ensure!(began.is_string(), "it runs");
    change(&objects, "paused", json!({"suspend": true})).await?;
    becomes(&objects, "paused", "Suspended").await?;
    restart.down().await;
    restart.up().await;
    let start_time = async || -> anyhow::Result<Value> {
        Ok(objects.get(JOBS, "paused").await?["status"]["startTime"].clone())
    };
    ensure!(start_time().await? == began, "it was suspended before");
    change(&objects, "paused", json!({"suspend": false})).await?;
    says(&objects, "paused", &json!({"active": 1})).await?;
    ensure!(start_time().await?.as_str() > began.as_str(), "it begins anew");
    change(&objects, "paused", json!({"suspend": true})).await?;
    let job = becomes(&objects, "paused", "Suspended").await?;
    ensure!(job["status"]["startTime"].is_null(), "{}", job["status"]);
    Ok(())
}

/// TestJobGangScheduling: what holds without the gate WorkloadWithJob. Pods are in the group that
/// the template names, before and after the restart, and nothing is made for the scheduler.
async fn groups_are_the_templates(objects: Objects, restart: &Restart) -> anyhow::Result<()> {
    let four = json!({"parallelism": 4, "completions": 4, "completionMode": "Indexed"});
    let mut grouped = job("grouped", four.clone());
    let group = json!({"podGroupName": "external"});
    grouped["spec"]["template"]["spec"]["schedulingGroup"] = group.clone();
    objects.create(JOBS, &grouped).await?;
    start(&objects, "alone", four, 4).await?;
    says(&objects, "grouped", &json!({"active": 4})).await?;
    restart.down().await;
    end_index(&objects, "grouped", 2, 1).await?;
    restart.up().await;
    says(&objects, "grouped", &json!({"active": 4, "failed": 1})).await?;
    for (name, group, count) in [("grouped", group, 5), ("alone", Value::Null, 4)] {
        let all = pods(&objects, name).await?;
        let is_so = |pod: &Value| pod["spec"]["schedulingGroup"] == group;
        ensure!(all.len() == count && all.iter().all(is_so), "{name}: {all:?}");
    }
    ensure!(running(&objects, "grouped").await?.len() == 4, "the other one is not made again");
    for resource in ["workloads", "podgroups"] {
        let all = objects.list(&format!("{resource}.v1alpha2.scheduling.k8s.io")).await?;
        ensure!(all.is_empty(), "{all:?}");
    }
    Ok(())
}
