//! What is counted of Jobs. As upstream's `metrics/metrics.go`.

use api::{Job, JobStatus, Phase, Pod, PodFailureAction};
use controller::{Change, Count, Ended, Family, When};

use super::decide::Verdict;
use super::finish::{self, Ending};
use super::indexes::Indexes;
use super::snapshot::Snapshot;
use super::standing::Standing;

pub(super) const SYNC_DURATION: Family = Family::histogram(
    "job_controller_job_sync_duration_seconds",
    "[STABLE] The time it took to sync a job",
    &[
        0.004, 0.008, 0.016, 0.032, 0.064, 0.128, 0.256, 0.512, 1.024, 2.048, 4.096, 8.192, 16.384,
        32.768, 65.536,
    ],
)
.labels(&["completion_mode", "result", "action"]);
pub(super) const SYNCS: Family =
    Family::counter("job_controller_job_syncs_total", "[STABLE] The number of job syncs")
        .labels(&["completion_mode", "result", "action"]);
pub(super) const FINISHED: Family =
    Family::counter("job_controller_jobs_finished_total", "[STABLE] The number of finished jobs")
        .labels(&["completion_mode", "result", "reason"]);
pub(super) const EXTERNAL: Family = Family::counter(
    "job_controller_jobs_by_external_controller_total",
    "[ALPHA] The number of Jobs managed by an external controller",
)
.labels(&["controller_name"]);
pub(super) const PODS_FINISHED: Family = Family::counter(
    "job_controller_job_pods_finished_total",
    "[STABLE] The number of finished Pods that are fully tracked",
)
.labels(&["completion_mode", "result"]);
pub(super) const JUDGED: Family = Family::counter(
    "job_controller_pod_failures_handled_by_failure_policy_total",
    "[BETA] The number of failed Pods handled by failure policy with\n\t\t\trespect to the failure \
     policy action applied based on the matched\n\t\t\trule. Possible values of the action label \
     correspond to the\n\t\t\tpossible values for the failure policy rule action, which \
     are:\n\t\t\t\"FailJob\", \"Ignore\" and \"Count\".",
)
.labels(&["action"]);
pub(super) const TERMINATED: Family = Family::counter(
    "job_controller_terminated_pods_tracking_finalizer_total",
    "[BETA] The number of terminated pods (phase=Failed|Succeeded)\nthat have the finalizer \
     batch.kubernetes.io/job-tracking\nThe event label can be \"add\" or \"delete\".",
)
.labels(&["event"]);
pub(super) const FINISHED_INDEXES: Family = Family::counter(
    "job_controller_job_finished_indexes_total",
    "[ALPHA] The number of finished indexes. Possible values for the\n\t\t\tstatus label are: \
     \"succeeded\", \"failed\". Possible values for the\n\t\t\tbackoffLimit label are: \
     \"perIndex\" and \"global\"",
)
.labels(&["status", "backoffLimit"]);
pub(super) const PODS_CREATION: Family = Family::counter(
    "job_controller_job_pods_creation_total",
    "[ALPHA] The number of Pods created by the Job controller labelled with a reason for the Pod \
     creation.\nThis metric also distinguishes between Pods created using different \
     PodReplacementPolicy settings.\nPossible values of the \"reason\" label are:\n\"new\", \
     \"recreate_terminating_or_failed\", \"recreate_failed\".\nPossible values of the \"status\" \
     label are:\n\"succeeded\", \"failed\".",
)
.labels(&["reason", "status"]);
pub(super) const STALE_SKIPS: Family = Family::counter(
    "job_controller_stale_sync_skips_total",
    "[ALPHA] Total number of Job syncs skipped due to a stale watch cache.",
)
.labels(&["group", "resource"]);

/// All of them.
pub(super) const ALL: &[Family] = &[
    SYNC_DURATION,
    SYNCS,
    FINISHED,
    EXTERNAL,
    PODS_FINISHED,
    JUDGED,
    TERMINATED,
    FINISHED_INDEXES,
    PODS_CREATION,
    STALE_SKIPS,
];

pub(super) fn mode(job: &Job) -> &'static str {
    if job.is_indexed() { "Indexed" } else { "NonIndexed" }
}

/// What is counted once a status is written. As `recordJobPodFinished`.
pub(super) fn written(job: &Job, status: &JobStatus) -> Vec<Count> {
    let (before, mode) = (&job.status, mode(job));
    let mut counts = Vec::new();
    let mut count = |family, labels: [&str; 2], value: i64| {
        if let Ok(value) = u32::try_from(value) {
            counts.push(Count::of(family, value.into()).labels(labels).when(When::Done));
        }
    };
    let mut succeeded = i64::from(status.succeeded) - i64::from(before.succeeded);
    if job.is_indexed() {
        let completions = job.spec.completions.map_or(0, i64::from);
        let total = |text: &str| Indexes::parse(text, completions).total();
        succeeded = total(&status.completed_indexes) - total(&before.completed_indexes);
        let is_per_index = job.spec.backoff_limit_per_index.is_some();
        let limit = if is_per_index { "perIndex" } else { "global" };
        count(&FINISHED_INDEXES, ["succeeded", limit], succeeded);
        let failed =
            |status: &JobStatus| total(status.failed_indexes.as_deref().unwrap_or_default());
        let failed = failed(status) - failed(before);
        if is_per_index && failed > 0 {
            count(&FINISHED_INDEXES, ["failed", limit], failed);
        }
    }
    count(&PODS_FINISHED, [mode, "succeeded"], succeeded);
    let failed = i64::from(status.failed) - i64::from(before.failed);
    count(&PODS_FINISHED, [mode, "failed"], failed);
    counts
}

/// A Job that has finished.
pub(super) fn finished(job: &Job, ending: &Ending) -> Count {
    let result = match ending.result {
        finish::Result::Success => "succeeded",
        finish::Result::Failure => "failed",
    };
    Count::one(&FINISHED).labels([mode(job), result, &ending.reason]).when(When::Done)
}

/// Pods that matched rules.
pub(super) fn judged<'a>(
    actions: impl Iterator<Item = (&'a PodFailureAction, &'a u32)>,
) -> Vec<Count> {
    let counts = actions.map(|(action, count)| {
        Count::of(&JUDGED, (*count).into()).labels([format!("{action:?}")]).when(When::Done)
    });
    counts.collect()
}

/// A pod that is made. As `recordJobPodsCreationTotal`, which counts one that fails as both.
pub(super) fn creation(standing: &Standing<'_>) -> Vec<Count> {
    let has_failed = standing.failed > 0;
    let reason = if standing.job.spec.replaces_failed_only && has_failed {
        "recreate_failed"
    } else if has_failed || standing.terminating > 0 {
        "recreate_terminating_or_failed"
    } else {
        "new"
    };
    let count = |status, when| Count::one(&PODS_CREATION).labels([reason, status]).when(when);
    vec![count("succeeded", When::Always), count("failed", When::Failed)]
}

/// A pod that has ended got or lost the finalizer. As `recordFinishedPodWithTrackingFinalizer`.
pub(super) fn terminated(change: &Change<Pod>) -> Option<Count> {
    let is = |pod: &Pod| matches!(pod.phase, Phase::Succeeded | Phase::Failed) && pod.is_tracked();
    let (was, is) = match change {
        Change::Added(pod) => (false, is(pod)),
        Change::Updated { old, new } => (is(old), is(new)),
        Change::Deleted(pod) => (is(pod), false),
    };
    let event = if is { "add" } else { "delete" };
    (was != is).then(|| Count::one(&TERMINATED).labels([event]))
}

/// What is counted at the end of a sync.
pub(super) fn synced(
    snapshot: Option<&Snapshot>,
    verdict: Option<&Verdict>,
    ended: &Ended,
) -> Vec<Count> {
    let Some((snapshot, verdict)) = snapshot.zip(verdict) else {
        let labels = if snapshot.is_some() { ["", "pods"] } else { ["batch", "jobs"] };
        let skip = ended.unsettled.then(|| Count::one(&STALE_SKIPS).labels(labels));
        return skip.into_iter().collect();
    };
    let Some(action) = verdict.action else { return Vec::new() };
    let result = if ended.error.is_some() { "error" } else { "success" };
    let labels = [mode(&snapshot.job), result, action];
    let took = Count::of(&SYNC_DURATION, ended.took.as_secs_f64());
    vec![took.labels(labels), Count::one(&SYNCS).labels(labels)]
}
