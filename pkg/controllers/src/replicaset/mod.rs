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
//! Otherwise than upstream, pods are adopted and released in a sync of its own: how many there are
//! is decided again once the cache shows these patches.

mod decide;
mod report;
mod snapshot;

#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::Duration;

use api::{Key, Kind, OwnerRef, Pod, ReplicaSet};
use controller::{Change, Facts, Histogram, Outcome, Plan, UpdateStatus, View, Wake, Watches};

pub use snapshot::Snapshot;

/// The controller, with its options.
#[derive(Clone, Copy, Debug)]
pub struct Controller {
    /// How many pods one sync makes or deletes at most; upstream's `BurstReplicas`, 500.
    pub burst_replicas: usize,
}

impl controller::Controller for Controller {
    type Snapshot = Snapshot;

    const HISTOGRAMS: &'static [Histogram] = &[decide::SORTING_DELETION_AGE_RATIO];

    fn watches(table: &mut impl Watches<Self>) {
        table.on::<ReplicaSet>(|_, change, _, wake| set_changed(change, wake));
        table.on::<Pod>(|_, change, view, wake| pod_changed(change, view, wake));
    }

    fn observe(&self, key: &Key, view: &View<'_>) -> Option<Snapshot> {
        snapshot::observe(key, view, self.burst_replicas)
    }

    fn decide(&self, snapshot: &Snapshot, facts: &Facts) -> Plan {
        decide::decide(snapshot, facts, self.burst_replicas)
    }

    fn summary(&self, snapshot: &Snapshot) -> Vec<(&'static str, String)> {
        report::summary(snapshot)
    }

    fn report(&self, snapshot: &Snapshot, outcome: &Outcome) -> Option<UpdateStatus> {
        report::report(snapshot, outcome)
    }
}

// === Watch table ===

fn set_changed(change: &Change<ReplicaSet>, wake: &mut Wake) {
    match change {
        Change::Added(set) | Change::Updated { new: set, .. } => wake.add(&set.meta.key),
        Change::Deleted(set) => wake.forget(&set.meta.key),
    }
}

fn pod_changed(change: &Change<Pod>, view: &View<'_>, wake: &mut Wake) {
    match change {
        Change::Added(pod) if pod.meta.is_terminating() => wake_owner(pod, view, wake),
        Change::Added(pod) if pod.meta.controller().is_none() => wake_selecting(pod, view, wake),
        Change::Added(pod) | Change::Deleted(pod) => wake_owner(pod, view, wake),
        Change::Updated { old, new } => pod_updated(old, new, view, wake),
    }
}

fn pod_updated(old: &Pod, new: &Pod, view: &View<'_>, wake: &mut Wake) {
    if old.meta.resource_version == new.meta.resource_version {
        return;
    }
    let (was, is) = (old.meta.controller(), new.meta.controller());
    let relabelled = old.meta.labels != new.meta.labels;
    if new.meta.is_terminating() {
        wake_owner(new, view, wake);
        if relabelled {
            wake_owner(old, view, wake);
        }
        return;
    }
    if was != is {
        wake_owner(old, view, wake);
    }
    if is.is_none() {
        if relabelled || was.is_some() {
            wake_selecting(new, view, wake);
        }
        return;
    }
    let Some(set) = owner_of(new, view) else { return };
    wake.add(&set.meta.key);
    // The end of a sync asks for this too; that may be lost if the key is looked at earlier.
    let seconds = u64::try_from(set.min_ready_seconds).unwrap_or(0);
    if seconds > 0 && !old.is_ready() && new.is_ready() {
        wake.add_after(&set.meta.key, Duration::from_secs(seconds));
    }
}

fn wake_owner(pod: &Pod, view: &View<'_>, wake: &mut Wake) {
    if let Some(set) = owner_of(pod, view) {
        wake.add(&set.meta.key);
    }
}

/// The set that controls a pod, by name and uid. As upstream only the kind is compared, not the
/// group.
fn owner_of(pod: &Pod, view: &View<'_>) -> Option<Arc<ReplicaSet>> {
    let OwnerRef { kind, name, uid, .. } = pod.meta.controller()?;
    if **kind != *ReplicaSet::RESOURCE.kind {
        return None;
    }
    let key = Key { namespace: pod.meta.key.namespace.clone(), name: name.clone() };
    view.of::<ReplicaSet>().get(&key).filter(|set| set.meta.uid == *uid)
}

/// Wakes the sets that may adopt an orphan. As upstream's `GetPodReplicaSets`.
fn wake_selecting(pod: &Pod, view: &View<'_>, wake: &mut Wake) {
    if pod.meta.labels.is_empty() {
        return;
    }
    for set in view.of::<ReplicaSet>().by(ReplicaSet::BY_NAMESPACE, &pod.meta.key.namespace) {
        if snapshot::selector(&set).is_ok_and(|selector| selector.matches(&pod.meta.labels)) {
            wake.add(&set.meta.key);
        }
    }
}
