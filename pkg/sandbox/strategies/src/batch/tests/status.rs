//! What the status of a Job may not say, and not become: TestStatusStrategy_ValidateUpdate.

use serde_json::{Value, json};

use crate::Strategy;
use crate::batch::Job;
use crate::batch::indexes::{check_intervals, overlap};
use crate::fixture::lines;

const NOON: &str = "2024-05-01T12:00:00Z";
const LATER: &str = "2024-05-01T13:00:00Z";

fn conditions(kinds: &[&str]) -> Value {
    kinds.iter().map(|kind| json!({ "type": kind, "status": "True" })).collect()
}

#[test]
#[expect(clippy::too_many_lines, reason = "a table")]
fn statuses() {
    let complete = json!({
        "startTime": NOON,
        "completionTime": LATER,
        "conditions": conditions(&["SuccessCriteriaMet", "Complete"]),
    });
    let indexed = json!({ "completionMode": "Indexed", "completions": 5, "parallelism": 5 });
    let per_index =
        json!({ "completionMode": "Indexed", "completions": 5, "backoffLimitPerIndex": 1 });
    let none = json!({});
    let suspended = json!({ "suspend": true });
    let idle = json!({ "suspend": true, "completions": 0 });
    let rows: [(&Value, Value, Value, &[&str]); 26] = [
        (
            &idle,
            none.clone(),
            json!({ "completionTime": NOON, "conditions": complete["conditions"] }),
            &[],
        ),
        (&none, none.clone(), json!({ "active": 1, "ready": 1, "startTime": NOON }), &[]),
        (&none, none.clone(), complete.clone(), &[]),
        (
            &none,
            none.clone(),
            json!({ "active": -1, "terminating": -1 }),
            &[
                "status.active invalid -1: must be greater than or equal to 0",
                "status.terminating invalid -1: must be greater than or equal to 0",
            ],
        ),
        (
            &none,
            none.clone(),
            json!({ "uncountedTerminatedPods": { "succeeded": ["a", ""], "failed": ["a"] } }),
            &[
                "status.uncountedTerminatedPods.succeeded[1] invalid \"\": must not be empty",
                "status.uncountedTerminatedPods.failed[0] duplicate \"a\"",
            ],
        ),
        (
            &none,
            none.clone(),
            json!({ "startTime": NOON, "conditions": conditions(&["Failed"]) }),
            &["status.conditions invalid: cannot set Failed=True condition without the \
               FailureTarget=true condition"],
        ),
        (
            &none,
            none.clone(),
            json!({
                "startTime": NOON,
                "completionTime": NOON,
                "conditions": conditions(&["Complete"]),
            }),
            &["status.conditions invalid: cannot set Complete=True condition without the \
               SuccessCriteriaMet=true condition"],
        ),
        (
            &none,
            none.clone(),
            json!({ "conditions": conditions(&["Complete", "SuccessCriteriaMet"]) }),
            &[
                "status.completionTime required: completionTime is required for Complete jobs",
                "status.startTime required: startTime is required for finished job",
            ],
        ),
        (
            &none,
            none.clone(),
            json!({ "completionTime": NOON }),
            &["status.completionTime invalid \"2024-05-01T12:00:00Z\": cannot set completionTime \
               when there is no Complete=True condition"],
        ),
        (
            &none,
            none.clone(),
            json!({
                "startTime": LATER,
                "completionTime": NOON,
                "conditions": complete["conditions"],
            }),
            &["status.completionTime invalid \"2024-05-01T12:00:00Z\": must be equal to or after \
               `startTime`"],
        ),
        (
            &none,
            none.clone(),
            json!({
                "startTime": NOON,
                "active": 1,
                "terminating": 1,
                "uncountedTerminatedPods": { "failed": ["a"] },
                "conditions": conditions(&["FailureTarget", "Failed"]),
            }),
            &[
                "status.active invalid 1: active>0 is invalid for finished job",
                "status.uncountedTerminatedPods invalid {\"failed\":[\"a\"]}: must be empty for \
                 finished job",
                "status.terminating invalid 1: terminating>0 is invalid for finished job",
            ],
        ),
        (
            &none,
            none.clone(),
            json!({ "ready": 2, "active": 1 }),
            &["status.ready invalid 2: cannot set more ready pods than active"],
        ),
        (
            &none,
            none.clone(),
            json!({ "conditions": conditions(&["SuccessCriteriaMet", "FailureTarget"]) }),
            &["status.conditions invalid: cannot set SuccessCriteriaMet=True and \
               FailureTarget=true conditions"],
        ),
        (
            &none,
            none.clone(),
            json!({ "completedIndexes": "0" }),
            &["status.completedIndexes invalid \"0\": cannot set non-empty completedIndexes when \
               non-indexed completion mode"],
        ),
        (&indexed, none.clone(), json!({ "completedIndexes": "0,2-4" }), &[]),
        (
            &indexed,
            none.clone(),
            json!({ "completedIndexes": "0,5", "failedIndexes": "" }),
            &[
                "status.completedIndexes invalid \"0,5\": error parsing completedIndexes: too \
                 large index: \"5\"",
                "status.failedIndexes invalid \"\": cannot set non-null failedIndexes when \
                 backoffLimitPerIndex is null",
            ],
        ),
        (
            &per_index,
            none.clone(),
            json!({ "completedIndexes": "0-2", "failedIndexes": "2,1" }),
            &[
                "status.failedIndexes invalid \"2,1\": error parsing failedIndexes: non-increasing \
                 order, previous: 2, current: 1",
                "status.failedIndexes invalid \"2,1\": failedIndexes and completedIndexes overlap \
                 at index: 2",
            ],
        ),
        // What was wrong before may stay.
        (
            &none,
            json!({ "conditions": conditions(&["Complete"]) }),
            json!({ "conditions": conditions(&["Complete"]), "succeeded": 1 }),
            &[],
        ),
        (
            &none,
            complete.clone(),
            json!({ "startTime": NOON }),
            &[
                "status.conditions invalid: cannot disable the terminal Complete=True condition",
                "status.conditions invalid: cannot disable the SuccessCriteriaMet=True condition",
            ],
        ),
        (
            &none,
            json!({ "succeeded": 2, "failed": 2 }),
            json!({ "succeeded": 1, "failed": 1 }),
            &[
                "status.failed invalid 1: cannot decrease the failed counter",
                "status.succeeded invalid 1: cannot decrease the succeeded counter",
            ],
        ),
        (&indexed, json!({ "succeeded": 2 }), json!({ "succeeded": 1 }), &[]),
        (
            &none,
            complete.clone(),
            crate::fixture::merged(&complete, &json!({ "completionTime": NOON })),
            &["status.completionTime invalid \"2024-05-01T12:00:00Z\": field is immutable"],
        ),
        (
            &none,
            json!({ "startTime": NOON }),
            json!({ "startTime": LATER }),
            &["status.startTime invalid \"2024-05-01T13:00:00Z\": field is immutable for \
               unsuspended job once set"],
        ),
        (&suspended, json!({ "startTime": NOON }), json!({}), &[]),
        // kubernetes issue 134521: the start moves when the Job is resumed.
        (
            &none,
            json!({ "startTime": NOON, "conditions": conditions(&["Suspended"]) }),
            json!({
                "startTime": LATER,
                "conditions": [{ "type": "Suspended", "status": "False" }],
            }),
            &[],
        ),
        (
            &none,
            json!({ "conditions": conditions(&["Complete"]) }),
            json!({
                "conditions": complete["conditions"],
                "completionTime": NOON,
                "startTime": NOON,
            }),
            &["status.conditions invalid: cannot set SuccessCriteriaMet=True for Job already has \
               Complete=true conditions"],
        ),
    ];
    for (spec, old, new, expected) in rows {
        let [new_job, old] = [&new, &old].map(|it| json!({ "spec": spec, "status": it }));
        assert_eq!(lines(&Job.validate_status(&new_job, &old)), expected, "{new}");
    }
}

/// TestValidateIndexesFormat.
#[test]
fn indexes() {
    let rows: [(&str, Result<i64, &str>); 11] = [
        ("", Ok(0)),
        ("1", Ok(1)),
        ("1,3-5,7-9", Ok(7)),
        ("0-1,", Err("cannot convert string to integer for index: \"\"")),
        ("1,d", Err("cannot convert string to integer for index: \"d\"")),
        ("1-2,5-4", Err("non-increasing order, previous: 5, current: 4")),
        (
            "1-2-3",
            Err("the fragment \"1-2-3\" violates the requirement that an index interval can have \
             at most two parts separated by '-'"),
        ),
        ("3,3", Err("non-increasing order, previous: 3, current: 3")),
        ("3-3", Err("non-increasing order, previous: 3, current: 3")),
        ("0-10", Err("too large index: \"10\"")),
        ("-1", Err("cannot convert string to integer for index: \"\"")),
    ];
    for (text, expected) in rows {
        assert_eq!(check_intervals(text, 10), expected.map_err(str::to_owned), "{text}");
    }
    // TestValidateFailedIndexesNotOverlapCompleted.
    for (completed, failed, index) in [
        ("0-2,6-7", "3,8", None),
        ("0,2-5", "1,4", Some(4)),
        ("d,0-3", "x,3-4", Some(3)),
        ("", "1", None),
    ] {
        let expected =
            index.map(|at| format!("failedIndexes and completedIndexes overlap at index: {at}"));
        assert_eq!(overlap(completed, failed, 10), expected, "{completed} {failed}");
    }
}
