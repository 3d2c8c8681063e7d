//! Failures by index: TestSyncJobWithJobBackoffLimitPerIndex in upstream's
//! `job_controller_test.go`, and the pods that are made.

use controller::fixture::with;
use serde_json::{Value, json};

use super::world::{FINALIZER, World};

/// Pods as `0:f`, each with how often its index failed before and its exit code.
fn world(spec: Value, pods: &[(&str, &str, i64)]) -> World {
    let common = json!({"parallelism": 2, "completions": 2, "completionMode": "Indexed",
        "backoffLimit": i32::MAX, "backoffLimitPerIndex": 1});
    let phases: Vec<_> = pods.iter().map(|(pod, ..)| *pod).collect();
    let mut world = World::new(with(common, spec), &phases.join(" "));
    for (pod, (_, failures, code)) in world.pods.values_mut().zip(pods) {
        pod["metadata"]["annotations"]["batch.kubernetes.io/job-index-failure-count"] =
            (*failures).into();
        if *code > 0 {
            pod["status"]["containerStatuses"][0]["state"]["terminated"]["exitCode"] =
                (*code).into();
        }
    }
    world
}

fn rule(action: &str) -> Value {
    json!({"podFailurePolicy": {"rules": [
        {"action": action, "onExitCodes": {"operator": "In", "values": [3]}}]}})
}

#[test]
fn indexes_fail_on_their_own() {
    for (name, spec, pods, expected) in [
        (
            "successful job after a single failure within index",
            json!({}),
            &[("0:f", "0", 0), ("0:s", "1", 0), ("1:s", "0", 0)][..],
            "creates 0, deletes 0, patches 3; active 0, ready 0, succeeded 2, failed 1, completed \
             0,1, failed indexes ; SuccessCriteriaMet True; Complete True",
        ),
        (
            "single failed pod replaced already",
            json!({}),
            &[("0:f", "0", 0), ("0:p", "1", 0)],
            "creates 1 (1), deletes 0, patches 1; active 2, ready 0, succeeded 0, failed 1, failed \
             indexes ",
        ),
        (
            "single failed index due to exceeding the backoff limit per index, the job continues",
            json!({}),
            &[("0:f", "1", 0)],
            "creates 1 (1), deletes 0, patches 1; active 1, ready 0, succeeded 0, failed 1, failed \
             indexes 0",
        ),
        (
            "single failed index due to FailIndex action, the job continues",
            rule("FailIndex"),
            &[("0:f", "0", 3)],
            "creates 1 (1), deletes 0, patches 1; active 1, ready 0, succeeded 0, failed 1, failed \
             indexes 0",
        ),
        (
            "job failed index due to FailJob action",
            rule("FailJob"),
            &[("0:f", "0", 3)],
            "creates 0, deletes 0, patches 1; active 0, ready 0, succeeded 0, failed 1, failed \
             indexes ; FailureTarget True; Failed True",
        ),
        (
            "job failed due to exceeding backoffLimit before backoffLimitPerIndex",
            json!({"backoffLimit": 1}),
            &[("0:f", "0", 0), ("1:f", "0", 0)],
            "creates 0, deletes 0, patches 2; active 0, ready 0, succeeded 0, failed 2, failed \
             indexes ; FailureTarget True; Failed True",
        ),
        (
            "job failed due to failed indexes",
            json!({}),
            &[("0:f", "1", 0), ("1:s", "0", 0)],
            "creates 0, deletes 0, patches 2; active 0, ready 0, succeeded 1, failed 1, completed \
             1, failed indexes 0; FailureTarget True; Failed True",
        ),
        (
            "job failed due to exceeding max failed indexes",
            json!({"parallelism": 4, "completions": 4, "maxFailedIndexes": 1}),
            &[("0:f", "1", 0), ("1:s", "0", 0), ("2:f", "1", 0), ("3:r", "0", 0)],
            "creates 0, deletes 1, patches 4; active 0, ready 0, succeeded 1, failed 3, completed \
             1, failed indexes 0,2; FailureTarget True",
        ),
    ] {
        let mut world = world(spec, pods);
        world.settle();
        assert_eq!(world.text(), expected, "{name}");
    }
}

/// "single failed pod, not counted as the replacement pod creation is delayed", and what becomes of
/// it: the failed pod stays until its successor is active, which knows how often the index failed.
#[test]
fn a_failed_pod_stays_until_its_successor_is_active() {
    let mut world = world(json!({}), &[("0:f", "0", 0)]);
    assert!(world.sync());
    let start = "creates 2 (0,1), deletes 0, patches 0; active 2, ready 0, succeeded 0, failed 0, \
        failed indexes ";
    assert_eq!(world.text(), start);
    let annotation = |name: &str| world.pods[name]["metadata"]["annotations"].clone();
    assert_eq!(
        annotation("foobar-0-1"),
        json!({"batch.kubernetes.io/job-completion-index": "0",
            "batch.kubernetes.io/job-index-failure-count": "1"})
    );
    world.settle();
    assert!(world.text().contains("patches 1; active 2, ready 0, succeeded 0, failed 1"));
}

/// "job pod failure ignored due to matching Ignore action".
#[test]
fn an_ignored_failure_is_counted_apart() {
    let mut world = world(rule("Ignore"), &[("0:f", "0", 3)]);
    world.settle();
    assert!(world.text().contains("patches 1; active 2, ready 0, succeeded 0, failed 0"));
    assert_eq!(
        world.pods["foobar-0-1"]["metadata"]["annotations"],
        json!({"batch.kubernetes.io/job-completion-index": "0",
            "batch.kubernetes.io/job-index-failure-count": "0",
            "batch.kubernetes.io/job-index-ignored-failure-count": "1"})
    );
}

/// "replacement pod creation delayed by per-index backoff while another index runs".
#[test]
fn an_index_waits_on_its_own() {
    let mut world = world(json!({}), &[("0:r", "0", 0), ("1:r", "0", 0)]);
    world.settle();
    world.exits("pod-001", 1);
    world.settle();
    assert_eq!(world.creates, [0_i64; 0]);
    assert_eq!(world.why(), "index 1 has failed: its next pod is made in 10s; again in 10s");
    let facts = super::super::report::summary(&world.snapshot());
    let waits = facts.iter().find(|(name, _)| *name == "waits").unwrap();
    assert_eq!(waits.1, "index 1 for 10s, since pod pod-001 failed");
    world.seconds = 10;
    world.settle();
    assert_eq!(world.creates, [1]);
}

/// The pods of indexed Jobs: `addCompletionIndexEnvVariables`, TestPodGenerateNameWithIndex.
#[test]
fn a_pod_knows_its_index() {
    let containers = json!([{"name": "a"}, {"name": "b", "env": [{"name": "X", "value": "1"}]},
        {"name": "c", "env": [{"name": "JOB_COMPLETION_INDEX", "value": "mine"}]}]);
    let template = json!({
        "metadata": {"labels": {"foo": "bar"}, "annotations": {"note": "x"},
            "finalizers": ["example.com/mine"]},
        "spec": {"containers": containers, "initContainers": [{"name": "i"}], "newField": {"a": 1}},
    });
    let spec = json!({"parallelism": 1, "completions": 1, "completionMode": "Indexed",
        "template": template});
    let world = World::new(spec, "");
    let plan = world.plan();
    let [controller::Step::SlowStart(creates)] = plan.steps.as_slice() else { panic!("{plan}") };
    let pod = controller::fixture::body(creates[0].write().unwrap());
    let variable = json!({"name": "JOB_COMPLETION_INDEX", "valueFrom": {"fieldRef": {
        "fieldPath": "metadata.labels['batch.kubernetes.io/job-completion-index']"}}});
    let expected = json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {
            "generateName": "foobar-0-",
            "labels": {"foo": "bar", "batch.kubernetes.io/job-completion-index": "0"},
            "annotations": {"note": "x", "batch.kubernetes.io/job-completion-index": "0"},
            "finalizers": ["example.com/mine", FINALIZER],
            "ownerReferences": [{"apiVersion": "batch/v1", "kind": "Job", "name": "foobar",
                "uid": "u1", "controller": true, "blockOwnerDeletion": true}],
        },
        "spec": {
            "hostname": "foobar-0", "newField": {"a": 1}, "restartPolicy": "Never",
            "initContainers": [{"name": "i", "env": [variable]}],
            "containers": [
                {"name": "a", "env": [variable]},
                {"name": "b", "env": [{"name": "X", "value": "1"}, variable]},
                {"name": "c", "env": [{"name": "JOB_COMPLETION_INDEX", "value": "mine"}]},
            ],
        },
    });
    assert_eq!(pod, expected);
    let prefix = super::super::template::prefix;
    assert_eq!(prefix("indexed-job", 1), "indexed-job-1-");
    let long = "hhhhhooooo".repeat(7);
    let cut = "hhhhhooooohhhhhooooohhhhhooooohhhhhooooohhhhhooooohhhhh-1-";
    assert_eq!((prefix(&long, 1).as_str(), prefix(&long[..57], 1).as_str()), (cut, cut));
}
