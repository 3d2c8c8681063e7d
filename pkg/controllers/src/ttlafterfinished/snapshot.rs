//! What a decision about a finished Job looks at.

use std::sync::Arc;
use std::time::Duration;

use api::{Job, Key, Time};
use controller::View;

/// A Job at one moment.
#[derive(Clone, Debug)]
pub struct Snapshot {
    /// The moment.
    pub now: Time,
    /// The Job.
    pub job: Arc<Job>,
}

/// Whether it has finished and is deleted some time after that.
pub(super) fn needs_cleanup(job: &Job) -> bool {
    job.spec.ttl_seconds_after_finished.is_some() && job.finish.is_some()
}

/// When it is to go; none: never, or it does not say when it has finished.
pub(super) fn expiry(job: &Job) -> Option<Time> {
    let (ttl_seconds, since) = (job.spec.ttl_seconds_after_finished?, job.finish.as_ref()?.since?);
    let span = Duration::from_secs(u64::from(ttl_seconds.unsigned_abs()));
    // The API server admits no negative ones; upstream would count back.
    Some(if ttl_seconds < 0 { since - span } else { since + span })
}

pub(super) fn observe(key: &Key, view: &View<'_>) -> Option<Snapshot> {
    let job = view.of::<Job>().get(key)?;
    Some(Snapshot { now: view.now, job })
}

// === impl Snapshot ===

impl Snapshot {
    pub(super) fn summary(&self) -> Vec<(&'static str, String)> {
        let Self { now, job } = self;
        let finished = match &job.finish {
            None => "no".to_owned(),
            Some(finish) => {
                let since = finish.since.map_or("an unknown time".to_owned(), |at| at.to_string());
                format!("{} since {since}", finish.r#type)
            }
        };
        let stays = job.spec.ttl_seconds_after_finished.map(|seconds| format!("{seconds}s"));
        let mut facts =
            vec![("finished", finished), ("stays for", stays.unwrap_or_else(|| "good".to_owned()))];
        if let Some(at) = expiry(job) {
            let (left, over) = (at.since(*now), now.since(at));
            let text =
                if left.is_zero() { format!("{over:?} ago") } else { format!("in {left:?}") };
            facts.push(("expires", format!("{at}, {text}")));
        }
        if let Some(error) = &job.unreadable {
            facts.push(("left alone", format!("the Job cannot be read: {error}")));
        }
        if let Some(at) = job.meta.deletion_timestamp {
            facts.push(("being deleted since", at.to_string()));
        }
        facts
    }
}
