//! ClusterRole aggregation: gives the roles that aggregate others the rules of these.
//!
//! Reads: ClusterRole. Writes: ClusterRole (server-side apply of `rules`, forced). No Events.
//! Upstream: `pkg/controller/clusterroleaggregation` (v1.36).
//!
//! The rules of a role with an `aggregationRule` are those of all roles that its selectors find,
//! selector by selector, within each by name, each rule once; its own are replaced. A role does not
//! aggregate itself. Roles that aggregate others may be aggregated too: the change of one enqueues
//! the next. If nothing is aggregated, the apply names no rules: those that it wrote are removed,
//! and those of other managers stay, as upstream. For such a role each further change of any role
//! costs one more apply, which changes nothing.
//!
//! **Invariant:** a role that has the right rules in the right order is not written.
//! **Invariant:** what is written is all that can be known: if a selector is not valid or a role
//! that is found cannot be read, nothing is.
//!
//! What an event costs: a look-up of the roles that aggregate, each of which is then compared with
//! all roles. In a new cluster three aggregate: `admin`, `edit` and `view`.
//!
//! Otherwise than upstream, the apply names the role by uid, so that a role which was deleted is
//! not made again; and a role that cannot be read takes no rules from those that aggregate it.

mod decide;
mod snapshot;

#[cfg(test)]
mod tests;

use api::{ClusterRole, Key};
use controller::{Change, Enqueue, Facts, Plan, View, Watches};

pub use snapshot::Snapshot;

/// The controller. It has no options.
#[derive(Clone, Copy, Debug)]
pub struct Controller;

impl controller::Controller for Controller {
    type Snapshot = Snapshot;
    type Memory = ();
    type Verdict = ();

    fn watches(&self, table: &mut impl Watches<Self>) {
        table.on::<ClusterRole>(|_, change, view, queue| role_changed(change, view, queue));
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

/// Only a sync shows which roles a role aggregates, so any change enqueues all that aggregate. As
/// upstream's `enqueue`.
fn role_changed(change: &Change<ClusterRole>, view: &View<'_>, queue: &mut Enqueue) {
    if let Change::Deleted(role) = change {
        queue.forget(&role.meta.key);
    }
    for role in view.of::<ClusterRole>().by(ClusterRole::AGGREGATING, "") {
        queue.add(&role.meta.key);
    }
}
