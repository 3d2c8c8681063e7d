//! Which pods are told of, and how. As `podToEndpointAddressForService` and the loop over pods in
//! upstream's `syncService`.

use std::sync::Arc;

use api::{
    EndpointAddress, EndpointPort, Family, Kind, ObjectReference, Pod, Service, ServicePort,
    Subset, Text, parse_ip,
};
use controller::services::{find_port, hostname, is_reachable};
use controller::subsets::canonical;

/// The endpoints of a Service with these pods, in canonical form.
pub(super) fn wanted(service: &Service, pods: &[Arc<Pod>]) -> Vec<Subset> {
    let subsets = pods.iter().filter_map(|pod| Some((pod, place(pod, service).ok()?)));
    let subsets = subsets.flat_map(|(pod, address)| of_pod(service, pod, &address));
    canonical(&subsets.collect::<Vec<_>>())
}

/// Where a pod is found by those who ask for the Service; or why it is not.
pub(super) fn place(pod: &Pod, service: &Service) -> Result<EndpointAddress, &'static str> {
    if pod.is_terminal() {
        return Err("has ended");
    }
    if !is_reachable(pod) {
        return Err("has no address");
    }
    if pod.meta.is_terminating() && !service.publishes_not_ready {
        return Err("is being deleted");
    }
    let family = family(service, pod);
    let mut addresses = pod.network.ips.iter().filter_map(|ip| parse_ip(ip));
    let ip = addresses.find(|ip| Family::of(*ip) == family);
    let ip = ip.ok_or(match family {
        Family::V4 => "has no IPv4 address",
        Family::V6 => "has no IPv6 address",
    })?;
    let key = &pod.meta.key;
    Ok(EndpointAddress {
        ip: ip.to_string().into(),
        hostname: hostname(pod, service),
        node_name: Some(pod.node_name.clone().unwrap_or_default()),
        target_ref: Some(ObjectReference {
            kind: Some(Pod::RESOURCE.kind.as_ref().into()),
            namespace: Some(key.namespace.clone()),
            name: Some(key.name.clone()),
            uid: Some(pod.meta.uid.clone()),
            ..ObjectReference::default()
        }),
    })
}

/// The family of the addresses. An API server of old says none.
fn family(service: &Service, pod: &Pod) -> Family {
    let first = || pod.network.ips.first().and_then(|ip| parse_ip(ip));
    let of_pod = || first().map_or(Family::V4, Family::of);
    let first = service.families.first().copied();
    first.or_else(|| service.cluster_family()).unwrap_or_else(of_pod)
}

/// A subset for each port of the Service that leads to a port of the pod.
fn of_pod(service: &Service, pod: &Pod, address: &EndpointAddress) -> Vec<Subset> {
    let is_ready = service.publishes_not_ready || pod.is_ready();
    let subset = |port: Option<EndpointPort>| {
        let (ports, these) = (port.into_iter().collect(), vec![address.clone()]);
        let (addresses, not_ready_addresses) =
            if is_ready { (these, Vec::new()) } else { (Vec::new(), these) };
        Subset { addresses, not_ready_addresses, ports }
    };
    if service.ports.is_empty() && service.is_headless() {
        return vec![subset(None)];
    }
    let ports = service.ports.iter().filter_map(|port| Some((port, find_port(pod, port)?)));
    ports.map(|(port, number)| subset(Some(endpoint_port(port, number)))).collect()
}

fn endpoint_port(port: &ServicePort, number: i32) -> EndpointPort {
    let filled = |text: &Text| Some(text.clone()).filter(|text| !text.is_empty());
    EndpointPort {
        name: filled(&port.name),
        port: number,
        protocol: filled(&port.protocol),
        app_protocol: port.app_protocol.clone(),
    }
}
