//! An autoscaler, its target, its pods and the metrics APIs, as a test sets them.

use std::collections::BTreeMap;

use api::{Key, Pod, Resource, SelectorText, Served, ServedKind};
use controller::fixture::{Fixture, ago, body, with};
use controller::{Action, Answer, Controller as _, Refused, Step};

use super::*;

/// The caches, the API server and the memory.
pub(super) struct World {
    pub(super) controller: Controller,
    pub(super) autoscaler: Value,
    pub(super) pods: Vec<Value>,
    /// The response to each path, in whole or up to its parameters; missing: 404.
    pub(super) responses: BTreeMap<String, Result<Value, Refused>>,
    pub(super) memory: Memory,
    pub(super) uptime: Duration,
    /// The response to the write of the new size.
    pub(super) outcome: Outcome,
}

/// What a sync came to.
pub(super) struct Synced {
    pub(super) why: String,
    /// The type, reason and message of Events, in order.
    pub(super) events: Vec<String>,
    /// The new size.
    pub(super) size: Option<i32>,
    /// The body with it.
    pub(super) put: Option<Value>,
    /// The Events that follow the write.
    pub(super) announce: Option<controller::Announce>,
    /// The fields of the status that are written.
    pub(super) status: Option<Value>,
    /// The paths that were read, round by round.
    pub(super) reads: Vec<Vec<String>>,
    pub(super) counts: Vec<String>,
    pub(super) error: Option<String>,
    pub(super) calls: String,
}

pub(super) const SCALE: &str =
    "/api/v1/namespaces/test-namespace/replicationcontrollers/test-rc/scale";
pub(super) const RESOURCE: &str = "/apis/metrics.k8s.io/v1beta1/namespaces/test-namespace/pods";
pub(super) const GROUP: &str = "/apis/custom.metrics.k8s.io";
pub(super) const CUSTOM: &str =
    "/apis/custom.metrics.k8s.io/v1beta2/namespaces/test-namespace/pods/%2A/qps";
pub(super) const EXTERNAL: &str =
    "/apis/external.metrics.k8s.io/v1beta1/namespaces/test-namespace/qps";

pub(super) fn key() -> Key {
    Key::new("test-namespace", "test-hpa")
}

/// The scale of the target.
pub(super) fn scale(spec: i32, status: i32, selector: &str) -> Value {
    json!({
        "kind": "Scale", "apiVersion": "autoscaling/v1",
        "metadata": {"name": "test-rc", "namespace": "test-namespace", "uid": "uid-rc",
            "resourceVersion": "17"},
        "spec": {"replicas": spec},
        "status": {"replicas": status, "selector": selector},
    })
}

/// An autoscaler with this spec and status.
pub(super) fn autoscaler(spec: &Value, status: &Value) -> Value {
    let base = json!({
        "metadata": {"name": "test-hpa", "namespace": "test-namespace", "uid": "uid-hpa",
            "resourceVersion": "5"},
        "spec": {
            "scaleTargetRef": {"apiVersion": "v1", "kind": "ReplicationController",
                "name": "test-rc"},
            "minReplicas": 1, "maxReplicas": 5,
        },
        "status": {},
    });
    with(base, json!({"spec": spec, "status": status}))
}

/// A metric by the share of CPU that pods ask for.
pub(super) fn cpu(target: i32) -> Value {
    json!({"type": "Resource", "resource": {"name": "cpu",
        "target": {"type": "Utilization", "averageUtilization": target}}})
}

/// A running pod that asks for so much CPU, in two halves.
pub(super) fn running(name: &str, milli: i64) -> Value {
    let requests = json!({"requests": {"cpu": format!("{}m", milli / 2)}});
    let half = |name: &str| json!({"name": name, "resources": requests});
    json!({
        "metadata": {"name": name, "namespace": "test-namespace",
            "labels": {"name": "test-pod"}},
        "spec": {"containers": [half("container1"), half("container2")]},
        "status": {"phase": "Running", "startTime": ago(600),
            "conditions": [
                {"type": "Ready", "status": "True", "lastTransitionTime": ago(590)}]},
    })
}

/// What pods use, in thousandths, in two halves.
pub(super) fn usage(levels: &[i64]) -> Value {
    let item = |(at, level): (usize, &i64)| {
        let half = |name: &str| {
            json!({"name": name,
                "usage": {"cpu": format!("{}m", level / 2), "memory": "512Ki"}})
        };
        json!({"metadata": {"name": format!("test-pod-{at}")}, "timestamp": ago(0),
            "window": "1m0s", "containers": [half("container1"), half("container2")]})
    };
    json!({"items": levels.iter().enumerate().map(item).collect::<Vec<_>>()})
}

/// Values of pods in the custom metrics API.
pub(super) fn of_pods(levels: &[i64]) -> Value {
    let item = |(at, level): (usize, &i64)| {
        json!({"describedObject": {"kind": "Pod", "name": format!("test-pod-{at}")},
            "timestamp": ago(0), "value": format!("{level}m")})
    };
    json!({"items": levels.iter().enumerate().map(item).collect::<Vec<_>>()})
}

/// Values of the external metrics API.
pub(super) fn outside(levels: &[i64]) -> Value {
    let item = |level: &i64| json!({"metricName": "qps", "value": format!("{level}m")});
    json!({"items": levels.iter().map(item).collect::<Vec<_>>()})
}

/// What is served.
fn served() -> Served {
    let kind = |group: &'static str, version: &'static str, plural: &str, kind: &str| {
        let mut resource = Resource::namespaced(group, version, "", "");
        resource.plural = plural.to_owned().into();
        resource.kind = kind.to_owned().into();
        let (verbs, subresources) = (Box::default(), Box::default());
        ServedKind { resource, verbs, preferred: true, subresources }
    };
    let kinds = vec![
        kind("", "v1", "replicationcontrollers", "ReplicationController"),
        kind("", "v1", "services", "Service"),
        kind("apps", "v1", "deployments", "Deployment"),
        kind("apps", "v1", "replicasets", "ReplicaSet"),
        kind("example.com", "v1", "widgets", "Widget"),
    ];
    Served::new(kinds, BTreeMap::new())
}

pub(super) fn broken() -> Refused {
    Refused::from("something went wrong")
}

impl Default for World {
    fn default() -> Self {
        let group = json!({
            "preferredVersion": {"groupVersion": "custom.metrics.k8s.io/v1beta2"}});
        Self {
            controller: Controller(OPTIONS),
            autoscaler: autoscaler(&json!({"metrics": [cpu(50)]}), &json!({})),
            pods: Vec::new(),
            responses: BTreeMap::from([(GROUP.to_owned(), Ok(group))]),
            memory: Memory::default(),
            uptime: UPTIME,
            outcome: Outcome::default(),
        }
    }
}

impl World {
    /// A response.
    pub(super) fn with(mut self, path: &str, response: Value) -> Self {
        self.responses.insert(path.to_owned(), Ok(response));
        self
    }

    /// A response that is an error.
    pub(super) fn refusing(mut self, path: &str, refused: Refused) -> Self {
        self.responses.insert(path.to_owned(), Err(refused));
        self
    }

    fn fixture(&self) -> Fixture {
        let mut fixture = Fixture::default();
        fixture.uptime = self.uptime;
        fixture.now = time(0) + self.uptime.saturating_sub(UPTIME);
        fixture
            .holding::<HorizontalPodAutoscaler>(std::slice::from_ref(&self.autoscaler))
            .holding::<Pod>(&self.pods)
    }

    fn answer(&self, query: &Query) -> Answer {
        if matches!(query, Query::Served) {
            return Answer::Served(Arc::new(served()));
        }
        let Query::Path(path) = query else { panic!("another query: {query}") };
        let path = &**path;
        let short = path.split('?').next().unwrap();
        let found = self.responses.get(path).or_else(|| self.responses.get(short));
        match found {
            Some(Ok(json)) => Answer::Json(Arc::new(json.clone())),
            Some(Err(refused)) => Answer::Failed(refused.clone()),
            None => Answer::Failed(Refused {
                code: Some(404),
                text: "404 page not found".to_owned(),
                bare: true,
            }),
        }
    }

    /// A sync, and what comes of it.
    pub(super) fn sync(&mut self) -> Synced {
        let fixture = self.fixture();
        let controller = self.controller;
        let snapshot = controller.observe(&key(), &fixture.view(), &self.memory).unwrap();
        let (mut facts, mut reads) = (Facts::default(), Vec::new());
        let mut queue = Enqueue::default();
        let (plan, verdict) = loop {
            let (plan, verdict) = controller.decide(&snapshot, &facts);
            let ([], Some(queries)) = plan.round() else { break (plan, verdict) };
            assert!(reads.len() < 8, "too many rounds");
            reads.push(queries.iter().map(ToString::to_string).collect());
            for query in queries {
                let answer = self.answer(query);
                let (snapshot, answer_of) = (&snapshot, &answer);
                let news = News::Answered { snapshot, query, answer: answer_of };
                controller.remember(&mut self.memory, news, &mut queue);
                facts.answers.insert(query.clone(), answer);
            }
        };
        let actions = plan.steps.iter().flat_map(|step| {
            let Step::InOrder(actions) = step else { panic!("another step: {step:?}") };
            actions.clone()
        });
        let (mut events, mut write) = (Vec::new(), None);
        for action in actions {
            match action {
                Action::Cloud(order) => panic!("no cloud is here: {order}"),
                Action::Event(event) => {
                    events.push(format!("{:?} {}: {}", event.r#type, event.reason, event.message));
                }
                Action::Write(it) => write = Some(it),
            }
        }
        let mut outcome = if write.is_some() { self.outcome.clone() } else { Outcome::default() };
        if outcome.error.is_none() {
            outcome.error.clone_from(&plan.error);
        }
        let news = News::Acted { snapshot: &snapshot, verdict: &verdict, outcome: &outcome };
        controller.remember(&mut self.memory, news, &mut queue);
        let status = controller.report(&snapshot, Some(&verdict), &outcome);
        let status = status.map(|write| body(&write)["status"].clone());
        let took = Duration::from_millis(3);
        let ended = Ended { took, unsettled: false, error: outcome.error.clone(), code: None };
        let counts = controller.counts(Some(&snapshot), Some(&verdict), &ended);
        let counts = plan.counts.iter().chain(&counts);
        let counts = counts.map(|it| format!("{} {}", it.family.name, it.labels.join(" ")));
        let put = write.as_ref().map(|it| body(it));
        Synced {
            why: plan.why.to_string(),
            events,
            size: put.as_ref().map(|put| int(&put["spec"]["replicas"])),
            put,
            announce: write.and_then(|it| it.announce.first().cloned()),
            status,
            reads,
            counts: counts.collect(),
            error: plan.error,
            calls: controller::fixture::lines(&queue),
        }
    }

    /// Another autoscaler of the namespace has a target with this selector.
    pub(super) fn beside(mut self, name: &str, selector: &str) -> Self {
        let selector = Arc::new(SelectorText::parse(selector).unwrap());
        self.memory.select(&Key::new("test-namespace", name), &selector);
        self
    }
}

impl Synced {
    /// The conditions that the status has: type, status and reason.
    pub(super) fn conditions(&self) -> Vec<String> {
        let status = self.status.as_ref().expect("a status is written");
        let conditions = status["conditions"].as_array().cloned().unwrap_or_default();
        let short = |it: &Value| {
            let of = |field: &str| it[field].as_str().unwrap_or_default().to_owned();
            format!("{} {} {}", of("type"), of("status"), of("reason"))
        };
        conditions.iter().map(short).collect()
    }
}
