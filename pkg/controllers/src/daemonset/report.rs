//! The status of a DaemonSet. As `updateDaemonSetStatus` and `storeDaemonSetStatus` in upstream's
//! `daemon_controller.go`.

use api::{DaemonSet, DaemonSetStatus, Edit, Kind};
use controller::{ObjectRef, Outcome, Retry, Write};
use serde_json::json;

use super::fit::Fit;
use super::revisions::{self, History};
use super::snapshot::{self, Snapshot, sort_oldest_first};

/// None if the status is right already, or if the claim on revisions or pods failed: then their
/// number is unknown.
pub(super) fn report(s: &Snapshot, outcome: &Outcome) -> Option<Write> {
    let left_alone = snapshot::selector(&s.set).is_err() || s.set.meta.is_terminating();
    let is_claimed =
        !s.revisions.has_failed(0, outcome) && !s.pods.has_failed(s.revisions.steps(), outcome);
    if left_alone || !is_claimed {
        return None;
    }
    let history = revisions::history(s);
    if matches!(history, History::Missing(_)) && outcome.error.is_some() {
        return None;
    }
    let mut status = calculate(s, &revisions::hash(s, &history)?);
    if outcome.unsettled {
        // Nothing was done for this generation yet.
        status.observed_generation = s.set.status.observed_generation;
    }
    let known = &s.set.status;
    let newer = known.observed_generation >= status.observed_generation;
    let same = DaemonSetStatus { observed_generation: known.observed_generation, ..status.clone() };
    (same != *known || !newer).then(|| {
        Write::status(
            ObjectRef::new(&DaemonSet::RESOURCE, &s.set.meta),
            s.set.raw.clone(),
            edits(&status),
            Retry::OnceLive,
        )
    })
}

/// The set, its pods and its revisions in a few numbers.
pub(super) fn summary(s: &Snapshot) -> Vec<(&'static str, String)> {
    let mut facts = Vec::new();
    if let Err(why) = snapshot::selector(&s.set) {
        facts.push(("left alone", why.into_owned()));
    }
    let is_understood = facts.is_empty();
    let hash = is_understood.then(|| revisions::hash(s, &revisions::history(s))).flatten();
    let now = calculate(s, hash.as_deref().unwrap_or_default());
    facts.extend([
        ("nodes", s.nodes.len().to_string()),
        ("desired", now.desired_number_scheduled.to_string()),
        ("current", now.current_number_scheduled.to_string()),
        ("misscheduled", now.number_misscheduled.to_string()),
        ("ready", now.number_ready.to_string()),
        ("updated", now.updated_number_scheduled.to_string()),
        ("available", now.number_available.to_string()),
        ("revision", hash.unwrap_or_else(|| "not settled".to_owned())),
        ("revisions", s.revisions.mine.len().to_string()),
        ("to adopt", (s.pods.adopt.len() + s.revisions.adopt.len()).to_string()),
        ("to release", (s.pods.release.len() + s.revisions.release.len()).to_string()),
        ("generation", s.set.meta.generation.to_string()),
        ("observed generation", s.set.status.observed_generation.to_string()),
        ("resource version", s.set.meta.resource_version.to_string()),
    ]);
    let delays = s.delays.iter().filter(|(_, delay)| !delay.left.is_zero());
    facts.extend(
        delays.map(|(node, delay)| {
            ("failed pod stays", format!("on node {node} for {:?}", delay.left))
        }),
    );
    if let Some(at) = s.set.meta.deletion_timestamp {
        facts.push(("being deleted since", at.to_string()));
    }
    facts
}

/// Counts nodes; of a node with several pods the oldest counts.
pub(super) fn calculate(s: &Snapshot, hash: &str) -> DaemonSetStatus {
    let by_node = s.by_node();
    let mut status = DaemonSetStatus {
        observed_generation: s.set.meta.generation,
        collision_count: s.set.status.collision_count,
        conditions: s.set.status.conditions.clone(),
        ..DaemonSetStatus::default()
    };
    for (node, fit) in &s.nodes {
        let mut pods = by_node.get(&**node).cloned().unwrap_or_default();
        sort_oldest_first(&mut pods);
        match (fit, pods.first()) {
            (Fit::Run, oldest) => {
                status.desired_number_scheduled += 1;
                let Some(pod) = oldest else { continue };
                status.current_number_scheduled += 1;
                status.number_ready += i32::from(pod.is_ready());
                status.number_available += i32::from(s.is_available(pod));
                status.updated_number_scheduled += i32::from(s.is_updated(pod, hash));
            }
            (Fit::Stay | Fit::Leave, Some(_)) => status.number_misscheduled += 1,
            (Fit::Stay | Fit::Leave, None) => {}
        }
    }
    status.number_unavailable = status.desired_number_scheduled - status.number_available;
    status
}

/// The fields to write: all numbers, so that a write to a live object that has changed is the same.
fn edits(status: &DaemonSetStatus) -> Vec<Edit> {
    [
        ("currentNumberScheduled", json!(status.current_number_scheduled)),
        ("numberMisscheduled", json!(status.number_misscheduled)),
        ("desiredNumberScheduled", json!(status.desired_number_scheduled)),
        ("numberReady", json!(status.number_ready)),
        ("updatedNumberScheduled", json!(status.updated_number_scheduled)),
        ("numberAvailable", json!(status.number_available)),
        ("numberUnavailable", json!(status.number_unavailable)),
        ("observedGeneration", json!(status.observed_generation)),
    ]
    .map(|(name, value)| Edit::new(["status", name], value))
    .into()
}
