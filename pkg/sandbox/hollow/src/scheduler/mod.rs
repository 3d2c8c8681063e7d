//! The scheduler.

mod cluster;
mod filter;
mod pod;
mod preempt;
mod queue;
mod score;
mod select;
mod topology;
mod words;

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use api::{Key, Resource, Time};
use serde_json::Value;

use crate::alarms::Alarms;
use crate::fields::{at, items, key, pairs, text};
use crate::kinds::{CLAIMS, NAMESPACES, NODES, PODS};
use crate::seed::Seed;
use crate::{Change, Part, Reaction, Sender};
use cluster::Cluster;
use filter::{Reason, Refusal, Tally, refuse};
use pod::Pod;
use preempt::Outcome;
use queue::Queue;
use topology::Facts;
use words::Words;

/// The pods that name this scheduler are its own.
const NAME: &str = "default-scheduler";
/// How many pods one step schedules.
const STEP_MAX: usize = 256;
/// The next step after one that did not schedule all.
const SOON: Duration = Duration::from_millis(1);
/// A pod for which room is made is tried again after this even if nothing is seen of it.
const RETRY: Duration = Duration::from_secs(10);
/// A pod that no change activates is tried again after this. Upstream's
/// `DefaultPodMaxInUnschedulablePodsDuration`.
const PARKED_MAX: Duration = Duration::from_mins(5);
/// How long a pod counts as bound that is not shown so.
const ASSUMED: Duration = Duration::from_secs(5);

/// A scheduler for all pods that name `default-scheduler`.
#[derive(Default)]
pub struct Scheduler {
    seed: Seed,
    cluster: Cluster,
    queue: Queue,
    /// Pods that are bound as far as is known here, and where.
    assumed: BTreeMap<Key, (Arc<Pod>, String)>,
    /// When to give up that.
    alarms: Alarms<Key>,
    words: Words,
    /// Where in the order of the nodes the next search begins.
    start: usize,
}

/// What became of a pod.
enum Verdict {
    /// It is bound to that node.
    Place(usize),
    /// No node takes it; why, and what each node said.
    Nowhere(String, Vec<(usize, Refusal)>),
}

impl Scheduler {
    /// One whose draws between equal nodes come from this seed.
    pub fn new(seed: u64) -> Self {
        Self { seed: Seed(seed), ..Self::default() }
    }
}

impl Part for Scheduler {
    fn watches(&self) -> &'static [Resource] {
        static WATCHED: [Resource; 4] = [NAMESPACES, NODES, PODS, CLAIMS];
        &WATCHED
    }

    fn step(&mut self, now: Time, changes: &[Change]) -> Reaction {
        let mut reaction = Reaction::default();
        for change in changes {
            if change.resource == PODS {
                self.see_pod(change, now, &mut reaction);
            } else if change.resource == NODES {
                self.see_node(change, now);
            } else if change.resource == NAMESPACES {
                let name = text(&change.object, "/metadata/name").to_owned();
                let labels = api::Labels::new(pairs(&change.object, "/metadata/labels"));
                self.cluster.namespaces.insert(name, labels);
            } else if change.resource == CLAIMS {
                self.see_claim(change, now);
            }
        }
        for key in self.alarms.due(now) {
            if let Some((pod, _)) = self.assumed.remove(&key) {
                self.cluster.take(&key);
                self.queue.show(&pod, now);
                self.queue.rest(&key, now);
            }
        }
        self.queue.tick(now);
        let mut left = STEP_MAX;
        while left > 0
            && let Some(pod) = self.queue.pop()
        {
            self.schedule(&pod, now, &mut reaction);
            left -= 1;
        }
        let soon = self.queue.has_ready().then(|| now + SOON);
        reaction.again = [soon, self.queue.next(), self.alarms.next()].into_iter().flatten().min();
        reaction
    }
}

// === what is shown ===

impl Scheduler {
    fn see_node(&mut self, change: &Change, now: Time) {
        if change.gone {
            self.cluster.drop_node(text(&change.object, "/metadata/name"));
        } else if self.cluster.show_node(&change.object) {
            self.queue.activate_all(now);
        }
    }

    fn see_claim(&mut self, change: &Change, now: Time) {
        let key = key(&change.object);
        if change.gone {
            self.cluster.claims.remove(&key);
        } else if self.cluster.claims.insert(key) {
            self.queue.activate_all(now);
        }
    }

    fn see_pod(&mut self, change: &Change, now: Time, reaction: &mut Reaction) {
        let object = &change.object;
        let key = key(object);
        let node = text(object, "/spec/nodeName");
        let over = change.gone || matches!(text(object, "/status/phase"), "Succeeded" | "Failed");
        if over {
            self.queue.remove(&key);
            self.words.forget(&key);
            self.release(&key, now);
            return;
        }
        if node.is_empty() {
            self.see_waiting(change, &key, now);
            return;
        }
        self.queue.remove(&key);
        self.confirm(&key, node, now, reaction);
        let same = |pod: &Pod| {
            let same = |path: &str| at(&pod.object, path) == at(object, path);
            pod.uid == text(object, "/metadata/uid")
                && same("/metadata/generation")
                && same("/metadata/labels")
                && same("/metadata/deletionTimestamp")
        };
        let known = self.cluster.placed.get(&key);
        if known.is_some_and(|placed| placed.node == node && same(&placed.pod)) {
            return;
        }
        let pod = Arc::new(Pod::read(object));
        let new = known.is_none();
        self.cluster.nominate(&pod, "");
        self.cluster.put(&pod, node);
        if new {
            self.queue.activate_near(now);
        }
    }

    /// A pod that has no node.
    fn see_waiting(&mut self, change: &Change, key: &Key, now: Time) {
        let object = &change.object;
        let uid = text(object, "/metadata/uid");
        match self.assumed.get(key) {
            Some((pod, _)) if pod.uid == uid => return,
            Some(_) => self.release(key, now),
            None => {}
        }
        let scheduler = text(object, "/spec/schedulerName");
        let deleted = !text(object, "/metadata/deletionTimestamp").is_empty();
        let gated = !items(object, "/spec/schedulingGates").is_empty();
        if !matches!(scheduler, "" | NAME) || deleted || gated {
            self.queue.remove(key);
            self.release(key, now);
            return;
        }
        let pod = Arc::new(Pod::read(object));
        self.cluster.nominate(&pod, text(object, "/status/nominatedNodeName"));
        self.queue.show(&pod, now);
    }

    /// A pod is or is to be nowhere any more.
    fn release(&mut self, key: &Key, now: Time) {
        self.alarms.set(key, None);
        self.assumed.remove(key);
        self.cluster.nominated.retain(|_, pods| {
            pods.remove(key);
            !pods.is_empty()
        });
        let Some(node) = self.cluster.take(key) else { return };
        let Some(host) = self.cluster.place(&node).and_then(|place| self.cluster.host(place))
        else {
            return;
        };
        let cluster = &self.cluster;
        // Others matter only to those that look at them; for those it is worth a try.
        let empty = Facts::default();
        self.queue.activate_if(now, |pod| {
            let looks = !pod.near.is_empty() || !pod.far.is_empty() || !pod.spreads.is_empty();
            looks || refuse(pod, host, &empty, cluster).is_none()
        });
    }

    /// A pod is shown on a node.
    fn confirm(&mut self, key: &Key, node: &str, now: Time, reaction: &mut Reaction) {
        let Some((pod, assumed)) = self.assumed.remove(key) else { return };
        self.alarms.set(key, None);
        self.words.forget(key);
        if assumed == node {
            reaction.send(&Sender::Scheduler, [self.words.scheduled(&pod, node, now)]);
        }
    }
}

// === what to do ===

impl Scheduler {
    fn schedule(&mut self, pod: &Arc<Pod>, now: Time, reaction: &mut Reaction) {
        let verdict = match missing_claim(pod, &self.cluster) {
            Some(why) if self.cluster.len() > 0 => Verdict::Nowhere(why, Vec::new()),
            _ => self.choose(pod),
        };
        match verdict {
            Verdict::Place(place) => self.bind(pod, place, now, reaction),
            Verdict::Nowhere(why, refusals) => self.fail(pod, &why, &refusals, (now, reaction)),
        }
    }

    fn bind(&mut self, pod: &Arc<Pod>, place: usize, now: Time, reaction: &mut Reaction) {
        let Some(host) = self.cluster.host(place) else { return };
        let node = host.name.clone();
        reaction.send(&Sender::Scheduler, [words::bind(pod, &node)]);
        self.cluster.put(pod, &node);
        self.alarms.set(&pod.key, Some(now + ASSUMED));
        self.assumed.insert(pod.key.clone(), (Arc::clone(pod), node));
    }

    fn fail(
        &mut self,
        pod: &Arc<Pod>,
        why: &str,
        refusals: &[(usize, Refusal)],
        (now, reaction): (Time, &mut Reaction),
    ) {
        let known = text(&pod.object, "/status/nominatedNodeName").to_owned();
        let mut makes_room = false;
        let (message, nominated) = if self.cluster.len() == 0 {
            (why.to_owned(), known.clone())
        } else {
            match preempt::preempt(pod, &self.cluster, refusals) {
                Outcome::Nothing(message) if message.contains("not eligible") => {
                    (format!("{why} {message}"), known.clone())
                }
                Outcome::Nothing(message) => (format!("{why} {message}"), String::new()),
                Outcome::Make { place, victims } => {
                    let host = self.cluster.host(place).map(|host| host.name.clone());
                    let node = host.unwrap_or_default();
                    makes_room = true;
                    let victims = victims.iter().filter(|victim| !victim.is_deleted());
                    for victim in victims {
                        let preempted = self.words.preempted(victim, pod, &node, now);
                        reaction.send(&Sender::Scheduler, preempted);
                    }
                    (why.to_owned(), node)
                }
            }
        };
        self.cluster.nominate(pod, &nominated);
        let failed = self.words.failed(pod, &message, &nominated, now);
        reaction.send(&Sender::Scheduler, failed);
        let nap = if makes_room { RETRY } else { PARKED_MAX };
        self.queue.park(pod, nap, now);
    }

    /// The best of the nodes that will do; of many nodes not all are looked at.
    fn choose(&mut self, pod: &Pod) -> Verdict {
        let nodes = self.cluster.len();
        if nodes == 0 {
            return Verdict::Nowhere("no nodes available to schedule pods".to_owned(), Vec::new());
        }
        let order = self.cluster.order();
        let (before, after) = order.split_at(self.start.min(order.len()));
        let order = [after, before].concat();
        let facts = Facts::new(pod, &self.cluster, &BTreeSet::new());
        let check = |place: usize| {
            let host = self.cluster.host(place)?;
            Some(refuse(pod, host, &facts, &self.cluster))
        };
        let nominated = self.cluster.place(text(&pod.object, "/status/nominatedNodeName"));
        if let Some(place) = nominated.filter(|place| check(*place) == Some(None)) {
            return Verdict::Place(place);
        }
        let named = pod.wish.names();
        let all = named.is_none();
        let order: Vec<usize> = if let Some(names) = named {
            let names: BTreeSet<&str> = names.into_iter().collect();
            names.into_iter().filter_map(|name| self.cluster.place(name)).collect()
        } else {
            order
        };
        let enough = enough(nodes);
        let (mut found, mut refusals, mut looked) = (Vec::new(), Vec::new(), 0);
        for place in order {
            looked += 1;
            match check(place) {
                Some(None) => found.push(place),
                Some(Some(refusal)) => refusals.push((place, refusal)),
                None => {}
            }
            if found.len() >= enough {
                break;
            }
        }
        if all {
            self.start = (self.start + looked) % nodes;
        }
        if let Some(place) = score::best(pod, &found, &self.cluster, self.seed) {
            return Verdict::Place(place);
        }
        let mut tally = Tally::new(nodes);
        for reason in refusals.iter().flat_map(|(_, refusal)| &refusal.reasons) {
            tally.add(reason, 1);
        }
        tally.add(&Reason::Elsewhere, nodes - refusals.len());
        Verdict::Nowhere(tally.to_string(), refusals)
    }
}

/// How many nodes that will do are enough. As upstream's `numFeasibleNodesToFind`.
fn enough(nodes: usize) -> usize {
    const MIN: usize = 100;
    if nodes < MIN {
        return nodes;
    }
    let percent = 50_usize.saturating_sub(nodes / 125).max(5);
    (nodes * percent / 100).max(MIN)
}

/// What is said of a pod whose volume claim is not there.
fn missing_claim(pod: &Pod, cluster: &Cluster) -> Option<String> {
    let missing = pod.claims.iter().find(|claim| !cluster.claims.contains(*claim))?;
    let name = api::go::quote(&*missing.name);
    let named =
        |volume: &&Value| text(volume, "/persistentVolumeClaim/claimName") == &*missing.name;
    let why = if items(&pod.object, "/spec/volumes").iter().any(|it| named(&it)) {
        format!("persistentvolumeclaim {name} not found")
    } else {
        format!(
            "waiting for ephemeral volume controller to create the persistentvolumeclaim {name}"
        )
    };
    Some(format!("0/{} nodes are available: {why}.", cluster.len()))
}
