//! What a decision about a load balancer looks at.

use std::collections::BTreeMap;
use std::sync::Arc;

use api::{BalancedService, Key, Machine, Text};
use cloud::Instance;
use controller::View;

use super::balancers::{Balancers, Known};

/// The key of the taint of a node that the cluster autoscaler is about to remove. Upstream's
/// `ToBeDeletedTaint`.
const TO_BE_DELETED: &str = "ToBeDeletedByClusterAutoscaler";

/// A Service at one moment, and the nodes.
#[derive(Clone, Debug)]
pub struct Snapshot {
    /// `--cluster-name`.
    pub cluster: Text,
    /// Namespace and name.
    pub key: Key,
    /// The Service; none: it was deleted, and its load balancer may not be.
    pub service: Option<Arc<BalancedService>>,
    /// What is remembered of its load balancer; none: none was asked for.
    pub(super) known: Option<Known>,
    /// The nodes that load balancers lead to, by name.
    pub nodes: Vec<Arc<Machine>>,
    /// Up to which change of nodes.
    pub(super) generation: u64,
}

pub(super) fn observe(
    cluster: &Text,
    key: &Key,
    view: &View<'_>,
    balancers: &Balancers,
) -> Option<Snapshot> {
    let service = view.of::<BalancedService>().get(key);
    let known = balancers.known.get(key).cloned();
    if service.is_none() && known.is_none() {
        return None;
    }
    let wants = service.as_ref().is_some_and(|service| service.wants_balancer());
    let mut nodes = if wants { view.of::<Machine>().all() } else { Vec::new() };
    nodes.retain(|machine| is_stable(machine));
    let (cluster, key, generation) = (cluster.clone(), key.clone(), balancers.generation);
    Some(Snapshot { cluster, key, service, known, nodes, generation })
}

/// As `stableNodeSetPredicates`.
fn is_stable(machine: &Machine) -> bool {
    let is_leaving = machine.taints.iter().any(|taint| &*taint.key == TO_BE_DELETED);
    !machine.meta.is_terminating() && is_included(machine) && !is_leaving
}

/// As `nodeIncludedPredicate`, with `strconv.ParseBool`.
pub(super) fn is_included(machine: &Machine) -> bool {
    let label = machine.meta.labels.get(Machine::EXCLUDED);
    matches!(label, None | Some("0" | "f" | "F" | "false" | "FALSE" | "False"))
}

// === impl Snapshot ===

impl Snapshot {
    pub(super) fn instances(&self) -> Arc<[Instance]> {
        self.nodes.iter().map(|machine| Instance::of(machine)).collect()
    }

    /// The provider IDs of the nodes. As `nodesSufficientlyEqual` compares them.
    pub(super) fn nodes_by_name(&self) -> BTreeMap<Text, Text> {
        let node = |it: &Arc<Machine>| (it.meta.key.name.clone(), it.provider_id.clone());
        self.nodes.iter().map(node).collect()
    }

    pub(super) fn summary(&self) -> Vec<(&'static str, String)> {
        let mut facts = Vec::new();
        if let Some(service) = &self.service {
            facts.push(("wants a load balancer", service.wants_balancer().to_string()));
            let has = service.meta.has_finalizer(BalancedService::CLEANUP);
            facts.push(("has the finalizer", has.to_string()));
            let ingress = service.ingress.iter();
            let addresses = ingress.filter_map(|it| it.ip.clone().or_else(|| it.hostname.clone()));
            facts.extend(addresses.map(|address| ("address", address)));
            if let Some(error) = &service.unreadable {
                facts.push(("left alone", format!("the Service cannot be read: {error}")));
            }
        }
        let known = match &self.known {
            None => "not asked for",
            Some(known) if known.is_ensured => "ensured",
            Some(_) => "asked for",
        };
        facts.push(("load balancer", known.to_owned()));
        facts.push(("nodes", self.nodes.len().to_string()));
        facts
    }
}
