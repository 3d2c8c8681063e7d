//! Tables, mirroring upstream's `ttlafterfinished_controller_test.go` and its e2e test
//! `ttl_after_finished.go`.

use api::{Job, Key, Object as _};
use controller::fixture::{Fixture, NOW, ago, decode, enqueued, time, with};
use controller::{
    Amount, Answer, Change, Controller as _, Facts, Plan, Query, Refused, Views, When,
};
use serde_json::{Value, json};

use super::*;

const SECOND: i64 = 1_000_000_000;

/// As upstream's `newJob`: `shop/foobar`, which has or has not a condition of this type since so
/// many seconds, and perhaps a TTL.
fn job(finished: Option<(&str, i64)>, ttl_seconds: Option<i32>) -> Value {
    let condition = |(r#type, seconds)| {
        let since = ago(seconds);
        json!({"type": r#type, "status": "True", "lastTransitionTime": since})
    };
    json!({
        "metadata": {"name": "foobar", "namespace": "shop", "uid": "u1", "resourceVersion": "7"},
        "spec": {"ttlSecondsAfterFinished": ttl_seconds},
        "status": {"conditions": finished.map(|it| json!([condition(it)]))},
    })
}

fn complete(seconds: i64, ttl_seconds: i32) -> Value {
    job(Some(("Complete", seconds)), Some(ttl_seconds))
}

fn deleted(job: Value) -> Value {
    with(job, json!({"metadata": {"deletionTimestamp": NOW}}))
}

fn key() -> Key {
    Key::new("shop", "foobar")
}

fn holding(job: &Value) -> Fixture {
    Fixture::default().holding::<Job>(std::slice::from_ref(job))
}

fn planned_in(fixture: &Fixture, live: Option<Answer>) -> Plan {
    let snapshot = Controller.observe(&key(), &fixture.view(), &()).unwrap();
    let facts = live.map(|answer| Facts::from([(Query::view::<Job>(key()), answer)]));
    Controller.decide(&snapshot, &facts.unwrap_or_default()).0
}

/// The plan before anything was read live.
fn planned(job: &Value) -> String {
    planned_in(&holding(job), None).to_string()
}

fn views(job: &Value) -> Answer {
    Answer::Views(Views::new(vec![decode::<Job>(job)]))
}

/// The plan for a Job that has expired in the cache and is read live.
fn planned_live(live: Answer) -> Plan {
    planned_in(&holding(&complete(60, 0)), Some(live))
}

/// A look at what is there now.
fn fetches(expired_at: &str) -> String {
    format!(
        "why: expired at {expired_at}; is that still so in a live read?\n\
        fetch jobs.batch shop/foobar\n"
    )
}

fn deletes(expired_at: &str) -> String {
    format!("why: expired at {expired_at}\nin order: delete jobs.batch shop/foobar, Foreground\n")
}

/// All rows of TestTimeLeft: what it calls an error, that there is nothing to clean up, is a plan
/// that rests here. The other rows are from the card.
#[test]
fn a_job_goes_when_its_time_is_up() {
    let stays = "why: the Job stays for good: it has no ttlSecondsAfterFinished\n";
    let later =
        |seconds: i64| format!("why: expires at {}\nagain in {seconds}s\n", time(seconds * SECOND));
    for (name, job, expected) in [
        ("unfinished", job(None, Some(100)), "why: the Job has not finished\n".to_owned()),
        ("completed now, no TTL", job(Some(("Complete", 0)), None), stays.to_owned()),
        ("completed now, 0s TTL", complete(0, 0), fetches(NOW)),
        ("completed now, 10s TTL", complete(0, 10), later(10)),
        ("completed 10s ago, 15s TTL", complete(10, 15), later(5)),
        ("failed now, no TTL", job(Some(("Failed", 0)), None), stays.to_owned()),
        ("failed now, 0s TTL", job(Some(("Failed", 0)), Some(0)), fetches(NOW)),
        ("failed now, 10s TTL", job(Some(("Failed", 0)), Some(10)), later(10)),
        ("failed 10s ago, 15s TTL", job(Some(("Failed", 10)), Some(15)), later(5)),
        ("to the second", complete(15, 15), fetches(NOW)),
        ("long ago", complete(3600, 10), fetches(&ago(3590))),
        (
            "neither finished nor a TTL",
            job(None, None),
            "why: the Job has not finished\n".to_owned(),
        ),
        (
            "card: of no type that ends a Job",
            job(Some(("Suspended", 60)), Some(0)),
            "why: the Job has not finished\n".to_owned(),
        ),
        (
            "card: being deleted",
            deleted(complete(60, 0)),
            "why: the Job is being deleted\n".to_owned(),
        ),
        (
            "card: managed by others",
            with(complete(60, 0), json!({"spec": {"managedBy": "example.com/kueue"}})),
            fetches(&ago(60)),
        ),
        ("negative, which the API server does not admit", complete(0, -5), fetches(&ago(5))),
        (
            "card: finished in the future",
            complete(-30, 10),
            format!(
                "why: expires at {}; finished in the future, at {}: is a clock wrong?\n\
                again in 40s\n",
                ago(-40),
                ago(-30),
            ),
        ),
        (
            "the longest TTL",
            complete(0, i32::MAX),
            format!(
                "why: expires at {}\nagain in 2147483647s\n",
                time(i64::from(i32::MAX) * SECOND)
            ),
        ),
    ] {
        assert_eq!(planned(&job), expected, "{name}");
    }
}

/// As `jobFinishTime`: the first condition counts, and one without a time is tried again.
#[test]
fn a_job_that_does_not_say_when_it_finished_is_an_error() {
    let undated = json!({"type": "Complete", "status": "True", "lastTransitionTime": null});
    let failed = json!({"type": "Failed", "status": "True", "lastTransitionTime": ago(60)});
    let conditions = |all: &[&Value]| with(complete(60, 0), json!({"status": {"conditions": all}}));
    let error = "why: its condition Complete does not say since when\n\
        error: unable to find the time when the Job shop/foobar finished\n";
    assert_eq!(planned(&conditions(&[&undated, &failed])), error);
    assert_eq!(planned(&conditions(&[&failed, &undated])), fetches(&ago(60)));
    let plan = planned_live(views(&conditions(&[&undated])));
    assert_eq!(plan.to_string(), error, "also live");
}

/// Steps 3 and 4 of `processJob`: the live Job decides, whichever it is by now.
#[test]
fn a_job_is_deleted_by_what_is_read_live() {
    let resting = |why: &str| format!("why: {why}\n");
    let later =
        |seconds: i64| format!("why: expires at {}\nagain in {seconds}s\n", time(seconds * SECOND));
    let mut refused = Refused::from("no");
    refused.code = Some(503);
    for (name, live, expected) in [
        ("as it was", views(&complete(60, 0)), deletes(&ago(60))),
        ("it has less time than before", views(&complete(60, -10)), deletes(&ago(70))),
        ("it was given more", views(&complete(60, 90)), later(30)),
        (
            "it stays for good",
            views(&job(Some(("Complete", 60)), None)),
            resting("the Job stays for good: it has no ttlSecondsAfterFinished"),
        ),
        ("it goes", views(&deleted(complete(60, 0))), resting("the Job is being deleted")),
        ("it runs again", views(&job(None, Some(0))), resting("the Job has not finished")),
        ("it is deleted", Answer::NotFound, resting("the Job is deleted already")),
        (
            "the API server fails",
            Answer::Failed(refused),
            "why: expired, and cannot be read once more before it is deleted\nerror: no\n"
                .to_owned(),
        ),
    ] {
        assert_eq!(planned_live(live).to_string(), expected, "{name}");
    }
}

/// The uid of the live Job, no version, and upstream's `JobDeletionDurationSeconds`.
#[test]
fn the_job_that_was_read_live_is_deleted_and_no_other() {
    let other = with(complete(90, 30), json!({"metadata": {"uid": "u2"}}));
    let plan = planned_live(views(&other));
    let [controller::Step::InOrder(actions)] = plan.steps.as_slice() else { panic!("{plan}") };
    let [controller::Action::Write(write)] = actions.as_slice() else { panic!("{plan}") };
    let delete = write.deleted().unwrap();
    assert_eq!((&*write.object.uid, &delete.guard), ("u2", &controller::Guard::Uid));
    let [count] = write.counts.as_slice() else { panic!("{plan}") };
    let name = "ttl_after_finished_controller_job_deletion_duration_seconds";
    assert_eq!(count.family.name, name);
    // Since it expired, until it is deleted; a deletion by another client does not count.
    assert_eq!((count.value, count.when), (Amount::Since(time(-60 * SECOND)), When::Done));
    assert!(plan.counts.is_empty(), "{plan}");
}

#[test]
fn a_job_that_cannot_be_read_is_left_alone() {
    let error = "spec.ttlSecondsAfterFinished: no";
    let fixture = Fixture::default().holding_unreadable::<Job>(&complete(60, 0), error);
    let alone = format!("why: the Job cannot be read: {error}\n");
    assert_eq!(planned_in(&fixture, None).to_string(), alone);
    let meta = decode::<Job>(&complete(60, 0)).meta.clone();
    let job = Job::unreadable(meta, &api::DecodeError(error.to_owned()));
    let live = Answer::Views(Views::new(vec![std::sync::Arc::new(job)]));
    assert_eq!(planned_live(live).to_string(), alone);
}

#[test]
fn a_deleted_job_is_done_with() {
    let none = Fixture::default().holding::<Job>(&[]);
    assert!(Controller.observe(&key(), &none.view(), &()).is_none());
}

/// `addJob` and `updateJob`. A delayed key is dropped with its Job.
#[test]
fn finished_jobs_with_a_ttl_enqueue() {
    let enqueues = |change: &Change<Job>| enqueued(&Controller, change, &Fixture::default());
    let running = job(None, Some(10));
    for (name, object, expected) in [
        ("unfinished", running.clone(), ""),
        ("without a TTL", job(Some(("Complete", 5)), None), ""),
        ("being deleted", deleted(complete(5, 10)), ""),
        ("to wait for", complete(5, 10), "now shop/foobar\n"),
        ("failed and expired", job(Some(("Failed", 5)), Some(0)), "now shop/foobar\n"),
    ] {
        let new = decode::<Job>(&object);
        assert_eq!(enqueues(&Change::Added(new.clone())), expected, "{name}");
        let old = decode::<Job>(&running);
        assert_eq!(enqueues(&Change::Updated { old, new: new.clone() }), expected, "{name}");
        let resync = Change::Updated { old: new.clone(), new };
        assert_eq!(enqueues(&resync), expected, "{name}, in a resync");
    }
    for (object, expected) in [
        (running, ""),
        (complete(5, 10), "forget shop/foobar\n"),
        (deleted(complete(5, 10)), "forget shop/foobar\n"),
    ] {
        assert_eq!(enqueues(&Change::Deleted(decode(&object))), expected, "{object}");
    }
}

#[test]
fn a_summary_says_when_it_goes_and_why() {
    let said = |fixture: &Fixture| {
        let snapshot = Controller.observe(&key(), &fixture.view(), &()).unwrap();
        let facts = Controller.summary(&snapshot).into_iter();
        facts.map(|(name, value)| format!("{name}: {value}\n")).collect::<Vec<_>>().concat()
    };
    let at = ago(10);
    for (job, expected) in [
        (job(None, None), "finished: no\nstays for: good\n".to_owned()),
        (
            complete(10, 15),
            format!("finished: Complete since {at}\nstays for: 15s\nexpires: {}, in 5s\n", ago(-5)),
        ),
        (
            deleted(job(Some(("Failed", 10)), Some(0))),
            format!(
                "finished: Failed since {at}\nstays for: 0s\nexpires: {at}, 10s ago\n\
                being deleted since: {NOW}\n"
            ),
        ),
    ] {
        assert_eq!(said(&holding(&job)), expected);
    }
    let broken = Fixture::default().holding_unreadable::<Job>(&complete(10, 15), "spec: no");
    assert_eq!(
        said(&broken),
        "finished: no\nstays for: good\nleft alone: the Job cannot be read: spec: no\n"
    );
}
