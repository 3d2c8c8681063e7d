//! The conditions of a Deployment. As upstream's `pkg/controller/deployment/progress.go` and the
//! functions about conditions in `util/deployment_util.go`.

use std::time::Duration;

use api::{Condition, Deployment, DeploymentStatus, Status, Time};

use super::rollout;
use super::snapshot::{Set, Snapshot};

pub(super) const AVAILABLE: &str = "Available";
pub(super) const PROGRESSING: &str = "Progressing";
const REPLICA_FAILURE: &str = "ReplicaFailure";

const NEW_SET_AVAILABLE: &str = "NewReplicaSetAvailable";
const PAUSED: &str = "DeploymentPaused";
const TIMED_OUT: &str = "ProgressDeadlineExceeded";

/// Within how long before the deadline it is looked at right after it.
const SOON: Duration = Duration::from_secs(1);

/// The deadline for progress, if there is one. As `HasProgressDeadline`.
pub(super) fn deadline(deployment: &Deployment) -> Option<Duration> {
    let seconds = deployment.progress_deadline_seconds.filter(|seconds| *seconds != i32::MAX)?;
    Some(Duration::from_secs(u64::try_from(seconds).unwrap_or(0)))
}

/// The condition of a type.
pub(super) fn get<'a>(status: &'a DeploymentStatus, name: &str) -> Option<&'a Condition> {
    status.conditions.iter().find(|condition| condition.r#type == name)
}

/// A condition that changes now.
pub(super) fn condition(
    name: &str,
    status: Status,
    now: Time,
    (reason, message): (&str, String),
) -> Condition {
    Condition {
        r#type: name.to_owned(),
        status,
        last_update_time: Some(now.whole_seconds()),
        last_transition_time: Some(now.whole_seconds()),
        reason: reason.to_owned(),
        message,
    }
}

/// Adds or replaces a condition, unless status and reason are the same. As
/// `SetDeploymentCondition`.
pub(super) fn set(status: &mut DeploymentStatus, mut condition: Condition) {
    if let Some(known) = get(status, &condition.r#type)
        && known.status == condition.status
    {
        if known.reason == condition.reason {
            return;
        }
        condition.last_transition_time = known.last_transition_time;
    }
    remove(status, &condition.r#type);
    status.conditions.push(condition);
}

/// Removes a condition.
pub(super) fn remove(status: &mut DeploymentStatus, name: &str) {
    status.conditions.retain(|condition| condition.r#type != name);
}

/// Says when a Deployment is paused or resumed, so that the time between does not count against
/// the deadline. As `checkPausedConditions`.
pub(super) fn note_pause(s: &Snapshot, status: &mut DeploymentStatus) {
    let deployment = &s.deployment;
    let reason = get(status, PROGRESSING).map(|condition| condition.reason.as_str());
    let is_noted = reason == Some(PAUSED);
    if deadline(deployment).is_none() || reason == Some(TIMED_OUT) || deployment.paused == is_noted
    {
        return;
    }
    let (reason, message) = if deployment.paused {
        (PAUSED, "Deployment is paused")
    } else {
        ("DeploymentResumed", "Deployment is resumed")
    };
    let why = (reason, message.to_owned());
    set(status, condition(PROGRESSING, Status::Unknown, s.now, why));
}

/// Says that the new set was made.
pub(super) fn note_created(s: &Snapshot, status: &mut DeploymentStatus, set_name: &str) {
    if deadline(&s.deployment).is_some() {
        let why = ("NewReplicaSetCreated", format!("Created new replica set {set_name:?}"));
        set(status, condition(PROGRESSING, Status::True, s.now, why));
    }
}

/// Says that the new set could not be made.
pub(super) fn note_not_created(
    s: &Snapshot,
    status: &mut DeploymentStatus,
    (set_name, error): (&str, &str),
) {
    if deadline(&s.deployment).is_some() {
        let message = format!("Failed to create new replica set {set_name:?}: {error}");
        let why = ("ReplicaSetCreateError", message);
        set(status, condition(PROGRESSING, Status::False, s.now, why));
    }
}

/// Says that there is a new set, if nothing is said of progress yet.
pub(super) fn note_found(s: &Snapshot, status: &mut DeploymentStatus) {
    if let Some(new) = &s.new
        && deadline(&s.deployment).is_some()
        && get(status, PROGRESSING).is_none()
    {
        let why = ("FoundNewReplicaSet", format!("Found new replica set {:?}", new.name()));
        set(status, condition(PROGRESSING, Status::True, s.now, why));
    }
}

/// The conditions of a rollout. `before` is the status so far, `status` has the present counts;
/// `new` is the name of the new set. As `syncRolloutStatus`.
pub(super) fn note_rollout(
    s: &Snapshot,
    before: &DeploymentStatus,
    status: &mut DeploymentStatus,
    new: Option<&str>,
) {
    let deployment = &s.deployment;
    if deadline(deployment).is_none() {
        remove(status, PROGRESSING);
    }
    let known = get(before, PROGRESSING);
    let was_done = known.is_some_and(|known| known.reason == NEW_SET_AVAILABLE);
    let is_over = was_done && status.replicas == status.updated_replicas;
    if deadline(deployment).is_some() && !is_over {
        let subject = match new {
            Some(name) => format!("ReplicaSet {name:?}"),
            None => format!("Deployment {:?}", &*deployment.meta.key.name),
        };
        note_progress(s, before, status, &subject);
    }
    match failure(s) {
        Some(failure) => set(status, failure),
        None => remove(status, REPLICA_FAILURE),
    }
}

fn note_progress(
    s: &Snapshot,
    before: &DeploymentStatus,
    status: &mut DeploymentStatus,
    subject: &str,
) {
    if rollout::is_complete(&s.deployment, status) {
        let why = (NEW_SET_AVAILABLE, format!("{subject} has successfully progressed."));
        set(status, condition(PROGRESSING, Status::True, s.now, why));
    } else if is_progressing(before, status) {
        let why = ("ReplicaSetUpdated", format!("{subject} is progressing."));
        let mut progress = condition(PROGRESSING, Status::True, s.now, why);
        // The time of the last progress is new even if the reason is not.
        if let Some(known) = get(before, PROGRESSING).filter(|known| known.status == Status::True) {
            progress.last_transition_time = known.last_transition_time;
        }
        remove(status, PROGRESSING);
        set(status, progress);
    } else if is_timed_out(&s.deployment, status, s.now) {
        let why = (TIMED_OUT, format!("{subject} has timed out progressing."));
        set(status, condition(PROGRESSING, Status::False, s.now, why));
    }
}

/// As `DeploymentProgressing`.
pub(super) fn is_progressing(before: &DeploymentStatus, now: &DeploymentStatus) -> bool {
    let old = |status: &DeploymentStatus| status.replicas - status.updated_replicas;
    now.updated_replicas > before.updated_replicas
        || old(now) < old(before)
        || now.ready_replicas > before.ready_replicas
        || now.available_replicas > before.available_replicas
}

/// As `DeploymentTimedOut`.
pub(super) fn is_timed_out(deployment: &Deployment, status: &DeploymentStatus, now: Time) -> bool {
    let (Some(deadline), Some(known)) = (deadline(deployment), get(status, PROGRESSING)) else {
        return false;
    };
    match known.reason.as_str() {
        NEW_SET_AVAILABLE => false,
        TIMED_OUT => true,
        _ => known.last_update_time.unwrap_or(Time::EPOCH) + deadline < now,
    }
}

/// Whether the status says that the rollout stalls.
pub(super) fn has_timed_out(status: &DeploymentStatus) -> bool {
    get(status, PROGRESSING).is_some_and(|known| known.reason == TIMED_OUT)
}

/// When to see whether the rollout has timed out, if nothing happens before. As
/// `requeueStuckDeployment`.
pub(super) fn next_check(
    deployment: &Deployment,
    status: &DeploymentStatus,
    now: Time,
) -> Option<Duration> {
    let known = get(status, PROGRESSING)?;
    let end = known.last_update_time.unwrap_or(Time::EPOCH) + deadline(deployment)?;
    // Time alone changes nothing about these.
    let is_final = [TIMED_OUT, NEW_SET_AVAILABLE].contains(&known.reason.as_str());
    if is_final || rollout::is_complete(deployment, status) {
        return None;
    }
    let left = end.since(now);
    // Upstream counts whole seconds, and they must have passed the deadline.
    Some(left + if left < SOON { Duration::from_millis(1) } else { SOON })
}

/// What keeps pods from being made: the new set's word, else that of the oldest. As
/// `getReplicaFailures`.
fn failure(s: &Snapshot) -> Option<Condition> {
    let of_set = |set: &Set| {
        let mut conditions = set.view.status.conditions.iter();
        conditions.find(|condition| condition.r#type == REPLICA_FAILURE).cloned()
    };
    let failure = s.new.as_ref().and_then(of_set).or_else(|| s.old.iter().find_map(of_set))?;
    Some(Condition { last_update_time: failure.last_transition_time, ..failure })
}
