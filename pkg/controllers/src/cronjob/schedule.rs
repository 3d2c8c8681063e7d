//! When a Job was due last, and when the next one is. As `utils.go` of upstream's
//! `pkg/controller/cronjob`.

use std::time::Duration;

use api::cron::{Schedule, Zone};
use api::{CronJob, Time};

/// How much later than due a CronJob is looked at, so that a clock that is a little behind does not
/// find it early. Upstream's `nextScheduleDelta`.
pub(super) const DELTA: Duration = Duration::from_millis(100);
/// Of how many missed times that is worth a warning.
const MISSED_MAX: i64 = 100;

/// Whether times before `startingDeadlineSeconds` ago are looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Deadline {
    Counts,
    Ignored,
}

/// How many times passed without a Job, as far as that is of interest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Missed {
    None,
    Few,
    Many,
}

/// What has been due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Recent {
    /// From when on it was looked.
    pub(super) earliest: Time,
    /// When it was due last since then; none: it was not, or none was found.
    pub(super) due: Option<Time>,
    pub(super) missed: Missed,
}

/// The schedule in its zone; or why there is none.
pub(super) fn parse(cron_job: &CronJob, local: &Zone) -> Result<Schedule, String> {
    let CronJob { schedule, time_zone, .. } = cron_job;
    match time_zone {
        // What it says itself is older than the field.
        Some(name) if !names_zone(cron_job) && Zone::load(name, local).is_ok() => {
            Schedule::parse(&format!("TZ={name} {schedule}"), local)
        }
        _ => Schedule::parse(schedule, local),
    }
}

/// Whether the schedule itself names a zone, or looks as if it did.
pub(super) fn names_zone(cron_job: &CronJob) -> bool {
    cron_job.schedule.contains("TZ")
}

/// As `mostRecentScheduleTime`, whose approximation is kept: of a schedule with pauses between its
/// times it may find none although there was one. An error if the schedule is never due.
pub(super) fn recent(
    cron_job: &CronJob,
    last: Option<Time>,
    now: Time,
    schedule: &Schedule,
    deadline: Deadline,
) -> Result<Recent, &'static str> {
    const NEVER: &str = "time difference between two schedules is less than 1 second";
    let mut earliest = last.or(cron_job.meta.creation_timestamp).unwrap_or(Time::EPOCH);
    if let (Deadline::Counts, Some(span)) = (deadline, starting_deadline(cron_job)) {
        earliest = earliest.max(now - span);
    }
    let none = Recent { earliest, due: None, missed: Missed::None };
    let first = schedule.next(earliest).ok_or(NEVER)?;
    if now < first {
        return Ok(none);
    }
    let second = schedule.next(first).ok_or(NEVER)?;
    if now < second {
        return Ok(Recent { due: Some(first), ..none });
    }
    let between = seconds(second.since(first));
    if between < 1 {
        return Err(NEVER);
    }
    // At least two. The step before the last one leaves the rest to the schedule itself.
    let missed = seconds(now.since(first)) / between + 1;
    let steps = missed.saturating_sub(2).saturating_mul(between);
    let nearly = first + Duration::from_secs(steps.unsigned_abs());
    let times = std::iter::successors(schedule.next(nearly), |time| schedule.next(*time));
    let due = times.take_while(|time| *time <= now).last();
    let missed = if missed > MISSED_MAX { Missed::Many } else { Missed::Few };
    Ok(Recent { due, missed, ..none })
}

/// How long after `now` to look again.
pub(super) fn until_next(
    cron_job: &CronJob,
    last: Option<Time>,
    now: Time,
    schedule: &Schedule,
) -> Duration {
    let next = next(cron_job, last, now, schedule);
    next.map_or(Duration::ZERO, |next| (next + DELTA).since(now))
}

/// When the next Job is due; `last` is when the one before was. As `nextScheduleTimeDuration`.
pub(super) fn next(
    cron_job: &CronJob,
    last: Option<Time>,
    now: Time,
    schedule: &Schedule,
) -> Option<Time> {
    let from = match recent(cron_job, last, now, schedule, Deadline::Ignored) {
        Ok(Recent { due: Some(due), .. }) => due,
        Ok(Recent { earliest, missed: Missed::None, .. }) => earliest,
        Ok(_) | Err(_) => now,
    };
    schedule.next(from)
}

/// `startingDeadlineSeconds`.
pub(super) fn starting_deadline(cron_job: &CronJob) -> Option<Duration> {
    // The API server admits no negative one.
    let seconds = cron_job.starting_deadline_seconds?;
    Some(Duration::from_secs(u64::try_from(seconds).unwrap_or(0)))
}

fn seconds(span: Duration) -> i64 {
    i64::try_from(span.as_secs()).unwrap_or(i64::MAX)
}
