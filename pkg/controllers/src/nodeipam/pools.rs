//! What is remembered: the used blocks of all ranges, and of each node what it uses.

use std::collections::BTreeMap;

use api::{Meta, Node, Prefix, Text};
use controller::{Count, Enqueue, Family};
use mutant::Mutant;

use super::Controller;
use super::blocks::{Blocks, Found, Span};
use super::snapshot::problem;

const RANGE: &[&str] = &["clusterCIDR"];

/// As upstream's `cidrSetAllocations`.
const ALLOCATIONS_TOTAL: Family = Family::counter(
    "node_ipam_controller_cidrset_cidrs_allocations_total",
    "[ALPHA] Counter measuring total number of CIDR allocations.",
)
.labels(RANGE);
const RELEASES_TOTAL: Family = Family::counter(
    "node_ipam_controller_cidrset_cidrs_releases_total",
    "[ALPHA] Counter measuring total number of CIDR releases.",
)
.labels(RANGE);
/// Spelled as upstream spells it.
const MAX_CIDRS: Family = Family::gauge(
    "node_ipam_controller_cirdset_max_cidrs",
    "[ALPHA] Maximum number of CIDRs that can be allocated.",
)
.labels(RANGE);
const USAGE_CIDRS: Family = Family::gauge(
    "node_ipam_controller_cidrset_usage_cidrs",
    "[ALPHA] Gauge measuring percentage of allocated CIDRs.",
)
.labels(RANGE);
/// The help text is upstream's.
const TRIES: Family = Family::histogram(
    "node_ipam_controller_cidrset_allocation_tries_per_request",
    "[ALPHA] Number of endpoints added on each Service sync",
    &[1.0, 5.0, 25.0, 125.0, 625.0],
)
.labels(RANGE);
const RUNNING: Family = Family::gauge(
    "running_managed_controllers",
    "[BETA] Indicates where instances of a controller are currently running",
)
.labels(&["manager", "name"]);

pub(super) const METRICS: &[Family] =
    &[ALLOCATIONS_TOTAL, RELEASES_TOTAL, MAX_CIDRS, USAGE_CIDRS, TRIES, RUNNING];

/// The used blocks.
#[derive(Clone, Debug, Default)]
pub struct Pools {
    /// One for each range; empty before the first node.
    pools: Vec<Blocks>,
    /// What each node uses, by its name.
    nodes: BTreeMap<Text, Used>,
}

/// What a node uses.
#[derive(Clone, Debug)]
struct Used {
    uid: Text,
    /// The numbers of ranges, and blocks of them.
    spans: Vec<(usize, Span)>,
    /// Whether it names them; else they were offered to it.
    is_named: bool,
    /// How often it was written in vain since it was written last.
    failures: u32,
}

impl Pools {
    /// Before anything else: marks what is the Services'. As `filterOutServiceRange`.
    pub(super) fn begin(&mut self, controller: &Controller, queue: &mut Enqueue) {
        if !self.pools.is_empty() {
            return;
        }
        self.pools = controller.ranges.iter().map(|range| Blocks::new(*range)).collect();
        for pool in &mut self.pools {
            let range = pool.range;
            for span in controller.services.iter().filter_map(|service| range.span(*service)) {
                let flips = pool.occupy(span);
                count(&ALLOCATIONS_TOTAL, pool, flips, queue);
            }
        }
    }

    /// A node as it is. Whether it newly names ranges that are not the cluster's. As `occupyCIDRs`.
    pub(super) fn shown(
        &mut self,
        controller: &Controller,
        node: &Node,
        queue: &mut Enqueue,
    ) -> bool {
        let (name, uid) = (&node.meta.key.name, &node.meta.uid);
        let known = self.nodes.get(name);
        if node.pod_cidrs.is_empty() {
            // What it was offered stays. The ranges of a node never change, but another node may
            // have its name now.
            if known.is_some_and(|known| known.uid != *uid) {
                self.forget(name, queue);
            }
            return false;
        }
        // In whatever place a node names a range, nobody else may have it.
        let named = node.pod_cidrs.iter().filter_map(|cidr| Prefix::parse_sloppy(cidr));
        let ranges = || controller.ranges.iter().enumerate();
        let spans = named.flat_map(|cidr| ranges().map(move |(at, range)| (at, range.span(cidr))));
        let spans: Vec<_> = spans.filter_map(|(at, span)| Some((at, span?))).collect();
        let is_same = |known: &Used| known.is_named && known.uid == *uid && known.spans == spans;
        if known.is_some_and(is_same) {
            return false;
        }
        let used = Used { uid: uid.clone(), spans, is_named: true, failures: 0 };
        self.set(name, Some(used), queue);
        problem(&controller.ranges, node).is_some()
    }

    /// A node was written, or was to be written, with these blocks.
    pub(super) fn offered(
        &mut self,
        node: &Meta,
        blocks: &[Found],
        failed: bool,
        queue: &mut Enqueue,
    ) {
        let known = self.nodes.get(&node.key.name);
        if known.is_some_and(|known| known.is_named || known.uid != node.uid) {
            return;
        }
        if mutant::is(Mutant::OfferForgotten) && failed {
            self.forget(&node.key.name, queue);
            return;
        }
        let is_new = known.is_none();
        let failures = known.map_or(0, |known| known.failures);
        let used = Used {
            uid: node.uid.clone(),
            spans: blocks.iter().map(|found| (found.block, found.block)).enumerate().collect(),
            is_named: false,
            failures: if failed { failures.saturating_add(1) } else { 0 },
        };
        self.set(&node.key.name, Some(used), queue);
        for (pool, found) in self.pools.iter_mut().zip(blocks).filter(|_| is_new) {
            pool.given(found.block);
            queue.count(labelled(&TRIES, pool, found.tries));
        }
    }

    /// A node was deleted. As `ReleaseCIDR`.
    pub(super) fn deleted(&mut self, node: &Node, queue: &mut Enqueue) {
        let name = &node.meta.key.name;
        if self.nodes.get(name).is_some_and(|known| known.uid == node.meta.uid) {
            self.forget(name, queue);
        }
    }

    /// There is no node of this name.
    pub(super) fn forget(&mut self, name: &Text, queue: &mut Enqueue) {
        self.set(name, None, queue);
    }

    /// What a node was offered before, and how often it was written in vain.
    pub(super) fn offer(&self, node: &Meta) -> Option<(Vec<Found>, u32)> {
        let used = self.nodes.get(&node.key.name)?;
        if used.is_named || used.uid != node.uid {
            return None;
        }
        let blocks = used.spans.iter().map(|(_, (block, _))| Found { block: *block, tries: 0 });
        Some((blocks.collect(), used.failures))
    }

    /// A free block of each range, or the number of the first range without one.
    pub(super) fn free(&self) -> Result<Vec<Found>, usize> {
        let found = self.pools.iter().enumerate();
        found.map(|(at, pool)| pool.free().ok_or(at)).collect()
    }

    /// The gauges of all ranges.
    pub(super) fn gauges(&self, controller: &Controller) -> Vec<Count> {
        let mut all =
            vec![Count::of(&RUNNING, 1.0).labels(["kube-controller-manager", "nodeipam"])];
        let mut begun = Self::default();
        begun.begin(controller, &mut Enqueue::default());
        let pools = if self.pools.is_empty() { &begun.pools } else { &self.pools };
        for pool in pools {
            all.push(labelled(&MAX_CIDRS, pool, pool.range.count()));
            let usage = number(pool.used()) / number(pool.range.count());
            all.push(Count::of(&USAGE_CIDRS, usage).labels([pool.range.prefix().to_string()]));
        }
        all
    }

    /// From now on a node uses this. What it uses both before and after is never free in between.
    fn set(&mut self, name: &Text, used: Option<Used>, queue: &mut Enqueue) {
        let new = used.as_ref().map(|used| used.spans.clone()).unwrap_or_default();
        let old = match used {
            Some(used) => self.nodes.insert(name.clone(), used),
            None => self.nodes.remove(name),
        };
        let old = old.map(|used| used.spans).unwrap_or_default();
        for (at, span) in new {
            let Some(pool) = self.pools.get_mut(at) else { continue };
            let flips = pool.occupy(span);
            count(&ALLOCATIONS_TOTAL, pool, flips, queue);
        }
        for (at, span) in old {
            let Some(pool) = self.pools.get_mut(at) else { continue };
            let flips = pool.release(span);
            count(&RELEASES_TOTAL, pool, flips, queue);
        }
    }
}

fn count(family: &'static Family, pool: &Blocks, flips: u64, queue: &mut Enqueue) {
    if flips > 0 {
        queue.count(labelled(family, pool, flips));
    }
}

fn labelled(family: &'static Family, pool: &Blocks, amount: u64) -> Count {
    Count::of(family, number(amount)).labels([pool.range.prefix().to_string()])
}

#[expect(clippy::cast_precision_loss, reason = "there are fewer blocks")]
fn number(blocks: u64) -> f64 {
    blocks as f64
}
