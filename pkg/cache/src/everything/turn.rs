//! How one version of a kind takes the place of another: handlers never miss an object in between.

use std::future::pending;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use runtime::{Cancel, Clock, Latest};

use super::Kinds;
use super::kind::{Gate, Kind};
use crate::informer::{Follower, Informer};

/// How long a version that is listed waits until it knows all that was told of the one before. Both
/// count alike if they are stored in one place, and then it takes no longer than a bookmark, a
/// minute; versions of two API servers may never compare.
const CATCH_UP_MAX: Duration = Duration::from_mins(5);

/// A version of a kind that waits for its turn.
pub(super) struct Turn {
    pub(super) new: Arc<Informer>,
    /// Of the version that handlers hear of, until this one's turn comes.
    pub(super) old: Arc<Informer>,
    pub(super) old_gate: Arc<Gate>,
    /// Whether that version's own turn is over.
    pub(super) old_alone: Latest<bool>,
    pub(super) kinds: Arc<Kinds>,
    pub(super) clock: Clock,
    /// Ends the new version.
    pub(super) cancel: Cancel,
    /// Whether handlers are to be told of objects.
    pub(super) listening: Latest<bool>,
}

impl Turn {
    /// Starts the new version and waits until it knows all that handlers have heard of the old one.
    /// From then on the new one leads, and handlers hear of the old one no more; the caller tells
    /// them what the new one holds, then ends the old one.
    pub(super) async fn comes(&self) -> Kind {
        Arc::clone(&self.new).start();
        self.new.watch_synced().wait_for(|synced| synced.then_some(())).await;
        // What the turn before drops may be the version that comes now: that is said first.
        self.old_alone.wait_for(|alone| alone.then_some(())).await;
        let progress = self.progress().await;
        let end = self.clock.instant() + CATCH_UP_MAX;
        loop {
            let is_there = |version: &u64| (*version >= self.old.version()).then_some(());
            let left = end.saturating_duration_since(self.clock.instant());
            let is_late = self.clock.timeout(left, progress.wait_for(is_there)).await.is_err();
            // Once more where nothing is told meanwhile: the old one may just have told of a change
            // that the new one does not know.
            let is_behind = || !is_late && self.new.version() < self.old.version();
            let mut is_ended = false;
            let took = self.old_gate.shut_if(|| {
                let old = if is_behind() { None } else { Some(self.take()) };
                is_ended = matches!(old, Some(None));
                old.flatten()
            });
            match took {
                Some(old) => return old,
                // The new one was ended, which ends this too; the old one leads on.
                None if is_ended => pending().await,
                None => {}
            }
        }
    }

    /// Shows how far the new version has come.
    async fn progress(&self) -> Latest<u64> {
        let progress = Latest::new(0);
        let to = progress.clone();
        let follower = Follower {
            cancel: self.cancel.child_token(),
            changed: Box::new(|_| {}),
            reached: Box::new(move |version| to.set(version)),
        };
        self.new.follow(follower).await;
        progress
    }

    /// Lets the new version lead, and takes the old one out; none if the new one was ended.
    fn take(&self) -> Option<Kind> {
        let mut kinds = self.kinds.write().unwrap_or_else(PoisonError::into_inner);
        if self.cancel.is_cancelled() {
            return None;
        }
        kinds.get_mut(self.new.resource())?.leads = true;
        kinds.remove(self.old.resource())
    }
}
