//! Sets how long kubelets may keep Secrets and ConfigMaps: longer in larger clusters.
//!
//! Reads: Node. Writes: Node (patch of one annotation). No Events. Upstream: `pkg/controller/ttl`
//! (v1.36).
//!
//! Each node has the annotation `node.alpha.kubernetes.io/ttl`, in seconds, also a node that is
//! being deleted; another client's value is replaced. If the size of the cluster comes to ask for
//! another time, each node gets it with its next change, such as the next report of its kubelet:
//! that spreads the writes.
//!
//! **Invariant:** a cluster whose size stays within the overlap of two steps keeps its step.
//! **Invariant:** a node whose annotation is right is never written.
//!
//! What an event costs: a number is counted, and an annotation compared with it. A change of a node
//! that has the right annotation, such as a heartbeat, enqueues nothing.
//!
//! Otherwise than upstream, nothing is decided before all nodes are counted, so that none is given
//! the time of a smaller cluster first; that a node is deleted before it could be patched (404) is
//! no failure; and the patch names the node by uid.
//!
//! # Parts
//!
//! - `size`: the steps, and which of them the cluster is on.

mod decide;
mod size;
mod snapshot;

#[cfg(test)]
mod tests;

use api::{Key, Node};
use controller::{Change, Enqueue, Facts, Plan, View, Watches};

pub use size::Size;
pub use snapshot::Snapshot;

/// The controller. It remembers how large it has seen the cluster become: after a restart it counts
/// anew from the first step, as upstream.
#[derive(Clone, Copy, Debug)]
pub struct Controller;

impl controller::Controller for Controller {
    type Snapshot = Snapshot;
    type Memory = Size;
    type Verdict = ();

    fn watches(&self, table: &mut impl Watches<Self>) {
        table.remembers::<Node>(|_, size, change, _, queue| node_changed(size, change, queue));
    }

    fn observe(&self, key: &Key, view: &View<'_>, size: &Size) -> Option<Snapshot> {
        snapshot::observe(key, view, *size)
    }

    fn decide(&self, snapshot: &Snapshot, _: &Facts) -> (Plan, ()) {
        (decide::decide(snapshot), ())
    }

    fn summary(&self, snapshot: &Snapshot) -> Vec<(&'static str, String)> {
        snapshot.summary()
    }
}

fn node_changed(size: &mut Size, change: &Change<Node>, queue: &mut Enqueue) {
    match change {
        Change::Added(node) => {
            size.grow();
            // Also if it is right now: it may not be once all nodes are counted.
            queue.add(&node.meta.key);
        }
        Change::Updated { new: node, .. } => {
            if !decide::is_right(node, size.ttl_seconds()) {
                queue.add(&node.meta.key);
            }
        }
        Change::Deleted(node) => {
            size.shrink();
            queue.forget(&node.meta.key);
        }
    }
}
