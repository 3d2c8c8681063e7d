//! When a Job was due, and when the next one is: TestMostRecentScheduleTime, TestNextScheduleTime,
//! TestNextScheduleTimeDuration.

use std::time::Duration;

use api::cron::Schedule;

use super::super::schedule::{self, DELTA, Deadline, Missed, Recent};
use super::*;

const MINUTE: i64 = 60;
const HOUR: i64 = 60 * MINUTE;
const DAY: i64 = 24 * HOUR;

/// So many seconds after the top of the hour.
fn after(seconds: i64) -> Time {
    Time::from_unix(at(TOP).unix_nanos() / 1_000_000_000 + seconds, 0)
}

/// A CronJob that was made then, and was last due then.
fn made(schedule: &str, created: i64, last: Option<i64>, deadline: Option<i64>) -> CronJob {
    let patch = json!({
        "metadata": {"creationTimestamp": after(created)},
        "spec": {"schedule": schedule, "startingDeadlineSeconds": deadline},
        "status": {"lastScheduleTime": last.map(after)},
    });
    CronJob::clone(&decode(&cron_job(patch)))
}

fn parsed(cron: &CronJob) -> Schedule {
    Schedule::parse(&cron.schedule, &Zone::UTC).unwrap()
}

fn recent(cron: &CronJob, now: i64, deadline: Deadline) -> Result<Recent, &'static str> {
    let schedule = parsed(cron);
    schedule::recent(cron, cron.status.last_schedule_time, after(now), &schedule, deadline)
}

/// All rows of TestMostRecentScheduleTime: schedule, made, last due, deadline, now; from when on it
/// was looked, the last time that was due, how many were missed.
#[test]
#[expect(clippy::too_many_lines, reason = "a table: upstream's rows, a few lines each")]
fn the_last_time_is_found_that_was_due() {
    let weekdays = "30 6-16/4 * * 1-5";
    let (half, ten) = (Some(30 * MINUTE), Some(10));
    let few = Missed::Few;
    for (name, cron, now, earliest, due, missed) in [
        ("now before next schedule", made("0 * * * *", 0, None, None), 30, 0, None, Missed::None),
        (
            "now just after next schedule",
            made("0 * * * *", 0, None, None),
            61 * MINUTE,
            0,
            Some(HOUR),
            Missed::None,
        ),
        (
            "missed 5 schedules",
            made("0 * * * *", 10, None, None),
            301 * MINUTE,
            10,
            Some(300 * MINUTE),
            few,
        ),
        (
            "complex schedule",
            made(weekdays, 0, half, None),
            DAY + 31 * MINUTE,
            30 * MINUTE,
            Some(DAY + 30 * MINUTE),
            few,
        ),
        (
            "another complex schedule",
            made("30 10,11,12 * * 1-5", 0, half, None),
            30 * HOUR + 30 * MINUTE,
            30 * MINUTE,
            None,
            few,
        ),
        (
            "complex schedule with longer diff between executions",
            made(weekdays, 0, half, None),
            96 * HOUR + 31 * MINUTE,
            30 * MINUTE,
            Some(96 * HOUR + 30 * MINUTE),
            few,
        ),
        (
            "complex schedule with shorter diff between executions",
            made(weekdays, 0, None, None),
            DAY + 31 * MINUTE,
            0,
            Some(DAY + 30 * MINUTE),
            few,
        ),
        (
            "@every schedule",
            made("@every 1h", -59 * MINUTE, Some(MINUTE), ten),
            7 * DAY,
            MINUTE,
            Some(6 * DAY + 23 * HOUR + MINUTE),
            Missed::Many,
        ),
        (
            "earliestTime being CreationTimestamp and LastScheduleTime",
            made("0 * * * *", 0, Some(0), None),
            30,
            0,
            None,
            Missed::None,
        ),
        (
            "earliestTime being LastScheduleTime",
            made("*/5 * * * *", 0, half, None),
            31 * MINUTE,
            30 * MINUTE,
            None,
            Missed::None,
        ),
        (
            "earliestTime being LastScheduleTime (within StartingDeadlineSeconds)",
            made("*/5 * * * *", 0, half, Some(60)),
            31 * MINUTE,
            30 * MINUTE,
            None,
            Missed::None,
        ),
    ] {
        let expected = Recent { earliest: after(earliest), due: due.map(after), missed };
        assert_eq!(recent(&cron, now, Deadline::Ignored), Ok(expected), "{name}");
    }
    let rogue = made("59 23 31 2 *", 10, None, None);
    let never = Err("time difference between two schedules is less than 1 second");
    assert_eq!(recent(&rogue, HOUR, Deadline::Ignored), never);
    // "earliestTime being LastScheduleTime (outside StartingDeadlineSeconds)".
    let late = made("*/5 * * * *", 0, half, Some(60));
    let none = Recent { earliest: after(31 * MINUTE), due: None, missed: Missed::None };
    assert_eq!(recent(&late, 32 * MINUTE, Deadline::Counts), Ok(none));
}

/// TestNextScheduleTime.
#[test]
fn a_time_that_was_due_is_found_or_none() {
    let hourly = |created, last, deadline| made(HOURLY, created, last, deadline);
    for (name, cron, now, expected) in [
        ("1: none needed yet", hourly(-10 * MINUTE, None, None), -7 * MINUTE, None),
        ("2: one needed", hourly(-10 * MINUTE, None, None), 2, Some(0)),
        ("3: no start needed", hourly(-10 * MINUTE, Some(0), None), 2 * MINUTE, None),
        ("4: a start needed", hourly(-10 * MINUTE, Some(0), None), HOUR + 5 * MINUTE, Some(HOUR)),
        ("5: two needed", hourly(-2 * HOUR, Some(-HOUR), None), HOUR + 5 * MINUTE, Some(HOUR)),
        (
            "6: now is way ahead",
            hourly(-2 * HOUR, Some(-HOUR), None),
            HOUR + 10 * DAY,
            Some(HOUR + 10 * DAY),
        ),
        (
            "7: and there is a short deadline",
            hourly(-2 * HOUR, Some(-HOUR), Some(2 * HOUR)),
            HOUR + 10 * DAY,
            Some(HOUR + 10 * DAY),
        ),
    ] {
        let found = recent(&cron, now, Deadline::Counts).unwrap().due;
        assert_eq!(found, expected.map(after), "{name}");
    }
}

/// TestNextScheduleTimeDuration.
#[test]
fn a_cron_job_is_looked_at_when_the_next_job_is_due() {
    for (name, cron, now, expected) in [
        (
            "complex schedule skipping weekend",
            made("30 6-16/4 * * 1-5", 0, Some(30 * MINUTE), None),
            DAY + 31 * MINUTE,
            3 * HOUR + 59 * MINUTE,
        ),
        (
            "another complex schedule skipping weekend",
            made("30 10,11,12 * * 1-5", 0, Some(30 * MINUTE), None),
            30 * HOUR + 30 * MINUTE,
            66 * HOUR,
        ),
        (
            "once a week cronjob, missed two runs",
            made("0 12 * * 4", 0, Some(2 * HOUR), None),
            19 * DAY + HOUR + 30 * MINUTE,
            48 * HOUR + 30 * MINUTE,
        ),
        ("no previous run of a cronjob", made("0 12 * * 5", 0, None, None), 6 * HOUR, 20 * HOUR),
    ] {
        let schedule = parsed(&cron);
        let last = cron.status.last_schedule_time;
        let found = schedule::until_next(&cron, last, after(now), &schedule);
        assert_eq!(found, Duration::from_secs(expected.unsigned_abs()) + DELTA, "{name}");
    }
}

/// Zones: the field, an older prefix that wins, none, and one that is not known.
#[test]
fn schedules_are_in_their_zone() {
    let due = |schedule: &str, zone: Option<&str>, local: &str| {
        let cron = cron_job(json!({"spec": {"schedule": schedule, "timeZone": zone}}));
        let local = Zone::load(local, &Zone::UTC).unwrap();
        let parsed = schedule::parse(&decode::<CronJob>(&cron), &local);
        parsed.map(|parsed| parsed.next(at(TOP)).unwrap().to_string())
    };
    for (schedule, zone, local, expected) in [
        ("0 12 * * *", None, "UTC", "2016-05-19T12:00:00Z"),
        ("0 12 * * *", None, "America/New_York", "2016-05-19T16:00:00Z"),
        ("0 12 * * *", Some("Asia/Tokyo"), "America/New_York", "2016-05-20T03:00:00Z"),
        ("0 12 * * *", Some("Local"), "America/New_York", "2016-05-19T16:00:00Z"),
        ("0 12 * * *", Some(""), "America/New_York", "2016-05-19T12:00:00Z"),
        ("TZ=UTC 0 12 * * *", Some("Asia/Tokyo"), "UTC", "2016-05-19T12:00:00Z"),
        ("@daily", Some("Asia/Tokyo"), "UTC", "2016-05-19T15:00:00Z"),
    ] {
        assert_eq!(due(schedule, zone, local), Ok(expected.to_owned()), "{schedule} {zone:?}");
    }
}
