//! Deletes bootstrap tokens that have expired.
//!
//! Reads: Secret (those of type `bootstrap.kubernetes.io/token` in `kube-system` only). Writes:
//! Secret (delete). No Events. Upstream: `pkg/controller/bootstrap/tokencleaner.go` (v1.36).
//!
//! **Invariant:** no other Secret is read, held or deleted.
//! **Invariant:** a token is deleted only by its uid, and only if its `expiration` has passed, or
//! says nothing that Go reads as a time. One without an expiration stays for good.
//!
//! What an event costs: a look at one field. Only tokens that expire are in the queue.
//!
//! Otherwise than upstream, a deletion that failed is tried again.

mod decide;
mod snapshot;

#[cfg(test)]
mod tests;

use api::{BootstrapToken, Expiration, Key};
use controller::{Change, Enqueue, Facts, Plan, View, Watches};

pub use snapshot::Snapshot;

/// The controller.
#[derive(Clone, Copy, Debug)]
pub struct Controller;

impl controller::Controller for Controller {
    type Snapshot = Snapshot;
    type Memory = ();
    type Verdict = ();

    fn watches(&self, table: &mut impl Watches<Self>) {
        table.on::<BootstrapToken>(|_, change, _, queue| token_changed(change, queue));
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

fn token_changed(change: &Change<BootstrapToken>, queue: &mut Enqueue) {
    let token = change.object();
    if token.expiration == Expiration::Never {
        return;
    }
    match change {
        Change::Added(_) | Change::Updated { .. } => queue.add(&token.meta.key),
        // It may wait for its time, which another token of this name need not have.
        Change::Deleted(_) => queue.forget(&token.meta.key),
    }
}
