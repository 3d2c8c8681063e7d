//! How long the next pod waits after failures. As upstream's `backoff_utils.go`.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use api::{Key, Pod, Text, Time};

use super::pods;

const DELAY_MIN: Duration = Duration::from_secs(10);
const DELAY_MAX: Duration = Duration::from_mins(10);

/// What is remembered of all Jobs. Lost when the process ends, as upstream's.
#[derive(Debug, Default)]
pub struct Backoffs {
    jobs: BTreeMap<Key, (Text, Record)>,
}

/// How the pods of a Job fared, as far as they are counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Record {
    /// How many failed since one succeeded.
    pub(super) failures: i32,
    /// When the last one did.
    pub(super) last: Option<Time>,
}

// === impl Backoffs ===

impl Backoffs {
    /// Of the Job with this uid.
    pub(super) fn record(&self, key: &Key, uid: &Text) -> Record {
        let known = self.jobs.get(key).filter(|(of, _)| of == uid);
        known.map_or_else(Record::default, |(_, record)| *record)
    }

    pub(super) fn keep(&mut self, key: &Key, uid: &Text, record: Record) {
        if record == Record::default() {
            self.jobs.remove(key);
        } else {
            self.jobs.insert(key.clone(), (uid.clone(), record));
        }
    }

    pub(super) fn forget(&mut self, key: &Key) {
        self.jobs.remove(key);
    }
}

// === impl Record ===

impl Record {
    /// The record with pods that have ended since. As `newBackoffRecord`.
    pub(super) fn with(self, succeeded: &[Arc<Pod>], failed: &[Arc<Pod>]) -> Self {
        let ended = |pods: &[Arc<Pod>]| -> Vec<_> {
            pods.iter().map(|pod| pods::finished_at(pod)).collect()
        };
        let failed = ended(failed);
        let count = |failures: usize| i32::try_from(failures).unwrap_or(i32::MAX);
        match ended(succeeded).into_iter().max() {
            None if failed.is_empty() => self,
            None => Self {
                failures: self.failures.saturating_add(count(failed.len())),
                last: failed.into_iter().max(),
            },
            Some(success) => {
                let since: Vec<_> = failed.into_iter().filter(|at| *at > success).collect();
                Self { failures: count(since.len()), last: since.into_iter().max() }
            }
        }
    }

    /// How long the next pod must wait still.
    pub(super) fn remaining(self, now: Time) -> Duration {
        self.last.map_or(Duration::ZERO, |last| remaining(self.failures, last, now))
    }
}

/// How long the next pod of an index must wait still, after this one failed. As
/// `getRemainingTimePerIndex`.
pub(super) fn remaining_of_index(failed: Option<&Arc<Pod>>, now: Time) -> Duration {
    let Some(failed) = failed else { return Duration::ZERO };
    remaining(pods::all_failures(failed).saturating_add(1), pods::finished_at(failed), now)
}

/// Ten seconds, doubled with each failure up to ten minutes, since the last one; a failure in the
/// future makes the wait longer.
fn remaining(failures: i32, last: Time, now: Time) -> Duration {
    let Some(doublings) = u32::try_from(failures).ok().and_then(|count| count.checked_sub(1))
    else {
        return Duration::ZERO;
    };
    let factor = 1_u32.checked_shl(doublings.min(16)).unwrap_or(u32::MAX);
    let delay = DELAY_MIN.saturating_mul(factor).min(DELAY_MAX);
    (delay + last.since(now)).saturating_sub(now.since(last))
}
