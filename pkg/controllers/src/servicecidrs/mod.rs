//! Ranges of the addresses of Services: says that they are ready, and lets one go once no Service
//! has an address that is of no other range.
//!
//! Reads: ServiceCIDR, IPAddress. Writes: ServiceCIDR (patch of its finalizers; apply of its
//! status), Events. Upstream: `pkg/controller/servicecidrs` (v1.36).
//!
//! A range that is not being deleted has a finalizer, and the condition `Ready`. One that is being
//! deleted goes if for each of its CIDRs there is another range that covers it, or if no Service
//! has an address that only this one offers. The API server's allocators take some time to see
//! that a range is being deleted: it stays for ten seconds in any case.
//!
//! **Invariant:** the finalizer goes only from a range that is being deleted, ten seconds after
//! that began, and if no cached address would be of no range then.
//!
//! What an event costs: of a range or an address a look at all ranges, of which there are few. A
//! sync of a range that is being deleted looks at all addresses.
//!
//! Otherwise than upstream,
//! - that a range changes or is deleted enqueues those that overlap it, too: one that covered
//!   another may be deleted. Upstream looks at them at the next event of their own;
//! - a range that is being deleted and without the finalizer waits for nothing;
//! - the Event of a status that cannot be set comes with the next attempt.

mod decide;
mod snapshot;

#[cfg(test)]
mod tests;

use std::sync::Arc;

use api::{IpAddress, Key, ServiceCidr};
use controller::{Change, Enqueue, Facts, Plan, View, Watches};

pub use snapshot::Snapshot;

/// The controller. It has no options.
#[derive(Clone, Copy, Debug)]
pub struct Controller;

impl controller::Controller for Controller {
    type Snapshot = Snapshot;
    type Memory = ();
    type Verdict = ();

    const RETRIES_MAX: Option<u32> = Some(15);

    fn watches(&self, table: &mut impl Watches<Self>) {
        table.on::<ServiceCidr>(|_, change, view, queue| cidr_changed(change, view, queue));
        table.on::<IpAddress>(|_, change, view, queue| address_changed(change, view, queue));
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

// === Watch table ===

/// As `addServiceCIDR`.
fn cidr_changed(change: &Change<ServiceCidr>, view: &View<'_>, queue: &mut Enqueue) {
    queue.own(change);
    let cidr = change.object();
    let overlaps = |other: &&Arc<ServiceCidr>| {
        let own = cidr.prefixes.iter();
        other.meta.key != cidr.meta.key
            && own.clone().any(|own| other.prefixes.iter().any(|prefix| prefix.overlaps(*own)))
    };
    let all = view.of::<ServiceCidr>().all();
    all.iter().filter(overlaps).for_each(|other| queue.add(&other.meta.key));
}

/// As `containingServiceCIDRs`: an address may keep a range, and one more may let it go.
fn address_changed(change: &Change<IpAddress>, view: &View<'_>, queue: &mut Enqueue) {
    if matches!(change, Change::Updated { .. }) {
        return;
    }
    let Some(ip) = change.object().of_service() else { return };
    for cidr in view.of::<ServiceCidr>().all() {
        if cidr.prefixes.iter().any(|prefix| prefix.offers(ip)) {
            queue.add(&cidr.meta.key);
        }
    }
}
