//! What a decision looks at: a node, or the zones of all nodes.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use api::{Key, Lease, Node, Pod, Status, Text, Time};
use controller::View;

use super::health::{Health, NodeHealth, Version};
use super::zones::{self, Size, ZoneState};
use super::{Options, ZONES};

/// What a sync is about.
#[derive(Clone, Debug)]
pub enum Observed {
    /// A node.
    Node(Box<Snapshot>),
    /// The zones.
    Zones(ZonesSnapshot),
}

/// A node at one moment.
#[derive(Clone, Debug)]
pub struct Snapshot {
    /// The moment.
    pub now: Time,
    /// The same on a clock that cannot be set.
    pub uptime: Duration,
    /// The flags.
    pub(super) options: Options,
    /// Its name.
    pub key: Key,
    /// The node; none: it was deleted.
    pub node: Option<Arc<Node>>,
    /// What is remembered of it.
    pub(super) health: Option<NodeHealth>,
    /// Since when kubelets could report, and up to when it is known what they did; none: not now.
    pub(super) known: Option<(Duration, Duration)>,
    /// Up to which version Leases are shown.
    pub(super) shown: u64,
    /// The last version that the API server was asked for.
    pub(super) version: Option<Version>,
    /// Whether no node is ready.
    pub(super) master_disruption: bool,
    /// Its pods that are to be marked as not ready.
    pub(super) pods: Vec<Arc<Pod>>,
}

/// The zones at one moment.
#[derive(Clone, Debug)]
pub struct ZonesSnapshot {
    /// The moment, on a clock that cannot be set.
    pub uptime: Duration,
    /// When the API server last sent something about Leases.
    pub(super) heard: Option<Duration>,
    /// How large each zone is.
    pub(super) sizes: BTreeMap<Text, Size>,
    /// The zone of each node.
    pub(super) zones: BTreeMap<Text, Text>,
    /// Their states as of the last look.
    pub(super) states: BTreeMap<Text, ZoneState>,
    /// Whether no node is ready.
    pub(super) master_disruption: bool,
    /// How many nodes wait for a taint that evicts.
    pub(super) waiting: usize,
}

pub(super) fn observe(
    options: Options,
    key: &Key,
    view: &View<'_>,
    health: &Health,
) -> Option<Observed> {
    if *key == Key::parse(ZONES) {
        return Some(Observed::Zones(zones(view, health)));
    }
    let node = view.of::<Node>().get(key);
    let known = health.nodes.get(&key.name);
    if node.is_none() && known.is_none() {
        return None;
    }
    let pods = match (&node, known) {
        (Some(node), Some(known)) => to_mark(node, known, view),
        (None, _) | (_, None) => Vec::new(),
    };
    Some(Observed::Node(Box::new(Snapshot {
        now: view.now,
        uptime: view.uptime,
        options,
        key: key.clone(),
        node,
        health: known.cloned(),
        known: health.contact.known(heard(view)),
        shown: view.of::<Lease>().version(),
        version: health.version,
        master_disruption: health.master_disruption,
        pods,
    })))
}

fn zones(view: &View<'_>, health: &Health) -> ZonesSnapshot {
    let nodes = view.of::<Node>().all();
    let zone = |node: &Arc<Node>| (node.meta.key.name.clone(), zones::zone_of(node));
    let states = health.zones.iter().map(|(name, zone)| (name.clone(), zone.state));
    ZonesSnapshot {
        uptime: view.uptime,
        heard: heard(view),
        sizes: zones::sizes(nodes.iter().map(|node| &**node)),
        zones: nodes.iter().map(zone).collect(),
        states: states.collect(),
        master_disruption: health.master_disruption,
        waiting: health.nodes.values().filter(|node| node.waits.is_some()).count(),
    }
}

fn heard(view: &View<'_>) -> Option<Duration> {
    view.silence::<Lease>().map(|silence| view.uptime.saturating_sub(silence))
}

/// As `MarkPodsNotReady`: those that have the condition `Ready`, and not as false.
fn to_mark(node: &Node, health: &NodeHealth, view: &View<'_>) -> Vec<Arc<Pod>> {
    let is_unready = !matches!(node.ready, None | Some(Status::True));
    if !is_unready || !health.marks_all && health.bound.is_empty() {
        return Vec::new();
    }
    let mut pods = view.of::<Pod>().by(Pod::BY_NODE, &node.meta.key.name);
    pods.retain(|pod| {
        let is_meant = health.marks_all || health.bound.contains(&pod.meta.key);
        is_meant && matches!(pod.ready, Some((Status::True | Status::Unknown, _)))
    });
    pods
}

// === impl Observed ===

impl Observed {
    pub(super) fn summary(&self) -> Vec<(&'static str, String)> {
        match self {
            Self::Node(node) => node.summary(),
            Self::Zones(zones) => zones.summary(),
        }
    }
}

// === impl Snapshot ===

impl Snapshot {
    fn summary(&self) -> Vec<(&'static str, String)> {
        let mut facts = Vec::new();
        if let Some(node) = &self.node {
            let ready = node.ready.map_or("never reported".to_owned(), |it| format!("{it:?}"));
            facts.push(("ready", ready));
            facts.push(("zone", shown(&zones::zone_of(node))));
            facts.extend(node.taints.iter().map(|taint| ("taint", taint.to_string())));
        }
        if let Some(health) = &self.health {
            let silent = self.uptime.saturating_sub(health.probe);
            facts.push(("kubelet last heard of", format!("{}s ago", silent.as_secs())));
            if let Some(since) = health.waits {
                let waits = self.uptime.saturating_sub(since);
                facts.push(("waits for a taint", format!("since {}s", waits.as_secs())));
            }
        }
        if self.known.is_none() {
            facts.push(("the API server", "is silent".to_owned()));
        }
        if self.master_disruption {
            facts.push(("master disruption", "no node is ready: none gets such a taint".into()));
        }
        facts
            .extend((!self.pods.is_empty()).then(|| ("pods to mark", self.pods.len().to_string())));
        facts
    }
}

// === impl ZonesSnapshot ===

impl ZonesSnapshot {
    fn summary(&self) -> Vec<(&'static str, String)> {
        let zone = |(name, size): (&Text, &Size)| {
            let state = self.states.get(name).copied().unwrap_or(ZoneState::Initial);
            let Size { all, unready } = size;
            ("zone", format!("{}: {unready} of {all} not ready, {state:?}", shown(name)))
        };
        let mut facts: Vec<_> = self.sizes.iter().map(zone).collect();
        facts.push(("nodes that wait for a taint", self.waiting.to_string()));
        facts.push(("master disruption", self.master_disruption.to_string()));
        facts
    }
}

/// A zone's key as people may read it.
fn shown(zone: &str) -> String {
    if zone.is_empty() { "none".to_owned() } else { zone.replace(":\0:", "/") }
}
