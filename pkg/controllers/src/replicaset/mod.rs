//! ReplicaSet and ReplicationController: keep as many pods as asked for.
//!
//! Reads: the sets of one kind, Pod. Writes: Pod (create, delete, patch of the owner), the status
//! of the set, Event. Upstream: `pkg/controller/replicaset` and `pkg/controller/replication`
//! (v1.36).
//!
//! Two rows of the registry, with a [`Controller`] each: that of ReplicationControllers has the
//! rules of the other one, and shows the sets of its own kind as ReplicaSets, as upstream's does.
//!
//! **Invariant:** deletes only pods that the set controls and selects; adopts only pods that no
//! owner controls, and only for a set that was found live right before, with the same uid and not
//! being deleted.
//! **Invariant:** a set that cannot be read, or whose selector is invalid or empty, is left alone.
//!
//! Otherwise than upstream, an orphan that is deleted before it is adopted fails the sync; there
//! it is left out of the count.

mod decide;
mod report;
mod snapshot;

#[cfg(test)]
mod tests;

use std::marker::PhantomData;
use std::sync::Arc;
use std::time::Duration;

use api::{Key, Pod, ReplicaSet, ReplicationController};
use controller::owners::{Owner, enqueue_managers, enqueue_owner, owner_of};
use controller::{Change, Costs, Enqueue, Facts, Family, Outcome, Plan, View, Watches, Write};

pub use snapshot::Snapshot;

/// The controller of the sets of one kind.
#[derive(Debug)]
pub struct Controller<T = ReplicaSet> {
    options: Options,
    kind: PhantomData<fn() -> T>,
}

/// A kind whose objects are sets of pods.
pub trait Set: Owner {
    /// The set as a ReplicaSet.
    fn as_set(set: &Arc<Self>) -> Arc<ReplicaSet>;

    /// The sets that the object with this uid manages, as `getReplicaSetsWithSameController`.
    fn managed_by(uid: &str, view: &View<'_>) -> Vec<Arc<ReplicaSet>>;
}

/// What a controller may do otherwise.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// How many pods one sync makes or deletes at most; upstream's `BurstReplicas`, 500.
    pub burst_replicas: usize,
    /// Whether pods' deletion costs count.
    pub costs: Costs,
    /// Whether the status counts pods that are being deleted: for ReplicaSets the gate
    /// `DeploymentReplicaSetTerminatingReplicas`; ReplicationControllers have no such field.
    pub counts_terminating: bool,
}

impl Options {
    /// At most so many pods are made or deleted in one sync, and the feature gates are as
    /// Kubernetes has them by default, for ReplicaSets.
    pub const fn new(burst_replicas: usize) -> Self {
        Self { burst_replicas, costs: Costs::Count, counts_terminating: true }
    }
}

impl Controller<ReplicaSet> {
    /// The controller of ReplicaSets with the options that Kubernetes has by default, but for this.
    pub const fn new(burst_replicas: usize) -> Self {
        Self::with(Options::new(burst_replicas))
    }
}

impl<T> Controller<T> {
    /// A controller with these options.
    pub const fn with(options: Options) -> Self {
        Self { options, kind: PhantomData }
    }
}

impl Set for ReplicaSet {
    fn as_set(set: &Arc<Self>) -> Arc<ReplicaSet> {
        Arc::clone(set)
    }

    fn managed_by(uid: &str, view: &View<'_>) -> Vec<Arc<ReplicaSet>> {
        view.of::<Self>().by(Self::BY_CONTROLLER, uid)
    }
}

impl Set for ReplicationController {
    fn as_set(set: &Arc<Self>) -> Arc<ReplicaSet> {
        Arc::clone(&set.0)
    }

    /// Upstream's index holds ReplicaSets alone, and here it is asked of ReplicationControllers
    /// before they are converted: it finds none, whatever manages them.
    fn managed_by(_: &str, _: &View<'_>) -> Vec<Arc<ReplicaSet>> {
        Vec::new()
    }
}

impl<T: Set> controller::Controller for Controller<T> {
    type Snapshot = Snapshot;
    type Memory = ();
    type Verdict = ();

    const METRICS: &'static [Family] = &[decide::SORTING_DELETION_AGE_RATIO];

    fn watches(&self, table: &mut impl Watches<Self>) {
        table.on::<T>(|_, change, _, queue| queue.own(change));
        table.on::<Pod>(|_, change, view, queue| pod_changed::<T>(change, view, queue));
    }

    fn observe(&self, key: &Key, view: &View<'_>, (): &()) -> Option<Snapshot> {
        snapshot::observe::<T>(key, view, &self.options)
    }

    fn decide(&self, snapshot: &Snapshot, facts: &Facts) -> (Plan, ()) {
        (decide::decide(snapshot, facts, &self.options), ())
    }

    fn summary(&self, snapshot: &Snapshot) -> Vec<(&'static str, String)> {
        report::summary(snapshot)
    }

    fn report(&self, snapshot: &Snapshot, _: Option<&()>, outcome: &Outcome) -> Option<Write> {
        report::report(snapshot, outcome)
    }
}

// === Watch table ===

fn pod_changed<T: Set>(change: &Change<Pod>, view: &View<'_>, queue: &mut Enqueue) {
    match change {
        Change::Updated { .. } if change.is_resync() => {}
        // As upstream, and the set that it is taken from, which no longer counts it as terminating.
        Change::Updated { old, new } if new.meta.is_terminating() => {
            enqueue_owner::<T>(&new.meta, view, queue);
            let is_others = old.meta.controller() != new.meta.controller();
            if is_others || old.meta.labels != new.meta.labels {
                enqueue_owner::<T>(&old.meta, view, queue);
            }
        }
        Change::Updated { old, new } => {
            enqueue_managers::<T>(change, view, queue);
            enqueue_when_available::<T>(old, new, view, queue);
        }
        Change::Added(_) | Change::Deleted(_) => enqueue_managers::<T>(change, view, queue),
    }
}

/// The end of a sync asks for this too; that may be lost if the key is looked at earlier.
fn enqueue_when_available<T: Set>(old: &Pod, new: &Pod, view: &View<'_>, queue: &mut Enqueue) {
    if old.is_ready() || !new.is_ready() {
        return;
    }
    let Some(set) = owner_of::<T>(&new.meta, view) else { return };
    let seconds = u64::try_from(T::as_set(&set).min_ready_seconds).unwrap_or(0);
    if seconds > 0 {
        queue.add_after(&set.meta().key, Duration::from_secs(seconds));
    }
}
