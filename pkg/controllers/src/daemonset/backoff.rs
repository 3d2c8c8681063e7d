//! How long failed pods stay. As upstream's `flowcontrol.Backoff` with 1 s and 15 min: a node that
//! refuses the pods of a set (a kubelet that finds them not fitting, say) would otherwise get a new
//! one as fast as it fails the last.

use std::collections::BTreeMap;
use std::time::Duration;

use api::{DaemonSet, Text, Time};

const DELAY_MIN: Duration = Duration::from_secs(1);
const DELAY_MAX: Duration = Duration::from_mins(15);
/// After this long without a failure a place starts over.
pub(super) const IDLE_MAX: Duration = Duration::from_mins(30);
/// Below this many places nothing is swept.
pub(super) const SWEEP_MIN: usize = 1024;
/// More places are not remembered: all start over.
pub(super) const PLACES_MAX: usize = 100_000;

/// What is remembered, of all sets. Lost when the process ends, as upstream's.
#[derive(Debug, Default)]
pub struct Backoff {
    places: BTreeMap<Place, Entry>,
    sweep_at: usize,
}

/// A node, for one version of one set.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Place {
    set_uid: Text,
    observed_generation: i64,
    node: Text,
}

/// How a place stands at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Delay {
    /// How long the failed pod that is there must still stay.
    pub(super) left: Duration,
    /// How long the one after it will have to stay.
    pub(super) next: Duration,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    delay: Duration,
    since: Time,
}

impl Backoff {
    /// A failed pod was deleted from the place.
    pub(super) fn count(&mut self, place: Place, now: Time) {
        let delay = self.delay(&place, now).next;
        self.make_room(now);
        self.places.insert(place, Entry { delay, since: now });
    }

    /// How the place stands.
    pub(super) fn delay(&self, place: &Place, now: Time) -> Delay {
        match self.places.get(place) {
            Some(entry) if !entry.is_idle(now) => Delay {
                left: entry.delay.saturating_sub(now.since(entry.since)),
                next: (entry.delay * 2).min(DELAY_MAX),
            },
            Some(_) | None => Delay { left: Duration::ZERO, next: DELAY_MIN },
        }
    }

    /// How many places are remembered.
    #[cfg(test)]
    pub(super) fn places(&self) -> usize {
        self.places.len()
    }

    /// Drops what is idle whenever the number of places has doubled.
    fn make_room(&mut self, now: Time) {
        if self.places.len() < self.sweep_at.max(SWEEP_MIN) {
            return;
        }
        self.places.retain(|_, entry| !entry.is_idle(now));
        if self.places.len() >= PLACES_MAX {
            self.places.clear();
        }
        self.sweep_at = (2 * self.places.len()).min(PLACES_MAX);
    }
}

impl Place {
    pub(super) fn new(set: &DaemonSet, node: &Text) -> Self {
        Self {
            set_uid: set.meta.uid.clone(),
            observed_generation: set.status.observed_generation,
            node: node.clone(),
        }
    }
}

impl Entry {
    fn is_idle(&self, now: Time) -> bool {
        now.since(self.since) > IDLE_MAX
    }
}
