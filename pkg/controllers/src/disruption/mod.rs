//! Says of PodDisruptionBudgets how many of their pods may be evicted now.
//!
//! Reads: PodDisruptionBudget, Pod, ReplicationController, ReplicaSet, Deployment, StatefulSet;
//! live, what is served and the `scale` of kinds that are known at run time only. Writes:
//! PodDisruptionBudget/status, Pod/status (patch), Events. Upstream: `pkg/controller/disruption`
//! (v1.36).
//!
//! Two controllers, each with a queue of its own:
//!
//! - [`Controller`], whose keys are budgets, counts pods and writes `status`, from which the API
//!   server takes a disruption for each eviction. A pod that it was asked to evict counts as
//!   unhealthy until it shows as terminating, or until two minutes have passed;
//! - [`Pods`], whose keys are pods, sets a `DisruptionTarget` condition to False if two minutes
//!   after it came true nobody has deleted the pod, and warns of pods that several budgets are for.
//!
//! **Invariant:** if how many pods there should be is not known, the status allows no disruption.
//! **Invariant:** a status is written only on the version that was counted with, so that no
//! eviction that the API server granted meanwhile is lost.
//! **Invariant:** the `DisruptionTarget` condition is reset only on the version of the pod that was
//! looked at: an eviction that comes in between keeps its mark.
//!
//! What an event costs: of a pod a look at the budgets of its namespace, twice; of a workload a
//! comparison of two numbers, and if they differ, the same. A sync looks at all pods of the
//! namespace.
//!
//! Otherwise than upstream,
//! - a pod enqueues all budgets that are for it, and those that were until its labels changed;
//! - that a workload has another size, or another owner, enqueues the budgets that are for its
//!   pods. Upstream counts with the old size until one of the pods changes;
//! - if what is served or a `scale` cannot be read, or the status not written, the key is tried
//!   again with back-off. Upstream allows no disruption and waits for the next change of a pod. An
//!   error that lasts until somebody changes something is not tried again, as upstream;
//! - if the status cannot be written, no second write with `SyncFailed` follows;
//! - that several budgets are for a pod is not reported once more when the pod is removed: an Event
//!   about an object that is gone helps nobody.
//!
//! # Parts
//!
//! - `managers`: what manages the pods, and its size.
//! - `expected`: how many pods there should be, and how many must be healthy.
//! - `disrupted`: the pods that are about to be evicted.
//! - `stale`: the other controller.

mod decide;
mod disrupted;
mod expected;
mod managers;
mod report;
mod snapshot;
mod stale;

#[cfg(test)]
mod tests;

use api::{
    Deployment, Key, Kind, Labels, Meta, Pod, PodDisruptionBudget, ReplicaSet,
    ReplicationController, StatefulSet,
};
use controller::{Change, Enqueue, Facts, Outcome, Plan, View, Watches, Write};

pub use decide::Verdict;
pub use snapshot::Snapshot;
pub use stale::{PodSnapshot, Pods};

/// The controller whose keys are budgets. It has no options.
#[derive(Clone, Copy, Debug)]
pub struct Controller;

impl controller::Controller for Controller {
    type Snapshot = Snapshot;
    type Memory = ();
    type Verdict = Verdict;

    fn watches(&self, table: &mut impl Watches<Self>) {
        table.on::<PodDisruptionBudget>(|_, change, _, queue| queue.own(change));
        table.on::<Pod>(|_, change, view, queue| pod_changed(change, view, queue));
        table.on::<ReplicationController>(|_, change, view, queue| {
            workload_changed(change, view, queue, |it| (it.0.replicas, &it.0.template_labels));
        });
        table.on::<ReplicaSet>(|_, change, view, queue| {
            workload_changed(change, view, queue, |it| (it.replicas, &it.template_labels));
        });
        table.on::<Deployment>(|_, change, view, queue| {
            workload_changed(change, view, queue, |it| (it.replicas, &it.template_labels));
        });
        table.on::<StatefulSet>(|_, change, view, queue| {
            workload_changed(change, view, queue, |it| (it.replicas, &it.template_labels));
        });
    }

    fn observe(&self, key: &Key, view: &View<'_>, (): &()) -> Option<Snapshot> {
        snapshot::observe(key, view)
    }

    fn decide(&self, snapshot: &Snapshot, facts: &Facts) -> (Plan, Verdict) {
        decide::decide(snapshot, facts)
    }

    fn summary(&self, snapshot: &Snapshot) -> Vec<(&'static str, String)> {
        report::summary(snapshot)
    }

    fn report(&self, snapshot: &Snapshot, verdict: Option<&Verdict>, _: &Outcome) -> Option<Write> {
        report::report(snapshot, verdict?)
    }
}

// === Watch table ===

fn pod_changed(change: &Change<Pod>, view: &View<'_>, queue: &mut Enqueue) {
    let pod = change.object();
    enqueue_budgets(&pod.meta.key, &pod.meta.labels, view, queue);
    if let Change::Updated { old, new } = change
        && old.meta.labels != new.meta.labels
    {
        enqueue_budgets(&pod.meta.key, &old.meta.labels, view, queue);
    }
}

/// What the budgets count with is the size of a workload, and who manages it.
fn workload_changed<T: Kind>(
    change: &Change<T>,
    view: &View<'_>,
    queue: &mut Enqueue,
    facts: for<'a> fn(&'a T) -> (i32, &'a Labels),
) {
    let controller = |meta: &Meta| meta.controller().map(|owner| owner.uid.clone());
    let counts = match change {
        Change::Added(_) => true,
        Change::Updated { old, new } => {
            facts(old).0 != facts(new).0 || controller(old.meta()) != controller(new.meta())
        }
        // Its pods change too.
        Change::Deleted(_) => false,
    };
    if counts {
        let workload = change.object();
        enqueue_budgets(&workload.meta().key, facts(workload).1, view, queue);
    }
}

/// Enqueues the budgets of the same namespace that are for pods with these labels.
fn enqueue_budgets(key: &Key, labels: &Labels, view: &View<'_>, queue: &mut Enqueue) {
    for budget in snapshot::budgets_for(&key.namespace, labels, view) {
        queue.add(&budget.meta.key);
    }
}
