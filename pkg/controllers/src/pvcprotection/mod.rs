//! The protection of volume claims: one that is deleted stays until no pod uses it.
//!
//! Reads: PersistentVolumeClaim, Pod; and, live, the pods of a namespace. Writes:
//! PersistentVolumeClaim (PUT of its finalizers, and of `status` behind a gate). No Events.
//! Upstream: `pkg/controller/volume/pvcprotection` (v1.36).
//!
//! A claim has the finalizer `kubernetes.io/pvc-protection` from its start (the API server adds it;
//! this controller does where that was switched off). Once it is being deleted, the finalizer is
//! removed as soon as no pod uses it. A pod on a node uses the claims that it names until it is
//! deleted, also one that has ended; the claim of an ephemeral volume only if the pod manages that
//! claim, and only until its node is done with it. A pod on no node uses none: kubelets start no
//! pod with a claim that is being deleted.
//!
//! The cache is enough to keep a claim. Before the finalizer is removed, the pods are listed live:
//! a pod that the cache does not show yet may be writing to the volume. One list is enough for all
//! claims of the namespace that were seen as deleted before it began: that they are unused is
//! remembered until they are synced. It stays true, for the same reason as above.
//!
//! With `PersistentVolumeClaimUnusedSinceTime` claims that are not being deleted also get the
//! condition `Unused`, which says since when no pod refers to them; pods on no node count there,
//! and pods that are over do not.
//!
//! **Invariant:** the finalizer is removed only after a live list that began when the claim was
//! known to be deleted, and that showed no user, nor any pod that cannot be read.
//! **Invariant:** the PUT names the version that was decided on, and changes nothing but this
//! finalizer.
//! **Invariant:** a claim that is protected and not being deleted is not written.
//!
//! What an event costs: of a pod, a look at its claims, mostly none; of a claim, a look-up of its
//! pods, and a list of all pods of the namespace if it is to go.
//!
//! Otherwise than upstream,
//! - the finalizer and the condition are not written in one sync: the second PUT could not succeed;
//! - after a live list with a pod that cannot be read no finalizer is removed. Upstream's sync
//!   fails;
//! - a claim that is unused by the cache and by its condition causes no live list.
//!
//! # Parts
//!
//! - `usage`: which pod uses which claim.
//! - `unused`: the condition.

mod decide;
mod snapshot;
mod unused;
mod usage;

#[cfg(test)]
mod tests;

use api::{Key, PersistentVolumeClaim, Pod};
use controller::{Change, Enqueue, Facts, News, Plan, View, Watches};

pub use snapshot::Snapshot;
pub use usage::Unused;

/// The controller.
#[derive(Clone, Copy, Debug)]
pub struct Controller {
    /// Whether claims get the condition `Unused`.
    pub tracks_unused: bool,
}

impl controller::Controller for Controller {
    type Snapshot = Snapshot;
    type Memory = Unused;
    type Verdict = ();

    fn watches(&self, table: &mut impl Watches<Self>) {
        table.on::<PersistentVolumeClaim>(|it, change, _, queue| it.claim_changed(change, queue));
        table.on::<Pod>(|it, change, view, queue| it.pod_changed(change, view, queue));
    }

    fn observe(&self, key: &Key, view: &View<'_>, memory: &Unused) -> Option<Snapshot> {
        snapshot::observe(key, view, memory)
    }

    fn decide(&self, snapshot: &Snapshot, facts: &Facts) -> (Plan, ()) {
        (decide::decide(snapshot, facts, self.tracks_unused), ())
    }

    fn summary(&self, snapshot: &Snapshot) -> Vec<(&'static str, String)> {
        snapshot.summary()
    }

    fn remember(&self, memory: &mut Unused, news: News<'_, Self>, _: &mut Enqueue) {
        match news {
            News::Answered { snapshot, answer, .. } => memory.learn(&snapshot.held, answer),
            // Whether it succeeded or not: the next sync lists again.
            News::Acted { snapshot, .. } => memory.forget(&snapshot.claim.meta.key),
            News::Gone(key) => memory.forget(key),
        }
    }
}

impl Controller {
    /// As `pvcAddedUpdated`.
    fn claim_changed(self, change: &Change<PersistentVolumeClaim>, queue: &mut Enqueue) {
        match change {
            Change::Added(claim) | Change::Updated { new: claim, .. } => {
                let lacks_finalizer = !claim.meta.is_terminating() && !claim.is_protected();
                let lacks_condition = self.tracks_unused && claim.unused.is_none();
                if lacks_finalizer || lacks_condition || claim.is_held() {
                    queue.add(&claim.meta.key);
                }
            }
            Change::Deleted(claim) => queue.forget(&claim.meta.key),
        }
    }

    /// As `podAddedDeletedUpdated`.
    fn pod_changed(self, change: &Change<Pod>, view: &View<'_>, queue: &mut Enqueue) {
        let (pod, old) = match change {
            Change::Added(pod) | Change::Deleted(pod) => (pod, pod),
            Change::Updated { old, new } => (new, old),
        };
        let namespace = &pod.meta.key.namespace;
        if old.unreadable {
            // It may have used any of them.
            let index = PersistentVolumeClaim::HELD_BY_NAMESPACE;
            for claim in view.of::<PersistentVolumeClaim>().by(index, namespace) {
                queue.add(&claim.meta.key);
            }
        }
        let is_deleted = matches!(change, Change::Deleted(_));
        let may_matter =
            self.tracks_unused || is_deleted || pod.is_over() || pod.node_name.is_none();
        if may_matter {
            for (name, _) in &pod.claims {
                queue.add(&Key { namespace: namespace.clone(), name: name.clone() });
            }
        }
    }
}
