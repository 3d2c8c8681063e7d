//! A value that tasks wait for.

#[cfg(test)]
mod tests;

use std::fmt;
use std::mem;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

/// A value whose latest state counts, and that tasks can wait for. Clones are the same value.
///
/// Tasks are woken in the order in which they began to wait, so that a seed replays a run. tokio's
/// `watch` channel wakes them in random order.
pub struct Latest<T>(Arc<Shared<T>>);

/// A task's view of a [`Latest`], which remembers what the task has seen.
pub struct Reader<T> {
    latest: Latest<T>,
    seen: u64,
}

struct Shared<T> {
    state: Mutex<State<T>>,
    changed: Notify,
}

struct State<T> {
    value: T,
    /// How often it was changed.
    changes: u64,
}

// === impl Latest ===

impl<T> Latest<T> {
    /// A value that no task waits for yet.
    pub fn new(value: T) -> Self {
        let state = Mutex::new(State { value, changes: 0 });
        Self(Arc::new(Shared { state, changed: Notify::new() }))
    }

    /// Replaces the value and wakes all waiting tasks, also if it is the same.
    pub fn set(&self, value: T) {
        let mut before = None;
        self.update(|now| {
            before = Some(mem::replace(now, value));
            true
        });
        // Only here, outside of the lock: dropping a value may run any code.
        drop(before);
    }

    /// Replaces the value and wakes all waiting tasks, unless it is the same. Returns whether it
    /// differed.
    pub fn set_if_changed(&self, value: T) -> bool
    where
        T: PartialEq,
    {
        let is_new = self.with(|now| *now != value);
        if is_new {
            self.set(value);
        }
        is_new
    }

    /// Changes the value, and wakes all waiting tasks if `change` returns true. `change` must not
    /// use this value in another way.
    pub fn update(&self, change: impl FnOnce(&mut T) -> bool) {
        let is_news = {
            let mut state = self.state();
            let is_news = change(&mut state.value);
            state.changes += u64::from(is_news);
            is_news
        };
        if is_news {
            self.0.changed.notify_waiters();
        }
    }

    /// Reads the value, which is locked meanwhile.
    pub fn with<R>(&self, look: impl FnOnce(&T) -> R) -> R {
        look(&self.state().value)
    }

    /// The present value.
    pub fn get(&self) -> T
    where
        T: Clone,
    {
        self.with(T::clone)
    }

    /// Waits until `find` returns something for the value, and returns that. It is called for the
    /// present value, then after each change; a value that is replaced at once may be skipped.
    pub async fn wait_for<R>(&self, mut find: impl FnMut(&T) -> Option<R>) -> R {
        loop {
            // Made before reading: it gets all changes from here on, polled or not.
            let changed = self.0.changed.notified();
            if let Some(found) = self.with(&mut find) {
                return found;
            }
            changed.await;
        }
    }

    /// A reader that has seen the present value.
    pub fn reader(&self) -> Reader<T> {
        Reader { seen: self.state().changes, latest: self.clone() }
    }

    /// Whether it has clones or readers.
    pub fn is_shared(&self) -> bool {
        Arc::strong_count(&self.0) > 1
    }

    fn state(&self) -> MutexGuard<'_, State<T>> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T> Clone for Latest<T> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<T: fmt::Debug> fmt::Debug for Latest<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.with(|value| f.debug_tuple("Latest").field(value).finish())
    }
}

// === impl Reader ===

impl<T> Reader<T> {
    /// Reads the value, which is locked meanwhile and counts as seen afterwards.
    pub fn look<R>(&mut self, look: impl FnOnce(&T) -> R) -> R {
        let state = self.latest.state();
        self.seen = state.changes;
        look(&state.value)
    }

    /// Waits for a value that was not seen yet, and marks it as seen.
    pub async fn changed(&mut self) {
        loop {
            let changed = self.latest.0.changed.notified();
            let changes = self.latest.state().changes;
            if changes != self.seen {
                self.seen = changes;
                return;
            }
            changed.await;
        }
    }
}
