//! What a pod is to its Job.

use std::time::Duration;

use api::{Job, JobPart, Phase, Pod, Status, Time};

/// The index of a pod; none: it has none, or a wrong one. As `getCompletionIndex`.
pub(super) fn index(pod: &Pod) -> Option<i64> {
    pod.job.as_ref()?.completion_index
}

/// How often the index had failed before the pod was made.
pub(super) fn failures(pod: &Pod) -> i32 {
    pod.job.as_ref().map_or(0, |part| part.index_failures)
}

/// The same, with failures that were ignored. As `getIndexAbsoluteFailureCount`.
pub(super) fn all_failures(pod: &Pod) -> i32 {
    failures(pod).saturating_add(ignored_failures(pod))
}

/// How often the index had failed without that it counts.
pub(super) fn ignored_failures(pod: &Pod) -> i32 {
    pod.job.as_ref().map_or(0, |part| part.index_ignored_failures)
}

/// Whether it counts as failed: also one that is being deleted and may never come to an end, unless
/// the Job waits for that. As `isPodFailed`.
pub(super) fn is_failed(pod: &Pod, job: &Job) -> bool {
    match pod.phase {
        Phase::Failed => true,
        Phase::Succeeded => false,
        Phase::Pending | Phase::Unknown | Phase::Running => {
            pod.meta.is_terminating() && !replaces_failed_only(job)
        }
    }
}

/// Whether a pod is replaced only once it has ended. As `onlyReplaceFailedPods`.
pub(super) fn replaces_failed_only(job: &Job) -> bool {
    job.spec.replaces_failed_only || job.spec.pod_failure_policy.is_some()
}

/// Whether it is being deleted and has not ended.
pub(super) fn is_terminating(pod: &Pod) -> bool {
    !pod.is_terminal() && pod.meta.is_terminating()
}

/// When it ended, as far as that is known. As `getFinishedTime`.
pub(super) fn finished_at(pod: &Pod) -> Time {
    let part = pod.job.as_deref();
    let containers = part.and_then(|part| part.containers_ended);
    let unready =
        || pod.ready.and_then(|(status, since)| since.filter(|_| status == Status::False));
    let deleted = || {
        let grace = part.and_then(grace).unwrap_or_default();
        pod.meta.deletion_timestamp.map(|at| at - grace)
    };
    let created = || pod.meta.creation_timestamp.unwrap_or(Time::EPOCH);
    containers.or_else(unready).or_else(deleted).unwrap_or_else(created)
}

fn grace(part: &JobPart) -> Option<Duration> {
    let seconds = part.deletion_grace_period_seconds?;
    Some(Duration::from_secs(u64::try_from(seconds).unwrap_or(0)))
}
