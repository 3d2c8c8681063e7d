//! What a sync looks at.

use std::collections::BTreeMap;
use std::sync::Arc;

use api::{EndpointSlice, Key, Node, Pod, Service, Text};
use controller::View;
use controller::services::{Moments, selected};
use controller::slices::managed;

use super::topology::{self, Hinted, Zones};
use super::wanted::left_out;
use super::{MANAGER, Memory, ZONES};

/// What a sync looks at.
#[derive(Clone, Debug)]
pub enum Snapshot {
    /// A Service, and what there is of it.
    Service(Box<State>),
    /// The Services whose hints leave a zone with too few endpoints.
    Zones(Vec<Key>),
}

/// A Service, its pods and its slices.
#[derive(Clone, Debug)]
pub struct State {
    /// The Service.
    pub service: Arc<Service>,
    /// The pods that it selects.
    pub pods: Vec<Arc<Pod>>,
    /// The nodes of these pods, as far as they are known.
    pub nodes: BTreeMap<Text, Arc<Node>>,
    /// Its slices that are not being deleted.
    pub slices: Vec<Arc<EndpointSlice>>,
    /// From what they followed when they were last looked at.
    pub earlier: Option<Arc<Moments>>,
    /// The share of each zone, if the Service asks for that and there is one of each.
    pub zones: Option<Zones>,
    /// Its hints by topology.
    pub hinted: Arc<Hinted>,
}

pub(super) fn observe(key: &Key, view: &View<'_>, memory: &Memory) -> Option<Snapshot> {
    if key.namespace.is_empty() {
        return (&*key.name == ZONES).then(|| Snapshot::Zones(overloaded(view, memory)));
    }
    let service = view.of::<Service>().get(key)?;
    let selector = service.selector.as_ref();
    let pods = selector.map(|selector| selected(&key.namespace, selector, view));
    let pods = pods.unwrap_or_default();
    let mut slices = managed(key, MANAGER, view);
    // One that waits for a finalizer must not be in the way for ever.
    slices.retain(|slice| !slice.meta.is_terminating());
    let mut nodes = BTreeMap::new();
    for name in pods.iter().filter_map(|pod| pod.node_name.as_ref()) {
        if !nodes.contains_key(name)
            && let Some(node) = view.of::<Node>().get(&Key::new("", name))
        {
            nodes.insert(name.clone(), node);
        }
    }
    let zones = if topology::is_asked_for(&service) { zones(view) } else { None };
    let hinted = memory.hinted.get(key).cloned().unwrap_or_default();
    let earlier = memory.triggers.of(key);
    Some(Snapshot::Service(Box::new(State {
        service,
        pods,
        nodes,
        slices,
        earlier,
        zones,
        hinted,
    })))
}

fn zones(view: &View<'_>) -> Option<Zones> {
    topology::zones(&view.of::<Node>().all())
}

/// As `GetOverloadedServices`.
fn overloaded(view: &View<'_>, memory: &Memory) -> Vec<Key> {
    let zones = zones(view);
    let hinted = memory.hinted.iter();
    let overloaded = hinted.filter(|(_, hinted)| hinted.is_overloaded(zones.as_ref()));
    overloaded.map(|(key, _)| key.clone()).collect()
}

// === impl Snapshot ===

impl Snapshot {
    pub(super) fn summary(&self) -> Vec<(&'static str, String)> {
        match self {
            Self::Service(state) => state.summary(),
            Self::Zones(overloaded) => vec![("overloaded services", overloaded.len().to_string())],
        }
    }
}

// === impl State ===

impl State {
    fn summary(&self) -> Vec<(&'static str, String)> {
        let endpoints = || self.slices.iter().flat_map(|slice| &slice.endpoints);
        let count = |flag: fn(&api::Conditions) -> Option<bool>| {
            endpoints().filter(|it| flag(&it.conditions) == Some(true)).count().to_string()
        };
        let ready = self.pods.iter().filter(|pod| pod.is_ready()).count();
        let mut facts = vec![
            ("pods", self.pods.len().to_string()),
            ("ready pods", ready.to_string()),
            ("slices", self.slices.len().to_string()),
            ("endpoints", endpoints().count().to_string()),
            ("ready endpoints", count(|it| it.ready)),
            ("terminating endpoints", count(|it| it.terminating)),
        ];
        let left_out: Vec<_> = self.pods.iter().filter_map(|pod| left_out(self, pod)).collect();
        if !left_out.is_empty() {
            facts.push(("left out", left_out.join(", ")));
        }
        facts
    }
}
