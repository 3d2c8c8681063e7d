//! What is measured of rolling updates. Upstream's `pkg/controller/statefulset/metrics`.

use api::{Key, PodManagement, StatefulSet, StatefulSetUpdate};
use controller::{Count, Family, View};

use super::rolling;
use super::snapshot::{self, Snapshot};

const LABELS: &[&str] = &["statefulset_namespace", "statefulset_name", "pod_management_policy"];

pub(super) const MAX_UNAVAILABLE: Family = Family::gauge(
    "statefulset_controller_statefulset_max_unavailable",
    "[ALPHA] Maximum number of unavailable pods allowed during StatefulSet rolling updates",
)
.labels(LABELS);

pub(super) const UNAVAILABLE_REPLICAS: Family = Family::gauge(
    "statefulset_controller_statefulset_unavailable_replicas",
    "[ALPHA] Current number of unavailable pods in StatefulSet",
)
.labels(LABELS);

/// Of all sets; with `OnDelete` the first one alone.
pub(super) fn gauges(view: &View<'_>) -> Vec<Count> {
    let sets = view.of::<StatefulSet>().all();
    let usable = sets.iter().filter(|set| snapshot::selector(set).is_ok());
    usable.flat_map(|set| gauges_of(&set.meta.key, view)).collect()
}

fn gauges_of(key: &Key, view: &View<'_>) -> Vec<Count> {
    let Some(s) = snapshot::observe(key, view) else { return Vec::new() };
    let count = |family, value: usize| {
        let value = f64::from(u32::try_from(value).unwrap_or(u32::MAX));
        Count::of(family, value).labels(labels(&s))
    };
    let allowed = rolling::allowed(&s.set).ok();
    let rolls = s.set.strategy.r#type != StatefulSetUpdate::OnDelete;
    let unavailable = rolls.then(|| rolling::unavailable(&s, &s.roster()));
    let allowed = allowed.map(|allowed| count(&MAX_UNAVAILABLE, allowed));
    let unavailable = unavailable.map(|unavailable| count(&UNAVAILABLE_REPLICAS, unavailable));
    allowed.into_iter().chain(unavailable).collect()
}

fn labels(s: &Snapshot) -> [String; 3] {
    let policy = match s.set.management {
        PodManagement::OrderedReady => "OrderedReady",
        PodManagement::Parallel => "Parallel",
    };
    let Key { namespace, name } = &s.set.meta.key;
    [namespace.to_string(), name.to_string(), policy.to_owned()]
}
