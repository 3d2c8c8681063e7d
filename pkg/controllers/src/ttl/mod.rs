//! Tells kubelets how long they may keep Secrets and ConfigMaps: longer in larger clusters.
//!
//! Reads: Node. Writes: Node (patch of one annotation). No Events. Upstream: `pkg/controller/ttl`
//! (v1.36).
//!
//! Each node has the annotation `node.alpha.kubernetes.io/ttl`, in seconds, also a node that is
//! being deleted; what somebody else writes there is replaced. If the size of the cluster comes to
//! ask for another time, each node gets it with its next change, such as the next report of its
//! kubelet: that spreads the writes.
//!
//! **Invariant:** a cluster whose size stays within the overlap of two steps keeps its step.
//! **Invariant:** a node whose annotation is right is never written.
//!
//! What an event costs: a number is counted, and an annotation compared with it. A change of a node
//! that has the right annotation, such as a heartbeat, wakes nobody.
//!
//! Otherwise than upstream, nothing is decided before all nodes are counted, so that none is given
//! the time of a smaller cluster first; that a node is gone before it could be patched (404) is no
//! failure; and the patch names the node by uid.
//!
//! # Parts
//!
//! - `size`: the steps, and which of them the cluster is on.

mod decide;
mod size;
mod snapshot;

#[cfg(test)]
mod tests;

use std::sync::{Mutex, MutexGuard, PoisonError};

use api::{Key, Node};
use controller::{Change, Facts, Plan, View, Wake, Watches};

use size::Size;
pub use snapshot::Snapshot;

/// The controller, and how large it has seen the cluster become. After a restart it counts anew
/// from the first step, as upstream.
#[derive(Debug, Default)]
pub struct Controller {
    size: Mutex<Size>,
}

impl Controller {
    fn size(&self) -> MutexGuard<'_, Size> {
        self.size.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn node_changed(&self, change: &Change<Node>, wake: &mut Wake) {
        match change {
            Change::Added(node) => {
                self.size().grow();
                // Also if it is right now: it may not be once all nodes are counted.
                wake.add(&node.meta.key);
            }
            Change::Updated { new: node, .. } => {
                if !decide::is_right(node, self.size().ttl_seconds()) {
                    wake.add(&node.meta.key);
                }
            }
            Change::Deleted(node) => {
                self.size().shrink();
                wake.forget(&node.meta.key);
            }
        }
    }
}

impl controller::Controller for Controller {
    type Snapshot = Snapshot;

    fn watches(table: &mut impl Watches<Self>) {
        table.on::<Node>(|controller, change, _, wake| controller.node_changed(change, wake));
    }

    fn observe(&self, key: &Key, view: &View<'_>) -> Option<Snapshot> {
        snapshot::observe(key, view, *self.size())
    }

    fn decide(&self, snapshot: &Snapshot, _: &Facts) -> Plan {
        decide::decide(snapshot)
    }

    fn summary(&self, snapshot: &Snapshot) -> Vec<(&'static str, String)> {
        snapshot.summary()
    }
}
