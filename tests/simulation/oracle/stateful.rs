//! StatefulSets: the order in which their pods are made, and what is there at the end.

use std::sync::Arc;

use serde_json::Value;

use super::fields::{at, is_live, is_ready, number, text, uid};
use super::{Judged, Oracle};

const ACCOUNT: &str = "statefulset-controller";

impl Oracle {
    /// A pod of a set whose pods wait for each other is made when those before it are ready, or
    /// were: that they are no more may not be known.
    pub(super) fn stateful_order(&self, it: &Judged<'_>) -> Option<String> {
        let owner = it.owner_of_new_pod(&[ACCOUNT])?;
        let (_, set) = self.objects.find(owner)?;
        if text(set, "/spec/podManagementPolicy") == "Parallel" {
            return None;
        }
        let made = ordinal(it.got)?;
        let was_ready = |pod: &Value| {
            let known = self.ready_since.get(uid(pod));
            let born = self.born.get(uid(pod)).copied().unwrap_or(0);
            is_ready(pod) || known.is_some_and(|ready| ready.is || ready.revision > born)
        };
        let mut pods = self.objects.children("Pod", owner);
        let first = pods.find(|pod| {
            let is_before = ordinal(pod).is_some_and(|at| start(set) <= at && at < made);
            is_before && is_live(pod) && !was_ready(pod)
        })?;
        let [name, first] = [it.got, &**first].map(|it| text(it, "/metadata/name"));
        Some(format!("{it} {name}: {first} was never ready"))
    }

    /// What a set still lacks.
    pub(super) fn stateful_lacks(&self, set: &Value) -> Option<String> {
        let wanted = number(set, "/spec/replicas");
        let live = |pod: &&Arc<Value>| is_live(pod);
        let mut has: Vec<_> = self
            .objects
            .children("Pod", uid(set))
            .filter(live)
            .filter_map(|it| ordinal(it))
            .collect();
        has.sort_unstable();
        let should: Vec<_> = (start(set)..start(set) + wanted).collect();
        if has != should {
            return Some(format!("has {has:?}, should have {should:?}"));
        }
        let fields = ["replicas", "readyReplicas", "availableReplicas"];
        let status = fields.map(|it| number(set, &format!("/status/{it}")));
        let is_seen =
            number(set, "/status/observedGeneration") == number(set, "/metadata/generation");
        let is_done = status == [wanted; 3] && is_seen;
        (!is_done).then(|| format!("wants {wanted}, status {}", at(set, "/status")))
    }
}

fn start(set: &Value) -> i64 {
    number(set, "/spec/ordinals/start")
}

fn ordinal(pod: &Value) -> Option<i64> {
    text(pod, "/metadata/name").rsplit_once('-')?.1.parse().ok()
}
