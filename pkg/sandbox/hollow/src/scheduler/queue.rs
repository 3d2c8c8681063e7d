//! Pods that wait for a node.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use api::{Key, Time};

use super::pod::Pod;
use crate::alarms::Alarms;
use crate::fields::at;

const BACK_OFF: Duration = Duration::from_secs(1);
const BACK_OFF_MAX: Duration = Duration::from_secs(10);

/// Those to try now, those that wait for their back-off, and those that wait for a change.
#[derive(Default)]
pub(crate) struct Queue {
    waiting: BTreeMap<Key, Waiting>,
    ready: BTreeSet<(Reverse<i64>, Time, Key)>,
    /// Those that no change has activated since they were tried.
    parked: BTreeSet<Key>,
    alarms: Alarms<Key>,
}

struct Waiting {
    pod: Arc<Pod>,
    tries: u32,
    /// Until when it is not tried again.
    rests: Option<Time>,
}

impl Queue {
    /// Takes a pod as it is now. A new one, and one that asks for something else, is tried.
    pub(crate) fn show(&mut self, pod: &Arc<Pod>, now: Time) {
        let same = |old: &Pod| {
            let same = |path: &str| at(&old.object, path) == at(&pod.object, path);
            old.uid == pod.uid && same("/spec") && same("/metadata/labels")
        };
        if let Some(known) = self.waiting.get_mut(&pod.key)
            && known.pod.uid == pod.uid
        {
            let changed = !same(&known.pod);
            let ready = self.ready.remove(&rank(&known.pod));
            known.pod = Arc::clone(pod);
            if ready {
                self.ready.insert(rank(pod));
            } else if changed {
                self.activate(&pod.key, now);
            }
            return;
        }
        self.remove(&pod.key);
        let waiting = Waiting { pod: Arc::clone(pod), tries: 0, rests: None };
        self.waiting.insert(pod.key.clone(), waiting);
        self.ready.insert(rank(pod));
    }

    /// A pod waits no more.
    pub(crate) fn remove(&mut self, key: &Key) {
        if let Some(waiting) = self.waiting.remove(key) {
            self.ready.remove(&rank(&waiting.pod));
            self.parked.remove(key);
            self.alarms.set(key, None);
        }
    }

    /// The most important of those to try; of equal ones the oldest.
    pub(crate) fn pop(&mut self) -> Option<Arc<Pod>> {
        let (_, _, key) = self.ready.pop_first()?;
        let waiting = self.waiting.get_mut(&key)?;
        waiting.tries += 1;
        Some(Arc::clone(&waiting.pod))
    }

    /// A pod was tried, and waits for a change, or for this long.
    pub(crate) fn park(&mut self, pod: &Arc<Pod>, nap: Duration, now: Time) {
        self.rest(&pod.key, now);
        self.parked.insert(pod.key.clone());
        self.alarms.set(&pod.key, Some(now + nap));
    }

    /// A pod is tried again after its back-off.
    pub(crate) fn rest(&mut self, key: &Key, now: Time) {
        let Some(waiting) = self.waiting.get_mut(key) else { return };
        let doubled = BACK_OFF * 2_u32.saturating_pow(waiting.tries.saturating_sub(1).min(10));
        waiting.rests = Some(now + doubled.min(BACK_OFF_MAX));
        self.ready.remove(&rank(&waiting.pod));
        self.alarms.set(key, waiting.rests);
    }

    /// It may fit now: it is tried, at the end of its back-off.
    pub(crate) fn activate(&mut self, key: &Key, now: Time) {
        let Some(waiting) = self.waiting.get(key) else { return };
        self.parked.remove(key);
        let rests = waiting.rests.filter(|rests| *rests > now);
        self.alarms.set(key, rests);
        if rests.is_none() {
            self.ready.insert(rank(&waiting.pod));
        }
    }

    /// All may fit now.
    pub(crate) fn activate_all(&mut self, now: Time) {
        for key in std::mem::take(&mut self.parked) {
            self.activate(&key, now);
        }
    }

    /// These may fit now.
    pub(crate) fn activate_if(&mut self, now: Time, fits: impl Fn(&Pod) -> bool) {
        let fits = |key: &&Key| self.waiting.get(*key).is_some_and(|waiting| fits(&waiting.pod));
        let activated: Vec<Key> = self.parked.iter().filter(fits).cloned().collect();
        for key in &activated {
            self.activate(key, now);
        }
    }

    /// Those that want to be near others, or spread among them, may fit now.
    pub(crate) fn activate_near(&mut self, now: Time) {
        self.activate_if(now, |pod| !pod.near.is_empty() || !pod.spreads.is_empty());
    }

    /// Those whose time has come are tried.
    pub(crate) fn tick(&mut self, now: Time) {
        for key in self.alarms.due(now) {
            self.parked.remove(&key);
            if let Some(waiting) = self.waiting.get(&key) {
                self.ready.insert(rank(&waiting.pod));
            }
        }
    }

    /// Whether there are any to try.
    pub(crate) fn has_ready(&self) -> bool {
        !self.ready.is_empty()
    }

    /// When there is one to try.
    pub(crate) fn next(&self) -> Option<Time> {
        self.alarms.next()
    }
}

fn rank(pod: &Pod) -> (Reverse<i64>, Time, Key) {
    (Reverse(pod.priority), pod.created, pod.key.clone())
}
