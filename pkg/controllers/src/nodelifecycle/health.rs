//! What is remembered of nodes: when their kubelets were last heard of, on a clock that cannot be
//! set, and which of them wait for a taint. Stands for upstream's `nodeHealthMap`.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use api::{Key, Lease, Node, Pod, Status, Text, Time};
use controller::{Change, Enqueue, View};

use super::ZONES;
use super::decide::{Course, Verdict};
use super::snapshot::{Snapshot, ZonesSnapshot};
use super::zones::{self, Rates, Turn, Zone};

/// Between two pieces of news of Leases there are usually not more than the bookmarks of a watch.
const USUAL_MAX: Duration = Duration::from_mins(1);
/// Shorter silences are none.
const SILENCE_MIN: Duration = Duration::from_secs(20);

/// All that is remembered. Lost with the process, as upstream's: then each node has a new grace
/// period.
#[derive(Clone, Debug, Default)]
pub struct Health {
    pub(super) nodes: BTreeMap<Text, NodeHealth>,
    pub(super) zones: BTreeMap<Text, Zone>,
    pub(super) contact: Contact,
    /// The last version that the API server was asked for: one answer does for many nodes.
    pub(super) version: Option<Version>,
    /// Whether no node is ready: then none may have a taint that evicts.
    pub(super) master_disruption: bool,
}

/// What is remembered of a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct NodeHealth {
    pub(super) uid: Text,
    /// Whether the Event `RegisteredNode` was sent.
    pub(super) registered: bool,
    /// What its `Ready` condition says.
    pub(super) beat: Heartbeat,
    /// When its Lease was renewed, by the clock of its kubelet.
    pub(super) renewed: Option<Time>,
    /// When one of both was last seen to change.
    pub(super) probe: Duration,
    /// Whether all its pods are to be marked as not ready.
    pub(super) marks_all: bool,
    /// Pods that were bound to it while it was not ready, to be marked, too.
    pub(super) bound: BTreeSet<Key>,
    /// That it was late, if it was.
    pub(super) lapsed: Option<Lapsed>,
    /// Since when it waits for a taint that evicts.
    pub(super) waits: Option<Duration>,
    /// Whether it may get one now.
    pub(super) turn: bool,
}

/// When a kubelet last wrote the `Ready` condition, by its own clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Heartbeat {
    /// There is no such condition.
    Never,
    /// Then; none: the condition does not say.
    At(Option<Time>),
}

/// A kubelet has not reported before its deadline, as far as the caches show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Lapsed {
    /// The deadline.
    pub(super) deadline: Duration,
    /// One after that: what was renewed in time is up to it.
    pub(super) version: Version,
}

/// A version of the API server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Version {
    /// When the sync began in which it was read.
    pub(super) read: Duration,
    /// Its number.
    pub(super) number: u64,
}

/// Whether the API server can be heard: what its silence hides says nothing about nodes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Contact {
    /// When there was news of Leases, as of the last look at the zones; none: no look yet.
    heard: Option<Duration>,
    /// How long it usually is until there are more.
    usual: Duration,
    /// When the last long silence ended: what was renewed in it may not have come through.
    resumed: Duration,
}

// === impl Contact ===

impl Contact {
    /// Since when, at least, kubelets had the opportunity to report, and up to when it is known
    /// what they reported; none: that is not known now.
    pub(super) fn known(&self, heard: Option<Duration>) -> Option<(Duration, Duration)> {
        let heard = heard?;
        (!self.is_gap(heard)).then_some((self.resumed, heard))
    }

    /// A look at the zones.
    fn look(&mut self, heard: Option<Duration>) {
        let Some(heard) = heard else { return };
        if self.is_gap(heard) {
            self.resumed = heard;
        }
        let gap = self.heard.map_or(Duration::ZERO, |before| heard.saturating_sub(before));
        if !gap.is_zero() {
            self.usual = gap.min(USUAL_MAX).max(self.usual.mul_f64(0.9));
        }
        self.heard = Some(heard);
    }

    fn is_gap(&self, heard: Duration) -> bool {
        let gap = self.heard.map_or(Duration::ZERO, |before| heard.saturating_sub(before));
        gap > SILENCE_MIN.max(self.usual * 3)
    }
}

// === impl NodeHealth ===

impl NodeHealth {
    fn new(node: &Node, view: &View<'_>) -> Self {
        let lease = view.of::<Lease>().get(&lease_key(&node.meta.key.name));
        let renewed = lease.and_then(|lease| lease.renewed);
        let beat = beat(node);
        // A kubelet that has never reported was to do so since the node was made.
        let age = node.meta.creation_timestamp.map(|made| view.now.since(made));
        let is_silent = beat == Heartbeat::Never && renewed.is_none();
        let probe = view.uptime.saturating_sub(age.filter(|_| is_silent).unwrap_or_default());
        Self {
            uid: node.meta.uid.clone(),
            registered: false,
            beat,
            renewed,
            probe,
            // A predecessor may have ended before all of them were.
            marks_all: node.ready == Some(Status::Unknown),
            bound: BTreeSet::new(),
            lapsed: None,
            waits: None,
            turn: false,
        }
    }
}

pub(super) fn beat(node: &Node) -> Heartbeat {
    let ready = node.condition("Ready");
    ready.map_or(Heartbeat::Never, |ready| Heartbeat::At(ready.heartbeat))
}

pub(super) fn lease_key(node: &str) -> Key {
    Key::new(Lease::OF_NODES, node)
}

// === impl Health ===

impl Health {
    /// As the handlers of nodes and the start of `tryUpdateNodeHealth`.
    pub(super) fn node_changed(
        &mut self,
        change: &Change<Node>,
        view: &View<'_>,
        queue: &mut Enqueue,
    ) {
        let node = change.object();
        let key = &node.meta.key;
        match change {
            Change::Added(node) => {
                let known = self.nodes.get(&key.name).is_some_and(|it| it.uid == node.meta.uid);
                if !known {
                    self.nodes.insert(key.name.clone(), NodeHealth::new(node, view));
                }
                queue.add(key);
            }
            Change::Updated { new, .. } => {
                if let Some(health) = self.nodes.get_mut(&key.name)
                    && health.beat != beat(new)
                {
                    (health.beat, health.probe) = (beat(new), view.uptime);
                }
                queue.add(key);
            }
            Change::Deleted(_) => queue.forget(key),
        }
    }

    /// Any change of the time counts: the clock of a kubelet may be set back.
    pub(super) fn lease_changed(&mut self, change: &Change<Lease>, view: &View<'_>) {
        let (Change::Added(lease) | Change::Updated { new: lease, .. }) = change else { return };
        if &*lease.meta.key.namespace != Lease::OF_NODES {
            return;
        }
        if let Some(health) = self.nodes.get_mut(&lease.meta.key.name)
            && health.renewed != lease.renewed
        {
            (health.renewed, health.probe) = (lease.renewed, view.uptime);
        }
    }

    /// As `podUpdated` and `processPod`: a pod that is bound to a node that is not ready. Those
    /// that were there before are the kubelet's, as long as it reports.
    pub(super) fn pod_changed(
        &mut self,
        change: &Change<Pod>,
        view: &View<'_>,
        queue: &mut Enqueue,
    ) {
        let pod = match change {
            Change::Updated { old, new } if old.node_name == new.node_name => return,
            Change::Added(pod) | Change::Updated { new: pod, .. } => pod,
            Change::Deleted(_) => return,
        };
        let Some(name) = &pod.node_name else { return };
        let node = view.of::<Node>().get(&Key::new("", name));
        let is_unready = node.is_some_and(|node| !matches!(node.ready, None | Some(Status::True)));
        if let Some(health) = self.nodes.get_mut(name)
            && health.registered
            && is_unready
            && pod.is_ready()
        {
            health.bound.insert(pod.meta.key.clone());
            queue.add(&Key::new("", name));
        }
    }

    /// A plan for a node was acted on.
    pub(super) fn acted(
        &mut self,
        s: &Snapshot,
        verdict: &Verdict,
        succeeded: bool,
        queue: &mut Enqueue,
    ) {
        let name = &s.key.name;
        if matches!(verdict.course, Course::Removed) {
            self.nodes.remove(name);
            return;
        }
        let Some(health) = self.nodes.get_mut(name) else { return };
        health.registered |= verdict.registered;
        if let Course::Reported(beat) = verdict.course {
            (health.beat, health.probe) = (beat, s.uptime);
        }
        if let Course::Late(lapsed) = verdict.course {
            health.lapsed = Some(lapsed);
            self.version = self.version.max(Some(lapsed.version));
        }
        if verdict.waits {
            // Whatever failed for its pods, it gets its turn.
            if health.waits.is_none() {
                queue.add(&Key::parse(ZONES));
            }
            health.waits.get_or_insert(s.uptime);
        }
        if !succeeded {
            return;
        }
        if let Course::Lost { was_ready } = verdict.course {
            health.marks_all |= was_ready;
        }
        if verdict.marked {
            health.marks_all = false;
            // Another one may have been bound meanwhile.
            let Some(seen) = &s.health else { return };
            health.bound.retain(|pod| !seen.bound.contains(pod));
        }
        if !verdict.waits {
            (health.waits, health.turn) = (None, false);
        }
    }

    /// The zones were looked at.
    pub(super) fn looked(&mut self, s: &ZonesSnapshot, rates: &Rates, queue: &mut Enqueue) {
        self.contact.look(s.heard);
        // All of their nodes are left out of the count; yet they get taints, at the rate of a zone.
        let is_left_out = |(zone, _): &(Text, Zone)| !s.sizes.contains_key(zone);
        let (mut left_out, counted): (BTreeMap<_, _>, BTreeMap<_, _>) =
            std::mem::take(&mut self.zones).into_iter().partition(is_left_out);
        self.zones = counted;
        let turn = zones::turn(&mut self.zones, &s.sizes, rates, s.uptime);
        match turn {
            Turn::Stays => {}
            Turn::IntoMasterDisruption => {
                self.master_disruption = true;
                for (name, health) in &mut self.nodes {
                    health.turn = false;
                    queue.add(&Key::new("", name));
                }
            }
            Turn::OutOfMasterDisruption => {
                self.master_disruption = false;
                for (name, health) in &mut self.nodes {
                    health.probe = s.uptime;
                    queue.add(&Key::new("", name));
                }
            }
        }
        for zone in s.zones.values() {
            if !self.zones.contains_key(zone) {
                let known = left_out.remove(zone);
                let zone_of = known.unwrap_or_else(|| Zone::new(rates, s.uptime));
                self.zones.insert(zone.clone(), zone_of);
            }
        }
        self.give_turns(s, queue);
        if let Some(delay) = self.next_turn(s) {
            queue.add_after(&Key::parse(ZONES), delay);
        }
    }

    /// As `doNoExecuteTaintingPass`: a token is taken first, then the node that waits longest is
    /// looked at.
    fn give_turns(&mut self, s: &ZonesSnapshot, queue: &mut Enqueue) {
        let mut waiting: Vec<_> = self
            .nodes
            .iter()
            .filter(|(_, health)| !health.turn)
            .filter_map(|(name, health)| Some((health.waits?, name.clone())))
            .collect();
        waiting.sort();
        for (_, name) in waiting {
            let Some(zone) = s.zones.get(&name).and_then(|zone| self.zones.get_mut(zone)) else {
                continue;
            };
            if zone.limiter.try_accept(s.uptime)
                && let Some(health) = self.nodes.get_mut(&name)
            {
                health.turn = true;
                queue.add(&Key::new("", &name));
            }
        }
    }

    /// How long until the next of the nodes that wait may get its taint; none: none waits, or may.
    pub(super) fn next_turn(&self, s: &ZonesSnapshot) -> Option<Duration> {
        let waiting = self.nodes.iter().filter(|(_, it)| it.waits.is_some() && !it.turn);
        let waits = waiting.filter_map(|(name, _)| {
            let zone = self.zones.get(s.zones.get(name)?)?;
            zone.limiter.wait(s.uptime)
        });
        waits.min()
    }
}
