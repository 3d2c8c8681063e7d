//! What a decision about a DaemonSet looks at.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use api::{ControllerRevision, DaemonSet, Key, Kind, Meta, Node, Phase, Pod, Selector, Text, Time};
use controller::history::{self, Numbers};
use controller::owners::Owner;
use controller::{Claim, View, Why, claim, pods};

use super::backoff::{Backoff, Delay, Place};
use super::fit::{self, Fit};
use super::{Controller, HASH_LABEL};

/// A DaemonSet, its pods, its revisions and the nodes at one moment.
#[derive(Clone, Debug)]
pub struct Snapshot {
    /// The moment.
    pub now: Time,
    /// How often in a row the set has failed before.
    pub failures: u32,
    /// The set.
    pub set: Arc<DaemonSet>,
    /// What its claim on pods comes to; pods that have ended or are being deleted are among them.
    pub pods: Claim<Pod>,
    /// What its claim on revisions comes to.
    pub revisions: Claim<ControllerRevision>,
    /// The data of the revision of the present template.
    pub data: String,
    /// The labels of the revisions with that data: one, unless several are to be made one.
    pub(super) hashes: BTreeSet<String>,
    /// All nodes, and whether they should have a pod.
    pub(super) nodes: BTreeMap<Text, Fit>,
    /// How long failed pods must stay, by node; of nodes that have one.
    pub(super) delays: BTreeMap<Text, Delay>,
}

/// The golden ratio, as a part of 2^32: its multiples come near every place of a list soon.
const STRIDE: u32 = 0x9E37_79B9;

/// The pods of a set by the node that they are on or are for.
pub(super) type ByNode<'a> = BTreeMap<&'a str, Vec<&'a Arc<Pod>>>;

/// The selector of a set; or why the set must be left alone.
pub(super) fn selector(set: &DaemonSet) -> Result<&Selector, Why> {
    set.usable_selector().map_err(|refusal| refusal.why("set"))
}

pub(super) fn observe(
    key: &Key,
    view: &View<'_>,
    controller: &Controller,
    failed_pods: &Backoff,
) -> Option<Snapshot> {
    let set = view.of::<DaemonSet>().get(key)?;
    let mut snapshot = Snapshot {
        now: view.now,
        failures: view.failures,
        set: Arc::clone(&set),
        pods: Claim::default(),
        revisions: Claim::default(),
        data: String::new(),
        hashes: BTreeSet::new(),
        nodes: BTreeMap::new(),
        delays: BTreeMap::new(),
    };
    let Ok(selector) = selector(&set) else { return Some(snapshot) };
    if set.meta.is_terminating() {
        return Some(snapshot);
    }
    // One that has no template cannot be read; see `selector`.
    snapshot.data = history::data(set.raw.field("spec"), Numbers::Whole).unwrap_or_default();
    let revisions = history::revisions_of(view.of(), &set.meta);
    let matches = |it: &ControllerRevision| selector.matches(&it.meta.labels);
    snapshot.revisions = claim(&set.meta, revisions, matches);
    let mine = snapshot.revisions.mine.iter();
    let present = mine.filter(|revision| history::holds(revision, &snapshot.data));
    snapshot.hashes = present.map(|revision| label_of(revision).to_owned()).collect();
    let found = pods::pods_of(view.of(), &DaemonSet::RESOURCE, &set.meta);
    snapshot.pods = claim(&set.meta, found, pods::matcher(selector));
    let nodes = view.of::<Node>().all();
    let fits = nodes.iter().map(|node| {
        let fit = fit::fit(&set, node, controller.compares_tolerations);
        (node.meta.key.name.clone(), fit)
    });
    snapshot.nodes = fits.collect();
    let failed = snapshot.pods.mine.iter().filter(|pod| pod.phase == Phase::Failed);
    let delays = failed.filter_map(|pod| {
        let node = node_of(pod)?;
        Some((node.clone(), failed_pods.delay(&Place::new(&set, node), view.now)))
    });
    snapshot.delays = delays.collect();
    Some(snapshot)
}

/// The node that a pod is on, or that it is for. As `GetTargetNodeName`.
pub(super) fn node_of(pod: &Pod) -> Option<&Text> {
    pod.node_name.as_ref().or(pod.target_node.as_ref())
}

/// The label of a revision. One that has none, since an old version made it, gets its name.
pub(super) fn label_of(revision: &ControllerRevision) -> &str {
    label(&revision.meta).unwrap_or(&revision.meta.key.name)
}

/// The label of a revision, or of a pod: which revision it is of.
pub(super) fn label(meta: &Meta) -> Option<&str> {
    meta.labels.get(HASH_LABEL)
}

// === impl Snapshot ===

impl Snapshot {
    /// The pods by node, without those that have ended and are being deleted. As
    /// `getNodesToDaemonPods`.
    pub(super) fn by_node(&self) -> ByNode<'_> {
        let mut nodes = ByNode::new();
        for pod in &self.pods.mine {
            if pod.is_terminal() && pod.meta.is_terminating() {
                continue;
            }
            if let Some(node) = node_of(pod) {
                nodes.entry(node).or_default().push(pod);
            }
        }
        nodes
    }

    /// Turns a list that a sync may not come to the end of, so that each try begins elsewhere: what
    /// is refused for some nodes must not keep the others from their turn. In the order of names
    /// until something fails. Upstream takes nodes in the order of a Go map.
    pub(super) fn begin_elsewhere<T>(&self, list: &mut [T]) {
        let part = u128::from(self.failures.wrapping_mul(STRIDE));
        let start = usize::try_from((part * list.len() as u128) >> 32).unwrap_or(0);
        list.rotate_left(start);
    }

    /// Whether a pod is of the present template. As `IsPodUpdated`.
    pub(super) fn is_updated(&self, pod: &Pod, hash: &str) -> bool {
        let labels = &pod.meta.labels;
        let generation = self.set.template_generation.map(|generation| generation.to_string());
        let same_generation =
            generation.is_some() && labels.get(super::GENERATION_LABEL) == generation.as_deref();
        same_generation || self.is_of_present(pod, hash)
    }

    /// Whether a pod has the label of a revision of the present template. One whose label is yet to
    /// follow that of its revision, since there are several, is no old one meanwhile.
    pub(super) fn is_of_present(&self, pod: &Pod, hash: &str) -> bool {
        let label = pod.meta.labels.get(HASH_LABEL).filter(|label| !label.is_empty());
        label.is_some_and(|label| label == hash || self.hashes.contains(label))
    }

    /// Whether a pod has been ready for long enough.
    pub(super) fn is_available(&self, pod: &Pod) -> bool {
        pods::is_available(pod, self.set.min_ready_seconds, self.now)
    }
}

/// Sorts the pods of a node: scheduled ones first, then the oldest. As
/// `podByCreationTimestampAndPhase`.
pub(super) fn sort_oldest_first(pods: &mut [&Arc<Pod>]) {
    pods.sort_by_key(|pod| {
        (pod.node_name.is_none(), pod.meta.creation_timestamp, pod.meta.key.name.clone())
    });
}
