//! Jobs whose pods run: each pod counts once, and none is held for good.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::fields::{
    at, controller, count, has_ended, is_ending, is_live, list, number, text, uid,
};
use super::{Judged, Oracle};

pub(super) const ACCOUNT: &str = "job-controller";
const FINALIZER: &str = "batch.kubernetes.io/job-tracking";

/// The pods that Jobs ever had, by the uid of the Job.
#[derive(Default)]
pub(super) struct Tally(BTreeMap<String, Pods>);

/// Uids.
#[derive(Default)]
struct Pods {
    all: BTreeSet<String>,
    succeeded: BTreeSet<String>,
    /// Those that have failed, or may count as that since they are being deleted.
    failed: BTreeSet<String>,
}

impl Tally {
    /// Notes what a pod has become.
    pub(super) fn learn(&mut self, pod: &Value) {
        let Some(owner) = controller(pod) else { return };
        let pods = self.0.entry(owner.to_owned()).or_default();
        let uid = uid(pod).to_owned();
        if text(pod, "/status/phase") == "Succeeded" {
            pods.succeeded.insert(uid.clone());
        }
        if text(pod, "/status/phase") == "Failed" || is_ending(pod) {
            pods.failed.insert(uid.clone());
        }
        pods.all.insert(uid);
    }
}

impl Oracle {
    /// A Job counts no more pods than have ended.
    pub(super) fn counts_twice(&self, it: &Judged<'_>) -> Option<String> {
        if it.account != ACCOUNT || it.target.plural != "jobs" || it.target.sub != "status" {
            return None;
        }
        let job = it.got;
        let said = |word: &str| {
            let named = list(job, &format!("/status/uncountedTerminatedPods/{word}")).len();
            number(job, &format!("/status/{word}")) + count(named)
        };
        let (succeeded, failed) = (said("succeeded"), said("failed"));
        let none = Pods::default();
        let pods = self.tally.0.get(uid(job)).unwrap_or(&none);
        let [all, did, not] = [&pods.all, &pods.succeeded, &pods.failed].map(|it| count(it.len()));
        // A Job that fails counts each pod that has not ended as failed.
        let not = if has(job, "FailureTarget") { all } else { not };
        (succeeded > did || failed > not || succeeded + failed > all).then(|| {
            format!(
                "{it}: counts {succeeded} that succeeded and {failed} that failed; of {all} pods \
                 {did} succeeded and {not} may have failed"
            )
        })
    }

    /// What a Job whose pods run still lacks.
    pub(super) fn batch_lacks(&self, job: &Value) -> Option<String> {
        let uncounted = at(job, "/status/uncountedTerminatedPods");
        let is_counted = ["/succeeded", "/failed"].iter().all(|it| list(uncounted, it).is_empty());
        if !is_counted {
            return Some(format!("has not counted {uncounted}"));
        }
        let mut pods = self.objects.children("Pod", uid(job));
        if has(job, "Complete") || has(job, "Failed") {
            let held = pods.find(|pod| is_tracked(pod));
            let held = held.map(|pod| text(pod, "/metadata/name"));
            return held.map(|name| format!("has finished and holds {name}"));
        }
        if *at(job, "/spec/suspend") != true {
            return Some(format!("has not finished, status {}", at(job, "/status")));
        }
        let is_said = has(job, "Suspended") && number(job, "/status/active") == 0;
        (pods.any(|pod| is_live(pod)) || !is_said)
            .then(|| format!("is suspended, status {}", at(job, "/status")))
    }

    /// A pod that has ended is not held by a Job that will not count it.
    pub(super) fn pod_is_held(&self, pod: &Value) -> bool {
        let job = controller(pod).and_then(|owner| self.objects.find(owner));
        is_tracked(pod) && has_ended(pod) && job.is_none()
    }
}

/// Whether a user has a Job managed elsewhere.
pub(super) fn is_elsewhere(job: &Value) -> bool {
    !text(job, "/spec/managedBy").is_empty()
}

fn is_tracked(pod: &Value) -> bool {
    list(pod, "/metadata/finalizers").iter().any(|it| it == FINALIZER)
}

pub(super) fn has(job: &Value, condition: &str) -> bool {
    let is = |it: &Value| text(it, "/type") == condition && text(it, "/status") == "True";
    list(job, "/status/conditions").iter().any(is)
}
