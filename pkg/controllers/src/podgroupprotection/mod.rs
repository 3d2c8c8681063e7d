//! The protection of PodGroups: one that is deleted stays for as long as a pod of it may run.
//!
//! Reads: PodGroup, Pod. Writes: PodGroup (PUT of its finalizers). No Events. Upstream:
//! `pkg/controller/scheduling/podgroupprotection` (v1.36).
//!
//! The API server gives a group the finalizer `scheduling.k8s.io/podgroup-protection` when it is
//! created. Once the group is being deleted, the finalizer is removed as soon as the caches show no
//! pod of it that has not ended.
//!
//! **Invariant:** the finalizer is removed only from a group that is being deleted and that no pod
//! in the caches may run in; a pod that cannot be read may be of any group.
//! **Invariant:** the PUT names the version that was decided on, and changes nothing but this
//! finalizer; none is ever added.
//!
//! What an event costs: of a group, a look at its finalizers; of a pod that ended, a key.

mod decide;
mod snapshot;

#[cfg(test)]
mod tests;

use api::{Key, Pod, PodGroup};
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
        table.on::<PodGroup>(|_, change, _, queue| group_changed(change, queue));
        table.on::<Pod>(|_, change, view, queue| pod_changed(change, view, queue));
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

/// As `handlePodGroupUpdate`.
fn group_changed(change: &Change<PodGroup>, queue: &mut Enqueue) {
    match change {
        Change::Added(group) | Change::Updated { new: group, .. } => {
            if group.meta.is_held_by(PodGroup::PROTECTION) {
                queue.add(&group.meta.key);
            }
        }
        Change::Deleted(group) => queue.forget(&group.meta.key),
    }
}

/// As `handlePodChange`.
fn pod_changed(change: &Change<Pod>, view: &View<'_>, queue: &mut Enqueue) {
    let pod = change.object();
    match change {
        Change::Updated { old, new } if old.unreadable && !new.unreadable => {
            enqueue_held(view, queue);
        }
        Change::Added(_) | Change::Updated { .. } if !pod.is_terminal() => {}
        Change::Deleted(pod) if pod.unreadable => enqueue_held(view, queue),
        Change::Added(_) | Change::Updated { .. } | Change::Deleted(_) => {
            if let Some(group) = pod.group() {
                let namespace = pod.meta.key.namespace.clone();
                queue.add(&Key { namespace, name: group.clone() });
            }
        }
    }
}

/// A pod that could not be read may have been of any group.
fn enqueue_held(view: &View<'_>, queue: &mut Enqueue) {
    for group in view.of::<PodGroup>().all() {
        if group.meta.is_held_by(PodGroup::PROTECTION) {
            queue.add(&group.meta.key);
        }
    }
}
