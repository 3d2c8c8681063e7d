//! The root CA publisher: gives each namespace the authority that its pods trust the API server by.
//!
//! Reads: Namespace, ConfigMap (those named `kube-root-ca.crt` only). Writes: ConfigMap (create,
//! update). No Events. Upstream: `pkg/controller/certificates/rootcacertpublisher` (v1.36).
//!
//! Its keys are namespaces. Each has a ConfigMap `kube-root-ca.crt` whose data is the key `ca.crt`,
//! with the authority, and nothing else, and whose annotation says what it is for. Other text in
//! that annotation may stay, unless the data must be written.
//!
//! **Invariant:** no other ConfigMap is read, held or written. Of these, the cache holds the text
//! of the authority once, since equal texts share their memory, and the other fields, so that none
//! is lost when it is written.
//! **Invariant:** a ConfigMap that is right is not written.
//!
//! What an event costs: two look-ups, and a comparison of one text.
//!
//! Otherwise than upstream, nothing is made in a namespace that is being deleted, or that the cache
//! does not show: the API server would refuse it. Upstream sends it, and accepts the refusal.

mod decide;
mod snapshot;

#[cfg(test)]
mod tests;

use api::{Key, Namespace, NamespacePhase, RootCa};
use controller::{Change, Count, Ended, Enqueue, Facts, Family, Plan, View, Watches};

pub use snapshot::Snapshot;

/// Upstream says the same of both families.
const SYNCS: &str = "[ALPHA] Number of namespace syncs happened in root ca cert publisher.";
/// Upstream's metrics.go. The code is the API server's answer to the write that failed, 500 for
/// other failures, 200 if all went well.
const SYNC_TOTAL: Family =
    Family::counter("root_ca_cert_publisher_sync_total", SYNCS).labels(&["code"]);
/// As [`SYNC_TOTAL`].
const SYNC_DURATION: Family = Family::histogram(
    "root_ca_cert_publisher_sync_duration_seconds",
    SYNCS,
    &[
        0.001, 0.002, 0.004, 0.008, 0.016, 0.032, 0.064, 0.128, 0.256, 0.512, 1.024, 2.048, 4.096,
        8.192, 16.384,
    ],
)
.labels(&["code"]);

/// The controller.
#[derive(Clone, Debug)]
pub struct Controller {
    /// The authority, one or more certificates in PEM. As upstream, it may be empty.
    pub root_ca: String,
}

impl controller::Controller for Controller {
    type Snapshot = Snapshot;
    type Memory = ();
    type Verdict = ();

    const METRICS: &'static [Family] = &[SYNC_TOTAL, SYNC_DURATION];

    fn watches(&self, table: &mut impl Watches<Self>) {
        table.on::<Namespace>(|_, change, _, queue| namespace_changed(change, queue));
        table.on::<RootCa>(|_, change, _, queue| match change {
            // As upstream. One that comes is ours, or makes our own create fail, which is tried
            // again.
            Change::Added(_) => {}
            Change::Updated { new: it, .. } | Change::Deleted(it) => {
                queue.add(&Key::new("", &it.meta.key.namespace));
            }
        });
    }

    fn observe(&self, key: &Key, view: &View<'_>, (): &()) -> Option<Snapshot> {
        snapshot::observe(key, view)
    }

    fn decide(&self, snapshot: &Snapshot, _: &Facts) -> (Plan, ()) {
        (decide::decide(snapshot, &self.root_ca), ())
    }

    fn counts(&self, _: Option<&Snapshot>, _: Option<&()>, ended: &Ended) -> Vec<Count> {
        let code = ended.http().to_string();
        let duration = Count::of(&SYNC_DURATION, ended.took.as_secs_f64());
        [duration, Count::one(&SYNC_TOTAL)].map(|count| count.labels([&*code])).into()
    }

    fn summary(&self, snapshot: &Snapshot) -> Vec<(&'static str, String)> {
        snapshot.summary(&self.root_ca)
    }
}

fn namespace_changed(change: &Change<Namespace>, queue: &mut Enqueue) {
    match change {
        Change::Added(namespace) => queue.add(&namespace.meta.key),
        Change::Updated { new, .. } => match new.phase {
            NamespacePhase::Active => queue.add(&new.meta.key),
            NamespacePhase::Terminating | NamespacePhase::Unknown => {}
        },
        Change::Deleted(namespace) => queue.forget(&namespace.meta.key),
    }
}
