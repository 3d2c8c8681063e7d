//! Says which generation of a ValidatingAdmissionPolicy was looked at.
//!
//! Reads: ValidatingAdmissionPolicy. Writes: its status (server-side apply, forced). No Events.
//! Upstream: `pkg/controller/validatingadmissionpolicystatus` (v1.36).
//!
//! A generation is looked at once. Upstream's checks the types of all expressions then, against the
//! schemas of the kinds that the policy names, and `status.typeChecking` has what it warns of; that
//! it is there says that the expressions were checked. This one checks no expression yet: it says
//! so only of a policy that has nothing to check, and leaves `typeChecking` out of all others. What
//! was said of an older generation goes with it.
//!
//! **Invariant:** a policy whose generation was looked at is not written, whoever has looked.
//! **Invariant:** no policy counts as checked that has expressions over kinds that it names.
//!
//! What an event costs: a comparison.
//!
//! Otherwise than upstream, too: the apply names the policy by uid, so it is never that of another
//! one with this name.

mod decide;
mod snapshot;

#[cfg(test)]
mod tests;

use api::{Key, ValidatingAdmissionPolicy};
use controller::{Change, Facts, Plan, View, Watches};

pub use snapshot::Snapshot;

/// The controller. It has no options.
#[derive(Clone, Copy, Debug)]
pub struct Controller;

impl controller::Controller for Controller {
    type Snapshot = Snapshot;
    type Memory = ();
    type Verdict = ();

    fn watches(&self, table: &mut impl Watches<Self>) {
        table.on::<ValidatingAdmissionPolicy>(|_, change, _, queue| match change {
            Change::Added(policy) | Change::Updated { new: policy, .. } => {
                queue.add(&policy.meta.key);
            }
            Change::Deleted(policy) => queue.forget(&policy.meta.key),
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
