//! Nodes that pods are bound to and that the cache does not show. A node may be missing for a
//! moment only: because it is made anew, or because the cache of pods is ahead of that of nodes.
//! Stands for upstream's delaying queue `orphaned_pods_nodes`.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use api::{Key, Node, Pod, Text, Time};
use controller::{Change, View};

/// For so long a node must have been missing before it is read live; upstream's `quarantineTime`.
pub(super) const TIME: Duration = Duration::from_secs(40);

/// Since when each node has been missing. Only changes in the caches change it: `explain` and the
/// debug pages start and end no quarantine. No larger than the number of nodes that pods name. Lost
/// with the process, which costs another quarantine.
#[derive(Debug, Default)]
pub struct Quarantine(BTreeMap<Text, Time>);

/// Whether a node has been missing since a moment for long enough. Also if that moment lies as far
/// ahead: the clock went back, which must not make a quarantine longer.
pub(super) fn is_over(since: Time, now: Time) -> bool {
    now.since(since) >= TIME || since.since(now) >= TIME
}

impl Quarantine {
    /// A pod was added, was deleted, or names another node.
    pub(super) fn pod_changed(&mut self, change: &Change<Pod>, view: &View<'_>) {
        match change {
            Change::Added(pod) => self.named(pod, view),
            Change::Updated { old, new } if old.node_name == new.node_name => {}
            Change::Updated { old, new } => {
                self.unnamed(old, view);
                self.named(new, view);
            }
            Change::Deleted(pod) => self.unnamed(pod, view),
        }
    }

    /// A node was added or deleted. One that existed, if only between two passes, starts again.
    pub(super) fn node_changed(&mut self, change: &Change<Node>, view: &View<'_>) {
        let name = &change.object().meta.key.name;
        match change {
            Change::Updated { .. } => {}
            Change::Deleted(_) if is_named(name, view) => {
                self.0.insert(name.clone(), view.now);
            }
            Change::Added(_) | Change::Deleted(_) => drop(self.0.remove(name)),
        }
    }

    /// Since when each of these missing nodes has been. One without a notification yet, since now.
    pub(super) fn since(&self, missing: BTreeSet<Text>, now: Time) -> BTreeMap<Text, Time> {
        let since = |name: &Text| self.0.get(name).copied().unwrap_or(now);
        missing.into_iter().map(|name| (name.clone(), since(&name))).collect()
    }

    fn named(&mut self, pod: &Pod, view: &View<'_>) {
        let Some(name) = &pod.node_name else { return };
        if view.of::<Node>().get(&Key::new("", name)).is_none() {
            self.0.entry(name.clone()).or_insert(view.now);
        }
    }

    fn unnamed(&mut self, pod: &Pod, view: &View<'_>) {
        let Some(name) = &pod.node_name else { return };
        if self.0.contains_key(name) && !is_named(name, view) {
            self.0.remove(name);
        }
    }

    /// How many nodes are remembered.
    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }
}

/// Whether a pod names the node.
fn is_named(node: &str, view: &View<'_>) -> bool {
    !view.of::<Pod>().by(Pod::BY_NODE, node).is_empty()
}
