//! What a scheduler knows: nodes, and which pods are on them or will be.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use api::{Key, Labels, Taint};
use apimachinery::Quantity;
use serde_json::Value;

use super::pod::{Amounts, Pod, Port, taint};
use crate::fields::{at, flag, items, pairs, text};

pub(crate) const ZONE: &str = "topology.kubernetes.io/zone";
pub(crate) const HOSTNAME: &str = "kubernetes.io/hostname";

/// A node.
#[derive(Clone, Debug)]
pub(crate) struct Host {
    pub(crate) name: String,
    pub(crate) labels: Labels,
    pub(crate) taints: Vec<Taint>,
    pub(crate) unschedulable: bool,
    pub(crate) room: Amounts,
    pub(crate) pods_max: usize,
    pub(crate) used: Amounts,
    /// CPU and memory as they count for scores.
    pub(crate) weighs: (i64, i64),
    pub(crate) pods: BTreeMap<Key, Arc<Pod>>,
    pub(crate) ports: Vec<Port>,
}

/// A pod that is on a node.
pub(crate) struct Placed {
    pub(crate) pod: Arc<Pod>,
    pub(crate) node: String,
}

/// Everything.
#[derive(Default)]
pub(crate) struct Cluster {
    hosts: Vec<Option<Host>>,
    places: BTreeMap<String, usize>,
    /// Places in the order in which nodes are tried: the zones in turn. Empty: not known yet.
    order: Vec<usize>,
    pub(crate) placed: BTreeMap<Key, Placed>,
    /// How many pods of a controller are at each place.
    pub(crate) owners: BTreeMap<String, BTreeMap<usize, i64>>,
    /// Placed pods that keep others away.
    pub(crate) loners: BTreeSet<Key>,
    /// By node, pods for which room was made.
    pub(crate) nominated: BTreeMap<String, BTreeMap<Key, Arc<Pod>>>,
    pub(crate) namespaces: BTreeMap<String, Labels>,
    pub(crate) claims: BTreeSet<Key>,
}

// === impl Host ===

impl Host {
    fn read(node: &Value) -> Self {
        let pods = at(node, "/status/allocatable/pods").and_then(Quantity::from_json);
        let pods_max = pods.and_then(|it| usize::try_from(it.value()).ok());
        Self {
            name: text(node, "/metadata/name").to_owned(),
            labels: Labels::new(pairs(node, "/metadata/labels")),
            taints: items(node, "/spec/taints").iter().map(taint).collect(),
            unschedulable: flag(node, "/spec/unschedulable"),
            room: Amounts::read(node, "/status/allocatable"),
            pods_max: pods_max.unwrap_or(0),
            used: Amounts::default(),
            weighs: (0, 0),
            pods: BTreeMap::new(),
            ports: Vec::new(),
        }
    }

    /// Puts a pod here.
    pub(crate) fn put(&mut self, pod: &Arc<Pod>) {
        self.used.add(&pod.wants);
        self.weighs.0 += pod.weighs.0;
        self.weighs.1 += pod.weighs.1;
        self.ports.extend(pod.ports.iter().cloned());
        self.pods.insert(pod.key.clone(), Arc::clone(pod));
    }

    /// Takes a pod away.
    pub(crate) fn take(&mut self, key: &Key) {
        let Some(pod) = self.pods.remove(key) else { return };
        self.used.take(&pod.wants);
        self.weighs.0 -= pod.weighs.0;
        self.weighs.1 -= pod.weighs.1;
        for port in &pod.ports {
            if let Some(at) = self.ports.iter().position(|it| it == port) {
                self.ports.swap_remove(at);
            }
        }
    }

    /// Whether pods fare alike on both.
    fn is_like(&self, other: &Self) -> bool {
        self.labels == other.labels
            && self.taints == other.taints
            && self.unschedulable == other.unschedulable
            && self.room == other.room
            && self.pods_max == other.pods_max
    }
}

// === impl Cluster ===

impl Cluster {
    /// How many nodes there are.
    pub(crate) fn len(&self) -> usize {
        self.places.len()
    }

    /// The node at a place.
    pub(crate) fn host(&self, place: usize) -> Option<&Host> {
        self.hosts.get(place)?.as_ref()
    }

    /// Where a node is.
    pub(crate) fn place(&self, node: &str) -> Option<usize> {
        self.places.get(node).copied()
    }

    /// The node of a placed pod.
    pub(crate) fn host_of(&self, placed: &Placed) -> Option<&Host> {
        self.host(self.place(&placed.node)?)
    }

    /// All nodes and their places.
    pub(crate) fn hosts(&self) -> impl Iterator<Item = (usize, &Host)> {
        self.hosts.iter().enumerate().filter_map(|(place, host)| Some((place, host.as_ref()?)))
    }

    /// The placed pods of a namespace.
    pub(crate) fn placed_in(&self, namespace: &str) -> impl Iterator<Item = &Placed> {
        let start = Key::new(namespace, "");
        let namespace = start.namespace.clone();
        let from = self.placed.range(start..);
        from.take_while(move |(key, _)| key.namespace == namespace).map(|(_, placed)| placed)
    }

    /// Takes a node as it is now. True: other pods may fit than before.
    pub(crate) fn show_node(&mut self, node: &Value) -> bool {
        let mut host = Host::read(node);
        if let Some(place) = self.place(&host.name) {
            let Some(slot) = self.hosts.get_mut(place).and_then(Option::as_mut) else {
                return false;
            };
            if slot.is_like(&host) {
                return false;
            }
            let moved = slot.labels.get(ZONE) != host.labels.get(ZONE);
            host.used = std::mem::take(&mut slot.used);
            host.weighs = slot.weighs;
            host.pods = std::mem::take(&mut slot.pods);
            host.ports = std::mem::take(&mut slot.ports);
            *slot = host;
            if moved {
                self.order.clear();
            }
            return true;
        }
        let place = self.hosts.iter().position(Option::is_none).unwrap_or(self.hosts.len());
        let here: Vec<Arc<Pod>> = self
            .placed
            .values()
            .filter(|placed| placed.node == host.name)
            .map(|placed| Arc::clone(&placed.pod))
            .collect();
        for pod in &here {
            host.put(pod);
            self.count(pod, place, 1);
        }
        self.places.insert(host.name.clone(), place);
        if place == self.hosts.len() {
            self.hosts.push(Some(host));
        } else if let Some(slot) = self.hosts.get_mut(place) {
            *slot = Some(host);
        }
        self.order.clear();
        true
    }

    /// A node is deleted.
    pub(crate) fn drop_node(&mut self, name: &str) {
        let Some(place) = self.places.remove(name) else { return };
        if let Some(host) = self.hosts.get_mut(place).and_then(Option::take) {
            host.pods.values().for_each(|pod| self.count(pod, place, -1));
        }
        self.order.clear();
    }

    /// Places in the order in which nodes are tried: the zones in turn. As upstream's
    /// `nodeTree.list`.
    pub(crate) fn order(&mut self) -> &[usize] {
        if self.order.is_empty() {
            self.order = self.sorted();
        }
        &self.order
    }

    fn sorted(&self) -> Vec<usize> {
        let mut zones: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
        for place in self.places.values() {
            let zone = self.host(*place).and_then(|host| host.labels.get(ZONE)).unwrap_or_default();
            zones.entry(zone).or_default().push(*place);
        }
        let most = zones.values().map(Vec::len).max().unwrap_or(0);
        let rows = (0..most).flat_map(|row| zones.values().filter_map(move |zone| zone.get(row)));
        rows.copied().collect()
    }

    fn count(&mut self, pod: &Pod, place: usize, by: i64) {
        let Some(owner) = &pod.owner else { return };
        let places = self.owners.entry(owner.clone()).or_default();
        let count = places.entry(place).or_default();
        *count += by;
        if *count <= 0 {
            places.remove(&place);
        }
        if places.is_empty() {
            self.owners.remove(owner);
        }
    }

    /// Puts a pod on a node, from where it was.
    pub(crate) fn put(&mut self, pod: &Arc<Pod>, node: &str) {
        self.take(&pod.key);
        if let Some(place) = self.place(node) {
            if let Some(host) = self.hosts.get_mut(place).and_then(Option::as_mut) {
                host.put(pod);
            }
            self.count(pod, place, 1);
        }
        if !pod.far.is_empty() {
            self.loners.insert(pod.key.clone());
        }
        let placed = Placed { pod: Arc::clone(pod), node: node.to_owned() };
        self.placed.insert(pod.key.clone(), placed);
    }

    /// Takes a pod off its node, whose name is returned.
    pub(crate) fn take(&mut self, key: &Key) -> Option<String> {
        let placed = self.placed.remove(key)?;
        self.loners.remove(key);
        if let Some(place) = self.place(&placed.node) {
            if let Some(host) = self.hosts.get_mut(place).and_then(Option::as_mut) {
                host.take(key);
            }
            self.count(&placed.pod, place, -1);
        }
        Some(placed.node)
    }

    /// Room was made for a pod there; empty: nowhere.
    pub(crate) fn nominate(&mut self, pod: &Arc<Pod>, node: &str) {
        self.nominated.retain(|name, pods| {
            if name != node {
                pods.remove(&pod.key);
            }
            !pods.is_empty()
        });
        if !node.is_empty() {
            let pods = self.nominated.entry(node.to_owned()).or_default();
            pods.insert(pod.key.clone(), Arc::clone(pod));
        }
    }
}
