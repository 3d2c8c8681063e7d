//! The protection of volumes: one that is deleted stays for as long as it is bound.
//!
//! Reads: PersistentVolume. Writes: PersistentVolume (PUT of its finalizers). No Events. Upstream:
//! `pkg/controller/volume/pvprotection` (v1.36).
//!
//! A volume has the finalizer `kubernetes.io/pv-protection` from its start (the API server adds it;
//! this controller does where that was switched off). Once it is being deleted, the finalizer goes
//! as soon as its phase is no longer `Bound`, which the binder says.
//!
//! **Invariant:** the finalizer goes only from a volume that is being deleted and not bound, and
//! the PUT names the version that showed this: whoever binds it meanwhile makes the PUT fail.
//! **Invariant:** the PUT changes nothing but this finalizer.
//! **Invariant:** a volume that is protected and not being deleted is not written.
//!
//! What an event costs: a look at the finalizers.

mod decide;
mod snapshot;

#[cfg(test)]
mod tests;

use api::{Key, PersistentVolume};
use controller::{Change, Enqueue, Facts, Plan, View, Watches};

pub use snapshot::Snapshot;

/// The controller.
#[derive(Clone, Copy, Debug)]
pub struct Controller;

impl controller::Controller for Controller {
    type Snapshot = Snapshot;
    type Memory = ();
    type Verdict = ();

    fn watches(&self, table: &mut impl Watches<Self>) {
        table.on::<PersistentVolume>(|_, change, _, queue| volume_changed(change, queue));
    }

    fn observe(&self, key: &Key, view: &View<'_>, (): &()) -> Option<Snapshot> {
        snapshot::observe(key, view)
    }

    fn decide(&self, snapshot: &Snapshot, _: &Facts) -> (Plan, ()) {
        (decide::decide(snapshot), ())
    }

    fn summary(&self, snapshot: &Snapshot) -> Vec<(&'static str, String)> {
        snapshot.summary()
    }
}

/// As `pvAddedUpdated`.
fn volume_changed(change: &Change<PersistentVolume>, queue: &mut Enqueue) {
    match change {
        Change::Added(volume) | Change::Updated { new: volume, .. } => {
            let finalizer = PersistentVolume::PROTECTION;
            if volume.meta.lacks_finalizer(finalizer) || volume.meta.is_held_by(finalizer) {
                queue.add(&volume.meta.key);
            }
        }
        Change::Deleted(volume) => queue.forget(&volume.meta.key),
    }
}
