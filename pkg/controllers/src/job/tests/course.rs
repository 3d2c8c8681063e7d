//! A Job over several syncs: back-off, deadlines, suspension, failures of writes.

use controller::Verb;
use controller::fixture::{NOW, with};
use serde_json::{Value, json};

use super::world::World;

fn run(spec: Value, pods: &str) -> World {
    let mut world = World::new(spec, pods);
    world.settle();
    world
}

/// TestJobBackoff, and "too few active pods and active back-off with running pods".
#[test]
fn the_next_pod_waits_longer_after_each_failure() {
    let mut world = run(json!({"parallelism": 1, "completions": 1, "backoffLimit": 6}), "");
    for (failures, wait) in [(1, 10), (2, 20), (3, 40)] {
        let pod = world.pods.keys().last().unwrap().clone();
        world.exits(&pod, 1);
        world.settle();
        assert_eq!(world.creates.len(), failures);
        let why = format!(
            "failures in a row: {failures}; the next pod is made in {wait}s; again in {wait}s"
        );
        assert_eq!(world.why(), why);
        world.seconds += wait - 1;
        assert!(!world.sync(), "not yet");
        world.seconds += 1;
        world.settle();
        assert_eq!(world.creates.len(), failures + 1);
    }
}

/// A new leader knows of no failures before its time, as upstream's.
#[test]
fn the_record_is_of_one_job() {
    let mut world = run(json!({"parallelism": 1, "completions": 2, "backoffLimit": 6}), "f r");
    world.job["metadata"]["uid"] = "u2".into();
    assert_eq!(world.snapshot().record, super::super::backoff::Record::default());
}

/// TestSyncJobPastDeadline.
#[test]
fn a_job_ends_at_its_deadline() {
    let spec = json!({"parallelism": 2, "completions": 5, "backoffLimit": 6,
        "activeDeadlineSeconds": 15});
    let mut world = run(spec, "r R s");
    assert_eq!(world.why(), "2 pods are active, as asked for; again in 15s");
    world.seconds = 15;
    assert!(world.sync());
    let text = "creates 0, deletes 2, patches 3; active 0, ready 0, succeeded 1, failed 0; \
        FailureTarget True";
    assert_eq!(world.text(), text);
    assert_eq!(
        world.job["status"]["uncountedTerminatedPods"],
        json!({"failed": ["uid-pod-000", "uid-pod-001"]})
    );
    // It waits for its pods to end.
    world.settle();
    assert_eq!(
        world.why(),
        "DeadlineExceeded: Job was active longer than specified deadline; waiting for 2 pods to end"
    );
    assert_eq!(world.events, [""; 0]);
    world.kubelets();
    world.settle();
    assert!(world.text().ends_with("failed 2; FailureTarget True; Failed True"));
    assert_eq!(world.events, ["DeadlineExceeded Job was active longer than specified deadline"]);
    assert!(world.job["status"]["completionTime"].is_null());
}

/// RejectCompletionTimeBeforeStartTime of the API server: a Job whose clock was set back since it
/// started ends nevertheless.
#[test]
fn a_job_does_not_end_before_it_started() {
    let mut world = run(json!({"parallelism": 1, "completions": 1, "backoffLimit": 6}), "r");
    world.seconds = -3600;
    world.exits("pod-000", 0);
    world.settle();
    assert!(world.text().ends_with("Complete True"), "{}", world.text());
    assert_eq!(world.job["status"]["completionTime"], NOW);
}

/// A suspended Job has no deadline, and one that is resumed begins anew.
#[test]
fn a_job_is_suspended_and_resumed() {
    let spec = json!({"parallelism": 2, "completions": 4, "backoffLimit": 6,
        "activeDeadlineSeconds": 60});
    let mut world = run(spec, "R r");
    assert_eq!(world.job["status"]["startTime"], NOW);
    world.job["spec"]["suspend"] = true.into();
    world.seconds = 50;
    assert!(world.sync());
    assert!(world.text().ends_with(
        "deletes 2, patches 2; active 0, ready 0, succeeded 0, failed 0; Suspended True"
    ));
    assert!(world.job["status"]["startTime"].is_null());
    world.kubelets();
    world.settle();
    assert_eq!(world.why(), "the Job is suspended");
    world.job["spec"]["suspend"] = false.into();
    world.seconds = 100;
    world.settle();
    assert_eq!(world.job["status"]["startTime"], "2024-05-01T12:01:40Z");
    assert!(world.text().ends_with("succeeded 0, failed 0; Suspended False"));
    assert_eq!(world.events, ["Suspended Job suspended", "Resumed Job resumed"]);

    // Nor do pods that are refused keep it from being said, as with upstream's `manageJobErr`.
    world.job["spec"]["suspend"] = true.into();
    world.refuses = |write| matches!(write.verb, Verb::Delete(_));
    world.sync_times(3);
    assert!(world.text().ends_with("Suspended True"), "{}", world.text());
    world.refuses = |_| false;
    world.settle();
    world.kubelets();
    world.settle();
    world.job["spec"]["suspend"] = false.into();
    world.refuses = |write| matches!(write.verb, Verb::Create(_));
    world.seconds = 200;
    world.sync();
    assert!(world.text().ends_with("Suspended False"), "{}", world.text());
    assert_eq!(world.job["status"]["startTime"], "2024-05-01T12:03:20Z");
    world.seconds = 205;
    world.refuses = |_| false;
    world.settle();
    assert_eq!(world.job["status"]["startTime"], "2024-05-01T12:03:20Z", "not once more");
    assert_eq!(world.events[2..], ["Suspended Job suspended", "Resumed Job resumed"]);

    // Without the gate the start stays.
    let mut world = run(json!({"parallelism": 1, "completions": 1}), "r");
    world.options.resets_start_time = false;
    world.job["spec"]["suspend"] = true.into();
    world.settle();
    assert_eq!(world.job["status"]["startTime"], NOW);
}

/// Pods that have ended are written down before anything else is tried, and stay so.
#[test]
fn a_refused_creation_keeps_nothing_from_being_counted() {
    let mut world = World::new(json!({"parallelism": 2, "completions": 5}), "r s");
    world.refuses = |write| matches!(write.verb, Verb::Create(_));
    world.sync_times(3);
    assert!(world.text().ends_with("patches 1; active 1, ready 0, succeeded 1, failed 0"));
    // "too few active pods, with controller error": what could not be done is not counted.
    let mut world = World::new(json!({"parallelism": 2, "completions": 5}), "r s");
    world.refuses = |write| matches!(write.verb, Verb::Create(_) | Verb::Patch(_));
    world.sync_times(3);
    assert!(world.text().contains("patches 0; active 1, ready 0, succeeded 0, failed 0"));
    assert_eq!(
        world.job["status"]["uncountedTerminatedPods"],
        json!({"succeeded": ["uid-pod-001"]})
    );
}

/// `manageJob`: of a batch in which a pod is refused, those that were created are active; and the
/// sync counts as what it was about, also where there is nothing to create or to delete.
#[test]
fn pods_beside_a_refused_one_are_active() {
    let spec = json!({"parallelism": 4, "completions": 4, "completionMode": "Indexed"});
    let mut world = World::new(spec, "");
    world.refuses = |write| matches!(&write.verb, Verb::Create(body) if body.contains("foobar-2-"));
    world.sync();
    assert_eq!(world.creates, [0, 1, 3]);
    assert_eq!(world.job["status"]["active"], 3);
    assert_eq!(world.counted_as(), "pods_created");
    let world = World::new(json!({"parallelism": 1, "suspend": true}), "");
    assert_eq!(world.counted_as(), "pods_deleted");
    let world = World::new(json!({"parallelism": 1, "completions": 1}), "r");
    assert_eq!(world.counted_as(), "tracking");
}

/// "too many active pods, with controller error", and a Job that cannot end: it is not said that it
/// will before its pods are being deleted.
#[test]
fn a_job_does_not_end_before_its_pods_are_deleted() {
    let mut world =
        World::new(json!({"parallelism": 2, "completions": 3, "backoffLimit": 0}), "r f");
    world.refuses = |write| matches!(write.verb, Verb::Delete(_));
    world.sync_times(3);
    assert_eq!(
        world.text(),
        "creates 0, deletes 0, patches 0; active 1, ready 0, succeeded 0, failed 0"
    );
    world.refuses = |_| false;
    world.settle();
    assert!(world.text().ends_with(
        "patches 2; active 0, ready 0, succeeded 0, failed 2; \
        FailureTarget True"
    ));
}

/// Whenever the process ends between two writes, the next one counts each pod once.
#[test]
fn a_takeover_between_two_writes_counts_each_pod_once() {
    for stop in 0..6 {
        let mut world = World::new(json!({"parallelism": 3, "completions": 3}), "s s f");
        let refused: fn(&controller::Write) -> bool = match stop {
            0 => |write| write.subresource.is_some(),
            1 => |write| matches!(write.verb, Verb::Patch(_)),
            2 => |write| write.object.key.name == "pod-001".into(),
            3 => |write| write.object.key.name == "pod-002".into(),
            4 => |write| matches!(write.verb, Verb::Create(_)),
            _ => |_| false,
        };
        world.refuses = refused;
        world.sync();
        world.backoffs = super::super::Backoffs::default();
        world.refuses = |_| false;
        world.settle();
        world.settle();
        assert!(world.text().contains("succeeded 2, failed 1"), "{stop}: {}", world.text());
    }
}

/// TestSyncJobWhenManagedBy, TestSyncJobComplete, and what cannot be read.
#[test]
fn some_jobs_are_left_alone() {
    let mut world = World::new(json!({"managedBy": "example.com/custom"}), "r s");
    assert!(!world.sync());
    assert_eq!(world.why(), "another controller manages the Job: example.com/custom");
    let world = World::new(json!({"managedBy": "kubernetes.io/job-controller"}), "");
    assert_eq!(world.why(), "creating 1 pods");
    let mut world = World::new(json!({}), "r");
    world.job["status"] = json!({"conditions": [{"type": "Failed", "status": "True"}]});
    assert!(!world.sync());
    assert_eq!(world.why(), "the Job has finished: Failed");
    let mut world = World::new(json!({"completionMode": "Random"}), "");
    assert!(!world.sync());
    let said = "UnknownCompletionMode Skipped Job sync because completion mode is unknown";
    assert_eq!(world.events, [said]);
    let mut world = World::new(json!({}), "r");
    world.job["spec"]["selector"] = json!({});
    assert!(!world.sync());
    assert_eq!(world.why(), "the selector is empty");
}

/// TestJobBackoffForOnFailure: all containers of pods that have not ended, together.
#[test]
fn restarts_in_place_count_towards_the_limit() {
    for (limit, phase, restarts, ends) in [
        (0, "r", 0, false),
        (0, "r", 1, true),
        (3, "r", 2, false),
        (3, "p", 3, true),
        (3, "t", 3, true),
        (3, "s", 9, false),
    ] {
        let template = json!({"spec": {"restartPolicy": "OnFailure"}});
        let spec = json!({"parallelism": 1, "completions": 2, "backoffLimit": limit,
            "podReplacementPolicy": "Failed", "template": template});
        let mut world = World::new(spec, phase);
        world.pods.get_mut("pod-000").unwrap()["status"]["initContainerStatuses"] =
            json!([{"name": "i", "state": {}, "restartCount": restarts}]);
        let ending = world.why().contains("BackoffLimitExceeded");
        assert_eq!(ending, ends, "{limit} {phase} {restarts}");
    }
}

/// Indexes are cut and come back as `completions` changes: elastic indexed Jobs.
#[test]
fn an_indexed_job_is_elastic() {
    let spec = json!({"parallelism": 3, "completions": 3, "completionMode": "Indexed"});
    let mut world = run(spec, "0:s 1:s 2:r");
    assert!(world.text().ends_with("active 1, ready 0, succeeded 2, failed 0, completed 0,1"));
    world.job["spec"] =
        with(world.job["spec"].clone(), json!({"parallelism": 1, "completions": 1}));
    world.settle();
    assert!(world.text().contains("succeeded 1, failed 0, completed 0; SuccessCriteriaMet True"));
    assert_eq!(world.deletes, 1);
}

/// More pods than a status can name are counted in several syncs.
#[test]
fn at_most_five_hundred_pods_are_counted_at_once() {
    let spec = json!({"parallelism": 1200, "completions": 1200});
    let mut world = World::new(spec, &"s ".repeat(1200));
    assert!(world.sync());
    assert_eq!((world.patches, world.updates), (500, 1));
    world.settle();
    assert_eq!((world.patches, world.job["status"]["succeeded"].clone()), (1200, json!(1200)));
    assert!(world.text().ends_with("Complete True"));
    assert_eq!(world.events, ["Completed Job completed"]);
}
