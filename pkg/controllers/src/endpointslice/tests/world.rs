//! A Service, and what becomes of its slices sync by sync.

use api::{EndpointSlice, Key, Kind, Node, Pod, Service};
use controller::fixture::{self, Fixture, ago, pod, with};
use controller::{
    Action, Controller as _, Enqueue, Facts, News, Outcome, Plan, Shared, Step, Verb,
};
use serde_json::{Value, json};

use crate::endpointslice::{Controller, Memory, Snapshot, Verdict};

pub(super) const MANAGED_BY: &str = "endpointslice.kubernetes.io/managed-by";
pub(super) const MANAGER: &str = "endpointslice-controller.k8s.io";
pub(super) const NAME: &str = "kubernetes.io/service-name";
pub(super) const TRIGGER: &str = "endpoints.kubernetes.io/last-change-trigger-time";

/// The Service `shop/foo` and all that there is of it.
pub(super) struct World {
    pub(super) service: Value,
    pub(super) pods: Vec<Value>,
    pub(super) nodes: Vec<Value>,
    pub(super) slices: Vec<Value>,
    pub(super) controller: Controller,
    pub(super) memory: Shared<Memory>,
    made: usize,
}

/// What a sync did: how many slices it made, changed and deleted.
#[derive(Debug)]
pub(super) struct Synced {
    pub(super) writes: [usize; 3],
    pub(super) plan: Plan,
    pub(super) events: Vec<String>,
}

/// A ready pod with an address of IPv4, on a node of `zone-a`.
pub(super) fn numbered(id: usize) -> Value {
    let port = json!({"name": "p", "containerPort": 80, "protocol": "TCP"});
    let patch = json!({
        "metadata": {"labels": {"foo": "bar"}},
        "spec": {"containers": [{ "ports": [port] }]},
        "status": {"podIPs": [{"ip": address(id)}]},
    });
    with(pod(&format!("pod{id:04}")), patch)
}

pub(super) fn address(id: usize) -> String {
    format!("10.1.{}.{}", id / 250, id % 250 + 1)
}

pub(super) fn node(name: &str, zone: &str) -> Value {
    json!({
        "metadata": {"name": name, "labels": {"topology.kubernetes.io/zone": zone}},
        "status": {"conditions": [{"type": "Ready", "status": "True"}],
            "allocatable": {"cpu": "100m"}},
    })
}

impl World {
    #[expect(clippy::needless_pass_by_value, reason = "tables read better so")]
    pub(super) fn new(spec: Value) -> Self {
        let service = json!({
            "metadata": {"name": "foo", "namespace": "shop", "uid": "s", "resourceVersion": "3",
                "creationTimestamp": ago(100)},
            "spec": {"selector": {"foo": "bar"}, "clusterIP": "10.0.0.1", "ipFamilies": ["IPv4"],
                "ports": [{"name": "http", "port": 80, "protocol": "TCP", "targetPort": 80}]},
        });
        Self {
            service: with(service, json!({ "spec": spec })),
            pods: Vec::new(),
            nodes: vec![node("node-1", "zone-a")],
            slices: Vec::new(),
            controller: Controller { batch_period: std::time::Duration::ZERO, slice_max: 100 },
            memory: Shared::default(),
            made: 0,
        }
    }

    /// With so many pods.
    pub(super) fn of(count: usize) -> Self {
        let mut world = Self::new(json!({}));
        world.pods = (0..count).map(numbered).collect();
        world
    }

    /// With slices that hold the endpoints of these pods.
    pub(super) fn holding(mut self, slices: &[std::ops::Range<usize>]) -> Self {
        for range in slices {
            let mut one = Self::new(json!({}));
            one.service = self.service.clone();
            one.nodes.clone_from(&self.nodes);
            one.pods = self.pods[range.clone()].to_vec();
            one.controller.slice_max = 1000;
            one.made = self.made;
            one.sync();
            self.slices.append(&mut one.slices);
            self.made = one.made;
        }
        self
    }

    pub(super) fn fixture(&self) -> Fixture {
        let fixture = Fixture::default().holding::<Service>(std::slice::from_ref(&self.service));
        let fixture = fixture.holding::<Pod>(&self.pods).holding::<Node>(&self.nodes);
        fixture.holding::<EndpointSlice>(&self.slices)
    }

    pub(super) fn decide(&self) -> (Snapshot, Plan, Option<Verdict>) {
        let fixture = self.fixture();
        let key = Key::new("shop", "foo");
        let snapshot = self.controller.observe(&key, &fixture.view(), &self.memory.read());
        let snapshot = snapshot.expect("a Service");
        let (plan, verdict) = self.controller.decide(&snapshot, &Facts::default());
        (snapshot, plan, verdict)
    }

    /// A sync whose writes succeed, and are seen.
    pub(super) fn sync(&mut self) -> Synced {
        let (snapshot, plan, verdict) = self.decide();
        let (mut writes, mut events) = ([0; 3], Vec::new());
        for action in actions(&plan) {
            match action {
                Action::Write(write) => {
                    let body = fixture::body(write);
                    let name = &*write.object.key.name;
                    let place = self.slices.iter().position(|it| it["metadata"]["name"] == name);
                    match &write.verb {
                        Verb::Create(_) => {
                            writes[0] += 1;
                            self.make(body);
                        }
                        Verb::Update(_) => {
                            writes[1] += 1;
                            self.slices[place.expect("a slice")] = body;
                        }
                        Verb::Delete(_) => {
                            writes[2] += 1;
                            self.slices.remove(place.expect("a slice"));
                        }
                        Verb::DeleteAll | Verb::Patch(_) => panic!("{write}"),
                    }
                }
                Action::Cloud(order) => panic!("no cloud is here: {order}"),
                Action::Event(event) => events.push(format!("{} {}", event.reason, event.message)),
            }
        }
        let outcome = Outcome { error: plan.error.clone(), ..Outcome::default() };
        let news = News::Acted { snapshot: &snapshot, verdict: &verdict, outcome: &outcome };
        self.controller.remember(&mut self.memory.write(), news, &mut Enqueue::default());
        Synced { writes, plan, events }
    }

    fn make(&mut self, body: Value) {
        self.made += 1;
        let name = format!("foo-{}", self.made);
        let metadata = json!({"name": name, "uid": name, "resourceVersion": "1"});
        self.slices.push(with(body, json!({ "metadata": metadata })));
    }

    /// How many endpoints the slices have, the fullest first.
    pub(super) fn sizes(&self) -> Vec<usize> {
        let size = |slice: &Value| slice["endpoints"].as_array().map_or(0, Vec::len);
        let mut sizes: Vec<_> = self.slices.iter().map(size).collect();
        sizes.sort_by_key(|size| std::cmp::Reverse(*size));
        sizes
    }

    /// All endpoints, by their first address.
    pub(super) fn endpoints(&self) -> Vec<Value> {
        let all = self.slices.iter().filter_map(|slice| slice["endpoints"].as_array());
        let mut all: Vec<_> = all.flatten().cloned().collect();
        all.sort_by_key(|it| it["targetRef"]["name"].to_string());
        all
    }

    /// How many endpoints are hinted for each zone or node, in words.
    pub(super) fn hints(&self, list: &str) -> String {
        let mut counts = std::collections::BTreeMap::<String, usize>::new();
        for endpoint in self.endpoints() {
            for hint in endpoint["hints"][list].as_array().into_iter().flatten() {
                *counts.entry(hint["name"].as_str().expect("a name").to_owned()).or_default() += 1;
            }
        }
        let words = counts.into_iter().map(|(name, count)| format!("{name} {count}"));
        words.collect::<Vec<_>>().join(", ")
    }

    /// Nothing is written any more.
    pub(super) fn rests(&mut self, name: &str) {
        let again = self.sync();
        assert_eq!(again.writes, [0; 3], "{name}: {}", again.plan);
    }
}

pub(super) fn actions(plan: &Plan) -> Vec<&Action> {
    let of = |step| -> Vec<&Action> {
        match step {
            &Step::InOrder(ref all) | &Step::Together(ref all) | &Step::SlowStart(ref all) => {
                all.iter().collect()
            }
            Step::Chains(chains) => chains.iter().flatten().collect(),
            Step::Fetch(_) => Vec::new(),
        }
    };
    plan.steps.iter().flat_map(of).collect()
}

#[test]
fn kinds_are_as_they_are_called() {
    assert_eq!(EndpointSlice::RESOURCE.to_string(), "endpointslices.discovery.k8s.io");
}
