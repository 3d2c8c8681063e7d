//! EndpointSlices of Endpoints that somebody makes: for a Service without a selector, its Endpoints
//! are shown as slices, too.
//!
//! Reads: Endpoints, EndpointSlice, Service. Writes: EndpointSlice (create, update, delete), Event.
//! Upstream: `pkg/controller/endpointslicemirroring` (v1.36).
//!
//! Its keys are Endpoints. For each family of addresses and each set of ports there is one slice,
//! with as many endpoints as a subset may have mirrored; none where there are no addresses. Labels
//! and annotations are those of the Endpoints. Endpoints that are labelled so, or that a leader
//! election of old is held on, are not mirrored, and those without such a Service neither: what was
//! mirrored of them is deleted.
//!
//! **Invariant:** a slice that says what it should is not written.
//! **Invariant:** no other slice than those with the label of this controller is written.
//!
//! What an event costs: a look at labels. A sync packs the subsets once.
//!
//! Otherwise than upstream,
//! - an update names the version that it was decided on, and leaves finalizers alone;
//! - the gauges tell of the slices that there are;
//! - Endpoints with labels that are this controller's own are no reason to write on and on.
//!
//! # Parts
//!
//! - `mirror`: the slices that there should be.
//! - `sizes`: the metrics.

mod decide;
mod mirror;
mod sizes;
mod snapshot;

#[cfg(test)]
mod tests;

use std::time::Duration;

use api::{EndpointSlice, Endpoints, Key, Service};
use controller::slices::enqueue_owners;
use controller::{Change, Count, Ended, Enqueue, Facts, Family, Plan, View, Watches};

pub use snapshot::Snapshot;

/// What the label of its slices says. Upstream's `ControllerName`.
const MANAGER: &str = "endpointslicemirroring-controller.k8s.io";

/// The controller, with its options.
#[derive(Clone, Copy, Debug)]
pub struct Controller {
    /// How long changes of slices are gathered before they are looked at.
    pub batch_period: Duration,
    /// How many addresses of a subset are mirrored.
    pub subset_max: usize,
}

impl controller::Controller for Controller {
    type Snapshot = Snapshot;
    type Memory = ();
    type Verdict = ();

    const METRICS: &'static [Family] = sizes::METRICS;
    const RETRIES_MAX: Option<u32> = Some(15);

    fn watches(&self, table: &mut impl Watches<Self>) {
        table.on::<Endpoints>(|_, change, _, queue| endpoints_changed(change, queue));
        table.on::<EndpointSlice>(|it, change, _, queue| {
            enqueue_owners(change, MANAGER, it.batch_period, queue);
        });
        table.on::<Service>(|_, change, _, queue| service_changed(change, queue));
    }

    fn observe(&self, key: &Key, view: &View<'_>, (): &()) -> Option<Snapshot> {
        snapshot::observe(key, view)
    }

    fn decide(&self, snapshot: &Snapshot, _: &Facts) -> (Plan, ()) {
        (decide::decide(snapshot, self.subset_max), ())
    }

    fn summary(&self, snapshot: &Snapshot) -> Vec<(&'static str, String)> {
        snapshot.summary()
    }

    fn counts(&self, _: Option<&Snapshot>, _: Option<&()>, ended: &Ended) -> Vec<Count> {
        vec![sizes::duration(ended)]
    }

    fn gauges(&self, view: &View<'_>, (): &()) -> Vec<Count> {
        sizes::gauges(view, self.subset_max)
    }
}

/// As `shouldMirror`.
fn is_mirrored(endpoints: &Endpoints) -> bool {
    let skips = endpoints.meta.labels.get(EndpointSlice::SKIP_MIRROR) == Some("true");
    !skips && !endpoints.elects_leader
}

/// As `onEndpointsAdd`, `onEndpointsUpdate` and `onEndpointsDelete`.
fn endpoints_changed(change: &Change<Endpoints>, queue: &mut Enqueue) {
    let matters = match change {
        Change::Added(endpoints) | Change::Deleted(endpoints) => is_mirrored(endpoints),
        Change::Updated { old, new } => is_mirrored(old) || is_mirrored(new),
    };
    if matters {
        queue.own(change);
    }
}

/// As `onServiceAdd`, `onServiceUpdate` and `onServiceDelete`.
fn service_changed(change: &Change<Service>, queue: &mut Enqueue) {
    let matters = match change {
        Change::Added(service) | Change::Deleted(service) => service.selector.is_none(),
        Change::Updated { old, new } => old.selector.is_none() != new.selector.is_none(),
    };
    if matters {
        queue.add(&change.object().meta.key);
    }
}
