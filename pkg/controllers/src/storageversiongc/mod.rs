//! The collector of storage versions: what API servers that are gone have said of how they store
//! kinds is removed.
//!
//! Reads: StorageVersion, Lease (those in `kube-system`, metadata only); live, a Lease. Writes:
//! StorageVersion (PUT of `status`, DELETE). No Events. Upstream: `pkg/controller/storageversiongc`
//! (v1.36).
//!
//! An API server has an identity: a Lease with its name and a label. Each entry of a StorageVersion
//! names an API server. If that has no such Lease, neither in the cache nor live, the entry goes,
//! and what the rest have in common is computed anew; without any entry left the object is deleted.
//!
//! **Invariant:** no entry is removed for a Lease that the cache alone lacks.
//! **Invariant:** both writes are of exactly the version that was looked at.
//!
//! What an event costs: of a StorageVersion a look-up of each of its API servers, of a deleted
//! Lease a look at all StorageVersions.
//!
//! Otherwise than upstream,
//! - a Lease that cannot be read is not taken for one that is missing: that is tried again;
//! - one queue has the work of two, since a deleted Lease enqueues the StorageVersions that name it
//!   instead of listing all of them live, and only Leases that the cache lacks are read live.

mod decide;
mod snapshot;

#[cfg(test)]
mod tests;

use api::{Key, StorageVersion, SystemLease};
use controller::{Change, Enqueue, Facts, Plan, View, Watches};

pub use snapshot::Snapshot;

/// The controller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Controller;

impl controller::Controller for Controller {
    type Snapshot = Snapshot;
    type Memory = ();
    type Verdict = ();

    fn watches(&self, table: &mut impl Watches<Self>) {
        table.on::<StorageVersion>(|_, change, view, queue| version_changed(change, view, queue));
        table.on::<SystemLease>(|_, change, view, queue| lease_changed(change, view, queue));
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

// === Watch table ===

/// As `enqueueStorageVersion`.
fn version_changed(change: &Change<StorageVersion>, view: &View<'_>, queue: &mut Enqueue) {
    let is_deleted = matches!(change, Change::Deleted(_));
    if is_deleted || !snapshot::missing(change.object(), view).is_empty() {
        queue.own(change);
    }
}

/// As `onDeleteLease`, and `processDeletedLease`.
fn lease_changed(change: &Change<SystemLease>, view: &View<'_>, queue: &mut Enqueue) {
    let Change::Deleted(lease) = change else { return };
    if !lease.is_of_api_server() {
        return;
    }
    for version in view.of::<StorageVersion>().all() {
        if version.servers.iter().any(|it| *it.server == *lease.meta.key.name) {
            queue.add(&version.meta.key);
        }
    }
}
