//! What is counted. As upstream's `pkg/controller/volume/persistentvolume/metrics`, and
//! `volume_operation_total_seconds` of its pkg/volume/util.

use std::collections::BTreeMap;

use api::{PersistentVolume, PersistentVolumeClaim};
use controller::{Count, Family, View, When};

use super::decide::Verdict;
use super::provisioning::HOST_PATH;
use super::{Started, recycling};

/// The operation of making a volume for a claim and binding it.
pub(super) const PROVISION: &str = "provision";
/// The operation of deleting a volume.
pub(super) const DELETE: &str = "delete";

const OPERATION: &[&str] = &["plugin_name", "operation_name"];
const OF_CLAIM: &[&str] = &["namespace", "storage_class", "volume_attributes_class"];

const LATENCY: Family = Family::histogram(
    "volume_operation_total_seconds",
    "[ALPHA] Storage operation end to end duration in seconds",
    &[0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 15.0, 25.0, 50.0, 120.0, 300.0, 600.0],
)
.labels(OPERATION);
const ERRORS: Family =
    Family::counter("volume_operation_errors_total", "[ALPHA] Total volume operation errors")
        .labels(OPERATION);
const ERRORS_BEFORE: Family =
    Family::counter("volume_operation_total_errors", "[ALPHA] Total volume operation errors")
        .labels(OPERATION)
        .deprecated([1, 36, 0]);
pub(super) const ASSIGNED: Family = Family::counter(
    "retroactive_storageclass_total",
    "[ALPHA] Total number of retroactive StorageClass assignments to persistent volume claim",
);
pub(super) const NOT_ASSIGNED: Family = Family::counter(
    "retroactive_storageclass_errors_total",
    "[ALPHA] Total number of failed retroactive StorageClass assignments to persistent volume \
     claim",
);
const TOTAL: Family = Family::gauge(
    "pv_collector_total_pv_count",
    "[ALPHA] Gauge measuring total number of persistent volumes",
)
.labels(&["plugin_name", "volume_mode"]);
const BOUND: Family = Family::gauge(
    "pv_collector_bound_pv_count",
    "[ALPHA] Gauge measuring number of persistent volume currently bound",
)
.labels(&["storage_class"]);
const UNBOUND: Family = Family::gauge(
    "pv_collector_unbound_pv_count",
    "[ALPHA] Gauge measuring number of persistent volume currently unbound",
)
.labels(&["storage_class"]);
const BOUND_CLAIMS: Family = Family::gauge(
    "pv_collector_bound_pvc_count",
    "[ALPHA] Gauge measuring number of persistent volume claim currently bound",
)
.labels(OF_CLAIM);
const UNBOUND_CLAIMS: Family = Family::gauge(
    "pv_collector_unbound_pvc_count",
    "[ALPHA] Gauge measuring number of persistent volume claim currently unbound",
)
.labels(OF_CLAIM);

pub(super) const OF_CLAIMS: &[Family] =
    &[LATENCY, ERRORS, ERRORS_BEFORE, ASSIGNED, NOT_ASSIGNED, BOUND_CLAIMS, UNBOUND_CLAIMS];
pub(super) const OF_VOLUMES: &[Family] = &[LATENCY, ERRORS, ERRORS_BEFORE, TOTAL, BOUND, UNBOUND];

/// The operation ends with this write, well or not.
pub(super) fn ended(started: &Started, operation: &str) -> Vec<Count> {
    let took = took(started, operation).when(When::Done);
    failed(started, operation).into_iter().chain([took]).collect()
}

/// How long the operation took.
pub(super) fn took(started: &Started, operation: &str) -> Count {
    Count::since(&LATENCY, started.at).labels([&*started.plugin, operation])
}

/// The operation fails if this write does.
pub(super) fn failed(started: &Started, operation: &str) -> Vec<Count> {
    errors(started, operation, When::Failed)
}

/// The operation has failed if this write is done, or fails, or in any case.
pub(super) fn errors(started: &Started, operation: &str, when: When) -> Vec<Count> {
    let labels = [&*started.plugin, operation];
    [&ERRORS, &ERRORS_BEFORE].map(|family| Count::one(family).labels(labels).when(when)).into()
}

/// A volume of the plugin that is not built in was asked for: each try fails.
pub(super) fn not_provisioned(verdict: &Verdict) -> Vec<Count> {
    let is_failed = verdict.asked.as_deref() == Some(HOST_PATH);
    let labels = [HOST_PATH, PROVISION];
    let errors = [&ERRORS, &ERRORS_BEFORE].map(|family| Count::one(family).labels(labels));
    if is_failed { errors.into() } else { Vec::new() }
}

pub(super) fn of_claims(view: &View<'_>) -> Vec<Count> {
    let mut counts: BTreeMap<(bool, [String; 3]), u32> = BTreeMap::new();
    for claim in view.of::<PersistentVolumeClaim>().all() {
        let text = |text: &Option<api::Text>| text.as_deref().unwrap_or_default().to_owned();
        let namespace = claim.meta.key.namespace.to_string();
        let labels = [namespace, text(&claim.class), text(&claim.attributes_class)];
        *counts.entry((claim.is_bound, labels)).or_default() += 1;
    }
    let count = |((is_bound, labels), count): ((bool, [String; 3]), u32)| {
        let family = if is_bound { &BOUND_CLAIMS } else { &UNBOUND_CLAIMS };
        Count::of(family, f64::from(count)).labels(labels)
    };
    counts.into_iter().map(count).collect()
}

pub(super) fn of_volumes(view: &View<'_>) -> Vec<Count> {
    let mut counts = Vec::new();
    for volume in view.of::<PersistentVolume>().all() {
        let plugin = volume.source.plugin().unwrap_or("N/A");
        let mode = if volume.is_block { "Block" } else { "Filesystem" };
        counts.push(Count::of(&TOTAL, 1.0).labels([plugin, mode]));
        let is_bound = volume.is_bound();
        let class = class_of(&volume);
        let family = if is_bound { &BOUND } else { &UNBOUND };
        counts.push(Count::of(family, 1.0).labels([class]));
    }
    counts
}

/// `spec.storageClassName`: the gauges of volumes, other than those of claims, know nothing of the
/// old annotation, which goes over it elsewhere.
fn class_of(volume: &PersistentVolume) -> String {
    if volume.raw.annotations().contains_key(PersistentVolumeClaim::BETA_CLASS) {
        let class = recycling::source_of(volume, "storageClassName");
        return class.as_str().unwrap_or_default().to_owned();
    }
    volume.class.as_deref().unwrap_or_default().to_owned()
}
