//! DaemonSet: keeps a pod on each node that should have one.
//!
//! Reads: DaemonSet, Pod, Node, ControllerRevision. Writes: Pod (create, delete, patch of the owner
//! and of the revision label), ControllerRevision (create, update, delete, patch of the owner),
//! DaemonSet/status, Event. Upstream: `pkg/controller/daemon` (v1.36).
//!
//! **Invariant:** deletes only pods that the set controls and selects; adopts only pods and
//! revisions that no owner controls, and only for a set that was found live right before, with the
//! same uid and not being deleted.
//! **Invariant:** a rolling update makes a node lose its available pod only while fewer than
//! `maxUnavailable` nodes lack one; with `maxSurge`, not before its successor is available.
//! **Invariant:** a set that cannot be read, whose selector is invalid or empty, whose revisions
//! cannot be read, or that is being deleted is left alone.
//!
//! # Parts
//! - `backoff.rs`: how long failed pods stay, so that a node that refuses them is not retried in a
//!   hot loop.
//! - `fit.rs`: whether a node should have a pod.
//! - `revisions.rs`: which ControllerRevision is the present one, and how the others are kept.
//! - `rollout.rs`: the rolling update.
//! - `template.rs`: the pods that are made.
//! - `work.rs`: what there is to do about pods.
//!
//! # Costs
//! A sync costs a pass over all nodes and over the pods of the set. A node event costs a pass over
//! the DaemonSets and the pods of that node if the node is new or its labels or taints changed;
//! heartbeats cost nothing.
//!
//! # Otherwise than upstream
//! - An orphan that is deleted before it is adopted fails the sync; there it is left out.
//! - A ControllerRevision is written once in a sync, with all that it needs, and counts with the
//!   label that it gets, whatever a webhook makes of that.
//! - Pods are made and replaced in the order of the nodes' names, and each try after a failure
//!   begins elsewhere; upstream's order is that of a Go map, another one each time.
//! - Node events enqueue sets in the handler, without a queue `daemonset-node-updates` in between.
//! - The rolling update continues in a sync in which no pod is missing or superfluous, not right
//!   after pods were made or deleted.
//! - The back-off of failed pods counts those that are seen deleted, by any client, not the
//!   attempts to delete them; a set is enqueued when the back-off is over, not a whole delay later.
//! - If the present template has several revisions, only pods that carry one of their labels are
//!   relabelled; upstream relabels pods of former templates too, which then count as updated.
//! - With `maxSurge`, an old pod on a node that is deleted does not fail the rolling update.
//! - The names of new revisions have another hash: that of their data, as StatefulSets have it.
//!   Names of sets of more than 223 letters are cut in them.
//! - When pods are made and others deleted in one sync, both are tried at once and the new ones are
//!   made one after the other; a failure of the one does not keep the other from being done.

mod backoff;
mod decide;
mod fit;
mod report;
mod revisions;
mod rollout;
mod snapshot;
mod template;
mod work;

#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::time::Duration;

use api::{ControllerRevision, DaemonSet, Key, Node, Phase, Pod};
use controller::owners::{enqueue_managers, enqueue_owner, owner_key, owner_of};
use controller::{Change, Enqueue, Facts, Outcome, Plan, View, Watches, Write};

pub use backoff::Backoff;
use backoff::Place;
use fit::Fit;
pub use snapshot::Snapshot;

/// The label of a pod and of a ControllerRevision that says which template the pod is made from.
const HASH_LABEL: &str = "controller-revision-hash";
/// The same in a number, for sets that were made by API servers of old.
const GENERATION_LABEL: &str = "pod-template-generation";

/// The controller, with its options. It remembers on which nodes pods failed, from events only: the
/// same events at the same times give the same back-off.
#[derive(Clone, Copy, Debug)]
pub struct Controller {
    /// How many pods one sync makes, and how many it deletes, at most.
    burst_replicas: usize,
    compares_tolerations: bool,
}

impl Controller {
    /// A controller that makes and deletes at most so many pods in one sync; upstream's
    /// `BurstReplicas`, 250.
    pub fn new(burst_replicas: usize) -> Self {
        Self { burst_replicas, compares_tolerations: false }
    }

    /// This controller, with the gate `TaintTolerationComparisonOperators` on or off: whether
    /// tolerations may compare numbers. Without it, one that does tolerates nothing.
    #[must_use]
    pub fn comparing_tolerations(self, on: bool) -> Self {
        Self { compares_tolerations: on, ..self }
    }
}

impl controller::Controller for Controller {
    type Snapshot = Snapshot;
    type Memory = Backoff;
    type Verdict = ();

    fn watches(&self, table: &mut impl Watches<Self>) {
        table.on::<DaemonSet>(|_, change, _, queue| queue.own(change));
        table.on::<ControllerRevision>(|_, change, view, queue| {
            revision_changed(change, view, queue);
        });
        table.remembers::<Pod>(|_, failed_pods, change, view, queue| {
            count_failed(failed_pods, change, view);
            pod_changed(change, view, queue);
        });
        table.on::<Node>(|controller, change, view, queue| {
            controller.node_changed(change, view, queue);
        });
    }

    fn observe(&self, key: &Key, view: &View<'_>, failed_pods: &Backoff) -> Option<Snapshot> {
        snapshot::observe(key, view, self, failed_pods)
    }

    fn decide(&self, snapshot: &Snapshot, facts: &Facts) -> (Plan, ()) {
        (decide::decide(snapshot, facts, self.burst_replicas), ())
    }

    fn summary(&self, snapshot: &Snapshot) -> Vec<(&'static str, String)> {
        report::summary(snapshot)
    }

    fn report(&self, snapshot: &Snapshot, _: Option<&()>, outcome: &Outcome) -> Option<Write> {
        report::report(snapshot, outcome)
    }
}

// === Failed pods ===

/// A failed pod that is deleted makes the next one on its node wait.
fn count_failed(failed_pods: &mut Backoff, change: &Change<Pod>, view: &View<'_>) {
    let goes = match change {
        Change::Updated { old, new } => !old.meta.is_terminating() && new.meta.is_terminating(),
        Change::Deleted(pod) => !pod.meta.is_terminating(),
        Change::Added(_) => false,
    };
    let pod = change.object();
    if !goes || pod.phase != Phase::Failed {
        return;
    }
    if let (Some(set), Some(node)) = (owner_of(&pod.meta, view), snapshot::node_of(pod)) {
        failed_pods.count(Place::new(&set, node), view.now);
    }
}

// === Watch table ===

impl Controller {
    /// As `syncNodeUpdate`, and a node that comes back before its pods are deleted counts again. A
    /// deleted node enqueues nothing: the deletions of its pods do.
    fn node_changed(&self, change: &Change<Node>, view: &View<'_>, queue: &mut Enqueue) {
        let node = match change {
            Change::Added(node) => node,
            Change::Updated { old, new }
                if old.meta.labels != new.meta.labels || old.taints != new.taints =>
            {
                new
            }
            Change::Updated { .. } | Change::Deleted(_) => return,
        };
        let on_node = view.of::<Pod>().by(Pod::BY_NODE, &node.meta.key.name);
        let owners = on_node.iter().filter_map(|pod| owner_key::<DaemonSet>(&pod.meta));
        let owners: BTreeSet<Key> = owners.collect();
        for set in view.of::<DaemonSet>().all() {
            let has_pod = owners.contains(&set.meta.key);
            let concerned = match fit::fit(&set, node, self.compares_tolerations) {
                Fit::Run if !has_pod || matches!(change, Change::Added(_)) => true,
                Fit::Leave if has_pod => true,
                Fit::Run | Fit::Stay | Fit::Leave => has_pod && set.status.number_misscheduled > 0,
            };
            if concerned {
                queue.add(&set.meta.key);
            }
        }
    }
}

/// New revisions of a set enqueue it through the versions that it awaits.
fn revision_changed(change: &Change<ControllerRevision>, view: &View<'_>, queue: &mut Enqueue) {
    match change {
        Change::Added(it) if it.meta.controller().is_some() && !it.meta.is_terminating() => {}
        Change::Added(_) | Change::Updated { .. } | Change::Deleted(_) => {
            enqueue_managers::<DaemonSet>(change, view, queue);
        }
    }
}

fn pod_changed(change: &Change<Pod>, view: &View<'_>, queue: &mut Enqueue) {
    match change {
        Change::Updated { .. } if change.is_resync() => {}
        // As upstream, and the owner that it is taken from: its place is free.
        Change::Updated { old, new } if new.meta.is_terminating() => {
            enqueue_owner::<DaemonSet>(&new.meta, view, queue);
            if old.meta.controller() != new.meta.controller() {
                enqueue_owner::<DaemonSet>(&old.meta, view, queue);
            }
        }
        Change::Updated { old, new } => {
            enqueue_managers::<DaemonSet>(change, view, queue);
            enqueue_when_available(old, new, view, queue);
        }
        Change::Added(_) | Change::Deleted(_) => enqueue_managers::<DaemonSet>(change, view, queue),
    }
}

/// The end of a sync requeues for this too; that is lost if the key is synced earlier.
fn enqueue_when_available(old: &Pod, new: &Pod, view: &View<'_>, queue: &mut Enqueue) {
    if old.is_ready() || !new.is_ready() {
        return;
    }
    let Some(set) = owner_of::<DaemonSet>(&new.meta, view) else { return };
    let seconds = u64::try_from(set.min_ready_seconds).unwrap_or(0);
    if seconds > 0 {
        queue.add_after(&set.meta.key, Duration::from_secs(seconds.saturating_add(1)));
    }
}
