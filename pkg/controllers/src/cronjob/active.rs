//! The Jobs that the status lists, and those that there are. As the first half of `syncCronJob` in
//! upstream's `cronjob_controllerv2.go`.

use api::{ActiveJob, CronJob, CronJobStatus, Finish, Job, Key, Kind};
use controller::{Event, EventType, Facts, ObjectRef, Query};
use serde_json::json;

use super::snapshot::Snapshot;

/// What the status should say, before a Job is started.
pub(super) struct Listed {
    pub(super) status: CronJobStatus,
    /// What the Events report.
    pub(super) events: Vec<Event>,
    /// Why it is not known of all Jobs whether they are there.
    pub(super) error: Option<String>,
}

/// What must be read live to say that; `due` is the Job that should be there soon or is.
pub(super) fn questions(s: &Snapshot, due: Option<&Key>) -> Vec<Query> {
    let missing = s.cron_job.status.active.iter().filter(|entry| is_unseen(s, entry));
    let mut queries: Vec<_> = missing.map(|entry| live_job(&entry.key)).collect();
    if unlisted(s, due).next().is_some() {
        queries.push(live_cron_job(s));
    }
    queries
}

/// Whether the cached CronJob is stale: the live one lists a Job that the cached one does not, or
/// was deleted. An error if it cannot be read.
pub(super) fn is_behind(s: &Snapshot, due: Option<&Key>, facts: &Facts) -> Result<bool, String> {
    let Some(answer) = facts.get(&live_cron_job(s)) else { return Ok(false) };
    let live = answer.view::<CronJob>().map_err(|error| error.text.clone())?;
    let Some(live) = live.filter(|live| live.meta.uid == s.cron_job.meta.uid) else {
        return Ok(true);
    };
    Ok(unlisted(s, due).any(|job| lists(&live.status, &job.meta.uid)))
}

/// `leaving`: the uids of the Jobs that are deleted anyway.
pub(super) fn listed(s: &Snapshot, due: Option<&Key>, leaving: &[&str], facts: &Facts) -> Listed {
    let mut listed = Listed { status: s.cron_job.status.clone(), events: Vec::new(), error: None };
    listed.status.active.retain(|entry| !leaving.contains(&&*entry.uid));
    for job in unlisted(s, due) {
        let text = "Saw a job that the controller did not create or forgot: ";
        listed.tell(s, EventType::Warning, "UnexpectedJob", format!("{text}{}", job.meta.key.name));
    }
    for job in &s.jobs {
        if let Some(finish) = &job.finish {
            listed.finished(s, job, finish);
        }
    }
    listed.strike_missing(s, facts);
    listed
}

/// An entry for a Job.
pub(super) fn entry(job: &ObjectRef) -> ActiveJob {
    let Key { namespace, name } = &job.key;
    let reference = json!({
        "apiVersion": Job::RESOURCE.api_version(),
        "kind": Job::RESOURCE.kind,
        "namespace": **namespace,
        "name": **name,
        "uid": *job.uid,
        "resourceVersion": job.resource_version.to_string(),
    });
    ActiveJob { key: job.key.clone(), uid: job.uid.clone(), reference }
}

/// The Job of an entry.
pub(super) fn object(entry: &ActiveJob) -> ObjectRef {
    let (key, uid) = (entry.key.clone(), entry.uid.clone());
    ObjectRef { resource: Job::RESOURCE, key, uid, resource_version: 0 }
}

/// The Jobs that have not finished and are not listed, but for the one that is.
fn unlisted<'a>(s: &'a Snapshot, due: Option<&'a Key>) -> impl Iterator<Item = &'a Job> {
    let jobs = s.jobs.iter().map(|job| &**job).filter(|job| job.finish.is_none());
    let jobs = jobs.filter(|job| !lists(&s.cron_job.status, &job.meta.uid));
    jobs.filter(move |job| due != Some(&job.meta.key))
}

fn lists(status: &CronJobStatus, uid: &str) -> bool {
    status.active.iter().any(|entry| *entry.uid == *uid)
}

/// Whether the cache does not show the Job of an entry, though it may.
fn is_unseen(s: &Snapshot, entry: &ActiveJob) -> bool {
    is_near(s, entry) && s.jobs.iter().all(|job| job.meta.uid != entry.uid)
}

/// Whether it is in the namespace of the CronJob, where all its Jobs are.
pub(super) fn is_near(s: &Snapshot, entry: &ActiveJob) -> bool {
    entry.key.namespace == s.cron_job.meta.key.namespace
}

fn live_job(key: &Key) -> Query {
    Query::metadata(Job::RESOURCE, key.clone())
}

fn live_cron_job(s: &Snapshot) -> Query {
    Query::view::<CronJob>(s.cron_job.meta.key.clone())
}

// === impl Listed ===

impl Listed {
    fn finished(&mut self, s: &Snapshot, job: &Job, finish: &Finish) {
        let Finish { r#type, .. } = finish;
        if lists(&self.status, &job.meta.uid) {
            self.status.active.retain(|entry| entry.uid != job.meta.uid);
            let name = &job.meta.key.name;
            let text = format!("Saw completed job: {name}, condition: {type}");
            self.tell(s, EventType::Normal, "SawCompletedJob", text);
        }
        if *r#type == "Complete" {
            let last = &mut self.status.last_successful_time;
            *last = (*last).max(job.status.completion_time);
        }
    }

    /// Strikes those that are not there, of which it is certain.
    fn strike_missing(&mut self, s: &Snapshot, facts: &Facts) {
        let entries = std::mem::take(&mut self.status.active);
        for entry in entries {
            let answer = facts.get(&live_job(&entry.key)).filter(|_| is_unseen(s, &entry));
            let is_there = match answer.map(|answer| answer.metadata()) {
                None => is_near(s, &entry),
                Some(Ok(live)) => live.is_some_and(|live| live.meta.uid == entry.uid),
                Some(Err(error)) => {
                    self.error.get_or_insert_with(|| error.text.clone());
                    true
                }
            };
            if is_there {
                self.status.active.push(entry);
            } else {
                let text = format!("Active job went missing: {}", entry.key.name);
                self.tell(s, EventType::Normal, "MissingJob", text);
            }
        }
    }

    fn tell(&mut self, s: &Snapshot, r#type: EventType, reason: &'static str, message: String) {
        self.events.push(s.event(r#type, reason, message));
    }
}
