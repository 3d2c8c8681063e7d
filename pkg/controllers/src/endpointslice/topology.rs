//! Hints by topology: each zone gets as many endpoints as its share of the processors. As
//! upstream's k8s.io/endpointslice `topologycache`.

use std::collections::BTreeMap;
use std::sync::Arc;

use api::{Endpoint, EndpointSlice, Family, Hints, Node, Service, Status, Text};
use apimachinery::Quantity;

use super::hints;
use super::packing::{Packed, Packing};

/// How much more than its share an endpoint may get. Upstream's `overloadThreshold`.
const OVERLOAD: f64 = 0.2;
/// Nodes with one of these labels count for no zone.
const EXCLUDED: [&str; 2] =
    ["node-role.kubernetes.io/control-plane", "node-role.kubernetes.io/master"];

/// The share of each zone. There are two at least.
pub(super) type Zones = BTreeMap<Text, f64>;

/// How many endpoints are hinted for each zone.
type Counts = BTreeMap<Text, usize>;

/// The hints of a Service.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Hinted {
    by_family: BTreeMap<Family, Counts>,
    /// Whether it was last said that there are some.
    is_told: bool,
}

/// How many endpoints a zone should have.
#[derive(Clone, Copy, Debug)]
pub(super) struct Allocation {
    pub(super) minimum: usize,
    pub(super) maximum: usize,
    pub(super) desired: f64,
}

/// What is told of hints.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Told {
    /// There are some now.
    Enabled,
    /// There are none, for this reason.
    Disabled(String),
}

/// Whether the annotations of a Service ask for hints by topology. As `hintsEnabled`.
pub(super) fn is_asked_for(service: &Service) -> bool {
    matches!(service.topology_mode.as_deref(), Some("Auto" | "auto"))
}

/// As upstream's `isNodeReady`.
pub(super) fn is_ready(node: &Node) -> bool {
    node.ready == Some(Status::True)
}

/// The share of each zone; none: a node does not say where it is or what it has, or all are in one
/// zone. As `SetNodes`.
pub(super) fn zones(nodes: &[Arc<Node>]) -> Option<Zones> {
    let counts = |node: &&Arc<Node>| {
        let labels = &node.meta.labels;
        is_ready(node) && EXCLUDED.iter().all(|label| labels.get(label).is_none())
    };
    let mut cpus = BTreeMap::<Text, i64>::new();
    for node in nodes.iter().filter(counts) {
        let zone = node.meta.labels.get(Node::ZONE).filter(|zone| !zone.is_empty())?;
        let cpu = node.allocatable_cpu.as_deref().and_then(|cpu| Quantity::parse(cpu).ok());
        let cpu = cpu.map(Quantity::milli_value).filter(|cpu| *cpu != 0)?;
        *cpus.entry(zone.into()).or_default() += cpu;
    }
    let total: i64 = cpus.values().sum();
    if total == 0 || cpus.len() < 2 {
        return None;
    }
    #[expect(clippy::cast_precision_loss, reason = "as upstream, and no cluster has so many")]
    let share = |cpu: i64| cpu as f64 / total as f64;
    Some(cpus.into_iter().map(|(zone, cpu)| (zone, share(cpu))).collect())
}

/// Gives each endpoint that is ready a hint for its zone, or for one that has too few; or takes all
/// hints away, and says why. As `AddHints`.
pub(super) fn add(
    packed: &mut Packed,
    packing: &Packing<'_>,
    zones: Option<&Zones>,
    hinted: &mut Hinted,
) -> Option<Told> {
    match added(packed, packing, zones) {
        Ok(counts) => {
            hinted.by_family.insert(packing.family, counts);
            let was_told = std::mem::replace(&mut hinted.is_told, true);
            (!was_told).then_some(Told::Enabled)
        }
        Err(why) => {
            hinted.forget(packing.family);
            hints::remove(packed, packing);
            Some(Told::Disabled(why))
        }
    }
}

fn added(
    packed: &mut Packed,
    packing: &Packing<'_>,
    zones: Option<&Zones>,
) -> Result<Counts, String> {
    let ready = |endpoints: &[Endpoint]| endpoints.iter().filter(|it| it.is_ready()).count();
    let drafts = packed.changes.create.iter().chain(&packed.changes.update);
    let total = drafts.map(|draft| ready(&draft.endpoints)).sum::<usize>()
        + packed.unchanged.iter().map(|slice| ready(&slice.endpoints)).sum::<usize>();
    let allocations = allocations(total, zones)?;
    let mut counts = Counts::new();
    for slice in std::mem::take(&mut packed.unchanged) {
        if let Some(of_slice) = kept(&slice, &counts, &allocations) {
            for (zone, count) in of_slice {
                *counts.entry(zone).or_default() += count;
            }
            packed.unchanged.push(slice);
        } else {
            packed.changes.update.push(packing.kept(&slice));
        }
    }
    let drafts = packed.changes.create.iter_mut().chain(&mut packed.changes.update);
    let endpoints = drafts.flat_map(|draft| &mut draft.endpoints);
    let mut ready: Vec<_> = endpoints.filter(|endpoint| endpoint.is_ready()).collect();
    for endpoint in &mut ready {
        let Some(zone) = endpoint.zone.clone().filter(|zone| !zone.is_empty()) else {
            return Err("One or more endpoints do not have a zone specified".to_owned());
        };
        *counts.entry(zone.clone()).or_default() += 1;
        endpoint.hints = Some(for_zone(&zone));
    }
    redistribute(&mut ready, &allocations, &mut counts);
    if counts.is_empty() {
        return Err("No hints allocated for zones".to_owned());
    }
    Ok(counts)
}

fn for_zone(zone: &Text) -> Hints {
    Hints { for_zones: vec![api::Hinted { name: zone.clone() }], ..Hints::default() }
}

/// How many endpoints each zone should have; or why that cannot be said. As `getAllocations`.
pub(super) fn allocations(
    endpoints: usize,
    zones: Option<&Zones>,
) -> Result<BTreeMap<Text, Allocation>, String> {
    let Some(zones) = zones else {
        let text = "Insufficient Node information: allocatable CPU or zone not specified on one \
                    or more nodes";
        return Err(text.to_owned());
    };
    let counts = format!("({endpoints} endpoints, {} zones)", zones.len());
    if zones.len() > endpoints {
        return Err(format!("Insufficient number of endpoints {counts}"));
    }
    let number = f64::from(u32::try_from(endpoints).unwrap_or(u32::MAX));
    let mut left = Some(endpoints);
    let mut allocations = BTreeMap::new();
    for (zone, share) in zones {
        let desired = share * number;
        let minimum = whole((desired * (1.0 / (1.0 + OVERLOAD))).ceil());
        left = left.and_then(|left| left.checked_sub(minimum));
        let desired = desired.max(f64::from(u32::try_from(minimum).unwrap_or(u32::MAX)));
        allocations.insert(zone.clone(), Allocation { minimum, maximum: 0, desired });
    }
    let Some(left) = left else {
        let text = "Unable to allocate minimum required endpoints to each zone without exceeding \
                    overload threshold";
        return Err(format!("{text} {counts}"));
    };
    for allocation in allocations.values_mut() {
        allocation.maximum = allocation.minimum + left;
    }
    Ok(allocations)
}

/// The hints of a slice that can stay; none: it must be written. As `getHintsByZone`.
fn kept(
    slice: &EndpointSlice,
    counts: &Counts,
    allocations: &BTreeMap<Text, Allocation>,
) -> Option<Counts> {
    let mut found = Counts::new();
    for endpoint in slice.endpoints.iter().filter(|endpoint| endpoint.is_ready()) {
        let hints = endpoint.hints.as_ref().filter(|hints| !hints.for_zones.is_empty())?;
        for zone in &hints.for_zones {
            allocations.get(&zone.name)?;
            *found.entry(zone.name.clone()).or_default() += 1;
        }
    }
    let fits = |(zone, count): (&Text, &usize)| {
        let already = counts.get(zone).copied().unwrap_or(0);
        allocations.get(zone).is_some_and(|allocation| count + already <= allocation.maximum)
    };
    found.iter().all(fits).then_some(found)
}

/// Hints endpoints of zones that have too many for others. As `redistributeHints`.
fn redistribute(
    ready: &mut [&mut Endpoint],
    allocations: &BTreeMap<Text, Allocation>,
    counts: &mut Counts,
) {
    let (mut giving, mut receiving) = giving_and_receiving(allocations, counts);
    for endpoint in ready {
        let Some(zone) = endpoint.zone.clone() else { continue };
        let Some(gives) = giving.get_mut(&zone).filter(|gives| **gives > 0) else { continue };
        let Some((other, takes)) = receiving.iter_mut().find(|(_, takes)| **takes > 0) else {
            return;
        };
        *gives -= 1;
        *takes -= 1;
        endpoint.hints = Some(for_zone(other));
        *counts.entry(other.clone()).or_default() += 1;
        if let Some(count) = counts.get_mut(&zone) {
            *count = count.saturating_sub(1);
        }
    }
}

/// How many endpoints zones give and get. As `getGivingAndReceivingZones`.
pub(super) fn giving_and_receiving(
    allocations: &BTreeMap<Text, Allocation>,
    counts: &Counts,
) -> (Counts, Counts) {
    let difference = |(zone, allocation): (&Text, &Allocation)| {
        let count = counts.get(zone).copied().unwrap_or(0);
        let count = f64::from(u32::try_from(count).unwrap_or(u32::MAX));
        (zone.clone(), count - allocation.desired)
    };
    let differences: Vec<_> = allocations.iter().map(difference).collect();
    let mut more: BTreeMap<_, _> =
        differences.iter().filter(|(_, by)| *by > 0.0).cloned().collect();
    let less = differences.into_iter().filter(|(_, by)| *by < 0.0);
    let mut less: BTreeMap<_, _> = less.map(|(zone, by)| (zone, -by)).collect();
    let (mut giving, mut receiving) = (Counts::new(), Counts::new());
    while let (Some((from, gives)), Some((to, takes))) = (most(&more), most(&less)) {
        if (gives < 1.0 && takes < 1.0) || gives < 0.5 || takes < 0.5 {
            break;
        }
        *giving.entry(from.clone()).or_default() += 1;
        *receiving.entry(to.clone()).or_default() += 1;
        more.insert(from, gives - 1.0);
        less.insert(to, takes - 1.0);
    }
    (giving, receiving)
}

/// The zone with the most, the first of several.
fn most(zones: &BTreeMap<Text, f64>) -> Option<(Text, f64)> {
    let positive = zones.iter().filter(|(_, by)| **by > 0.0);
    let most = positive.rev().max_by(|one, other| one.1.total_cmp(other.1));
    most.map(|(zone, by)| (zone.clone(), *by))
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a count that was rounded up"
)]
fn whole(number: f64) -> usize {
    number as usize
}

// === impl Hinted ===

impl Hinted {
    /// Whether there is nothing to remember.
    pub fn is_none(&self) -> bool {
        *self == Self::default()
    }

    /// There are none for a family. Whether that is news. As `RemoveHints`.
    pub(super) fn forget(&mut self, family: Family) -> bool {
        self.by_family.remove(&family);
        std::mem::take(&mut self.is_told)
    }

    /// Whether a zone has too few endpoints. As `serviceOverloaded`, of each family.
    pub(super) fn is_overloaded(&self, zones: Option<&Zones>) -> bool {
        self.by_family.values().filter(|counts| !counts.is_empty()).any(|counts| {
            let Some(zones) = zones else { return true };
            let total: usize = counts.values().sum();
            let total = f64::from(u32::try_from(total).unwrap_or(u32::MAX));
            zones.iter().any(|(zone, share)| {
                let least = whole((total * share * (1.0 / (1.0 + OVERLOAD))).ceil());
                counts.get(zone).is_none_or(|count| *count < least)
            })
        })
    }
}

// === impl Told ===

impl Told {
    /// The reason of the Event.
    pub(super) fn reason(&self) -> &'static str {
        match self {
            Self::Enabled => "TopologyAwareHintsEnabled",
            Self::Disabled(_) => "TopologyAwareHintsDisabled",
        }
    }

    /// Its message. As `FormatWithAddressType`.
    pub(super) fn message(&self, family: Family) -> String {
        let text = match self {
            Self::Enabled => "Topology Aware Hints has been enabled",
            Self::Disabled(why) => why,
        };
        format!("{text}, addressType: {family}")
    }
}
