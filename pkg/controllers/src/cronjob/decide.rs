//! Whether a Job is started. As `syncCronJob` in upstream's `cronjob_controllerv2.go`.

use std::iter;
use std::sync::Arc;

use api::cron::{Schedule, Zone};
use api::go::{quote, rfc1123z};
use api::{ActiveJob, ConcurrencyPolicy, CronJobStatus, Job, Key, Kind, Meta, Time};
use controller::EventType::{Normal, Warning};
use controller::{
    Action, Announce, Count, Delete, Event, Facts, Family, Message, ObjectRef, Plan, Propagation,
    Query, Step, When, Why, Write,
};
use mutant::Mutant;

use super::report::Verdict;
use super::schedule::{self, Deadline, Missed, Recent};
use super::snapshot::Snapshot;
use super::{active, history, job};

/// Upstream's pkg/controller/cronjob/metrics.
pub(super) const JOB_CREATION_SKEW: Family = Family::histogram(
    "cronjob_controller_job_creation_skew_duration_seconds",
    "[STABLE] Time between when a cronjob is scheduled to be run, and when the corresponding job \
     is created",
    &[1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0, 512.0],
);

/// The API server's word for a name that is taken.
const ALREADY_EXISTS: &str = "AlreadyExists";

/// What the clock and the spec say.
enum Timing {
    /// No Job starts, for as long as the spec is so.
    Stopped(Why),
    /// None is due.
    Waits(Schedule),
    /// One was due then.
    Due(Schedule, Time),
}

/// What is done about Jobs that are due.
struct Course {
    /// Why, and when to look again.
    plan: Plan,
    /// The writes that start a Job, in order.
    chain: Vec<Action>,
    verdict: Verdict,
}

/// Which Job has the name of the one that is due.
enum Name {
    /// None.
    Free,
    /// The Job itself: it was made, and that is not in the status.
    Ours(ActiveJob),
    /// A foreign Job.
    Foreign,
}

pub(super) fn decide(s: &Snapshot, facts: &Facts, local: &Zone) -> (Plan, Verdict) {
    let unchanged = || Verdict { status: s.cron_job.status.clone(), ..Verdict::default() };
    if let Some(error) = &s.cron_job.unreadable {
        return (Plan::rest(format!("the CronJob cannot be read: {error}")), unchanged());
    }
    let (timing, mut events) = timing(s, local);
    let due = match &timing {
        Timing::Due(_, due) => Some(job::key(&s.cron_job, *due)),
        Timing::Stopped(_) | Timing::Waits(_) => None,
    };
    let mut questions = active::questions(s, due.as_ref());
    questions.retain(|query| facts.get(query).is_none());
    if !questions.is_empty() {
        let why = "are the Jobs there that the status lists, and does it list all?";
        return (Plan::fetch(why, questions), unchanged());
    }
    match active::is_behind(s, due.as_ref(), facts) {
        Ok(false) => {}
        Ok(true) => return (Plan::rest("the cached CronJob is stale"), unchanged()),
        Err(error) => {
            let why = "whether the status lists all Jobs cannot be read";
            return (Plan::failed(why, error), unchanged());
        }
    }
    let beyond = history::beyond_limits(s);
    let leaving: Vec<&str> = beyond.iter().map(|job| &*job.meta.uid).collect();
    let listed = active::listed(s, due.as_ref(), &leaving, facts);
    let course = match listed.error {
        Some(error) => {
            let why = "whether the Jobs are there that the status lists cannot be read";
            Course::of(Plan::failed(why, error), listed.status)
        }
        None => course(s, facts, local, timing, (listed.status, &mut events)),
    };
    let is_fetch = matches!(course.plan.steps.as_slice(), [Step::Fetch(_)]);
    if is_fetch {
        return (course.plan, unchanged());
    }
    let events = listed.events.into_iter().chain(events).map(Action::Event).collect();
    let deletes = beyond.iter().filter(|job| !job.meta.is_terminating());
    let about = Arc::new(s.object());
    let deletes = deletes.map(|job| delete(&about, ObjectRef::new(&Job::RESOURCE, &job.meta)));
    course.plan(events, deletes.collect())
}

/// The end of `syncCronJob` begins so: what stops all Jobs, and when one was due.
fn timing(s: &Snapshot, local: &Zone) -> (Timing, Vec<Event>) {
    let cron_job = &s.cron_job;
    let stopped = |why: Why, event: Option<Event>| (Timing::Stopped(why), Vec::from_iter(event));
    if cron_job.meta.is_terminating() {
        return stopped("the CronJob is being deleted".into(), None);
    }
    if let Some(name) = &cron_job.time_zone
        && let Err(error) = Zone::load(name, local)
    {
        let text = format!("invalid timeZone: {}: {error}", quote(name));
        let event = s.event(Warning, "UnknownTimeZone", text.clone());
        return stopped(text.into(), Some(event));
    }
    if cron_job.suspended && !mutant::is(Mutant::SuspendIgnored) {
        return stopped("the CronJob is suspended".into(), None);
    }
    let mut events = Vec::new();
    let written = &cron_job.schedule;
    if schedule::names_zone(cron_job) {
        let text = format!(
            "CRON_TZ or TZ used in schedule {} is not officially supported, see \
             https://kubernetes.io/docs/concepts/workloads/controllers/cron-jobs/ for more details",
            quote(written),
        );
        events.push(s.event(Warning, "UnsupportedSchedule", text));
    }
    let parsed = match schedule::parse(cron_job, local) {
        Ok(parsed) => parsed,
        Err(error) => {
            let text = format!("unparseable schedule: {} : {error}", quote(written));
            events.push(s.event(Warning, "UnparseableSchedule", text.clone()));
            return (Timing::Stopped(text.into()), events);
        }
    };
    let last = cron_job.status.last_schedule_time;
    match schedule::recent(cron_job, last, s.now, &parsed, Deadline::Counts) {
        Ok(Recent { due: None, .. }) => (Timing::Waits(parsed), events),
        Ok(Recent { due: Some(due), missed, .. }) => {
            if missed == Missed::Many {
                let text = "too many missed start times. Set or decrease \
                            .spec.startingDeadlineSeconds or check clock skew";
                events.push(s.event(Warning, "TooManyMissedTimes", text.to_owned()));
            }
            (Timing::Due(parsed, due), events)
        }
        Err(error) => {
            let text = format!("invalid schedule: {written} : {error}");
            events.push(s.event(Warning, "InvalidSchedule", text.clone()));
            (Timing::Stopped(text.into()), events)
        }
    }
}

fn course(
    s: &Snapshot,
    facts: &Facts,
    local: &Zone,
    timing: Timing,
    (status, events): (CronJobStatus, &mut Vec<Event>),
) -> Course {
    let cron_job = &s.cron_job;
    let last = status.last_schedule_time;
    let wait = |schedule: &Schedule, why: String| {
        let again = schedule::until_next(cron_job, last, s.now, schedule);
        Plan::rest(why).again_after(Some(again))
    };
    let (schedule, due) = match timing {
        Timing::Stopped(why) => return Course::of(Plan::rest(why), status),
        Timing::Waits(schedule) => {
            let next = schedule::next(cron_job, last, s.now, &schedule);
            let why =
                next.map_or("never due".to_owned(), |at| format!("the next Job is due at {at}"));
            return Course::of(wait(&schedule, why), status);
        }
        Timing::Due(schedule, due) => (schedule, due),
    };
    let deadline = schedule::starting_deadline(cron_job);
    if deadline.is_some_and(|deadline| due + deadline < s.now) {
        let text = format!("Missed scheduled time to start a job: {}", rfc1123z(due));
        events.push(s.event(Warning, "MissSchedule", text));
        let why = format!("the Job that was due at {due} would start too late");
        return Course::of(wait(&schedule, why), status);
    }
    let key = job::key(cron_job, due);
    if last == Some(due) || status.active.iter().any(|entry| entry.key == key) {
        let why = format!("the Job that was due at {due} was started");
        return Course::of(wait(&schedule, why), status);
    }
    if let (ConcurrencyPolicy::Forbid, Some(first)) = (cron_job.concurrency, status.active.first())
    {
        let text = "Not starting job because prior execution is running and concurrency policy is \
                    Forbid";
        events.push(s.event(Normal, "JobAlreadyActive", text.to_owned()));
        let why = format!("the Job that was due at {due} waits for the end of {}", first.key);
        return Course::of(wait(&schedule, why), status);
    }
    let name = match name(s, &key, facts) {
        Ok(name) => name,
        Err(plan) => return Course::of(plan, status),
    };
    if let Name::Foreign = name {
        let why =
            format!("a Job {key} that is not this CronJob's has the name of the one that is due");
        return Course::of(wait(&schedule, why), status);
    }
    let again = schedule::until_next(cron_job, Some(due), s.now, &schedule);
    let course = start(s, due, status, name, local);
    Course { plan: course.plan.again_after(Some(again)), ..course }
}

/// After a failure it is asked whether the name is taken: the cache may not show it.
fn name(s: &Snapshot, key: &Key, facts: &Facts) -> Result<Name, Plan> {
    let ours = |meta: &Meta| Name::Ours(active::entry(&ObjectRef::new(&Job::RESOURCE, meta)));
    if let Some(job) = s.jobs.iter().find(|job| job.meta.key == *key) {
        return Ok(ours(&job.meta));
    }
    let query = Query::view::<Job>(key.clone());
    match facts.get(&query).map(|answer| answer.view::<Job>()) {
        None if !s.has_failed => Ok(Name::Free),
        None => Err(Plan::fetch("a Job is due; is its name free?", vec![query])),
        Some(Ok(None)) => Ok(Name::Free),
        Some(Ok(Some(job))) if job.meta.is_controlled_by(&s.cron_job.meta.uid) => {
            Ok(ours(&job.meta))
        }
        Some(Ok(Some(_))) => Ok(Name::Foreign),
        Some(Err(error)) => {
            Err(Plan::failed("whether the Job that is due exists cannot be read", &*error.text))
        }
    }
}

/// Starts the Job that is due, in place of those that run if the policy says so.
fn start(s: &Snapshot, due: Time, status: CronJobStatus, name: Name, local: &Zone) -> Course {
    let cron_job = &s.cron_job;
    let about = Arc::new(s.object());
    let mut course = Course::of(Plan::rest(format!("a Job was due at {due}")), status);
    if cron_job.concurrency == ConcurrencyPolicy::Replace {
        for entry in &course.verdict.status.active {
            course.verdict.replaced.push(entry.uid.clone());
            if active::is_near(s, entry) {
                course.chain.push(delete(&about, active::object(entry)));
            }
        }
    }
    if let Name::Ours(entry) = name {
        course.plan.why =
            format!("the Job that was due at {due} was made; now it is listed").into();
        course.verdict.status.active.push(entry);
        course.verdict.status.last_schedule_time = Some(due);
        return course;
    }
    let create = match job::create(cron_job, due, local) {
        Ok(create) => create,
        Err(error) => {
            course.plan.error = Some(error);
            return course;
        }
    };
    let announce = Announce {
        about,
        done: Some(("SuccessfulCreate", Message::Naming("Created job "))),
        failed: ("FailedCreate", "Error creating job: ".into()),
        // The next sync looks whose it is.
        silent: &[ALREADY_EXISTS],
    };
    let skew = Count::since(&JOB_CREATION_SKEW, due).when(When::Done);
    course.chain.push(create.announced(announce).counted(vec![skew]).into());
    course.verdict.starts = Some((job::key(cron_job, due), due));
    course
}

/// Deletes a Job and its pods.
fn delete(about: &Arc<ObjectRef>, job: ObjectRef) -> Action {
    let announce = Announce {
        about: Arc::clone(about),
        done: Some(("SuccessfulDelete", Message::Naming("Deleted job "))),
        failed: ("FailedDelete", "Deleted job: ".into()),
        silent: &[],
    };
    let how = Delete { propagation: Some(Propagation::Background), ..Delete::default() };
    Write::delete_so(job, how).announced(announce).into()
}

// === impl Course ===

impl Course {
    fn of(plan: Plan, status: CronJobStatus) -> Self {
        Self { plan, chain: Vec::new(), verdict: Verdict { status, ..Verdict::default() } }
    }

    /// The plan with the Events first. History is deleted at the same time: an error there delays
    /// no Job, and a Job that a quota refuses does not keep the Jobs that fill the quota.
    fn plan(self, events: Vec<Action>, deletes: Vec<Action>) -> (Plan, Verdict) {
        let Self { mut plan, chain, verdict } = self;
        let deletes = deletes.into_iter().map(|delete| vec![delete]);
        let chains: Vec<_> = deletes.chain(iter::once(chain)).filter(|it| !it.is_empty()).collect();
        if !events.is_empty() {
            plan.steps.push(Step::InOrder(events));
        }
        if !chains.is_empty() {
            plan.steps.push(Step::Chains(chains));
        }
        (plan, verdict)
    }
}
