//! StatefulSet: pods with numbers, each with its own volume claims.
//!
//! Reads: StatefulSet, Pod, PersistentVolumeClaim, ControllerRevision; and, live, a set before it
//! adopts, the name of a new revision, and a pod that is to be changed. Writes: Pod (create, PUT,
//! delete, patch of the owner), PersistentVolumeClaim (create, PUT of its owners),
//! ControllerRevision (create, PUT, delete, patch of the owner), StatefulSet/status, Event.
//! Upstream: `pkg/controller/statefulset` (v1.36).
//!
//! **Invariant:** there is never more than one pod of a number, and a pod is made only after the
//! claims that it names. No claim is deleted: the garbage collector does, by the owners that the
//! retention policy gives to claims.
//! **Invariant:** with `OrderedReady` a pod is made only while all pods with lower numbers are
//! Running, Ready and Available, and one that the set has no place for is deleted only while all
//! others are, or it is the first that is not.
//! **Invariant:** a rolling update deletes one pod at a time, from the highest number down to the
//! partition, and none while one that it has replaced is unavailable.
//! **Invariant:** a revision of the present template is found by its bytes, or by what they are
//! with the defaults of today; the bytes and names of new revisions are upstream's.
//! **Invariant:** deletes only pods that the set controls and selects; adopts only pods and
//! revisions that nobody controls, and only for a set that was found live right before, with the
//! same uid and not being deleted.
//! **Invariant:** a set that cannot be read, whose selector is invalid or empty, whose revisions
//! cannot be read, or that is being deleted is left alone but for its status.
//!
//! # Parts
//! - `ordinal.rs`: names and numbers.
//! - `revisions.rs`, `semantic.rs`: from which template to which.
//! - `template.rs`: the pods that are made.
//! - `claims.rs`, `retention.rs`: their claims, and who owns these.
//! - `replica.rs`: what is done about one pod.
//! - `rolling.rs`: the update.
//! - `events.rs`, `gauges.rs`: what is reported and measured.
//!
//! # As upstream, and yet a surprise
//! - An update does not reach a pod that is not Ready as long as pods wait for each other, also if
//!   it would make it Ready: somebody must delete it.
//! - A pod that was adopted with other volumes than the claim templates say is updated again and
//!   again, and each time that is refused.
//!
//! Both stand in the first line of what `explain` says.
//!
//! # Otherwise than upstream
//! - An orphan that was deleted before it is adopted fails the sync; there it is left out.
//! - Nothing is written before earlier writes are seen, deletions among them.
//! - The deletion of a claim enqueues its set; upstream's syncs it when something else changes.
//! - The claims of a pod are made one after the other, and the first failure ends that.
//! - A pod is not PUT if only the owners of its claims were changed.
//! - Of a set that is being deleted no revision is made, adopted, renumbered or deleted.
//! - Former revisions are deleted only once the rest of a sync went well.
//! - One sync makes at most 500 pods.
//! - Nothing is tried again in a namespace that is being deleted.
//! - A pod with another spelling of a number, such as `web-01`, is not renamed, which would fail.
//! - No Event reports the deletion of a pod that was gone already (404). Upstream's reports it as
//!   `SuccessfulDelete`, as if it had been its own.
//! - With `Parallel`, a pod whose claim is being deleted fails the sync, but first all other pods
//!   are made. Upstream's ends after the batch with that pod: pods with higher numbers are not made
//!   until the claim is gone. Surplus pods and updates wait, as there.
//! - Conditions that others wrote into the status stay.

mod claims;
mod decide;
mod events;
mod gauges;
mod ordinal;
mod replica;
mod report;
mod retention;
mod revisions;
mod rolling;
mod semantic;
mod snapshot;
mod template;

#[cfg(test)]
mod tests;

use std::time::Duration;

use api::{ControllerRevision, Key, PersistentVolumeClaim, Pod, StatefulSet};
use controller::owners::{enqueue_managers, enqueue_owner, enqueue_selecting, owner_of};
use controller::{Change, Count, Enqueue, Facts, Family, Outcome, Plan, View, Watches, Write};

pub use decide::Course;
pub use snapshot::Snapshot;

/// The label of a pod that names the revision that it is made from.
const REVISION_LABEL: &str = "controller-revision-hash";
/// The label of a revision with the hash of its data.
const HASH_LABEL: &str = "controller.kubernetes.io/hash";
/// The label of a pod with its name.
const NAME_LABEL: &str = "statefulset.kubernetes.io/pod-name";
/// The label of a pod with its number.
const INDEX_LABEL: &str = "apps.kubernetes.io/pod-index";
/// How many chains of writes are under way at once; upstream's `MaxBatchSize`.
const BATCH_MAX: usize = 500;
/// How many pods one sync makes.
const CREATES_MAX: usize = 500;

/// The controller, with its options.
#[derive(Clone, Copy, Debug)]
pub struct Controller {
    /// How a revision is found.
    pub comparison: Comparison,
    /// How many pods an update may make unavailable.
    pub max_unavailable: MaxUnavailable,
}

/// How the revision of a template is found: the gate `StatefulSetSemanticRevisionComparison`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Comparison {
    /// By its bytes alone.
    Bytes,
    /// Also by what the last one is with the defaults of today.
    Semantic,
}

/// What `maxUnavailable` means: the gate `MaxUnavailableStatefulSet`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MaxUnavailable {
    /// Nothing: one pod is updated after the other.
    One,
    /// What it says.
    AsSpecified,
}

impl controller::Controller for Controller {
    type Snapshot = Snapshot;
    type Memory = ();
    type Verdict = Option<Course>;

    const METRICS: &'static [Family] = &[gauges::MAX_UNAVAILABLE, gauges::UNAVAILABLE_REPLICAS];

    fn watches(&self, table: &mut impl Watches<Self>) {
        table.on::<StatefulSet>(|_, change, _, queue| queue.own(change));
        table.on::<Pod>(|_, change, view, queue| pod_changed(change, view, queue));
        table.on::<PersistentVolumeClaim>(|_, change, view, queue| {
            claim_changed(change, view, queue);
        });
        table.reads::<ControllerRevision>();
    }

    fn observe(&self, key: &Key, view: &View<'_>, (): &()) -> Option<Snapshot> {
        snapshot::observe(key, view)
    }

    fn decide(&self, snapshot: &Snapshot, facts: &Facts) -> (Plan, Option<Course>) {
        self.plan(snapshot, facts)
    }

    fn summary(&self, snapshot: &Snapshot) -> Vec<(&'static str, String)> {
        report::summary(snapshot)
    }

    fn gauges(&self, view: &View<'_>, (): &()) -> Vec<Count> {
        match self.max_unavailable {
            MaxUnavailable::One => Vec::new(),
            MaxUnavailable::AsSpecified => gauges::gauges(view),
        }
    }

    fn report(
        &self,
        snapshot: &Snapshot,
        course: Option<&Option<Course>>,
        outcome: &Outcome,
    ) -> Option<Write> {
        report::report(snapshot, course?.as_ref(), outcome)
    }
}

// === Watch table ===

fn pod_changed(change: &Change<Pod>, view: &View<'_>, queue: &mut Enqueue) {
    enqueue_managers::<StatefulSet>(change, view, queue);
    if let Change::Updated { old, new } = change
        && !old.is_ready()
        && new.is_ready()
        && let Some(set) = owner_of::<StatefulSet>(&new.meta, view)
    {
        // The end of a sync asks for this too; that may be lost if the key is looked at earlier.
        let seconds = u64::try_from(set.min_ready_seconds).unwrap_or(0);
        if seconds > 0 {
            queue.add_after(&set.meta.key, Duration::from_secs(seconds));
        }
    }
}

/// A pod may wait for a claim to be gone.
fn claim_changed(change: &Change<PersistentVolumeClaim>, view: &View<'_>, queue: &mut Enqueue) {
    if let Change::Deleted(claim) = change {
        enqueue_selecting::<StatefulSet>(&claim.meta, view, queue);
        enqueue_owner::<StatefulSet>(&claim.meta, view, queue);
    }
}
