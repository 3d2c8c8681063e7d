//! Nodes, their Leases and pods, and what is remembered, as time passes.

use std::collections::BTreeMap;
use std::time::Duration;

use api::{Key, Lease, Node, Pod, Time};
use controller::fixture::{Fixture, decode, lines, remembered, time, with};
use controller::{
    Answer, Change, Controller as _, Enqueue, Facts, News, Outcome, Plan, Query, Shared, Views,
};
use serde_json::{Value, json};

use super::super::{Controller, Health, Observed, Options, Rates, Verdict, ZONES};

/// What the controller sees and remembers.
pub(super) struct World {
    pub(super) controller: Controller,
    /// For how long the API server has sent nothing about Leases.
    pub(super) silence: Duration,
    /// The version of the API server.
    pub(super) version: u64,
    /// Up to which version Leases are shown.
    pub(super) shown: u64,
    /// How its plans end.
    pub(super) outcome: Outcome,
    pub(super) now: Time,
    pub(super) uptime: Duration,
    pub(super) memory: Shared<Health>,
    nodes: BTreeMap<String, Value>,
    leases: BTreeMap<String, Value>,
    pods: Vec<Value>,
}

pub(super) const RATES: Rates =
    Rates { eviction: 0.1, secondary: 0.01, large_cluster: 50, unhealthy_zone: 0.55 };

/// A node with a `Ready` condition of this status, whose heartbeat was so many seconds ago at the
/// start.
pub(super) fn node(name: &str, ready: &str, beat_ago: i64) -> Value {
    let since = time(-beat_ago * 1_000_000_000).to_string();
    let condition = json!({"type": "Ready", "status": ready, "lastHeartbeatTime": since,
        "lastTransitionTime": since});
    with(bare(name, 0), json!({"status": {"conditions": [condition]}}))
}

/// A node without a status, which was made so many seconds ago.
pub(super) fn bare(name: &str, made_ago: i64) -> Value {
    json!({"metadata": {"name": name, "uid": format!("u-{name}"), "resourceVersion": "7",
        "creationTimestamp": time(-made_ago * 1_000_000_000).to_string()}})
}

impl World {
    pub(super) fn new() -> Self {
        let options = Options {
            monitor_period: Duration::from_secs(5),
            monitor_grace_period: Duration::from_secs(50),
            startup_grace_period: Duration::from_mins(1),
            rates: RATES,
        };
        Self {
            controller: Controller(options),
            silence: Duration::ZERO,
            version: 100,
            shown: 100,
            outcome: Outcome::default(),
            now: time(0),
            uptime: Duration::from_hours(10_000),
            memory: Shared::default(),
            nodes: BTreeMap::new(),
            leases: BTreeMap::new(),
            pods: Vec::new(),
        }
    }

    /// With these nodes, each of which was looked at once, as were the zones.
    pub(super) fn with(nodes: &[Value]) -> Self {
        let mut world = Self::new();
        for node in nodes {
            world.node(node);
        }
        for node in nodes {
            world.look(node["metadata"]["name"].as_str().unwrap());
        }
        world.zones();
        world
    }

    fn fixture(&self) -> Fixture {
        let mut fixture = Fixture::default();
        (fixture.now, fixture.uptime) = (self.now, self.uptime);
        let values = |map: &BTreeMap<String, Value>| map.values().cloned().collect::<Vec<_>>();
        fixture
            .holding::<Node>(&values(&self.nodes))
            .holding::<Lease>(&values(&self.leases))
            .holding::<Pod>(&self.pods)
            .silent::<Lease>(self.silence)
            .up_to::<Lease>(self.shown)
    }

    /// The node is as it is now; the keys that this enqueues.
    pub(super) fn node(&mut self, node: &Value) -> String {
        let name = node["metadata"]["name"].as_str().unwrap().to_owned();
        let new = decode::<Node>(node);
        let change = match self.nodes.insert(name, node.clone()) {
            None => Change::Added(new),
            Some(old) => Change::Updated { old: decode(&old), new },
        };
        lines(&remembered(&self.controller, &self.memory, &change, &self.fixture()))
    }

    pub(super) fn no_node(&mut self, name: &str) -> String {
        let change = Change::Deleted(decode::<Node>(&self.nodes.remove(name).unwrap()));
        lines(&remembered(&self.controller, &self.memory, &change, &self.fixture()))
    }

    /// The Lease of a node was renewed so many seconds after the start, by its kubelet's clock.
    pub(super) fn lease(&mut self, name: &str, renewed: i64) {
        let lease = json!({"metadata": {"name": name, "namespace": "kube-node-lease",
            "uid": "l", "resourceVersion": "9"},
            "spec": {"renewTime": time(renewed * 1_000_000_000).to_string()}});
        let new = decode::<Lease>(&lease);
        let change = match self.leases.insert(name.to_owned(), lease) {
            None => Change::Added(new),
            Some(old) => Change::Updated { old: decode(&old), new },
        };
        remembered(&self.controller, &self.memory, &change, &self.fixture());
    }

    /// The pod is there; the keys that this enqueues.
    pub(super) fn pod(&mut self, pod: &Value) -> String {
        self.pods.retain(|it| it["metadata"]["name"] != pod["metadata"]["name"]);
        self.pods.push(pod.clone());
        let change = Change::Added(decode::<Pod>(pod));
        lines(&remembered(&self.controller, &self.memory, &change, &self.fixture()))
    }

    /// Time passes on all clocks.
    pub(super) fn pass(&mut self, seconds: u64) {
        self.uptime += Duration::from_secs(seconds);
        self.now = self.now + Duration::from_secs(seconds);
    }

    /// Time passes, and the zones are looked at every five seconds.
    pub(super) fn tick(&mut self, seconds: u64) {
        for _ in 0..seconds / 5 {
            self.pass(5);
            self.zones();
        }
    }

    /// Looks at a node, and again if the first look only asked for a version; what it reads live is
    /// as the cache shows it.
    pub(super) fn look(&mut self, name: &str) -> String {
        let live = self.nodes.get(name).cloned();
        self.look_live(name, live.as_ref())
    }

    /// Looks at a node, which is so in a live read.
    pub(super) fn look_live(&mut self, name: &str, live: Option<&Value>) -> String {
        let answer = live
            .map_or(Answer::NotFound, |live| Answer::Views(Views::new(vec![decode::<Node>(live)])));
        self.look_answered(name, &answer)
    }

    pub(super) fn look_answered(&mut self, name: &str, answer: &Answer) -> String {
        let plan = self.look_once(name, answer);
        if plan.contains("are Leases shown up to") { self.look_once(name, answer) } else { plan }
    }

    pub(super) fn look_once(&mut self, name: &str, answer: &Answer) -> String {
        let key = Key::new("", name);
        let fixture = self.fixture();
        let observed = self.controller.observe(&key, &fixture.view(), &self.memory.read());
        let Some(observed) = observed else { return "gone\n".to_owned() };
        let (mut plan, mut verdict) = self.controller.decide(&observed, &Facts::default());
        if plan.round().1.is_some() {
            let list = json!({"metadata": {"resourceVersion": self.version.to_string()}});
            let facts = Facts::from([
                (Query::path("/api/v1/nodes?limit=1"), Answer::Json(list.into())),
                (Query::view::<Node>(key), answer.clone()),
            ]);
            (plan, verdict) = self.controller.decide(&observed, &facts);
        }
        self.act(&(observed, verdict));
        plan.to_string()
    }

    fn act(&self, (snapshot, verdict): &(Observed, Option<Verdict>)) -> Enqueue {
        let mut queue = Enqueue::default();
        let news = News::Acted { snapshot, verdict, outcome: &self.outcome };
        self.controller.remember(&mut self.memory.write(), news, &mut queue);
        queue
    }

    /// The plan for a key with these facts, on which nobody acts.
    pub(super) fn planned(&self, key: &Key, facts: &[(Query, Answer)]) -> String {
        let fixture = self.fixture();
        let observed = self.controller.observe(key, &fixture.view(), &self.memory.read());
        let facts = facts.iter().cloned().collect();
        self.controller.decide(&observed.unwrap(), &facts).0.to_string()
    }

    /// The plan for a node, on which nobody acts.
    pub(super) fn plan(&self, name: &str) -> Plan {
        let fixture = self.fixture();
        let key = Key::new("", name);
        let observed = self.controller.observe(&key, &fixture.view(), &self.memory.read());
        self.controller.decide(&observed.unwrap(), &Facts::default()).0
    }

    /// Looks at the zones; the nodes that this enqueues.
    pub(super) fn zones(&mut self) -> String {
        let fixture = self.fixture();
        let key = Key::parse(ZONES);
        let observed = self.controller.observe(&key, &fixture.view(), &self.memory.read());
        let observed = observed.unwrap();
        let (_, verdict) = self.controller.decide(&observed, &Facts::default());
        lines(&self.act(&(observed, verdict)))
    }

    pub(super) fn summary(&self, key: &str) -> String {
        let fixture = self.fixture();
        let observed =
            self.controller.observe(&Key::parse(key), &fixture.view(), &self.memory.read());
        let facts = self.controller.summary(&observed.unwrap()).into_iter();
        facts.map(|(name, value)| format!("{name}: {value}\n")).collect::<Vec<_>>().concat()
    }
}
