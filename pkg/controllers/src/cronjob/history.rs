//! Which finished Jobs are deleted. As `cleanupFinishedJobs` in upstream's
//! `cronjob_controllerv2.go`.

use std::sync::Arc;

use api::Job;

use super::snapshot::Snapshot;

/// The oldest ones of those beyond the limits. Of Jobs that are being deleted already, which count,
/// nothing more is asked.
pub(super) fn beyond_limits(s: &Snapshot) -> Vec<Arc<Job>> {
    let limits = [
        ("Complete", s.cron_job.successful_jobs_history_limit),
        ("Failed", s.cron_job.failed_jobs_history_limit),
    ];
    let mut beyond = Vec::new();
    for (r#type, limit) in limits {
        let Some(limit) = limit else { continue };
        let is_of_type =
            |job: &&Arc<Job>| job.finish.as_ref().is_some_and(|it| it.r#type == r#type);
        let mut finished: Vec<_> = s.jobs.iter().filter(is_of_type).collect();
        // Those that never started come last.
        finished.sort_by_key(|job| {
            (job.status.start_time.is_none(), job.status.start_time, &job.meta.key)
        });
        let kept = usize::try_from(limit).unwrap_or(0);
        let excess = finished.len().saturating_sub(kept);
        beyond.extend(finished.into_iter().take(excess).cloned());
    }
    beyond
}
