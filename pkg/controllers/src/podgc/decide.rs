//! Which pods are collected. As `gc` and what it calls in upstream's
//! `pkg/controller/podgc/gc_controller.go`.

use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use api::{Key, Kind, Node, Phase, Pod, Time};
use controller::{
    Action, Count, Delete, Facts, Family, ObjectRef, Plan, Query, Step, When, Write, pods, window,
};
use mutant::Mutant;
use serde_json::{Value, json};

use super::PERIOD;
use super::snapshot::Snapshot;

/// How many pods a pass deletes for each reason. At upstream's default of 20 requests a second that
/// takes at most 35 seconds, so that no reason waits long for the others, and no pass acts on what
/// was true long ago.
pub(super) const DELETIONS_MAX: usize = 100;
/// How many nodes a pass reads live, which takes 25 seconds. The others wait for the next pass; in
/// that the nodes that were deleted do not come up again.
pub(super) const READS_MAX: usize = 500;
/// When a pass that had more to delete is followed by the next one, if nothing has to be awaited.
const SOON: Duration = Duration::from_secs(1);

/// Upstream's pkg/controller/podgc/metrics.
pub(super) const PODS_TOTAL: Family = Family::counter(
    "pod_gc_collector_force_delete_pods_total",
    "[ALPHA] Number of pods that are being forcefully deleted since the Pod GC Controller \
           started.",
)
.labels(&["namespace", "reason"]);
/// As [`PODS_TOTAL`].
pub(super) const POD_ERRORS_TOTAL: Family = Family::counter(
    "pod_gc_collector_force_delete_pod_errors_total",
    "[ALPHA] Number of errors encountered when forcefully deleting the pods since the Pod GC \
           Controller started.",
)
.labels(&["namespace", "reason"]);

/// Why a pod is collected, in upstream's order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reason {
    /// It has ended, and there are too many of those.
    Terminated,
    /// It is being deleted, on a node that will not say that it has ended.
    OutOfService,
    /// Its node is deleted.
    Orphaned,
    /// It is being deleted, and was never on a node.
    Unscheduled,
}

pub(super) fn decide(s: &Snapshot, facts: &Facts, threshold: Option<usize>) -> Plan {
    let nodes: Vec<_> = s.due().into_iter().take(READS_MAX).collect();
    let reads = nodes.iter().cloned().map(query);
    let unasked: Vec<_> = reads.filter(|read| facts.get(read).is_none()).collect();
    if !unasked.is_empty() {
        return Plan::fetch("do the missing nodes exist?", unasked);
    }
    let found = collected(s, &gone(&nodes, facts), threshold);
    let why = found.iter().filter(|(_, pods)| !pods.is_empty());
    let why = why.map(|(reason, pods)| format!("{} {}", pods.len(), reason.label()));
    let why = why.collect::<Vec<_>>().join(", ");
    let chains: Vec<_> = found
        .iter()
        .flat_map(|(reason, pods)| {
            window(pods, DELETIONS_MAX, s.now).map(|pod| chain(s, pod, *reason))
        })
        .collect();
    let has_more = found.iter().any(|(_, pods)| pods.len() > DELETIONS_MAX);
    let again = if has_more { SOON } else { PERIOD };
    let plan = if chains.is_empty() {
        Plan::rest("nothing to collect")
    } else {
        // One step for all reasons: a step that fails would end the plan.
        Plan::one(why, Step::Chains(chains))
    };
    Plan { error: unread(&nodes, facts), ..plan }.again_after(Some(again))
}

/// All pods to collect, by reason, each pod once. `gone`: the nodes that are.
fn collected<'a>(
    s: &'a Snapshot,
    gone: &BTreeSet<&str>,
    threshold: Option<usize>,
) -> [(Reason, Vec<&'a Arc<Pod>>); 4] {
    let terminated = threshold.map(|max| surplus(&s.pods, max)).unwrap_or_default();
    let taken: BTreeSet<&Key> = terminated.iter().map(|pod| &pod.meta.key).collect();
    let (mut out_of_service, mut orphaned, mut unscheduled) = (vec![], vec![], vec![]);
    for pod in s.pods.iter().filter(|pod| !taken.contains(&pod.meta.key)) {
        let is_terminating = pod.meta.is_terminating();
        match &pod.node_name {
            // One that cannot be read only seems to be on no node: it may run, and is left alone.
            None if is_terminating && !pod.unreadable => unscheduled.push(pod),
            Some(node) if is_terminating && s.is_out_of_service(node) => out_of_service.push(pod),
            Some(node) if gone.contains(&**node) => orphaned.push(pod),
            Some(node) if mutant::is(Mutant::UnreadyIsGone) && !s.is_ready(node) => {
                orphaned.push(pod);
            }
            None | Some(_) => {}
        }
    }
    out_of_service.sort_by_key(|&pod| rank(pod));
    [
        (Reason::Terminated, terminated),
        (Reason::OutOfService, out_of_service),
        (Reason::Orphaned, orphaned),
        (Reason::Unscheduled, unscheduled),
    ]
}

/// The ended pods that are more than `max`. As `gcTerminated`.
fn surplus(pods: &[Arc<Pod>], max: usize) -> Vec<&Arc<Pod>> {
    let mut ended: Vec<_> = pods.iter().filter(|pod| pod.is_terminal()).collect();
    let surplus = ended.len().saturating_sub(max);
    if surplus > 0 {
        ended.sort_by_key(|&pod| rank(pod));
    }
    ended.truncate(surplus);
    ended
}

/// The smallest goes first. As `byEvictionAndCreationTimestamp`.
fn rank(pod: &Pod) -> (Reverse<bool>, Option<Time>, &str, &str) {
    let evicted = pod.phase == Phase::Failed && pod.evicted;
    let Key { namespace, name } = &pod.meta.key;
    (Reverse(evicted), pod.meta.creation_timestamp, name, namespace)
}

// === Nodes ===

fn query(key: Key) -> Query {
    Query::object(Node::RESOURCE, key)
}

/// The nodes of which the live read says that there is none. One that could not be read counts as
/// there.
fn gone<'a>(nodes: &'a [Key], facts: &Facts) -> BTreeSet<&'a str> {
    let is_gone = |node: &&Key| {
        let answer = facts.get(&query((*node).clone()));
        answer.is_some_and(|answer| matches!(answer.object(), Ok(None)))
    };
    nodes.iter().filter(is_gone).map(|node| &*node.name).collect()
}

/// The first node that could not be read.
fn unread(nodes: &[Key], facts: &Facts) -> Option<String> {
    nodes.iter().find_map(|node| {
        let error = facts.get(&query(node.clone()))?.object().err()?;
        Some(format!("cannot read node {node}: {error}"))
    })
}

// === Writes ===

/// Marks a pod as failed unless it has ended, and deletes it. As
/// `markFailedAndDeletePodWithCondition`.
fn chain(s: &Snapshot, pod: &Pod, reason: Reason) -> Vec<Action> {
    let object = ObjectRef::new(&Pod::RESOURCE, &pod.meta);
    let (total, errors) = (Count::one(&PODS_TOTAL), Count::one(&POD_ERRORS_TOTAL));
    let [total, errors] =
        [total, errors].map(|count| count.labels([&*pod.meta.key.namespace, reason.label()]));
    let mark = (!pod.is_terminal()).then(|| {
        // A pod that cannot be marked is not deleted, which is an attempt that failed.
        let counts = [&total, &errors].map(|count| count.clone().when(When::Failed)).into();
        let patch = Write::strategic(object.clone(), failed(s, pod, reason).to_string());
        patch.at("status").counted(counts).into()
    });
    let how = Delete { grace_period_seconds: Some(0), ..Delete::default() };
    let counts = vec![total, errors.when(When::NotDone)];
    let delete = Write::delete_so(object, how).counted(counts).into();
    mark.into_iter().chain([delete]).collect()
}

/// The strategic merge patch. It names nothing but the fields of the status that change, so lists
/// of the pod that hold an entry twice are not merged.
fn failed(s: &Snapshot, pod: &Pod, reason: Reason) -> Value {
    let generation = pod.meta.generation;
    let mut status = json!({ "phase": "Failed" });
    if generation != 0 && (s.tracks_generations || pod.observed.status) {
        status["observedGeneration"] = generation.into();
    }
    if reason == Reason::Orphaned {
        let message = "PodGC: node no longer exists";
        let mut condition = pods::disruption_target(pod, s.now, "DeletionByPodGC", message);
        if generation != 0 && (s.tracks_generations || pod.observed.disruption_target) {
            condition["observedGeneration"] = generation.into();
        }
        status["conditions"] = json!([condition]);
    }
    json!({ "metadata": { "uid": &*pod.meta.uid }, "status": status })
}

// === impl Reason ===

impl Reason {
    /// Upstream's word in the metrics.
    fn label(self) -> &'static str {
        match self {
            Self::Terminated => "terminated",
            Self::OutOfService => "out-of-service",
            Self::Orphaned => "orphaned",
            Self::Unscheduled => "unscheduled",
        }
    }
}
