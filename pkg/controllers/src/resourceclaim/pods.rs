//! The controller whose keys are pods. As `enqueuePod` and `podNeedsWork` in upstream's
//! `pkg/controller/resourceclaim/controller.go`.

use std::sync::Arc;

use api::{ClaimName, Key, Pod, PodResourceClaim, ResourceClaim, ResourceClaimTemplate};
use controller::{Change, Enqueue, Facts, Family, Plan, View, Watches};

use super::snapshot::{self, PodSnapshot, beside};
use super::{decide, is_done, is_for};

/// The controller whose keys are pods, with its gate.
#[derive(Clone, Copy, Debug)]
pub struct Pods {
    /// Whether templates may list alternatives: `DRAPrioritizedList`.
    pub allows_alternatives: bool,
}

impl controller::Controller for Pods {
    type Snapshot = PodSnapshot;
    type Memory = ();
    type Verdict = ();

    const METRICS: &'static [Family] = &[decide::CREATES_TOTAL];

    fn watches(&self, table: &mut impl Watches<Self>) {
        table.on::<Pod>(|_, change, view, queue| match change {
            Change::Added(pod) | Change::Updated { new: pod, .. } => enqueue(pod, view, queue),
            Change::Deleted(pod) if pod.resource_claims().is_empty() => {}
            Change::Deleted(pod) => queue.forget(&pod.meta.key),
        });
        table.on::<ResourceClaim>(|_, change, view, queue| {
            let claim = change.object();
            let key = claim.meta.key.to_string();
            for pod in view.of::<Pod>().by(Pod::BY_RESOURCE_CLAIM, &key) {
                enqueue(&pod, view, queue);
            }
            // The status of the pod that it was made for does not name it yet.
            let is_there = !matches!(change, Change::Deleted(_));
            if let Some(pod) = made_for(claim, view).filter(|_| is_there) {
                enqueue(&pod, view, queue);
            }
        });
        table.on::<ResourceClaimTemplate>(|_, change, view, queue| match change {
            Change::Added(template) | Change::Updated { new: template, .. } => {
                let key = template.meta.key.to_string();
                for pod in view.of::<Pod>().by(Pod::BY_CLAIM_TEMPLATE, &key) {
                    enqueue(&pod, view, queue);
                }
            }
            Change::Deleted(_) => {}
        });
    }

    fn observe(&self, key: &Key, view: &View<'_>, (): &()) -> Option<PodSnapshot> {
        snapshot::observe(*self, key, view)
    }

    fn decide(&self, snapshot: &PodSnapshot, _: &Facts) -> (Plan, ()) {
        (decide::decide(snapshot), ())
    }

    fn summary(&self, snapshot: &PodSnapshot) -> Vec<(&'static str, String)> {
        snapshot.summary()
    }
}

// === Watch table ===

/// The pod that a claim was made for, if it is there.
fn made_for(claim: &ResourceClaim, view: &View<'_>) -> Option<Arc<Pod>> {
    let owner = claim.meta.controller().filter(|owner| &*owner.kind == "Pod")?;
    let key = Key { namespace: claim.meta.key.namespace.clone(), name: owner.name.clone() };
    view.of::<Pod>().get(&key).filter(|pod| pod.meta.uid == owner.uid)
}

fn enqueue(pod: &Pod, view: &View<'_>, queue: &mut Enqueue) {
    let may_run = !pod.meta.is_terminating() && !is_done(pod);
    if may_run && pod.resource_claims().iter().any(|entry| needs_work(pod, entry, view)) {
        queue.add(&pod.meta.key);
    }
}

/// As `podNeedsWork`: a claim in the cache that is another one's gives no work until it changes.
fn needs_work(pod: &Pod, entry: &PodResourceClaim, view: &View<'_>) -> bool {
    let name = match &entry.claim {
        ClaimName::NotMade | ClaimName::Unsupported => return true,
        ClaimName::NotNeeded => return false,
        ClaimName::Given(name) | ClaimName::Made(name) => name,
    };
    match view.of::<ResourceClaim>().get(&beside(pod, name)) {
        None => entry.template.is_some(),
        Some(claim) => may_use(&claim, pod, entry) && needs_reservation(&claim, pod),
    }
}

/// Whether the claim is the entry's: the one that it names, or one that was made for the pod.
fn may_use(claim: &ResourceClaim, pod: &Pod, entry: &PodResourceClaim) -> bool {
    matches!(entry.claim, ClaimName::Given(_)) || is_for(claim, pod)
}

/// The scheduler reserves claims for the pods that it puts somewhere; for one with a node that is
/// left to this controller.
pub(super) fn needs_reservation(claim: &ResourceClaim, pod: &Pod) -> bool {
    let is_allocated = claim.allocation.is_some();
    pod.node_name.is_some() && is_allocated && !claim.is_reserved_for(&pod.meta.uid)
}
