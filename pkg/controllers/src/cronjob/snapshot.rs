//! What a decision about a CronJob looks at.

use std::sync::Arc;

use api::cron::Zone;
use api::{CronJob, Job, Key, Kind, Time};
use controller::{Event, EventType, ObjectRef, View};

use super::schedule;

/// A CronJob and its Jobs at one moment.
#[derive(Clone, Debug)]
pub struct Snapshot {
    /// The moment.
    pub now: Time,
    /// The CronJob.
    pub cron_job: Arc<CronJob>,
    /// The Jobs that it manages, sorted by key.
    pub jobs: Vec<Arc<Job>>,
    /// Whether the last sync failed.
    pub has_failed: bool,
}

pub(super) fn observe(key: &Key, view: &View<'_>) -> Option<Snapshot> {
    let cron_job = view.of::<CronJob>().get(key)?;
    let mut jobs = view.of::<Job>().by(Job::BY_CONTROLLER, &cron_job.meta.uid);
    jobs.retain(|job| job.meta.key.namespace == key.namespace);
    Some(Snapshot { now: view.now, cron_job, jobs, has_failed: view.failures > 0 })
}

// === impl Snapshot ===

impl Snapshot {
    /// The CronJob, for what is written about it.
    pub(super) fn object(&self) -> ObjectRef {
        ObjectRef::new(&CronJob::RESOURCE, &self.cron_job.meta)
    }

    /// An Event about it.
    pub(super) fn event(&self, r#type: EventType, reason: &'static str, message: String) -> Event {
        Event { about: Arc::new(self.object()), r#type, reason: reason.into(), message }
    }

    pub(super) fn summary(&self, local: &Zone) -> Vec<(&'static str, String)> {
        let Self { now, cron_job, jobs, .. } = self;
        let status = &cron_job.status;
        let or_never = |time: Option<Time>| time.map_or("never".to_owned(), |at| at.to_string());
        let finished = |r#type| {
            jobs.iter()
                .filter(|it| it.finish.as_ref().is_some_and(|it| it.r#type == r#type))
                .count()
        };
        let zone = cron_job.time_zone.as_deref().unwrap_or("that of the controller");
        let next = match schedule::parse(cron_job, local) {
            _ if cron_job.unreadable.is_some() => "unknown".to_owned(),
            Ok(parsed) => {
                let next = schedule::next(cron_job, status.last_schedule_time, *now, &parsed);
                or_never(next)
            }
            Err(error) => format!("never: {error}"),
        };
        let active: Vec<_> = status.active.iter().map(|job| &*job.key.name).collect();
        let active = if active.is_empty() { "none".to_owned() } else { active.join(", ") };
        let mut facts = vec![
            ("schedule", format!("{:?}", cron_job.schedule)),
            ("time zone", zone.to_owned()),
            ("concurrency policy", format!("{:?}", cron_job.concurrency)),
            ("suspended", if cron_job.suspended { "yes" } else { "no" }.to_owned()),
            ("last due", or_never(status.last_schedule_time)),
            ("next due", next),
            ("active", active),
            ("complete", finished("Complete").to_string()),
            ("failed", finished("Failed").to_string()),
        ];
        if let Some(error) = &cron_job.unreadable {
            facts.push(("left alone", format!("the CronJob cannot be read: {error}")));
        }
        if let Some(at) = cron_job.meta.deletion_timestamp {
            facts.push(("being deleted since", at.to_string()));
        }
        facts
    }
}
