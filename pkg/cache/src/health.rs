//! The state of an informer, and which of its failures are logged.

use std::collections::BTreeMap;
use std::time::Duration;

use api::{Key, Time};

use crate::selection::Selection;

/// The time between two log lines for an unreachable server.
const UNREACHABLE_LOG_INTERVAL: Duration = Duration::from_secs(30);
/// A task that panics this often, with less than [`LIFE_MIN`] in between, keeps dying.
const DEATHS: u32 = 3;
/// A long enough life of a task: longer than the back-off between two lives, and a pause.
const LIFE_MIN: Duration = Duration::from_mins(3);
/// The number of unreadable objects that are remembered, so that each is logged once.
const UNREADABLE_MAX: usize = 1024;

/// The state of an informer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InformerStatus {
    /// What it watches.
    pub selection: Selection,
    /// Whether the first list is in the cache and the handlers are notified of it.
    pub synced: bool,
    /// The number of objects held.
    pub objects: usize,
    /// How many of them are held by their metadata alone because they cannot be decoded; at most
    /// 1024 are counted.
    pub unreadable: usize,
    /// The resource version up to which the cache is complete.
    pub version: u64,
    /// How often everything was listed again after the first time.
    pub relists: u64,
    /// When the last event or bookmark came.
    pub last_event: Option<Time>,
    /// Set while it fails.
    pub failing: Option<Failing>,
    /// Whether it fails because the API server does not serve the kind.
    pub unserved: bool,
    /// How often its task has panicked.
    pub panics: u64,
    /// Set while its task keeps panicking: since when, and the last panic.
    pub dying: Option<Failing>,
}

/// Why an informer stalls.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failing {
    /// When the first of the errors came.
    pub since: Time,
    /// The last error.
    pub error: String,
}

/// The facts behind a [`InformerStatus`].
#[derive(Debug, Default)]
pub(crate) struct Health {
    pub(crate) lists: u64,
    pub(crate) last_event: Option<Time>,
    /// The same on the monotonic clock, as the uptime.
    pub(crate) heard: Option<Duration>,
    pub(crate) failing: Option<Failing>,
    unserved: bool,
    panics: u64,
    deaths: Option<Deaths>,
    /// The error that was logged last, and when; cleared once data arrives.
    logged: Option<(Time, Trouble)>,
    /// Unreadable objects and their errors.
    unreadable: BTreeMap<Key, String>,
}

/// Panics with little time between each two.
#[derive(Debug)]
struct Deaths {
    count: u32,
    last: Time,
    why: Failing,
}

/// Why a round failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Trouble {
    /// Connection refused, or 429. The text may differ each time.
    Unreachable(String),
    /// The server does not serve the kind.
    Unserved(String),
    /// Anything else.
    Error(String),
}

// === impl Health ===

impl Health {
    /// Notes a failed round. Returns whether to log it: once for each text, and for an unreachable
    /// server from time to time.
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

    /// Notes that data arrived. Returns whether that ends a failure that was logged.
    pub(crate) fn arrived(&mut self, now: Time) -> bool {
        self.last_event = Some(now);
        self.failing = None;
        self.unserved = false;
        self.logged.take().is_some()
    }

    /// The task has panicked.
    pub(crate) fn died(&mut self, panic: &str, now: Time) {
        self.panics += 1;
        let error = format!("the informer panicked: {panic}");
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

    /// Notes an object that cannot be decoded. Returns whether to log it.
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

    /// Notes that an object can be decoded, or was deleted.
    pub(crate) fn readable(&mut self, key: &Key) {
        self.unreadable.remove(key);
    }

    /// Notes a complete list: objects that are not `listed` were deleted.
    pub(crate) fn forget_unless(&mut self, listed: impl Fn(&Key) -> bool) {
        self.unreadable.retain(|key, _| listed(key));
    }

    pub(crate) fn unreadable_count(&self) -> usize {
        self.unreadable.len()
    }
}
