//! State of a controller that no cache holds.

use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use api::Key;

use crate::{Answer, Controller, Outcome, Query};

/// Notifications for a controller besides the changes of its caches.
pub enum News<'a, C: Controller> {
    /// The answer to a live read that a plan for this snapshot asked for, and that began after the
    /// snapshot was taken. The plan itself finds the answer in its facts.
    Answered {
        /// The snapshot.
        snapshot: &'a C::Snapshot,
        /// The query.
        query: &'a Query,
        /// The answer.
        answer: &'a Answer,
    },
    /// A plan was acted on, up to its first failure.
    Acted {
        /// The snapshot.
        snapshot: &'a C::Snapshot,
        /// The verdict.
        verdict: &'a C::Verdict,
        /// The outcome.
        outcome: &'a Outcome,
    },
    /// The object of this key was deleted: forget what is remembered of it.
    Gone(&'a Key),
}

/// A memory that several tasks use, and several engines of one controller: many readers at once, or
/// one writer. Holders of the lock must not wait for anything else. A panic of a writer leaves the
/// memory as it is at that moment.
#[derive(Debug, Default)]
pub struct Shared<M>(RwLock<M>);

impl<M> Shared<M> {
    /// For reading.
    pub fn read(&self) -> RwLockReadGuard<'_, M> {
        self.0.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// For writing.
    pub fn write(&self) -> RwLockWriteGuard<'_, M> {
        self.0.write().unwrap_or_else(PoisonError::into_inner)
    }
}
