//! Job: runs pods to their end, until enough of them have succeeded.
//!
//! Reads: Job, Pod. Writes: Pod (create, delete, patch of the owner and of the finalizer),
//! Job/status, Event. Upstream: `pkg/controller/job` (v1.36), without the gate `WorkloadWithJob`.
//!
//! **Invariant:** a pod that has ended is written down in the status before it loses its finalizer,
//! and becomes a number only once that shows: each counts once, whenever the process ends.
//! **Invariant:** a Job has finished only when all its pods have ended and are counted.
//! **Invariant:** a Job that another controller manages is left alone, and so are its pods.
//!
//! # Parts
//! - `backoff.rs`: how long the next pod waits after failures.
//! - `failure_policy.rs`, `success_policy.rs`: what the policies say.
//! - `finish.rs`: whether and how the Job is to end.
//! - `indexes.rs`: sets of indexes and their text.
//! - `manage.rs`, `removal.rs`: how many pods there should be, and which are deleted first.
//! - `metrics.rs`: what is counted.
//! - `orphans.rs`: the controller of pods whose Job was deleted or has finished.
//! - `pods.rs`: what a pod is to its Job.
//! - `standing.rs`: the pods, counted.
//! - `template.rs`: the pods that are made.
//! - `tracking.rs`: which pods are counted now.
//!
//! # Otherwise than upstream
//! - Each sync writes the status once. The next sync counts the pods that have lost their
//!   finalizers, and writes the last condition after the one that announces it; the caches enqueue
//!   it at once.
//! - Pods are counted before others are made or, but for the end of a Job, deleted; if a finalizer
//!   cannot be removed, none is made in that sync. If a pod cannot be deleted at the end of a Job,
//!   no finalizers are removed in that sync.
//! - A Job whose clock was set back ends no earlier than it started; there the API server refuses
//!   its end until the clock has caught up.
//! - An orphan that was deleted by the time it is adopted fails the sync.
//! - A Job whose selector is empty is left alone; there it adopts all pods of its namespace.
//! - Pods of a Job that was deleted or has finished are looked up by its uid instead of its
//!   selector, also at the start, so that no finalizer stays that a predecessor left.

mod backoff;
mod decide;
mod failure_policy;
mod finish;
mod indexes;
mod manage;
mod metrics;
mod orphans;
mod pods;
mod removal;
mod report;
mod snapshot;
mod standing;
mod success_policy;
mod template;
mod tracking;

#[cfg(test)]
mod tests;

use std::time::Duration;

use api::{Job, Key, Pod};
use controller::owners::enqueue_managers;
use controller::{
    Call, Change, Count, Ended, Enqueue, Facts, Family, News, Outcome, Plan, View, Watches, Write,
};

pub use backoff::Backoffs;
pub use decide::Verdict;
pub use orphans::Orphans;
pub use snapshot::Snapshot;

/// How long changes of pods are gathered before their Job is looked at. Upstream's
/// `SyncJobBatchPeriod`.
const BATCH: Duration = Duration::from_secs(1);

/// The controller.
#[derive(Clone, Copy, Debug)]
pub struct Controller {
    options: Options,
}

/// What the controller may do otherwise.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Whether a Job that is suspended has no start any more: the gate
    /// `MutableSchedulingDirectivesForSuspendedJobs`.
    pub resets_start_time: bool,
}

impl Controller {
    /// The controller with these options.
    pub const fn new(options: Options) -> Self {
        Self { options }
    }
}

impl controller::Controller for Controller {
    type Snapshot = Snapshot;
    type Memory = Backoffs;
    type Verdict = Verdict;

    const METRICS: &'static [Family] = metrics::ALL;

    fn watches(&self, table: &mut impl Watches<Self>) {
        table.on::<Job>(|_, change, _, queue| job_changed(change, queue));
        table.on::<Pod>(|_, change, view, queue| pod_changed(change, view, queue));
    }

    fn observe(&self, key: &Key, view: &View<'_>, backoffs: &Backoffs) -> Option<Snapshot> {
        snapshot::observe(key, view, backoffs)
    }

    fn decide(&self, snapshot: &Snapshot, facts: &Facts) -> (Plan, Verdict) {
        decide::decide(snapshot, facts, self.options)
    }

    fn summary(&self, snapshot: &Snapshot) -> Vec<(&'static str, String)> {
        report::summary(snapshot)
    }

    fn counts(
        &self,
        snapshot: Option<&Snapshot>,
        verdict: Option<&Verdict>,
        ended: &Ended,
    ) -> Vec<Count> {
        metrics::synced(snapshot, verdict, ended)
    }

    fn report(
        &self,
        snapshot: &Snapshot,
        verdict: Option<&Verdict>,
        outcome: &Outcome,
    ) -> Option<Write> {
        report::report(snapshot, verdict, outcome)
    }

    fn remember(&self, backoffs: &mut Backoffs, news: News<'_, Self>, _: &mut Enqueue) {
        match news {
            News::Answered { .. } => {}
            News::Gone(key) => backoffs.forget(key),
            News::Acted { snapshot, verdict, outcome } => {
                let meta = &snapshot.job.meta;
                if verdict.is_over {
                    backoffs.forget(&meta.key);
                }
                if let Some((step, record)) = verdict.record
                    && outcome.step.is_none_or(|failed| failed > step)
                {
                    backoffs.keep(&meta.key, &meta.uid, record);
                }
            }
        }
    }
}

// === Watch table ===

/// As `addJob`, `updateJob` and `deleteJob`.
fn job_changed(change: &Change<Job>, queue: &mut Enqueue) {
    match change {
        Change::Added(job) => {
            queue.add(&job.meta.key);
            let manager = job.external_manager();
            let count = manager.map(|it| Count::one(&metrics::EXTERNAL).labels([&**it]));
            if let Some(count) = count {
                queue.count(count);
            }
        }
        Change::Updated { .. } if change.is_resync() => {}
        Change::Updated { new, .. } if new.finish.is_some() => {}
        Change::Updated { old, new } if old.meta.generation == new.meta.generation => {
            queue.add_after(&new.meta.key, BATCH);
        }
        Change::Updated { new, .. } => queue.add(&new.meta.key),
        Change::Deleted(job) => queue.forget(&job.meta.key),
    }
}

/// As `addPod`, `updatePod` and `deletePod`: a Job is looked at once for all its pods that change
/// in a second.
fn pod_changed(change: &Change<Pod>, view: &View<'_>, queue: &mut Enqueue) {
    if let Some(count) = metrics::terminated(change) {
        queue.count(count);
    }
    let mut managers = Enqueue::default();
    enqueue_managers::<Job>(change, view, &mut managers);
    for call in managers.calls {
        match call {
            Call::Now(key) => queue.add_after(&key, BATCH),
            Call::After(..) | Call::Forget(_) => queue.calls.push(call),
        }
    }
}
