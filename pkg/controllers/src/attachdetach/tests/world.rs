//! A cluster in memory: it does what plans ask for.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::time::Duration;

use api::{
    CsiDriver, Key, Kind as _, Metadata, Node, Object as _, PersistentVolume,
    PersistentVolumeClaim, Pod, VolumeAttachment,
};
use controller::fixture::{Fixture, body, decode, with};
use controller::{
    Action, Answer, Controller as _, Count, Enqueue, Facts, Form, News, Outcome, Query, Refused,
    Step, Verb, Views, When, Write,
};
use serde_json::{Value, json};

use crate::attachdetach::{Controller, Options, Worlds};

/// The objects, and the memory of the controller.
pub(super) struct World {
    pub(super) options: Options,
    pub(super) uptime: Duration,
    pub(super) memory: Worlds,
    pub(super) nodes: BTreeMap<String, Value>,
    pub(super) pods: BTreeMap<String, Value>,
    pub(super) volumes: BTreeMap<String, Value>,
    pub(super) claims: BTreeMap<String, Value>,
    pub(super) drivers: BTreeMap<String, Value>,
    pub(super) attachments: BTreeMap<String, Value>,
    /// What a live read of a node finds, where that is something else than the cache shows.
    pub(super) live: BTreeMap<String, Option<Value>>,
    /// Whether live reads fail.
    pub(super) is_deaf: bool,
    /// Whether writes fail.
    pub(super) refuses: bool,
    /// All Events so far: the pod, and the text.
    pub(super) events: Vec<String>,
    pub(super) writes: usize,
    /// The operations that have ended so far: name and status.
    pub(super) operations: Vec<String>,
    /// The unreadable pods.
    pub(super) unreadable: Vec<Value>,
}

pub(super) fn node(name: &str) -> Value {
    json!({
        "metadata": {"name": name, "uid": format!("uid-{name}"), "resourceVersion": "1",
            "annotations": {"volumes.kubernetes.io/controller-managed-attach-detach": "true"}},
        "spec": {}, "status": {"conditions": [{"type": "Ready", "status": "True"}]},
    })
}

pub(super) fn volume(name: &str, handle: &str, claim: &str) -> Value {
    json!({
        "metadata": {"name": name, "uid": format!("uid-{name}"), "resourceVersion": "1"},
        "spec": {"csi": {"driver": "d.example", "volumeHandle": handle},
            "claimRef": {"namespace": "shop", "name": claim, "uid": format!("uid-{claim}")}},
        "status": {"phase": "Bound"},
    })
}

pub(super) fn claim(name: &str, volume: &str) -> Value {
    json!({
        "metadata": {"name": name, "namespace": "shop", "uid": format!("uid-{name}"),
            "resourceVersion": "1"},
        "spec": {"volumeName": volume}, "status": {"phase": "Bound"},
    })
}

/// A pod `shop/<name>` on a node, with a claim.
pub(super) fn pod(name: &str, node: &str, claim: &str) -> Value {
    json!({
        "metadata": {"name": name, "namespace": "shop", "uid": format!("uid-{name}"),
            "resourceVersion": "1"},
        "spec": {"nodeName": node, "volumes": [
            {"name": "data", "persistentVolumeClaim": {"claimName": claim}}]},
        "status": {"phase": "Running",
            "containerStatuses": [{"name": "c", "state": {"running": {}}}]},
    })
}

/// Not SHA-256, but as long.
pub(super) fn digest(bytes: &[u8]) -> [u8; 32] {
    let mut digest = [0u8; 32];
    for (at, byte) in bytes.iter().enumerate() {
        let place = digest.get_mut(at % 32).unwrap();
        *place = place.wrapping_mul(31).wrapping_add(*byte);
    }
    digest
}

pub(super) fn options() -> Options {
    Options { sync_period: Some(Duration::from_mins(1)), forces_on_timeout: true, sha256: digest }
}

fn named(objects: &[Value]) -> BTreeMap<String, Value> {
    let name = |it: &Value| it["metadata"]["name"].as_str().unwrap().to_owned();
    objects.iter().map(|it| (name(it), it.clone())).collect()
}

fn all(of: &BTreeMap<String, Value>) -> Vec<Value> {
    of.values().cloned().collect()
}

impl World {
    pub(super) fn of(nodes: &[Value], volumes: &[Value], claims: &[Value]) -> Self {
        Self {
            options: options(),
            uptime: Duration::from_hours(24),
            memory: Worlds::default(),
            nodes: named(nodes),
            pods: BTreeMap::new(),
            volumes: named(volumes),
            claims: named(claims),
            drivers: BTreeMap::new(),
            attachments: BTreeMap::new(),
            live: BTreeMap::new(),
            is_deaf: false,
            refuses: false,
            events: Vec::new(),
            writes: 0,
            operations: Vec::new(),
            unreadable: Vec::new(),
        }
    }

    pub(super) fn run(&mut self, pods: &[Value]) {
        self.pods.extend(named(pods));
    }

    pub(super) fn fixture(&self) -> Fixture {
        let mut fixture = Fixture::default()
            .holding::<Node>(&all(&self.nodes))
            .holding::<Pod>(&all(&self.pods))
            .holding::<PersistentVolume>(&all(&self.volumes))
            .holding::<PersistentVolumeClaim>(&all(&self.claims))
            .holding::<CsiDriver>(&all(&self.drivers))
            .holding::<VolumeAttachment>(&all(&self.attachments));
        fixture.uptime = self.uptime;
        let unreadable = self.unreadable.iter();
        unreadable.fold(fixture, |it, pod| it.holding_unreadable::<Pod>(pod, "spec: no"))
    }

    /// Syncs a key once, and does what the plan asks for. Returns the plan as text, without Events.
    pub(super) fn sync(&mut self, key: &str) -> String {
        let (controller, key) = (Controller(self.options), Key::parse(key));
        let fixture = self.fixture();
        let mut queue = Enqueue::default();
        let Some(snapshot) = controller.observe(&key, &fixture.view(), &self.memory) else {
            controller.remember(&mut self.memory, News::Gone(&key), &mut queue);
            return "gone\n".to_owned();
        };
        let mut facts = Facts::default();
        let mut text = String::new();
        let (plan, verdict) = loop {
            let (plan, verdict) = controller.decide(&snapshot, &facts);
            let Some(queries) = plan.round().1 else { break (plan, verdict) };
            for query in queries {
                writeln!(text, "fetch {query}").unwrap();
                facts.answers.insert(query.clone(), self.answer(query));
            }
        };
        self.operations.extend(plan.counts.iter().filter_map(operation));
        for action in plan.steps.iter().flat_map(actions) {
            match action {
                Action::Cloud(order) => panic!("no cloud is here: {order}"),
                Action::Event(event) => {
                    let (pod, kind) = (&event.about.key.name, event.r#type);
                    let line = format!("{pod}: {kind:?} {} {}", event.reason, event.message);
                    self.events.push(line);
                }
                Action::Write(write) => self.write(write),
            }
        }
        let shown = plan.to_string();
        let lines = shown.lines().filter(|line| !line.contains(": event "));
        lines.for_each(|line| writeln!(text, "{line}").unwrap());
        let error = (self.refuses && plan.actions() > 0).then(|| "refused".to_owned());
        let outcome = Outcome { error, ..Outcome::default() };
        let news = News::Acted { snapshot: &snapshot, verdict: &verdict, outcome: &outcome };
        controller.remember(&mut self.memory, news, &mut queue);
        text
    }

    /// Syncs a volume and all nodes until nothing is written any more. Returns how much was.
    pub(super) fn settle(&mut self, volume: &str) -> usize {
        let before = self.writes;
        for _ in 0..8 {
            let writes = self.writes;
            self.sync(volume);
            let nodes: Vec<String> = self.nodes.keys().cloned().collect();
            for node in nodes {
                self.sync(&node);
            }
            if writes == self.writes {
                return writes - before;
            }
        }
        panic!("it writes on and on: {}", self.sync(volume));
    }

    fn answer(&self, query: &Query) -> Answer {
        if self.is_deaf {
            return Answer::Failed(Refused::from("timeout"));
        }
        let Query::Get { resource, key, form } = query else { panic!("{query}") };
        if *resource == Node::RESOURCE {
            let cached = self.nodes.get(&*key.name).cloned();
            let node = self.live.get(&*key.name).cloned().unwrap_or(cached);
            return node.map_or(Answer::NotFound, |node| {
                Answer::Views(Views::new(vec![decode::<Node>(&node)]))
            });
        }
        assert_eq!((resource, form), (&VolumeAttachment::RESOURCE, &Form::Metadata));
        self.attachments.get(&*key.name).map_or(Answer::NotFound, |it| {
            let metadata = Metadata::decode(api::Codec::Json, it.to_string().as_bytes());
            Answer::Metadata(Box::new(metadata.unwrap()))
        })
    }

    fn write(&mut self, write: &Write) {
        self.writes += 1;
        let happens = |count: &&Count| (count.when == When::Failed) == self.refuses;
        self.operations.extend(write.counts.iter().filter(happens).filter_map(operation));
        if self.refuses {
            return;
        }
        let (resource, name) = (&write.object.resource, write.object.key.name.to_string());
        match &write.verb {
            Verb::Create(_) => {
                let object = body(write);
                let name = object["metadata"]["name"].as_str().unwrap().to_owned();
                let uid = json!({"metadata": {"uid": format!("uid-{name}")}});
                let there = self.attachments.insert(name, with(object, uid));
                assert!(there.is_none(), "it exists already");
            }
            Verb::Delete(_) => {
                let object = self.attachments.remove(&name).expect("it exists");
                assert_eq!(object["metadata"]["uid"].as_str(), Some(&*write.object.uid));
                if !object["metadata"]["finalizers"].is_null() {
                    let ends = json!({"metadata": {"deletionTimestamp": "2024-05-01T12:00:00Z"}});
                    self.attachments.insert(name, with(object, ends));
                }
            }
            Verb::Patch(_) => {
                assert_eq!((resource, write.subresource), (&Node::RESOURCE, Some("status")));
                let patched = with(self.nodes.get(&name).unwrap().clone(), body(write));
                self.nodes.insert(name, patched);
            }
            Verb::DeleteAll | Verb::Update(_) => panic!("{write}"),
        }
    }

    /// The name of the attachment of a volume on a node.
    pub(super) fn name(&self, handle: &str, node: &str) -> String {
        let of = ("d.example", handle);
        crate::attachdetach::attachment_name(&self.options, of, node).to_string()
    }

    /// The attacher says this of an attachment, and keeps it.
    pub(super) fn attacher(&mut self, node: &str, status: &Value) {
        let name = self.name("h1", node);
        let it = self.attachments.get_mut(&name).expect("there is an attachment");
        let says = json!({"metadata": {"finalizers": ["external-attacher/d"]}, "status": status});
        *it = with(it.clone(), says);
    }

    /// The attacher has detached all that is being deleted.
    pub(super) fn detached(&mut self) {
        self.attachments.retain(|_, it| it["metadata"]["deletionTimestamp"].is_null());
    }

    /// The nodes with an attachment of the volume.
    pub(super) fn nodes_with(&self) -> Vec<&str> {
        self.attachments.values().map(|it| it["spec"]["nodeName"].as_str().unwrap()).collect()
    }

    /// What the status of a node lists.
    pub(super) fn listed(&self, node: &str) -> Vec<String> {
        let listed = self.nodes[node]["status"]["volumesAttached"].as_array();
        let name = |it: &Value| it["name"].as_str().unwrap().to_owned();
        listed.into_iter().flatten().map(name).collect()
    }

    /// The node has the volume in use, or not.
    pub(super) fn uses(&mut self, node: &str, volumes: &[&str]) {
        let it = self.nodes.get_mut(node).unwrap();
        *it = with(it.clone(), json!({"status": {"volumesInUse": volumes}}));
    }

    /// Changes a node.
    pub(super) fn set_node(&mut self, node: &str, fields: Value) {
        let it = self.nodes.get_mut(node).unwrap();
        *it = with(it.clone(), fields);
    }

    pub(super) fn not_ready(&mut self, node: &str) {
        let conditions = json!([{"type": "Ready", "status": "Unknown"}]);
        self.set_node(node, json!({"status": {"conditions": conditions}}));
    }
}

fn operation(count: &Count) -> Option<String> {
    let is_one = count.family.name == "storage_operation_duration_seconds";
    is_one.then(|| count.labels[1..3].join(" "))
}

fn actions(step: &Step) -> Vec<&Action> {
    match step {
        Step::InOrder(actions) | Step::Together(actions) | Step::SlowStart(actions) => {
            actions.iter().collect()
        }
        Step::Chains(chains) => chains.iter().flatten().collect(),
        Step::Fetch(_) => Vec::new(),
    }
}
