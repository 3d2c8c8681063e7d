//! What a controller knows that no cache shows.

use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use api::Key;

use crate::{Answer, Controller, Outcome, Query};

/// What reaches a controller besides the changes of its caches.
pub enum News<'a, C: Controller> {
    /// A live read was answered that began after this snapshot was taken, and was asked for by a
    /// plan for it. The plan itself finds the answer in its facts.
    Answered {
        /// What was looked at.
        snapshot: &'a C::Snapshot,
        /// What was asked.
        query: &'a Query,
        /// What came of it.
        answer: &'a Answer,
    },
    /// A plan was acted on, as far as it came.
    Acted {
        /// What was looked at.
        snapshot: &'a C::Snapshot,
        /// What was decided.
        verdict: &'a C::Verdict,
        /// How it went.
        outcome: &'a Outcome,
    },
    /// The object of this key is gone: what is remembered of it should go.
    Gone(&'a Key),
}

/// A memory that several tasks use, and several engines of one controller: many at once to read it,
/// one to change it. Nobody waits for anything else while they have it. A panic of somebody who
/// changes it leaves it as it is then.
#[derive(Debug, Default)]
pub struct Shared<M>(RwLock<M>);

impl<M> Shared<M> {
    /// To look.
    pub fn read(&self) -> RwLockReadGuard<'_, M> {
        self.0.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// To change it.
    pub fn write(&self) -> RwLockWriteGuard<'_, M> {
        self.0.write().unwrap_or_else(PoisonError::into_inner)
    }
}
