//! Rows of TestControllerSyncJob in upstream's `job_controller_test.go`, with its numbers. Its sync
//! counts at once what has no finalizer any more; here the Job is synced until it rests.
//!
//! Left out are rows about expectations, which are the engine's, and about gates that cannot be
//! off any more. Conditions are those with all gates on: an end is announced first, and not reached
//! while pods are being deleted. Where pods are deleted first, others are made in the next sync.

use controller::fixture::{NOW, with};
use serde_json::{Value, json};

use super::world::World;

/// Name, spec, pods, what else holds, and what comes of it.
struct Row(&'static str, &'static str, &'static str, &'static str, &'static str);

#[test]
fn a_job_is_synced() {
    for Row(name, spec, pods, also, expected) in ROWS {
        let spec: Value = serde_json::from_str(spec).unwrap();
        let mut world = World::new(spec, pods);
        let more = match *also {
            "deleting" => json!({"metadata": {"deletionTimestamp": NOW}}),
            "suspended" => json!({"status": {"conditions": [{"type": "Suspended",
                "status": "True", "reason": "JobSuspended", "message": "Job suspended"}]}}),
            _ => json!({}),
        };
        world.job = with(world.job, more);
        world.settle();
        assert_eq!(world.text(), *expected, "{name}");
    }
}

const ROWS: &[Row] = &[
    Row(
        "job start",
        r#"{"parallelism": 2, "completions": 5, "backoffLimit": 6}"#,
        "",
        "",
        "creates 2, deletes 0, patches 0; active 2, ready 0, succeeded 0, failed 0",
    ),
    Row(
        "WQ job start",
        r#"{"parallelism": 2, "backoffLimit": 6}"#,
        "",
        "",
        "creates 2, deletes 0, patches 0; active 2, ready 0, succeeded 0, failed 0",
    ),
    Row(
        "pending pods",
        r#"{"parallelism": 2, "completions": 5, "backoffLimit": 6}"#,
        "p p",
        "",
        "creates 0, deletes 0, patches 0; active 2, ready 0, succeeded 0, failed 0",
    ),
    Row(
        "correct # of pods",
        r#"{"parallelism": 3, "completions": 5, "backoffLimit": 6}"#,
        "R R r",
        "",
        "creates 0, deletes 0, patches 0; active 3, ready 2, succeeded 0, failed 0",
    ),
    Row(
        "WQ job: correct # of pods",
        r#"{"parallelism": 2, "backoffLimit": 6}"#,
        "r r",
        "",
        "creates 0, deletes 0, patches 0; active 2, ready 0, succeeded 0, failed 0",
    ),
    Row(
        "too few active pods",
        r#"{"parallelism": 2, "completions": 5, "backoffLimit": 6}"#,
        "r s",
        "",
        "creates 1, deletes 0, patches 1; active 2, ready 0, succeeded 1, failed 0",
    ),
    Row(
        "WQ job: recreate pods when failed",
        r#"{"parallelism": 1, "backoffLimit": 6, "podReplacementPolicy": "Failed"}"#,
        "r f t",
        "",
        "creates 0, deletes 0, patches 1; active 1, ready 0, succeeded 0, failed 1",
    ),
    Row(
        "WQ job: turn on PodReplacementPolicy but not set PodReplacementPolicy",
        r#"{"parallelism": 1, "completions": 1, "backoffLimit": 6}"#,
        "r f t",
        "",
        "creates 0, deletes 0, patches 2; active 1, ready 0, succeeded 0, failed 2",
    ),
    Row(
        "WQ job: recreate pods when terminating or failed",
        r#"{"parallelism": 1, "backoffLimit": 6, "podReplacementPolicy": "TerminatingOrFailed"}"#,
        "r f t",
        "",
        "creates 0, deletes 0, patches 2; active 1, ready 0, succeeded 0, failed 2",
    ),
    Row(
        "more terminating pods than parallelism",
        r#"{"parallelism": 1, "completions": 1, "backoffLimit": 6, "podReplacementPolicy":
         "Failed"}"#,
        "r r t t t t",
        "",
        "creates 0, deletes 1, patches 1; active 1, ready 0, succeeded 0, failed 0",
    ),
    Row(
        "more terminating pods than parallelism; PodFailurePolicy used",
        r#"{"parallelism": 1, "completions": 1, "backoffLimit": 6, "podFailurePolicy": {"rules":
         []}}"#,
        "r r t t t t",
        "",
        "creates 0, deletes 1, patches 1; active 1, ready 0, succeeded 0, failed 0",
    ),
    Row(
        "too few active pods with a dynamic job",
        r#"{"parallelism": 2, "backoffLimit": 6}"#,
        "r",
        "",
        "creates 1, deletes 0, patches 0; active 2, ready 0, succeeded 0, failed 0",
    ),
    Row(
        "too many active pods",
        r#"{"parallelism": 2, "completions": 5, "backoffLimit": 6}"#,
        "r r r",
        "",
        "creates 0, deletes 1, patches 1; active 2, ready 0, succeeded 0, failed 0",
    ),
    Row(
        "too many active pods; PodReplacementPolicy enabled",
        r#"{"parallelism": 2, "completions": 5, "backoffLimit": 6}"#,
        "r r r",
        "",
        "creates 0, deletes 1, patches 1; active 2, ready 0, succeeded 0, failed 0",
    ),
    Row(
        "count ready pods when too many active pods",
        r#"{"parallelism": 2, "completions": 5, "backoffLimit": 6}"#,
        "R R R",
        "",
        "creates 0, deletes 1, patches 1; active 2, ready 2, succeeded 0, failed 0",
    ),
    Row(
        "failed + succeed pods: reset backoff delay",
        r#"{"parallelism": 2, "completions": 5, "backoffLimit": 6}"#,
        "r s f",
        "",
        "creates 1, deletes 0, patches 2; active 2, ready 0, succeeded 1, failed 1",
    ),
    Row(
        "new failed pod",
        r#"{"parallelism": 2, "completions": 5, "backoffLimit": 6}"#,
        "r f",
        "",
        "creates 1, deletes 0, patches 1; active 2, ready 0, succeeded 0, failed 1",
    ),
    Row(
        "job finish",
        r#"{"parallelism": 2, "completions": 5, "backoffLimit": 6}"#,
        "s s s s s",
        "",
        "creates 0, deletes 0, patches 5; active 0, ready 0, succeeded 5, failed 0; \
         SuccessCriteriaMet True; Complete True",
    ),
    Row(
        "WQ job finishing",
        r#"{"parallelism": 2, "backoffLimit": 6}"#,
        "r s",
        "",
        "creates 0, deletes 0, patches 1; active 1, ready 0, succeeded 1, failed 0",
    ),
    Row(
        "WQ job all finished",
        r#"{"parallelism": 2, "backoffLimit": 6}"#,
        "s s",
        "",
        "creates 0, deletes 0, patches 2; active 0, ready 0, succeeded 2, failed 0; \
         SuccessCriteriaMet True; Complete True",
    ),
    Row(
        "WQ job all finished despite one failure",
        r#"{"parallelism": 2, "backoffLimit": 6}"#,
        "s f",
        "",
        "creates 0, deletes 0, patches 2; active 0, ready 0, succeeded 1, failed 1; \
         SuccessCriteriaMet True; Complete True",
    ),
    Row(
        "more active pods than parallelism",
        r#"{"parallelism": 2, "completions": 5, "backoffLimit": 6}"#,
        "r r r r r r r r r r",
        "",
        "creates 0, deletes 8, patches 8; active 2, ready 0, succeeded 0, failed 0",
    ),
    Row(
        "more active pods than remaining completions",
        r#"{"parallelism": 3, "completions": 4, "backoffLimit": 6}"#,
        "r r r s s",
        "",
        "creates 0, deletes 1, patches 3; active 2, ready 0, succeeded 2, failed 0",
    ),
    Row(
        "status change",
        r#"{"parallelism": 2, "completions": 5, "backoffLimit": 6}"#,
        "r r s s",
        "",
        "creates 0, deletes 0, patches 2; active 2, ready 0, succeeded 2, failed 0",
    ),
    Row(
        "deleting job",
        r#"{"parallelism": 2, "completions": 5, "backoffLimit": 6}"#,
        "p r s",
        "deleting",
        "creates 0, deletes 0, patches 3; active 2, ready 0, succeeded 1, failed 0",
    ),
    Row(
        "too many job failures",
        r#"{"parallelism": 2, "completions": 5, "backoffLimit": 0}"#,
        "f",
        "deleting",
        "creates 0, deletes 0, patches 1; active 0, ready 0, succeeded 0, failed 1; FailureTarget \
         True; Failed True",
    ),
    Row(
        "indexed job start",
        r#"{"parallelism": 2, "completions": 5, "backoffLimit": 6, "completionMode": "Indexed"}"#,
        "",
        "",
        "creates 2 (0,1), deletes 0, patches 0; active 2, ready 0, succeeded 0, failed 0",
    ),
    Row(
        "indexed job with some pods deleted, podReplacementPolicy Failed",
        r#"{"parallelism": 2, "completions": 5, "backoffLimit": 6, "completionMode": "Indexed",
         "podReplacementPolicy": "Failed"}"#,
        "t",
        "",
        "creates 1 (0), deletes 0, patches 0; active 1, ready 0, succeeded 0, failed 0",
    ),
    Row(
        "indexed job with some pods deleted, podReplacementPolicy TerminatingOrFailed",
        r#"{"parallelism": 2, "completions": 5, "backoffLimit": 6, "completionMode": "Indexed",
         "podReplacementPolicy": "TerminatingOrFailed"}"#,
        "t",
        "",
        "creates 2 (0,1), deletes 0, patches 1; active 2, ready 0, succeeded 0, failed 0",
    ),
    Row(
        "indexed job completed",
        r#"{"parallelism": 2, "completions": 3, "backoffLimit": 6, "completionMode": "Indexed"}"#,
        "0:s 1:f 1:s 2:s",
        "",
        "creates 0, deletes 0, patches 4; active 0, ready 0, succeeded 3, failed 1, completed \
         0-2; SuccessCriteriaMet True; Complete True",
    ),
    Row(
        "indexed job failed",
        r#"{"parallelism": 2, "completions": 3, "backoffLimit": 0, "completionMode": "Indexed"}"#,
        "0:s 1:f 2:r",
        "",
        "creates 0, deletes 1, patches 3; active 0, ready 0, succeeded 1, failed 2, completed 0; \
         FailureTarget True",
    ),
    Row(
        "count terminating pods when indexed job fails and PodReplacementPolicy enabled",
        r#"{"parallelism": 2, "completions": 3, "backoffLimit": 0, "completionMode": "Indexed"}"#,
        "0:s 1:f 2:r",
        "",
        "creates 0, deletes 1, patches 3; active 0, ready 0, succeeded 1, failed 2, completed 0; \
         FailureTarget True",
    ),
    Row(
        "count ready pods when job fails",
        r#"{"parallelism": 2, "completions": 3, "backoffLimit": 0}"#,
        "R R f",
        "",
        "creates 0, deletes 2, patches 3; active 0, ready 0, succeeded 0, failed 3; FailureTarget \
         True",
    ),
    Row(
        "indexed job repeated completed index",
        r#"{"parallelism": 2, "completions": 3, "backoffLimit": 6, "completionMode": "Indexed"}"#,
        "0:s 1:s 1:s",
        "",
        "creates 1 (2), deletes 0, patches 3; active 1, ready 0, succeeded 2, failed 0, completed \
         0,1",
    ),
    Row(
        "indexed job some running and completed pods",
        r#"{"parallelism": 8, "completions": 20, "backoffLimit": 6, "completionMode": "Indexed"}"#,
        "0:r 2:s 3:p 4:s 5:s 7:s 8:s 9:s",
        "",
        "creates 6 (1,6,10,11,12,13), deletes 0, patches 6; active 8, ready 0, succeeded 6, \
         failed 0, completed 2,4,5,7-9",
    ),
    Row(
        "indexed job some failed pods",
        r#"{"parallelism": 3, "completions": 4, "backoffLimit": 6, "completionMode": "Indexed"}"#,
        "0:f 1:p 2:f",
        "",
        "creates 2 (0,2), deletes 0, patches 2; active 3, ready 0, succeeded 0, failed 2",
    ),
    Row(
        "indexed job some pods without index",
        r#"{"parallelism": 2, "completions": 5, "backoffLimit": 6, "completionMode": "Indexed"}"#,
        "r s f invalid:r invalid:s invalid:f invalid:p 0:s 1:r 2:r",
        "",
        "creates 0, deletes 3, patches 8; active 2, ready 0, succeeded 1, failed 0, completed 0",
    ),
    Row(
        "indexed job repeated indexes",
        r#"{"parallelism": 5, "completions": 5, "backoffLimit": 6, "completionMode": "Indexed"}"#,
        "s f invalid:r 0:s 1:r 2:r 2:p",
        "",
        "creates 2 (3,4), deletes 2, patches 5; active 4, ready 0, succeeded 1, failed 0, \
         completed 0",
    ),
    Row(
        "indexed job with indexes outside of range",
        r#"{"parallelism": 2, "completions": 5, "backoffLimit": 6, "completionMode": "Indexed"}"#,
        "0:s 5:r 6:s 7:p 8:f",
        "",
        "creates 2 (1,2), deletes 2, patches 5; active 2, ready 0, succeeded 1, failed 0, \
         completed 0",
    ),
    Row(
        "suspending a job with satisfied expectations",
        r#"{"parallelism": 2, "completions": 4, "backoffLimit": 6, "suspend": true}"#,
        "r r",
        "",
        "creates 0, deletes 2, patches 2; active 0, ready 0, succeeded 0, failed 0; Suspended True",
    ),
    Row(
        "suspending a job with satisfied expectations; PodReplacementPolicy enabled",
        r#"{"parallelism": 2, "completions": 4, "backoffLimit": 6, "suspend": true}"#,
        "r r",
        "",
        "creates 0, deletes 2, patches 2; active 0, ready 0, succeeded 0, failed 0; Suspended True",
    ),
    Row(
        "count ready pods when suspending a job with satisfied expectations",
        r#"{"parallelism": 2, "completions": 4, "backoffLimit": 6, "suspend": true}"#,
        "R R",
        "",
        "creates 0, deletes 2, patches 2; active 0, ready 0, succeeded 0, failed 0; Suspended True",
    ),
    Row(
        "resuming a suspended job",
        r#"{"parallelism": 2, "completions": 4, "backoffLimit": 6}"#,
        "",
        "suspended",
        "creates 2, deletes 0, patches 0; active 2, ready 0, succeeded 0, failed 0; Suspended \
         False",
    ),
    Row(
        "suspending a deleted job",
        r#"{"parallelism": 2, "completions": 4, "backoffLimit": 6, "suspend": true}"#,
        "r r",
        "deleting",
        "creates 0, deletes 0, patches 2; active 2, ready 0, succeeded 0, failed 0",
    ),
    Row(
        "suspending a deleted job; PodReplacementPolicy enabled",
        r#"{"parallelism": 2, "completions": 4, "backoffLimit": 6, "suspend": true}"#,
        "r r",
        "deleting",
        "creates 0, deletes 0, patches 2; active 2, ready 0, succeeded 0, failed 0",
    ),
];
