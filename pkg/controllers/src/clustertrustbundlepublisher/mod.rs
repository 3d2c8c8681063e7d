//! The publisher of the authority by which clients verify the API server, as a ClusterTrustBundle
//! that pods can mount.
//!
//! Reads: ClusterTrustBundle (those of the signer `kubernetes.io/kube-apiserver-serving` only).
//! Writes: ClusterTrustBundle (create, update, delete). No Events. Upstream:
//! `pkg/controller/certificates/clustertrustbundlepublisher` (v1.36).
//!
//! It has one key. The signer has one bundle, whose name tells its content and which holds the
//! authority; all other bundles of the signer are deleted.
//!
//! **Invariant:** no bundle of another signer is read, held or written.
//! **Invariant:** nothing is deleted before the right bundle is there, and only by its uid.
//! **Invariant:** bundles that are right are not written.
//!
//! What an event costs: a comparison of one text with each bundle of the signer.
//!
//! Otherwise than upstream, it knows the version `v1beta1` alone, and where the API server does not
//! serve that, it waits until it does. Upstream asks at its start, and then takes `v1alpha1` or
//! leaves the controller out.

mod decide;
mod snapshot;

#[cfg(test)]
mod tests;

use api::{Key, ServingTrustBundle};
use controller::{Count, Ended, Facts, Family, Plan, View, Watches};

pub use snapshot::Snapshot;

/// The only key.
const KEY: &str = "clustertrustbundles";
/// How much of the hash is in the name.
const HASH_BYTES: usize = 12;
/// Upstream's metrics.go. The code is the API server's answer to the write that failed, 500 for
/// other failures, 200 if all went well.
const SYNC_TOTAL: Family = Family::counter(
    "clustertrustbundle_publisher_sync_total",
    "[ALPHA] Number of syncs that occurred in cluster trust bundle publisher.",
)
.labels(&["code"]);
/// As [`SYNC_TOTAL`].
const SYNC_DURATION: Family = Family::histogram(
    "clustertrustbundle_publisher_sync_duration_seconds",
    "[ALPHA] The time it took to sync a cluster trust bundle.",
    &[
        0.001, 0.002, 0.004, 0.008, 0.016, 0.032, 0.064, 0.128, 0.256, 0.512, 1.024, 2.048, 4.096,
        8.192, 16.384,
    ],
)
.labels(&["code"]);

/// The controller.
#[derive(Clone, Debug)]
pub struct Controller {
    /// The authority, one or more certificates in PEM.
    authority: String,
    /// The name of the bundle.
    name: String,
}

impl Controller {
    /// With the authority, and its SHA-256.
    pub fn new(authority: &str, hash: &[u8; 32]) -> Self {
        // As `constructBundleName`.
        let digits = hash.iter().take(HASH_BYTES).map(|byte| format!("{byte:02x}"));
        let prefix = ServingTrustBundle::SIGNER.replace('/', ":");
        let name = format!("{prefix}:{}", digits.collect::<String>());
        Self { authority: authority.to_owned(), name }
    }
}

impl controller::Controller for Controller {
    type Snapshot = Snapshot;
    type Memory = ();
    type Verdict = ();

    const SEEDS: &'static [&'static str] = &[KEY];
    const METRICS: &'static [Family] = &[SYNC_TOTAL, SYNC_DURATION];

    fn watches(&self, table: &mut impl Watches<Self>) {
        table.on::<ServingTrustBundle>(|_, _, _, queue| queue.add(&Key::new("", KEY)));
    }

    fn observe(&self, _: &Key, view: &View<'_>, (): &()) -> Option<Snapshot> {
        Some(snapshot::observe(view))
    }

    fn decide(&self, snapshot: &Snapshot, _: &Facts) -> (Plan, ()) {
        (decide::decide(snapshot, &self.name, &self.authority), ())
    }

    fn counts(&self, _: Option<&Snapshot>, _: Option<&()>, ended: &Ended) -> Vec<Count> {
        let code = ended.http().to_string();
        let duration = Count::of(&SYNC_DURATION, ended.took.as_secs_f64());
        [duration, Count::one(&SYNC_TOTAL)].map(|count| count.labels([&*code])).into()
    }

    fn summary(&self, snapshot: &Snapshot) -> Vec<(&'static str, String)> {
        snapshot.summary(&self.name, &self.authority)
    }
}
