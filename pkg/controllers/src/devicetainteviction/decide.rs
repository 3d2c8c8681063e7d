//! Whether a pod must leave its devices, and when. As `handlePod` and `maybeDeletePod` in
//! upstream's `pkg/controller/devicetainteviction/device_taint_eviction.go`.

use std::sync::Arc;

use api::{Kind, Pod, Time};
use controller::{
    Action, Count, Event, EventType, Family, ObjectRef, Plan, Step, When, Why, Write, pods,
};
use serde_json::json;

use super::evictions::Stage;
use super::snapshot::{Reason, Snapshot};

/// Upstream's pkg/controller/devicetainteviction/metrics.
pub(super) const DELETIONS_TOTAL: Family = Family::counter(
    "device_taint_eviction_controller_pod_deletions_total",
    "[ALPHA] Total number of Pods deleted by DeviceTaintEvictionController since its start.",
);
/// As [`DELETIONS_TOTAL`].
pub(super) const DELETION_DURATION: Family = Family::histogram(
    "device_taint_eviction_controller_pod_deletion_duration_seconds",
    "[ALPHA] Latency, in seconds, between the time when a device taint effect has been activated \
     and a Pod's deletion via DeviceTaintEvictionController.",
    &[0.005, 0.025, 0.1, 0.5, 1.0, 2.5, 10.0, 30.0, 60.0, 120.0, 180.0, 240.0],
);

/// What is remembered of the pod once the plan was acted on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// What was before.
    Keep,
    /// Nothing.
    Forget,
    /// It waits until this moment.
    Wait(Time),
    /// It is evicted.
    Evict,
}

pub(super) fn decide(s: &Snapshot) -> (Plan, Verdict) {
    if s.stage == Some(Stage::Evicted) {
        return (Plan::rest("it is evicted already, and is being deleted"), Verdict::Keep);
    }
    let Some(first) = s.first() else { return stays(s) };
    if first.at > s.now {
        let why = format!("it tolerates {first} until {}", first.at);
        let again = Some(first.at.since(s.now));
        return (Plan::rest(why).again_after(again), Verdict::Wait(first.at));
    }
    let why: Why = format!("it does not tolerate {first}, or no longer").into();
    if s.pod.meta.is_terminating() {
        // As upstream, which counts what somebody else deletes as well.
        let plan = Plan { counts: counts(first).into(), ..Plan::rest("it is being deleted") };
        return (plan, Verdict::Evict);
    }
    (evict(s, first, why), Verdict::Evict)
}

/// Nothing is due any more. As `cancelWorkWithEvent`.
fn stays(s: &Snapshot) -> (Plan, Verdict) {
    let why = if s.pod.node_name.is_none() {
        "it is on no node"
    } else {
        "its devices have no taint with the effect NoExecute, or its claims tolerate it for good"
    };
    match s.stage {
        None | Some(Stage::Evicted) => (Plan::rest(why), Verdict::Keep),
        Some(Stage::Waits(_) | Stage::Marked) => {
            let cancelled = Step::InOrder(vec![event(s, "Cancelling deletion")]);
            (Plan::one(why, cancelled), Verdict::Forget)
        }
    }
}

/// Marks the pod and deletes it. As `addConditionAndDeletePod`: the Event comes once.
fn evict(s: &Snapshot, first: &Reason, why: Why) -> Plan {
    let mut actions = Vec::new();
    if s.stage != Some(Stage::Marked) {
        actions.push(event(s, "Marking for deletion"));
    }
    let object = ObjectRef::new(&Pod::RESOURCE, &s.pod.meta);
    let message = "Device Taint manager: deleting due to NoExecute taint";
    let condition = pods::disruption_target(&s.pod, s.now, "DeletionByDeviceTaintManager", message);
    let meta = json!({"uid": &*s.pod.meta.uid});
    let body = json!({"metadata": meta, "status": {"conditions": [condition]}}).to_string();
    actions.push(Write::strategic(object.clone(), body).at("status").into());
    let counts = counts(first).map(|count| count.when(When::Done)).into();
    actions.push(Write::delete(object).counted(counts).into());
    Plan::one(why, Step::InOrder(actions))
}

fn counts(first: &Reason) -> [Count; 2] {
    [Count::one(&DELETIONS_TOTAL), Count::since(&DELETION_DURATION, first.at)]
}

fn event(s: &Snapshot, message: &str) -> Action {
    Action::Event(Event {
        about: Arc::new(ObjectRef::new(&Pod::RESOURCE, &s.pod.meta)),
        r#type: EventType::Normal,
        reason: "DeviceTaintManagerEviction".into(),
        message: message.to_owned(),
    })
}
