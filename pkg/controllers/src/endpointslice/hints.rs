//! Whose traffic an endpoint should get. As upstream's k8s.io/endpointslice `trafficdist`, and
//! `RemoveHintsFromSlices`.

use api::{Endpoint, Hinted, Hints, Service, Text};

use super::packing::{Packed, Packing};
use super::topology;

/// A value of `trafficDistribution` that asks for hints.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Distribution {
    /// `PreferSameZone`, and `PreferClose`, its older name.
    SameZone,
    /// `PreferSameNode`.
    SameNode,
}

/// What a Service asks for; none if it says nothing that is known, or if its annotation asks for
/// hints by topology, which counts first.
pub(super) fn distribution(service: &Service) -> Option<Distribution> {
    if topology::is_asked_for(service) {
        return None;
    }
    match service.traffic_distribution.as_deref()? {
        "PreferClose" | "PreferSameZone" => Some(Distribution::SameZone),
        "PreferSameNode" => Some(Distribution::SameNode),
        _ => None,
    }
}

/// Gives each endpoint that is ready the hints that it should have, and leaves the others alone.
pub(super) fn distribute(packed: &mut Packed, packing: &Packing<'_>, how: Distribution) {
    rewrite(packed, packing, |endpoint| {
        let is_wrong = endpoint.is_ready() && !is_right(endpoint, how);
        is_wrong.then(|| hints(endpoint, how))
    });
}

/// Takes all hints away.
pub(super) fn remove(packed: &mut Packed, packing: &Packing<'_>) {
    rewrite(packed, packing, |endpoint| endpoint.hints.is_some().then_some(None));
}

/// Gives endpoints the hints that `hints` says, if it says some. Slices in which something changes
/// are written.
fn rewrite(
    packed: &mut Packed,
    packing: &Packing<'_>,
    hints: impl Fn(&Endpoint) -> Option<Option<Hints>>,
) {
    let unchanged = std::mem::take(&mut packed.unchanged);
    for slice in unchanged {
        if slice.endpoints.iter().any(|endpoint| hints(endpoint).is_some()) {
            packed.changes.update.push(packing.kept(&slice));
        } else {
            packed.unchanged.push(slice);
        }
    }
    let drafts = packed.changes.create.iter_mut().chain(&mut packed.changes.update);
    for endpoint in drafts.flat_map(|draft| &mut draft.endpoints) {
        if let Some(hints) = hints(endpoint) {
            endpoint.hints = hints;
        }
    }
}

fn is_right(endpoint: &Endpoint, how: Distribution) -> bool {
    let wanted = hints(endpoint, how).unwrap_or_default();
    endpoint.hints.as_ref().map_or(wanted == Hints::default(), |hints| *hints == wanted)
}

fn hints(endpoint: &Endpoint, how: Distribution) -> Option<Hints> {
    let named = |name: &Option<Text>| -> Vec<Hinted> {
        name.iter().map(|name| Hinted { name: name.clone() }).collect()
    };
    let for_zones = named(&endpoint.zone);
    let for_nodes = match how {
        Distribution::SameZone => Vec::new(),
        Distribution::SameNode => named(&endpoint.node_name),
    };
    let hints = Hints { for_zones, for_nodes };
    (hints != Hints::default()).then_some(hints)
}
