//! Service accounts: makes the one named `default` in every namespace.
//!
//! Reads: Namespace, ServiceAccount. Writes: ServiceAccount (create). No Events. Upstream:
//! `pkg/controller/serviceaccount/serviceaccounts_controller.go` (v1.36).
//!
//! Its keys are namespaces. An account that is there stays as it is; one that is deleted is made
//! again, unless its namespace is going away.
//!
//! **Invariant:** nothing is made in a namespace whose phase is not `Active`.
//!
//! What an event costs: two look-ups. Changes of accounts enqueue nothing, nor do accounts with
//! another name.
//!
//! Otherwise than upstream, that the account exists although the cache does not show it (409) is
//! tried again, until the cache does.

mod decide;
mod snapshot;

#[cfg(test)]
mod tests;

use api::{Key, Namespace, ServiceAccount};
use controller::{Change, Facts, Plan, View, Watches};

pub use snapshot::Snapshot;

/// The name of the account.
const NAME: &str = "default";

/// The controller. It has no options.
#[derive(Clone, Copy, Debug)]
pub struct Controller;

impl controller::Controller for Controller {
    type Snapshot = Snapshot;
    type Memory = ();
    type Verdict = ();

    fn watches(&self, table: &mut impl Watches<Self>) {
        table.on::<Namespace>(|_, change, _, queue| queue.own(change));
        table.on::<ServiceAccount>(|_, change, _, queue| match change {
            Change::Deleted(account) if &*account.meta.key.name == NAME => {
                queue.add(&Key::new("", &account.meta.key.namespace));
            }
            Change::Added(_) | Change::Updated { .. } | Change::Deleted(_) => {}
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
