//! A Service, nodes and a cloud, in which syncs follow one another.

use std::fmt::Write as _;

use api::Ingress;
use cloud::{Ask, Done, Failure, Order, Reply};
use controller::fixture::{Fixture, NOW, remembered, with};
use controller::{Action, Answer, Controller as _, Outcome, Query, Refused, Shared, Step, Verb};
use serde_json::{Value, json};

use super::super::*;

pub(super) fn it() -> Controller {
    Controller { cluster: "kubernetes".into() }
}

/// `shop/web`, which wants a load balancer.
pub(super) fn service() -> Value {
    json!({
        "metadata": {"name": "web", "namespace": "shop", "uid": "u1", "resourceVersion": "7"},
        "spec": {"type": "LoadBalancer", "ports": [{"port": 80, "protocol": "TCP"}]},
    })
}

/// With the finalizer.
pub(super) fn held(service: Value) -> Value {
    with(service, json!({"metadata": {"finalizers": [BalancedService::CLEANUP]}}))
}

pub(super) fn deleted(service: Value) -> Value {
    with(service, json!({"metadata": {"deletionTimestamp": NOW}}))
}

/// A node that load balancers lead to.
pub(super) fn node(name: &str) -> Value {
    json!({"metadata": {"name": name, "uid": name, "resourceVersion": "7"}})
}

/// What the cloud says.
pub(super) struct Cloud {
    pub(super) exists: bool,
    pub(super) get_fails: Option<&'static str>,
    pub(super) ensures: Result<Option<&'static str>, Failure>,
    pub(super) updates: Result<(), Failure>,
    pub(super) deletes: Result<(), Failure>,
}

pub(super) struct World {
    service: Option<Value>,
    nodes: Vec<Value>,
    memory: Shared<Balancers>,
    writes_fail: bool,
    pub(super) cloud: Cloud,
}

impl World {
    /// With the nodes `a` and `b`.
    pub(super) fn new(service: &Value) -> Self {
        let cloud = Cloud {
            exists: false,
            get_fails: None,
            ensures: Ok(Some("1.2.3.4")),
            updates: Ok(()),
            deletes: Ok(()),
        };
        let (service, nodes) = (Some(service.clone()), vec![node("a"), node("b")]);
        Self { service, nodes, memory: Shared::default(), writes_fail: false, cloud }
    }

    pub(super) fn with_nodes(self, nodes: &[Value]) -> Self {
        Self { nodes: nodes.to_vec(), ..self }
    }

    pub(super) fn hold(&mut self, service: &Value) {
        self.service = Some(service.clone());
    }

    pub(super) fn hold_none(&mut self) {
        self.service = None;
    }

    pub(super) fn fail_writes(&mut self) {
        self.writes_fail = true;
    }

    pub(super) fn heal_writes(&mut self) {
        self.writes_fail = false;
    }

    /// The nodes are these now; returns the keys that the change of one enqueues.
    pub(super) fn change(&mut self, change: &Change<Machine>, nodes: &[Value]) -> String {
        self.nodes = nodes.to_vec();
        controller::fixture::lines(&remembered(&it(), &self.memory, change, &self.fixture()))
    }

    /// The nodes change while its load balancer is being made; returns what the end of that
    /// enqueues.
    pub(super) fn made_beside(&mut self, change: &Change<Machine>, nodes: &[Value]) -> String {
        let (snapshot, outcome) = (self.snapshot().unwrap(), Outcome::default());
        self.change(change, nodes);
        let mut queue = Enqueue::default();
        let verdict = Verdict::Ensured(true);
        let news = News::Acted { snapshot: &snapshot, verdict: &verdict, outcome: &outcome };
        it().remember(&mut self.memory.write(), news, &mut queue);
        controller::fixture::lines(&queue)
    }

    fn fixture(&self) -> Fixture {
        let services: Vec<_> = self.service.iter().cloned().collect();
        Fixture::default().holding::<BalancedService>(&services).holding::<Machine>(&self.nodes)
    }

    fn snapshot(&self) -> Option<Snapshot> {
        let key = Key::new("shop", "web");
        it().observe(&key, &self.fixture().view(), &self.memory.read())
    }

    pub(super) fn summary(&self) -> String {
        let facts = it().summary(&self.snapshot().unwrap());
        let lines = facts.iter().map(|(name, value)| format!("{name}: {value}\n"));
        lines.collect::<Vec<_>>().concat()
    }

    /// One sync as the engine does it: all actions, a line each, and how it ends.
    pub(super) fn sync(&mut self) -> String {
        let Some(snapshot) = self.snapshot() else {
            let mut queue = Enqueue::default();
            let news = News::Gone(&Key::new("shop", "web"));
            it().remember(&mut self.memory.write(), news, &mut queue);
            return "gone\n".to_owned();
        };
        let (mut facts, mut said) = (Facts::default(), String::new());
        for _ in 0..8 {
            let (plan, verdict) = it().decide(&snapshot, &facts);
            let (steps, queries) = plan.round();
            let mut outcome = Outcome { error: plan.error.clone(), ..Outcome::default() };
            for action in steps.iter().flat_map(in_order) {
                writeln!(said, "{action}").unwrap();
                if let Action::Cloud(order) = action {
                    let done = self.cloud.obey(order);
                    facts = facts.after(Order::clone(order), done);
                }
                let writes = |it: &controller::Write| matches!(it.verb, Verb::Patch(_));
                if self.writes_fail && action.write().is_some_and(writes) {
                    outcome.error = Some("no".to_owned());
                }
            }
            let Some(queries) = queries else {
                plan.error.iter().for_each(|it| writeln!(said, "error: {it}").unwrap());
                plan.again.iter().for_each(|it| writeln!(said, "again in {it:?}").unwrap());
                let news =
                    News::Acted { snapshot: &snapshot, verdict: &verdict, outcome: &outcome };
                it().remember(&mut self.memory.write(), news, &mut Enqueue::default());
                return said;
            };
            for query in queries {
                facts.answers.insert(query.clone(), self.cloud.answer(query));
            }
        }
        panic!("it does not come to an end:\n{said}");
    }
}

fn in_order(step: &Step) -> &[Action] {
    let Step::InOrder(actions) = step else { panic!("another step: {step:?}") };
    actions
}

// === impl Cloud ===

impl Cloud {
    fn answer(&self, query: &Query) -> Answer {
        let Query::Cloud(Ask::Balancer { .. }) = query else { panic!("{query}") };
        match self.get_fails {
            Some(text) => Answer::Failed(Refused::from(text)),
            None => Answer::Cloud(Reply::Balancer(self.exists.then(Vec::new))),
        }
    }

    fn obey(&mut self, order: &Order) -> Done {
        let address = |ip: &str| vec![Ingress { ip: Some(ip.to_owned()), ..Ingress::default() }];
        let result = match order {
            Order::Ensure { .. } => self.ensures.clone().map(|ip| ip.map(address)),
            Order::Update { .. } => self.updates.clone().map(|()| None),
            Order::Delete { .. } => self.deletes.clone().map(|()| None),
            Order::CreateRoute { .. } | Order::DeleteRoute { .. } => panic!("{order}"),
        };
        Done { result, took: std::time::Duration::from_secs(1) }
    }
}
