//! The status of a StatefulSet. As `computeReplicaStatus`, `completeRollingUpdate` and
//! `inconsistentStatus` in upstream's `pkg/controller/statefulset`.

use std::sync::Arc;

use api::{Edit, Kind, Pod, StatefulSet, StatefulSetStatus, StatefulSetUpdate};
use controller::{ObjectRef, Outcome, Retry, Write};
use serde_json::{Value, json};

use super::decide::Course;
use super::snapshot::{self, Snapshot};

/// None if the status is right already, if the revisions are not known, or if the claim on
/// revisions or pods failed: then how many there are is in doubt.
pub(super) fn report(s: &Snapshot, course: Option<&Course>, outcome: &Outcome) -> Option<Write> {
    let course = course?;
    let is_claimed =
        !s.revisions.has_failed(0, outcome) && !s.pods.has_failed(s.revisions.steps(), outcome);
    if !is_claimed || outcome.unsettled {
        return None;
    }
    let rolled = if outcome.error.is_none() { course.rolled } else { 0 };
    let status = calculate(s, course, rolled);
    is_inconsistent(&s.set.status, &status).then(|| {
        Write::status(
            ObjectRef::new(&StatefulSet::RESOURCE, &s.set.meta),
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
    let roster = s.roster();
    let pods: Vec<&Pod> = s.pods.mine.iter().map(|pod| &**pod).collect();
    let count = |is: &dyn Fn(&Pod) -> bool| pods.iter().filter(|pod| is(pod)).count().to_string();
    let status = &s.set.status;
    let revision = |name: &str| if name.is_empty() { "none yet" } else { name }.to_owned();
    facts.extend([
        ("wanted", s.set.replicas.to_string()),
        ("first number", s.set.start.to_string()),
        ("have", roster.replicas.len().to_string()),
        ("without a place", roster.condemned.len().to_string()),
        ("ready", count(&Snapshot::is_ready)),
        ("available", count(&|pod| Snapshot::is_ready(pod) && s.is_available(pod))),
        ("terminating", count(&|pod| pod.meta.is_terminating())),
        ("current revision", revision(&status.current_revision)),
        ("update revision", revision(&status.update_revision)),
        ("revisions", s.revisions.mine.len().to_string()),
        ("claims", s.claims.len().to_string()),
        ("to adopt", (s.pods.adopt.len() + s.revisions.adopt.len()).to_string()),
        ("to release", s.pods.release.len().to_string()),
        ("generation", s.set.meta.generation.to_string()),
        ("observed generation", status.observed_generation.to_string()),
        ("resource version", s.set.meta.resource_version.to_string()),
    ]);
    if let Some(at) = s.set.meta.deletion_timestamp {
        facts.push(("being deleted since", at.to_string()));
    }
    facts
}

/// Counts pods as they were before; those that were deleted for the update are not of the current
/// revision any more.
fn calculate(s: &Snapshot, course: &Course, rolled: i32) -> StatefulSetStatus {
    let pods = counted(s);
    let count = |is: &dyn Fn(&Pod) -> bool| {
        i32::try_from(pods.iter().filter(|pod| is(pod)).count()).unwrap_or(i32::MAX)
    };
    let of = |name: &str| {
        count(&|pod| !pod.meta.is_terminating() && snapshot::revision(&pod.meta) == name)
    };
    let current_replicas = of(&course.current).saturating_sub(rolled).max(0);
    let status = StatefulSetStatus {
        observed_generation: s.set.meta.generation,
        replicas: count(&|_| true),
        ready_replicas: count(&Snapshot::is_ready),
        available_replicas: count(&|pod| Snapshot::is_ready(pod) && s.is_available(pod)),
        current_replicas,
        updated_replicas: of(&course.update),
        current_revision: course.current.clone(),
        update_revision: course.update.clone(),
        collision_count: Some(course.collision_count),
    };
    let counts = [status.updated_replicas, status.ready_replicas, status.replicas];
    let rolls = s.set.strategy.r#type == StatefulSetUpdate::RollingUpdate;
    if rolls && counts == [s.set.replicas; 3] {
        let (current_replicas, current_revision) =
            (status.updated_replicas, status.update_revision.clone());
        return StatefulSetStatus { current_replicas, current_revision, ..status };
    }
    status
}

/// Of a set that is being deleted all pods count, else those that have a number.
fn counted(s: &Snapshot) -> Vec<&Arc<Pod>> {
    if s.set.meta.is_terminating() {
        return s.pods.mine.iter().collect();
    }
    let roster = s.roster();
    let condemned = roster.condemned.iter().map(|(_, pod)| *pod);
    roster.replicas.values().copied().chain(condemned).collect()
}

/// The number of collisions alone is no reason to write.
fn is_inconsistent(known: &StatefulSetStatus, status: &StatefulSetStatus) -> bool {
    let (observed_generation, collision_count) = (known.observed_generation, known.collision_count);
    status.observed_generation > known.observed_generation
        || StatefulSetStatus { observed_generation, collision_count, ..status.clone() } != *known
}

fn edits(status: &StatefulSetStatus) -> Vec<Edit> {
    let field = |name: &str, value: Value| Edit::new(["status", name], value);
    vec![
        field("observedGeneration", json!(status.observed_generation)),
        field("replicas", json!(status.replicas)),
        field("readyReplicas", json!(status.ready_replicas)),
        field("availableReplicas", json!(status.available_replicas)),
        field("currentReplicas", json!(status.current_replicas)),
        field("updatedReplicas", json!(status.updated_replicas)),
        field("currentRevision", json!(status.current_revision)),
        field("updateRevision", json!(status.update_revision)),
        field("collisionCount", json!(status.collision_count)),
    ]
}
