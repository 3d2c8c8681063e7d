//! The status of a Job, and what is said of it.

use std::sync::Arc;
use std::time::Duration;

use api::{Edit, Job, JobCondition, JobStatus, Kind, Pod, Status, Time};
use controller::{EventType, ObjectRef, Outcome, Retry, Write};
use serde_json::{Value, json};

use super::decide::Verdict;
use super::finish::{self, Ending};
use super::manage::Work;
use super::snapshot::{self, Snapshot};
use super::standing::{Standing, count};
use super::tracking::Tracked;
use super::{Options, backoff, manage, metrics};

const SUSPENDED: &str = "Suspended";

/// What a sync does to the number of active pods.
#[derive(Clone, Copy)]
pub(super) enum After<'a> {
    Nothing,
    Deleting(&'a [Arc<Pod>]),
    Creating(usize),
}

/// The status to write at the end of a sync, if there is one to write.
pub(super) fn report(s: &Snapshot, verdict: Option<&Verdict>, outcome: &Outcome) -> Option<Write> {
    let verdict = verdict?;
    if s.claim.has_failed(0, outcome) {
        return None;
    }
    let is_cut_short = outcome.unsettled || outcome.step.is_some();
    let (mut status, made) = match (&verdict.failed, outcome.step) {
        (Some((at, status)), Some(step)) if *at == step => (status.clone(), outcome.made.len()),
        (_, None) if is_cut_short => (verdict.unsettled.clone()?, 0),
        _ if is_cut_short => return None,
        _ => (verdict.done.clone()?, 0),
    };
    // The pods that were created before one was refused are active. As `manageJob`.
    status.active = status.active.saturating_add(count(0..made));
    let counts = metrics::written(&s.job, &status);
    Some(write(s, &status)?.counted(counts))
}

// === The status ===

/// This status with the numbers of pods after a sync.
pub(super) fn after(standing: &Standing<'_>, mut status: JobStatus, does: After<'_>) -> JobStatus {
    let (active, ready) = (count(standing.active.iter()), standing.ready);
    let (active, ready, terminating) = match does {
        After::Nothing => (active, ready, standing.terminating),
        After::Creating(more) => {
            (active.saturating_add(count(0..more)), ready, standing.terminating)
        }
        After::Deleting(pods) => {
            let gone = count(pods.iter());
            let ready_gone = count(pods.iter().filter(|pod| pod.is_ready()));
            (active - gone, ready - ready_gone, standing.terminating.saturating_add(gone))
        }
    };
    if status.start_time.is_none() && !standing.job.spec.suspend {
        status.start_time = Some(standing.s.now.whole_seconds());
    }
    JobStatus { active, ready: Some(ready), terminating: Some(terminating), ..status }
}

/// This status with how the Job ends.
pub(super) fn ending(
    standing: &Standing<'_>,
    mut status: JobStatus,
    ending: &Ending,
    is_terminal: bool,
) -> JobStatus {
    let now = standing.s.now.whole_seconds();
    if !ending.is_said {
        status.conditions.push(said(ending.interim(), ending, now));
    }
    if is_terminal {
        let terminal = said(ending.terminal(), ending, now);
        match status.conditions.iter_mut().find(|it| it.r#type == terminal.r#type) {
            Some(known) => *known = terminal,
            None => status.conditions.push(terminal),
        }
        if ending.result == finish::Result::Success {
            // The clock may have been set back: the API server refuses an end before the start.
            status.completion_time = status.start_time.max(Some(now));
        }
    }
    status
}

fn said(r#type: &str, ending: &Ending, now: Time) -> JobCondition {
    condition(r#type, Status::True, (&ending.reason, &ending.message), now)
}

fn condition(
    r#type: &str,
    status: Status,
    (reason, message): (&str, &str),
    now: Time,
) -> JobCondition {
    JobCondition {
        r#type: r#type.to_owned(),
        status,
        last_probe_time: Some(now),
        last_transition_time: Some(now),
        reason: reason.to_owned(),
        message: message.to_owned(),
    }
}

/// This status with whether the Job is suspended, and what there is to be said of that. A Job that
/// never was is not said to be resumed. As `ensureJobConditionStatus`.
pub(super) fn suspension(
    standing: &Standing<'_>,
    mut status: JobStatus,
    options: Options,
) -> (JobStatus, Option<(&'static str, &'static str)>) {
    let now = standing.s.now.whole_seconds();
    let suspends = standing.job.spec.suspend;
    let (holds, event, reason, message) = if suspends {
        (Status::True, SUSPENDED, "JobSuspended", "Job suspended")
    } else {
        (Status::False, "Resumed", "JobResumed", "Job resumed")
    };
    let known = status.conditions.iter_mut().find(|it| it.r#type == SUSPENDED);
    let is_same =
        |it: &JobCondition| it.status == holds && it.reason == reason && it.message == message;
    match known {
        Some(known) if is_same(known) => return (status, None),
        None if !suspends => return (status, None),
        Some(known) => *known = condition(SUSPENDED, holds, (reason, message), now),
        None => status.conditions.push(condition(SUSPENDED, holds, (reason, message), now)),
    }
    if !suspends {
        status.start_time = Some(now);
    } else if options.resets_start_time {
        status.start_time = None;
    }
    (status, Some((event, message)))
}

/// The write that makes it so; none: it is so already.
pub(super) fn write(s: &Snapshot, status: &JobStatus) -> Option<Write> {
    let known = &s.job.status;
    let mut edits: Vec<Edit> = Vec::new();
    let mut edit = |name: &str, is_same: bool, value: Value| {
        if !is_same {
            edits.push(Edit::new(["status", name], value));
        }
    };
    edit("active", status.active == known.active, json!(status.active));
    edit("ready", status.ready == known.ready, json!(status.ready));
    edit("terminating", status.terminating == known.terminating, json!(status.terminating));
    edit("succeeded", status.succeeded == known.succeeded, json!(status.succeeded));
    edit("failed", status.failed == known.failed, json!(status.failed));
    let is_same = status.completed_indexes == known.completed_indexes;
    let text = Some(&status.completed_indexes).filter(|text| !text.is_empty());
    edit("completedIndexes", is_same, json!(text));
    let is_same = status.failed_indexes == known.failed_indexes;
    edit("failedIndexes", is_same, json!(status.failed_indexes));
    edit("startTime", status.start_time == known.start_time, json!(status.start_time));
    let is_same = status.completion_time == known.completion_time;
    edit("completionTime", is_same, json!(status.completion_time));
    let uncounted =
        |status: &JobStatus| status.uncounted_terminated_pods.clone().unwrap_or_default();
    let is_same = uncounted(status) == uncounted(known);
    edits.extend(s.job.raw.conditions(&known.conditions, &status.conditions));
    if edits.is_empty() && is_same {
        return None;
    }
    edits.push(Edit::new(["status", "uncountedTerminatedPods"], json!(uncounted(status))));
    let object = ObjectRef::new(&Job::RESOURCE, &s.job.meta);
    Some(Write::status(object, s.job.raw.clone(), edits, Retry::Never))
}

/// What is said of a Job that has finished. As `recordJobFinished`.
pub(super) fn finished_events(
    standing: &Standing<'_>,
    status: &JobStatus,
    ending: &Ending,
) -> Vec<(EventType, String, String)> {
    if ending.result == finish::Result::Failure {
        return vec![(EventType::Warning, ending.reason.clone(), ending.message.clone())];
    }
    let mut events = Vec::new();
    if standing.job.spec.completions.is_some_and(|completions| status.succeeded > completions) {
        let message = "Too many succeeded pods running after completion count reached";
        events.push((EventType::Warning, "TooManySucceededPods".to_owned(), message.to_owned()));
    }
    events.push((EventType::Normal, "Completed".to_owned(), "Job completed".to_owned()));
    events
}

// === In words ===

/// How long until its time is over.
pub(super) fn until_deadline(standing: &Standing<'_>) -> Option<Duration> {
    finish::deadline(standing).map(|deadline| deadline.since(standing.s.now))
}

/// What the Job waits for.
pub(super) fn why(standing: &Standing<'_>, work: &Work, tracked: &Tracked) -> String {
    let does = match work {
        _ if standing.job.meta.is_terminating() => "the Job is being deleted".to_owned(),
        Work::Delete(pods) if standing.job.spec.suspend => {
            format!("the Job is suspended, deleting {} pods", pods.len())
        }
        Work::Keep if standing.job.spec.suspend => "the Job is suspended".to_owned(),
        Work::Keep => kept(standing),
        Work::Delete(pods) => {
            let wanted = manage::wanted(standing);
            format!("{} pods are too many, {wanted} are asked for", pods.len())
        }
        Work::Create(count) => format!("creating {count} pods"),
        Work::CreateIndexes(indexes) => format!("creating pods for {} indexes", indexes.len()),
        Work::Wait(delay, None) => format!(
            "failures in a row: {}; the next pod is made in {delay:?}",
            standing.record.failures
        ),
        Work::Wait(delay, Some(index)) => {
            format!("index {index} has failed: its next pod is made in {delay:?}")
        }
    };
    match tracked.release.len() {
        0 => does,
        ended => format!("{ended} pods have ended and are counted; {does}"),
    }
}

/// Why the pods that are there are enough for now.
fn kept(standing: &Standing<'_>) -> String {
    let active = standing.active.len();
    let wanted = manage::wanted(standing);
    let ending = standing.pods.iter().find(|pod| super::pods::is_terminating(pod));
    match ending {
        Some(pod) if active < wanted => {
            let pod = &pod.meta.key;
            format!("{active} of {wanted} pods are active: waiting for pod {pod} to end")
        }
        Some(_) | None => format!("{active} pods are active, as asked for"),
    }
}

/// The Job, its pods and its indexes in short facts.
pub(super) fn summary(s: &Snapshot) -> Vec<(&'static str, String)> {
    let (job, status) = (&s.job, &s.job.status);
    let mut facts = Vec::new();
    if let Err(why) = snapshot::selector(job) {
        facts.push(("left alone", why.into_owned()));
    }
    if let Some(manager) = job.external_manager() {
        facts.push(("managed by", manager.to_string()));
    }
    let standing = Standing::of(s);
    let completions = job.spec.completions;
    let completions = completions.map_or_else(|| "any one".to_owned(), |it| it.to_string());
    facts.extend([
        ("completions", completions),
        ("parallelism", job.spec.parallelism.to_string()),
        ("active", standing.active.len().to_string()),
        ("ready", standing.ready.to_string()),
        ("terminating", standing.terminating.to_string()),
        ("succeeded", standing.succeeded.to_string()),
        ("failed", failed(&standing)),
    ]);
    if let Some(ending) = finish::ending(&standing).filter(|_| job.finish.is_none()) {
        facts.push(("ends", format!("{}: {}", ending.reason, ending.message)));
    }
    facts.extend(indexes(&standing));
    facts.extend(judged(&standing));
    if let Some(deadline) = finish::deadline(&standing) {
        facts.push(("must end by", deadline.to_string()));
    }
    let uncounted = status.uncounted_terminated_pods.clone().unwrap_or_default();
    facts.extend([
        ("not counted yet", (uncounted.succeeded.len() + uncounted.failed.len()).to_string()),
        ("to adopt", s.claim.adopt.len().to_string()),
        ("to release", s.claim.release.len().to_string()),
        ("resource version", job.meta.resource_version.to_string()),
    ]);
    let said = status.conditions.iter();
    let said = said.map(|it| {
        let colon = if it.message.is_empty() { "" } else { ": " };
        format!("{} is {:?}{colon}{}", it.r#type, it.status, it.message)
    });
    facts.extend(said.map(|condition| ("condition", condition)));
    if let Some(at) = job.meta.deletion_timestamp {
        facts.push(("being deleted since", at.to_string()));
    }
    facts
}

fn failed(standing: &Standing<'_>) -> String {
    let spec = &standing.job.spec;
    match spec.backoff_limit_per_index {
        Some(limit) => format!("{}, at most {limit} of each index", standing.failed),
        None => format!("{} of at most {}", standing.failed, spec.backoff_limit),
    }
}

fn indexes(standing: &Standing<'_>) -> Vec<(&'static str, String)> {
    let Some(indexes) = &standing.indexes else { return Vec::new() };
    let said = |indexes: &super::indexes::Indexes| match indexes.to_string() {
        text if text.is_empty() => "none".to_owned(),
        text => text,
    };
    let mut facts = vec![("completed indexes", said(&indexes.succeeded))];
    facts.extend(indexes.failed.as_ref().map(|failed| ("failed indexes", said(failed))));
    let waiting = indexes.delayed.iter().map(|(index, pod)| {
        let left = backoff::remaining_of_index(Some(pod), standing.s.now);
        format!("index {index} for {left:?}, since pod {} failed", pod.meta.key.name)
    });
    facts.extend(waiting.map(|text| ("waits", text)));
    facts
}

/// Which pods match which rules of the failure policy.
fn judged(standing: &Standing<'_>) -> Vec<(&'static str, String)> {
    let failed = standing.pods.iter().filter(|pod| super::pods::is_failed(pod, standing.job));
    let judged = failed.filter_map(|pod| {
        let action = standing.judge(pod).action?;
        Some(("failure policy", format!("{action:?} matched pod {}", pod.meta.key.name)))
    });
    judged.collect()
}

// === impl After ===

impl<'a> After<'a> {
    pub(super) fn of(work: &'a Work) -> Self {
        match work {
            Work::Keep | Work::Wait(..) => Self::Nothing,
            Work::Delete(pods) => Self::Deleting(pods),
            Work::Create(count) => Self::Creating(*count),
            Work::CreateIndexes(indexes) => Self::Creating(indexes.len()),
        }
    }
}
