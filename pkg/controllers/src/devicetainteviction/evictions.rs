//! Which pods wait for their eviction. Stands for upstream's `deletePodAt` and `evictedPods`.

use std::collections::BTreeMap;

use api::{Key, Text, Time};
use controller::Outcome;

use super::decide::Verdict;
use super::snapshot::Snapshot;

/// The pods that wait, and those that were evicted and are still there. Lost with the process,
/// which loses no eviction: what is due stands in the slices and the claims.
#[derive(Clone, Debug, Default)]
pub struct Evictions(BTreeMap<Key, (Text, Stage)>);

/// How far the eviction of a pod has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// It is evicted at this moment, unless something changes.
    Waits(Time),
    /// It was due, and the Event is sent, but writes have failed.
    Marked,
    /// Its deletion was asked for.
    Evicted,
}

impl Evictions {
    /// What is remembered of the pod with this uid.
    pub(super) fn get(&self, key: &Key, uid: &Text) -> Option<Stage> {
        self.0.get(key).filter(|(known, _)| known == uid).map(|(_, stage)| *stage)
    }

    pub(super) fn forget(&mut self, key: &Key) {
        self.0.remove(key);
    }

    /// A plan was acted on.
    pub(super) fn acted(&mut self, s: &Snapshot, verdict: &Verdict, outcome: &Outcome) {
        let key = &s.pod.meta.key;
        let stage = match *verdict {
            Verdict::Keep => return,
            Verdict::Forget => return self.forget(key),
            Verdict::Wait(at) => Stage::Waits(at),
            Verdict::Evict if outcome.error.is_none() => Stage::Evicted,
            Verdict::Evict => Stage::Marked,
        };
        self.0.insert(key.clone(), (s.pod.meta.uid.clone(), stage));
    }

    /// How many pods are remembered.
    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }
}
