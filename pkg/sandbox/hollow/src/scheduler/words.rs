//! What a scheduler writes.

use std::collections::BTreeMap;
use std::time::Duration;

use api::{Key, Time};
use serde_json::{Value, json};

use super::NAME;
use super::pod::Pod;
use crate::event::{self, Happening, Reporter};
use crate::fields::{at, condition, number, text};
use crate::kinds::{PODS, target};
use crate::{Request, Target};

/// A series of events is written again this often.
const SERIES: Duration = Duration::from_mins(6);
const WHO: Reporter<'static> = Reporter { component: NAME, instance: "default-scheduler-hollow" };

/// The events that were written of waiting pods.
#[derive(Default)]
pub(crate) struct Words {
    failures: BTreeMap<Key, Failure>,
    number: u64,
}

struct Failure {
    uid: String,
    place: Target,
    count: u64,
    written: Time,
}

/// Puts a pod on a node.
pub(crate) fn bind(pod: &Pod, node: &str) -> Request {
    let binding = json!({
        "apiVersion": "v1",
        "kind": "Binding",
        "metadata": {
            "name": &*pod.key.name,
            "namespace": &*pod.key.namespace,
            "uid": pod.uid,
        },
        "target": { "kind": "Node", "name": node },
    });
    Request::Create(target(&PODS, &pod.key, "binding"), binding)
}

impl Words {
    /// A pod has a node, or is deleted.
    pub(crate) fn forget(&mut self, key: &Key) {
        self.failures.remove(key);
    }

    /// A pod has a node.
    pub(crate) fn scheduled(&mut self, pod: &Pod, node: &str, now: Time) -> Request {
        let (namespace, name) = (&pod.key.namespace, &pod.key.name);
        let message = format!("Successfully assigned {namespace}/{name} to {node}");
        let what = Happening { kind: "Normal", reason: "Scheduled", message: &message };
        self.event(pod, now, &what, "Binding").1
    }

    fn event(
        &mut self,
        pod: &Pod,
        now: Time,
        what: &Happening<'_>,
        action: &str,
    ) -> (Target, Request) {
        self.number += 1;
        let about = event::about("Pod", &pod.object, "");
        let place = event::place(&about, now, self.number);
        (place.clone(), event::acted(place, &about, now, what, (action, &WHO)))
    }

    /// No node takes a pod. Nothing is said twice.
    pub(crate) fn failed(
        &mut self,
        pod: &Pod,
        message: &str,
        nominated: &str,
        now: Time,
    ) -> Vec<Request> {
        let mut requests = Vec::new();
        requests.extend(self.failure(pod, message, now));
        let known = condition(&pod.object, "PodScheduled");
        let same = known.filter(|known| text(known, "/status") == "False");
        let said = same.is_some_and(|known| {
            text(known, "/message") == message && text(known, "/reason") == "Unschedulable"
        });
        let mut status = json!({});
        if !said {
            let since = same.and_then(|known| at(known, "/lastTransitionTime")).cloned();
            status["conditions"] = json!([{
                "type": "PodScheduled",
                "status": "False",
                "reason": "Unschedulable",
                "message": message,
                "observedGeneration": number(&pod.object, "/metadata/generation").unwrap_or(0),
                "lastProbeTime": null,
                "lastTransitionTime": since.unwrap_or_else(|| json!(now)),
            }]);
        }
        if text(&pod.object, "/status/nominatedNodeName") != nominated {
            let nominated = Some(nominated).filter(|it| !it.is_empty());
            status["nominatedNodeName"] = json!(nominated);
        }
        if status.as_object().is_some_and(|status| !status.is_empty()) {
            requests.push(patch(pod, &status));
        }
        requests
    }

    fn failure(&mut self, pod: &Pod, message: &str, now: Time) -> Option<Request> {
        if let Some(known) = self.failures.get_mut(&pod.key)
            && known.uid == pod.uid
        {
            known.count += 1;
            if known.count > 2 && now.since(known.written) < SERIES {
                return None;
            }
            known.written = now;
            return Some(event::acted_again(known.place.clone(), now, known.count));
        }
        let what = Happening { kind: "Warning", reason: "FailedScheduling", message };
        let (place, request) = self.event(pod, now, &what, "Scheduling");
        let failure = Failure { uid: pod.uid.clone(), place, count: 1, written: now };
        self.failures.insert(pod.key.clone(), failure);
        Some(request)
    }

    /// A pod is preempted.
    pub(crate) fn preempted(
        &mut self,
        victim: &Pod,
        pod: &Pod,
        node: &str,
        now: Time,
    ) -> [Request; 3] {
        let condition = json!({
            "type": "DisruptionTarget",
            "status": "True",
            "reason": "PreemptionByScheduler",
            "message": format!("{NAME}: preempting to accommodate a higher priority pod"),
            "observedGeneration": number(&victim.object, "/metadata/generation").unwrap_or(0),
            "lastProbeTime": null,
            "lastTransitionTime": now,
        });
        let message = format!("Preempted by pod {} on node {node}", pod.uid);
        let what = Happening { kind: "Normal", reason: "Preempted", message: &message };
        let (_, mut event) = self.event(victim, now, &what, "Preempting");
        if let Request::Create(_, event) = &mut event {
            event["related"] = event::about("Pod", &pod.object, "");
        }
        let options = json!({ "preconditions": { "uid": victim.uid } });
        [
            patch(victim, &json!({ "conditions": [condition] })),
            Request::Delete(target(&PODS, &victim.key, ""), options),
            event,
        ]
    }
}

fn patch(pod: &Pod, status: &Value) -> Request {
    let body = json!({ "metadata": { "uid": pod.uid }, "status": status });
    Request::Patch(target(&PODS, &pod.key, "status"), body)
}
