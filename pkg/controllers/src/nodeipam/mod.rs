//! Gives each node a range of addresses for its pods, one of each range of the cluster.
//!
//! Reads: Node. Writes: Node (patch of `spec.podCIDR` and `spec.podCIDRs`), Event. Upstream:
//! `pkg/controller/nodeipam`, of it the range allocator (v1.36).
//!
//! The ranges of the cluster are cut into blocks. What a node's spec names is used, and what a
//! range of Services overlaps; a node without ranges gets the next free block of each, counted on
//! from the last one that was given, so that the block of a deleted node rests for a while.
//!
//! **Invariant:** nothing is given before all nodes that exist are known, and no block is given to
//! two nodes. A block that a write offered to a node stays that node's, whatever the answer, until
//! the node names its ranges or is deleted: a write without an answer may still be done. The API
//! server takes ranges for a node that has none alone, and the write names the node by uid.
//!
//! One worker: it chooses, writes and remembers before the next choice. The rate limit of its
//! client allows no more writes than one worker can send.
//!
//! What an event costs: a comparison of the ranges that the node names.
//!
//! Otherwise than upstream: a block that was offered in vain is offered to the same node again,
//! where upstream frees it and takes another; two nodes that name the same block both use it until
//! the last of them is deleted; if not all ranges of the cluster have a free block, those that have
//! lose none; and a node whose ranges cannot be read or are not the cluster's is an error of its
//! own key, where upstream's process does not start.
//!
//! # Parts
//! - `blocks`: the blocks of one range, and which are used.
//! - `pools`: what is remembered of all ranges and nodes.

mod blocks;
mod decide;
mod pools;
mod snapshot;

#[cfg(test)]
mod tests;

use std::sync::Arc;

use api::{Key, Node, Prefix};
use controller::{Change, Count, Enqueue, Facts, Family, News, Plan, View, Watches};

pub use blocks::ClusterRange;
pub use decide::Verdict;
pub use pools::Pools;
pub use snapshot::Snapshot;

/// Fewer than upstream's 30, see above.
pub const WORKERS: usize = 1;

/// The controller, with its options.
#[derive(Clone, Debug)]
pub struct Controller {
    /// `--cluster-cidr`, in its order: at most one range of each family.
    pub ranges: Arc<[ClusterRange]>,
    /// `--service-cluster-ip-range`: no node gets any of these.
    pub services: Vec<Prefix>,
}

impl controller::Controller for Controller {
    type Snapshot = Snapshot;
    type Memory = Pools;
    type Verdict = Verdict;

    const METRICS: &'static [Family] = pools::METRICS;

    fn watches(&self, table: &mut impl Watches<Self>) {
        table.remembers::<Node>(|controller, pools, change, _, queue| {
            node_changed(controller, pools, change, queue);
        });
    }

    fn observe(&self, key: &Key, view: &View<'_>, pools: &Pools) -> Option<Snapshot> {
        snapshot::observe(self, key, view, pools)
    }

    fn decide(&self, snapshot: &Snapshot, _: &Facts) -> (Plan, Verdict) {
        decide::decide(snapshot)
    }

    fn summary(&self, snapshot: &Snapshot) -> Vec<(&'static str, String)> {
        snapshot.summary()
    }

    fn gauges(&self, _: &View<'_>, pools: &Pools) -> Vec<Count> {
        pools.gauges(self)
    }

    fn remember(&self, pools: &mut Pools, news: News<'_, Self>, queue: &mut Enqueue) {
        match news {
            News::Acted { outcome, .. } if outcome.unsettled => {}
            News::Acted { snapshot, verdict: Verdict::Offered(blocks), outcome } => {
                let node = &snapshot.node.meta;
                pools.offered(node, blocks, outcome.error.is_some(), queue);
            }
            News::Gone(key) => pools.forget(&key.name, queue),
            News::Acted { .. } | News::Answered { .. } => {}
        }
    }
}

/// As the handlers of `NewCIDRRangeAllocator`. A node that has its ranges is not enqueued for that:
/// they are remembered here.
fn node_changed(
    controller: &Controller,
    pools: &mut Pools,
    change: &Change<Node>,
    queue: &mut Enqueue,
) {
    pools.begin(controller, queue);
    let key = &change.object().meta.key;
    match change {
        Change::Added(node) | Change::Updated { new: node, .. } => {
            let is_odd = pools.shown(controller, node, queue);
            if node.pod_cidrs.is_empty() || is_odd {
                queue.add(key);
            }
        }
        Change::Deleted(node) => {
            pools.deleted(node, queue);
            queue.forget(key);
        }
    }
}
