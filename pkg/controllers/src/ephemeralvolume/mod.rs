//! Makes the claims of ephemeral volumes.
//!
//! Reads: Pod, PersistentVolumeClaim. Writes: PersistentVolumeClaim (create). Events: on the Pod.
//! Upstream: `pkg/controller/volume/ephemeral` (v1.36).
//!
//! Its keys are pods. Each ephemeral volume of a pod has a claim `<pod>-<volume>` that the pod
//! manages, made from the template in the volume. A claim of that name that the pod does not manage
//! is left alone, and the pod waits until it is gone. A claim is never deleted here: the garbage
//! collector does that once the pod is gone. One that somebody deletes is made again.
//!
//! **Invariant:** a claim is made only for a pod that is there and not being deleted, with that
//! pod's uid as its controller.
//! **Invariant:** no claim is ever updated or deleted.
//!
//! What an event costs: of a pod, a look at its ephemeral volumes, mostly none, and only when the
//! pod is new; of a claim, nothing until it is gone, and then a look-up of its pods.
//!
//! Otherwise than upstream, a claim whose deletion was only learned from a new list is made again
//! too; upstream's handler takes no notice of those.

mod decide;
mod snapshot;

#[cfg(test)]
mod tests;

use api::{Key, PersistentVolumeClaim, Pod};
use controller::{Change, Enqueue, Facts, Family, Plan, View, Watches};
use mutant::Mutant;

pub use snapshot::Snapshot;

/// The controller.
#[derive(Clone, Copy, Debug)]
pub struct Controller;

impl controller::Controller for Controller {
    type Snapshot = Snapshot;
    type Memory = ();
    type Verdict = ();

    const METRICS: &'static [Family] = &[decide::CREATE_TOTAL, decide::CREATE_FAILURES_TOTAL];

    fn watches(&self, table: &mut impl Watches<Self>) {
        table.on::<Pod>(|_, change, _, queue| pod_changed(change, queue));
        table.on::<PersistentVolumeClaim>(|_, change, view, queue| {
            claim_changed(change, view, queue);
        });
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

/// The volumes of a pod never change, so its updates say nothing new, unless it could not be read
/// before. As `enqueuePod`.
fn pod_changed(change: &Change<Pod>, queue: &mut Enqueue) {
    match change {
        Change::Added(pod) => enqueue(pod, queue),
        Change::Updated { old, new } if old.unreadable => enqueue(new, queue),
        Change::Updated { .. } => {}
        Change::Deleted(pod) if pod.ephemeral_volumes.is_empty() => {}
        // It may have failed, which another pod of this name need not.
        Change::Deleted(pod) => queue.forget(&pod.meta.key),
    }
}

/// As `onPVCDelete`.
fn claim_changed(change: &Change<PersistentVolumeClaim>, view: &View<'_>, queue: &mut Enqueue) {
    match change {
        Change::Added(_) | Change::Updated { .. } => {}
        Change::Deleted(_) if mutant::is(Mutant::LostClaimForgotten) => {}
        Change::Deleted(claim) => {
            let key = claim.meta.key.to_string();
            view.of::<Pod>().by(Pod::BY_CLAIM, &key).iter().for_each(|pod| enqueue(pod, queue));
        }
    }
}

fn enqueue(pod: &Pod, queue: &mut Enqueue) {
    if !pod.ephemeral_volumes.is_empty() && !pod.meta.is_terminating() {
        queue.add(&pod.meta.key);
    }
}
