//! Which pods wait for their eviction. Stands for upstream's `TimedWorkerQueue`.

use std::collections::BTreeMap;
use std::time::Duration;

use api::{Key, Text};
use controller::Outcome;

use super::decide::Verdict;
use super::snapshot::Snapshot;

/// The pods that wait, and those that were evicted and are still there. Lost with the process: then
/// timers begin anew.
#[derive(Clone, Debug, Default)]
pub struct Timers(BTreeMap<Key, Timer>);

/// What is remembered of one pod.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Timer {
    /// Of the pod that it is for.
    pub uid: Text,
    /// How far it has come.
    pub stage: Stage,
}

/// How far an eviction has come. Moments are as [`controller::View::uptime`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// It is evicted at a moment.
    Waits {
        /// The moment.
        due: Duration,
        /// How long that was away when the timer began.
        span: Duration,
    },
    /// It was due at a moment, and the Event is sent, but writes have failed.
    Marked {
        /// The moment.
        due: Duration,
    },
    /// Its deletion was asked for.
    Evicted,
}

impl Timers {
    pub(super) fn get(&self, key: &Key) -> Option<&Timer> {
        self.0.get(key)
    }

    /// Whether anything is remembered of the pod.
    pub(super) fn knows(&self, key: &Key) -> bool {
        self.0.contains_key(key)
    }

    pub(super) fn forget(&mut self, key: &Key) {
        self.0.remove(key);
    }

    /// A plan was acted on.
    pub(super) fn acted(&mut self, s: &Snapshot, verdict: &Verdict, outcome: &Outcome) {
        let stage = match *verdict {
            Verdict::Keep => return,
            Verdict::Forget => return self.forget(&s.key),
            Verdict::Start { due, span } => Stage::Waits { due, span },
            Verdict::Evict { .. } if outcome.error.is_none() => Stage::Evicted,
            Verdict::Evict { due } => Stage::Marked { due },
        };
        let Some(pod) = &s.pod else { return };
        self.0.insert(s.key.clone(), Timer { uid: pod.meta.uid.clone(), stage });
    }

    /// How many pods are remembered.
    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }
}
