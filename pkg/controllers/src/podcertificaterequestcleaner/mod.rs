//! Deletes the certificate requests of pods once they are old: each flow is faster than that.
//!
//! Reads: PodCertificateRequest (metadata). Writes: PodCertificateRequest (delete). No Events.
//! Upstream: `pkg/controller/certificates/cleaner/pcrcleaner.go` (v1.36).
//!
//! Every five minutes it looks at all of them, and deletes those of at least 15 minutes, whatever
//! became of them.
//!
//! **Invariant:** a request is deleted only by its uid, and only if it is old enough.
//!
//! What an event costs: nothing. Of a request nothing but its metadata is held.
//!
//! Otherwise than upstream, the first look waits until the cache is complete, a pass deletes a
//! bounded number and is followed by another one if there are more, and one that failed is repeated
//! with back-off.

mod decide;
mod snapshot;

#[cfg(test)]
mod tests;

use std::time::Duration;

use api::{Key, PodCertificateRequest};
use controller::{Facts, Plan, View, Watches};

pub use snapshot::Snapshot;

/// From one pass to the next.
pub const PERIOD: Duration = Duration::from_mins(5);
/// When a pass that failed is tried again, at first.
pub const RETRY_MIN: Duration = Duration::from_secs(10);

/// The controller.
#[derive(Clone, Copy, Debug)]
pub struct Controller;

impl controller::Controller for Controller {
    type Snapshot = Snapshot;
    type Memory = ();
    type Verdict = ();

    const SEEDS: &'static [&'static str] = &["podcertificaterequests"];

    fn watches(&self, table: &mut impl Watches<Self>) {
        table.reads::<PodCertificateRequest>();
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
