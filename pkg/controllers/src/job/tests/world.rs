//! A Job and its pods, on which plans are carried out as the API server would.

use std::collections::BTreeMap;

use api::{Job, Key, Kind as _, Pod, Time};
use controller::fixture::{Fixture, NOW, body, time, with};
use controller::{
    Action, Controller as _, Enqueue, Facts, News, ObjectRef, Outcome, Plan, Step, Verb, Write,
};
use serde_json::{Value, json};

use super::super::*;

pub(super) const FINALIZER: &str = "batch.kubernetes.io/job-tracking";
const SECOND: i64 = 1_000_000_000;

pub(super) struct World {
    pub(super) job: Value,
    pub(super) pods: BTreeMap<String, Value>,
    pub(super) backoffs: Backoffs,
    pub(super) options: Options,
    /// Which writes are refused.
    pub(super) refuses: fn(&Write) -> bool,
    /// The indexes of pods that were made, or -1.
    pub(super) creates: Vec<i64>,
    pub(super) deletes: usize,
    pub(super) patches: usize,
    pub(super) updates: usize,
    pub(super) events: Vec<String>,
    /// Seconds since [`NOW`].
    pub(super) seconds: i64,
    made: usize,
}

/// Upstream's `newJob`.
pub(super) fn job(spec: Value) -> Value {
    let common = json!({
        "selector": {"matchLabels": {"foo": "bar"}},
        "template": {
            "metadata": {"labels": {"foo": "bar"}},
            "spec": {"restartPolicy": "Never", "containers": [{"name": "main", "image": "a"}]},
        },
        "podReplacementPolicy": "TerminatingOrFailed",
    });
    json!({
        "apiVersion": "batch/v1", "kind": "Job",
        "metadata": {"name": "foobar", "namespace": "shop", "uid": "u1", "resourceVersion": "7",
            "generation": 1},
        "spec": with(common, spec),
        "status": {},
    })
}

/// A pod of that Job in such a phase: pending, running, Ready, succeeded, failed, terminating.
pub(super) fn pod(name: &str, phase: &str, index: Option<&str>) -> Value {
    let long_ago = "2000-01-01T00:00:01Z";
    let word = match phase {
        "p" => "Pending",
        "s" => "Succeeded",
        "f" => "Failed",
        _ => "Running",
    };
    let ended = json!([{"name": "main", "state": {"terminated": {"finishedAt": long_ago}}}]);
    let ready = json!([{"type": "Ready", "status": "True"}]);
    let annotations = index.map(|index| json!({"batch.kubernetes.io/job-completion-index": index}));
    json!({
        "metadata": {
            "name": name, "namespace": "shop", "uid": format!("uid-{name}"), "resourceVersion": "1",
            "labels": {"foo": "bar"}, "finalizers": [FINALIZER],
            "annotations": annotations,
            "deletionTimestamp": (phase == "t").then_some(NOW),
            "ownerReferences": [{"apiVersion": "batch/v1", "kind": "Job", "name": "foobar",
                "uid": "u1", "controller": true, "blockOwnerDeletion": true}],
        },
        "status": {
            "phase": word,
            "containerStatuses": matches!(phase, "s" | "f").then_some(ended),
            "conditions": (phase == "R").then_some(ready),
        },
    })
}

impl World {
    /// A Job with such a spec, and pods as `r R 3:s`: a phase each, with or without an index.
    pub(super) fn new(spec: Value, pods: &str) -> Self {
        let pods = pods.split_whitespace().enumerate().map(|(at, pod_text)| {
            let (index, phase) = match pod_text.split_once(':') {
                Some((index, phase)) => (Some(index), phase),
                None => (None, pod_text),
            };
            let name = format!("pod-{at:03}");
            (name.clone(), pod(&name, phase, index))
        });
        Self {
            job: job(spec),
            pods: pods.collect(),
            backoffs: Backoffs::default(),
            options: Options { resets_start_time: true },
            refuses: |_| false,
            creates: Vec::new(),
            deletes: 0,
            patches: 0,
            updates: 0,
            events: Vec::new(),
            seconds: 0,
            made: 0,
        }
    }

    pub(super) fn fixture(&self) -> Fixture {
        let pods: Vec<_> = self.pods.values().cloned().collect();
        let mut fixture = Fixture::default()
            .holding::<Job>(std::slice::from_ref(&self.job))
            .holding::<Pod>(&pods);
        fixture.now = self.now();
        fixture
    }

    pub(super) fn now(&self) -> Time {
        time(self.seconds * SECOND)
    }

    pub(super) fn controller(&self) -> super::super::Controller {
        super::super::Controller::new(self.options)
    }

    pub(super) fn snapshot(&self) -> Snapshot {
        let key = Key::new("shop", "foobar");
        self.controller().observe(&key, &self.fixture().view(), &self.backoffs).unwrap()
    }

    pub(super) fn plan(&self) -> Plan {
        self.controller().decide(&self.snapshot(), &Facts::default()).0
    }

    /// What a sync counts as.
    pub(super) fn counted_as(&self) -> &'static str {
        let decided = self.controller().decide(&self.snapshot(), &Facts::default());
        decided.1.action.expect("it counts")
    }

    /// What the decision says, and when it is made again.
    pub(super) fn why(&self) -> String {
        let plan = self.plan();
        match plan.again {
            Some(again) => format!("{}; again in {again:?}", plan.why),
            None => plan.why.into_owned(),
        }
    }

    /// One sync. Whether it wrote anything.
    pub(super) fn sync(&mut self) -> bool {
        let (controller, snapshot) = (self.controller(), self.snapshot());
        let (plan, verdict) = controller.decide(&snapshot, &Facts::default());
        let before = (self.creates.len(), self.deletes, self.patches, self.updates);
        let mut outcome = Outcome { error: plan.error.clone(), ..Outcome::default() };
        for (at, step) in plan.steps.iter().enumerate() {
            if !self.step(step) {
                let error = Some("refused".to_owned());
                let made = self.creates.len() - before.0;
                let made = vec![ObjectRef::new(&Pod::RESOURCE, &snapshot.job.meta); made];
                outcome = Outcome { error, step: Some(at), made, ..Outcome::default() };
                break;
            }
        }
        let news = News::Acted { snapshot: &snapshot, verdict: &verdict, outcome: &outcome };
        controller.remember(&mut self.backoffs, news, &mut Enqueue::default());
        if let Some(write) = controller.report(&snapshot, Some(&verdict), &outcome) {
            self.act(&write.into());
        }
        before != (self.creates.len(), self.deletes, self.patches, self.updates)
    }

    /// So many syncs.
    pub(super) fn sync_times(&mut self, times: usize) {
        for _ in 0..times {
            self.sync();
        }
    }

    /// Syncs until nothing is written any more.
    pub(super) fn settle(&mut self) {
        for _ in 0..10 {
            if !self.sync() {
                return;
            }
        }
        panic!("it never rests: {}", self.plan());
    }

    fn step(&mut self, step: &Step) -> bool {
        match step {
            Step::InOrder(actions) => actions.iter().all(|action| self.act(action)),
            Step::Together(actions) | Step::SlowStart(actions) => {
                actions.iter().filter(|action| !self.act(action)).count() == 0
            }
            Step::Chains(chains) => {
                let failed = |chain: &&Vec<Action>| !chain.iter().all(|it| self.act(it));
                chains.iter().filter(failed).count() == 0
            }
            Step::Fetch(_) => panic!("nothing is to be read"),
        }
    }

    fn act(&mut self, action: &Action) -> bool {
        let write = match action {
            Action::Cloud(order) => panic!("no cloud is here: {order}"),
            Action::Event(event) => {
                self.events.push(format!("{} {}", event.reason, event.message));
                return true;
            }
            Action::Write(write) => write,
        };
        if (self.refuses)(write) {
            return false;
        }
        let name = write.object.key.name.to_string();
        match &write.verb {
            Verb::Create(_) => self.create(body(write)),
            Verb::Delete(_) => {
                self.deletes += 1;
                let now = self.now().to_string();
                self.pods.get_mut(&name).unwrap()["metadata"]["deletionTimestamp"] = now.into();
            }
            Verb::Patch(_) => {
                self.patches += 1;
                let patch = body(write);
                let removed = &patch["metadata"]["$deleteFromPrimitiveList/finalizers"];
                assert_eq!(removed, &json!([FINALIZER]), "{patch}");
                let meta = &mut self.pods.get_mut(&name).unwrap()["metadata"];
                assert_eq!(meta["uid"], patch["metadata"]["uid"]);
                let finalizers = meta["finalizers"].as_array_mut().unwrap();
                finalizers.retain(|finalizer| finalizer != FINALIZER);
            }
            Verb::Update(_) => {
                assert_eq!(write.subresource, Some("status"));
                self.updates += 1;
                self.job = body(write);
            }
            Verb::DeleteAll => panic!("no plan deletes all"),
        }
        true
    }

    fn create(&mut self, mut pod: Value) {
        self.made += 1;
        let name = format!("{}{}", pod["metadata"]["generateName"].as_str().unwrap(), self.made);
        assert_eq!(pod["metadata"]["finalizers"], json!([FINALIZER]));
        let index = &pod["metadata"]["annotations"]["batch.kubernetes.io/job-completion-index"];
        self.creates.push(index.as_str().map_or(-1, |index| index.parse().unwrap()));
        pod["metadata"]["name"] = name.as_str().into();
        pod["metadata"]["namespace"] = "shop".into();
        pod["metadata"]["uid"] = format!("uid-{name}").into();
        pod["metadata"]["resourceVersion"] = "1".into();
        pod["metadata"]["creationTimestamp"] = self.now().to_string().into();
        pod["status"] = json!({"phase": "Pending"});
        self.pods.insert(name, pod);
    }

    /// A pod ends, now, with such an exit code.
    pub(super) fn exits(&mut self, name: &str, code: i64) {
        let at = self.now().to_string();
        let pod = self.pods.get_mut(name).unwrap();
        pod["status"] = json!({
            "phase": if code == 0 { "Succeeded" } else { "Failed" },
            "containerStatuses": [{"name": "main",
                "state": {"terminated": {"exitCode": code, "finishedAt": at}}}],
        });
    }

    /// The API server drops pods that are being deleted, have ended and have no finalizers.
    pub(super) fn kubelets(&mut self) {
        self.pods.retain(|_, pod| {
            let is_going = !pod["metadata"]["deletionTimestamp"].is_null();
            !is_going || pod["metadata"]["finalizers"].as_array().is_some_and(|it| !it.is_empty())
        });
    }

    /// What was written, and the status, in upstream's numbers.
    pub(super) fn text(&self) -> String {
        let status = &self.job["status"];
        let number = |name: &str| status[name].as_i64().unwrap_or(0);
        let indexes: Vec<_> =
            self.creates.iter().filter(|it| **it >= 0).map(ToString::to_string).collect();
        let indexes =
            if indexes.is_empty() { String::new() } else { format!(" ({})", indexes.join(",")) };
        let mut text = format!(
            "creates {}{indexes}, deletes {}, patches {}; active {}, ready {}, succeeded {}, \
             failed {}",
            self.creates.len(),
            self.deletes,
            self.patches,
            number("active"),
            number("ready"),
            number("succeeded"),
            number("failed"),
        );
        if let Some(completed) = status["completedIndexes"].as_str() {
            text = format!("{text}, completed {completed}");
        }
        if let Some(failed) = status["failedIndexes"].as_str() {
            text = format!("{text}, failed indexes {failed}");
        }
        text + &self.conditions()
    }

    pub(super) fn conditions(&self) -> String {
        let conditions = self.job["status"]["conditions"].as_array().cloned().unwrap_or_default();
        let text = |it: &Value| {
            format!("; {} {}", it["type"].as_str().unwrap(), it["status"].as_str().unwrap())
        };
        conditions.iter().map(text).collect()
    }
}
