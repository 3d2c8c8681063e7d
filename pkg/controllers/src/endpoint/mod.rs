//! Endpoints: where the pods of each Service can be reached, in one object.
//!
//! Reads: Service, Pod, Endpoints; live, a Service whose Endpoints somebody else has made, before
//! these are deleted. Writes: Endpoints (create, update, delete), Event. Upstream:
//! `pkg/controller/endpoint` (v1.36).
//!
//! Its keys are Services. Services of type `ExternalName` and those without a selector are left
//! alone, with whatever Endpoints they have. Pods that have ended or have no address are left out,
//! and those that are being deleted, unless the Service publishes what is not ready. An object has
//! 1,000 addresses at most, ready ones first.
//!
//! **Invariant:** Endpoints that say what they should are not written, in whatever order they say
//! it: what upstream has written stays.
//! **Invariant:** Endpoints without Service are deleted only if the Service went, or at the start,
//! or if this controller has made them; and those that somebody else has made only after a look at
//! the API server.
//! **Invariant:** Services and Endpoints that cannot be read are left alone.
//!
//! What an event costs: of a pod that is reachable in another way, a look-up for each of its
//! labels; of Endpoints, a look at one label. A sync looks at the pods of a namespace.
//!
//! Otherwise than upstream,
//! - a pod that has ended enqueues its Services also if its readiness stays as it was;
//! - when a change was triggered is not forgotten if the write fails;
//! - a subset that is left with no address of 1,000 is left out. The API server refuses upstream's;
//! - a Service with labels that are this controller's own is no reason to write on and on;
//! - Endpoints that this controller has made, and that the cache shows only after their Service
//!   went, are deleted at once. Upstream does so at its next start.
//!
//! # Parts
//!
//! - `addresses`: which pods are told of, and how.
//! - `capacity`: which of too many addresses stay.

mod addresses;
mod capacity;
mod decide;
mod snapshot;

#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::Duration;

use api::{Endpoints, Key, Pod, Service};
use controller::services::{Moments, Triggers, enqueue_services};
use controller::{Change, Enqueue, Facts, News, Plan, View, Watches};

pub use snapshot::Snapshot;

/// The controller, with its option.
#[derive(Clone, Copy, Debug)]
pub struct Controller {
    /// How long changes of pods are gathered before they are written.
    pub batch_period: Duration,
}

/// What no cache shows.
#[derive(Debug, Default)]
pub struct Memory {
    /// Whether all Endpoints that were there at the start have been told of.
    has_begun: bool,
    triggers: Triggers,
}

/// The key that comes after all Endpoints of the start; no Service has one without namespace.
const START: &str = "start";

impl controller::Controller for Controller {
    type Snapshot = Snapshot;
    type Memory = Memory;
    /// From what the endpoints follow; none: nothing was looked at.
    type Verdict = Option<Arc<Moments>>;

    const SEEDS: &'static [&'static str] = &[START];
    const RETRIES_MAX: Option<u32> = Some(15);

    fn watches(&self, table: &mut impl Watches<Self>) {
        table.on::<Service>(|_, change, _, queue| queue.own(change));
        table.on::<Pod>(|it, change, view, queue| {
            enqueue_services(change, view, it.batch_period, queue);
        });
        table.remembers::<Endpoints>(|_, memory, change, view, queue| {
            endpoints_changed(memory, change, view, queue);
        });
    }

    fn observe(&self, key: &Key, view: &View<'_>, memory: &Memory) -> Option<Snapshot> {
        snapshot::observe(key, view, &memory.triggers)
    }

    fn decide(&self, snapshot: &Snapshot, facts: &Facts) -> (Plan, Self::Verdict) {
        decide::decide(snapshot, facts)
    }

    fn summary(&self, snapshot: &Snapshot) -> Vec<(&'static str, String)> {
        snapshot.summary()
    }

    fn remember(&self, memory: &mut Memory, news: News<'_, Self>, _: &mut Enqueue) {
        match news {
            News::Acted { snapshot, verdict, outcome } => {
                memory.has_begun |= is_start(&snapshot.key);
                if let Some(moments) = verdict
                    && outcome.error.is_none()
                {
                    memory.triggers.keep(&snapshot.key, Arc::clone(moments));
                }
            }
            News::Gone(key) => memory.triggers.forget(key),
            News::Answered { .. } => {}
        }
    }
}

fn is_start(key: &Key) -> bool {
    key.namespace.is_empty()
}

/// As `onEndpointsDelete` and `checkLeftoverEndpoints`.
fn endpoints_changed(
    memory: &Memory,
    change: &Change<Endpoints>,
    view: &View<'_>,
    queue: &mut Enqueue,
) {
    match change {
        Change::Added(endpoints) if !memory.has_begun => {
            // Those that a leader election of old is held on have no Service.
            if !endpoints.elects_leader {
                queue.add(&endpoints.meta.key);
            }
        }
        Change::Added(endpoints) => {
            let key = &endpoints.meta.key;
            if decide::is_own(endpoints) && view.of::<Service>().get(key).is_none() {
                queue.add(key);
            }
        }
        Change::Updated { .. } => {}
        Change::Deleted(endpoints) => queue.add(&endpoints.meta.key),
    }
}
