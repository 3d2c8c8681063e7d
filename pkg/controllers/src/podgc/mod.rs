//! Pod garbage collection: deletes, by force, pods that no kubelet and no controller will.
//!
//! Reads: Pod, Node. Writes: Pod (delete), Pod/status (patch). No Events. Upstream:
//! `pkg/controller/podgc` (v1.36).
//!
//! It is not about one object: its only key is `pods`, and a sync is a pass over all pods, 20
//! seconds after the last one. No event enqueues it. A pass collects pods that
//!
//! - have ended, as many as there are more than the threshold: first those that were evicted, then
//!   the oldest ones;
//! - are being deleted, on a node that is not ready and whose taint says that it is out of service;
//! - are bound to a node that has been missing for 40 seconds, and is not there in a live read;
//! - are being deleted and were never bound to a node.
//!
//! A pod that has not ended is marked as failed first, so that its owner counts it even if
//! finalizers keep it.
//!
//! **Invariant:** the cache alone gets no pod deleted for want of its node: each node is read live
//! right before. So an empty cache of nodes, or one that is stale, costs reads and no pods.
//! **Invariant:** every write names its pod by uid, and is about one pod. A pod whose writes fail
//! holds up no other one.
//!
//! What a pass costs: two walks over all pods with a look-up of the node of each, a tenth of a
//! second of one processor for 100 000 pods on 5000 nodes. The ended pods are sorted only if they
//! are too many. Requests are bounded, see `DELETIONS_MAX` and `READS_MAX`. A new pod costs a
//! look-up of its node, a deleted node one of its pods; no other event costs anything.
//!
//! Otherwise than upstream,
//! - a pod that has ended, is being deleted without a grace period and is kept by its finalizers is
//!   not deleted again in each pass (which could change nothing, see pull 141190 of
//!   kubernetes/kubernetes), and does not count as one that has ended;
//! - a pass deletes no more than so many pods for each reason, and the next one follows at once.
//!   Upstream works on one list to its end, however old that has become: with a hundred thousand
//!   pods over the threshold it looks for no orphans for more than an hour;
//! - a pod that is in two lists is dealt with and counted once, for the first reason;
//! - the quarantine of a node starts when the caches show that it is missing, not in the next pass,
//!   or when this process takes over; it starts anew if the node was there in between. A node that
//!   could not be read is read again in the next pass;
//! - a pod that is deleted before it could be marked (404) ends nothing.
//!
//! # Parts
//!
//! - `quarantine`: the nodes that are missing, and since when.

mod decide;
mod quarantine;
mod snapshot;

#[cfg(test)]
mod tests;

use std::time::Duration;

use api::{Key, Node, Pod};
use controller::{Facts, Family, Plan, View, Watches};

pub use quarantine::Quarantine;
pub use snapshot::Snapshot;

/// From one pass to the next, also after one that failed; upstream's `gcCheckPeriod`. The queue
/// must try its key again after this delay, a fixed one: back-off would hold up all pods for one
/// that cannot be deleted.
pub const PERIOD: Duration = Duration::from_secs(20);

/// The controller, with its options. It remembers the nodes that it misses.
#[derive(Clone, Copy, Debug)]
pub struct Controller {
    /// How many ended pods may stay; none: all.
    threshold: Option<usize>,
    tracks_generations: bool,
}

impl Controller {
    /// With the value of `--terminated-pod-gc-threshold`: so many ended pods may stay; all of them
    /// if it is not above zero.
    pub fn new(terminated_pod_gc_threshold: i32) -> Self {
        let threshold = usize::try_from(terminated_pod_gc_threshold).ok();
        Self { threshold: threshold.filter(|max| *max > 0), tracks_generations: true }
    }

    /// This controller, with the gate `PodObservedGenerationTracking` on or off: whether marks of
    /// pods say of which generation they are. Without it, only those that did before.
    #[must_use]
    pub fn tracking_generations(self, on: bool) -> Self {
        Self { tracks_generations: on, ..self }
    }
}

impl controller::Controller for Controller {
    type Snapshot = Snapshot;
    type Memory = Quarantine;
    type Verdict = ();

    const METRICS: &'static [Family] = &[decide::PODS_TOTAL, decide::POD_ERRORS_TOTAL];

    const SEEDS: &'static [&'static str] = &["pods"];

    fn watches(&self, table: &mut impl Watches<Self>) {
        table.remembers::<Pod>(|_, quarantine, change, view, _| {
            quarantine.pod_changed(change, view);
        });
        table.remembers::<Node>(|_, quarantine, change, view, _| {
            quarantine.node_changed(change, view);
        });
    }

    fn observe(&self, _: &Key, view: &View<'_>, quarantine: &Quarantine) -> Option<Snapshot> {
        Some(snapshot::observe(view, self, quarantine))
    }

    fn decide(&self, snapshot: &Snapshot, facts: &Facts) -> (Plan, ()) {
        (decide::decide(snapshot, facts, self.threshold), ())
    }

    fn summary(&self, snapshot: &Snapshot) -> Vec<(&'static str, String)> {
        snapshot.summary(self.threshold)
    }
}
