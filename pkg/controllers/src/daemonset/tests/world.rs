//! A cluster in memory: it does what plans say at once, and shows it at once.

use std::collections::BTreeMap;

use api::{ControllerRevision, DaemonSet, Key, Kind, Node, Pod, Resource, Time};
use controller::fixture::{self, Fixture, decode, remembered, time, with};
use controller::{
    Action, Answer, Change, Controller as _, Facts, Outcome, Plan, Query, Shared, Step, Verb,
};
use serde_json::{Value, json};

use super::super::{Backoff, Controller, Snapshot, revisions};

pub(super) struct World {
    pub(super) controller: Controller,
    pub(super) failed_pods: Shared<Backoff>,
    pub(super) now: Time,
    /// How often in a row the set has failed.
    pub(super) failures: u32,
    pub(super) set: Value,
    pub(super) nodes: BTreeMap<String, Value>,
    pub(super) pods: BTreeMap<String, Value>,
    pub(super) revisions: BTreeMap<String, Value>,
    /// Whether deleted pods stay for a while.
    pub(super) graceful: bool,
    version: u64,
}

/// What a sync did.
#[derive(Debug, Default)]
pub(super) struct Done {
    /// Pods made, pods deleted, events said.
    pub(super) counts: (usize, usize, usize),
    /// The names of the pods that were deleted.
    pub(super) deleted: Vec<String>,
    pub(super) events: Vec<String>,
    /// Whether the status was written.
    pub(super) reported: bool,
    pub(super) plan: Plan,
    /// What it was decided on.
    pub(super) before: Option<Snapshot>,
}

impl World {
    pub(super) fn new(set: Value) -> Self {
        Self {
            controller: Controller::new(250),
            failed_pods: Shared::default(),
            now: time(0),
            failures: 0,
            set,
            nodes: BTreeMap::new(),
            pods: BTreeMap::new(),
            revisions: BTreeMap::new(),
            graceful: false,
            version: 100,
        }
    }

    pub(super) fn put_node(&mut self, node: Value) {
        self.nodes.insert(name(&node), node);
    }

    pub(super) fn put_pod(&mut self, pod: Value) {
        self.pods.insert(name(&pod), pod);
    }

    pub(super) fn put_revision(&mut self, revision: Value) {
        self.revisions.insert(name(&revision), revision);
    }

    pub(super) fn fixture(&self) -> Fixture {
        let list =
            |objects: &BTreeMap<String, Value>| objects.values().cloned().collect::<Vec<_>>();
        let mut fixture = Fixture::default()
            .holding::<DaemonSet>(std::slice::from_ref(&self.set))
            .holding::<Node>(&list(&self.nodes))
            .holding::<Pod>(&list(&self.pods))
            .holding::<ControllerRevision>(&list(&self.revisions));
        (fixture.now, fixture.failures) = (self.now, self.failures);
        fixture
    }

    /// Which keys a change enqueues.
    pub(super) fn enqueued<T: Kind>(&self, change: &Change<T>) -> String {
        let queue = remembered(&self.controller, &self.failed_pods, change, &self.fixture());
        fixture::lines(&queue)
    }

    pub(super) fn snapshot(&self) -> Snapshot {
        let fixture = self.fixture();
        let failed_pods = self.failed_pods.read();
        self.controller.observe(&Key::parse("shop/foo"), &fixture.view(), &failed_pods).unwrap()
    }

    /// The label of the present template.
    pub(super) fn hash(&self) -> Value {
        let s = self.snapshot();
        Value::from(revisions::hash(&s, &revisions::history(&s)).unwrap())
    }

    /// The plan, with the live reads that it asks for.
    pub(super) fn decide(&self, snapshot: &Snapshot) -> Plan {
        let mut facts = Facts::default();
        for _ in 0..4 {
            let (plan, ()) = self.controller.decide(snapshot, &facts);
            let Some(Step::Fetch(queries)) = plan.steps.first() else { return plan };
            for query in queries {
                facts.answers.insert(query.clone(), self.live(query));
            }
        }
        panic!("asks for too many live reads");
    }

    pub(super) fn plan(&self) -> Plan {
        self.decide(&self.snapshot())
    }

    fn live(&self, query: &Query) -> Answer {
        let Query::Get { resource, key, .. } = query else { panic!("must not be read: {query}") };
        let object = match &*resource.plural {
            "daemonsets" => Some(&self.set),
            "controllerrevisions" => self.revisions.get(&*key.name),
            other => panic!("must not be read: {other}"),
        };
        object.map_or(Answer::NotFound, |object| {
            let meta = api::Meta::decode(api::Codec::Json, object.to_string().as_bytes()).unwrap();
            let raw = api::Raw::parse(object.to_string().as_bytes()).unwrap();
            Answer::Found(Box::new((meta, raw)))
        })
    }

    pub(super) fn sync(&mut self) -> Done {
        let snapshot = self.snapshot();
        let plan = self.decide(&snapshot);
        let mut done = Done::default();
        for step in &plan.steps {
            let lists = match step {
                Step::InOrder(list) | Step::Together(list) | Step::SlowStart(list) => vec![list],
                Step::Chains(chains) => chains.iter().collect(),
                Step::Fetch(_) => Vec::new(),
            };
            lists.into_iter().flatten().for_each(|action| self.apply(action, &mut done));
        }
        let outcome = Outcome { error: plan.error.clone(), ..Outcome::default() };
        if let Some(write) = self.controller.report(&snapshot, None, &outcome) {
            self.set = self.versioned(fixture::body(&write));
            done.reported = true;
        }
        done.plan = plan;
        done.before = Some(snapshot);
        done
    }

    /// Syncs, and says how many pods were made and deleted and how many events were said.
    pub(super) fn counts(&mut self) -> (usize, usize, usize) {
        self.sync().counts
    }

    pub(super) fn apply(&mut self, action: &Action, done: &mut Done) {
        let write = match action {
            Action::Write(write) => write,
            Action::Cloud(order) => panic!("no cloud is here: {order}"),
            Action::Event(event) => {
                done.counts.2 += 1;
                done.events.push(format!("{:?} {}: {}", event.r#type, event.reason, event.message));
                return;
            }
        };
        let (resource, name) = (&write.object.resource, write.object.key.name.to_string());
        let body = fixture::body(write);
        match &write.verb {
            Verb::Create(_) => self.create(resource, body, done),
            Verb::Delete(_) => {
                if &*resource.plural == "pods" {
                    self.delete_pod(&name);
                    done.counts.1 += 1;
                    done.deleted.push(name);
                } else {
                    self.revisions.remove(&name).unwrap();
                }
            }
            Verb::Patch(_) => {
                // A merge of lists by replacement is enough: there is one owner at most.
                let objects = match &*resource.plural {
                    "pods" => &mut self.pods,
                    _ => &mut self.revisions,
                };
                let object = objects.get_mut(&name).unwrap();
                *object = with(object.take(), body);
            }
            Verb::Update(_) => {
                let object = self.versioned(body);
                match object["kind"].as_str().unwrap() {
                    "DaemonSet" => self.set = object,
                    _ => self.put_revision(object),
                }
            }
            Verb::DeleteAll => panic!("{write}"),
        }
    }

    fn create(&mut self, resource: &Resource, body: Value, done: &mut Done) {
        let object = self.versioned(body);
        if *resource != Pod::RESOURCE {
            let uid = json!({"metadata": {"uid": format!("uid-{}", self.version)}});
            self.put_revision(with(object, uid));
            return;
        }
        done.counts.0 += 1;
        let name =
            format!("{}{}", object["metadata"]["generateName"].as_str().unwrap(), self.version);
        let meta = json!({"name": name, "namespace": "shop", "uid": format!("uid-{name}"),
            "creationTimestamp": self.now.to_string()});
        self.put_pod(with(object, json!({"metadata": meta, "status": {"phase": "Pending"}})));
    }

    fn delete_pod(&mut self, name: &str) {
        let pod = self.pods.remove(name).unwrap();
        let mut fixture = Fixture::default().holding::<DaemonSet>(std::slice::from_ref(&self.set));
        fixture.now = self.now;
        let old = decode::<Pod>(&pod);
        if self.graceful && !old.is_terminal() {
            let deletion = json!({"metadata": {"deletionTimestamp": self.now.to_string()}});
            let pod = with(pod, deletion);
            let new = decode::<Pod>(&pod);
            remembered(
                &self.controller,
                &self.failed_pods,
                &Change::Updated { old, new },
                &fixture,
            );
            self.put_pod(pod);
        } else {
            remembered(&self.controller, &self.failed_pods, &Change::Deleted(old), &fixture);
        }
    }

    fn versioned(&mut self, object: Value) -> Value {
        self.version += 1;
        with(object, json!({"metadata": {"resourceVersion": self.version.to_string()}}))
    }

    /// Changes all pods; as upstream's `markPodsReady` and `setPodReadiness`.
    pub(super) fn each_pod(&mut self, change: impl Fn(Value) -> Value) {
        for pod in self.pods.values_mut() {
            *pod = change(pod.take());
        }
    }
}

pub(super) fn name(object: &Value) -> String {
    object["metadata"]["name"].as_str().unwrap().to_owned()
}
