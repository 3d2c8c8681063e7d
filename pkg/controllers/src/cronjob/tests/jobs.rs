//! The Jobs: which are made, listed, missed, replaced and deleted, whatever the API server says.

use controller::Message;

use super::*;

const DUE: &str = "2016-05-19T10:01:00Z";
/// The Job of ten o'clock.
const TEN: &str = "mycronjob-24394200";
const NINE: &str = "mycronjob-24394140";

fn status(patch: &Value) -> Value {
    json!({ "status": patch })
}

/// The plan, then the status that is written once all went well.
fn whole(fixture: &Fixture, facts: &Facts) -> String {
    let (_, plan, _) = decided(fixture, facts);
    let status = reported(fixture, facts, &done(&plan));
    format!("{plan}{}", status.map_or(String::new(), |status| format!("{status}\n")))
}

fn check(name: &str, fixture: &Fixture, facts: &Facts, expected: &[&str]) {
    let found = whole(fixture, facts);
    assert_eq!(found.lines().collect::<Vec<_>>(), expected, "{name}");
}

const WAITS: &str = "why: the next Job is due at 2016-05-19T11:00:00Z";
const AGAIN: &str = "again in 3540.1s";

/// TestGetJobFromTemplate2: labels, annotations and spec of the template, and when it was due, in
/// the zone.
#[test]
fn a_job_is_made_of_the_template() {
    for (zone, shown) in
        [(None, TOP), (Some("UTC"), TOP), (Some("America/New_York"), "2016-05-19T06:00:00-04:00")]
    {
        let cron = cron_job(json!({"spec": {"timeZone": zone}}));
        let (_, plan, _) = decided(&holding(DUE, &cron, &[]), &Facts::default());
        let [create] = writes(&plan)[..] else { panic!("{plan}") };
        let body: Value = serde_json::from_str(create.created().unwrap()).unwrap();
        let expected = json!({
            "apiVersion": "batch/v1", "kind": "Job",
            "metadata": {
                "name": TEN, "namespace": "snazzycats", "labels": {"a": "b"},
                "annotations": {
                    "x": "y", "batch.kubernetes.io/cronjob-scheduled-timestamp": shown,
                },
                "ownerReferences": [{"apiVersion": "batch/v1", "kind": "CronJob",
                    "name": "mycronjob", "uid": "1a2b3c", "controller": true,
                    "blockOwnerDeletion": true}],
            },
            "spec": cron["spec"]["jobTemplate"]["spec"],
        });
        assert_eq!(body, expected, "{zone:?}");
        let [count] = create.counts.as_slice() else { panic!("{plan}") };
        let name = "cronjob_controller_job_creation_skew_duration_seconds";
        assert_eq!((count.family.name, count.value), (name, controller::Amount::Since(at(TOP))));
        let [announce] = create.announce.as_slice() else { panic!("{plan}") };
        assert_eq!(announce.done, Some(("SuccessfulCreate", Message::Naming("Created job "))));
        assert_eq!(announce.failed, ("FailedCreate", "Error creating job: ".into()));
        assert_eq!(announce.silent, ["AlreadyExists"]);
    }
}

/// The reference to it is what the API server said of it; entries that stay are as they came.
#[test]
fn a_job_that_was_made_is_listed() {
    let odd = with(entry(NINE), json!({"fieldPath": "x"}));
    let cron =
        cron_job(status(&json!({"active": [odd], "lastScheduleTime": "2016-05-19T09:00:00Z"})));
    let listed = json!([odd, with(entry(TEN), json!({"resourceVersion": "12"}))]);
    check(
        "beside another one",
        &holding(DUE, &cron, &[job(NINE, json!({}))]),
        &Facts::default(),
        &[
            "why: a Job was due at 2016-05-19T10:00:00Z",
            "chain 0: create jobs.batch in snazzycats",
            AGAIN,
            &format!(
                "update cronjobs.batch snazzycats/mycronjob status status.active={listed} \
                 status.lastScheduleTime=\"{TOP}\""
            ),
        ],
    );
    let none = reported(
        &holding(DUE, &cron, &[job(NINE, json!({}))]),
        &Facts::default(),
        &Outcome { error: Some("quota".into()), step: Some(0), ..Outcome::default() },
    );
    assert_eq!(none, None, "if it was not made, nothing is written");
    let snapshot = decided(&holding(DUE, &cron, &[]), &Facts::default()).0;
    let unsettled = Outcome { unsettled: true, ..Outcome::default() };
    assert!(controller().report(&snapshot, None, &unsettled).is_none());
}

/// TestControllerV2JobAlreadyExistsButNotInActiveStatus, …ButDifferentOwner. What is made and not
/// listed is listed; upstream also warns of it, and reads it live.
#[test]
fn a_job_that_exists_already_is_listed_if_it_is_ours() {
    let cron = cron_job(json!({}));
    let list = format!(
        "update cronjobs.batch snazzycats/mycronjob status status.active={} \
         status.lastScheduleTime=\"{TOP}\"",
        json!([entry(TEN)])
    );
    let listed = [
        "why: the Job that was due at 2016-05-19T10:00:00Z was made; now it is listed",
        AGAIN,
        &list,
    ];
    let ours = job(TEN, json!({}));
    check("shown", &holding(DUE, &cron, std::slice::from_ref(&ours)), &Facts::default(), &listed);
    let done = job(TEN, finished("Complete", DUE));
    let last = format!("{list} status.lastSuccessfulTime=\"{DUE}\"");
    check(
        "and finished: it leaves the list at the next look",
        &holding(DUE, &cron, &[done]),
        &Facts::default(),
        &[listed[0], AGAIN, &last],
    );

    let mut failed = holding(DUE, &cron, &[]);
    failed.failures = 1;
    let query = Query::view::<Job>(Key::new("snazzycats", TEN));
    let asks =
        ["why: a Job is due; is its name free?", "fetch jobs.batch snazzycats/mycronjob-24394200"];
    check("after a failure", &failed, &Facts::default(), &asks);
    let foreign = job(TEN, json!({"metadata": {"ownerReferences": null}}));
    let taken = "why: a Job snazzycats/mycronjob-24394200 that is not this CronJob's has the name \
                 of the one that is due";
    let made = [
        "why: a Job was due at 2016-05-19T10:00:00Z",
        "chain 0: create jobs.batch in snazzycats",
        AGAIN,
    ];
    for (name, answer, expected) in [
        ("ours", view::<Job>(&ours), &listed[..]),
        ("foreign", view::<Job>(&foreign), &[taken, AGAIN]),
        (
            "unknown",
            refused(),
            &["why: whether the Job that is due exists cannot be read", "error: no"],
        ),
    ] {
        check(name, &failed, &facts([(query.clone(), answer)]), expected);
    }
    let free = whole(&failed, &facts([(query, Answer::NotFound)]));
    assert_eq!(free.lines().take(3).collect::<Vec<_>>(), made, "free");
}

/// "this started but is not present in cronjob active list": the live CronJob decides.
#[test]
fn a_job_that_is_not_listed_is_reported() {
    let cron = cron_job(json!({"status": {"lastScheduleTime": TOP}}));
    let fixture = holding(DUE, &cron, &[job("manual", json!({}))]);
    let query = Query::view::<CronJob>(key());
    let why = "why: are the Jobs there that the status lists, and does it list all?";
    let fetch = "fetch cronjobs.batch snazzycats/mycronjob";
    check("not read yet", &fixture, &Facts::default(), &[why, fetch]);
    let unexpected = "in order: event Warning UnexpectedJob: Saw a job that the controller did not \
                      create or forgot: manual";
    let listed = with(cron.clone(), status(&json!({"active": [entry("manual")]})));
    let behind = "why: the cached CronJob is stale";
    let other = with(cron.clone(), json!({"metadata": {"uid": "other"}}));
    for (name, answer, expected) in [
        ("not listed", view::<CronJob>(&cron), &[WAITS, unexpected, AGAIN][..]),
        ("listed by now", view::<CronJob>(&listed), &[behind]),
        ("another CronJob", view::<CronJob>(&other), &[behind]),
        ("gone", Answer::NotFound, &[behind]),
        (
            "unknown",
            refused(),
            &["why: whether the status lists all Jobs cannot be read", "error: no"],
        ),
    ] {
        check(name, &fixture, &facts([(query.clone(), answer)]), expected);
    }
}

/// "this started but went missing": a Job that the cache does not show is read live.
#[test]
fn a_job_that_is_listed_and_not_there_is_struck() {
    let active = status(&json!({"active": [entry(TEN)], "lastScheduleTime": TOP}));
    let cron = cron_job(active);
    let fixture = holding(DUE, &cron, &[]);
    let other = job(TEN, json!({"metadata": {"uid": "other"}}));
    let missing = format!("in order: event Normal MissingJob: Active job went missing: {TEN}");
    let strike = "update cronjobs.batch snazzycats/mycronjob status status.active=null".to_owned();
    let struck = [WAITS, &missing, AGAIN, &strike];
    for (name, answer, expected) in [
        ("there", metadata(&job(TEN, json!({}))), &[WAITS, AGAIN][..]),
        ("gone", Answer::NotFound, &struck),
        ("another one of this name", metadata(&other), &struck),
        (
            "unknown",
            refused(),
            &["why: whether the Jobs are there that the status lists cannot be read", "error: no"],
        ),
    ] {
        check(name, &fixture, &facts([(live_job(TEN), answer)]), expected);
    }
    // The right to write the status must not reach into other namespaces.
    let far = with(entry(TEN), json!({"namespace": "bank"}));
    let cron = cron_job(status(&json!({"active": [far], "lastScheduleTime": TOP})));
    check("in another namespace", &holding(DUE, &cron, &[]), &Facts::default(), &struck);
}

#[test]
fn finished_jobs_leave_the_list() {
    let active = json!({"active": [entry("a"), entry("b"), entry("c")], "lastScheduleTime": TOP,
        "lastSuccessfulTime": "2016-05-19T09:30:00Z"});
    let cron = cron_job(status(&active));
    let jobs = [
        job("a", finished("Complete", "2016-05-19T09:40:00Z")),
        job("b", finished("Failed", "2016-05-19T09:50:00Z")),
        job("c", json!({})),
        job("old", finished("Complete", "2016-05-19T09:00:00Z")),
    ];
    let update = format!(
        "update cronjobs.batch snazzycats/mycronjob status status.active={} \
         status.lastSuccessfulTime=\"2016-05-19T09:40:00Z\"",
        json!([entry("c")])
    );
    check(
        "one complete, one failed",
        &holding(DUE, &cron, &jobs),
        &Facts::default(),
        &[
            WAITS,
            "in order: event Normal SawCompletedJob: Saw completed job: a, condition: Complete",
            "in order: event Normal SawCompletedJob: Saw completed job: b, condition: Failed",
            AGAIN,
            &update,
        ],
    );
}

/// TestControllerV2CleanupFinishedJobs, TestByJobStartTime. A Job that a quota refuses does not
/// keep what fills the quota.
#[test]
fn history_has_limits() {
    let start =
        |minute: u32| json!({"status": {"startTime": format!("2016-05-19T09:{minute:02}:00Z")}});
    let complete = |name: &str, patch: Value| job(name, with(finished("Complete", TOP), patch));
    let jobs = [
        complete("late", start(30)),
        complete("b", start(10)),
        complete("a", start(10)),
        complete("never", json!({"status": {"startTime": null}})),
        complete("going", with(start(1), json!({"metadata": {"deletionTimestamp": TOP}}))),
        job("failed", with(finished("Failed", TOP), start(5))),
        job("runs", json!({})),
    ];
    let deletes = |limits: Value| {
        let active = json!({"active": [entry("runs"), entry("a")], "lastScheduleTime": TOP,
            "lastSuccessfulTime": TOP});
        let cron = cron_job(json!({"spec": limits, "status": active}));
        let found = whole(&holding(DUE, &cron, &jobs), &Facts::default());
        let names = found.lines().filter_map(|line| {
            Some(
                line.split_once("delete jobs.batch snazzycats/")?
                    .1
                    .strip_suffix(", Background")?
                    .to_owned(),
            )
        });
        (names.collect::<Vec<_>>().join(" "), found.contains("Saw completed job: a"))
    };
    for (successful, failed, expected, tells) in [
        (Value::Null, Value::Null, "", true),
        (json!(10), json!(10), "", true),
        (json!(4), Value::Null, "", true),
        // The one that is being deleted already counts; the one that is deleted leaves the list.
        (json!(3), Value::Null, "a", false),
        (json!(1), json!(0), "a b late failed", false),
        (json!(0), Value::Null, "a b late never", false),
    ] {
        let limits =
            json!({"successfulJobsHistoryLimit": successful, "failedJobsHistoryLimit": failed});
        let name = limits.to_string();
        assert_eq!(deletes(limits), (expected.to_owned(), tells), "{name}");
    }
    let limits = json!({"spec": {"successfulJobsHistoryLimit": 1}});
    let cron = with(cron_job(status(&json!({"lastSuccessfulTime": TOP}))), limits);
    check(
        "when a Job is due, at once with it",
        &holding(DUE, &cron, &jobs[..2]),
        &Facts::default(),
        &[
            "why: a Job was due at 2016-05-19T10:00:00Z",
            "chain 0: delete jobs.batch snazzycats/b, Background",
            "chain 1: create jobs.batch in snazzycats",
            AGAIN,
            &format!(
                "update cronjobs.batch snazzycats/mycronjob status status.active={} \
                 status.lastScheduleTime=\"{TOP}\"",
                json!([with(entry(TEN), json!({"resourceVersion": "12"}))])
            ),
        ],
    );
    let gone = with(cron, json!({"metadata": {"deletionTimestamp": DUE}}));
    check(
        "also of a CronJob that is being deleted",
        &holding(DUE, &gone, &jobs[..2]),
        &Facts::default(),
        &[
            "why: the CronJob is being deleted",
            "chain 0: delete jobs.batch snazzycats/b, Background",
        ],
    );
}

/// "still active, is time, R" and "…, get job failed, R": nothing is read, the uid guards.
#[test]
fn jobs_are_replaced() {
    let patch = json!({
        "spec": {"concurrencyPolicy": "Replace"},
        "status": {"active": [entry(NINE)], "lastScheduleTime": "2016-05-19T09:00:00Z"},
    });
    let fixture = holding(DUE, &cron_job(patch), &[job(NINE, json!({}))]);
    let listed = json!([with(entry(TEN), json!({"resourceVersion": "12"}))]);
    let update = format!(
        "update cronjobs.batch snazzycats/mycronjob status status.active={listed} \
         status.lastScheduleTime=\"{TOP}\""
    );
    let expected = [
        "why: a Job was due at 2016-05-19T10:00:00Z",
        "chain 0: delete jobs.batch snazzycats/mycronjob-24394140, Background",
        "chain 0: create jobs.batch in snazzycats",
        AGAIN,
        &update,
    ];
    check("replaced", &fixture, &Facts::default(), &expected);
    let (_, plan, _) = decided(&fixture, &Facts::default());
    let deleted = writes(&plan)[0];
    assert_eq!(&*deleted.object.uid, "uid-mycronjob-24394140");
    let [announce] = deleted.announce.as_slice() else { panic!("{plan}") };
    assert_eq!(announce.done, Some(("SuccessfulDelete", Message::Naming("Deleted job "))));
    assert_eq!(announce.failed, ("FailedDelete", "Deleted job: ".into()));
    let failed = Outcome { error: Some("no".into()), step: Some(0), ..Outcome::default() };
    assert_eq!(
        reported(&fixture, &Facts::default(), &failed),
        None,
        "how far it came is not known"
    );
}

/// What stops all Jobs, in upstream's words.
#[test]
fn what_is_wrong_with_a_schedule_is_reported() {
    let many = "in order: event Warning TooManyMissedTimes: too many missed start times. Set or \
                decrease .spec.startingDeadlineSeconds or check clock skew";
    for (name, patch, expected) in [
        (
            "zone",
            json!({"timeZone": "Mars/Base"}),
            &[
                "why: invalid timeZone: \"Mars/Base\": unknown time zone Mars/Base",
                "in order: event Warning UnknownTimeZone: invalid timeZone: \"Mars/Base\": unknown \
                 time zone Mars/Base",
            ][..],
        ),
        ("suspended", json!({"suspend": true}), &["why: the CronJob is suspended"]),
        (
            "schedule",
            json!({"schedule": "no"}),
            &[
                "why: unparseable schedule: \"no\" : expected exactly 5 fields, found 1: [no]",
                "in order: event Warning UnparseableSchedule: unparseable schedule: \"no\" : \
                 expected exactly 5 fields, found 1: [no]",
            ],
        ),
        (
            "never due",
            json!({"schedule": "59 23 31 2 *"}),
            &[
                "why: invalid schedule: 59 23 31 2 * : time difference between two schedules is \
                 less than 1 second",
                "in order: event Warning InvalidSchedule: invalid schedule: 59 23 31 2 * : time \
                 difference between two schedules is less than 1 second",
            ],
        ),
        (
            "too late",
            json!({"schedule": "@every 30s", "startingDeadlineSeconds": 1}),
            &["why: the next Job is due at 2016-05-19T10:01:30Z", "again in 30.1s"],
        ),
    ] {
        let cron = cron_job(json!({"spec": patch}));
        check(name, &holding(DUE, &cron, &[]), &Facts::default(), expected);
    }
    let cron = cron_job(json!({"spec": {"suspend": false}, "status": {"lastScheduleTime": TOP}}));
    let found = whole(&holding("2016-05-26T10:00:00Z", &cron, &[]), &Facts::default());
    assert_eq!(found.lines().nth(1), Some(many));
}

/// "still active, is time, F". And a deadline of which nothing is left lets no Job start: as
/// upstream's documentation warns.
#[test]
fn a_job_waits_for_the_end_of_another_one() {
    let cron = cron_job(json!({"spec": {"schedule": "* * * * *", "startingDeadlineSeconds": 0}}));
    let waits = ["why: the next Job is due at 2016-05-19T10:02:00Z", "again in 60.1s"];
    check("no deadline left", &holding(DUE, &cron, &[]), &Facts::default(), &waits);
    let forbid = with(
        cron_job(json!({"spec": {"concurrencyPolicy": "Forbid"}})),
        status(&json!({"active": [entry(NINE)], "lastScheduleTime": "2016-05-19T09:00:00Z"})),
    );
    check(
        "prior execution",
        &holding(DUE, &forbid, &[job(NINE, json!({}))]),
        &Facts::default(),
        &[
            "why: the Job that was due at 2016-05-19T10:00:00Z waits for the end of \
             snazzycats/mycronjob-24394140",
            "in order: event Normal JobAlreadyActive: Not starting job because prior execution is \
             running and concurrency policy is Forbid",
            AGAIN,
        ],
    );
}

#[test]
fn a_cron_job_that_cannot_be_read_is_left_alone() {
    let mut fixture = Fixture::default()
        .holding::<Job>(&[job(NINE, finished("Complete", TOP))])
        .holding_unreadable::<CronJob>(&cron_job(json!({})), "spec.suspend: no");
    fixture.now = at(DUE);
    let alone = ["why: the CronJob cannot be read: spec.suspend: no"];
    check("unreadable", &fixture, &Facts::default(), &alone);
    assert!(planned(&fixture).starts_with(alone[0]));
}

#[test]
fn a_summary_says_what_is_due() {
    let said = |fixture: &Fixture| {
        let snapshot = controller().observe(&key(), &fixture.view(), &()).unwrap();
        let facts = controller().summary(&snapshot).into_iter();
        facts.map(|(name, value)| format!("{name}: {value}\n")).collect::<Vec<_>>().concat()
    };
    let patch = json!({
        "spec": {"timeZone": "Asia/Tokyo", "suspend": false},
        "status": {"active": [entry(TEN)], "lastScheduleTime": TOP},
    });
    let jobs = [job(TEN, json!({})), job(NINE, finished("Failed", TOP))];
    assert_eq!(
        said(&holding(DUE, &cron_job(patch), &jobs)),
        format!(
            "schedule: \"0 * * * ?\"\ntime zone: Asia/Tokyo\nconcurrency policy: Allow\n\
             suspended: no\nlast due: {TOP}\nnext due: 2016-05-19T11:00:00Z\nactive: {TEN}\n\
             complete: 0\nfailed: 1\n"
        )
    );
}
