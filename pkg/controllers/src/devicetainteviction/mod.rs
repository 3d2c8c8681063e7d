//! Evicts pods from devices whose taints with the effect `NoExecute` their claims do not tolerate,
//! or no longer.
//!
//! Reads: Pod, ResourceClaim, ResourceSlice. Writes: Pod (its status, delete), Event. Upstream:
//! `pkg/controller/devicetainteviction` (v1.36).
//!
//! Its keys are pods. A pod waits for the earliest moment at which one of its claims may have a
//! device no longer: when the taint was added, and the seconds that the claim tolerates it.
//!
//! **Invariant:** a pod is evicted only if at the last look a device that it has reserved is
//! tainted, and the claim does not tolerate that, or no longer.
//! **Invariant:** a pod with another uid is another pod: what is remembered of a predecessor does
//! not end it.
//!
//! What an event costs: of a pod, nothing, unless it got its node or its claims; of a claim, a key
//! for each pod that it is reserved for; of a slice, the same for each claim with a device of its
//! pool.
//!
//! Otherwise than upstream: the pod is not read live first; uid and version guard the writes. An
//! eviction that fails is announced once, not at each retry.
//!
//! DeviceTaintRules (the gate `DRADeviceTaintRules`) have no effect yet.
//!
//! # Parts
//! - `evictions`: which pods wait, and which were evicted: what no cache shows.

mod decide;
mod evictions;
mod snapshot;

#[cfg(test)]
mod tests;

use api::{Consumer, Key, Pod, ResourceClaim, ResourceSlice};
use controller::{Change, Enqueue, Facts, Family, News, Plan, View, Watches};

pub use decide::Verdict;
pub use evictions::{Evictions, Stage};
pub use snapshot::{Reason, Snapshot};

/// The controller. It has no options.
#[derive(Clone, Copy, Debug)]
pub struct Controller;

impl controller::Controller for Controller {
    type Snapshot = Snapshot;
    type Memory = Evictions;
    type Verdict = Verdict;

    const METRICS: &'static [Family] = &[decide::DELETIONS_TOTAL, decide::DELETION_DURATION];

    fn watches(&self, table: &mut impl Watches<Self>) {
        table.on::<Pod>(|_, change, _, queue| pod_changed(change, queue));
        table.on::<ResourceClaim>(|_, change, _, queue| claim_changed(change, queue));
        table.on::<ResourceSlice>(|_, change, view, queue| slice_changed(change, view, queue));
    }

    fn observe(&self, key: &Key, view: &View<'_>, evictions: &Evictions) -> Option<Snapshot> {
        snapshot::observe(key, view, evictions)
    }

    fn decide(&self, snapshot: &Snapshot, _: &Facts) -> (Plan, Verdict) {
        decide::decide(snapshot)
    }

    fn summary(&self, snapshot: &Snapshot) -> Vec<(&'static str, String)> {
        snapshot.summary()
    }

    fn remember(&self, evictions: &mut Evictions, news: News<'_, Self>, _: &mut Enqueue) {
        match news {
            News::Acted { snapshot, verdict, outcome } => {
                evictions.acted(snapshot, verdict, outcome);
            }
            News::Gone(key) => evictions.forget(key),
            News::Answered { .. } => {}
        }
    }
}

// === Watch table ===

/// As `handlePodChange`.
fn pod_changed(change: &Change<Pod>, queue: &mut Enqueue) {
    let pod = change.object();
    if pod.resource_claims().is_empty() {
        return;
    }
    match change {
        Change::Added(_) => queue.add(&pod.meta.key),
        Change::Updated { old, new } => {
            if old.node_name != new.node_name || old.resource_claims() != new.resource_claims() {
                queue.add(&pod.meta.key);
            }
        }
        Change::Deleted(_) => queue.forget(&pod.meta.key),
    }
}

/// As `handleClaimChange`: what is not allocated concerns no pod.
fn claim_changed(change: &Change<ResourceClaim>, queue: &mut Enqueue) {
    match change {
        Change::Added(claim) | Change::Deleted(claim) => {
            if claim.allocation.is_some() {
                enqueue_users(claim, queue);
            }
        }
        Change::Updated { old, new } => {
            if old.allocation.is_some() || new.allocation.is_some() {
                if old.reserved_for != new.reserved_for {
                    enqueue_users(old, queue);
                }
                enqueue_users(new, queue);
            }
        }
    }
}

/// As `handleSliceChange`.
fn slice_changed(change: &Change<ResourceSlice>, view: &View<'_>, queue: &mut Enqueue) {
    if let Change::Updated { old, new } = change {
        let says_the_same = old.generation == new.generation && old.tainted == new.tainted;
        if says_the_same && (&old.driver, &old.pool) == (&new.driver, &new.pool) {
            return;
        }
    }
    let slice = change.object();
    let pool = ResourceSlice::pool_key(&slice.driver, &slice.pool);
    for claim in view.of::<ResourceClaim>().by(ResourceClaim::BY_POOL, &pool) {
        enqueue_users(&claim, queue);
    }
}

fn enqueue_users(claim: &ResourceClaim, queue: &mut Enqueue) {
    let pods = claim.reserved_for.iter().filter(|it| Consumer::is_pod(it));
    for pod in pods {
        let namespace = claim.meta.key.namespace.clone();
        queue.add(&Key { namespace, name: pod.name.clone() });
    }
}
