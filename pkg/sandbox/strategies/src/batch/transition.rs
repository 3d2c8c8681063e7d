//! How the status of a Job may change. Upstream: ValidateJobStatusUpdate, and
//! getStatusValidationOptions in pkg/registry/batch/job.

use serde_json::Value;

use super::spec::is_indexed;
use super::status::{self, Changed, has, is_finished, is_true};
use crate::semantic::same_at;
use crate::value::{count, get, number, or_null};
use crate::workload::omitted;
use crate::{Invalid, Path};

/// What is wrong with the status of `new`, or with its change.
pub(super) fn validate(new: &Value, old: &Value) -> Vec<Invalid> {
    let path = Path::new("status");
    let conditions = path.child("conditions");
    let changed = changes(new, old);
    let mut faults = status::validate(new, changed);
    for kind in ["Failed", "Complete", "FailureTarget"] {
        if is_true(old, kind) && !is_true(new, kind) {
            let detail = format!("cannot disable the terminal {kind}=True condition");
            faults.push(omitted(&conditions, &detail));
        }
    }
    faults.extend(validate_counters(new, old, &path));
    faults.extend(validate_times(new, old, changed));
    let [met, was_met] = [new, old].map(|it| is_true(it, "SuccessCriteriaMet"));
    if was_met && !met {
        let detail = "cannot disable the SuccessCriteriaMet=True condition";
        faults.push(omitted(&conditions, detail));
    }
    if is_true(old, "Complete") && !was_met && met {
        let detail =
            "cannot set SuccessCriteriaMet=True for Job already has Complete=true conditions";
        faults.push(omitted(&conditions, detail));
    }
    faults
}

fn changes(new: &Value, old: &Value) -> Changed {
    let condition = |kind: &str| is_true(new, kind) != is_true(old, kind);
    let differs = |pointer: &str| get(new, pointer) != get(old, pointer);
    let uncounted = "/status/uncountedTerminatedPods";
    Changed {
        finished: is_finished(new) != is_finished(old),
        complete: condition("Complete"),
        failed: condition("Failed"),
        failure_target: condition("FailureTarget"),
        success_criteria: condition("SuccessCriteriaMet"),
        completed_indexes: differs("/status/completedIndexes"),
        failed_indexes: differs("/status/failedIndexes"),
        active: count(new, "/status/active") != count(old, "/status/active"),
        start: differs("/status/startTime"),
        completion: differs("/status/completionTime"),
        uncounted: !same_at(new, old, uncounted),
        ready: differs("/status/ready"),
        terminating: differs("/status/terminating"),
    }
}

fn validate_counters(new: &Value, old: &Value, path: &Path) -> Vec<Invalid> {
    // A Job that can be scaled down may have fewer successes afterwards.
    let elastic = is_indexed(&or_null(new, "/spec"))
        && number(new, "/spec/completions") == number(new, "/spec/parallelism");
    let counters: &[&str] = if elastic { &["failed"] } else { &["failed", "succeeded"] };
    let mut faults = Vec::new();
    for name in counters {
        let [now, then] = [new, old].map(|it| count(it, &format!("/status/{name}")));
        if now < then {
            let detail = format!("cannot decrease the {name} counter");
            faults.push(path.child(name).invalid(now, &detail));
        }
    }
    faults
}

fn validate_times(new: &Value, old: &Value, changed: Changed) -> Vec<Invalid> {
    let path = Path::new("status");
    let mut faults = Vec::new();
    let [end, old_end] = [new, old].map(|it| get(it, "/status/completionTime"));
    if let Some(end) = end.filter(|end| old_end.is_some_and(|old| old != *end)) {
        faults.push(path.child("completionTime").invalid(end.clone(), "field is immutable"));
    }
    let resumes = is_true(old, "Suspended") && has(new, "Suspended", "False");
    let suspended = get(new, "/spec/suspend") == Some(&Value::Bool(true));
    let started = get(old, "/status/startTime").is_some();
    if changed.start && !resumes && started && !suspended {
        let start = or_null(new, "/status/startTime");
        let detail = "field is immutable for unsuspended job once set";
        faults.push(path.child("startTime").invalid(start, detail));
    }
    faults
}
