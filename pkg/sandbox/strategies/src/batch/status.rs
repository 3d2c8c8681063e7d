//! What the status of a Job may not say, whatever it said before. Upstream: validateJobStatus.

use std::collections::BTreeSet;

use api::Time;
use serde_json::Value;

use super::indexes::{check_intervals, overlap};
use super::spec::is_indexed;
use crate::value::{count, get, items, number, or_null, text};
use crate::workload::{not_negative, omitted};
use crate::{Fault, Invalid, Path};

/// What is new in a status. A rule holds only of what changed, so that a status that was wrong
/// before, or became so when the spec changed, can be put right step by step.
#[derive(Clone, Copy, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "a row of upstream's options, one per field")]
pub(super) struct Changed {
    pub(super) finished: bool,
    pub(super) complete: bool,
    pub(super) failed: bool,
    pub(super) failure_target: bool,
    pub(super) success_criteria: bool,
    pub(super) completed_indexes: bool,
    pub(super) failed_indexes: bool,
    pub(super) active: bool,
    pub(super) start: bool,
    pub(super) completion: bool,
    pub(super) uncounted: bool,
    pub(super) ready: bool,
    pub(super) terminating: bool,
}

/// Whether a condition of a Job is true.
pub(super) fn is_true(job: &Value, kind: &str) -> bool {
    has(job, kind, "True")
}

/// Whether a condition of a Job has this status.
pub(super) fn has(job: &Value, kind: &str, status: &str) -> bool {
    let mut conditions = items(job, "/status/conditions").iter();
    conditions.any(|it| text(it, "/type") == kind && text(it, "/status") == status)
}

pub(super) fn is_finished(job: &Value) -> bool {
    is_true(job, "Complete") || is_true(job, "Failed")
}

/// What is wrong with the status of a Job of which this changed.
pub(super) fn validate(job: &Value, changed: Changed) -> Vec<Invalid> {
    let path = Path::new("status");
    let status = or_null(job, "/status");
    let counts = ["active", "succeeded", "failed", "ready", "terminating"];
    let mut faults = not_negative(&status, &counts, &path);
    faults.extend(validate_uncounted(&status, &path.child("uncountedTerminatedPods")));
    faults.extend(validate_end(job, changed, &path));
    faults.extend(validate_finished(job, changed, &path));
    faults.extend(validate_indexes(job, changed, &path));
    if changed.finished || changed.terminating {
        let terminating = count(job, "/status/terminating");
        if terminating > 0 && is_finished(job) {
            let detail = "terminating>0 is invalid for finished job";
            faults.push(path.child("terminating").invalid(terminating, detail));
        }
    }
    if changed.ready || changed.active {
        let ready = number(job, "/status/ready").filter(|it| *it > count(job, "/status/active"));
        if let Some(ready) = ready {
            let detail = "cannot set more ready pods than active";
            faults.push(path.child("ready").invalid(ready, detail));
        }
    }
    let conditions = path.child("conditions");
    let met = is_true(job, "SuccessCriteriaMet");
    for (other, text) in [("Failed", "Failed=true"), ("FailureTarget", "FailureTarget=true")] {
        if met && is_true(job, other) {
            let detail = format!("cannot set SuccessCriteriaMet=True and {text} conditions");
            faults.push(omitted(&conditions, &detail));
        }
    }
    if get(job, "/spec/successPolicy").is_some() && !met && is_true(job, "Complete") {
        let detail = "cannot set Complete=True for Job with SuccessPolicy unless \
                      SuccessCriteriaMet=True";
        faults.push(omitted(&conditions, detail));
    }
    faults
}

/// Pods that have ended but are not counted yet: each once, in one list or the other.
fn validate_uncounted(status: &Value, path: &Path) -> Vec<Invalid> {
    let mut faults = Vec::new();
    let mut seen = BTreeSet::new();
    for list in ["succeeded", "failed"] {
        let uids = items(status, &format!("/uncountedTerminatedPods/{list}"));
        for (at, uid) in uids.iter().enumerate() {
            let path = path.child(list).index(at);
            let uid = uid.as_str().unwrap_or_default();
            if uid.is_empty() {
                faults.push(path.invalid(uid, "must not be empty"));
            } else if !seen.insert(uid) {
                faults.push(path.is(Fault::Duplicate(uid.into())));
            }
        }
    }
    faults
}

/// The conditions that end a Job, and the time when it was complete.
fn validate_end(job: &Value, changed: Changed, path: &Path) -> Vec<Invalid> {
    let [complete, failed, target, met] =
        ["Complete", "Failed", "FailureTarget", "SuccessCriteriaMet"].map(|it| is_true(job, it));
    let conditions = path.child("conditions");
    let completion_path = path.child("completionTime");
    let completion = get(job, "/status/completionTime");
    let mut faults = Vec::new();
    if (changed.complete || changed.failed) && complete && failed {
        let detail = "cannot set Complete=True and Failed=true conditions";
        faults.push(omitted(&conditions, detail));
    }
    if (changed.complete || changed.failure_target) && complete && target {
        let detail = "cannot set Complete=True and FailureTarget=true conditions";
        faults.push(omitted(&conditions, detail));
    }
    match completion.filter(|_| changed.complete || changed.completion) {
        Some(time) if !complete => {
            let detail = "cannot set completionTime when there is no Complete=True condition";
            faults.push(completion_path.invalid(time.clone(), detail));
        }
        None if complete && completion.is_none() && (changed.complete || changed.completion) => {
            faults.push(completion_path.required("completionTime is required for Complete jobs"));
        }
        Some(_) | None => {}
    }
    if let Some(time) = completion.filter(|_| changed.start || changed.completion) {
        let moment = |value: Option<&Value>| Time::parse(value?.as_str()?).ok();
        let start = moment(get(job, "/status/startTime"));
        if start.is_some_and(|start| moment(Some(time)).is_some_and(|end| end < start)) {
            let detail = "must be equal to or after `startTime`";
            faults.push(completion_path.invalid(time.clone(), detail));
        }
    }
    if (changed.failed || changed.failed_indexes) && failed && !target {
        let detail = "cannot set Failed=True condition without the FailureTarget=true condition";
        faults.push(omitted(&conditions, detail));
    }
    if (changed.complete || changed.success_criteria) && complete && !met {
        let detail =
            "cannot set Complete=True condition without the SuccessCriteriaMet=true condition";
        faults.push(omitted(&conditions, detail));
    }
    faults
}

fn validate_finished(job: &Value, changed: Changed, path: &Path) -> Vec<Invalid> {
    let mut faults = Vec::new();
    if !is_finished(job) {
        return faults;
    }
    let active = count(job, "/status/active");
    if (changed.finished || changed.active) && active > 0 {
        let detail = "active>0 is invalid for finished job";
        faults.push(path.child("active").invalid(active, detail));
    }
    // A suspended Job with nothing to do is finished without ever starting.
    let idle = get(job, "/spec/suspend") == Some(&Value::Bool(true))
        && number(job, "/spec/completions") == Some(0);
    let started = get(job, "/status/startTime").is_some();
    if (changed.finished || changed.start) && !idle && !started {
        faults.push(path.child("startTime").required("startTime is required for finished job"));
    }
    let uncounted = or_null(job, "/status/uncountedTerminatedPods");
    let waiting = items(&uncounted, "/failed").len() + items(&uncounted, "/succeeded").len();
    if (changed.finished || changed.uncounted) && waiting > 0 {
        let detail = "must be empty for finished job";
        faults.push(path.child("uncountedTerminatedPods").invalid(uncounted, detail));
    }
    faults
}

fn validate_indexes(job: &Value, changed: Changed, path: &Path) -> Vec<Invalid> {
    let (completed_path, failed_path) =
        (path.child("completedIndexes"), path.child("failedIndexes"));
    let completed = text(job, "/status/completedIndexes");
    let failed = get(job, "/status/failedIndexes").and_then(Value::as_str);
    let per_index = get(job, "/spec/backoffLimitPerIndex").is_some();
    let completions = number(job, "/spec/completions");
    let mut faults = Vec::new();
    if let Some(completions) = completions.filter(|_| changed.completed_indexes)
        && let Err(error) = check_intervals(completed, completions)
    {
        let detail = format!("error parsing completedIndexes: {error}");
        faults.push(completed_path.invalid(completed, &detail));
    }
    let changed_failed = failed.filter(|_| changed.failed_indexes);
    if let (Some(completions), Some(failed), true) = (completions, changed_failed, per_index)
        && let Err(error) = check_intervals(failed, completions)
    {
        let detail = format!("error parsing failedIndexes: {error}");
        faults.push(failed_path.invalid(failed, &detail));
    }
    let indexed = is_indexed(&or_null(job, "/spec"));
    if changed.completed_indexes && !completed.is_empty() && !indexed {
        let detail = "cannot set non-empty completedIndexes when non-indexed completion mode";
        faults.push(completed_path.invalid(completed, detail));
    }
    if let Some(failed) = changed_failed.filter(|_| !per_index) {
        let detail = "cannot set non-null failedIndexes when backoffLimitPerIndex is null";
        faults.push(failed_path.invalid(failed, detail));
    }
    let failed = failed.filter(|_| changed.failed_indexes || changed.completed_indexes);
    if let (Some(completions), Some(failed)) = (completions, failed)
        && let Some(detail) = overlap(completed, failed, completions)
    {
        faults.push(failed_path.invalid(failed, &detail));
    }
    faults
}
