//! Starts Jobs by schedules.
//!
//! Reads: CronJob, Job. Writes: Job (create, delete in the background), the status of the CronJob,
//! Event. Upstream: `pkg/controller/cronjob` (v1.36).
//!
//! # Parts
//! - `schedule`: when a Job was due, how many were missed, when the next one is.
//! - `active`: the Jobs that the status lists, and those that there are.
//! - `history`: which finished Jobs are deleted.
//! - `job`: the Job that is made.
//!
//! **Invariant:** one Job for each time that it was due: its name is made of the minute, and the
//! API server admits a name once.
//! **Invariant:** deletes only Jobs that the CronJob manages or that its status lists, with their
//! uids.
//! **Invariant:** a CronJob that cannot be read, is suspended or is being deleted starts no Job.
//!
//! What an event costs: a look at one CronJob. A sync looks at the Jobs of its CronJob alone, by an
//! index, however many CronJobs there are.
//!
//! Otherwise than upstream: a Job belongs to the CronJob with the uid of its owner, not with the
//! name. A Job that was made and is not in the status, since the process ended in between, is
//! listed without the Warning `UnexpectedJob`. An entry of the status whose name another Job has by
//! now is missing. Where a foreign Job has the name, the controller waits for the next time that is
//! due; upstream waits for an event. Jobs that are replaced are not read first, and that one was
//! deleted already is no failure: upstream warns `FailedGet` or `FailedDelete`. If the Job that
//! replaces them cannot be created, they leave the status with the next sync, which finds them
//! missing; upstream strikes them at once.

mod active;
mod decide;
mod history;
mod job;
mod report;
mod schedule;
mod snapshot;

#[cfg(test)]
mod tests;

use api::cron::Zone;
use api::{CronJob, Job, Key};
use controller::owners::enqueue_owner;
use controller::{Change, Enqueue, Facts, Family, Outcome, Plan, View, Watches, Write};

pub use report::Verdict;
pub use snapshot::Snapshot;

/// The controller.
#[derive(Clone, Debug)]
pub struct Controller {
    /// The zone of schedules that name none.
    pub local: Zone,
}

impl controller::Controller for Controller {
    type Snapshot = Snapshot;
    type Memory = ();
    type Verdict = Verdict;

    const METRICS: &'static [Family] = &[decide::JOB_CREATION_SKEW];

    fn watches(&self, table: &mut impl Watches<Self>) {
        table.on::<CronJob>(|controller, change, view, queue| {
            cron_job_changed(&controller.local, change, view, queue);
        });
        table.on::<Job>(|_, change, view, queue| job_changed(change, view, queue));
    }

    fn observe(&self, key: &Key, view: &View<'_>, (): &()) -> Option<Snapshot> {
        snapshot::observe(key, view)
    }

    fn decide(&self, snapshot: &Snapshot, facts: &Facts) -> (Plan, Verdict) {
        decide::decide(snapshot, facts, &self.local)
    }

    fn summary(&self, snapshot: &Snapshot) -> Vec<(&'static str, String)> {
        snapshot.summary(&self.local)
    }

    fn report(
        &self,
        snapshot: &Snapshot,
        verdict: Option<&Verdict>,
        outcome: &Outcome,
    ) -> Option<Write> {
        report::report(snapshot, verdict?, outcome)
    }
}

// === Watch table ===

/// As `updateCronJob`: another schedule starts with the next time that it is due, not with one that
/// it would have been due before.
fn cron_job_changed(local: &Zone, change: &Change<CronJob>, view: &View<'_>, queue: &mut Enqueue) {
    match change {
        Change::Updated { old, new }
            if old.schedule != new.schedule || old.time_zone != new.time_zone =>
        {
            match schedule::parse(new, local) {
                Ok(schedule) => {
                    let last = new.status.last_schedule_time;
                    let delay = schedule::until_next(new, last, view.now, &schedule);
                    queue.add_after(&new.meta.key, delay);
                }
                // The sync says what is wrong with it.
                Err(_) => queue.add(&new.meta.key),
            }
        }
        Change::Added(_) | Change::Updated { .. } | Change::Deleted(_) => queue.own(change),
    }
}

fn job_changed(change: &Change<Job>, view: &View<'_>, queue: &mut Enqueue) {
    match change {
        Change::Added(job) | Change::Deleted(job) => {
            enqueue_owner::<CronJob>(&job.meta, view, queue);
        }
        Change::Updated { .. } if change.is_resync() => {}
        Change::Updated { old, new } => {
            if old.meta.controller() != new.meta.controller() {
                enqueue_owner::<CronJob>(&old.meta, view, queue);
            }
            enqueue_owner::<CronJob>(&new.meta, view, queue);
        }
    }
}
