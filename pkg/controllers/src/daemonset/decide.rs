//! What should be done for a DaemonSet. As `syncDaemonSet`, `manage` and `syncNodes` in upstream's
//! `daemon_controller.go`.

use std::sync::Arc;
use std::time::Duration;

use api::{DaemonSet, Kind, Phase, Pod, Text};
use controller::owners::{Owner, Refusal};
use controller::{Action, Event, EventType, Facts, ObjectRef, Plan, Step, pods};

use super::fit::Fit;
use super::revisions::{self, Present};
use super::snapshot::{ByNode, Snapshot, sort_oldest_first};
use super::work::Work;
use super::{rollout, template};

pub(super) fn decide(s: &Snapshot, facts: &Facts, burst: usize) -> Plan {
    let resource = &DaemonSet::RESOURCE;
    if let Err(refusal) = s.set.usable_selector() {
        return left_alone(s, refusal);
    }
    if s.set.meta.is_terminating() {
        return Plan::rest("the set is being deleted");
    }
    let owner = &s.set.meta;
    s.revisions.before(resource, owner, facts, || {
        s.pods.before(resource, owner, facts, || sync(s, facts, burst))
    })
}

/// What is done once revisions and pods are claimed.
fn sync(s: &Snapshot, facts: &Facts, burst: usize) -> Plan {
    let present = match revisions::settle(s, facts) {
        Ok(present) => present,
        Err(plan) => return plan,
    };
    let work = match work(s, &present.hash) {
        Ok(work) => work,
        Err(error) => {
            let plan = Plan::failed("the update strategy is invalid", error);
            return Plan { steps: present.tidying, ..plan };
        }
    };
    carry_out(s, present, &work, burst)
}

/// A set that selects everything gets a warning Event.
fn left_alone(s: &Snapshot, refusal: Refusal<'_>) -> Plan {
    let why = refusal.why("set");
    match refusal {
        Refusal::Unreadable(_) | Refusal::Invalid(_) => Plan::rest(why),
        Refusal::SelectsAll => {
            let warning = Action::Event(Event {
                about: Arc::new(ObjectRef::new(&DaemonSet::RESOURCE, &s.set.meta)),
                r#type: EventType::Warning,
                reason: "SelectingAll".into(),
                message: "This daemon set is selecting all pods. A non-empty selector is required."
                    .to_owned(),
            });
            Plan::one(why, Step::InOrder(vec![warning]))
        }
    }
}

/// One pod on each node that should have one; once that is so, the next part of the update.
fn work(s: &Snapshot, hash: &str) -> Result<Work, String> {
    let work = manage(s, hash);
    if !work.create.is_empty() || !work.delete.is_empty() {
        return Ok(work);
    }
    Ok(Work { again: work.again, ..rollout::roll(s, hash)? })
}

// === One pod on each node ===

fn manage(s: &Snapshot, hash: &str) -> Work {
    let nodes = s.by_node();
    let surges = rollout::allows_surge(s);
    let mut work = Work::default();
    for (node, fit) in &s.nodes {
        match (fit, nodes.get(&**node)) {
            (Fit::Run, None) => work.create.push(node.clone()),
            (Fit::Run | Fit::Stay, Some(pods)) => {
                let mut running = end_finished(s, node, pods, &mut work);
                sort_oldest_first(&mut running);
                match running.as_slice() {
                    [] if surges && *fit == Fit::Run => work.create.push(node.clone()),
                    [] => {}
                    [_, rest @ ..] if !surges => work.delete.extend(rest.iter().copied().cloned()),
                    running => work.delete.extend(superseded(s, hash, running)),
                }
            }
            (Fit::Leave, Some(pods)) => {
                let staying = pods.iter().filter(|pod| !pod.meta.is_terminating());
                work.delete.extend(staying.copied().cloned());
            }
            (Fit::Stay | Fit::Leave, None) => {}
        }
    }
    work.delete.extend(stranded(s, &nodes));
    work
}

/// Deletes the pods that have ended, failed ones not too fast. Returns those that run.
fn end_finished<'a>(
    s: &Snapshot,
    node: &Text,
    pods: &[&'a Arc<Pod>],
    work: &mut Work,
) -> Vec<&'a Arc<Pod>> {
    let delay = s.delays.get(node);
    let mut left = delay.map_or(Duration::ZERO, |delay| delay.left);
    let mut running = Vec::new();
    for pod in pods.iter().copied().filter(|pod| !pod.meta.is_terminating()) {
        let key = &pod.meta.key;
        let event = match pod.phase {
            Phase::Failed if !left.is_zero() => {
                work.again = Some(work.again.map_or(left, |again| again.min(left)));
                continue;
            }
            Phase::Failed => {
                // Of several, one is deleted at a time.
                left = delay.map_or(Duration::ZERO, |delay| delay.next);
                let message =
                    format!("Found failed daemon pod {key} on node {node}, will try to kill it");
                (EventType::Warning, "FailedDaemonPod", message)
            }
            Phase::Succeeded => {
                let message = format!(
                    "Found succeeded daemon pod {key} on node {node}, will try to delete it"
                );
                (EventType::Normal, "SucceededDaemonPod", message)
            }
            Phase::Pending | Phase::Unknown | Phase::Running => {
                running.push(pod);
                continue;
            }
        };
        work.events.insert(pod.meta.uid.clone(), event);
        work.delete.push(Arc::clone(pod));
    }
    running
}

/// Of the running pods of a node, oldest first, those to delete when two may be there: all but the
/// oldest of the present template and the oldest other one; that one too if it is not ready, or if
/// the new one is available.
fn superseded(s: &Snapshot, hash: &str, running: &[&Arc<Pod>]) -> Vec<Arc<Pod>> {
    let (new, old): (Vec<_>, Vec<_>) =
        running.iter().copied().partition(|pod| s.is_of_present(pod, hash));
    let excess = new.iter().skip(1).chain(old.iter().skip(1));
    let mut doomed: Vec<_> = excess.copied().cloned().collect();
    if let (Some(new), Some(old)) = (new.first(), old.first())
        && (!old.is_ready() || s.is_available(new))
    {
        doomed.push(Arc::clone(old));
    }
    doomed
}

/// Pods for nodes that do not exist are never scheduled. As `getUnscheduledPodsWithoutNode`.
fn stranded(s: &Snapshot, nodes: &ByNode<'_>) -> Vec<Arc<Pod>> {
    let without_node = nodes.iter().filter(|(node, _)| !s.nodes.contains_key(**node));
    let pods = without_node.flat_map(|(_, pods)| pods);
    let unscheduled = |pod: &&&Arc<Pod>| pod.node_name.is_none() && !pod.meta.is_terminating();
    pods.filter(unscheduled).copied().cloned().collect()
}

// === The steps ===

/// The revision first, since pods carry its label; revisions that nothing needs last.
fn carry_out(s: &Snapshot, present: Present, work: &Work, burst: usize) -> Plan {
    let (mut nodes, mut doomed) = (work.create.clone(), work.delete.clone());
    s.begin_elsewhere(&mut nodes);
    s.begin_elsewhere(&mut doomed);
    nodes.truncate(burst);
    doomed.truncate(burst);
    let next_check = pods::next_check(&s.pods.mine, s.set.min_ready_seconds, s.now);
    let again = [work.again, next_check].into_iter().flatten().min();
    let tidied = if present.tidying.is_empty() { "" } else { "the revisions are tidied; " };
    let why = match (nodes.len(), doomed.len()) {
        (0, 0) => format!("{tidied}each node has the pods that it should have").into(),
        (create, delete) => format!(
            "{tidied}{} pods missing, creating {create}; {} to delete, deleting {delete}",
            work.create.len(),
            work.delete.len()
        )
        .into(),
    };
    let creates = if nodes.is_empty() {
        Ok(Vec::new())
    } else {
        template::creates(&s.set, &nodes, &present.hash)
    };
    let mut plan = Plan { why, again, steps: present.tidying, ..Plan::default() };
    plan.steps.extend(present.create.map(|create| Step::InOrder(vec![create])));
    match creates {
        Ok(creates) => plan.steps.extend(pod_step(creates, deletes(s, work, &doomed))),
        Err(error) => return Plan { error: Some(error), ..plan },
    }
    plan.steps.extend(revisions::cleanup(s));
    plan
}

/// Each a list of its own: what is said about a pod, and its end.
fn deletes(s: &Snapshot, work: &Work, doomed: &[Arc<Pod>]) -> Vec<Vec<Action>> {
    let about = Arc::new(ObjectRef::new(&DaemonSet::RESOURCE, &s.set.meta));
    let deletes = pods::deletes(&DaemonSet::RESOURCE, &s.set.meta, doomed);
    let chain = |(pod, delete): (&Arc<Pod>, Action)| {
        let event = work.events.get(&pod.meta.uid).map(|(r#type, reason, message)| {
            let (about, message) = (Arc::clone(&about), message.clone());
            Action::Event(Event { about, r#type: *r#type, reason: (*reason).into(), message })
        });
        event.into_iter().chain([delete]).collect()
    };
    doomed.iter().zip(deletes).map(chain).collect()
}

/// Neither the creates nor the deletes wait for the others to succeed.
fn pod_step(creates: Vec<Action>, mut deletes: Vec<Vec<Action>>) -> Option<Step> {
    match (creates.is_empty(), deletes.is_empty()) {
        (true, true) => None,
        (false, true) => Some(Step::SlowStart(creates)),
        (true, false) if deletes.iter().all(|chain| chain.len() == 1) => {
            Some(Step::Together(deletes.into_iter().flatten().collect()))
        }
        (true, false) => Some(Step::Chains(deletes)),
        (false, false) => {
            deletes.insert(0, creates);
            Some(Step::Chains(deletes))
        }
    }
}
