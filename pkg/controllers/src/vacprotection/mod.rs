//! The protection of VolumeAttributesClasses: one that is deleted stays for as long as a volume or
//! a claim refers to it.
//!
//! Reads: VolumeAttributesClass, PersistentVolume, PersistentVolumeClaim. Writes:
//! VolumeAttributesClass (PUT of its finalizers). No Events. Upstream:
//! `pkg/controller/volume/vacprotection` (v1.36).
//!
//! A class has the finalizer `kubernetes.io/vac-protection` from its start (the API server adds it
//! since 1.36; this controller does where that was switched off). Once it is being deleted, the
//! finalizer goes as soon as the caches show no volume of the class, and no claim that asks for it,
//! has it, or is about to get it. As upstream's, it looks at the caches alone: a claim that nobody
//! has heard of yet keeps no class.
//!
//! **Invariant:** the finalizer goes only from a class that is being deleted and that nothing in
//! the caches refers to; what cannot be read may refer to any class.
//! **Invariant:** the PUT names the version that was decided on, and changes nothing but this
//! finalizer.
//! **Invariant:** a class that is protected and not being deleted is not written.
//!
//! What an event costs: of a class, a look at its finalizers; of a volume or claim, a comparison of
//! at most three names, and only of those that it no longer refers to a key.
//!
//! Otherwise than upstream, a deletion that was only learned from a new list counts, too.

mod decide;
mod snapshot;

#[cfg(test)]
mod tests;

use api::{Key, PersistentVolume, PersistentVolumeClaim, Text, VolumeAttributesClass};
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
        table.on::<VolumeAttributesClass>(|_, change, _, queue| class_changed(change, queue));
        table.on::<PersistentVolume>(|_, change, view, queue| {
            user_changed(change, |volume| volume.attributes_class.as_slice(), view, queue);
        });
        table.on::<PersistentVolumeClaim>(|_, change, view, queue| {
            user_changed(change, |claim| &claim.attributes_classes, view, queue);
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

/// As `vacAddedUpdated`.
fn class_changed(change: &Change<VolumeAttributesClass>, queue: &mut Enqueue) {
    match change {
        Change::Added(class) | Change::Updated { new: class, .. } => {
            let finalizer = VolumeAttributesClass::PROTECTION;
            if class.meta.lacks_finalizer(finalizer) || class.meta.is_held_by(finalizer) {
                queue.add(&class.meta.key);
            }
        }
        Change::Deleted(class) => queue.forget(&class.meta.key),
    }
}

/// Enqueues the classes that something no longer refers to. As `pvcUpdated`, `pvcDeleted` and their
/// like.
fn user_changed<T>(
    change: &Change<T>,
    classes: fn(&T) -> &[Text],
    view: &View<'_>,
    queue: &mut Enqueue,
) {
    let (was, is) = match change {
        Change::Added(_) => return,
        Change::Updated { old, new } => (classes(old), classes(new)),
        Change::Deleted(user) => (classes(user), &[][..]),
    };
    for class in was.iter().filter(|class| !is.contains(class)) {
        if **class == *VolumeAttributesClass::UNKNOWN {
            // It may have referred to any of them.
            enqueue_held(view, queue);
        } else {
            queue.add(&Key::new("", class));
        }
    }
}

fn enqueue_held(view: &View<'_>, queue: &mut Enqueue) {
    for class in view.of::<VolumeAttributesClass>().all() {
        if class.meta.is_held_by(VolumeAttributesClass::PROTECTION) {
            queue.add(&class.meta.key);
        }
    }
}
