//! When each subject is to act next.

use std::collections::{BTreeMap, BTreeSet};

use api::Time;

/// At most one time for each subject.
pub(crate) struct Alarms<T> {
    times: BTreeSet<(Time, T)>,
    subjects: BTreeMap<T, Time>,
}

impl<T: Ord + Clone> Alarms<T> {
    /// Sets the alarm of a subject to this time only; none: never.
    pub(crate) fn set(&mut self, subject: &T, time: Option<Time>) {
        if let Some(old) = self.subjects.remove(subject) {
            self.times.remove(&(old, subject.clone()));
        }
        if let Some(time) = time {
            self.subjects.insert(subject.clone(), time);
            self.times.insert((time, subject.clone()));
        }
    }

    /// Removes and returns the subjects whose time has come.
    pub(crate) fn due(&mut self, now: Time) -> Vec<T> {
        let mut due = Vec::new();
        while self.next().is_some_and(|time| time <= now) {
            if let Some((_, subject)) = self.times.pop_first() {
                self.subjects.remove(&subject);
                due.push(subject);
            }
        }
        due
    }

    /// The next time.
    pub(crate) fn next(&self) -> Option<Time> {
        self.times.first().map(|(time, _)| *time)
    }

    /// Whether a subject waits.
    pub(crate) fn has(&self, subject: &T) -> bool {
        self.subjects.contains_key(subject)
    }
}

impl<T> Default for Alarms<T> {
    fn default() -> Self {
        Self { times: BTreeSet::new(), subjects: BTreeMap::new() }
    }
}
