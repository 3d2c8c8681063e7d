//! The subsets of Endpoints in the one form that they can be compared in. As upstream's
//! `RepackSubsets` (pkg/api/v1/endpoints/util.go).

use std::collections::BTreeMap;

use api::{EndpointAddress, EndpointPort, Subset, Text};

#[cfg(test)]
mod tests;

/// Two hosts may have the same address, such as pods on the network of their node.
type Known = (Text, Option<Text>);

/// The same endpoints, each port and each address once: ports with the same addresses stand in one
/// subset, an address that is ready in one place and not in another is not, and all is sorted.
/// Upstream sorts by a hash of how Go prints an object, and takes any order for right.
pub fn canonical(subsets: &[Subset]) -> Vec<Subset> {
    let mut addresses = BTreeMap::<Known, &EndpointAddress>::new();
    let mut by_port = BTreeMap::<Option<&EndpointPort>, BTreeMap<Known, bool>>::new();
    for subset in subsets {
        // An address without ports is one all the same.
        let has_none = subset.ports.is_empty();
        let ports = subset.ports.iter().map(Some).chain(has_none.then_some(None));
        for port in ports {
            let of = |ready: bool| move |address| (address, ready);
            let not_ready = subset.not_ready_addresses.iter().map(of(false));
            for (address, is_ready) in subset.addresses.iter().map(of(true)).chain(not_ready) {
                let known = known(address);
                addresses.entry(known.clone()).or_insert(address);
                let seen = by_port.entry(port.filter(|it| it.port > 0)).or_default();
                *seen.entry(known).or_insert(true) &= is_ready;
            }
        }
    }
    let mut by_addresses = BTreeMap::<BTreeMap<Known, bool>, Vec<EndpointPort>>::new();
    for (port, known) in by_port {
        by_addresses.entry(known).or_default().extend(port.cloned());
    }
    let mut packed: Vec<_> = by_addresses
        .into_iter()
        .map(|(known, ports)| {
            let which = |ready: bool| {
                let these = known.iter().filter(move |(_, is_ready)| **is_ready == ready);
                these.filter_map(|(known, _)| addresses.get(known).copied().cloned()).collect()
            };
            Subset { addresses: which(true), not_ready_addresses: which(false), ports }
        })
        .collect();
    packed.sort();
    packed
}

/// Whether stored subsets say what canonical ones do. Which version of a pod was looked at does not
/// count. As `endpointSubsetsEqualIgnoreResourceVersion`.
pub fn are_alike(stored: &[Subset], wanted: &[Subset]) -> bool {
    let mut stored = stored.to_vec();
    let addresses = stored
        .iter_mut()
        .flat_map(|subset| subset.addresses.iter_mut().chain(&mut subset.not_ready_addresses));
    for target in addresses.filter_map(|address| address.target_ref.as_mut()) {
        target.resource_version = None;
    }
    stored == wanted || canonical(&stored) == wanted
}

fn known(address: &EndpointAddress) -> Known {
    let uid = address.target_ref.as_ref().and_then(|target| target.uid.clone());
    (address.ip.clone(), uid)
}
