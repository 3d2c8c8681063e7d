//! TestControllerV2SyncCronJob: its rows, in words.

use controller::{Event, EventType};

use super::*;

/// Name, the moment (the day of May 2016), the CronJob and its Job, and what a sync comes to. A
/// `done` Job is listed in the status and has completed ten seconds after it was due, an `unseen`
/// one is listed and not in the cache. Left out: the rows in which the API server says something
/// ([`super::jobs`]), and those about Jobs that are not listed.
const ROWS: &[(&str, &str, &str, &str)] = &[
    (
        "never ran, not valid schedule, A",
        "19T09:59:00",
        "Allow wrong created=19T09:59:00",
        "events=1 warnings=1",
    ),
    (
        "never ran, not valid schedule, F",
        "19T09:59:00",
        "Forbid wrong created=19T09:59:00",
        "events=1 warnings=1",
    ),
    (
        "never ran, not valid schedule, R",
        "19T09:59:00",
        "Forbid wrong created=19T09:59:00",
        "events=1 warnings=1",
    ),
    (
        "never ran, not valid time zone",
        "19T09:59:00",
        "Allow hourly zone=bad created=19T09:59:00",
        "events=1 warnings=1",
    ),
    ("never ran, not time, A", "19T09:59:00", "Allow hourly created=19T09:59:00", "again=60.1"),
    ("never ran, not time, F", "19T09:59:00", "Forbid hourly created=19T09:59:00", "again=60.1"),
    ("never ran, not time, R", "19T09:59:00", "Replace hourly created=19T09:59:00", "again=60.1"),
    (
        "never ran, not time in zone",
        "19T09:59:00",
        "Allow hourly zone=America/New_York created=19T09:59:00",
        "again=60.1",
    ),
    (
        "never ran, is time, A",
        "19T10:01:00",
        "Allow hourly created=19T09:59:00",
        "create events=1 status again=3540.1",
    ),
    (
        "never ran, is time, F",
        "19T10:01:00",
        "Forbid hourly created=19T09:59:00",
        "create events=1 status again=3540.1",
    ),
    (
        "never ran, is time, R",
        "19T10:01:00",
        "Replace hourly created=19T09:59:00",
        "create events=1 status again=3540.1",
    ),
    (
        "never ran, is time in zone, but time zone disabled",
        "19T10:01:00",
        "Allow hourly zone=America/New_York created=19T09:59:00",
        "create events=1 status again=3540.1",
    ),
    (
        "never ran, is time in zone",
        "19T10:01:00",
        "Allow hourly zone=America/New_York created=19T09:59:00",
        "create events=1 status again=3540.1",
    ),
    (
        "never ran, is time in zone, but TZ is also set in schedule",
        "19T10:01:00",
        "Allow zoned zone=America/New_York created=19T09:59:00",
        "create events=2 warnings=1 status again=3540.1",
    ),
    (
        "never ran, is time, suspended",
        "19T10:01:00",
        "Allow hourly suspended created=19T09:59:00",
        "",
    ),
    (
        "never ran, is time, past deadline",
        "19T10:12:00",
        "Allow hourly deadline=10 created=19T09:59:00",
        "again=2880.1",
    ),
    (
        "never ran, is time, not past deadline",
        "19T10:01:00",
        "Allow hourly deadline=1000000 created=19T09:59:00",
        "create events=1 status again=3540.1",
    ),
    (
        "prev ran but done, not time, A",
        "19T09:59:00",
        "Allow hourly created=19T08:59:00 last=19T09:01:00 done=19T09:01:00",
        "events=1 status again=60.1",
    ),
    (
        "prev ran but done, not time, F",
        "19T09:59:00",
        "Forbid hourly created=19T08:59:00 last=19T09:01:00 done=19T09:01:00",
        "events=1 status again=60.1",
    ),
    (
        "prev ran but done, not time, R",
        "19T09:59:00",
        "Replace hourly created=19T08:59:00 last=19T09:01:00 done=19T09:01:00",
        "events=1 status again=60.1",
    ),
    (
        "prev ran but done, is time, A",
        "19T10:01:00",
        "Allow hourly created=19T08:59:00 last=19T09:01:00 done=19T09:01:00",
        "create events=2 status again=3540.1",
    ),
    (
        "prev ran but done, is time, F",
        "19T10:01:00",
        "Forbid hourly created=19T08:59:00 last=19T09:01:00 done=19T09:01:00",
        "create events=2 status again=3540.1",
    ),
    (
        "prev ran but done, is time, R",
        "19T10:01:00",
        "Replace hourly created=19T08:59:00 last=19T09:01:00 done=19T09:01:00",
        "create events=2 status again=3540.1",
    ),
    (
        "prev ran but done, is time, suspended",
        "19T10:01:00",
        "Allow hourly suspended created=19T08:59:00 last=19T09:01:00 done=19T09:01:00",
        "events=1 status",
    ),
    (
        "prev ran but done, is time, past deadline",
        "19T10:01:00",
        "Allow hourly deadline=10 created=19T08:59:00 last=19T09:01:00 done=19T09:01:00",
        "events=1 status again=3540.1",
    ),
    (
        "prev ran but done, is time, not past deadline",
        "19T10:01:00",
        "Allow hourly deadline=1000000 created=19T08:59:00 last=19T09:01:00 done=19T09:01:00",
        "create events=2 status again=3540.1",
    ),
    (
        "still active, not time, A",
        "19T09:59:00",
        "Allow hourly created=19T08:59:00 last=19T09:01:00 running=19T09:01:00",
        "again=60.1",
    ),
    (
        "still active, not time, F",
        "19T09:59:00",
        "Forbid hourly created=19T08:59:00 last=19T09:01:00 running=19T09:01:00",
        "again=60.1",
    ),
    (
        "still active, not time, R",
        "19T09:59:00",
        "Replace hourly created=19T08:59:00 last=19T09:01:00 running=19T09:01:00",
        "again=60.1",
    ),
    (
        "still active, is time, A",
        "19T10:01:00",
        "Allow hourly created=19T08:59:00 last=19T09:01:00 running=19T09:01:00",
        "create events=1 status again=3540.1",
    ),
    (
        "still active, is time, F",
        "19T10:01:00",
        "Forbid hourly created=19T08:59:00 last=19T09:01:00 running=19T09:01:00",
        "events=1 again=3540.1",
    ),
    (
        "still active, is time, R",
        "19T10:01:00",
        "Replace hourly created=19T08:59:00 last=19T09:01:00 running=19T09:01:00",
        "create delete events=2 status again=3540.1",
    ),
    (
        "still active, is time, suspended",
        "19T10:01:00",
        "Allow hourly suspended created=19T08:59:00 last=19T09:01:00 running=19T09:01:00",
        "",
    ),
    (
        "still active, is time, past deadline",
        "19T10:01:00",
        "Allow hourly deadline=10 created=19T08:59:00 last=19T09:01:00 running=19T09:01:00",
        "again=3540.1",
    ),
    (
        "still active, is time, not past deadline",
        "19T10:01:00",
        "Allow hourly deadline=1000000 created=19T08:59:00 last=19T09:01:00 running=19T09:01:00",
        "create events=1 status again=3540.1",
    ),
    (
        "prev ran but done, long overdue, not past deadline, A",
        "26T10:00:00",
        "Allow hourly deadline=1000000 created=19T08:59:00 last=19T09:01:00 done=19T09:01:00",
        "create events=3 warnings=1 status again=3600.1",
    ),
    (
        "prev ran but done, long overdue, not past deadline, R",
        "26T10:00:00",
        "Replace hourly deadline=1000000 created=19T08:59:00 last=19T09:01:00 done=19T09:01:00",
        "create events=3 warnings=1 status again=3600.1",
    ),
    (
        "prev ran but done, long overdue, not past deadline, F",
        "26T10:00:00",
        "Forbid hourly deadline=1000000 created=19T08:59:00 last=19T09:01:00 done=19T09:01:00",
        "create events=3 warnings=1 status again=3600.1",
    ),
    (
        "prev ran but done, long overdue, no deadline, A",
        "26T10:00:00",
        "Allow hourly created=19T08:59:00 last=19T09:01:00 done=19T09:01:00",
        "create events=3 warnings=1 status again=3600.1",
    ),
    (
        "prev ran but done, long overdue, no deadline, R",
        "26T10:00:00",
        "Replace hourly created=19T08:59:00 last=19T09:01:00 done=19T09:01:00",
        "create events=3 warnings=1 status again=3600.1",
    ),
    (
        "prev ran but done, long overdue, no deadline, F",
        "26T10:00:00",
        "Forbid hourly created=19T08:59:00 last=19T09:01:00 done=19T09:01:00",
        "create events=3 warnings=1 status again=3600.1",
    ),
    (
        "prev ran but done, long overdue, past medium deadline, A",
        "26T10:00:00",
        "Allow hourly deadline=7200 created=19T08:59:00 last=19T09:01:00 done=19T09:01:00",
        "create events=2 status again=3600.1",
    ),
    (
        "prev ran but done, long overdue, past short deadline, A",
        "26T10:00:00",
        "Allow hourly deadline=10 created=19T08:59:00 last=19T09:01:00 done=19T09:01:00",
        "create events=2 status again=3600.1",
    ),
    (
        "prev ran but done, long overdue, past medium deadline, R",
        "26T10:00:00",
        "Replace hourly deadline=7200 created=19T08:59:00 last=19T09:01:00 done=19T09:01:00",
        "create events=2 status again=3600.1",
    ),
    (
        "prev ran but done, long overdue, past short deadline, R",
        "26T10:00:00",
        "Replace hourly deadline=10 created=19T08:59:00 last=19T09:01:00 done=19T09:01:00",
        "create events=2 status again=3600.1",
    ),
    (
        "prev ran but done, long overdue, past medium deadline, F",
        "26T10:00:00",
        "Forbid hourly deadline=7200 created=19T08:59:00 last=19T09:01:00 done=19T09:01:00",
        "create events=2 status again=3600.1",
    ),
    (
        "prev ran but done, long overdue, past short deadline, F",
        "26T10:00:00",
        "Forbid hourly deadline=10 created=19T08:59:00 last=19T09:01:00 done=19T09:01:00",
        "create events=2 status again=3600.1",
    ),
    (
        "this started but went missing, not past deadline, A",
        "19T10:01:00.1",
        "Allow hourly deadline=1000000 created=19T08:59:00 last=19T09:01:00 unseen=19T10:00:00.1",
        "again=3540",
    ),
    (
        "this started but went missing, not past deadline, f",
        "19T10:01:00.1",
        "Forbid hourly deadline=1000000 created=19T08:59:00 last=19T09:01:00 unseen=19T10:00:00.1",
        "again=3540",
    ),
    (
        "this started but went missing, not past deadline, R",
        "19T10:01:00.1",
        "Replace hourly deadline=1000000 created=19T08:59:00 last=19T09:01:00 unseen=19T10:00:00.1",
        "again=3540",
    ),
    (
        "with @every schedule, never ran, not time",
        "19T10:00:00",
        "Allow every created=19T09:59:00",
        "again=3540.1",
    ),
    (
        "with @every schedule, never ran, is time",
        "19T09:59:00",
        "Allow every created=19T08:59:00",
        "create events=1 status again=3600.1",
    ),
    (
        "with @every schedule, never ran, is time, past deadline",
        "19T09:59:11",
        "Allow every deadline=10 created=19T08:59:00",
        "again=3589.1",
    ),
    (
        "with @every schedule, never ran, is time, not past deadline",
        "19T09:59:09",
        "Allow every deadline=1000000 created=19T08:59:00",
        "create events=1 status again=3591.1",
    ),
    (
        "with @every schedule, prev ran but done, not time",
        "19T10:00:00",
        "Allow every created=19T08:59:00 last=19T09:59:00 done=19T08:59:00",
        "events=1 status again=3540.1",
    ),
    (
        "with @every schedule, prev ran but done, is time",
        "19T11:00:00",
        "Allow every created=19T08:59:00 last=19T09:59:00 done=19T08:59:00",
        "create events=2 status again=3540.1",
    ),
    (
        "with @every schedule, prev ran but done, is time, past deadline",
        "19T10:59:11",
        "Allow every deadline=10 created=19T08:59:00 last=19T09:59:00 done=19T08:59:00",
        "events=1 status again=3589.1",
    ),
    (
        "with @every schedule, still active, not time",
        "19T10:00:00",
        "Allow every created=19T08:59:00 last=19T09:59:00 running=19T09:59:00",
        "again=3540.1",
    ),
    (
        "with @every schedule, still active, is time",
        "19T10:01:00",
        "Allow every created=19T08:59:00 last=19T08:59:00 running=19T08:59:00",
        "create events=1 status again=3480.1",
    ),
    (
        "with @every schedule, still active, is time, past deadline",
        "19T10:59:11",
        "Allow every deadline=10 created=19T08:59:00 last=19T09:59:00 running=19T09:59:00",
        "again=3589.1",
    ),
    (
        "with @every schedule, still active, is time, not past deadline",
        "19T10:59:09",
        "Allow every deadline=1000000 created=19T08:59:00 last=19T09:59:00 running=19T09:59:00",
        "create events=1 status again=3591.1",
    ),
    (
        "with @every schedule, prev ran but done, long overdue, no deadline",
        "26T10:00:00",
        "Allow every created=19T09:01:00 last=19T10:01:00 done=19T09:01:00",
        "create events=3 warnings=1 status again=60.1",
    ),
    (
        "with @every schedule, prev ran but done, long overdue, past deadline",
        "26T10:01:11",
        "Allow every deadline=10 created=19T09:01:00 last=19T10:01:00 done=19T09:01:00",
        "events=1 status again=3589.1",
    ),
];

/// The CronJob, and its Job.
fn set_up(words: &str) -> (Value, Option<(&str, Value)>) {
    let day = |text: &str| format!("2016-05-{text}Z");
    let mut cron = cron_job(json!({}));
    let mut found = None;
    for word in words.split(' ') {
        let (name, value) = word.split_once('=').unwrap_or((word, ""));
        let patch = match name {
            "Allow" | "Forbid" | "Replace" => json!({"spec": {"concurrencyPolicy": name}}),
            "hourly" => json!({"spec": {"schedule": HOURLY}}),
            "every" => json!({"spec": {"schedule": "@every 1h"}}),
            "zoned" => json!({"spec": {"schedule": format!("TZ=UTC {HOURLY}")}}),
            "wrong" => json!({"spec": {"schedule": "obvious error schedule"}}),
            "zone" => json!({"spec": {"timeZone": value}}),
            "deadline" => {
                json!({"spec": {"startingDeadlineSeconds": value.parse::<i64>().unwrap()}})
            }
            "suspended" => json!({"spec": {"suspend": true}}),
            "created" => json!({"metadata": {"creationTimestamp": day(value)}}),
            "last" => json!({"status": {"lastScheduleTime": day(value)}}),
            _ => {
                let due = at(&day(value));
                let name_of_job = super::super::job::key(&decode::<CronJob>(&cron), due).name;
                let done =
                    finished("Complete", &(due + std::time::Duration::from_secs(10)).to_string());
                let patch = if name == "done" { done } else { json!({}) };
                found = Some((name, job(&name_of_job, patch)));
                json!({"status": {"active": [entry(&name_of_job)]}})
            }
        };
        cron = with(cron, patch);
    }
    (cron, found)
}

/// As the rows say it.
fn words(plan: &Plan, has_status: bool) -> String {
    let writes = writes(plan);
    let mut found = Vec::new();
    if writes.iter().any(|write| write.created().is_some()) {
        found.push("create".to_owned());
    }
    if writes.iter().any(|write| write.deleted().is_some()) {
        found.push("delete".to_owned());
    }
    let events: Vec<&Event> = plan
        .steps
        .iter()
        .flat_map(|step| match step {
            Step::InOrder(actions) => actions.as_slice(),
            Step::Together(_) | Step::SlowStart(_) | Step::Chains(_) | Step::Fetch(_) => &[],
        })
        .filter_map(|action| if let Action::Event(event) = action { Some(event) } else { None })
        .collect();
    let reported = events.len() + writes.iter().map(|write| write.announce.len()).sum::<usize>();
    let warnings = events.iter().filter(|event| event.r#type == EventType::Warning).count();
    for (name, count) in [("events", reported), ("warnings", warnings)] {
        if count > 0 {
            found.push(format!("{name}={count}"));
        }
    }
    if has_status {
        found.push("status".to_owned());
    }
    found.extend(plan.again.map(|again| format!("again={}", again.as_secs_f64())));
    found.join(" ")
}

#[test]
fn syncs_do_what_upstreams_do() {
    for (name, now, setup, expected) in ROWS {
        let (cron, job) = set_up(setup);
        let seen: Vec<_> = job
            .iter()
            .filter(|(state, _)| *state != "unseen")
            .map(|(_, job)| job.clone())
            .collect();
        let live = job
            .map(|(_, job)| (live_job(job["metadata"]["name"].as_str().unwrap()), metadata(&job)));
        let (fixture, facts) = (holding(&format!("2016-05-{now}Z"), &cron, &seen), facts(live));
        let (_, plan, _) = decided(&fixture, &facts);
        let status = reported(&fixture, &facts, &done(&plan));
        assert_eq!(words(&plan, status.is_some()), *expected, "{name}: {plan}");
    }
}
