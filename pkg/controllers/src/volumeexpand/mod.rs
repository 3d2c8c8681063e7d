//! Announces who expands a claim that asks for more storage than it has.
//!
//! Reads: PersistentVolumeClaim, and its PersistentVolume live. Writes: PersistentVolumeClaim
//! (status: the annotation of the resizer), Event. Upstream: `pkg/controller/volume/expand`
//! (v1.36).
//!
//! No volume is expanded here: the resizer of a CSI driver does that, also for volumes of the
//! plugins that were a part of Kubernetes. Such a volume does not name the driver, so the claim
//! does.
//!
//! **Invariant:** nothing is written for a claim to which its volume is not bound, by uid, in a
//! live read.
//!
//! What an event costs: a comparison of two quantities. Only claims that grew, or whose volume did,
//! are enqueued.
//!
//! Otherwise than upstream, an annotation that is right is not written again, and a FlexVolume is
//! left alone: upstream resizes its objects.

mod decide;
mod snapshot;

#[cfg(test)]
mod tests;

use api::{Key, PersistentVolumeClaim};
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
        table.on::<PersistentVolumeClaim>(|_, change, _, queue| claim_changed(change, queue));
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

/// As the handlers in upstream's `NewExpandController`.
fn claim_changed(change: &Change<PersistentVolumeClaim>, queue: &mut Enqueue) {
    let claim = change.object();
    let may_grow = match change {
        Change::Added(_) => true,
        Change::Updated { old, new } => {
            new.request.cmp(&old.request).is_gt() || new.capacity.cmp(&old.capacity).is_gt()
        }
        Change::Deleted(_) => false,
    };
    if may_grow && claim.is_bound {
        queue.add(&claim.meta.key);
    }
}
