//! What a pass looks at.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use api::{Key, Node, Pod, Status, Text, Time};
use controller::View;

use super::{Controller, Quarantine, quarantine};

/// How many missing nodes a summary names.
const NAMED_MAX: usize = 10;
/// Upstream's `v1.TaintNodeOutOfService`.
const OUT_OF_SERVICE: &str = "node.kubernetes.io/out-of-service";

/// All pods and nodes at one moment.
#[derive(Clone, Debug)]
pub struct Snapshot {
    /// The moment.
    pub now: Time,
    /// Whether marks of pods say of which generation they are.
    pub tracks_generations: bool,
    /// The pods, sorted by key, but for those that have ended and that nothing but their finalizers
    /// keeps: there is nothing left to do for them.
    pub pods: Vec<Arc<Pod>>,
    /// How many pods are left out for that.
    pub held: usize,
    /// The nodes that the cache shows.
    pub nodes: BTreeMap<Text, Arc<Node>>,
    /// The nodes that `pods` name and that the cache does not show, and since when.
    pub missing: BTreeMap<Text, Time>,
}

pub(super) fn observe(
    view: &View<'_>,
    controller: &Controller,
    quarantine: &Quarantine,
) -> Snapshot {
    let mut pods = view.of::<Pod>().all();
    let count = pods.len();
    pods.retain(|pod| !(pod.is_terminal() && pod.waits_for_finalizers()));
    let nodes = view.of::<Node>().all().into_iter();
    let nodes: BTreeMap<_, _> = nodes.map(|node| (node.meta.key.name.clone(), node)).collect();
    let names = pods.iter().filter_map(|pod| pod.node_name.as_ref());
    let missing: BTreeSet<_> = names.filter(|name| !nodes.contains_key(*name)).cloned().collect();
    Snapshot {
        now: view.now,
        tracks_generations: controller.tracks_generations,
        held: count - pods.len(),
        missing: quarantine.since(missing, view.now),
        pods,
        nodes,
    }
}

// === impl Snapshot ===

impl Snapshot {
    /// The missing nodes whose quarantine is over, the longest missing first.
    pub(super) fn due(&self) -> Vec<Key> {
        let over = |since: Time| quarantine::is_over(since, self.now);
        let due = self.missing.iter().filter(|(_, since)| over(**since));
        let mut due: Vec<_> = due.map(|(name, since)| (*since, name)).collect();
        due.sort();
        due.into_iter().map(|(_, name)| Key::new("", name)).collect()
    }

    /// Whether the node of a pod is out of service. As upstream, the value and the effect of the
    /// taint do not matter.
    pub(super) fn is_out_of_service(&self, node: &str) -> bool {
        let taints = self.nodes.get(node).into_iter().flat_map(|node| &node.taints);
        !self.is_ready(node) && taints.into_iter().any(|taint| &*taint.key == OUT_OF_SERVICE)
    }

    /// Whether the node of a pod says that it is ready.
    pub(super) fn is_ready(&self, node: &str) -> bool {
        self.nodes.get(node).is_some_and(|node| node.ready == Some(Status::True))
    }

    /// The pass in a few numbers.
    pub(super) fn summary(&self, threshold: Option<usize>) -> Vec<(&'static str, String)> {
        let terminated = self.pods.iter().filter(|pod| pod.is_terminal()).count();
        let threshold = threshold.map_or_else(|| "none".to_owned(), |max| max.to_string());
        let mut facts = vec![
            ("pods", (self.pods.len() + self.held).to_string()),
            ("nodes", self.nodes.len().to_string()),
            ("terminated", terminated.to_string()),
            ("terminated-pod-gc-threshold", threshold),
            ("kept by finalizers", self.held.to_string()),
            ("missing nodes", self.missing.len().to_string()),
        ];
        let named = self.missing.iter().take(NAMED_MAX);
        facts.extend(named.map(|(name, since)| ("missing", format!("{name} since {since}"))));
        facts
    }
}
