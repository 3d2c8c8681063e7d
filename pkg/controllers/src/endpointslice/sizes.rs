//! The metrics. As upstream's k8s.io/endpointslice `metrics`.

use std::collections::BTreeMap;

use api::{EndpointSlice, Key, Service};
use controller::slices::slices_needed;
use controller::{Count, Ended, Family, View, When};

use super::MANAGER;
use super::hints::distribution;
use super::packing::Packed;
use super::topology;

const POWERS: &[f64] = &[
    2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0, 512.0, 1024.0, 2048.0, 4096.0, 8192.0, 16384.0,
    32768.0,
];

const ADDED: Family = Family::histogram(
    "endpoint_slice_controller_endpoints_added_per_sync",
    "[BETA] Number of endpoints added on each Service sync",
    POWERS,
)
.labels(&[]);
const REMOVED: Family = Family::histogram(
    "endpoint_slice_controller_endpoints_removed_per_sync",
    "[BETA] Number of endpoints removed on each Service sync",
    POWERS,
)
.labels(&[]);
const DESIRED: Family = Family::gauge(
    "endpoint_slice_controller_endpoints_desired",
    "[BETA] Number of endpoints desired",
)
.labels(&[]);
const SLICES: Family = Family::gauge(
    "endpoint_slice_controller_num_endpoint_slices",
    "[BETA] Number of EndpointSlices",
)
.labels(&[]);
const DESIRED_SLICES: Family = Family::gauge(
    "endpoint_slice_controller_desired_endpoint_slices",
    "[BETA] Number of EndpointSlices that would exist with perfect endpoint allocation",
)
.labels(&[]);
pub(super) const CHANGES: Family =
    Family::counter("endpoint_slice_controller_changes", "[ALPHA] Number of EndpointSlice changes")
        .labels(&["operation"]);
const CHANGED: Family = Family::histogram(
    "endpoint_slice_controller_endpointslices_changed_per_sync",
    "[ALPHA] Number of EndpointSlices changed on each Service sync",
    &[0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0],
)
.labels(&["topology", "traffic_distribution"]);
const SYNCS: Family =
    Family::counter("endpoint_slice_controller_syncs", "[ALPHA] Number of EndpointSlice syncs")
        .labels(&["result"]);
const DISTRIBUTIONS: Family = Family::gauge(
    "endpoint_slice_controller_services_count_by_traffic_distribution",
    "[BETA] Number of Services using some specific trafficDistribution",
)
.labels(&["traffic_distribution"]);

pub(super) const METRICS: &[Family] =
    &[ADDED, REMOVED, DESIRED, SLICES, DESIRED_SLICES, CHANGES, CHANGED, SYNCS, DISTRIBUTIONS];

/// A sync, by how it ended. As `trackSync`.
pub(super) fn synced(ended: &Ended) -> Count {
    let result = match (&ended.error, ended.unsettled) {
        (Some(_), _) => "error",
        (None, true) => "stale",
        (None, false) => "success",
    };
    Count::one(&SYNCS).labels([result])
}

/// What a sync changes of the slices of a family.
pub(super) fn counts(service: &Service, packed: &Packed) -> Vec<Count> {
    let number = |count: usize| f64::from(u32::try_from(count).unwrap_or(u32::MAX));
    let topology = if topology::is_asked_for(service) { "Auto" } else { "Disabled" };
    let asked = service.traffic_distribution.as_deref();
    let asked = asked.filter(|_| distribution(service).is_some()).unwrap_or_default();
    let changed = Count::of(&CHANGED, number(packed.changes.len()));
    vec![
        Count::of(&ADDED, number(packed.added)),
        Count::of(&REMOVED, number(packed.removed)),
        changed.labels([topology, asked]).when(When::Done),
    ]
}

/// The gauges, from what the caches hold.
pub(super) fn gauges(view: &View<'_>, slice_max: usize) -> Vec<Count> {
    let slices = view.of::<EndpointSlice>().all();
    let slices = slices.iter().filter(|slice| slice.manager() == MANAGER);
    let mut by_service = BTreeMap::<Key, BTreeMap<_, usize>>::new();
    let (mut actual, mut endpoints) = (0, 0);
    for slice in slices {
        let Some(service) = EndpointSlice::service(&slice.meta) else { continue };
        let group = (slice.family, &slice.ports);
        *by_service.entry(service).or_default().entry(group).or_default() += slice.endpoints.len();
        actual += 1;
        endpoints += slice.endpoints.len();
    }
    let desired = by_service.values().map(|groups| {
        let needed = groups.values().map(|count| slices_needed(*count, slice_max));
        needed.sum::<usize>().max(1)
    });
    let number = |count: usize| f64::from(u32::try_from(count).unwrap_or(u32::MAX));
    let mut gauges = vec![
        Count::of(&DESIRED, number(endpoints)),
        Count::of(&SLICES, number(actual)),
        Count::of(&DESIRED_SLICES, number(desired.sum())),
    ];
    for service in view.of::<Service>().all() {
        let is_ours = service.selector.is_some() && !service.is_external_name;
        if is_ours
            && distribution(&service).is_some()
            && let Some(asked) = &service.traffic_distribution
        {
            gauges.push(Count::one(&DISTRIBUTIONS).labels([&**asked]));
        }
    }
    gauges
}
