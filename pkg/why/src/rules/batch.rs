//! Jobs and CronJobs.

use api::{Job, Kind, Time};

use super::pod::{is_active, is_ready, pods_of};
use super::workloads::{pods, refused_by_events};
use crate::Severity;
use crate::json::{condition_is, count, flag, number, said, since, time};
use crate::look::{Look, Thing};
use crate::text::age;

/// The index of a pod.
const INDEX: &str = "/metadata/annotations/batch.kubernetes.io~1job-completion-index";

pub(super) fn job(look: &mut Look<'_>, it: &Thing) {
    let json = &it.json;
    if let Some(done) = condition_is(json, "Complete", "True") {
        look.note(it, format!("is complete: {} succeeded", pods(count(json, "/status/succeeded"))))
            .since(since(done));
        return;
    }
    for kind in ["Failed", "FailureTarget"] {
        if let Some(failed) = condition_is(json, kind, "True") {
            return failed_job(look, it, failed);
        }
    }
    if flag(json, "/spec/suspend") {
        let at = condition_is(json, "Suspended", "True").and_then(since);
        look.stuck(it, "is suspended, so it has no pods")
            .since(at)
            .waiting_for("somebody, or a queueing controller, to set spec.suspend to false");
        return;
    }
    let manager = it.text("/spec/managedBy").to_owned();
    if !manager.is_empty() && manager != "kubernetes.io/job-controller" {
        look.waits(it, format!("is managed by {manager}, not by the job-controller"));
        return;
    }
    runs(look, it);
}

fn runs(look: &mut Look<'_>, it: &Thing) {
    let json = &it.json;
    let (active, failed) = (count(json, "/status/active"), count(json, "/status/failed"));
    let succeeded = count(json, "/status/succeeded");
    let want = number(json, "/spec/completions").or_else(|| number(json, "/spec/parallelism"));
    let limit = number(json, "/spec/backoffLimit").unwrap_or(6);
    let started = time(json, "/status/startTime");
    let refused = refused_by_events(look, it);
    let Some(all) = pods_of(look, it) else {
        look.waits(it, "runs").since(started);
        return;
    };
    let live: Vec<_> = all.iter().filter(|pod| is_active(&pod.json)).cloned().collect();
    let cause = format!(
        "runs: {succeeded} of {} succeeded, {active} active, {failed} failed",
        pods(want.unwrap_or(1))
    );
    let found = look.waits(it, cause).since(started);
    let lives = i64::try_from(live.len()).unwrap_or(0);
    if lives == 0 && failed > 0 && !refused {
        let per_index = number(json, "/spec/backoffLimitPerIndex");
        let left = (limit - failed).max(0);
        found
            .waiting_for(
                "its back-off after a failure: 10 s, doubled with each, at most 10 minutes",
            )
            .next(match per_index {
                Some(limit) => {
                    format!("a new pod; an index fails after {limit} failures of its own")
                }
                None => format!("a new pod; the Job fails after {left} more failures"),
            });
    } else {
        let deadline = number(json, "/spec/activeDeadlineSeconds").zip(started);
        if let Some((seconds, started)) = deadline {
            let ran = look.now.since(started).as_secs();
            let left = u64::try_from(seconds).unwrap_or(0).saturating_sub(ran);
            if let Some(last) = look.findings.last_mut() {
                last.next = Some(format!("it fails in {left}s, by its activeDeadlineSeconds"));
            }
        }
    }
    let waiting: Vec<_> = live.into_iter().filter(|pod| !is_ready(&pod.json)).collect();
    look.follow_alike(&waiting);
}

fn failed_job(look: &mut Look<'_>, it: &Thing, condition: &serde_json::Value) {
    let indexes = it.text("/status/failedIndexes").to_owned();
    let indexes = match indexes.as_str() {
        "" => String::new(),
        failed => format!("; failed indexes: {failed}"),
    };
    let cause = format!("has failed: {}{indexes}", said(condition));
    look.stuck(it, cause).since(since(condition)).next(
        match number(&it.json, "/spec/ttlSecondsAfterFinished") {
            Some(seconds) => format!("it is deleted {seconds} s after its end"),
            None => "nothing: a failed Job stays, and is not tried again".to_owned(),
        },
    );
    let Some(all) = pods_of(look, it) else { return };
    let mut failed: Vec<_> =
        all.into_iter().filter(|pod| pod.text("/status/phase") == "Failed").collect();
    failed.sort_by(|a, b| (a.text(INDEX), a.name()).cmp(&(b.text(INDEX), b.name())));
    // The Job is the cause: its pods are what it is about.
    let start = look.findings.len();
    look.follow_alike(&failed);
    look.demote_since(start);
}

pub(super) fn cron_job(look: &mut Look<'_>, it: &Thing) {
    let json = &it.json;
    let schedule = it.text("/spec/schedule").to_owned();
    let last = time(json, "/status/lastScheduleTime");
    let ago = |now: Time| last.map(|last| age(now.since(last)));
    let last_words = match ago(look.now) {
        Some(ago) => format!("it ran last {ago} ago"),
        None => "it has never run".to_owned(),
    };
    if flag(json, "/spec/suspend") {
        look.stuck(it, format!("is suspended; {last_words}"))
            .waiting_for("somebody to set spec.suspend to false");
        return;
    }
    if let Some(event) =
        look.event(it, &["UnparseableSchedule", "InvalidSchedule", "UnknownTimeZone"])
    {
        look.stuck(it, format!("never runs: {}", said(&event)))
            .waiting_for("a schedule and a time zone that can be read");
        return;
    }
    let jobs = look.list(&Job::RESOURCE, it.namespace());
    let jobs: Vec<_> = jobs.into_iter().filter(|job| it.manages(&job.json)).collect();
    let is_over = |job: &&Thing| {
        let is = |kind| condition_is(&job.json, kind, "True").is_some();
        is("Complete") || is("Failed")
    };
    let active: Vec<_> = jobs.iter().filter(|job| !is_over(job)).cloned().collect();
    let policy = it.text("/spec/concurrencyPolicy").to_owned();
    if let Some(job) = active.first() {
        let name = job.subject();
        if policy == "Forbid" {
            look.waits(
                it,
                format!("runs no other Job as long as {name} runs (concurrencyPolicy Forbid)"),
            )
            .since(last)
            .waiting_for(format!("{name}, to end"));
        } else {
            look.waits(it, format!("runs {name}")).since(last);
        }
        let before = look.findings.len();
        for job in active.iter().take(3) {
            look.follow(job);
        }
        if look.worst_since(before) < Severity::Stuck {
            look.demote_since(before);
        }
        return;
    }
    if let Some(event) = look.event(it, &["TooManyMissedTimes", "MissSchedule"]) {
        let at = crate::look::event_time(&event);
        if at > last {
            look.stuck(it, format!("misses its times: {}", said(&event))).since(at).waiting_for(
                "a startingDeadlineSeconds that is long enough, or a manager that runs",
            );
        }
    }
    if look.findings.iter().all(|found| found.subject != it.subject()) {
        look.note(it, format!("waits for its next time ({schedule}); {last_words}"));
    }
    let mut ended: Vec<_> = jobs;
    ended.sort_by_key(|job| std::cmp::Reverse(time(&job.json, "/metadata/creationTimestamp")));
    if let Some(job) = ended.first()
        && condition_is(&job.json, "Failed", "True").is_some()
    {
        look.follow(job);
    }
}
