//! Namespaces: deletes the objects in a namespace that is being deleted, and then finalizes it.
//!
//! Reads: Namespace; live, what the API server serves and the metadata of all that is in the
//! namespace. Writes: any kind (delete), Namespace/status, Namespace/finalize (update). No Events.
//! Upstream: `pkg/controller/namespace` (v1.36).
//!
//! A pass over a namespace, in rounds: the namespace is read live and marked as terminating; pods
//! are deleted, and while there may be some, nothing else is; then objects of all other kinds are,
//! all kinds at once; five conditions report what is left of them; if nothing is, `kubernetes` is
//! removed from `spec.finalizers`. While objects remain that may take a while, the next pass comes
//! after half of the time that they may take; anything that should not be is tried again with
//! back-off. A kind that the API server serves but cannot list is deleted as a collection, and
//! counts as deleted.
//!
//! **Invariant:** the cache alone gets nothing deleted: the namespace must be terminating in a live
//! read, and have the uid that the cache shows.
//! **Invariant:** `kubernetes` stays while a kind may have objects that could not be deleted, could
//! not be counted, or is not known since its group could not be discovered.
//!
//! What an event costs: nothing, unless the namespace is being deleted; then a pass five seconds
//! later. What a pass costs: some reads, among them a LIST of each namespaced kind, page by page;
//! two requests more for each kind that has objects; up to three writes of the namespace. It holds
//! the metadata of all objects in the namespace, some 250 bytes each, until it ends.
//!
//! Otherwise than upstream,
//! - kinds are listed first, and DELETE is sent for those only of which that does not show that
//!   nothing is there: a pass over an empty namespace is half as many requests. The result is the
//!   same: upstream, too, relies on a list of each kind that was empty once after the namespace was
//!   marked, from when on the API server admits nothing new;
//! - all kinds are dealt with at once, in the order of discovery where order shows;
//! - pods that could not be deleted or counted hold up the other kinds. Upstream takes their
//!   failure for their absence, and deletes the network policies of pods that run;
//! - how long pods may take is read from those that remain (`deletionGracePeriodSeconds`), not from
//!   all that were there before (`terminationGracePeriodSeconds`). That is the same for pods that
//!   run and were deleted here; pods that never started, or were deleted with less time, no longer
//!   make a namespace wait; and pods that were given more time than their spec says count so;
//! - which verbs a kind admits is looked up in each pass. Upstream remembers it from its start, at
//!   which it ends if nothing is served;
//! - where objects can only be deleted one by one, each by its uid, a failure of that ends the pass
//!   before its conditions are written. Upstream notes it among them;
//! - a write of the namespace that fails ends the pass, which is tried again. Upstream repeats it
//!   on a conflict, and only logs it if it was about conditions;
//! - a namespace with finalizers of others alone is not written again when that changes nothing;
//! - `--namespace-sync-period` is not a resync of the cache: a pass after which the namespace
//!   remains requeues it after that time at the latest.
//!
//! # Parts
//!
//! - `content`: what is done with each kind, and what is left of it.
//! - `conditions`: the five conditions.

mod conditions;
mod content;
mod decide;
mod snapshot;

#[cfg(test)]
mod tests;

use std::time::Duration;

use api::{Key, Namespace};
use controller::{Change, Enqueue, Facts, Plan, View, Watches};

pub use snapshot::Snapshot;

/// How long a deletion is left alone: other API servers may not have seen it, and still admit new
/// objects. Upstream's `namespaceDeletionGracePeriod`.
const GRACE: Duration = Duration::from_secs(5);

/// The controller, with its option.
#[derive(Clone, Copy, Debug)]
pub struct Controller {
    sync_period: Option<Duration>,
    pods_first: bool,
}

impl Controller {
    /// With the value of `--namespace-sync-period`: how long after a pass the next one comes at the
    /// latest; zero: at the longest delay.
    pub fn new(namespace_sync_period: Duration) -> Self {
        let sync_period = (!namespace_sync_period.is_zero()).then_some(namespace_sync_period);
        Self { sync_period, pods_first: true }
    }

    /// This controller, with the gate `OrderedNamespaceDeletion` on or off: whether all else waits
    /// for the pods. Without it, all kinds are emptied at once.
    #[must_use]
    pub fn pods_first(self, on: bool) -> Self {
        Self { pods_first: on, ..self }
    }
}

impl controller::Controller for Controller {
    type Snapshot = Snapshot;
    type Memory = ();
    type Verdict = ();

    fn watches(&self, table: &mut impl Watches<Self>) {
        table.on::<Namespace>(|_, change, _, queue| namespace_changed(change, queue));
    }

    fn observe(&self, key: &Key, view: &View<'_>, (): &()) -> Option<Snapshot> {
        snapshot::observe(key, view)
    }

    fn decide(&self, snapshot: &Snapshot, facts: &Facts) -> (Plan, ()) {
        (decide::decide(snapshot, facts, self), ())
    }

    fn summary(&self, snapshot: &Snapshot) -> Vec<(&'static str, String)> {
        snapshot.summary()
    }
}

fn namespace_changed(change: &Change<Namespace>, queue: &mut Enqueue) {
    match change {
        Change::Added(it) | Change::Updated { new: it, .. } => {
            if it.meta.is_terminating() {
                queue.add_after(&it.meta.key, GRACE);
            }
        }
        Change::Deleted(it) => queue.forget(&it.meta.key),
    }
}
