//! Deletes Jobs some time after they have finished, if they ask for that.
//!
//! Reads: Job. Writes: Job (delete, in the foreground). No Events. Upstream:
//! `pkg/controller/ttlafterfinished` (v1.36).
//!
//! **Invariant:** a Job is deleted only if it was read live right before, with the uid that was
//! read, and had expired then: a longer TTL that is written in between counts.
//! **Invariant:** a Job without `ttlSecondsAfterFinished`, one that has not finished, and one that
//! cannot be read are left alone.
//!
//! What an event costs: a look at two fields. Only Jobs that wait for their deletion are in the
//! queue.
//!
//! Otherwise than upstream, a Job that was deleted already is no failure.

mod decide;
mod snapshot;

#[cfg(test)]
mod tests;

use api::{Job, Key};
use controller::{Change, Enqueue, Facts, Family, Plan, View, Watches};

pub use snapshot::Snapshot;

/// The controller.
#[derive(Clone, Copy, Debug)]
pub struct Controller;

impl controller::Controller for Controller {
    type Snapshot = Snapshot;
    type Memory = ();
    type Verdict = ();

    const METRICS: &'static [Family] = &[decide::JOB_DELETION_DURATION];

    fn watches(&self, table: &mut impl Watches<Self>) {
        table.on::<Job>(|_, change, _, queue| job_changed(change, queue));
    }

    fn observe(&self, key: &Key, view: &View<'_>, (): &()) -> Option<Snapshot> {
        snapshot::observe(key, view)
    }

    fn decide(&self, snapshot: &Snapshot, facts: &Facts) -> (Plan, ()) {
        (decide::decide(snapshot, facts), ())
    }

    fn summary(&self, snapshot: &Snapshot) -> Vec<(&'static str, String)> {
        snapshot.summary()
    }
}

fn job_changed(change: &Change<Job>, queue: &mut Enqueue) {
    match change {
        Change::Added(job) | Change::Updated { new: job, .. } => {
            if snapshot::needs_cleanup(job) && !job.meta.is_terminating() {
                queue.add(&job.meta.key);
            }
        }
        // It may wait for its time, which another Job of this name need not have.
        Change::Deleted(job) if snapshot::needs_cleanup(job) => queue.forget(&job.meta.key),
        Change::Deleted(_) => {}
    }
}
