//! Gives each node the routes in a cloud that lead the addresses of its pods to it.
//!
//! Reads: Node, and the routes of the cloud. Writes: routes, Node/status (the condition
//! `NetworkUnavailable`), Event. Upstream: `k8s.io/cloud-provider/controllers/route` (v0.36.3),
//! without the feature gate `CloudControllerManagerWatchBasedRoutesReconciliation`, which is off by
//! default.
//!
//! It is not about one object: its only key is `routes`, and a sync is a pass over all nodes, one
//! `--route-reconciliation-period` after the last one, and once its writes are in the cache. No
//! event enqueues it.
//!
//! **Invariant:** no route outside of `--cluster-cidr` is deleted, nor one whose range cannot be
//! read.
//! **Invariant:** without the list of routes nothing is decided, and a node whose route failed is
//! not said to have a network.
//!
//! What a pass costs: a list of the routes, and for each node a look-up of its ranges in it.
//!
//! Otherwise than upstream: at most as many orders are in progress at once as the engine admits
//! requests; of two nodes neither waits for the other's condition to be written.

mod decide;
mod snapshot;

#[cfg(test)]
mod tests;

use std::time::Duration;

use api::{Key, Machine, Prefix, Text};
use controller::{Facts, Plan, View, Watches};

pub use snapshot::Snapshot;

/// The controller, with its options.
#[derive(Clone, Debug)]
pub struct Controller {
    /// `--cluster-name`.
    pub cluster: Text,
    /// `--cluster-cidr`: the ranges inside which routes are the controller's.
    pub ranges: Vec<Prefix>,
    /// `--route-reconciliation-period`.
    pub period: Duration,
}

impl controller::Controller for Controller {
    type Snapshot = Snapshot;
    type Memory = ();
    type Verdict = ();

    const SEEDS: &'static [&'static str] = &["routes"];

    fn watches(&self, table: &mut impl Watches<Self>) {
        table.reads::<Machine>();
    }

    fn observe(&self, _: &Key, view: &View<'_>, (): &()) -> Option<Snapshot> {
        Some(Snapshot { now: view.now, machines: view.of::<Machine>().all() })
    }

    fn decide(&self, snapshot: &Snapshot, facts: &Facts) -> (Plan, ()) {
        (decide::decide(self, snapshot, facts), ())
    }

    fn summary(&self, snapshot: &Snapshot) -> Vec<(&'static str, String)> {
        snapshot.summary()
    }
}
