//! The status of a Deployment, and its revision. As `calculateStatus`, `syncDeploymentStatus` and
//! `syncRolloutStatus` in upstream's `pkg/controller/deployment`.

use std::time::Duration;

use api::{DeploymentStatus, DeploymentStrategy, Edit, Status};
use controller::{Outcome, Retry, Write};
use serde_json::json;

use super::creation;
use super::decide::Verdict;
use super::revision::{self, REVISION};
use super::snapshot::{Set, Snapshot};
use super::{limits, progress};

/// What a sync leaves on the Deployment.
struct After {
    status: DeploymentStatus,
    /// The revision, if it is known.
    revision: Option<String>,
}

/// None if all is right already, and after a failure that says nothing of the pods.
pub(super) fn report(s: &Snapshot, verdict: Verdict, outcome: &Outcome) -> Option<Write> {
    // What the cache does not show yet cannot be counted; it enqueues the key in a moment.
    if outcome.unsettled || s.claim.has_failed(0, outcome) {
        return None;
    }
    write(s, after(s, verdict, outcome)?)
}

/// When to look at the progress again, if nothing is to be written now.
pub(super) fn next_check(s: &Snapshot, verdict: Verdict) -> Option<Duration> {
    match verdict {
        Verdict::Nothing
        | Verdict::Seen
        | Verdict::Failure
        | Verdict::Counts
        | Verdict::Creation(_)
        | Verdict::Collision => None,
        Verdict::Rollout | Verdict::RolloutAnyway => {
            let after = settled(s, verdict);
            let is_right = after.status == s.deployment.status;
            let again = || progress::next_check(&s.deployment, &after.status, s.now);
            is_right.then(again).flatten()
        }
    }
}

/// The Deployment and its sets in a few words.
pub(super) fn summary(s: &Snapshot) -> Vec<(&'static str, String)> {
    let deployment = &s.deployment;
    let mut facts = Vec::new();
    let selects_all = s.selects_all().then(|| "it selects all pods".into());
    if let Some(why) = s.broken().or(selects_all) {
        facts.push(("left alone", why.into_owned()));
    }
    let set = |set: &Set| {
        let status = &set.view.status;
        let (wants, has) = (set.replicas(), status.replicas);
        format!("{} wants {wants}, has {has}, available {}", set.name(), status.available_replicas)
    };
    let active: Vec<_> = s.old.iter().filter(|old| old.is_active()).map(set).collect();
    facts.extend([
        ("wanted", deployment.replicas.to_string()),
        ("pods at most", limits::max_replicas(deployment).to_string()),
        (
            "available at least",
            (deployment.replicas - limits::max_unavailable(deployment)).to_string(),
        ),
        ("new ReplicaSet", s.new.as_ref().map_or_else(|| "none".to_owned(), set)),
        ("old ReplicaSets", s.old.len().to_string()),
        ("old ones with pods", active.join("; ")),
        ("paused", deployment.paused.to_string()),
        ("to adopt", s.claim.adopt.len().to_string()),
        ("to release", s.claim.release.len().to_string()),
        ("generation", deployment.meta.generation.to_string()),
        ("observed generation", deployment.status.observed_generation.to_string()),
        ("resource version", deployment.meta.resource_version.to_string()),
    ]);
    if deployment.strategy == DeploymentStrategy::Recreate {
        facts.push(("old pods left", s.old_pods.to_string()));
    }
    let said = deployment.status.conditions.iter();
    let said = said.map(|it| format!("{} is {:?}: {}", it.r#type, it.status, it.message));
    facts.extend(said.map(|condition| ("condition", condition)));
    if let Some(at) = deployment.meta.deletion_timestamp {
        facts.push(("being deleted since", at.to_string()));
    }
    facts
}

/// What is left after a plan that ended so.
fn after(s: &Snapshot, verdict: Verdict, outcome: &Outcome) -> Option<After> {
    let unrevised = |status| Some(After { status, revision: None });
    match (verdict, &outcome.error) {
        (Verdict::Nothing, _) => None,
        (Verdict::Seen, _) => {
            let mut status = s.deployment.status.clone();
            let generation = s.deployment.meta.generation;
            status.observed_generation = status.observed_generation.max(generation);
            unrevised(status)
        }
        (Verdict::RolloutAnyway, _) | (Verdict::Counts | Verdict::Rollout, None) => {
            Some(settled(s, verdict))
        }
        (Verdict::Failure, _) | (Verdict::Counts | Verdict::Rollout, Some(_)) => unrevised(base(s)),
        (Verdict::Creation(replicas), None) => Some(made(s, replicas)),
        // There is one already: it is decided again.
        (Verdict::Creation(_), Some(_)) if outcome.reason == creation::ALREADY_EXISTS => None,
        (Verdict::Creation(_), Some(error)) => {
            let mut status = base(s);
            let name = creation::name(s).set;
            progress::note_not_created(s, &mut status, (&name, error));
            unrevised(status)
        }
        (Verdict::Collision, _) => {
            let collisions = s.deployment.status.collision_count.unwrap_or(0);
            let collision_count = Some(collisions.saturating_add(1));
            unrevised(DeploymentStatus { collision_count, ..base(s) })
        }
    }
}

/// The status as it was, but for whether the Deployment is paused.
fn base(s: &Snapshot) -> DeploymentStatus {
    let mut status = s.deployment.status.clone();
    if !s.deployment.meta.is_terminating() {
        progress::note_pause(s, &mut status);
    }
    status
}

/// After the new set was made with so many pods.
fn made(s: &Snapshot, replicas: i32) -> After {
    let name = creation::name(s).set;
    let mut before = base(s);
    progress::note_created(s, &mut before, &name);
    let mut status = counted(s, &before, replicas);
    progress::note_rollout(s, &before, &mut status, Some(&name));
    After { status, revision: Some(revision::next(s).to_string()) }
}

/// After all writes to sets that there are.
fn settled(s: &Snapshot, verdict: Verdict) -> After {
    let mut before = base(s);
    progress::note_found(s, &mut before);
    let mut status = counted(s, &before, 0);
    if matches!(verdict, Verdict::Rollout | Verdict::RolloutAnyway) {
        let new = s.new.as_ref().map(Set::name);
        progress::note_rollout(s, &before, &mut status, new);
    }
    let revision = revision::of_new(s)
        .map(|annotations| annotations.get(REVISION).cloned().unwrap_or_default());
    After { status, revision }
}

/// The status with what the sets count, where a new one that is not seen yet wants `coming` pods.
/// As `calculateStatus`.
pub(super) fn counted(s: &Snapshot, before: &DeploymentStatus, coming: i32) -> DeploymentStatus {
    let sum = |count: fn(&Set) -> i32| s.sets().map(count).fold(0, i32::saturating_add);
    let available = sum(Set::available);
    let size = s.size().saturating_add(coming);
    let mut status = DeploymentStatus {
        observed_generation: s.deployment.meta.generation,
        replicas: sum(|set| set.view.status.replicas),
        updated_replicas: s.new.as_ref().map_or(0, |new| new.view.status.replicas),
        ready_replicas: sum(|set| set.view.status.ready_replicas),
        available_replicas: available,
        unavailable_replicas: (size - available).max(0),
        terminating_replicas: s.counts_terminating.then(|| terminating(s)).flatten(),
        conditions: before.conditions.clone(),
        collision_count: before.collision_count,
    };
    let least = s.deployment.replicas - limits::max_unavailable(&s.deployment);
    let (word, reason, message) = if available >= least {
        (Status::True, "MinimumReplicasAvailable", "Deployment has minimum availability.")
    } else {
        let message = "Deployment does not have minimum availability.";
        (Status::False, "MinimumReplicasUnavailable", message)
    };
    let why = (reason, message.to_owned());
    progress::set(&mut status, progress::condition(progress::AVAILABLE, word, s.now, why));
    status
}

/// None if a set that its controller has seen does not count them. As
/// `GetTerminatingReplicaCountForReplicaSets`.
fn terminating(s: &Snapshot) -> Option<i32> {
    let is_seen = |set: &&Set| {
        let status = &set.view.status;
        status.observed_generation != 0 || status.terminating_replicas.is_some()
    };
    let counts = s.sets().filter(is_seen).map(|set| set.view.status.terminating_replicas);
    counts.sum()
}

/// The write that leads there; none if nothing differs.
fn write(s: &Snapshot, after: After) -> Option<Write> {
    let After { status, revision } = after;
    let revision = revision.filter(|revision| s.annotations.get(REVISION) != Some(revision));
    if status == s.deployment.status && revision.is_none() {
        return None;
    }
    let mut edits = edits(s, &status);
    // The annotations of a Deployment can be written together with its status.
    let annotation = |revision| Edit::new(["metadata", "annotations", REVISION], json!(revision));
    edits.extend(revision.map(annotation));
    Some(Write::status(s.object(), s.deployment.raw.clone(), edits, Retry::Never))
}

/// The fields that differ.
fn edits(s: &Snapshot, status: &DeploymentStatus) -> Vec<Edit> {
    let known = &s.deployment.status;
    let numbers = |status: &DeploymentStatus| {
        [
            ("observedGeneration", json!(status.observed_generation)),
            ("replicas", json!(status.replicas)),
            ("updatedReplicas", json!(status.updated_replicas)),
            ("readyReplicas", json!(status.ready_replicas)),
            ("availableReplicas", json!(status.available_replicas)),
            ("unavailableReplicas", json!(status.unavailable_replicas)),
            ("terminatingReplicas", json!(status.terminating_replicas)),
            ("collisionCount", json!(status.collision_count)),
        ]
    };
    let differs = numbers(status).into_iter().zip(numbers(known)).filter(|(new, old)| new != old);
    let differs = differs.map(|((name, value), _)| Edit::new(["status", name], value));
    let conditions = s.deployment.raw.conditions(&known.conditions, &status.conditions);
    differs.chain(conditions).collect()
}
