//! The metrics. As upstream's `pkg/controller/endpointslicemirroring/metrics`.

use api::EndpointSlice;
use controller::slices::slices_needed;
use controller::{Count, Ended, Family, View};

use super::MANAGER;
use super::mirror::Mirrored;

const POWERS: &[f64] = &[
    2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0, 512.0, 1024.0, 2048.0, 4096.0, 8192.0, 16384.0,
    32768.0,
];

const ADDED: Family = Family::histogram(
    "endpoint_slice_mirroring_controller_endpoints_added_per_sync",
    "[ALPHA] Number of endpoints added on each Endpoints sync",
    POWERS,
)
.labels(&[]);
const UPDATED: Family = Family::histogram(
    "endpoint_slice_mirroring_controller_endpoints_updated_per_sync",
    "[ALPHA] Number of endpoints updated on each Endpoints sync",
    POWERS,
)
.labels(&[]);
const REMOVED: Family = Family::histogram(
    "endpoint_slice_mirroring_controller_endpoints_removed_per_sync",
    "[ALPHA] Number of endpoints removed on each Endpoints sync",
    POWERS,
)
.labels(&[]);
const SKIPPED: Family = Family::histogram(
    "endpoint_slice_mirroring_controller_addresses_skipped_per_sync",
    "[ALPHA] Number of addresses skipped on each Endpoints sync due to being invalid or exceeding \
     MaxEndpointsPerSubset",
    POWERS,
)
.labels(&[]);
const DURATION: Family = Family::histogram(
    "endpoint_slice_mirroring_controller_endpoints_sync_duration",
    "[ALPHA] Duration of syncEndpoints() in seconds",
    &[
        0.001, 0.002, 0.004, 0.008, 0.016, 0.032, 0.064, 0.128, 0.256, 0.512, 1.024, 2.048, 4.096,
        8.192, 16.384,
    ],
)
.labels(&[]);
const DESIRED: Family = Family::gauge(
    "endpoint_slice_mirroring_controller_endpoints_desired",
    "[ALPHA] Number of endpoints desired",
)
.labels(&[]);
const SLICES: Family = Family::gauge(
    "endpoint_slice_mirroring_controller_num_endpoint_slices",
    "[ALPHA] Number of EndpointSlices",
)
.labels(&[]);
const DESIRED_SLICES: Family = Family::gauge(
    "endpoint_slice_mirroring_controller_desired_endpoint_slices",
    "[ALPHA] Number of EndpointSlices that would exist with perfect endpoint allocation",
)
.labels(&[]);
pub(super) const CHANGES: Family = Family::counter(
    "endpoint_slice_mirroring_controller_changes",
    "[ALPHA] Number of EndpointSlice changes",
)
.labels(&["operation"]);

pub(super) const METRICS: &[Family] =
    &[ADDED, UPDATED, REMOVED, SKIPPED, DURATION, DESIRED, SLICES, DESIRED_SLICES, CHANGES];

/// What a sync changes.
pub(super) fn counts(mirrored: &Mirrored) -> Vec<Count> {
    let [added, updated, removed] = mirrored.totals;
    vec![
        Count::of(&SKIPPED, number(mirrored.skipped)),
        Count::of(&ADDED, number(added)),
        Count::of(&UPDATED, number(updated)),
        Count::of(&REMOVED, number(removed)),
    ]
}

/// How long a sync took, in whole milliseconds.
pub(super) fn duration(ended: &Ended) -> Count {
    let millis = u32::try_from(ended.took.as_millis()).unwrap_or(u32::MAX);
    Count::of(&DURATION, f64::from(millis) / 1000.0)
}

/// The gauges, from what the cache holds.
pub(super) fn gauges(view: &View<'_>, subset_max: usize) -> Vec<Count> {
    let slices = view.of::<EndpointSlice>().all();
    let sizes = slices.iter().filter(|slice| slice.manager() == MANAGER);
    let sizes: Vec<_> = sizes.map(|slice| slice.endpoints.len()).collect();
    let desired = sizes.iter().map(|size| slices_needed(*size, subset_max));
    vec![
        Count::of(&DESIRED, number(sizes.iter().sum())),
        Count::of(&SLICES, number(sizes.len())),
        Count::of(&DESIRED_SLICES, number(desired.sum())),
    ]
}

fn number(count: usize) -> f64 {
    f64::from(u32::try_from(count).unwrap_or(u32::MAX))
}
