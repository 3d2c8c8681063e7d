//! The status of a CronJob: which Jobs run, when the last one was due, when one last completed.

use api::{CronJobStatus, Edit, Key, Text, Time};
use controller::{Outcome, Retry, Write};
use mutant::Mutant;
use serde_json::{Value, json};

use super::active;
use super::snapshot::Snapshot;

/// What was decided, as far as the status tells of it.
#[derive(Clone, Debug, Default)]
pub struct Verdict {
    /// The status, if no Job is started or replaced.
    pub status: CronJobStatus,
    /// The uids of the Jobs that are replaced.
    pub replaced: Vec<Text>,
    /// The Job that is made, and when it was due.
    pub starts: Option<(Key, Time)>,
}

/// None if the status is right already.
pub(super) fn report(s: &Snapshot, verdict: &Verdict, outcome: &Outcome) -> Option<Write> {
    let mut status = verdict.status.clone();
    let made = verdict.starts.as_ref().and_then(|(key, due)| {
        let made = outcome.made.iter().find(|made| made.key == *key)?;
        Some((active::entry(made), *due))
    });
    // A Job is made once all are deleted that it replaces.
    if made.is_some() || outcome.error.is_none() {
        status.active.retain(|entry| !verdict.replaced.contains(&entry.uid));
    }
    if let Some((entry, due)) = made {
        status.active.push(entry);
        if !mutant::is(Mutant::RunForgotten) {
            status.last_schedule_time = Some(due);
        }
    }
    let is_right = status == s.cron_job.status && !mutant::is(Mutant::EqualStatus);
    let raw = s.cron_job.raw.clone();
    (!is_right).then(|| Write::status(s.object(), raw, edits(s, &status), Retry::Never))
}

fn edits(s: &Snapshot, status: &CronJobStatus) -> Vec<Edit> {
    let was = &s.cron_job.status;
    let mut edits = Vec::new();
    if status.active != was.active {
        let entries: Vec<_> = status.active.iter().map(|entry| entry.reference.clone()).collect();
        let entries = if entries.is_empty() { Value::Null } else { Value::Array(entries) };
        edits.push(Edit::new(["status", "active"], entries));
    }
    for (name, was, is) in [
        ("lastScheduleTime", was.last_schedule_time, status.last_schedule_time),
        ("lastSuccessfulTime", was.last_successful_time, status.last_successful_time),
    ] {
        if is != was {
            edits.push(Edit::new(["status", name], json!(is)));
        }
    }
    edits
}
