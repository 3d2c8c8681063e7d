//! Whether a Job is to finish, and how. From `syncJob` in upstream's `job_controller.go`.

use std::time::Duration;

use api::{JobCondition, Phase, Pod, Status, Time};

use super::standing::Standing;
use super::{pods, success_policy};

pub(super) const SUCCESS_CRITERIA_MET: &str = "SuccessCriteriaMet";
pub(super) const FAILURE_TARGET: &str = "FailureTarget";

/// How a Job is to end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Ending {
    pub(super) result: Result,
    /// One word for programs.
    pub(super) reason: String,
    /// A sentence for people.
    pub(super) message: String,
    /// Whether the status says so already: then nothing else decides any more.
    pub(super) is_said: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Result {
    Success,
    Failure,
}

/// How it ends by what has happened so far; what `complete` says comes later. None: it goes on.
pub(super) fn ending(standing: &Standing<'_>) -> Option<Ending> {
    said(standing)
        .or_else(|| failed_by_policy(standing))
        .or_else(|| out_of_limits(standing))
        .or_else(|| failed_by_indexes(standing))
        .or_else(|| succeeded_by_policy(standing))
}

/// The end of a Job of which enough pods have succeeded.
pub(super) fn completed() -> Ending {
    Ending::new(Result::Success, "CompletionsReached", "Reached expected number of succeeded pods")
}

/// When its time is over; none: it has no limit, or does not run.
pub(super) fn deadline(standing: &Standing<'_>) -> Option<Time> {
    let spec = &standing.job.spec;
    let seconds = spec.active_deadline_seconds.filter(|_| !spec.suspend)?;
    let since = standing.job.status.start_time.unwrap_or(standing.s.now);
    Some(since + Duration::from_secs(u64::try_from(seconds).unwrap_or(0)))
}

fn said(standing: &Standing<'_>) -> Option<Ending> {
    let says = |r#type: &str, result| {
        let condition = find(&standing.job.status.conditions, r#type)?;
        let JobCondition { reason, message, .. } = condition;
        let (reason, message) = (reason.clone(), message.clone());
        (condition.status == Status::True).then_some(Ending {
            result,
            reason,
            message,
            is_said: true,
        })
    };
    says(SUCCESS_CRITERIA_MET, Result::Success).or_else(|| says(FAILURE_TARGET, Result::Failure))
}

fn failed_by_policy(standing: &Standing<'_>) -> Option<Ending> {
    standing.job.spec.pod_failure_policy.as_ref()?;
    let mut failed = standing.pods.iter().filter(|pod| pods::is_failed(pod, standing.job));
    let message = failed.find_map(|pod| standing.judge(pod).fails_job)?;
    Some(Ending::new(Result::Failure, "PodFailurePolicy", &message))
}

fn out_of_limits(standing: &Standing<'_>) -> Option<Ending> {
    let limit = standing.job.spec.backoff_limit;
    if standing.failed > i64::from(limit) || restarted_too_often(standing, limit) {
        let message = "Job has reached the specified backoff limit";
        return Some(Ending::new(Result::Failure, "BackoffLimitExceeded", message));
    }
    let is_late = deadline(standing).is_some_and(|deadline| {
        standing.job.status.start_time.is_some() && deadline <= standing.s.now
    });
    let message = "Job was active longer than specified deadline";
    is_late.then(|| Ending::new(Result::Failure, "DeadlineExceeded", message))
}

/// As `pastBackoffLimitOnFailure`.
fn restarted_too_often(standing: &Standing<'_>, limit: i32) -> bool {
    if !standing.job.spec.restarts_on_failure {
        return false;
    }
    let runs = |pod: &&std::sync::Arc<Pod>| matches!(pod.phase, Phase::Running | Phase::Pending);
    let restarts = standing.pods.iter().filter(runs).filter_map(|pod| pod.job.as_ref());
    let restarts: i64 = restarts.map(|part| i64::from(part.restarts)).sum();
    if limit == 0 { restarts > 0 } else { restarts >= i64::from(limit) }
}

fn failed_by_indexes(standing: &Standing<'_>) -> Option<Ending> {
    let indexes = standing.indexes.as_ref()?;
    let failed = indexes.failed.as_ref()?.total();
    let max = standing.job.spec.max_failed_indexes;
    if max.is_some_and(|max| failed > i64::from(max)) {
        let message = "Job has exceeded the specified maximal number of failed indexes";
        return Some(Ending::new(Result::Failure, "MaxFailedIndexesExceeded", message));
    }
    let all_ended = failed > 0 && failed + indexes.succeeded.total() >= standing.completions();
    all_ended.then(|| Ending::new(Result::Failure, "FailedIndexes", "Job has failed indexes"))
}

fn succeeded_by_policy(standing: &Standing<'_>) -> Option<Ending> {
    let succeeded = &standing.indexes.as_ref()?.succeeded;
    let policy = standing.job.spec.success_policy.as_ref();
    let message = success_policy::matched(policy, standing.completions(), succeeded)?;
    Some(Ending::new(Result::Success, "SuccessPolicy", &message))
}

pub(super) fn find<'a>(conditions: &'a [JobCondition], r#type: &str) -> Option<&'a JobCondition> {
    conditions.iter().find(|condition| condition.r#type == r#type)
}

// === impl Ending ===

impl Ending {
    fn new(result: Result, reason: &str, message: &str) -> Self {
        Self { result, reason: reason.to_owned(), message: message.to_owned(), is_said: false }
    }

    /// The condition that says that it is about to end so.
    pub(super) fn interim(&self) -> &'static str {
        match self.result {
            Result::Success => SUCCESS_CRITERIA_MET,
            Result::Failure => FAILURE_TARGET,
        }
    }

    /// The condition that says that it has ended so.
    pub(super) fn terminal(&self) -> &'static str {
        match self.result {
            Result::Success => "Complete",
            Result::Failure => "Failed",
        }
    }
}
