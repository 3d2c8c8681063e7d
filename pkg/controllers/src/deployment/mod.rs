//! Deployment: replaces the pods of one template by those of the next, ReplicaSet by ReplicaSet.
//!
//! Reads: Deployment, ReplicaSet, Pod; live, the Deployment before it adopts, and after a failure
//! the name that a new ReplicaSet would get. Writes: ReplicaSet (create, update, delete, patch of
//! the owner), Deployment/status, Deployment (only to roll back), Event. Upstream:
//! `pkg/controller/deployment` (v1.36).
//!
//! **Invariant:** scales and deletes only ReplicaSets that the Deployment controls and selects, and
//! deletes none with pods or with `spec.replicas` above 0.
//! **Invariant:** there is one ReplicaSet of the present template: none is made while the cache, or
//! the API server under the same name, has one.
//! **Invariant:** a Deployment that cannot be read, or one of whose ReplicaSets cannot be read, is
//! left alone.
//!
//! Costs: an event of a Deployment or a ReplicaSet is a look-up by name (a Deployment of the
//! namespace each for orphans); the deletion of a pod of a Recreate rollout looks at the pods that
//! are left. A sync compares the templates of its ReplicaSets, oldest first, up to the one that is
//! equal.
//!
//! # Parts
//! - `limits`: how many pods there may be more or less than asked for.
//! - `template`: when two pod templates are the same, and what a new ReplicaSet is called.
//! - `revision`: the annotations of ReplicaSets.
//! - `changes`: the writes to ReplicaSets, one PUT for each of them.
//! - `scaling`: sharing pods out when the Deployment is resized.
//! - `rollout`: rolling updates, Recreate, and what is deleted after them.
//! - `creation`: the new ReplicaSet.
//! - `rollback`: the deprecated annotation that asks for an older revision.
//! - `progress`: the conditions.
//!
//! Otherwise than upstream:
//! - a sync writes each object once. Upstream writes the same object again with a version that its
//!   own first write made old, and tries again after the conflict. Here the annotations and the
//!   size of a ReplicaSet are one write, and so are the revision, the conditions and the counts of
//!   the Deployment; the objects end up the same;
//! - old ReplicaSets are scaled down in the sync after the one that made the new one, so that a
//!   failure is reported for the write that failed. (One that is adopted and must be written at
//!   once is written in the next sync, after a conflict, as upstream.)
//! - if the name of a new ReplicaSet is taken, the next sync looks live at what has it: upstream
//!   compares what its cache has under the name, in the same sync;
//! - a rollback in whose sync the new ReplicaSet gets annotations finds the last revision among
//!   these, whatever a webhook makes of them;
//! - a failure to scale old ReplicaSets down is tried again with back-off; upstream waits for the
//!   next event;
//! - within the last second before the progress deadline, and as long as pods of a rollout that was
//!   complete are not available, upstream looks again every few milliseconds; here it is once,
//!   right after the deadline, and not at all.

mod changes;
mod creation;
mod decide;
mod limits;
mod progress;
mod report;
mod revision;
mod rollback;
mod rollout;
mod scaling;
mod snapshot;
mod template;

#[cfg(test)]
mod tests;

use api::{Deployment, DeploymentStrategy, Key, Pod, ReplicaSet};
use controller::owners::{Owner, enqueue_managers, owner_of};
use controller::{Change, Enqueue, Facts, Outcome, Plan, View, Watches, Write};

pub use decide::Verdict;
pub use snapshot::{Set, Snapshot};

/// The controller, with its option.
#[derive(Clone, Copy, Debug)]
pub struct Controller {
    /// Whether the status counts pods that are being deleted: the gate
    /// `DeploymentReplicaSetTerminatingReplicas`.
    pub counts_terminating: bool,
}

impl controller::Controller for Controller {
    type Snapshot = Snapshot;
    type Memory = ();
    type Verdict = Verdict;

    const RETRIES_MAX: Option<u32> = Some(15);

    fn watches(&self, table: &mut impl Watches<Self>) {
        table.on::<Deployment>(|_, change, _, queue| queue.own(change));
        table.on::<ReplicaSet>(|_, change, view, queue| {
            enqueue_managers::<Deployment>(change, view, queue);
        });
        table.on::<Pod>(|_, change, view, queue| pod_changed(change, view, queue));
    }

    fn observe(&self, key: &Key, view: &View<'_>, (): &()) -> Option<Snapshot> {
        snapshot::observe(key, view, *self)
    }

    fn decide(&self, snapshot: &Snapshot, facts: &Facts) -> (Plan, Verdict) {
        decide::decide(snapshot, facts)
    }

    fn summary(&self, snapshot: &Snapshot) -> Vec<(&'static str, String)> {
        report::summary(snapshot)
    }

    fn report(
        &self,
        snapshot: &Snapshot,
        verdict: Option<&Verdict>,
        outcome: &Outcome,
    ) -> Option<Write> {
        report::report(snapshot, *verdict?, outcome)
    }
}

// === Watch table ===

/// A Recreate rollout continues once the last pod is deleted. As upstream's `deletePod`.
fn pod_changed(change: &Change<Pod>, view: &View<'_>, queue: &mut Enqueue) {
    let Change::Deleted(pod) = change else { return };
    let Some(set) = owner_of::<ReplicaSet>(&pod.meta, view) else { return };
    let Some(deployment) = owner_of::<Deployment>(&set.meta, view) else { return };
    if deployment.strategy != DeploymentStrategy::Recreate {
        return;
    }
    let Ok(selector) = deployment.usable_selector() else { return };
    let sets = view.of::<ReplicaSet>().by(ReplicaSet::BY_CONTROLLER, &deployment.meta.uid);
    let mut sets = sets.iter().filter(|set| selector.matches(&set.meta.labels));
    if sets.all(|set| snapshot::pods_of(set, view).is_empty()) {
        queue.add(&deployment.meta.key);
    }
}
