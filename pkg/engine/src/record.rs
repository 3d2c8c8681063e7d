//! The history of an engine's syncs, for debug pages. Bounded, and never read by a decision.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use api::{Key, Time};
use controller::Plan;
use runtime::{Clock, Instant};

use crate::inspect::{Acted, Failure, InWork, Phase};
use crate::stall::{Loop, Suspicion};

/// The number of plans that are kept.
pub(crate) const PLANS_MAX: usize = 20;
/// The number of failing keys, and of given up keys, that are kept; of more the ones that failed
/// last.
pub(crate) const FAILING_MAX: usize = 100;
/// The number of keys being synced that are shown. Upstream's flags rarely ask for more workers.
pub(crate) const IN_WORK_MAX: usize = 100;
/// Longer texts are cut; the API server can quote whole objects in its errors.
pub(crate) const TEXT_BYTES_MAX: usize = 1000;

/// Written by workers, read by debug pages and health checks.
#[derive(Debug)]
pub(crate) struct Record {
    clock: Clock,
    state: Mutex<State>,
}

#[derive(Debug)]
pub(crate) struct State {
    pub(crate) phase: Phase,
    pub(crate) cannot_start: Option<String>,
    pub(crate) alive: usize,
    pub(crate) in_work: BTreeMap<Key, Work>,
    pub(crate) failing: BTreeMap<Key, Failure>,
    /// Keys that failed too often and are not retried until something changes.
    pub(crate) given_up: BTreeMap<Key, Failure>,
    pub(crate) last_error: Option<Failure>,
    /// Newest first.
    pub(crate) plans: VecDeque<Acted>,
    pub(crate) syncs: u64,
    pub(crate) failures: u64,
    pub(crate) panics: u64,
    pub(crate) suspicion: Suspicion,
}

/// A key being synced.
#[derive(Debug)]
pub(crate) struct Work {
    since: Time,
    /// The last sign of life. In the future while the rate limit delays a request.
    heard: Instant,
}

/// A key is being synced until this is dropped, also by a panic or because its task is stopped.
pub(crate) struct Working<'a> {
    record: &'a Record,
    key: &'a Key,
}

/// A worker runs until this is dropped.
pub(crate) struct Alive(Arc<Record>);

/// A controller was started; it has stopped when this is dropped.
pub(crate) struct Started<'a>(&'a Record);

// === impl Record ===

impl Record {
    pub(crate) fn new(clock: Clock) -> Self {
        let state = State {
            phase: Phase::NotStarted,
            cannot_start: None,
            alive: 0,
            in_work: BTreeMap::new(),
            failing: BTreeMap::new(),
            given_up: BTreeMap::new(),
            last_error: None,
            plans: VecDeque::new(),
            syncs: 0,
            failures: 0,
            panics: 0,
            suspicion: Suspicion::default(),
        };
        Self { clock, state: Mutex::new(state) }
    }

    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The controller could not be started.
    pub(crate) fn cannot_start(&self, why: &str) {
        self.state().cannot_start = Some(cut(why));
    }

    /// The controller waits for its caches.
    pub(crate) fn started(&self) -> Started<'_> {
        let mut state = self.state();
        state.phase = Phase::WaitingForCaches;
        state.cannot_start = None;
        Started(self)
    }

    /// Its workers run.
    pub(crate) fn running(&self) {
        self.state().phase = Phase::Running;
    }

    /// A worker starts.
    pub(crate) fn alive(self: &Arc<Self>) -> Alive {
        self.state().alive += 1;
        Alive(Arc::clone(self))
    }

    /// A sync begins.
    pub(crate) fn working<'a>(&'a self, key: &'a Key) -> Working<'a> {
        let work = Work { since: self.clock.now(), heard: self.clock.instant() };
        let mut state = self.state();
        state.syncs += 1;
        state.in_work.insert(key.clone(), work);
        Working { record: self, key }
    }

    /// A request for `key` makes progress now, or after `wait` at the latest.
    pub(crate) fn heard(&self, key: &Key, wait: Duration) {
        let heard = self.clock.instant() + wait;
        if let Some(work) = self.state().in_work.get_mut(key) {
            work.heard = work.heard.max(heard);
        }
    }

    /// A plan that writes was acted on.
    pub(crate) fn acted(&self, key: &Key, plan: &Plan, error: Option<&str>) {
        let acted = Acted {
            key: key.to_string(),
            why: cut(&plan.why),
            actions: plan.actions(),
            at: self.clock.now(),
            error: error.map(cut),
        };
        let mut state = self.state();
        state.plans.truncate(PLANS_MAX - 1);
        state.plans.push_front(acted);
    }

    /// A sync ended with a panic. Its failure is recorded too.
    pub(crate) fn panicked(&self) {
        self.state().panics += 1;
    }

    /// A sync failed, for the `failures`th time in a row.
    pub(crate) fn failed(&self, key: &Key, failures: u32, error: &str) {
        let at = self.clock.now();
        let mut state = self.state();
        state.given_up.remove(key);
        let since = state.failing.get(key).map_or(at, |failure| failure.since);
        let failure = Failure { key: key.to_string(), failures, error: cut(error), since, at };
        state.failures += 1;
        state.last_error = Some(failure.clone());
        remember(&mut state.failing, key, failure);
    }

    /// A sync failed, and the key is not retried until something changes.
    pub(crate) fn gave_up(&self, key: &Key, failures: u32, error: &str) {
        self.failed(key, failures, error);
        let mut state = self.state();
        if let Some(failure) = state.failing.remove(key) {
            remember(&mut state.given_up, key, failure);
        }
    }

    /// A sync succeeded, or its object was deleted.
    pub(crate) fn succeeded(&self, key: &Key) {
        let mut state = self.state();
        state.failing.remove(key);
        state.given_up.remove(key);
    }
}

// === impl State ===

impl State {
    /// The keys being synced, oldest first.
    pub(crate) fn in_work(&self) -> Vec<InWork> {
        let mut all: Vec<_> = self.in_work.iter().map(|(key, work)| (work.since, key)).collect();
        all.sort();
        let shown = all.into_iter().take(IN_WORK_MAX);
        shown.map(|(since, key)| InWork { key: key.to_string(), since }).collect()
    }

    /// The last failure of a key, unless it has succeeded since.
    pub(crate) fn last_error_of(&self, key: &Key) -> Option<Failure> {
        self.failing.get(key).or_else(|| self.given_up.get(key)).cloned()
    }

    /// The state of the loop of an engine with this many workers and this queue.
    pub(crate) fn watched(&self, workers: usize, backlog: workqueue::Backlog) -> Loop {
        let quietest = self.in_work.iter().min_by_key(|(_, work)| work.heard);
        let quietest = quietest.map(|(key, work)| (key.clone(), work.heard));
        Loop { workers, alive: self.alive, quietest, backlog }
    }
}

// === impl Working, Alive, Started ===

impl Drop for Working<'_> {
    fn drop(&mut self) {
        self.record.state().in_work.remove(self.key);
    }
}

impl Drop for Alive {
    fn drop(&mut self) {
        self.0.state().alive -= 1;
    }
}

impl Drop for Started<'_> {
    fn drop(&mut self) {
        self.0.state().phase = Phase::Stopped;
    }
}

/// Remembers a failure, and forgets the oldest if there are too many.
fn remember(failures: &mut BTreeMap<Key, Failure>, key: &Key, failure: Failure) {
    failures.insert(key.clone(), failure);
    if failures.len() > FAILING_MAX {
        let oldest = failures.iter().min_by_key(|(_, failure)| failure.at);
        let oldest = oldest.map(|(key, _)| key.clone());
        oldest.and_then(|key| failures.remove(&key));
    }
}

/// The text, or its beginning if it is long.
pub(crate) fn cut(text: &str) -> String {
    if text.len() <= TEXT_BYTES_MAX {
        return text.to_owned();
    }
    format!("{}…", &text[..text.floor_char_boundary(TEXT_BYTES_MAX)])
}
