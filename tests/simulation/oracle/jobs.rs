//! Jobs that go some time after they have finished.

use std::time::Duration;

use api::Time;
use serde_json::Value;

use super::fields::{at, is_ending, list, text, uid};
use super::{Oracle, Target, Written};
use crate::site::START;

/// The controller that deletes them.
pub(super) const ACCOUNT: &str = "ttl-after-finished-controller";

/// When a Job is to go; none: it stays.
fn expiry(job: &Value) -> Option<Time> {
    let seconds = at(job, "/spec/ttlSecondsAfterFinished").as_u64()?;
    let mut conditions = list(job, "/status/conditions").iter();
    let finish = conditions.find(|it| {
        ["Complete", "Failed"].contains(&text(it, "/type")) && text(it, "/status") == "True"
    })?;
    Some(Time::parse(text(finish, "/lastTransitionTime")).ok()? + Duration::from_secs(seconds))
}

fn has_finished(job: &Value) -> bool {
    let is_end = |it: &Value| ["Complete", "Failed"].contains(&text(it, "/type"));
    list(job, "/status/conditions").iter().any(is_end)
}

impl Oracle {
    /// The manager has read a Job: when it is to go, and when that was.
    pub(super) fn heard_job(&mut self, job: &Value, now: Duration) {
        let goes = expiry(job).filter(|_| !is_ending(job));
        self.jobs_read.insert(uid(job).to_owned(), (goes, now));
    }

    /// Why a Job is to stay, or to go in another way.
    pub(super) fn job_stays(&self, job: &Value, it: &Written<'_>) -> Option<&'static str> {
        if text(it.sent, "/propagationPolicy") != "Foreground" {
            return Some("its pods are to go before it");
        }
        match self.jobs_read.get(uid(job)) {
            Some((_, read)) if *read < self.decider.begun => Some("it was read in another sync"),
            Some((goes, read)) => {
                let ahead = self.clocks.ahead(it.life, *read);
                let is_up = goes.is_some_and(|goes| goes <= START + *read + ahead);
                (!is_up).then_some("its time was not up when it was read")
            }
            None => Some("no sync has looked whether its time is up"),
        }
    }

    /// Whether it waits for its end, which is near in all cases here.
    pub(super) fn job_lacks(job: &Value) -> Option<String> {
        Some(format!("is to go at {}", expiry(job)?))
    }

    /// Whether the manager may look at it too late: by a clock that was set since. That is when it
    /// is to go, or when its next pod is due after one that failed, as upstream's
    /// `enqueueSyncJobWithDelay`.
    pub(super) fn sleeps_too_long(&self, job: &Value) -> bool {
        self.clocks.were_behind() && (expiry(job).is_some() || !has_finished(job))
    }

    /// The manager has read something of this account.
    pub(super) fn is_job(account: &str, target: &Target) -> bool {
        account == ACCOUNT && target.plural == "jobs" && !target.name.is_empty()
    }
}
