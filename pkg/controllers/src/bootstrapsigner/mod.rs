//! Signs the kubeconfig in `kube-public/cluster-info` with each bootstrap token that is meant for
//! it, so that a node that knows a token can trust what it finds there.
//!
//! Reads: ConfigMap (`kube-public/cluster-info` only), Secret (those of type
//! `bootstrap.kubernetes.io/token` in `kube-system` only). Writes: ConfigMap (update). No Events.
//! Upstream: `pkg/controller/bootstrap/bootstrapsigner.go` (v1.36).
//!
//! For each good token the ConfigMap holds a detached JSON Web Signature (HS256) under
//! `jws-kubeconfig-<id>`, and no other key with that prefix.
//!
//! **Invariant:** no other Secret or ConfigMap is read, held or written.
//! **Invariant:** only signatures are written, by a PUT of the version that was signed.
//! **Invariant:** a ConfigMap whose signatures are right is not written.
//!
//! What an event costs: one key. A sync signs once for each token.
//!
//! Otherwise than upstream,
//! - the signature of a token goes when the token expires, not with the next change;
//! - a write that failed is tried again, unless the ConfigMap is gone;
//! - the signature of a token that cannot be read stays.
//!
//! # Parts
//!
//! - `signature`: how a token signs.

mod decide;
mod signature;
mod snapshot;

#[cfg(test)]
mod tests;

use std::sync::Arc;

use api::{BootstrapToken, ClusterInfo, Key};
use controller::{Change, Enqueue, Facts, Plan, View, Watches};

pub use signature::Hmac;
pub use snapshot::Snapshot;

/// The controller.
#[derive(Clone, Debug)]
pub struct Controller {
    /// What it signs with.
    pub hmac: Arc<dyn Hmac>,
}

impl controller::Controller for Controller {
    type Snapshot = Snapshot;
    type Memory = ();
    type Verdict = ();

    fn watches(&self, table: &mut impl Watches<Self>) {
        table.on::<ClusterInfo>(|_, change, _, queue| match change {
            Change::Added(_) | Change::Updated { .. } => enqueue(queue),
            Change::Deleted(info) => queue.forget(&info.meta.key),
        });
        table.on::<BootstrapToken>(|_, _, _, queue| enqueue(queue));
    }

    fn observe(&self, key: &Key, view: &View<'_>, (): &()) -> Option<Snapshot> {
        snapshot::observe(key, view)
    }

    fn decide(&self, snapshot: &Snapshot, _: &Facts) -> (Plan, ()) {
        (decide::decide(snapshot, &*self.hmac), ())
    }

    fn summary(&self, snapshot: &Snapshot) -> Vec<(&'static str, String)> {
        snapshot.summary()
    }
}

fn enqueue(queue: &mut Enqueue) {
    queue.add(&Key::new(ClusterInfo::NAMESPACE, ClusterInfo::NAME));
}
