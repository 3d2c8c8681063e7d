//! Nodes that pods are bound to and that the cache does not show. A node may be missing for a
//! moment only: because it is made anew, or because the cache of pods is ahead of that of nodes.
//! Stands for upstream's delaying queue `orphaned_pods_nodes`.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use api::{Text, Time};

/// For so long a node must have been missing before it is read live; upstream's `quarantineTime`.
pub(super) const TIME: Duration = Duration::from_secs(40);

/// Since when each node has been missing. No larger than the number of nodes that pods name. Lost
/// with the process, which costs another quarantine.
#[derive(Debug, Default)]
pub(super) struct Quarantine(Mutex<BTreeMap<Text, Time>>);

impl Quarantine {
    /// Exactly these nodes are missing: those that were not before, since `now`. Returns since when
    /// each of them has been.
    pub(super) fn update(&self, missing: BTreeSet<Text>, now: Time) -> BTreeMap<Text, Time> {
        let mut known = self.known();
        let since = |name: Text| {
            // A clock that went back must not make it longer.
            let since = known.get(&name).map_or(now, |since| (*since).min(now));
            (name, since)
        };
        let updated: BTreeMap<_, _> = missing.into_iter().map(since).collect();
        known.clone_from(&updated);
        updated
    }

    /// The node is there, if only between two passes.
    pub(super) fn release(&self, name: &str) {
        self.known().remove(name);
    }

    fn known(&self) -> MutexGuard<'_, BTreeMap<Text, Time>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
