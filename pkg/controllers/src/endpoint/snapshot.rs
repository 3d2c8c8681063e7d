//! What a sync of a Service looks at.

use std::sync::Arc;

use api::{Endpoints, Key, Pod, Service};
use controller::View;
use controller::services::{Moments, Triggers, selected};

use super::addresses::place;
use super::is_start;

/// A Service, its pods and its Endpoints.
#[derive(Clone, Debug)]
pub struct Snapshot {
    /// The key of both.
    pub key: Key,
    /// The Service; none: there is none.
    pub service: Option<Arc<Service>>,
    /// The pods that it selects.
    pub pods: Vec<Arc<Pod>>,
    /// Its Endpoints.
    pub endpoints: Option<Arc<Endpoints>>,
    /// From what they followed when they were last looked at.
    pub earlier: Option<Arc<Moments>>,
}

pub(super) fn observe(key: &Key, view: &View<'_>, triggers: &Triggers) -> Option<Snapshot> {
    let service = view.of::<Service>().get(key);
    let endpoints = view.of::<Endpoints>().get(key);
    if service.is_none() && endpoints.is_none() && !is_start(key) {
        return None;
    }
    let selector = service.as_ref().and_then(|service| service.selector.as_ref());
    let pods = selector.map(|selector| selected(&key.namespace, selector, view));
    let pods = pods.unwrap_or_default();
    Some(Snapshot { key: key.clone(), service, pods, endpoints, earlier: triggers.of(key) })
}

// === impl Snapshot ===

impl Snapshot {
    pub(super) fn summary(&self) -> Vec<(&'static str, String)> {
        let Some(service) = &self.service else {
            return vec![("service", "there is none".to_owned())];
        };
        let mut facts = vec![("pods", self.pods.len().to_string())];
        let ready = self.pods.iter().filter(|pod| pod.is_ready()).count();
        facts.push(("ready pods", ready.to_string()));
        if let Some(endpoints) = &self.endpoints {
            let subsets = &endpoints.subsets;
            let ready: usize = subsets.iter().map(|subset| subset.addresses.len()).sum();
            let other: usize = subsets.iter().map(|subset| subset.not_ready_addresses.len()).sum();
            facts.push(("ready addresses", ready.to_string()));
            facts.push(("other addresses", other.to_string()));
        }
        let left_out = self.pods.iter().filter_map(|pod| {
            let why = place(pod, service).err()?;
            Some(format!("{} {why}", pod.meta.key.name))
        });
        let left_out: Vec<_> = left_out.collect();
        if !left_out.is_empty() {
            facts.push(("left out", left_out.join(", ")));
        }
        facts
    }
}
