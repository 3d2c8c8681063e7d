//! Deletes certificate requests that are over.
//!
//! Reads: CertificateSigningRequest. Writes: CertificateSigningRequest (delete). No Events.
//! Upstream: `pkg/controller/certificates/cleaner/cleaner.go` (v1.36).
//!
//! Once an hour it looks at all of them, and deletes those that were issued, denied or failed more
//! than an hour ago, whose certificate is no longer valid, that were approved more than a day ago
//! and never issued, and that nobody has looked at for a day.
//!
//! **Invariant:** a request is deleted only by its uid, and only if one of these rules holds.
//! **Invariant:** one that cannot be read, or that says no time, is left alone.
//!
//! What an event costs: nothing. Requests are looked at by the hour.
//!
//! Otherwise than upstream,
//! - the first look waits until the cache is complete; upstream's may find nothing, and the next
//!   one comes an hour later;
//! - a pass deletes a bounded number, and is followed by another one if there are more;
//! - a pass in which a deletion failed is repeated with back-off, not only after an hour;
//! - a request that is being deleted already is left alone.

mod decide;
mod snapshot;

#[cfg(test)]
mod tests;

use std::time::Duration;

use api::{CertificateSigningRequest, Key};
use controller::{Facts, Plan, View, Watches};

pub use snapshot::Snapshot;

/// From one pass to the next; upstream's `pollingInterval`.
pub const PERIOD: Duration = Duration::from_hours(1);
/// When a pass that failed is tried again, at first.
pub const RETRY_MIN: Duration = Duration::from_secs(10);

/// The controller.
#[derive(Clone, Copy, Debug)]
pub struct Controller;

impl controller::Controller for Controller {
    type Snapshot = Snapshot;
    type Memory = ();
    type Verdict = ();

    const SEEDS: &'static [&'static str] = &["certificatesigningrequests"];

    fn watches(&self, table: &mut impl Watches<Self>) {
        table.reads::<CertificateSigningRequest>();
    }

    fn observe(&self, _: &Key, view: &View<'_>, (): &()) -> Option<Snapshot> {
        Some(snapshot::observe(view))
    }

    fn decide(&self, snapshot: &Snapshot, _: &Facts) -> (Plan, ()) {
        (decide::decide(snapshot), ())
    }

    fn summary(&self, snapshot: &Snapshot) -> Vec<(&'static str, String)> {
        snapshot.summary()
    }
}
