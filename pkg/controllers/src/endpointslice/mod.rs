//! EndpointSlices: where the pods of each Service can be reached, in objects of bounded size.
//!
//! Reads: Service, Pod, Node, EndpointSlice. Writes: EndpointSlice (create, update, delete), Event.
//! Upstream: `pkg/controller/endpointslice` and k8s.io/endpointslice (v1.36).
//!
//! Its keys are Services, and one for the zones of the cluster. Services of type `ExternalName` and
//! those without a selector are left alone. For each family of addresses, pods with the same ports
//! share slices. Pods that are being deleted are told of, with their conditions. A Service without
//! any such pod has one empty slice for each family.
//!
//! **Invariant:** a slice of which nothing changes is not written: slices are neither merged nor
//! evened out.
//! **Invariant:** slices without the label of this controller, or of an owner other than the
//! Service, are not filled.
//! **Invariant:** a pod on a node that is not known is left out, told of, and tried again; all
//! others are written.
//!
//! What an event costs: of a pod that is reachable in another way, a look-up for each of its
//! labels; of a node, a look at its zone and readiness. A sync looks at the pods of a namespace,
//! and at all nodes if the Service asks for hints by topology.
//!
//! Otherwise than upstream,
//! - an update names the version that it was decided on, also of a slice that becomes another one,
//!   and leaves its finalizers alone;
//! - the zones are those of the nodes as they are now. Upstream's are those of the last change of
//!   readiness or zone, and right after a start there are none, so that it takes hints away;
//! - an empty slice of an earlier Service of this name is replaced, not kept until it is collected;
//! - the gauges count both families of a Service.
//!
//! # Parts
//!
//! - `wanted`: the endpoints of a Service, by their ports.
//! - `packing`: which endpoint stands in which slice.
//! - `hints`: whose traffic an endpoint should get.
//! - `topology`: hints by the share of each zone.
//! - `sizes`: the metrics.

mod decide;
mod hints;
mod packing;
mod sizes;
mod snapshot;
mod topology;
mod wanted;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use api::{EndpointSlice, Key, Node, Pod, Service};
use controller::services::{Moments, Triggers, enqueue_services};
use controller::slices::enqueue_owners;
use controller::{Change, Count, Ended, Enqueue, Facts, Family, News, Plan, View, Watches};

pub use snapshot::Snapshot;
pub use topology::Hinted;

/// What the label of its slices says. Upstream's `ControllerName`.
const MANAGER: &str = "endpointslice-controller.k8s.io";
/// How long changes of slices are gathered at least. Upstream's `endpointSliceChangeMinSyncDelay`.
const SLICE_DELAY_MIN: Duration = Duration::from_secs(1);
/// The key of the zones; no Service has one without namespace.
const ZONES: &str = "zones";

/// The controller, with its options.
#[derive(Clone, Copy, Debug)]
pub struct Controller {
    /// How long changes of pods are gathered before they are written.
    pub batch_period: Duration,
    /// How many endpoints a slice may have.
    pub slice_max: usize,
}

/// What no cache shows.
#[derive(Debug, Default)]
pub struct Memory {
    triggers: Triggers,
    /// The Services whose slices have hints by topology.
    hinted: BTreeMap<Key, Arc<Hinted>>,
}

/// What was decided for a Service.
#[derive(Clone, Debug)]
pub struct Verdict {
    /// From what its endpoints follow.
    moments: Arc<Moments>,
    /// Its hints by topology.
    hinted: Arc<Hinted>,
}

impl controller::Controller for Controller {
    type Snapshot = Snapshot;
    type Memory = Memory;
    /// None: nothing was looked at.
    type Verdict = Option<Verdict>;

    const METRICS: &'static [Family] = sizes::METRICS;
    const RETRIES_MAX: Option<u32> = Some(15);

    fn watches(&self, table: &mut impl Watches<Self>) {
        table.on::<Service>(|_, change, _, queue| queue.own(change));
        table.on::<Pod>(|it, change, view, queue| {
            enqueue_services(change, view, it.batch_period, queue);
        });
        table.on::<EndpointSlice>(|it, change, _, queue| {
            enqueue_owners(change, MANAGER, it.batch_period.max(SLICE_DELAY_MIN), queue);
        });
        table.remembers::<Node>(|_, memory, change, _, queue| {
            node_changed(memory, change, queue);
        });
    }

    fn observe(&self, key: &Key, view: &View<'_>, memory: &Memory) -> Option<Snapshot> {
        snapshot::observe(key, view, memory)
    }

    fn decide(&self, snapshot: &Snapshot, _: &Facts) -> (Plan, Self::Verdict) {
        decide::decide(snapshot, self.slice_max)
    }

    fn summary(&self, snapshot: &Snapshot) -> Vec<(&'static str, String)> {
        snapshot.summary()
    }

    fn counts(
        &self,
        snapshot: Option<&Snapshot>,
        _: Option<&Self::Verdict>,
        ended: &Ended,
    ) -> Vec<Count> {
        match snapshot {
            Some(Snapshot::Zones(_)) => Vec::new(),
            Some(Snapshot::Service(_)) | None => vec![sizes::synced(ended)],
        }
    }

    fn gauges(&self, view: &View<'_>, _: &Memory) -> Vec<Count> {
        sizes::gauges(view, self.slice_max)
    }

    fn remember(&self, memory: &mut Memory, news: News<'_, Self>, queue: &mut Enqueue) {
        match news {
            News::Acted { snapshot: Snapshot::Zones(overloaded), .. } => {
                for service in overloaded {
                    queue.add(service);
                }
            }
            News::Acted { snapshot: Snapshot::Service(state), verdict, outcome } => {
                let Some(verdict) = verdict else { return };
                let key = &state.service.meta.key;
                if outcome.step.is_none() {
                    memory.triggers.keep(key, Arc::clone(&verdict.moments));
                }
                if verdict.hinted.is_none() {
                    memory.hinted.remove(key);
                } else {
                    memory.hinted.insert(key.clone(), Arc::clone(&verdict.hinted));
                }
            }
            News::Gone(key) => {
                memory.triggers.forget(key);
                memory.hinted.remove(key);
            }
            News::Answered { .. } => {}
        }
    }
}

/// Whether the zones may have other shares. As `addNode`, `updateNode` and `deleteNode`.
fn node_changed(memory: &Memory, change: &Change<Node>, queue: &mut Enqueue) {
    let matters = match change {
        Change::Added(_) | Change::Deleted(_) => true,
        Change::Updated { old, new } => {
            let zone = |node: &Node| node.meta.labels.get(Node::ZONE).map(str::to_owned);
            topology::is_ready(old) != topology::is_ready(new) || zone(old) != zone(new)
        }
    };
    if matters && !memory.hinted.is_empty() {
        queue.add(&Key::parse(ZONES));
    }
}
