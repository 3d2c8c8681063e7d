//! One node: its Node object, its Lease, and whether its machine is on.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use api::{Key, Time};
use serde_json::{Value, json};

use super::certificate::{Holder, Papers};
use super::nodes::Nodes;
use crate::fields::{at, condition, text};
use crate::kinds::{LEASES, NODES, target};
use crate::seed::Seed;
use crate::{Request, Sent, span};

pub(crate) const LEASE_NAMESPACE: &str = "kube-node-lease";
const VERSION: &str = "v1.36.3";
const REPORT: Duration = Duration::from_mins(5);
/// The second beat comes up to this much early, so that nodes that registered together do not stay
/// together.
const EARLY: Duration = Duration::from_secs(9);
const RETRY: Duration = Duration::from_secs(1);
const RETRY_MAX: Duration = Duration::from_secs(8);
const LEASE_SECONDS: u32 = 40;
/// Addresses of a node's pods: the last byte.
const ADDRESSES: std::ops::RangeInclusive<u8> = 2..=254;

/// Type, whether it is good news, and reason and message of the condition.
const CONDITIONS: [(&str, bool, &str, &str); 4] = [
    (
        "MemoryPressure",
        false,
        "KubeletHasSufficientMemory",
        "kubelet has sufficient memory available",
    ),
    ("DiskPressure", false, "KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
    ("PIDPressure", false, "KubeletHasSufficientPID", "kubelet has sufficient PID available"),
    ("Ready", true, "KubeletReady", "kubelet is posting ready status"),
];

#[expect(
    clippy::struct_excessive_bools,
    reason = "each is an order that was given, in any combination"
)]
/// A node.
pub(crate) struct Machine {
    pub(crate) name: String,
    index: usize,
    /// Whether the machine is on.
    pub(crate) on: bool,
    /// Whether it reaches the API server.
    pub(crate) linked: bool,
    /// Whether its Node object is to be deleted, and then itself.
    pub(crate) leaving: bool,
    /// Whether it is removed, whatever becomes of its Node object.
    pub(crate) terminated: bool,
    /// Whether it is to be registered if it is not.
    registers: bool,
    /// What it shows to the API server, if it has to ask for that.
    pub(crate) papers: Option<Papers>,
    /// Its Node as it was last shown.
    pub(crate) object: Option<Arc<Value>>,
    /// Its Lease as it was last shown.
    pub(crate) lease: Option<Arc<Value>>,
    /// When it renews its lease and looks at its Node next.
    beat: Option<Time>,
    reported: Option<Time>,
    tries: u32,
    boots: u32,
    addresses: BTreeSet<u8>,
    last_address: u8,
    /// The pods that are bound to it.
    pub(crate) pods: BTreeSet<Key>,
}

impl Machine {
    /// A machine that is on and not registered.
    pub(crate) fn new(name: String, index: usize) -> Self {
        Self {
            name,
            index,
            on: true,
            linked: true,
            leaving: false,
            terminated: false,
            registers: true,
            papers: None,
            object: None,
            lease: None,
            beat: None,
            reported: None,
            tries: 0,
            boots: 0,
            addresses: BTreeSet::new(),
            last_address: *ADDRESSES.end(),
            pods: BTreeSet::new(),
        }
    }

    /// Whether it acts and can reach the API server.
    pub(crate) fn is_heard(&self) -> bool {
        self.on && self.linked
    }

    /// Whether it has not said anything yet, or is to say it at once.
    pub(crate) fn is_new(&self) -> bool {
        self.beat.is_none()
    }

    /// The machine starts again.
    pub(crate) fn boot(&mut self) {
        self.on = true;
        self.registers = true;
        self.boots += 1;
        self.papers.iter_mut().for_each(Papers::restart);
        self.hurry();
    }

    /// What it has to say it says at once.
    pub(crate) fn hurry(&mut self) {
        self.beat = None;
        self.reported = None;
        self.tries = 0;
    }

    /// Takes its Node object as it is now. True: it was just registered.
    pub(crate) fn show(&mut self, object: Option<&Arc<Value>>, now: Time) -> bool {
        let known = self.object.is_some();
        let registered = !known && object.is_some() && self.registers;
        self.object = object.cloned();
        if registered {
            self.registers = false;
            self.tries = 0;
            self.beat = None;
            // The Node that it made itself needs no report; an older one does.
            let created =
                object.and_then(|it| Time::parse(text(it, "/metadata/creationTimestamp")).ok());
            self.reported = created.filter(|time| now.since(*time) < REPORT);
        }
        registered
    }

    /// Whether it waits for its first certificate.
    pub(crate) fn is_unknown(&self) -> bool {
        self.papers.as_ref().is_some_and(|papers| !papers.are_there())
    }

    /// What it asks of certificates now, and when it is to be asked again.
    pub(crate) fn ask(&mut self, now: Time, seed: Seed) -> (Vec<Sent>, Option<Time>) {
        let (address, is_registered) = (self.ip(), self.object.is_some());
        if !self.is_heard() {
            return (Vec::new(), None);
        }
        let Some(papers) = &mut self.papers else { return (Vec::new(), None) };
        papers.ask(&Holder { name: &self.name, address: &address, seed }, is_registered, now)
    }

    /// What it has to do now, and when it is to be asked again.
    pub(crate) fn beat(
        &mut self,
        now: Time,
        nodes: &Nodes,
        seed: Seed,
    ) -> (Vec<Request>, Option<Time>) {
        let key = Key::new("", &self.name);
        if self.leaving {
            let Some(object) = &self.object else { return (Vec::new(), None) };
            let options = json!({ "preconditions": { "uid": text(object, "/metadata/uid") } });
            let request = Request::Delete(target(&NODES, &key, ""), options);
            return (vec![request], Some(now + self.retry()));
        }
        if !self.is_heard() {
            return (Vec::new(), None);
        }
        let Some(object) = self.object.clone() else {
            if !self.registers {
                return (Vec::new(), None);
            }
            let request = Request::Create(target(&NODES, &key, ""), self.node(now, nodes, seed));
            return (vec![request], Some(now + self.retry()));
        };
        if let Some(beat) = self.beat.filter(|beat| *beat > now) {
            return (Vec::new(), Some(beat));
        }
        let mut requests = vec![self.renew(&object, now)];
        if self.must_report(&object, now, seed) {
            let status = json!({ "status": self.status(Some(&object), now, nodes, seed) });
            requests.push(Request::Patch(target(&NODES, &key, "status"), status));
            self.reported = Some(now);
        }
        let early = if self.beat.is_none() {
            seed.jitter(&["beat", &self.name], EARLY)
        } else {
            Duration::ZERO
        };
        let next = now + nodes.beat - early.min(nodes.beat);
        self.beat = Some(next);
        (requests, Some(next))
    }

    fn retry(&mut self) -> Duration {
        self.tries += 1;
        (RETRY * 2_u32.saturating_pow(self.tries - 1)).min(RETRY_MAX)
    }

    fn must_report(&self, object: &Value, now: Time, seed: Seed) -> bool {
        let differs = |(kind, holds, ..): &(&str, bool, &str, &str)| {
            let status = if *holds { "True" } else { "False" };
            condition(object, kind).is_none_or(|it| text(it, "/status") != status)
        };
        self.reported.is_none_or(|reported| now.since(reported) >= REPORT)
            || CONDITIONS.iter().any(differs)
            || text(object, "/status/nodeInfo/bootID") != self.boot_id(seed)
    }

    fn boot_id(&self, seed: Seed) -> String {
        uuid(&seed.digest(&["boot", &self.name, &self.boots.to_string()]))
    }

    /// The address of the node.
    pub(crate) fn ip(&self) -> String {
        let (high, low) = (self.index / 62_500, self.index % 62_500);
        format!("10.{}.{}.{}", 128 + high % 64, low / 250, low % 250 + 1)
    }

    fn subnet(&self) -> String {
        format!("10.{}.{}", 244 + self.index / 256 % 12, self.index % 256)
    }

    /// An address for a pod, the next free one.
    pub(crate) fn lend(&mut self) -> u8 {
        let later = self.last_address.saturating_add(1)..=*ADDRESSES.end();
        let free = later.chain(ADDRESSES).find(|it| !self.addresses.contains(it));
        let address = free.unwrap_or(*ADDRESSES.end());
        self.addresses.insert(address);
        self.last_address = address;
        address
    }

    /// A pod's address is free again.
    pub(crate) fn take_back(&mut self, address: u8) {
        self.addresses.remove(&address);
    }

    /// An address of a pod as a text.
    pub(crate) fn address(&self, address: u8) -> String {
        format!("{}.{address}", self.subnet())
    }

    fn renew(&self, node: &Value, now: Time) -> Request {
        let key = Key::new(LEASE_NAMESPACE, &self.name);
        let spec = json!({
            "holderIdentity": self.name,
            "leaseDurationSeconds": LEASE_SECONDS,
            "renewTime": span::micro(now),
        });
        if let Some(lease) = &self.lease {
            let mut lease = Value::clone(lease);
            match lease.get_mut("spec").and_then(Value::as_object_mut) {
                Some(old) => old.extend(spec.as_object().cloned().unwrap_or_default()),
                None => lease["spec"] = spec,
            }
            return Request::Update(target(&LEASES, &key, ""), lease);
        }
        let owner = json!({
            "apiVersion": "v1",
            "kind": "Node",
            "name": self.name,
            "uid": text(node, "/metadata/uid"),
        });
        let lease = json!({
            "apiVersion": "coordination.k8s.io/v1",
            "kind": "Lease",
            "metadata": {
                "name": self.name,
                "namespace": LEASE_NAMESPACE,
                "ownerReferences": [owner],
            },
            "spec": spec,
        });
        Request::Create(target(&LEASES, &key, ""), lease)
    }

    fn node(&self, now: Time, nodes: &Nodes, seed: Seed) -> Value {
        let zone = u8::try_from(self.index % nodes.zones.clamp(1, 26)).unwrap_or(0);
        let zone = format!("zone-{}", char::from(b'a' + zone));
        let cidr = format!("{}.0/24", self.subnet());
        let spec =
            if nodes.ranges { json!({ "podCIDR": cidr, "podCIDRs": [cidr] }) } else { json!({}) };
        json!({
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {
                "name": self.name,
                "labels": {
                    "beta.kubernetes.io/arch": "amd64",
                    "beta.kubernetes.io/os": "linux",
                    "kubernetes.io/arch": "amd64",
                    "kubernetes.io/hostname": self.name,
                    "kubernetes.io/os": "linux",
                    "topology.kubernetes.io/zone": zone,
                },
                "annotations": { "volumes.kubernetes.io/controller-managed-attach-detach": "true" },
            },
            "spec": spec,
            "status": self.status(None, now, nodes, seed),
        })
    }

    fn status(&self, known: Option<&Value>, now: Time, nodes: &Nodes, seed: Seed) -> Value {
        let conditions = CONDITIONS.iter().map(|(kind, holds, reason, message)| {
            let status = if *holds { "True" } else { "False" };
            let known = known.and_then(|known| condition(known, kind));
            let same = known.filter(|known| text(known, "/status") == status);
            let since = same.and_then(|known| at(known, "/lastTransitionTime")).cloned();
            json!({
                "type": kind,
                "status": status,
                "reason": reason,
                "message": message,
                "lastHeartbeatTime": now,
                "lastTransitionTime": since.unwrap_or_else(|| json!(now)),
            })
        });
        let size = json!({
            "cpu": nodes.cpu,
            "memory": nodes.memory,
            "pods": nodes.pods.to_string(),
            "ephemeral-storage": "100Gi",
            "hugepages-1Gi": "0",
            "hugepages-2Mi": "0",
        });
        let id = |what: &str| uuid(&seed.digest(&[what, &self.name]));
        json!({
            "capacity": size,
            "allocatable": size,
            "conditions": conditions.collect::<Vec<_>>(),
            "addresses": [
                { "type": "InternalIP", "address": self.ip() },
                { "type": "Hostname", "address": self.name },
            ],
            "daemonEndpoints": { "kubeletEndpoint": { "Port": 10250 } },
            "nodeInfo": {
                "machineID": id("machine").replace('-', ""),
                "systemUUID": id("system"),
                "bootID": self.boot_id(seed),
                "kernelVersion": "6.12.0-hollow",
                "osImage": "Hollow Linux",
                "containerRuntimeVersion": "hollow://1",
                "kubeletVersion": VERSION,
                "kubeProxyVersion": "",
                "operatingSystem": "linux",
                "architecture": "amd64",
            },
        })
    }
}

/// The first digits of a digest in the form of a UUID.
fn uuid(digest: &str) -> String {
    let part = |from: usize, to: usize| digest.get(from..to).unwrap_or_default();
    let parts = [part(0, 8), part(8, 12), part(12, 16), part(16, 20), part(20, 32)];
    parts.join("-")
}
