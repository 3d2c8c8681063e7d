//! Says which nodes live: conditions of those whose kubelets are silent, taints, pods that are not
//! ready.
//!
//! Reads: Node, Pod, Lease, and a node live before it is declared unknown. Writes: Node (taints,
//! labels, its status), Pod (its status), Event. Upstream: `pkg/controller/nodelifecycle` (v1.36).
//!
//! # Parts
//! - `health`: when kubelets were last heard of, and which nodes wait for a taint.
//! - `metrics`: what is counted.
//! - `taints`: which taints a node must have.
//! - `zones`: how many nodes are ready, and how fast others may get taints that evict.
//!
//! **Invariant:** no node is declared unknown whose kubelet has reported within the grace period,
//! whatever the clocks show. The period counts on a clock that cannot be set, from when a heartbeat
//! was seen to change; it ends only once Leases are shown up to a version that the API server had
//! after its end, so that one that is behind hides no renewal; after a silence of the API server,
//! of the network or of this process it begins anew; and the node is read live, and written on the
//! version that was read.
//! **Invariant:** in no zone do nodes get taints that evict faster than the rates of the flags
//! allow, and none has one while no node is ready.
//!
//! Keys are nodes, and `zones/all`, which is looked at in each `--node-monitor-period`.
//!
//! What an event costs: a node, one look at it; a Lease, a comparison.
//!
//! Otherwise than upstream: statuses are patched, on the version that was read, instead of PUT; a
//! successor leaves taints that are right as they are; it marks the pods of an unknown node that
//! its predecessor did not get to; each change of a Lease's time counts, also one back.

mod decide;
mod health;
mod metrics;
mod snapshot;
mod taints;
mod zones;

#[cfg(test)]
mod tests;

use std::time::Duration;

use api::{Key, Lease, Node, Pod};
use controller::{Count, Ended, Enqueue, Facts, Family, News, Plan, View, Watches};

pub use decide::Verdict;
pub use health::Health;
pub use snapshot::Observed;
pub use zones::Rates;

/// The key of the zones. Nodes are in no namespace.
const ZONES: &str = "zones/all";
/// Upstream's `nodeUpdateWorkerSize`.
pub const WORKERS: usize = 8;

/// The flags.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// `--node-monitor-period`: how often the zones are looked at.
    pub monitor_period: Duration,
    /// `--node-monitor-grace-period`: how long a kubelet may be silent.
    pub monitor_grace_period: Duration,
    /// `--node-startup-grace-period`: how long until it reports first.
    pub startup_grace_period: Duration,
    /// How fast nodes get taints that evict.
    pub rates: Rates,
}

/// The controller, with its options.
#[derive(Clone, Copy, Debug)]
pub struct Controller(pub Options);

impl controller::Controller for Controller {
    type Snapshot = Observed;
    type Memory = Health;
    type Verdict = Option<Verdict>;

    const METRICS: &'static [Family] = metrics::ALL;

    const SEEDS: &'static [&'static str] = &[ZONES];

    fn watches(&self, table: &mut impl Watches<Self>) {
        // Before the nodes: no pod that is there at the start is one that was bound just now.
        table.remembers::<Pod>(|_, health, change, view, queue| {
            health.pod_changed(change, view, queue);
        });
        table.remembers::<Lease>(|_, health, change, view, _| health.lease_changed(change, view));
        table.remembers::<Node>(|_, health, change, view, queue| {
            health.node_changed(change, view, queue);
        });
    }

    fn observe(&self, key: &Key, view: &View<'_>, health: &Health) -> Option<Observed> {
        snapshot::observe(self.0, key, view, health)
    }

    fn decide(&self, observed: &Observed, facts: &Facts) -> (Plan, Option<Verdict>) {
        match observed {
            Observed::Node(node) => {
                let (plan, verdict) = decide::decide(node, facts);
                (plan, Some(verdict))
            }
            Observed::Zones(zones) => (decide::decide_zones(zones, self.0.monitor_period), None),
        }
    }

    fn summary(&self, observed: &Observed) -> Vec<(&'static str, String)> {
        observed.summary()
    }

    fn counts(
        &self,
        observed: Option<&Observed>,
        _: Option<&Option<Verdict>>,
        ended: &Ended,
    ) -> Vec<Count> {
        metrics::ended(observed, ended)
    }

    fn gauges(&self, view: &View<'_>, _: &Health) -> Vec<Count> {
        metrics::gauges(view)
    }

    fn remember(&self, health: &mut Health, news: News<'_, Self>, queue: &mut Enqueue) {
        let News::Acted { snapshot, verdict, outcome } = news else { return };
        match (snapshot, verdict) {
            (Observed::Node(node), Some(verdict)) => {
                health.acted(node, verdict, outcome.error.is_none(), queue);
                if outcome.error.is_some() {
                    // Upstream looks at all nodes once a period, whatever failed before: back-off
                    // would keep a dead node for as long as an outage has lasted.
                    queue.add_after(&node.key, self.0.monitor_period);
                }
            }
            (Observed::Zones(zones), _) => health.looked(zones, &self.0.rates, queue),
            (Observed::Node(_), None) => {}
        }
    }
}
