//! The slices that there should be of Endpoints. As `reconcile` and `desiredCalc` in upstream's
//! `pkg/controller/endpointslicemirroring`.

use std::collections::BTreeMap;
use std::sync::Arc;

use api::{
    Conditions, Endpoint, EndpointAddress, EndpointPort, EndpointSlice, Endpoints, Family, Labels,
    SlicePort, Subset, parse_ip,
};
use controller::slices::{Annotations, Changes, Draft, Extent, Identity, Wanted, is_alike};
use controller::subsets::canonical;

use super::MANAGER;

/// The annotation in which kubectl keeps what was applied.
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";
/// The labels that say what a slice is for, whatever the Endpoints have under these names.
const RESERVED: [&str; 2] = [EndpointSlice::SERVICE_NAME, EndpointSlice::MANAGED_BY];

type Group = (Family, Vec<SlicePort>);

/// What is mirrored, and how much of it.
#[derive(Default)]
pub(super) struct Mirrored {
    /// What becomes of the slices.
    pub(super) changes: Changes,
    /// Addresses that are none.
    pub(super) invalid: usize,
    /// These, and those that do not fit.
    pub(super) skipped: usize,
    /// Endpoints that come, are told of otherwise, and go.
    pub(super) totals: [usize; 3],
}

/// What becomes of the slices of Endpoints.
pub(super) fn mirror(
    endpoints: &Endpoints,
    slices: &[Arc<EndpointSlice>],
    subset_max: usize,
) -> Mirrored {
    let mut mirrored = Mirrored::default();
    let mut wanted = BTreeMap::<Group, Wanted>::new();
    for subset in canonical(&endpoints.subsets) {
        let ports = ports(&subset.ports);
        for family in [Family::V4, Family::V6] {
            wanted.entry((family, ports.clone())).or_default();
        }
        mirrored.take(&subset, &ports, &mut wanted, subset_max);
    }
    let mut existing = BTreeMap::<Group, Vec<&Arc<EndpointSlice>>>::new();
    for slice in slices {
        match slice.family {
            Some(family) => existing.entry((family, slice.ports.clone())).or_default().push(slice),
            None => mirrored.changes.delete.push(Arc::clone(slice)),
        }
    }
    for (group, wanted) in wanted {
        let existing = existing.remove(&group).unwrap_or_default();
        mirrored.group(endpoints, (group, wanted), &existing, subset_max);
    }
    let rest = existing.into_values().flatten();
    mirrored.changes.delete.extend(rest.map(Arc::clone));
    mirrored
}

// === impl Mirrored ===

impl Mirrored {
    /// Takes the addresses of a subset, ready ones first, as many as fit.
    fn take(
        &mut self,
        subset: &Subset,
        ports: &[SlicePort],
        wanted: &mut BTreeMap<Group, Wanted>,
        subset_max: usize,
    ) {
        let Subset { addresses, not_ready_addresses, .. } = subset;
        let ready = addresses.iter().map(|address| (address, true));
        let all = ready.chain(not_ready_addresses.iter().map(|address| (address, false)));
        let mut taken = 0;
        for (address, is_ready) in all {
            if taken >= subset_max {
                break;
            }
            match endpoint(address, is_ready) {
                Some((family, endpoint)) => {
                    let group = wanted.entry((family, ports.to_vec())).or_default();
                    group.insert(Identity::of(&endpoint), endpoint);
                    taken += 1;
                }
                None => self.invalid += 1,
            }
        }
        self.skipped += addresses.len() + not_ready_addresses.len() - taken;
    }

    /// One slice, the first that there is, or none.
    fn group(
        &mut self,
        endpoints: &Endpoints,
        (group, wanted): (Group, Wanted),
        existing: &[&Arc<EndpointSlice>],
        subset_max: usize,
    ) {
        let gone = existing.len().min(usize::from(!wanted.is_empty()));
        self.changes.delete.extend(existing.iter().skip(gone).copied().cloned());
        let first = existing.first().filter(|_| !wanted.is_empty());
        let totals = if let Some(slice) = first {
            changed(slice, &wanted)
        } else {
            let removed = existing.iter().map(|slice| slice.endpoints.len()).sum();
            [wanted.len(), 0, removed]
        };
        for (sum, count) in self.totals.iter_mut().zip(totals) {
            *sum += count;
        }
        let is_right = |slice: &EndpointSlice| totals == [0; 3] && is_right(slice, endpoints);
        if wanted.is_empty() || first.is_some_and(|slice| is_right(slice)) {
            return;
        }
        let (family, ports) = group;
        let draft = Draft {
            existing: first.map(|slice| Arc::clone(slice)),
            extent: Extent::Whole,
            family,
            ports,
            endpoints: wanted.into_values().take(subset_max).collect(),
            labels: labels(endpoints),
            annotations: Annotations::All(annotations(endpoints)),
        };
        let list = match first {
            Some(_) => &mut self.changes.update,
            None => &mut self.changes.create,
        };
        list.push(draft);
    }
}

/// How many endpoints come, are told of otherwise, and go. As `totalChanges`.
fn changed(slice: &EndpointSlice, wanted: &Wanted) -> [usize; 3] {
    let (mut matches, mut updated, mut removed) = (0, 0, 0);
    for endpoint in &slice.endpoints {
        match wanted.get(&Identity::of(endpoint)) {
            None => removed += 1,
            Some(found) => {
                matches += 1;
                updated += usize::from(!is_alike(found, endpoint));
            }
        }
    }
    [wanted.len().saturating_sub(matches), updated, removed]
}

/// Whether all but its endpoints is right: labels, annotations, and that no Endpoints of earlier
/// own it.
fn is_right(slice: &EndpointSlice, endpoints: &Endpoints) -> bool {
    let is_stale = slice.meta.owners.iter().any(|owner| {
        &*owner.kind == "Endpoints"
            && owner.name == endpoints.meta.key.name
            && owner.uid != endpoints.meta.uid
    });
    !is_stale
        && unreserved(&slice.meta.labels) == unreserved(&endpoints.meta.labels)
        && slice.raw.annotations() == annotations(endpoints)
}

fn labels(endpoints: &Endpoints) -> BTreeMap<String, String> {
    let mut labels = unreserved(&endpoints.meta.labels);
    let name = endpoints.meta.key.name.to_string();
    labels.insert(EndpointSlice::SERVICE_NAME.to_owned(), name);
    labels.insert(EndpointSlice::MANAGED_BY.to_owned(), MANAGER.to_owned());
    labels
}

fn unreserved(labels: &Labels) -> BTreeMap<String, String> {
    let labels = labels.iter().filter(|(key, _)| !RESERVED.contains(key));
    labels.map(|(key, value)| (key.to_owned(), value.to_owned())).collect()
}

fn annotations(endpoints: &Endpoints) -> BTreeMap<String, String> {
    let mut annotations = endpoints.raw.annotations();
    annotations.remove(Endpoints::TRIGGER_TIME);
    annotations.remove(LAST_APPLIED);
    annotations
}

/// As `addressToEndpoint`; none: it is no address.
fn endpoint(address: &EndpointAddress, is_ready: bool) -> Option<(Family, Endpoint)> {
    let ip = parse_ip(&address.ip)?;
    let endpoint = Endpoint {
        addresses: vec![ip.to_string().into()],
        conditions: Conditions { ready: Some(is_ready), ..Conditions::default() },
        hostname: address.hostname.clone(),
        target_ref: address.target_ref.clone(),
        node_name: address.node_name.clone(),
        ..Endpoint::default()
    };
    Some((Family::of(ip), endpoint))
}

/// As `epPortsToEpsPorts`, sorted.
fn ports(ports: &[EndpointPort]) -> Vec<SlicePort> {
    let port = |port: &EndpointPort| SlicePort {
        name: Some(port.name.clone().unwrap_or_default()),
        protocol: Some(port.protocol.clone().unwrap_or_default()),
        port: Some(port.port),
        app_protocol: port.app_protocol.clone(),
    };
    let mut ports: Vec<_> = ports.iter().map(port).collect();
    ports.sort();
    ports
}
