//! The kubelets of all nodes.

mod certificate;
mod container;
mod machine;
mod nodes;
mod notes;
mod pod;
mod program;
mod report;
mod status;

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use api::{Key, Resource, Time};
use serde_json::{Value, json};

pub use certificate::{Keys, Wanted};
pub use nodes::Nodes;

use crate::alarms::Alarms;
use crate::fields::{key, text};
use crate::kinds::{CSRS, LEASES, NODES, PODS, target};
use crate::seed::Seed;
use crate::{Change, Part, Reaction, Request, Sender};
use certificate::Papers;
use machine::{LEASE_NAMESPACE, Machine};
use notes::Notes;
use pod::Pod;
use report::Report;
use status::Addresses;

/// All kubelets. What is asked of them by the methods below happens at the next step.
pub struct Kubelet {
    nodes: Nodes,
    seed: Seed,
    machines: BTreeMap<String, Machine>,
    pods: BTreeMap<Key, Resident>,
    alarms: Alarms<Subject>,
    /// The subjects to look at in this step.
    touched: BTreeSet<Subject>,
    orders: Vec<Order>,
    /// How many nodes were ever made.
    made: usize,
    /// How many events were ever written.
    written: u64,
}

/// A subject that acts.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Subject {
    Node(String),
    Pod(Key),
}

/// What was asked for from outside.
enum Order {
    Kill(String),
    Revive(String),
    Partition(String),
    Heal(String),
    Remove(String),
    Terminate(String),
    Fail(Key),
}

/// A pod, and what was said of it.
struct Resident {
    pod: Pod,
    report: Report,
    notes: Notes,
    /// The address that the node lends it.
    lent: Option<u8>,
    /// Whether it had ended before it was seen.
    found_ended: bool,
}

impl Kubelet {
    /// Kubelets of these nodes, which register at the first step.
    pub fn new(nodes: &Nodes, seed: u64) -> Self {
        let mut kubelet = Self {
            nodes: nodes.clone(),
            seed: Seed(seed),
            machines: BTreeMap::new(),
            pods: BTreeMap::new(),
            alarms: Alarms::default(),
            touched: BTreeSet::new(),
            orders: Vec::new(),
            made: 0,
            written: 0,
        };
        kubelet.add(nodes.count);
        kubelet
    }

    /// The names of all nodes, also of those that are off.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.machines.keys().map(String::as_str)
    }

    /// More nodes, which register at the next step; their names.
    pub fn add(&mut self, count: usize) -> Vec<String> {
        let mut names = Vec::new();
        while names.len() < count {
            let name = format!("{}{}", self.nodes.prefix, self.made);
            if self.add_named(&name) {
                names.push(name);
            } else {
                self.made += 1;
            }
        }
        names
    }

    /// A node with this name, which registers at the next step. False: there is one.
    pub fn add_named(&mut self, name: &str) -> bool {
        if self.machines.contains_key(name) {
            return false;
        }
        let mut machine = Machine::new(name.to_owned(), self.made);
        let here = self.pods.iter().filter(|(_, resident)| resident.pod.node == name);
        machine.pods = here.map(|(key, _)| key.clone()).collect();
        self.touched.extend(machine.pods.iter().cloned().map(Subject::Pod));
        self.touched.insert(Subject::Node(name.to_owned()));
        self.machines.insert(name.to_owned(), machine);
        self.made += 1;
        true
    }

    /// A node with this name whose kubelet has no certificate yet: it asks for one by the bootstrap
    /// token with this id, and registers once it has it. Then it asks for one to serve with. False:
    /// there is a node of this name.
    pub fn join(&mut self, name: &str, token: &str, keys: Arc<dyn Keys>) -> bool {
        let is_new = self.add_named(name);
        if let Some(machine) = self.machines.get_mut(name).filter(|_| is_new) {
            machine.papers = Some(Papers::new(token, keys));
        }
        is_new
    }

    /// Switches the machine off: no lease, no status, its pods do nothing. False: no such node.
    pub fn kill(&mut self, node: &str) -> bool {
        self.order(node, Order::Kill)
    }

    /// Switches the machine on, and its kubelet registers it if its Node is deleted; the containers
    /// of its pods start again. One that is on restarts. False: no such node.
    pub fn revive(&mut self, node: &str) -> bool {
        self.order(node, Order::Revive)
    }

    /// Cuts the network of the node, which runs on. False: no such node.
    pub fn partition(&mut self, node: &str) -> bool {
        self.order(node, Order::Partition)
    }

    /// Restores the network of the node. False: no such node.
    pub fn heal(&mut self, node: &str) -> bool {
        self.order(node, Order::Heal)
    }

    /// Removes the machine for good, and deletes its Node object. False: no such node.
    pub fn remove(&mut self, node: &str) -> bool {
        self.order(node, Order::Remove)
    }

    /// Removes the machine for good, and leaves its Node object to the controllers. False: no such
    /// node.
    pub fn terminate(&mut self, node: &str) -> bool {
        self.order(node, Order::Terminate)
    }

    /// Whether the machine was removed, and its Node object is still there.
    pub fn is_terminated(&self, node: &str) -> bool {
        self.machines.get(node).is_some_and(|machine| machine.terminated)
    }

    /// Whether the machine is switched off.
    pub fn is_off(&self, node: &str) -> bool {
        self.machines.get(node).is_some_and(|machine| !machine.on)
    }

    /// The running containers of a pod exit with code 1. False: no kubelet has this pod.
    pub fn fail(&mut self, pod: &Key) -> bool {
        let known = self.pods.contains_key(pod);
        self.orders.extend(known.then(|| Order::Fail(pod.clone())));
        known
    }

    fn order(&mut self, node: &str, order: fn(String) -> Order) -> bool {
        let known = self.machines.contains_key(node);
        self.orders.extend(known.then(|| order(node.to_owned())));
        known
    }
}

impl Part for Kubelet {
    fn watches(&self) -> &'static [Resource] {
        static WATCHED: [Resource; 4] = [NODES, PODS, LEASES, CSRS];
        &WATCHED
    }

    fn step(&mut self, now: Time, changes: &[Change]) -> Reaction {
        let mut reaction = Reaction::default();
        for change in changes {
            if change.resource == PODS {
                self.see_pod(change, now);
            } else if change.resource == NODES {
                self.see_node(change, now, &mut reaction);
            } else if change.resource == LEASES {
                self.see_lease(change);
            } else if change.resource == CSRS {
                self.see_request(change, now);
            }
        }
        for order in std::mem::take(&mut self.orders) {
            self.obey(&order, now);
        }
        self.touched.extend(self.alarms.due(now));
        for subject in std::mem::take(&mut self.touched) {
            let again = match &subject {
                Subject::Node(name) => self.tend_node(name, now, &mut reaction),
                Subject::Pod(key) => self.tend_pod(key, now, &mut reaction),
            };
            self.alarms.set(&subject, again);
        }
        reaction.again = self.alarms.next();
        reaction
    }
}

// === what is shown and asked ===

impl Kubelet {
    fn see_pod(&mut self, change: &Change, now: Time) {
        let node = text(&change.object, "/spec/nodeName");
        if node.is_empty() {
            return;
        }
        let key = key(&change.object);
        let known =
            self.pods.get(&key).map(|it| it.pod.uid == text(&change.object, "/metadata/uid"));
        if change.gone || known == Some(false) {
            self.forget(&key);
        }
        if change.gone {
            return;
        }
        if let Some(machine) = self.machines.get_mut(node) {
            machine.pods.insert(key.clone());
        }
        if let Some(resident) = self.pods.get_mut(&key) {
            resident.pod.show(&change.object, now);
            resident.report.show(&change.object);
        } else {
            let pod = Pod::new(&change.object, self.seed, now);
            let (report, notes) = (Report::default(), Notes::default());
            let found_ended = pod.stage == pod::Stage::Done;
            let resident = Resident { pod, report, notes, lent: None, found_ended };
            self.pods.insert(key.clone(), resident);
        }
        self.touched.insert(Subject::Pod(key));
    }

    fn forget(&mut self, key: &Key) {
        let Some(resident) = self.pods.remove(key) else { return };
        if let Some(machine) = self.machines.get_mut(&resident.pod.node) {
            machine.pods.remove(key);
            resident.lent.iter().for_each(|ip| machine.take_back(*ip));
        }
        let subject = Subject::Pod(key.clone());
        self.alarms.set(&subject, None);
        self.touched.remove(&subject);
    }

    fn see_node(&mut self, change: &Change, now: Time, reaction: &mut Reaction) {
        let name = text(&change.object, "/metadata/name");
        let Some(machine) = self.machines.get_mut(name) else { return };
        let object = (!change.gone).then_some(&change.object);
        if machine.show(object, now) && self.nodes.events {
            let about = json!({ "apiVersion": "v1", "kind": "Node", "name": name, "uid": name });
            let ready = format!("Node {name} status is now: NodeReady");
            for (reason, message) in [("Starting", "Starting kubelet."), ("NodeReady", &ready)] {
                self.written += 1;
                let happening = ("Normal", reason, message);
                let event = notes::event(&about, happening, name, (now, self.written));
                reaction.send(&Sender::Node(name.to_owned()), [event]);
            }
        }
        let subject = Subject::Node(name.to_owned());
        // What is shown of a node that has its next beat set changes nothing before that.
        if change.gone
            || !self.alarms.has(&subject)
            || self.machines.get(name).is_some_and(Machine::is_new)
        {
            self.touched.insert(subject);
        }
    }

    fn see_lease(&mut self, change: &Change) {
        if text(&change.object, "/metadata/namespace") != LEASE_NAMESPACE {
            return;
        }
        if let Some(machine) = self.machines.get_mut(text(&change.object, "/metadata/name")) {
            machine.lease = (!change.gone).then(|| Arc::clone(&change.object));
        }
    }

    fn see_request(&mut self, change: &Change, now: Time) {
        let request = text(&change.object, "/spec/request");
        let object = (!change.gone).then_some(&change.object);
        for (name, machine) in &mut self.machines {
            let Some(papers) = &mut machine.papers else { continue };
            if papers.show(request, object, now) {
                self.touched.insert(Subject::Node(name.clone()));
            }
        }
    }

    fn obey(&mut self, order: &Order, now: Time) {
        let name = match order {
            Order::Fail(key) => {
                if let Some(resident) = self.pods.get_mut(key) {
                    resident.pod.fail(now);
                    self.touched.insert(Subject::Pod(key.clone()));
                }
                return;
            }
            Order::Kill(name)
            | Order::Revive(name)
            | Order::Partition(name)
            | Order::Heal(name)
            | Order::Remove(name)
            | Order::Terminate(name) => name,
        };
        let Some(machine) = self.machines.get_mut(name) else { return };
        if machine.terminated && !matches!(order, Order::Remove(_)) {
            return;
        }
        // What was to happen before happens.
        let pods: Vec<Key> = machine.pods.iter().cloned().collect();
        let was_on = machine.on;
        match order {
            Order::Kill(_) => machine.on = false,
            Order::Revive(_) => machine.boot(),
            Order::Partition(_) => machine.linked = false,
            Order::Heal(_) => {
                machine.linked = true;
                machine.hurry();
            }
            Order::Remove(_) => {
                machine.on = false;
                machine.leaving = true;
                machine.hurry();
            }
            Order::Terminate(_) => (machine.on, machine.terminated) = (false, true),
            Order::Fail(_) => {}
        }
        self.touched.insert(Subject::Node(name.clone()));
        for key in pods {
            if let Some(resident) = self.pods.get_mut(&key) {
                if matches!(order, Order::Revive(_)) {
                    resident.pod.reboot(now);
                } else if was_on {
                    resident.pod.run(now);
                }
            }
            self.touched.insert(Subject::Pod(key));
        }
    }
}

// === what is due ===

impl Kubelet {
    fn tend_node(&mut self, name: &str, now: Time, reaction: &mut Reaction) -> Option<Time> {
        let machine = self.machines.get_mut(name)?;
        if (machine.leaving || machine.terminated) && machine.object.is_none() {
            self.machines.remove(name);
            return None;
        }
        let (asked, ask_again) = machine.ask(now, self.seed);
        reaction.requests.extend(asked);
        if machine.is_unknown() && !machine.leaving {
            return ask_again;
        }
        let (requests, again) = machine.beat(now, &self.nodes, self.seed);
        let by = if machine.leaving { Sender::Operator } else { Sender::Node(name.to_owned()) };
        reaction.send(&by, requests);
        again.into_iter().chain(ask_again).min()
    }

    fn tend_pod(&mut self, key: &Key, now: Time, reaction: &mut Reaction) -> Option<Time> {
        let Resident { pod, report, notes, lent, found_ended } = self.pods.get_mut(key)?;
        let machine = self.machines.get_mut(&pod.node).filter(|machine| machine.on)?;
        pod.run(now);
        if pod.ip.is_none() && pod.stage == pod::Stage::Up && !pod.program.host_network {
            pod.ip = Some(machine.lend());
            *lent = pod.ip;
        }
        if pod.stage == pod::Stage::Done
            && let Some(ip) = lent.take()
        {
            machine.take_back(ip);
        }
        if !machine.linked {
            return pod.due();
        }
        let by = Sender::Node(pod.node.clone());
        if self.nodes.events {
            reaction.send(&by, notes.write(pod, now, &mut self.written));
        }
        pod.moments.clear();
        // One that had ended before has said all.
        if !*found_ended || report.has_spoken() {
            let host = machine.ip();
            let address = if pod.program.host_network {
                Some(host.clone())
            } else {
                pod.ip.map(|ip| machine.address(ip))
            };
            let status = status::status(pod, now, &Addresses { host: &host, pod: address });
            reaction.send(&by, report.say(key, &pod.uid, status, now));
        }
        if pod.may_go() && report.may_delete(now) {
            let options = json!({
                "gracePeriodSeconds": 0,
                "preconditions": { "uid": pod.uid },
            });
            reaction.send(&by, [Request::Delete(target(&PODS, key, ""), options)]);
        }
        [pod.due(), report.again(pod.may_go())].into_iter().flatten().min()
    }
}

/// A status patch, which only the pod with this uid takes.
fn patch(key: &Key, uid: &str, status: &Value) -> Request {
    let body = json!({ "metadata": { "uid": uid }, "status": status });
    Request::Patch(target(&PODS, key, "status"), body)
}
