//! Whether a pod must leave its node, and when. As `processPodOnNode` and `deletePodHandler` in
//! upstream's `pkg/controller/tainteviction/taint_eviction.go`.

use std::sync::Arc;
use std::time::Duration;

use api::{Kind, Node, Pod, Text};
use controller::{
    Action, Count, Event, EventType, Family, ObjectRef, Plan, Step, When, Why, Write, pods,
};
use serde_json::json;

use super::snapshot::{Snapshot, Tolerance};
use super::timers::Stage;

/// Upstream's pkg/controller/tainteviction/metrics.
pub(super) const DELETIONS_TOTAL: Family = Family::counter(
    "taint_eviction_controller_pod_deletions_total",
    "[ALPHA] Total number of Pods deleted by TaintEvictionController since its start.",
);
/// As [`DELETIONS_TOTAL`].
pub(super) const DELETION_DURATION: Family = Family::histogram(
    "taint_eviction_controller_pod_deletion_duration_seconds",
    "[ALPHA] Latency, in seconds, between the time when a taint effect has been activated for the \
           Pod and its deletion via TaintEvictionController.",
    &[0.005, 0.025, 0.1, 0.5, 1.0, 2.5, 10.0, 30.0, 60.0, 120.0, 180.0, 240.0],
);

/// What becomes of the pod's timer once the plan was acted on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Nothing.
    Keep,
    /// It is dropped.
    Forget,
    /// It begins. Moments are as [`controller::View::uptime`].
    Start {
        /// When the pod is evicted.
        due: Duration,
        /// How long that is from now.
        span: Duration,
    },
    /// The pod is evicted.
    Evict {
        /// Since when that was due.
        due: Duration,
    },
}

/// What must become of a pod.
enum Course {
    /// It stays.
    Stays(Why),
    /// Its node says nothing: a timer that runs goes on, and none begins.
    Unknown(Why),
    /// It leaves after so long.
    Leaves(Duration, Why),
    /// It leaves now.
    Goes(Why),
}

pub(super) fn decide(s: &Snapshot) -> (Plan, Verdict) {
    let Some(pod) = &s.pod else {
        return cancelled(s, "the pod is deleted");
    };
    if s.is_evicted() {
        return (Plan::rest("it is evicted already, and is being deleted"), Verdict::Keep);
    }
    match (course(s, pod), s.stage()) {
        (Course::Stays(why), _) | (Course::Unknown(why), None | Some(Stage::Evicted)) => {
            cancelled(s, why)
        }
        (Course::Goes(why), Some(Stage::Marked { due })) => evict(s, pod, due, why),
        (Course::Goes(why), _) => evict(s, pod, s.uptime, why),
        (Course::Leaves(span, why), None | Some(Stage::Evicted)) if span.is_zero() => {
            evict(s, pod, s.uptime, why)
        }
        (Course::Leaves(span, why), None | Some(Stage::Evicted)) => {
            let due = s.uptime + span;
            let (plan, _) = cancelled(s, format!("{why}: evicted at {}", s.wall(due)));
            (plan.again_after(Some(span)), Verdict::Start { due, span })
        }
        (Course::Unknown(why) | Course::Leaves(_, why), Some(Stage::Marked { due })) => {
            evict(s, pod, due, why)
        }
        (Course::Leaves(asked, why), Some(Stage::Waits { due, span })) if asked != span => {
            let why = format!("{why} by now, but a timer that runs stays as it is");
            waits(s, pod, due, why.into())
        }
        (Course::Unknown(why) | Course::Leaves(_, why), Some(Stage::Waits { due, .. })) => {
            waits(s, pod, due, why)
        }
    }
}

fn course(s: &Snapshot, pod: &Pod) -> Course {
    let Some(name) = &pod.node_name else {
        return Course::Unknown(if pod.unreadable {
            "the pod cannot be read".into()
        } else {
            "it is on no node".into()
        });
    };
    let Some(node) = &s.node else {
        return Course::Unknown(format!("its node {name} is not cached, perhaps deleted").into());
    };
    of_node(s, pod, node)
}

fn of_node(s: &Snapshot, pod: &Pod, node: &Node) -> Course {
    let name = &node.meta.key.name;
    match s.tolerance(pod, node) {
        Tolerance::Untainted => {
            Course::Stays(format!("its node {name} has no taint with the effect NoExecute").into())
        }
        Tolerance::Endless => {
            Course::Stays(format!("it tolerates the taints of its node {name} for good").into())
        }
        Tolerance::For(span) => {
            let why = format!("it tolerates the taints of its node {name} for {span:?}");
            Course::Leaves(span, why.into())
        }
        Tolerance::Not(taint) => {
            Course::Goes(format!("it does not tolerate {taint} of its node {name}").into())
        }
    }
}

// === Plans ===

/// No timer runs any more. As `cancelWorkWithEvent`.
fn cancelled(s: &Snapshot, why: impl Into<Why>) -> (Plan, Verdict) {
    let verdict = if s.timer.is_some() { Verdict::Forget } else { Verdict::Keep };
    let Some(event) = cancelling(s) else { return (Plan::rest(why), verdict) };
    (Plan::one(why, Step::InOrder(vec![event])), verdict)
}

fn waits(s: &Snapshot, pod: &Pod, due: Duration, why: Why) -> (Plan, Verdict) {
    match due.checked_sub(s.uptime) {
        Some(left) if !left.is_zero() => {
            let why = format!("{why}: evicted at {}", s.wall(due));
            (Plan::rest(why).again_after(Some(left)), Verdict::Keep)
        }
        Some(_) | None => evict(s, pod, due, why),
    }
}

/// Marks the pod and deletes it. As `deletePodHandler`: the Event comes once, and before it that of
/// a timer that does not run out.
fn evict(s: &Snapshot, pod: &Pod, due: Duration, why: Why) -> (Plan, Verdict) {
    let mut actions: Vec<Action> = Vec::new();
    let runs_out = matches!(s.stage(), Some(Stage::Waits { due: then, .. }) if then == due);
    if !runs_out {
        actions.extend(cancelling(s));
    }
    if !matches!(s.stage(), Some(Stage::Marked { .. })) {
        actions.push(event(s, "Marking for deletion"));
    }
    let object = ObjectRef::new(&Pod::RESOURCE, &pod.meta);
    actions.push(Write::strategic(object.clone(), mark(s, pod)).at("status").into());
    let counts = [Count::one(&DELETIONS_TOTAL), Count::since(&DELETION_DURATION, s.wall(due))];
    let counts = counts.map(|count| count.when(When::Done)).into();
    actions.push(Write::delete(object).counted(counts).into());
    (Plan::one(why, Step::InOrder(actions)), Verdict::Evict { due })
}

/// The condition that says why it is deleted, as a strategic merge patch.
fn mark(s: &Snapshot, pod: &Pod) -> String {
    let message = "Taint manager: deleting due to NoExecute taint";
    let mut condition = pods::disruption_target(pod, s.now, "DeletionByTaintManager", message);
    let generation = pod.meta.generation;
    let tracks = s.controller.tracks_generations || pod.observed.disruption_target;
    if generation != 0 && tracks {
        condition["observedGeneration"] = generation.into();
    }
    let meta = json!({"uid": &*pod.meta.uid});
    json!({"metadata": meta, "status": {"conditions": [condition]}}).to_string()
}

/// The Event of a timer that does not run out, if one runs; for another pod of this name, too.
fn cancelling(s: &Snapshot) -> Option<Action> {
    let runs = matches!(s.stage(), Some(Stage::Waits { .. })) || s.has_lost_timer();
    runs.then(|| event(s, "Cancelling deletion of"))
}

/// Upstream's Events name no uid.
fn event(s: &Snapshot, deed: &str) -> Action {
    let about = ObjectRef {
        resource: Pod::RESOURCE,
        key: s.key.clone(),
        uid: Text::default(),
        resource_version: 0,
    };
    Action::Event(Event {
        about: Arc::new(about),
        r#type: EventType::Normal,
        reason: "TaintManagerEviction".into(),
        message: format!("{deed} Pod {}", s.key),
    })
}
