//! What is counted. Upstream's pkg/controller/nodelifecycle/metrics.go.

use api::Node;
use controller::{Count, Ended, Family, View};

use super::snapshot::Observed;
use super::zones;

const ZONE: &[&str] = &["zone"];

/// As upstream's `evictionsTotal`.
pub(super) const EVICTIONS_TOTAL: Family = Family::counter(
    "node_collector_evictions_total",
    "[STABLE] Number of Node evictions that happened since current instance of NodeController \
           started.",
)
.labels(ZONE);
const ZONE_HEALTH: Family = Family::gauge(
    "node_collector_zone_health",
    "[ALPHA] Gauge measuring percentage of healthy nodes per zone.",
)
.labels(ZONE);
const ZONE_SIZE: Family = Family::gauge(
    "node_collector_zone_size",
    "[ALPHA] Gauge measuring number of registered Nodes per zones.",
)
.labels(ZONE);
const UNHEALTHY_NODES: Family = Family::gauge(
    "node_collector_unhealthy_nodes_in_zone",
    "[ALPHA] Gauge measuring number of not Ready Nodes per zones.",
)
.labels(ZONE);
const UPDATE_NODE: Family = Family::histogram(
    "node_collector_update_node_health_duration_seconds",
    "[ALPHA] Duration in seconds for NodeController to update the health of a single node.",
    &[0.001, 0.004, 0.016, 0.064, 0.256, 1.024, 4.096, 16.384],
);
const UPDATE_ALL: Family = Family::histogram(
    "node_collector_update_all_nodes_health_duration_seconds",
    "[ALPHA] Duration in seconds for NodeController to update the health of all nodes.",
    &[0.01, 0.04, 0.16, 0.64, 2.56, 10.24, 40.96, 163.84],
);

pub(super) const ALL: &[Family] =
    &[EVICTIONS_TOTAL, ZONE_HEALTH, ZONE_SIZE, UNHEALTHY_NODES, UPDATE_NODE, UPDATE_ALL];

/// How long a look took.
pub(super) fn ended(observed: Option<&Observed>, ended: &Ended) -> Vec<Count> {
    let family = match observed {
        None => return Vec::new(),
        Some(Observed::Node(_)) => &UPDATE_NODE,
        Some(Observed::Zones(_)) => &UPDATE_ALL,
    };
    vec![Count::of(family, ended.took.as_secs_f64())]
}

/// The zones as they are.
#[expect(clippy::cast_precision_loss, reason = "there are fewer nodes")]
pub(super) fn gauges(view: &View<'_>) -> Vec<Count> {
    let nodes = view.of::<Node>().all();
    let sizes = zones::sizes(nodes.iter().map(|node| &**node)).into_iter();
    let gauges = sizes.flat_map(|(zone, size)| {
        let (all, unready) = (size.all as f64, size.unready as f64);
        let health = 100.0 * (all - unready) / all;
        [(&ZONE_SIZE, all), (&ZONE_HEALTH, health), (&UNHEALTHY_NODES, unready)]
            .map(|(family, value)| Count::of(family, value).labels([&*zone]))
    });
    gauges.collect()
}
