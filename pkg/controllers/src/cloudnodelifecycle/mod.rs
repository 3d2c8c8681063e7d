//! Deletes the nodes whose machines no longer exist, and taints those whose machines are shut down.
//!
//! Reads: Node, and the cloud. Writes: Node (delete, taints), Event. Upstream:
//! `k8s.io/cloud-provider/controllers/nodelifecycle` (v0.36.3).
//!
//! Keys are nodes. One that is not ready is looked at in each `--node-monitor-period`.
//!
//! **Invariant:** a node is deleted only if it is not ready and the cloud says that its machine
//! does not exist. A cloud that does not respond, or fails, costs no node.
//! **Invariant:** no other taint is changed: the list is written on the version that was decided
//! on.
//!
//! What an event costs: a comparison of conditions and taints.
//!
//! Otherwise than upstream, a node is looked at as soon as it is not ready, and several at once;
//! its deletion names its uid.

mod decide;
mod snapshot;

#[cfg(test)]
mod tests;

use std::time::Duration;

use api::{Key, Machine};
use controller::{Change, Enqueue, Facts, Plan, View, Watches};

pub use snapshot::Snapshot;

/// How many nodes are looked at at once. Upstream looks at one after the other.
pub const WORKERS: usize = 8;

/// The controller, with its options.
#[derive(Clone, Copy, Debug)]
pub struct Controller {
    /// `--node-monitor-period`: how often a node that is not ready is looked at.
    pub period: Duration,
}

impl controller::Controller for Controller {
    type Snapshot = Snapshot;
    type Memory = ();
    type Verdict = ();

    fn watches(&self, table: &mut impl Watches<Self>) {
        table.on::<Machine>(|_, change, _, queue| changed(change, queue));
    }

    fn observe(&self, key: &Key, view: &View<'_>, (): &()) -> Option<Snapshot> {
        Some(Snapshot { machine: view.of::<Machine>().get(key)? })
    }

    fn decide(&self, snapshot: &Snapshot, facts: &Facts) -> (Plan, ()) {
        (decide::decide(&snapshot.machine, facts, self.period), ())
    }

    fn summary(&self, snapshot: &Snapshot) -> Vec<(&'static str, String)> {
        snapshot.summary()
    }
}

fn changed(change: &Change<Machine>, queue: &mut Enqueue) {
    match change {
        Change::Added(machine) if snapshot::needs_look(machine) => queue.add(&machine.meta.key),
        Change::Updated { old, new } if snapshot::needs_look(new) => {
            if old.ready != new.ready || old.taints != new.taints {
                queue.add(&new.meta.key);
            }
        }
        // It may wait for its next look.
        Change::Deleted(machine) => queue.forget(&machine.meta.key),
        Change::Added(_) | Change::Updated { .. } => {}
    }
}
