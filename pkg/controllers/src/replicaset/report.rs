//! The status of a set. As `calculateStatus` and `updateReplicaSetStatus` in upstream's
//! `pkg/controller/replicaset/replica_set_utils.go`.

use api::{Condition, Edit, ReplicaSetStatus, Status};
use controller::{ObjectRef, Outcome, Retry, Write, pods};
use mutant::Mutant;
use serde_json::json;

use super::snapshot::{self, Scale, Snapshot};

const REPLICA_FAILURE: &str = "ReplicaFailure";

/// None if the status is right already, or if the claim on pods failed: then their number is
/// unknown.
pub(super) fn report(s: &Snapshot, outcome: &Outcome) -> Option<Write> {
    if s.claim.has_failed(0, outcome) || snapshot::selector(&s.set).is_err() {
        return None;
    }
    let status = calculate(s, outcome.error.as_deref());
    (status != s.set.status || mutant::is(Mutant::EqualStatus)).then(|| {
        Write::status(
            ObjectRef::new(&s.resource, &s.set.meta),
            s.set.raw.clone(),
            edits(s, &status),
            Retry::OnceLive,
        )
    })
}

/// The set and its pods in a few numbers.
pub(super) fn summary(s: &Snapshot) -> Vec<(&'static str, String)> {
    let now = calculate(s, None);
    let mut facts = Vec::new();
    if let Err(why) = snapshot::selector(&s.set) {
        facts.push(("left alone", why.into_owned()));
    }
    facts.extend([
        ("wanted", s.set.replicas.to_string()),
        ("have", now.replicas.to_string()),
        ("ready", now.ready_replicas.to_string()),
        ("available", now.available_replicas.to_string()),
        ("terminating", s.terminating.map_or_else(|| "not counted".to_owned(), |n| n.to_string())),
        ("to adopt", s.claim.adopt.len().to_string()),
        ("to release", s.claim.release.len().to_string()),
        ("generation", s.set.meta.generation.to_string()),
        ("observed generation", s.set.status.observed_generation.to_string()),
        ("resource version", s.set.meta.resource_version.to_string()),
    ]);
    if let Some(at) = s.set.meta.deletion_timestamp {
        facts.push(("being deleted since", at.to_string()));
    }
    facts
}

/// The status after a sync that ended in `error`. It counts the pods as they were before.
pub(super) fn calculate(s: &Snapshot, error: Option<&str>) -> ReplicaSetStatus {
    let (set, pods) = (&s.set, &s.claim.mine);
    let count =
        |counts: &dyn Fn(&api::Pod) -> bool| number(pods.iter().filter(|pod| counts(pod)).count());
    let mut conditions = set.status.conditions.clone();
    let has_failed = conditions.iter().any(|condition| condition.r#type == REPLICA_FAILURE);
    match error {
        // One that is there stays as it is; its message is that of the first failure.
        Some(error) if !has_failed => conditions.push(failure(s, error)),
        None => conditions.retain(|condition| condition.r#type != REPLICA_FAILURE),
        Some(_) => {}
    }
    ReplicaSetStatus {
        replicas: number(pods.len()),
        fully_labeled_replicas: count(&|p| p.meta.labels.contains_all(&set.template_labels)),
        ready_replicas: count(&|p| p.is_ready()),
        available_replicas: count(&|p| pods::is_available(p, set.min_ready_seconds, s.now)),
        terminating_replicas: s.terminating.map(number),
        observed_generation: set.meta.generation,
        conditions,
    }
}

fn failure(s: &Snapshot, error: &str) -> Condition {
    let (reason, message) = match s.scale() {
        Scale::Up(_) => ("FailedCreate", error.to_owned()),
        Scale::Down(_) => ("FailedDelete", format!("unable to delete pods: {error}")),
        Scale::Keep => ("", error.to_owned()),
    };
    Condition {
        r#type: REPLICA_FAILURE.to_owned(),
        status: Status::True,
        last_update_time: None,
        last_transition_time: Some(s.now.whole_seconds()),
        reason: reason.to_owned(),
        message,
    }
}

/// The fields to write: all numbers, so that a write to a live object that has changed is the same;
/// the conditions only if they differ.
fn edits(s: &Snapshot, status: &ReplicaSetStatus) -> Vec<Edit> {
    let numbers = [
        ("replicas", json!(status.replicas)),
        ("fullyLabeledReplicas", json!(status.fully_labeled_replicas)),
        ("readyReplicas", json!(status.ready_replicas)),
        ("availableReplicas", json!(status.available_replicas)),
        ("terminatingReplicas", json!(status.terminating_replicas)),
        ("observedGeneration", json!(status.observed_generation)),
    ];
    let numbers = numbers.map(|(name, value)| Edit::new(["status", name], value));
    let conditions = s.set.raw.conditions(&s.set.status.conditions, &status.conditions);
    numbers.into_iter().chain(conditions).collect()
}

fn number(count: usize) -> i32 {
    i32::try_from(count).unwrap_or(i32::MAX)
}
