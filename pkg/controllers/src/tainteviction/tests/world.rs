//! A pod, its node, and what is remembered, from one look to the next.

use std::time::Duration;

use api::{Key, Node, Pod, Time};
use controller::fixture::{Fixture, lines, remembered, time, with};
use controller::{Change, Controller as _, Enqueue, Facts, News, Outcome, Plan, Shared};
use serde_json::{Value, json};

use super::super::{Controller, Snapshot, Timers};

/// What the controller sees and remembers.
pub(super) struct World {
    pub(super) controller: Controller,
    /// How its plans end.
    pub(super) outcome: Outcome,
    pods: Vec<Value>,
    nodes: Vec<Value>,
    /// How long it runs already.
    uptime: Duration,
    now: Time,
    memory: Shared<Timers>,
}

impl Clone for World {
    fn clone(&self) -> Self {
        let (controller, outcome) = (self.controller, self.outcome.clone());
        let (pods, nodes) = (self.pods.clone(), self.nodes.clone());
        let memory = Shared::default();
        *memory.write() = self.memory.read().clone();
        Self { controller, outcome, pods, nodes, uptime: self.uptime, now: self.now, memory }
    }
}

pub(super) fn controller() -> Controller {
    Controller { compares_tolerations: false, tracks_generations: true }
}

/// As upstream's `testutil.NewPod`: `default/<name>` on `node1`.
pub(super) fn pod(name: &str) -> Value {
    json!({
        "metadata": {"namespace": "default", "name": name, "uid": format!("u-{name}"),
            "resourceVersion": "5"},
        "spec": {"nodeName": "node1"},
        "status": {"phase": "Running"},
    })
}

/// `pod1`, with upstream's `addToleration`.
pub(super) fn tolerating(index: u32, seconds: Option<i64>) -> Value {
    let toleration = json!({
        "key": format!("testTaint{index}"), "value": format!("test{index}"),
        "effect": "NoExecute", "tolerationSeconds": seconds,
    });
    with(pod("pod1"), json!({"spec": {"tolerations": [toleration]}}))
}

/// As upstream's `createNoExecuteTaint`, of each index.
pub(super) fn taints(indices: &[u32]) -> Value {
    let taint = |index| {
        json!({"key": format!("testTaint{index}"), "value": format!("test{index}"),
            "effect": "NoExecute"})
    };
    indices.iter().map(taint).collect()
}

pub(super) fn node(name: &str, taints: &Value) -> Value {
    json!({"metadata": {"name": name}, "spec": {"taints": taints}})
}

impl World {
    pub(super) fn new(pod: &Value, node: &Value) -> Self {
        Self {
            controller: controller(),
            outcome: Outcome::default(),
            pods: vec![pod.clone()],
            nodes: vec![node.clone()],
            uptime: Duration::from_hours(1),
            now: time(0),
            memory: Shared::default(),
        }
    }

    pub(super) fn pod(&mut self, pod: &Value) {
        self.pods = vec![pod.clone()];
    }

    pub(super) fn no_pod(&mut self) {
        self.pods.clear();
    }

    pub(super) fn node(&mut self, node: &Value) {
        self.nodes = vec![node.clone()];
    }

    pub(super) fn no_node(&mut self) {
        self.nodes.clear();
    }

    /// Time passes, and the wall clock is set back by as much.
    pub(super) fn pass(&mut self, seconds: u64) {
        self.uptime += Duration::from_secs(seconds);
    }

    pub(super) fn set_clock(&mut self, now: Time) {
        self.now = now;
    }

    /// How many pods are remembered.
    pub(super) fn remembered(&self) -> usize {
        self.memory.read().len()
    }

    fn fixture(&self) -> Fixture {
        let mut fixture =
            Fixture::default().holding::<Pod>(&self.pods).holding::<Node>(&self.nodes);
        (fixture.now, fixture.uptime) = (self.now, self.uptime);
        fixture
    }

    fn observed(&self) -> Option<Snapshot> {
        let (fixture, key) = (self.fixture(), Key::new("default", "pod1"));
        self.controller.observe(&key, &fixture.view(), &self.memory.read())
    }

    /// The plan, which nobody acts on.
    pub(super) fn plan(&self) -> Plan {
        self.controller.decide(&self.observed().unwrap(), &Facts::default()).0
    }

    /// The plan, which is acted on.
    pub(super) fn look(&mut self) -> String {
        let (mut memory, queue) = (self.memory.write(), &mut Enqueue::default());
        let (fixture, key) = (self.fixture(), Key::new("default", "pod1"));
        let Some(snapshot) = self.controller.observe(&key, &fixture.view(), &memory) else {
            self.controller.remember(&mut memory, News::Gone(&key), queue);
            return "gone\n".to_owned();
        };
        let (plan, verdict) = self.controller.decide(&snapshot, &Facts::default());
        let (snapshot, verdict, outcome) = (&snapshot, &verdict, &self.outcome);
        let news = News::Acted { snapshot, verdict, outcome };
        self.controller.remember(&mut memory, news, queue);
        plan.to_string()
    }

    pub(super) fn summary(&self) -> String {
        let facts = self.controller.summary(&self.observed().unwrap()).into_iter();
        facts.map(|(name, value)| format!("{name}: {value}\n")).collect::<Vec<_>>().concat()
    }

    /// The keys that a change of the node enqueues.
    pub(super) fn node_changes(&self, change: &Change<Node>) -> String {
        lines(&remembered(&self.controller, &self.memory, change, &self.fixture()))
    }
}
