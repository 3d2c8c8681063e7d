//! The queue that workers wait on.

use std::fmt;
use std::future::pending;
use std::ops::Deref;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use runtime::{Clock, Instant};
use tokio::sync::Notify;

use crate::limiter::Limiter;
use crate::metrics::{Probe, QueueMetrics};
use crate::queue::{Backlog, Core, Load, Priority, Taken, Whereabouts};

/// A queue of keys for several producers and workers. Clones are the same queue.
///
/// See [`Core`] for the order, and for why the queue needs no limit. Upstream:
/// `rate_limiting_queue.go` and what it wraps.
#[derive(Clone)]
pub struct Queue<K: Clone + Ord>(Arc<Shared<K>>);

/// A key that a worker has. No other worker gets it meanwhile. When this value is dropped, also by
/// a panic or because the worker's task is stopped, the worker is done with the key.
///
/// Upstream's workers must call `Done` themselves; here it cannot be forgotten.
pub struct Processing<K: Clone + Ord> {
    key: K,
    priority: Priority,
    queue: Arc<Shared<K>>,
}

/// The queue was not empty when the drain ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotDrained {
    /// Keys that no worker has taken.
    pub queued: usize,
    /// Keys that workers still have.
    pub processing: usize,
}

/// # No wake-up is lost
///
/// A worker prepares to wait on `wake` before it reads the state, and reads it under the lock. A
/// change that it has not seen comes after that, and so does the signal that follows the change.
/// [`Shared::with`] sends three signals:
///
/// 1. A key can be taken: one waiting worker is woken; if none waits, the signal is kept for the
///    next worker that would. It is sent after each change that *leaves* keys, a take included. So
///    as long as there are keys, a signal is kept or a woken worker is about to run. That worker
///    takes a key and passes the signal on if there are more; if the worker is stopped before that,
///    tokio passes it on.
/// 2. A delay ends earlier than all others: every worker is woken and sleeps again. So each waiting
///    worker sleeps no longer than until the next delay ends, and it does not matter which of them
///    gets another key first.
/// 3. The queue is shut down: every worker is woken, and takes the remaining keys or ends.
///
/// The last two reach each worker that has prepared, even if it does not wait yet. A spurious
/// signal costs one look at the state. The drain has a signal of its own, since its caller would
/// swallow one of the first kind.
struct Shared<K> {
    clock: Clock,
    state: Mutex<State<K>>,
    /// For workers.
    wake: Notify,
    /// For callers that wait for the drain.
    drained: Notify,
    metrics: Option<QueueMetrics>,
}

struct State<K> {
    core: Core<K>,
    limiter: Limiter<K>,
}

// === impl Queue ===

impl<K: Clone + Ord + Send + 'static> Queue<K> {
    /// An empty queue. Without `metrics` it has no metrics, as upstream's queues without a name.
    pub fn new(clock: Clock, limiter: Limiter<K>, metrics: Option<QueueMetrics>) -> Self {
        let shared = Arc::new(Shared {
            clock,
            state: Mutex::new(State { core: Core::default(), limiter }),
            wake: Notify::new(),
            drained: Notify::new(),
            metrics,
        });
        if let Some(metrics) = &shared.metrics {
            let queue: Weak<Shared<K>> = Arc::downgrade(&shared);
            metrics.watch(queue);
        }
        Self(shared)
    }
}

impl<K: Clone + Ord> Queue<K> {
    /// Waits for the next key. None: the queue is shut down and no key is left, and the worker
    /// should end (a key that another worker has may still be queued again; that worker then gets
    /// it).
    ///
    /// Waits without a limit, since there may be no work for days. Dropping the future loses
    /// nothing.
    pub async fn get(&self) -> Option<Processing<K>> {
        let queue = &*self.0;
        loop {
            let woken = queue.wake.notified();
            let wakeup = match queue.take() {
                Next::Key(Taken { key, priority, .. }) => {
                    return Some(Processing { key, priority, queue: Arc::clone(&self.0) });
                }
                Next::End => return None,
                Next::Wait(wakeup) => wakeup,
            };
            tokio::select! {
                biased;
                () = woken => {}
                () = sleep_until(&queue.clock, wakeup) => {}
            }
        }
    }

    /// Queues `key`. See [`Core::add`].
    pub fn add(&self, key: K) {
        self.add_with_priority(key, Priority::default());
    }

    /// Queues `key` with a priority. See [`Core::add`].
    pub fn add_with_priority(&self, key: K, priority: Priority) {
        self.0.with(|state, now| state.core.add(now, key, priority));
    }

    /// Adds `key` after `delay`. See [`Core::add_after`].
    pub fn add_after(&self, key: K, delay: Duration) {
        self.0.with(|state, now| self.0.retry(state, now, key, delay));
    }

    /// Counts a failure of `key` and adds it after the limiter's delay.
    pub fn add_rate_limited(&self, key: K) {
        self.0.with(|state, now| {
            let delay = state.limiter.delay(&key, now);
            self.0.retry(state, now, key, delay);
        });
    }

    /// Sets the failures of `key` to none. The caller must do so after each success, and when it
    /// gives up the key.
    pub fn forget(&self, key: &K) {
        self.0.with(|state, _| state.limiter.forget(key));
    }

    /// The object of `key`, which a worker has, was deleted: as [`forget`](Self::forget), and an
    /// earlier delay no longer adds the key. See [`Core::deleted`].
    pub fn deleted(&self, key: &K) {
        self.0.with(|state, now| {
            state.limiter.forget(key);
            state.core.deleted(now, key);
        });
    }

    /// The failures of `key` since it was last forgotten.
    pub fn num_requeues(&self, key: &K) -> u32 {
        self.0.with(|state, _| state.limiter.failures(key))
    }

    /// The number of keys that can be taken now.
    pub fn len(&self) -> usize {
        self.0.with(|state, now| {
            state.core.advance(now);
            state.core.len()
        })
    }

    /// Whether no key can be taken now.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The state of the queue.
    pub fn backlog(&self) -> Backlog {
        self.0.with(|state, now| {
            state.core.advance(now);
            state.core.backlog()
        })
    }

    /// Where `key` is.
    pub fn whereabouts(&self, key: &K) -> Whereabouts {
        self.0.with(|state, now| {
            state.core.advance(now);
            state.core.whereabouts(key)
        })
    }

    /// Whether adds are dropped.
    pub fn is_shutting_down(&self) -> bool {
        self.0.with(|state, _| state.core.is_shutting_down())
    }

    /// Drops adds from now on. Workers take what is queued and then get none. Ends all waits of
    /// [`shut_down_with_drain`](Self::shut_down_with_drain).
    pub fn shut_down(&self) {
        self.0.with(|state, now| state.core.shut_down(now));
    }

    /// Like [`shut_down`](Self::shut_down), and waits until all keys are taken and done, at most
    /// for `limit`. Workers must continue until they get none. An error if keys are left: the limit
    /// passed, or the queue was shut down without drain meanwhile.
    ///
    /// Upstream waits without limit, and only for the keys that workers have.
    pub async fn shut_down_with_drain(&self, limit: Duration) -> Result<(), NotDrained> {
        let queue = &*self.0;
        queue.with(|state, now| state.core.drain(now));
        // What is left tells both ends of the wait apart.
        let _ = queue.clock.timeout(limit, queue.drained()).await;
        queue.with(|State { core, .. }, _| {
            let left = NotDrained { queued: core.len(), processing: core.processing() };
            if core.is_idle() { Ok(()) } else { Err(left) }
        })
    }
}

// === impl Processing ===

impl<K: Clone + Ord> Processing<K> {
    /// The highest priority of the key's adds.
    pub fn priority(&self) -> Priority {
        self.priority
    }
}

impl<K: Clone + Ord> Deref for Processing<K> {
    type Target = K;

    fn deref(&self) -> &K {
        &self.key
    }
}

impl<K: Clone + Ord> Drop for Processing<K> {
    fn drop(&mut self) {
        let worked = self.queue.with(|state, now| state.core.done(now, &self.key));
        if let (Some(metrics), Some(worked)) = (&self.queue.metrics, worked) {
            metrics.worked.observe(worked.as_secs_f64());
        }
    }
}

// === impl NotDrained ===

impl fmt::Display for NotDrained {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} keys are queued and {} in work", self.queued, self.processing)
    }
}

impl std::error::Error for NotDrained {}

// === impl Shared ===

/// What a worker finds in the queue.
enum Next<K> {
    Key(Taken<K>),
    /// Nothing until this time, unless a key is added.
    Wait(Option<Instant>),
    /// Nothing any more.
    End,
}

impl<K: Clone + Ord> Shared<K> {
    /// Runs `change`, counts the adds in it and sends the signals that must follow it.
    fn with<R>(&self, change: impl FnOnce(&mut State<K>, Instant) -> R) -> R {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let (adds, wakeup, open) =
            (state.core.adds(), state.core.next_wakeup(), !state.core.is_shutting_down());
        // The time is read under the lock, so that it does not go back from change to change.
        let result = change(&mut state, self.clock.instant());
        let core = &state.core;
        let sooner = core.next_wakeup().is_some_and(|new| wakeup.is_none_or(|old| new < old));
        if sooner || (open && core.is_shutting_down()) {
            self.wake.notify_waiters();
        }
        if !core.is_empty() {
            self.wake.notify_one();
        }
        if core.is_shutting_down() && core.is_drained() {
            self.drained.notify_waiters();
        }
        if let Some(metrics) = &self.metrics {
            metrics.adds.inc_by(core.adds() - adds);
        }
        result
    }

    fn take(&self) -> Next<K> {
        let next = self.with(|State { core, .. }, now| match core.take(now) {
            Some(taken) => Next::Key(taken),
            None if core.is_shutting_down() => Next::End,
            None => Next::Wait(core.next_wakeup()),
        });
        if let (Some(metrics), Next::Key(taken)) = (&self.metrics, &next) {
            metrics.waited.observe(taken.waited.as_secs_f64());
        }
        next
    }

    fn retry(&self, state: &mut State<K>, now: Instant, key: K, delay: Duration) {
        if let (Some(metrics), false) = (&self.metrics, state.core.is_shutting_down()) {
            metrics.retries.inc();
        }
        state.core.add_after(now, key, Priority::default(), delay);
    }

    async fn drained(&self) {
        loop {
            let drained = self.drained.notified();
            if self.with(|state, _| state.core.is_drained()) {
                return;
            }
            drained.await;
        }
    }
}

impl<K: Clone + Ord + Send> Probe for Shared<K> {
    fn load(&self) -> Load {
        self.with(|state, now| {
            state.core.advance(now);
            state.core.load(now)
        })
    }
}

async fn sleep_until(clock: &Clock, at: Option<Instant>) {
    match at {
        Some(at) => clock.sleep_until(at).await,
        None => pending().await,
    }
}
