//! What no cache shows: since when a detach is asked for, what was announced, which volumes the
//! status of a node is to list.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use api::{Key, Text};
use controller::Enqueue;

use super::decide::{Listing, Verdict};
use super::{node_key, volume_key};

/// The memory. What it holds of a volume ends with its last attachment and pod, what it holds of a
/// node with the node or its last attachment.
#[derive(Debug, Default)]
pub struct Worlds {
    /// By volume and node.
    places: BTreeMap<Text, BTreeMap<Text, Place>>,
    /// The volumes that the status of a node is to list, by node, also if it does not list them
    /// yet.
    listing: BTreeMap<Text, BTreeSet<Text>>,
    /// The volumes that it is not to list any more, by node.
    dropped: BTreeMap<Text, BTreeSet<Text>>,
    /// Since when the status of a node lists a volume that has no attachment, by node.
    unbacked: BTreeMap<Text, Duration>,
    /// The volumes that were in use on nodes when these were deleted.
    pub(super) removed_nodes: BTreeMap<Text, BTreeSet<Text>>,
    /// The volumes that deleted PersistentVolumes stood for, while attachments name these.
    pub(super) removed_volumes: BTreeMap<Text, Text>,
}

/// What is remembered of a volume on a node. Times are on the clock that cannot be set.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Place {
    /// What messages call the volume.
    pub(super) name: Text,
    /// Since when it is to be attached.
    pub(super) attach_since: Option<Duration>,
    /// When an Event says that the attacher does not answer.
    pub(super) attach_timeout: Option<Duration>,
    /// Since when it is to be detached.
    pub(super) detach_since: Option<Duration>,
    /// Since when its attachment is being deleted, by this process.
    pub(super) deleted_since: Option<Duration>,
    /// Whether it is attached, of a plugin whose attachments are no objects.
    pub(super) is_attached_by_node: bool,
    /// Whether an Event has said that it is attached.
    pub(super) told_attached: bool,
    /// Since when another node has it, or may have.
    pub(super) blocked_since: Option<Duration>,
    /// Whether Events have said that another node has it.
    pub(super) told_multi_attach: bool,
    /// The failure that Events have told of.
    pub(super) told_failure: Option<Text>,
}

// === impl Worlds ===

impl Worlds {
    /// What is remembered of a volume, by node.
    pub(super) fn of(&self, volume: &str) -> impl Iterator<Item = (&Text, &Place)> {
        self.places.get(volume).into_iter().flatten()
    }

    /// The volumes that the status of a node is to list, and not to list.
    pub(super) fn of_node(&self, node: &str) -> (BTreeSet<Text>, BTreeSet<Text>) {
        let of = |of: &BTreeMap<Text, BTreeSet<Text>>| of.get(node).cloned().unwrap_or_default();
        (of(&self.listing), of(&self.dropped))
    }

    /// All volumes that the statuses of nodes are to list: node and volume.
    pub(super) fn all_listed(&self) -> impl Iterator<Item = (&Text, &Text)> {
        self.listing.iter().flat_map(|(node, all)| all.iter().map(move |volume| (node, volume)))
    }

    /// Since when a node lists a volume without an attachment.
    pub(super) fn unbacked_since(&self, node: &str) -> Option<Duration> {
        self.unbacked.get(node).copied()
    }

    /// The key of a volume that messages call so.
    pub(super) fn volume_called(&self, name: &str) -> Option<Key> {
        let is_called =
            |places: &BTreeMap<Text, Place>| places.values().any(|it| *it.name == *name);
        let mut volumes = self.places.iter();
        volumes.find(|(_, places)| is_called(places)).map(|(volume, _)| volume_key(volume))
    }

    /// A plan for a volume was acted on. Enqueues the nodes whose lists change.
    pub(super) fn acted(&mut self, volume: &Text, verdict: &Verdict, queue: &mut Enqueue) {
        let Verdict::Volume(nexts) = verdict else { return };
        for (node, next) in nexts {
            let (listed, dropped) = match next.listing {
                Listing::Listed => (true, false),
                Listing::Dropped => (false, true),
                Listing::Unsaid => (false, false),
            };
            let is_new = set(&mut self.listing, node, volume, Wanted::of(listed))
                | set(&mut self.dropped, node, volume, Wanted::of(dropped));
            if is_new {
                queue.add(&node_key(node));
            }
            let places = self.places.entry(volume.clone()).or_default();
            match &next.memory {
                Some(memory) => places.insert(node.clone(), memory.clone()),
                None => places.remove(node),
            };
        }
        if self.places.get(volume).is_some_and(BTreeMap::is_empty) {
            self.places.remove(volume);
        }
    }

    /// A plan for a node was acted on.
    pub(super) fn listed(&mut self, node: &Text, now: Duration, verdict: &Verdict) {
        match verdict {
            Verdict::Node { is_unbacked: true } => {
                self.unbacked.entry(node.clone()).or_insert(now);
            }
            Verdict::Node { is_unbacked: false } => {
                self.unbacked.remove(node);
            }
            Verdict::Volume(_) => {}
        }
    }

    /// There is nothing left of a volume, or the node was deleted.
    pub(super) fn gone(&mut self, key: &Key) {
        if key.namespace.is_empty() {
            // What volumes are to be listed there stays: the node may be made anew.
            self.unbacked.remove(&key.name);
            return;
        }
        let volume: Text = key.to_string().into();
        let Some(places) = self.places.remove(&volume) else { return };
        for node in places.keys() {
            set(&mut self.listing, node, &volume, Wanted::Out);
            set(&mut self.dropped, node, &volume, Wanted::Out);
        }
    }
}

/// Whether a volume is to be in a set.
#[derive(Clone, Copy)]
enum Wanted {
    In,
    Out,
}

impl Wanted {
    fn of(is_in: bool) -> Self {
        if is_in { Self::In } else { Self::Out }
    }
}

/// Puts a volume into the set of a node, or takes it out. Returns whether that changed something.
fn set(
    sets: &mut BTreeMap<Text, BTreeSet<Text>>,
    node: &Text,
    volume: &Text,
    wanted: Wanted,
) -> bool {
    match wanted {
        Wanted::In => sets.entry(node.clone()).or_default().insert(volume.clone()),
        Wanted::Out => {
            let Some(volumes) = sets.get_mut(node) else { return false };
            let was_there = volumes.remove(volume);
            if volumes.is_empty() {
                sets.remove(node);
            }
            was_there
        }
    }
}
