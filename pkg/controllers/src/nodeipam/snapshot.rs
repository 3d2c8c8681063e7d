//! What a sync of a node looks at.

use std::sync::Arc;

use api::{Key, Node, Prefix, Text};
use controller::View;

use super::blocks::{ClusterRange, Found};
use super::{Controller, Pools};

/// A node, and what it could get.
#[derive(Clone, Debug)]
pub struct Snapshot {
    /// The node.
    pub node: Arc<Node>,
    /// The ranges of the cluster.
    pub(super) ranges: Arc<[ClusterRange]>,
    pub(super) choice: Choice,
}

/// What a node could get.
#[derive(Clone, Debug)]
pub(super) enum Choice {
    /// Nothing: it has its ranges, or is being deleted.
    Nothing,
    /// What it was offered before, which failed so often since it was last written.
    Again(Vec<Found>, u32),
    /// These.
    Free(Vec<Found>),
    /// Nothing, since the range of this number has no free block.
    Exhausted(usize),
}

pub(super) fn observe(
    controller: &Controller,
    key: &Key,
    view: &View<'_>,
    pools: &Pools,
) -> Option<Snapshot> {
    let node = view.of::<Node>().get(key)?;
    let choice = if node.meta.is_terminating() || !node.pod_cidrs.is_empty() {
        Choice::Nothing
    } else if let Some((blocks, failures)) = pools.offer(&node.meta) {
        Choice::Again(blocks, failures)
    } else {
        pools.free().map_or_else(Choice::Exhausted, Choice::Free)
    };
    Some(Snapshot { node, ranges: Arc::clone(&controller.ranges), choice })
}

/// What is wrong with the ranges that a node names, in upstream's words; none: nothing.
pub(super) fn problem(ranges: &[ClusterRange], node: &Node) -> Option<String> {
    let name = &node.meta.key.name;
    let problem = |(at, cidr): (usize, &Text)| {
        let Some(range) = Prefix::parse_sloppy(cidr) else {
            return Some(format!("failed to parse node {name}, CIDR {cidr}"));
        };
        let Some(cluster) = ranges.get(at) else {
            return Some(format!(
                "node:{name} has an allocated cidr: {range} at index:{at} that does not exist in \
                 cluster cidrs configuration"
            ));
        };
        cluster.span(range).is_none().then(|| {
            let cluster = cluster.prefix();
            format!(
                "failed to mark cidr[{range}] at idx [{at}] as occupied for node: {name}: cidr \
                 {range} is out the range of cluster cidr {cluster}"
            )
        })
    };
    node.pod_cidrs.iter().enumerate().find_map(problem)
}

// === impl Snapshot ===

impl Snapshot {
    /// These blocks as the API writes them.
    pub(super) fn written(&self, blocks: &[Found]) -> Vec<String> {
        let blocks = self.ranges.iter().zip(blocks);
        blocks.filter_map(|(range, it)| range.block(it.block)).map(|it| it.to_string()).collect()
    }

    pub(super) fn summary(&self) -> Vec<(&'static str, String)> {
        let ranges: Vec<_> = self.ranges.iter().map(|it| it.prefix().to_string()).collect();
        let named = self.node.pod_cidrs.join(", ");
        let named = if named.is_empty() { "none".to_owned() } else { named };
        let mut facts = vec![("podCIDRs", named), ("--cluster-cidr", ranges.join(","))];
        if let Choice::Again(blocks, failures) = &self.choice {
            facts.push(("offered", self.written(blocks).join(", ")));
            facts.push(("written in vain", format!("{failures} times")));
        }
        facts
    }
}
