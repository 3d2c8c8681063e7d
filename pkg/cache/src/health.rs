//! How an informer fares, and which of its troubles are worth a line in the log.

use std::collections::BTreeMap;
use std::time::Duration;

use api::{Key, Time};

use crate::selection::Selection;

/// Between two log lines that say that the server cannot be reached.
const UNREACHABLE_LOG_INTERVAL: Duration = Duration::from_secs(30);
/// Who dies as often, without so long a life in between, keeps dying.
const DEATHS: u32 = 3;
/// A life that is long enough: as the back-off between two lives sees it, and a pause besides.
const LIFE_MIN: Duration = Duration::from_mins(3);
/// Broken objects that are remembered, so that each is logged once.
const UNREADABLE_MAX: usize = 1024;

/// How an informer fares.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Status {
    /// What it watches.
    pub selection: Selection,
    /// Whether the first list is in the cache and the handlers know of it.
    pub synced: bool,
    /// The number of objects held.
    pub objects: usize,
    /// How many of them are held by their metadata alone since they cannot be read; at most 1024
    /// are counted.
    pub unreadable: usize,
    /// The resource version up to which the cache is complete.
    pub version: u64,
    /// How often everything had to be listed again after the first time.
    pub relists: u64,
    /// When the last event or bookmark came.
    pub last_event: Option<Time>,
    /// Set while it fails.
    pub failing: Option<Failing>,
    /// Whether it fails since the API server does not serve the kind.
    pub unserved: bool,
    /// How often its task has panicked.
    pub panics: u64,
    /// Set while its task panics again and again: since when, and the last panic.
    pub dying: Option<Failing>,
}

/// Why an informer does not get on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failing {
    /// When the first of the errors came.
    pub since: Time,
    /// The last error.
    pub error: String,
}

/// The facts behind a [`Status`].
#[derive(Debug, Default)]
pub(crate) struct Health {
    pub(crate) lists: u64,
    pub(crate) last_event: Option<Time>,
    /// The same on the monotonic clock, as its uptime.
    pub(crate) heard: Option<Duration>,
    pub(crate) failing: Option<Failing>,
    unserved: bool,
    panics: u64,
    deaths: Option<Deaths>,
    /// The error that was last logged, and when; forgotten once something arrives.
    logged: Option<(Time, Trouble)>,
    /// Broken objects and what is wrong with them.
    unreadable: BTreeMap<Key, String>,
}

/// Panics with little time between any two.
#[derive(Debug)]
struct Deaths {
    count: u32,
    last: Time,
    why: Failing,
}

/// An error of a round.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Trouble {
    /// Connection refused, or 429. Its text may change from try to try.
    Unreachable(String),
    /// The server does not serve the kind.
    Unserved(String),
    /// Anything else.
    Error(String),
}

// === impl Health ===

impl Health {
    /// A round failed. Whether that should be logged: once for each text, and for an unreachable
    /// server now and then.
    pub(crate) fn failed(&mut self, trouble: Trouble, now: Time) -> bool {
        let (Trouble::Unreachable(text) | Trouble::Unserved(text) | Trouble::Error(text)) =
            &trouble;
        self.unserved = matches!(trouble, Trouble::Unserved(_));
        let since = self.failing.as_ref().map_or(now, |failing| failing.since);
        self.failing = Some(Failing { since, error: text.clone() });
        let log = match (&self.logged, &trouble) {
            (Some((at, Trouble::Unreachable(_))), Trouble::Unreachable(_)) => {
                now.since(*at) >= UNREACHABLE_LOG_INTERVAL
            }
            (Some((_, logged)), trouble) => logged != trouble,
            (None, _) => true,
        };
        if log {
            self.logged = Some((now, trouble));
        }
        log
    }

    /// Something arrived. Whether that ends a trouble that was logged.
    pub(crate) fn arrived(&mut self, now: Time) -> bool {
        self.last_event = Some(now);
        self.failing = None;
        self.unserved = false;
        self.logged.take().is_some()
    }

    /// The task has panicked.
    pub(crate) fn died(&mut self, panic: &str, now: Time) {
        self.panics += 1;
        let error = format!("it panicked: {panic}");
        let before = self.deaths.take().filter(|deaths| now.since(deaths.last) < LIFE_MIN);
        let (count, since) = before.map_or((0, now), |deaths| (deaths.count, deaths.why.since));
        let why = Failing { since, error: error.clone() };
        self.deaths = Some(Deaths { count: count.saturating_add(1), last: now, why });
        self.failing.get_or_insert(Failing { since: now, error: String::new() }).error = error;
    }

    /// Whether the API server does not serve the kind.
    pub(crate) fn is_unserved(&self) -> bool {
        self.unserved
    }

    pub(crate) fn panics(&self) -> u64 {
        self.panics
    }

    /// Why it keeps dying, if it does.
    pub(crate) fn dying(&self, now: Time) -> Option<&Failing> {
        let deaths = self.deaths.as_ref()?;
        let keeps_dying = deaths.count >= DEATHS && now.since(deaths.last) < LIFE_MIN;
        keeps_dying.then_some(&deaths.why)
    }

    /// An object could not be read. Whether that should be logged.
    pub(crate) fn unreadable(&mut self, key: &Key, error: &str) -> bool {
        if self.unreadable.get(key).is_some_and(|known| known == error) {
            return false;
        }
        if self.unreadable.len() >= UNREADABLE_MAX {
            self.unreadable.clear();
        }
        self.unreadable.insert(key.clone(), error.to_owned());
        true
    }

    /// An object could be read, or is gone.
    pub(crate) fn readable(&mut self, key: &Key) {
        self.unreadable.remove(key);
    }

    /// Everything was listed: what is not `listed` is gone.
    pub(crate) fn forget_unless(&mut self, listed: impl Fn(&Key) -> bool) {
        self.unreadable.retain(|key, _| listed(key));
    }

    pub(crate) fn unreadable_count(&self) -> usize {
        self.unreadable.len()
    }
}
