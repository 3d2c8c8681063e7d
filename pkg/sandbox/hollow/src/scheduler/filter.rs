//! Why a pod cannot be on a node, in the order and the words of upstream's filter plugins.

use std::collections::BTreeMap;
use std::fmt;

use api::{Effect, Taint};

use super::cluster::{Cluster, Host};
use super::pod::Pod;
use super::topology::Facts;

/// One reason.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Reason {
    Unschedulable,
    Taint,
    Wish,
    Ports,
    TooMany,
    Insufficient(String),
    SpreadLabel,
    Spread,
    Near,
    Far,
    Blocked,
    /// The pod asks for other nodes by name.
    Elsewhere,
    NoVictims,
    NoHelp,
}

/// All reasons of the first plugin that says no.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Refusal {
    pub(crate) reasons: Vec<Reason>,
    /// Whether fewer pods would not help.
    pub(crate) hopeless: bool,
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Unschedulable => "node(s) were unschedulable",
            Self::Taint => "node(s) had untolerated taint(s)",
            Self::Wish => "node(s) didn't match Pod's node affinity/selector",
            Self::Ports => "node(s) didn't have free ports for the requested pod ports",
            Self::TooMany => "Too many pods",
            Self::Insufficient(resource) => return write!(f, "Insufficient {resource}"),
            Self::SpreadLabel => {
                "node(s) didn't match pod topology spread constraints (missing required label)"
            }
            Self::Spread => "node(s) didn't match pod topology spread constraints",
            Self::Near => "node(s) didn't match pod affinity rules",
            Self::Far => "node(s) didn't match pod anti-affinity rules",
            Self::Blocked => "node(s) didn't satisfy existing pods anti-affinity rules",
            Self::Elsewhere => "node(s) didn't satisfy plugin(s) [NodeAffinity]",
            Self::NoVictims => "No preemption victims found for incoming pod",
            Self::NoHelp => "Preemption is not helpful for scheduling",
        })
    }
}

/// Why a pod cannot be on a node; none: it can.
pub(crate) fn refuse(pod: &Pod, host: &Host, facts: &Facts, cluster: &Cluster) -> Option<Refusal> {
    let one = |reason, hopeless| Some(Refusal { reasons: vec![reason], hopeless });
    let cordon = || Taint::new("node.kubernetes.io/unschedulable", "", Effect::NoSchedule);
    if host.unschedulable && !pod.tolerates(&cordon()) {
        return one(Reason::Unschedulable, true);
    }
    if !pod.tolerates_all(&host.taints) {
        return one(Reason::Taint, true);
    }
    if !pod.wish.takes(&host.name, &host.labels) {
        return one(Reason::Wish, true);
    }
    // Room that was made for a pod of at least this priority is taken.
    let expected = cluster.nominated.get(&host.name).into_iter().flat_map(BTreeMap::values);
    let expected = || {
        let others = |it: &&std::sync::Arc<Pod>| it.key != pod.key && it.priority >= pod.priority;
        expected.clone().filter(others)
    };
    let conflicts = |port| pod.ports.iter().any(|mine| mine.conflicts(port));
    if !pod.ports.is_empty()
        && (host.ports.iter().any(conflicts) || expected().flat_map(|it| &it.ports).any(conflicts))
    {
        return one(Reason::Ports, false);
    }
    if let Some(refusal) = lacks(pod, host, expected().map(|it| &**it)) {
        return Some(refusal);
    }
    facts.refuse(pod, host).and_then(|(reason, hopeless)| one(reason, hopeless))
}

/// What a node has too little of. As upstream's `fitsRequest`.
fn lacks<'a>(pod: &Pod, host: &Host, expected: impl Iterator<Item = &'a Pod>) -> Option<Refusal> {
    let mut pods = host.pods.len() + 1;
    let mut reasons = Vec::new();
    let mut hopeless = false;
    let mut others = None;
    for pod in expected {
        pods += 1;
        others.get_or_insert_with(|| host.used.clone()).add(&pod.wants);
    }
    let used = others.as_ref().unwrap_or(&host.used);
    if pods > host.pods_max {
        reasons.push(Reason::TooMany);
    }
    let mut check = |name: &str, wants: i64, used: i64, room: i64| {
        if wants > 0 && wants > room - used {
            reasons.push(Reason::Insufficient(name.to_owned()));
            hopeless |= wants > room;
        }
    };
    check("cpu", pod.wants.cpu_millis, used.cpu_millis, host.room.cpu_millis);
    check("memory", pod.wants.memory, used.memory, host.room.memory);
    check("ephemeral-storage", pod.wants.storage, used.storage, host.room.storage);
    let amount = |of: &BTreeMap<String, i64>, name: &str| of.get(name).copied().unwrap_or(0);
    for (name, wants) in &pod.wants.others {
        check(name, *wants, amount(&used.others, name), amount(&host.room.others, name));
    }
    (!reasons.is_empty()).then_some(Refusal { reasons, hopeless })
}

/// How often each reason was given, as upstream's `FitError` lists it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tally {
    nodes: usize,
    reasons: BTreeMap<Reason, usize>,
}

impl Tally {
    /// None yet, of so many nodes.
    pub(crate) fn new(nodes: usize) -> Self {
        Self { nodes, reasons: BTreeMap::new() }
    }

    /// One node more says so.
    pub(crate) fn add(&mut self, reason: &Reason, count: usize) {
        if count > 0 {
            *self.reasons.entry(reason.clone()).or_default() += count;
        }
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let reasons = self.reasons.iter().map(|(reason, count)| format!("{count} {reason}"));
        let mut reasons: Vec<String> = reasons.collect();
        reasons.sort();
        write!(f, "0/{} nodes are available:", self.nodes)?;
        if reasons.is_empty() { Ok(()) } else { write!(f, " {}.", reasons.join(", ")) }
    }
}
