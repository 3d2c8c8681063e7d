//! Says which generation of a ValidatingAdmissionPolicy was looked at.
//!
//! Reads: ValidatingAdmissionPolicy; live, the policy with its expressions, what is served, and the
//! OpenAPI documents of the groups and versions that it names. Writes: its status (server-side
//! apply, forced). No Events.
//! Upstream: `pkg/controller/validatingadmissionpolicystatus` (v1.36).
//!
//! A generation is looked at once. Then the types of all expressions are checked, against the
//! schemas of the kinds that the policy names, and `status.typeChecking` has what is to be warned
//! of; that it is there says that the expressions were checked. What was said of an older
//! generation goes with it.
//!
//! **Invariant:** a policy whose generation was looked at is not written, whoever has looked.
//! **Invariant:** no policy counts as checked of which an expression was not, over a kind whose
//! schema could be read.
//!
//! A kind is left out, as upstream's leaves it out, where discovery of its group fails or is stale,
//! and where its schema cannot be read and is none of upstream's own: the server of its group is
//! away or refuses, or the document is odd or longer than 16 MiB. The other kinds are checked. Why
//! the status was written (`/debug/controllers`, `explain`) names what was left out.
//!
//! What an event costs: a comparison. What a generation costs: at most eleven documents of up to
//! 16 MiB, one after the other, of which the schemas of the kinds are kept; and 250,000 steps, some
//! tenth of a second for the worst expressions.
//!
//! Otherwise than upstream, too:
//! - Schemas are always those that the API server serves; upstream's has those of built-in kinds in
//!   its binary. If the API server fails to serve one of those, or to discover a built-in group,
//!   that is retried.
//! - `typeChecking` is left out where the schema of a built-in kind may not be read, where a policy
//!   names more than 10,000 resources, where its warnings are too long to be stored with it, and
//!   where an expression is nested too deep, needs too many steps or makes a message of protobuf.
//! - Names of types in warnings are those of kinds with "0" (objects) or "1" (parameters) after
//!   them, where upstream's have the nanoseconds of the time.
//! - The apply names the policy by uid, so it is never that of another one with this name.
//!
//! # Parts
//!
//! - `kinds.rs`: the kinds that a policy names.
//! - `checks.rs`: its expressions over them.

mod checks;
mod decide;
mod kinds;
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

    fn decide(&self, snapshot: &Snapshot, facts: &Facts) -> (Plan, ()) {
        (decide::decide(snapshot, facts), ())
    }

    fn summary(&self, snapshot: &Snapshot) -> Vec<(&'static str, String)> {
        snapshot.summary()
    }
}
