//! Whether a finished Job is to go. As `processJob` and `processTTL` in upstream's
//! `pkg/controller/ttlafterfinished/ttlafterfinished_controller.go`.

use api::{Job, Kind, Time};
use controller::{
    Count, Delete, Facts, Family, ObjectRef, Plan, Propagation, Query, Step, When, Write,
};
use mutant::Mutant;

use super::snapshot::{self, Snapshot};

/// Upstream's pkg/controller/ttlafterfinished/metrics.
pub(super) const JOB_DELETION_DURATION: Family = Family::histogram(
    "ttl_after_finished_controller_job_deletion_duration_seconds",
    "[ALPHA] The time it took to delete the job since it became eligible for deletion",
    &[0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 6.4, 12.8, 25.6, 51.2, 102.4, 204.8, 409.6, 819.2],
);

/// Whether a Job has expired.
enum Course {
    /// At this moment.
    Expired(Time),
    /// No, or not yet; what there is to do instead.
    Stays(Plan),
}

pub(super) fn decide(s: &Snapshot, facts: &Facts) -> Plan {
    let expired_at = match course(&s.job, s.now) {
        Course::Expired(at) => at,
        Course::Stays(plan) => return plan,
    };
    if mutant::is(Mutant::ExpiredUnread) {
        return delete(&s.job, expired_at);
    }
    let query = Query::view::<Job>(s.job.meta.key.clone());
    let Some(answer) = facts.get(&query) else {
        let why = format!("expired at {expired_at}; is that still so in a live read?");
        return Plan::fetch(why, vec![query]);
    };
    // It may be another one of this name by now, to which the same rule applies.
    match answer.view::<Job>() {
        Ok(Some(live)) => match course(live, s.now) {
            Course::Expired(at) => delete(live, at),
            Course::Stays(plan) => plan,
        },
        Ok(None) => Plan::rest("the Job is deleted already"),
        Err(error) => {
            let why = "expired, and cannot be read once more before it is deleted";
            Plan::failed(why, error.text.clone())
        }
    }
}

fn course(job: &Job, now: Time) -> Course {
    if let Some(error) = &job.unreadable {
        return Course::Stays(Plan::rest(format!("the Job cannot be read: {error}")));
    }
    let stays = |why: &'static str| Course::Stays(Plan::rest(why));
    let Some(finish) = &job.finish else { return stays("the Job has not finished") };
    if job.meta.is_terminating() {
        return stays("the Job is being deleted");
    }
    if job.spec.ttl_seconds_after_finished.is_none() {
        return stays("the Job stays for good: it has no ttlSecondsAfterFinished");
    }
    let (Some(since), Some(at)) = (finish.since, snapshot::expiry(job)) else {
        let why = format!("its condition {} does not say since when", finish.r#type);
        let error = format!("unable to find the time when the Job {} finished", job.meta.key);
        return Course::Stays(Plan::failed(why, error));
    };
    if at <= now {
        return Course::Expired(at);
    }
    let why = if since > now {
        // Upstream's warning of a time skew in the cluster.
        format!("expires at {at}; finished in the future, at {since}: is a clock wrong?")
    } else {
        format!("expires at {at}")
    };
    Course::Stays(Plan::rest(why).again_after(Some(at.since(now))))
}

fn delete(job: &Job, expired_at: Time) -> Plan {
    let object = ObjectRef::new(&Job::RESOURCE, &job.meta);
    // That it was deleted already is no deletion of ours.
    let counts = vec![Count::since(&JOB_DELETION_DURATION, expired_at).when(When::Done)];
    let how = Delete { propagation: Some(Propagation::Foreground), ..Delete::default() };
    let delete = Write::delete_so(object, how).counted(counts);
    Plan::one(format!("expired at {expired_at}"), Step::InOrder(vec![delete.into()]))
}
