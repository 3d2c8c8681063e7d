//! The endpoints of a Service, by their ports. As `podToEndpoint`, `getEndpointPorts` and the first
//! half of `reconcileByAddressType` in upstream's k8s.io/endpointslice.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use api::{
    Conditions, Endpoint, Family, Kind, Node, ObjectReference, Pod, Service, SlicePort, parse_ip,
};
use controller::services::{find_port, hostname, is_reachable};
use controller::slices::{Identity, Wanted};
use mutant::Mutant;

use super::snapshot::State;

/// The families of a Service's addresses. An API server of old says none: then they are that of its
/// cluster IP, or, without one, both. As `getAddressTypesForService`.
pub(super) fn families(service: &Service) -> BTreeSet<Family> {
    if !service.families.is_empty() {
        return service.families.iter().copied().collect();
    }
    match service.cluster_family() {
        Some(family) => [family].into(),
        None => [Family::V4, Family::V6].into(),
    }
}

/// The endpoints with addresses of a family, by their ports. Ports that no pod has such an address
/// for are there, too: their slices are emptied rather than deleted unseen.
pub(super) fn by_ports(state: &State, family: Family) -> BTreeMap<Vec<SlicePort>, Wanted> {
    let mut found = BTreeMap::<_, Wanted>::new();
    let is_listed = |pod: &&Arc<Pod>| is_reachable(pod) || mutant::is(Mutant::EndedListed);
    for pod in state.pods.iter().filter(is_listed) {
        let wanted = found.entry(ports(&state.service, pod)).or_default();
        if lacks_node(state, pod) {
            continue;
        }
        let endpoint = endpoint(state, pod, family);
        if !endpoint.addresses.is_empty() {
            wanted.insert(Identity::of(&endpoint), endpoint);
        }
    }
    found
}

/// Why pods are left out that should not be, once each.
pub(super) fn missing_nodes(state: &State) -> Vec<String> {
    let pods = state.pods.iter().filter(|pod| is_reachable(pod) && lacks_node(state, pod));
    let text = |pod: &Arc<Pod>| {
        let (service, node) = (&state.service.meta.key, pod.node_name.as_deref());
        let (name, node) = (&pod.meta.key.name, node.unwrap_or_default());
        format!("skipping Pod {name} for Service {service}: Node {node} Not Found")
    };
    pods.map(text).collect()
}

/// A pod that has no endpoint, and why.
pub(super) fn left_out(state: &State, pod: &Pod) -> Option<String> {
    let why = if pod.is_terminal() {
        "has ended".to_owned()
    } else if !is_reachable(pod) {
        "has no address".to_owned()
    } else if lacks_node(state, pod) {
        format!("is on node {}, which is not known", pod.node_name.as_deref().unwrap_or("none"))
    } else {
        return None;
    };
    Some(format!("{} {why}", pod.meta.key.name))
}

/// Whoever publishes what is not ready does not care for nodes either.
fn lacks_node(state: &State, pod: &Pod) -> bool {
    node(state, pod).is_none() && !state.service.publishes_not_ready
}

fn node<'a>(state: &'a State, pod: &Pod) -> Option<&'a Node> {
    state.nodes.get(pod.node_name.as_ref()?).map(|node| &**node)
}

fn endpoint(state: &State, pod: &Pod, family: Family) -> Endpoint {
    let service = &state.service;
    let (serving, terminating) = (pod.is_ready(), pod.meta.is_terminating());
    let ready = service.publishes_not_ready || (serving && !terminating);
    let addresses = pod.network.ips.iter().filter_map(|ip| parse_ip(ip));
    let addresses = addresses.filter(|ip| Family::of(*ip) == family);
    let mut addresses: Vec<_> = addresses.map(|ip| ip.to_string().into()).collect();
    addresses.sort();
    let zone = node(state, pod).and_then(|node| node.meta.labels.get(Node::ZONE));
    let key = &pod.meta.key;
    Endpoint {
        addresses,
        conditions: Conditions {
            ready: Some(ready),
            serving: Some(serving),
            terminating: Some(terminating),
        },
        hostname: hostname(pod, service),
        target_ref: Some(ObjectReference {
            kind: Some(Pod::RESOURCE.kind.as_ref().into()),
            namespace: Some(key.namespace.clone()),
            name: Some(key.name.clone()),
            uid: Some(pod.meta.uid.clone()),
            ..ObjectReference::default()
        }),
        node_name: pod.node_name.clone(),
        zone: zone.filter(|zone| !zone.is_empty()).map(Into::into),
        ..Endpoint::default()
    }
}

/// The ports of a pod that the Service leads to, sorted.
fn ports(service: &Service, pod: &Pod) -> Vec<SlicePort> {
    let ports = service.ports.iter().filter_map(|port| Some((port, find_port(pod, port)?)));
    let mut ports: Vec<_> = ports
        .map(|(port, number)| SlicePort {
            name: Some(port.name.clone()),
            protocol: Some(port.protocol.clone()),
            port: Some(number),
            app_protocol: port.app_protocol.clone(),
        })
        .collect();
    ports.sort();
    ports
}
