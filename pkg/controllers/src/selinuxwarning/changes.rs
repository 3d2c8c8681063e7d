//! Which pods a change enqueues.

use api::{
    AttachPlugin, CsiDriver, InTreePlugin, Key, PersistentVolume, PersistentVolumeClaim, Pod,
};
use controller::{Change, Enqueue, View};

/// As `enqueuePod` and `updatePod`: what counts of a pod never changes, but that it ends.
pub(super) fn pod(change: &Change<Pod>, queue: &mut Enqueue) {
    let counts = |pod: &Pod| pod.unreadable || pod.se_linux().is_some();
    match change {
        Change::Added(pod) if counts(pod) => queue.add(&pod.meta.key),
        Change::Updated { old, new } if old.unreadable && !new.unreadable => {
            queue.add(&new.meta.key);
        }
        Change::Updated { old, new }
            if counts(new) && new.is_terminal() && old.phase != new.phase =>
        {
            queue.add(&new.meta.key);
        }
        Change::Deleted(pod) if counts(pod) => queue.forget(&pod.meta.key),
        Change::Added(_) | Change::Updated { .. } | Change::Deleted(_) => {}
    }
}

/// As `addPVC` and `updatePVC`; also if it becomes bound later than it names its volume.
pub(super) fn claim(change: &Change<PersistentVolumeClaim>, view: &View<'_>, queue: &mut Enqueue) {
    let (claim, is_new) = match change {
        Change::Added(new) => (new, new.volume.is_some()),
        Change::Updated { old, new } => {
            let became_bound = new.is_bound && !old.is_bound;
            (new, old.volume != new.volume || became_bound)
        }
        Change::Deleted(old) => (old, false),
    };
    if is_new {
        pods_of(&claim.meta.key, view, queue);
    }
}

/// As `addPV` and `updatePV`.
pub(super) fn volume(change: &Change<PersistentVolume>, view: &View<'_>, queue: &mut Enqueue) {
    let (volume, is_new) = match change {
        Change::Added(new) => (new, true),
        Change::Updated { old, new } => (new, old.claim_uid != new.claim_uid),
        Change::Deleted(old) => (old, false),
    };
    let uid = volume.claim_uid.as_deref().unwrap_or_default();
    if let Some(claim) = volume.claim.as_ref().filter(|_| is_new && !uid.is_empty()) {
        pods_of(claim, view, queue);
    }
}

/// As `addCSIDriver`, `updateCSIDriver` and `deleteCSIDriver`. The pods are those that the caches
/// show, which cannot miss one that is being looked at just now.
pub(super) fn driver(change: &Change<CsiDriver>, view: &View<'_>, queue: &mut Enqueue) {
    let (was, is) = match change {
        Change::Added(new) => (false, new.se_linux_mount),
        Change::Updated { old, new } => (old.se_linux_mount, new.se_linux_mount),
        Change::Deleted(old) => (old.se_linux_mount, false),
    };
    if was == is {
        return;
    }
    let name = &change.object().meta.key.name;
    let is_its = |volume: &str| {
        let plugin = AttachPlugin::of(volume);
        matches!(plugin, Some(AttachPlugin::Csi { driver, .. }) if driver == *name)
    };
    for volume in view.of::<PersistentVolume>().all() {
        let claim = volume.claim.as_ref();
        let Some(claim) = claim.filter(|_| volume.attached_as.as_deref().is_some_and(is_its))
        else {
            continue;
        };
        pods_of(claim, view, queue);
    }
    // Only what was a plugin of Kubernetes once can be named without a claim.
    if InTreePlugin::ALL.iter().any(|plugin| *plugin.driver == **name) {
        for pod in view.of::<Pod>().all() {
            if pod.inline_volumes().iter().any(|inline| is_its(&inline.volume)) {
                queue.add(&pod.meta.key);
            }
        }
    }
}

/// As `enqueueAllPodsForPVC`.
fn pods_of(claim: &Key, view: &View<'_>, queue: &mut Enqueue) {
    for pod in view.of::<Pod>().by(Pod::BY_CLAIM, &claim.to_string()) {
        queue.add(&pod.meta.key);
    }
}
