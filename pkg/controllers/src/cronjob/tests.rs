//! Tables, mirroring upstream's `cronjob_controllerv2_test.go`, `utils_test.go`, its integration
//! test `cronjob` and what no upstream test asks.

mod due;
mod events;
mod jobs;
mod sync;

use api::Time;
use api::cron::Zone;
use api::{CronJob, Job, Key, Kind, Metadata, Object as _};
use controller::fixture::{Fixture, decode, enqueued, with};
use controller::{
    Action, Answer, Change, Controller as _, Facts, ObjectRef, Outcome, Plan, Query, Refused, Step,
    Views, Write,
};
use serde_json::{Value, json};

use super::*;

const HOURLY: &str = "0 * * * ?";
/// Upstream's `topOfTheHour`.
const TOP: &str = "2016-05-19T10:00:00Z";

fn controller() -> Controller {
    Controller { local: Zone::UTC }
}

fn at(text: &str) -> Time {
    Time::parse(text).unwrap()
}

fn key() -> Key {
    Key::new("snazzycats", "mycronjob")
}

/// As upstream's `cronJob`: `snazzycats/mycronjob`, due at each hour and made a minute before ten.
fn cron_job(patch: Value) -> Value {
    let base = json!({
        "metadata": {
            "name": "mycronjob", "namespace": "snazzycats", "uid": "1a2b3c", "resourceVersion": "7",
            "creationTimestamp": "2016-05-19T09:59:00Z",
        },
        "spec": {
            "schedule": HOURLY, "concurrencyPolicy": "Allow",
            "jobTemplate": {
                "metadata": {"labels": {"a": "b"}, "annotations": {"x": "y"}},
                "spec": {"parallelism": 1, "template": {"spec": {"containers": [{"image": "i"}]}}},
            },
        },
        "status": {},
    });
    with(base, patch)
}

/// A Job of that CronJob which runs; its uid is `uid-NAME`.
fn job(name: &str, patch: Value) -> Value {
    let owner = json!({"apiVersion": "batch/v1", "kind": "CronJob", "name": "mycronjob",
        "uid": "1a2b3c", "controller": true, "blockOwnerDeletion": true});
    let base = json!({
        "metadata": {
            "name": name, "namespace": "snazzycats", "uid": format!("uid-{name}"),
            "resourceVersion": "3", "ownerReferences": [owner],
        },
        "status": {"startTime": TOP},
    });
    with(base, patch)
}

/// What of a Job says that it has finished.
fn finished(r#type: &str, completion: &str) -> Value {
    let conditions = json!([{"type": r#type, "status": "True", "lastTransitionTime": completion}]);
    json!({"status": {"conditions": conditions, "completionTime": completion}})
}

/// The entry of a Job in the status.
fn entry(name: &str) -> Value {
    json!({"apiVersion": "batch/v1", "kind": "Job", "namespace": "snazzycats", "name": name,
        "uid": format!("uid-{name}"), "resourceVersion": "3"})
}

fn holding(now: &str, cron_job: &Value, jobs: &[Value]) -> Fixture {
    let mut fixture = Fixture::default();
    fixture.now = at(now);
    fixture.holding::<CronJob>(std::slice::from_ref(cron_job)).holding::<Job>(jobs)
}

fn decided(fixture: &Fixture, facts: &Facts) -> (Snapshot, Plan, Verdict) {
    let snapshot = controller().observe(&key(), &fixture.view(), &()).unwrap();
    let (plan, verdict) = controller().decide(&snapshot, facts);
    (snapshot, plan, verdict)
}

/// The plan without live reads.
fn planned(fixture: &Fixture) -> String {
    decided(fixture, &Facts::default()).1.to_string()
}

fn facts(answers: impl IntoIterator<Item = (Query, Answer)>) -> Facts {
    let mut facts = Facts::default();
    facts.answers.extend(answers);
    facts
}

fn live_job(name: &str) -> Query {
    Query::metadata(Job::RESOURCE, Key::new("snazzycats", name))
}

fn metadata(job: &Value) -> Answer {
    let meta = decode::<Job>(job).meta().clone();
    Answer::Metadata(Box::new(Metadata { meta }))
}

fn view<T: Kind>(object: &Value) -> Answer {
    Answer::Views(Views::new(vec![decode::<T>(object)]))
}

fn refused() -> Answer {
    Answer::Failed(Refused::from("no"))
}

/// The writes of a plan.
fn writes(plan: &Plan) -> Vec<&Write> {
    let actions = plan.steps.iter().flat_map(|step| match step {
        Step::InOrder(actions) | Step::Together(actions) | Step::SlowStart(actions) => {
            actions.iter().collect::<Vec<_>>()
        }
        Step::Chains(chains) => chains.iter().flatten().collect(),
        Step::Fetch(_) => Vec::new(),
    });
    actions.filter_map(Action::write).collect()
}

/// All that went well, with the Jobs that were made.
fn done(plan: &Plan) -> Outcome {
    let made = writes(plan).into_iter().filter_map(|write| {
        let body: Value = serde_json::from_str(write.created()?).unwrap();
        let name = body["metadata"]["name"].as_str().unwrap();
        let meta = decode::<Job>(&job(name, json!({"metadata": {"resourceVersion": "12"}})));
        Some(ObjectRef::new(&Job::RESOURCE, meta.meta()))
    });
    Outcome { made: made.collect(), error: plan.error.clone(), ..Outcome::default() }
}

/// The status write that follows a plan.
fn reported(fixture: &Fixture, facts: &Facts, outcome: &Outcome) -> Option<String> {
    let (snapshot, _, verdict) = decided(fixture, facts);
    controller().report(&snapshot, Some(&verdict), outcome).map(|write| write.to_string())
}
