//! What should be done for a Deployment. As `syncDeployment` in upstream's
//! `pkg/controller/deployment/deployment_controller.go`.

use std::sync::Arc;

use api::{Deployment, DeploymentStrategy, Kind};
use controller::{Action, EventType, Facts, Plan, Step, Why};
use mutant::Mutant;

use super::changes::{self, Changes};
use super::snapshot::{Set, Snapshot};
use super::{creation, limits, progress, report, rollback, rollout, scaling};

/// What one sync does, and what the status reports of it.
struct Course {
    why: Why,
    /// What is done.
    work: Work,
    /// What the status reports.
    verdict: Verdict,
}

/// What one sync does.
enum Work {
    /// Writes, in order.
    Writes(Vec<Action>),
    /// Makes the new set, with so many pods.
    Creation(i32),
    /// Nothing can be done; the reason.
    Failure(String),
}

/// What the status reports after a sync.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Nothing: the Deployment itself was written, or nothing is known of its pods.
    Nothing,
    /// That this generation was seen.
    Seen,
    /// Nothing new, but for whether it is paused: nothing could be done.
    Failure,
    /// How many pods there are, if all writes succeeded.
    Counts,
    /// That, and the progress of the rollout.
    Rollout,
    /// That, even if a write failed.
    RolloutAnyway,
    /// The outcome of the creation of the new set, with so many pods.
    Creation(i32),
    /// That the name of the new set is taken, so that it gets another one.
    Collision,
}

pub(super) fn decide(s: &Snapshot, facts: &Facts) -> (Plan, Verdict) {
    if let Some(why) = s.broken() {
        return (Plan::rest(why), Verdict::Nothing);
    }
    if s.selects_all() {
        return (selects_all(s), Verdict::Seen);
    }
    let mut verdict = Verdict::Nothing;
    let rest = || {
        let plan;
        (plan, verdict) = planned(s, facts);
        plan
    };
    let plan = s.claim.before(&Deployment::RESOURCE, &s.deployment.meta, facts, rest);
    (plan, verdict)
}

fn planned(s: &Snapshot, facts: &Facts) -> (Plan, Verdict) {
    let Course { why, work, verdict } = course(s);
    match work {
        Work::Creation(replicas) => creation::plan(s, facts, replicas),
        Work::Failure(error) => (Plan::failed(why, error), verdict),
        Work::Writes(actions) => {
            let plan = match actions.as_slice() {
                [] => Plan::rest(why),
                _ => Plan::one(why, Step::InOrder(actions)),
            };
            (plan.again_after(report::next_check(s, verdict)), verdict)
        }
    }
}

fn selects_all(s: &Snapshot) -> Plan {
    let message = "This deployment is selecting all pods. A non-empty selector is required.";
    let about = Arc::new(s.object());
    let warning = changes::event(&about, EventType::Warning, "SelectingAll", message.to_owned());
    Plan::one("the selector is empty", Step::InOrder(vec![warning]))
}

/// What is to be done about the ReplicaSets. The annotations of the new one come first: what else
/// it needs is in the same write. Nothing waits for them, as in upstream's `getNewReplicaSet`.
fn course(s: &Snapshot) -> Course {
    let deployment = &s.deployment;
    let mut changes = Changes::new(s);
    changes.sync_new();
    if deployment.meta.is_terminating() {
        return changes.course("the Deployment is being deleted", Verdict::Counts);
    }
    let wanted = rollback::wanted(s);
    if deployment.paused && !mutant::is(Mutant::PauseIgnored) {
        scaling::scale(&mut changes);
        if wanted.is_none() {
            rollout::clean_up(&mut changes);
        }
        return changes.course("the Deployment is paused", Verdict::Counts);
    }
    if let Some(revision) = wanted {
        return roll_back(changes, revision);
    }
    if scaling::is_due(s) {
        scaling::scale(&mut changes);
        // Upstream's stops here in any case. If no set gets another size, none ever will, and there
        // would be no rollout: that of a Recreate with pods of two templates, or of a set that has
        // the right size but was not given it here.
        if changes.is_scaling() {
            return changes.course("the Deployment was resized", Verdict::Counts);
        }
    }
    match &deployment.strategy {
        DeploymentStrategy::RollingUpdate { .. } => rolling(changes),
        DeploymentStrategy::Recreate => recreate(changes),
        DeploymentStrategy::Other(word) => {
            failure(format!("unexpected deployment strategy type: {word}"))
        }
    }
}

fn roll_back(mut changes: Changes<'_>, revision: i64) -> Course {
    let s = changes.s;
    if s.new.is_none() {
        return create(s);
    }
    changes.actions.extend(rollback::actions(s, revision));
    let why = format!("asked to roll back to revision {revision}").into();
    Course { why, work: Work::Writes(changes.actions), verdict: Verdict::Nothing }
}

/// As `rolloutRolling`.
fn rolling(mut changes: Changes<'_>) -> Course {
    let s = changes.s;
    let Some(new) = &s.new else { return create(s) };
    // The status does not report a failure to write these, unlike one to scale old sets down.
    let verdict = if changes.is_empty() { Verdict::RolloutAnyway } else { Verdict::Rollout };
    if let Err(error) = rollout::scale_new(&mut changes, new) {
        return failure(error);
    }
    if changes.is_scaling() {
        return changes.course("the new ReplicaSet comes first", Verdict::Rollout);
    }
    rollout::scale_old(&mut changes, new);
    if changes.is_scaling() {
        return changes.course("old ReplicaSets have more pods than needed", verdict);
    }
    finish(changes)
}

/// As `rolloutRecreate`.
fn recreate(mut changes: Changes<'_>) -> Course {
    let s = changes.s;
    rollout::scale_old_to_zero(&mut changes);
    if s.old.iter().any(Set::is_active) {
        return changes.course("old ReplicaSets must be empty first", Verdict::Rollout);
    }
    if rollout::is_old_running(s) {
        return changes.course("old pods must end first", Verdict::Rollout);
    }
    let Some(new) = &s.new else { return create(s) };
    changes.scale(new, new.replicas(), s.deployment.replicas);
    finish(changes)
}

/// Old sets are deleted once the rollout was complete.
fn finish(mut changes: Changes<'_>) -> Course {
    let deployment = &changes.s.deployment;
    if !rollout::is_complete(deployment, &deployment.status) {
        let why =
            changes.s.new.as_ref().filter(|_| changes.is_empty()).map(|new| waits(deployment, new));
        let why = why.unwrap_or_else(|| "the rollout is under way".into());
        return Course { why, work: Work::Writes(changes.actions), verdict: Verdict::Rollout };
    }
    rollout::clean_up(&mut changes);
    changes.course("the rollout is complete", Verdict::Rollout)
}

/// Why nothing is done about a rollout that is not complete.
fn waits(deployment: &Deployment, new: &Set) -> Why {
    let how = if progress::has_timed_out(&deployment.status) {
        "the rollout stalls"
    } else {
        "the rollout is under way"
    };
    let (available, wanted) = (new.view.status.available_replicas, new.replicas());
    format!("{how}: {available} of {wanted} pods of {} are available", new.name()).into()
}

fn create(s: &Snapshot) -> Course {
    let replicas = match limits::new_size(&s.deployment, s.size(), 0) {
        Ok(replicas) => replicas,
        Err(error) => return failure(error),
    };
    let why = "there is no ReplicaSet of the template".into();
    Course { why, work: Work::Creation(replicas), verdict: Verdict::Rollout }
}

fn failure(error: String) -> Course {
    let why = "the Deployment cannot be rolled out".into();
    Course { why, work: Work::Failure(error), verdict: Verdict::Failure }
}

impl Changes<'_> {
    fn course(self, why: &'static str, verdict: Verdict) -> Course {
        Course { why: why.into(), work: Work::Writes(self.actions), verdict }
    }
}
