//! A small cluster: what plans ask for is done, and pods do as the test says.

use std::collections::BTreeMap;

use api::{ControllerRevision, Kind, Meta, PersistentVolumeClaim, Pod, Raw, Resource, StatefulSet};
use controller::fixture::{self, Fixture, ready, time, with};
use controller::{Action, Announce, Answer, Controller as _, Message, Outcome, Query, Step, Verb};
use serde_json::{Value, json};

use super::*;

pub(super) struct World {
    pub(super) controller: Controller,
    pub(super) now: api::Time,
    pub(super) set: Value,
    pub(super) pods: BTreeMap<String, Value>,
    pub(super) claims: BTreeMap<String, Value>,
    pub(super) revisions: BTreeMap<String, Value>,
    /// Whether deleted pods stay for a while.
    pub(super) graceful: bool,
    /// All that was told, in order.
    pub(super) events: Vec<String>,
    version: u64,
}

impl World {
    pub(super) fn new(set: Value) -> Self {
        Self {
            controller: DEFAULT,
            now: time(0),
            set,
            pods: BTreeMap::new(),
            claims: BTreeMap::new(),
            revisions: BTreeMap::new(),
            graceful: false,
            events: Vec::new(),
            version: 100,
        }
    }

    /// A set that has come to rest.
    pub(super) fn settled(set: Value) -> Self {
        let mut world = Self::new(set);
        world.settle();
        world
    }

    pub(super) fn fixture(&self) -> Fixture {
        let list =
            |objects: &BTreeMap<String, Value>| objects.values().cloned().collect::<Vec<_>>();
        let mut fixture = Fixture::default()
            .holding::<StatefulSet>(std::slice::from_ref(&self.set))
            .holding::<Pod>(&list(&self.pods))
            .holding::<PersistentVolumeClaim>(&list(&self.claims))
            .holding::<ControllerRevision>(&list(&self.revisions));
        fixture.now = self.now;
        fixture
    }

    pub(super) fn snapshot(&self) -> Snapshot {
        let fixture = self.fixture();
        self.controller.observe(&Key::parse("shop/foo"), &fixture.view(), &()).unwrap()
    }

    /// The plan, with the live reads that it asks for.
    fn decide(&self, snapshot: &Snapshot) -> (Plan, Option<Course>) {
        let mut facts = Facts::default();
        for _ in 0..6 {
            let (plan, course) = self.controller.decide(snapshot, &facts);
            let Some(Step::Fetch(queries)) = plan.steps.first() else { return (plan, course) };
            for query in queries {
                facts.answers.insert(query.clone(), self.live(query));
            }
        }
        panic!("asks for too many live reads");
    }

    pub(super) fn plan(&self) -> Plan {
        self.decide(&self.snapshot()).0
    }

    pub(super) fn why(&self) -> String {
        self.plan().why.into_owned()
    }

    fn live(&self, query: &Query) -> Answer {
        let Query::Get { resource, key, .. } = query else { panic!("must not be read: {query}") };
        let object = match &*resource.plural {
            "statefulsets" => Some(&self.set),
            "controllerrevisions" => self.revisions.get(&*key.name),
            "pods" => self.pods.get(&*key.name),
            other => panic!("must not be read: {other}"),
        };
        object.map_or(Answer::NotFound, |object| {
            let text = object.to_string();
            let meta = Meta::decode(api::Codec::Json, text.as_bytes()).unwrap();
            Answer::Found(Box::new((meta, Raw::parse(text.as_bytes()).unwrap())))
        })
    }

    /// One sync; the text of its plan.
    pub(super) fn sync(&mut self) -> String {
        let snapshot = self.snapshot();
        let (plan, course) = self.decide(&snapshot);
        for step in &plan.steps {
            let lists = match step {
                Step::InOrder(list) | Step::Together(list) | Step::SlowStart(list) => vec![list],
                Step::Chains(chains) => chains.iter().collect(),
                Step::Fetch(_) => Vec::new(),
            };
            lists.into_iter().flatten().for_each(|action| self.apply(action));
        }
        let outcome = Outcome { error: plan.error.clone(), ..Outcome::default() };
        if let Some(write) = self.controller.report(&snapshot, Some(&course), &outcome) {
            self.set = self.versioned(fixture::body(&write));
        }
        plan.to_string()
    }

    /// Syncs until nothing is done any more, and all pods become ready at once.
    pub(super) fn settle(&mut self) {
        for _ in 0..200 {
            self.each_pod(running);
            let before = self.version;
            self.sync();
            if self.version == before {
                return;
            }
        }
        panic!("no end: {}", self.why());
    }

    pub(super) fn each_pod(&mut self, change: impl Fn(Value) -> Value) {
        for pod in self.pods.values_mut() {
            *pod = change(pod.take());
        }
    }

    pub(super) fn change_pod(&mut self, name: &str, change: impl Fn(Value) -> Value) {
        let pod = self.pods.get_mut(name).unwrap();
        *pod = change(pod.take());
    }

    /// The numbers of the pods.
    pub(super) fn ordinals(&self) -> Vec<i32> {
        let mut ordinals: Vec<_> =
            self.pods.keys().map(|name| ordinal::of(name).unwrap()).collect();
        ordinals.sort_unstable();
        ordinals
    }

    /// The image of a pod.
    pub(super) fn image(&self, name: &str) -> &str {
        self.pods[name]["spec"]["containers"][0]["image"].as_str().unwrap()
    }

    /// Replicas, ready, available, current and updated ones of the status.
    pub(super) fn counts(&self) -> [i64; 5] {
        let status = &self.set["status"];
        COUNTS.map(|field| status[field].as_i64().unwrap_or(0))
    }

    fn apply(&mut self, action: &Action) {
        let write = match action {
            Action::Write(write) => write,
            Action::Cloud(order) => panic!("no cloud is here: {order}"),
            Action::Event(event) => {
                self.events.push(format!("{:?} {}: {}", event.r#type, event.reason, event.message));
                return;
            }
        };
        self.events.extend(write.announce.iter().filter_map(told));
        let (resource, name) = (&write.object.resource, write.object.key.name.to_string());
        let body = fixture::body(write);
        match &write.verb {
            Verb::Create(_) => self.create(resource, body),
            Verb::Delete(_) if &*resource.plural == "pods" => {
                self.version += 1;
                if self.graceful {
                    let deletion = json!({"metadata": {"deletionTimestamp": self.now.to_string()}});
                    self.change_pod(&name, |pod| with(pod, deletion.clone()));
                } else {
                    self.pods.remove(&name).unwrap();
                }
            }
            Verb::Delete(_) => drop(self.revisions.remove(&name).unwrap()),
            Verb::Patch(_) => {
                // A merge of lists by replacement is enough: there is one owner at most.
                self.version += 1;
                let object = self.objects(resource).get_mut(&name).unwrap();
                *object = with(object.take(), body);
            }
            Verb::Update(_) => {
                let object = self.versioned(body);
                self.objects(resource).insert(name, object);
            }
            Verb::DeleteAll => panic!("{write}"),
        }
    }

    fn objects(&mut self, resource: &Resource) -> &mut BTreeMap<String, Value> {
        match &*resource.plural {
            "pods" => &mut self.pods,
            "persistentvolumeclaims" => &mut self.claims,
            "controllerrevisions" => &mut self.revisions,
            other => panic!("no such objects: {other}"),
        }
    }

    fn create(&mut self, resource: &Resource, body: Value) {
        let object = self.versioned(body);
        let name = object["metadata"]["name"].as_str().unwrap().to_owned();
        let uid = json!({"metadata": {"uid": format!("uid-{name}-{}", self.version),
            "namespace": "shop", "creationTimestamp": self.now.to_string()}});
        let mut object = with(object, uid);
        if *resource == Pod::RESOURCE {
            object = with(object, json!({"status": {"phase": "Pending"}}));
        }
        let known = self.objects(resource).insert(name, object);
        assert_eq!(known, None, "made twice");
    }

    fn versioned(&mut self, object: Value) -> Value {
        self.version += 1;
        with(object, json!({"metadata": {"resourceVersion": self.version.to_string()}}))
    }
}

fn told(announce: &Announce) -> Option<String> {
    let (reason, message) = announce.done.as_ref()?;
    let Message::Whole(message) = message else { panic!("names what was written") };
    Some(format!("Normal {reason}: {message}"))
}

/// A pod that runs and is ready, for an hour.
pub(super) fn running(pod: Value) -> Value {
    if !pod["metadata"]["deletionTimestamp"].is_null() {
        return pod;
    }
    let ready = ready(&fixture::ago(3600));
    with(pod, json!({"status": {"phase": "Running", "conditions": [ready]}}))
}

pub(super) fn phase(phase: &str) -> impl Fn(Value) -> Value {
    move |pod| with(pod, json!({"status": {"phase": phase, "conditions": null}}))
}

/// An object that is being deleted.
pub(super) fn terminating(object: Value) -> Value {
    with(object, json!({"metadata": {"deletionTimestamp": fixture::NOW}}))
}
