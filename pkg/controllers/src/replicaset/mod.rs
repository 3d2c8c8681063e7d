//! ReplicaSet: keeps as many pods as asked for.
//!
//! Reads: ReplicaSet, Pod. Writes: Pod (create, delete, patch of the owner), ReplicaSet/status,
//! Event. Upstream: `pkg/controller/replicaset` (v1.36).
//!
//! **Invariant:** deletes only pods that the set controls and selects; adopts only pods that nobody
//! controls, and only for a set that was found live right before, with the same uid and not being
//! deleted.
//! **Invariant:** a set that cannot be read, or whose selector is invalid or empty, is left alone.
//!
//! Otherwise than upstream, an orphan that is gone by the time it is adopted fails the sync; there
//! it is left out of the count.

mod decide;
mod report;
mod snapshot;

#[cfg(test)]
mod tests;

use std::time::Duration;

use api::{Key, Pod, ReplicaSet};
use controller::owners::{owner_of, wake_managers, wake_owner};
use controller::{Change, Costs, Facts, Family, Outcome, Plan, View, Wake, Watches, Write};

pub use snapshot::Snapshot;

/// The controller, with its options.
#[derive(Clone, Copy, Debug)]
pub struct Controller {
    /// How many pods one sync makes or deletes at most; upstream's `BurstReplicas`, 500.
    pub burst_replicas: usize,
    /// Whether pods' deletion costs count.
    pub costs: Costs,
    /// Whether the status tells of pods that are being deleted: the gate
    /// `DeploymentReplicaSetTerminatingReplicas`.
    pub counts_terminating: bool,
}

impl Controller {
    /// A controller that makes or deletes at most so many pods in one sync, with the feature gates
    /// that Kubernetes has by default.
    pub const fn new(burst_replicas: usize) -> Self {
        Self { burst_replicas, costs: Costs::Count, counts_terminating: true }
    }
}

impl controller::Controller for Controller {
    type Snapshot = Snapshot;
    type Memory = ();
    type Verdict = ();

    const METRICS: &'static [Family] = &[decide::SORTING_DELETION_AGE_RATIO];

    fn watches(&self, table: &mut impl Watches<Self>) {
        table.on::<ReplicaSet>(|_, change, _, wake| wake.own(change));
        table.on::<Pod>(|_, change, view, wake| pod_changed(change, view, wake));
    }

    fn observe(&self, key: &Key, view: &View<'_>, (): &()) -> Option<Snapshot> {
        snapshot::observe(key, view, self)
    }

    fn decide(&self, snapshot: &Snapshot, facts: &Facts) -> (Plan, ()) {
        (decide::decide(snapshot, facts, self), ())
    }

    fn summary(&self, snapshot: &Snapshot) -> Vec<(&'static str, String)> {
        report::summary(snapshot)
    }

    fn report(&self, snapshot: &Snapshot, _: Option<&()>, outcome: &Outcome) -> Option<Write> {
        report::report(snapshot, outcome)
    }
}

// === Watch table ===

fn pod_changed(change: &Change<Pod>, view: &View<'_>, wake: &mut Wake) {
    match change {
        Change::Updated { .. } if change.is_resync() => {}
        // As upstream's, and whom it is taken from, who counts it as terminating no more.
        Change::Updated { old, new } if new.meta.is_terminating() => {
            wake_owner::<ReplicaSet>(&new.meta, view, wake);
            let is_others = old.meta.controller() != new.meta.controller();
            if is_others || old.meta.labels != new.meta.labels {
                wake_owner::<ReplicaSet>(&old.meta, view, wake);
            }
        }
        Change::Updated { old, new } => {
            wake_managers::<ReplicaSet>(change, view, wake);
            wake_when_available(old, new, view, wake);
        }
        Change::Added(_) | Change::Deleted(_) => wake_managers::<ReplicaSet>(change, view, wake),
    }
}

/// The end of a sync asks for this too; that may be lost if the key is looked at earlier.
fn wake_when_available(old: &Pod, new: &Pod, view: &View<'_>, wake: &mut Wake) {
    if old.is_ready() || !new.is_ready() {
        return;
    }
    let Some(set) = owner_of::<ReplicaSet>(&new.meta, view) else { return };
    let seconds = u64::try_from(set.min_ready_seconds).unwrap_or(0);
    if seconds > 0 {
        wake.add_after(&set.meta.key, Duration::from_secs(seconds));
    }
}
