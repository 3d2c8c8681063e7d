//! The order of keys: the queue without locks, clocks or waiting.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::time::Duration;

use runtime::Instant;

/// Longer delays are cut to this, about ten years, so that instants cannot overflow.
const DELAY_MAX: Duration = Duration::from_hours(24 * 3650);

/// How urgent a key is. A key is taken only when no key of a higher priority is queued.
///
/// Upstream's queues have one priority; a queue whose keys are all `Normal` behaves the same.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Priority {
    /// After everything else, such as the keys of a first list.
    Low,
    /// The priority of [`Queue::add`](crate::Queue::add).
    #[default]
    Normal,
    /// Before everything else.
    High,
}

/// A key that was handed out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Taken<K> {
    /// The key. It is not handed out again before [`Core::done`].
    pub key: K,
    /// The highest priority of its adds.
    pub priority: Priority,
    /// The time from its first add, or from the end of its delay, until now.
    pub waited: Duration,
}

/// The load of a queue at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Load {
    /// Keys that wait for a worker, including those that a worker has from an earlier add.
    pub depth: usize,
    /// The sum of the times for which workers have had their present keys.
    pub unfinished: Duration,
    /// The longest of these times; zero when no worker has a key.
    pub longest: Duration,
}

/// The state of a queue, for health checks and debug pages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Backlog {
    /// Keys that wait for a worker, including those that a worker has from an earlier add.
    pub depth: usize,
    /// Keys that are added after their delay.
    pub delayed: usize,
    /// Keys that workers have.
    pub working: usize,
    /// Since when keys were ready and none was taken; none while no key is ready.
    pub untaken_since: Option<Instant>,
}

/// Where a key is; it can be in several places at once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Whereabouts {
    /// It waits for a worker, since then.
    pub queued_since: Option<Instant>,
    /// A worker has it, since then.
    pub working_since: Option<Instant>,
    /// Is added then.
    pub delayed_until: Option<Instant>,
}

/// The queue's state. The caller passes in the time; a clock that stands still or goes back is
/// harmless, but then delays take longer.
///
/// The number of keys has no limit, and needs none while workers take them. A key is at most once
/// in each set, and a deleted object leaves none behind ([`Core::deleted`]), so the queue is at
/// most as large as the set of watched objects. A queue without workers would grow with every
/// object that ever existed, so it must not get keys.
///
/// Every method with a time first queues the keys whose delay is over, in the order of their times.
/// Upstream: `queue.go` and `delaying_queue.go`.
#[derive(Clone, Debug)]
pub struct Core<K> {
    /// The keys to hand out, next first. Invariant: exactly the keys that are in `dirty` and not in
    /// `processing`, each under its place in `dirty`.
    queue: BTreeMap<Place, K>,
    /// The keys that were added and not handed out since. Invariant: places are unique.
    dirty: BTreeMap<K, Dirty>,
    /// The keys that workers have. A key that is added meanwhile is in `dirty` too, and is queued
    /// when the worker is done.
    processing: BTreeMap<K, Work>,
    /// The keys to add later. Independent of the other sets. Invariant: empty once shut down.
    delayed: BTreeMap<K, Delayed>,
    /// `delayed` by time, earliest first. Invariant: the same keys, each under its alarm.
    alarms: BTreeMap<Alarm, K>,
    /// The number of the last place, alarm or take. Invariant: none in use is greater.
    next: u64,
    /// How many adds made a key dirty. Never falls.
    adds: u64,
    /// The last take, or the moment since which a key is ready if that is later. Invariant: none
    /// exactly if `queue` is empty.
    untaken_since: Option<Instant>,
    phase: Phase,
}

/// A position in the queue: by priority, and inside one priority by order of arrival.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Place {
    priority: Reverse<Priority>,
    number: u64,
}

#[derive(Clone, Debug)]
struct Dirty {
    /// The key's position in the queue. While a worker has the key: the position it would have.
    place: Place,
    added: Instant,
}

#[derive(Clone, Debug)]
struct Delayed {
    alarm: Alarm,
    priority: Priority,
    /// The number of the last requested delay, whether or not it is the one that counts.
    asked: u64,
}

/// A key that a worker has.
#[derive(Clone, Debug)]
struct Work {
    since: Instant,
    /// Delays that were requested before the worker took the key have lower numbers.
    number: u64,
}

/// A time at which a key is added. The number orders alarms of the same time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Alarm {
    at: Instant,
    number: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// Adds are accepted.
    Open,
    /// Adds are dropped, and a caller waits until no key is left.
    Draining,
    /// Adds are dropped, and no caller waits.
    Closed,
}

// === impl Core ===

impl<K> Default for Core<K> {
    fn default() -> Self {
        Self {
            queue: BTreeMap::new(),
            dirty: BTreeMap::new(),
            processing: BTreeMap::new(),
            delayed: BTreeMap::new(),
            alarms: BTreeMap::new(),
            next: 0,
            adds: 0,
            untaken_since: None,
            phase: Phase::Open,
        }
    }
}

impl<K: Clone + Ord> Core<K> {
    /// Queues `key`, behind all others of the same priority. If it is queued already, it stays once
    /// in the queue; a higher priority then moves it among the keys of that priority, to the
    /// position of its age. If a worker has it, it is queued when the worker is done. Does nothing
    /// once shut down.
    pub fn add(&mut self, now: Instant, key: K, priority: Priority) {
        self.advance(now);
        self.insert(now, key, priority);
    }

    /// Adds `key` after `delay`. Of several delays of one key the earliest end counts, with the
    /// highest priority of all; an [`add`](Self::add) meanwhile does not cancel it. A delay of zero
    /// adds at once. Does nothing once shut down.
    pub fn add_after(&mut self, now: Instant, key: K, priority: Priority, delay: Duration) {
        self.advance(now);
        if delay.is_zero() {
            return self.insert(now, key, priority);
        }
        if self.is_shutting_down() {
            return;
        }
        let asked = self.number();
        let alarm = Alarm { at: now + delay.min(DELAY_MAX), number: asked };
        let delayed = self.delayed.entry(key.clone()).or_insert(Delayed { alarm, priority, asked });
        delayed.priority = delayed.priority.max(priority);
        delayed.asked = asked;
        if alarm.at < delayed.alarm.at {
            self.alarms.remove(&delayed.alarm);
            delayed.alarm = alarm;
        }
        self.alarms.entry(delayed.alarm).or_insert(key);
    }

    /// Hands out the next key, or none if no key is queued. [`done`](Self::done) must follow.
    pub fn take(&mut self, now: Instant) -> Option<Taken<K>> {
        self.advance(now);
        let (place, key) = self.queue.pop_first()?;
        self.untaken_since = (!self.queue.is_empty()).then_some(now);
        let added = self.dirty.remove(&key).map_or(now, |dirty| dirty.added);
        let work = Work { since: now, number: self.number() };
        self.processing.insert(key.clone(), work);
        let waited = now.saturating_duration_since(added);
        Some(Taken { key, priority: place.priority.0, waited })
    }

    /// Returns `key` from its worker and queues it if it was added meanwhile, even once shut down.
    /// Returns how long the worker had it; none, and nothing happens, if no worker had it.
    pub fn done(&mut self, now: Instant, key: &K) -> Option<Duration> {
        self.advance(now);
        let (key, work) = self.processing.remove_entry(key)?;
        let number = self.number();
        if let Some(dirty) = self.dirty.get_mut(&key) {
            dirty.place.number = number;
            self.queue.insert(dirty.place, key);
            self.untaken_since.get_or_insert(now);
        }
        Some(now.saturating_duration_since(work.since))
    }

    /// The object of `key` was deleted, as the worker that has the key found: drops the delay of
    /// the key, if there is one. A delay that was requested since the worker took the key stays: it
    /// is for a new object of the same name. Nothing happens if no worker has the key.
    pub fn deleted(&mut self, now: Instant, key: &K) {
        self.advance(now);
        let Some(work) = self.processing.get(key) else { return };
        if self.delayed.get(key).is_some_and(|delayed| delayed.asked < work.number)
            && let Some(delayed) = self.delayed.remove(key)
        {
            self.alarms.remove(&delayed.alarm);
        }
    }

    /// Queues the keys whose delay is over.
    pub fn advance(&mut self, now: Instant) {
        while let Some(alarm) = self.alarms.first_entry().filter(|entry| entry.key().at <= now) {
            // Added at the end of the delay, not at the time of this call.
            let (Alarm { at, .. }, key) = alarm.remove_entry();
            let priority = self.delayed.remove(&key).map_or_else(Priority::default, |d| d.priority);
            self.insert(at, key, priority);
        }
    }

    /// The time at which the next delay ends.
    pub fn next_wakeup(&self) -> Option<Instant> {
        self.alarms.first_key_value().map(|(alarm, _)| alarm.at)
    }

    /// Drops adds from now on, and the delayed keys. Queued keys can still be taken. A drain in
    /// progress ends.
    pub fn shut_down(&mut self, now: Instant) {
        self.close(now, Phase::Closed);
    }

    /// Like [`shut_down`](Self::shut_down), but a caller waits until the queue is idle.
    pub fn drain(&mut self, now: Instant) {
        self.close(now, Phase::Draining);
    }

    /// Whether adds are dropped.
    pub fn is_shutting_down(&self) -> bool {
        self.phase != Phase::Open
    }

    /// Whether the drain, if one was begun, is over: because no key is left, or because
    /// [`shut_down`](Self::shut_down) ended it.
    pub fn is_drained(&self) -> bool {
        self.phase != Phase::Draining || self.is_idle()
    }

    /// Whether no key is queued and no worker has one. Delayed keys do not count.
    pub fn is_idle(&self) -> bool {
        self.queue.is_empty() && self.processing.is_empty()
    }

    /// The number of keys that can be taken.
    pub fn len(&self) -> usize {
        self.queue.len()
    }

    /// Whether no key can be taken.
    pub fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    /// The number of keys that workers have.
    pub fn processing(&self) -> usize {
        self.processing.len()
    }

    /// The number of adds, without those that changed nothing because the key was queued already.
    /// Never falls.
    pub fn adds(&self) -> u64 {
        self.adds
    }

    /// The load of the queue.
    pub fn load(&self, now: Instant) -> Load {
        let ages = self.processing.values().map(|work| now.saturating_duration_since(work.since));
        let load = Load { depth: self.dirty.len(), ..Load::default() };
        ages.fold(load, |load, age| Load {
            unfinished: load.unfinished.saturating_add(age),
            longest: load.longest.max(age),
            ..load
        })
    }

    /// The state of the queue.
    pub fn backlog(&self) -> Backlog {
        Backlog {
            depth: self.dirty.len(),
            delayed: self.delayed.len(),
            working: self.processing.len(),
            untaken_since: self.untaken_since,
        }
    }

    /// Where `key` is.
    pub fn whereabouts(&self, key: &K) -> Whereabouts {
        Whereabouts {
            queued_since: self.dirty.get(key).map(|dirty| dirty.added),
            working_since: self.processing.get(key).map(|work| work.since),
            delayed_until: self.delayed.get(key).map(|delayed| delayed.alarm.at),
        }
    }

    fn insert(&mut self, added: Instant, key: K, priority: Priority) {
        if self.is_shutting_down() {
            return;
        }
        let number = self.number();
        if let Some(dirty) = self.dirty.get_mut(&key) {
            if priority > dirty.place.priority.0 {
                let queued = self.queue.remove(&dirty.place);
                dirty.place.priority = Reverse(priority);
                self.queue.extend(queued.map(|key| (dirty.place, key)));
            }
            return;
        }
        self.adds += 1;
        let place = Place { priority: Reverse(priority), number };
        if !self.processing.contains_key(&key) {
            self.queue.insert(place, key.clone());
            self.untaken_since.get_or_insert(added);
        }
        self.dirty.insert(key, Dirty { place, added });
    }

    fn close(&mut self, now: Instant, phase: Phase) {
        self.advance(now);
        self.phase = phase;
        self.delayed.clear();
        self.alarms.clear();
    }

    fn number(&mut self) -> u64 {
        self.next += 1;
        self.next
    }
}

#[cfg(test)]
impl<K: Clone + Ord + std::fmt::Debug> Core<K> {
    /// Asserts the invariants of the fields.
    pub(crate) fn check(&self) {
        let queued: BTreeMap<_, _> = self
            .dirty
            .iter()
            .filter(|(key, _)| !self.processing.contains_key(key))
            .map(|(key, dirty)| (dirty.place, key.clone()))
            .collect();
        assert_eq!(self.queue, queued, "queue = dirty without processing");
        assert_eq!(self.untaken_since.is_none(), self.queue.is_empty(), "something to take");
        let alarms: BTreeMap<_, _> =
            self.delayed.iter().map(|(key, delayed)| (delayed.alarm, key.clone())).collect();
        assert_eq!(self.alarms, alarms, "alarms = delayed");
        assert_eq!(alarms.len(), self.delayed.len(), "one alarm a key");
        assert!(alarms.is_empty() || !self.is_shutting_down(), "no delays once shut down");
        let places = self.dirty.values().map(|dirty| dirty.place.number);
        let numbers = places.chain(self.alarms.keys().map(|alarm| alarm.number));
        assert!(numbers.max().is_none_or(|number| number <= self.next), "numbers grow");
    }
}
