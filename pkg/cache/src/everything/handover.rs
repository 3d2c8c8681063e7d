//! How one version of a kind replaces another: handlers never miss an object in between.

use std::future::pending;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use runtime::{Cancel, Clock, Latest};

use super::Kinds;
use super::kind::{Gate, Kind};
use crate::informer::{Follower, Informer};

/// How long a listed version waits until it has caught up with the version before. If both come
/// from the same storage, their versions compare, and a bookmark, within a minute, is enough;
/// versions of two API servers may never compare.
const CATCH_UP_MAX: Duration = Duration::from_mins(5);

/// The handover of a kind from one version to another.
pub(super) struct Handover {
    pub(super) new: Arc<Informer>,
    /// The version that leads until the handover is done.
    pub(super) old: Arc<Informer>,
    pub(super) old_gate: Arc<Gate>,
    /// Whether the handover to the old version is done.
    pub(super) old_alone: Latest<bool>,
    pub(super) kinds: Arc<Kinds>,
    pub(super) clock: Clock,
    /// Stops the new version.
    pub(super) cancel: Cancel,
    /// Whether handlers are notified of objects.
    pub(super) listening: Latest<bool>,
}

impl Handover {
    /// Starts the new version and waits until it has caught up with the old one. From then on the
    /// new one leads, and handlers are no longer notified of the old one. The caller notifies them
    /// of what the new one holds, then stops the old one.
    pub(super) async fn caught_up(&self) -> Kind {
        Arc::clone(&self.new).start();
        self.new.watch_synced().wait_for(|synced| synced.then_some(())).await;
        // The version that the handover before drops may be the new version: handlers must be
        // notified of that first.
        self.old_alone.wait_for(|alone| alone.then_some(())).await;
        let progress = self.progress().await;
        let end = self.clock.instant() + CATCH_UP_MAX;
        loop {
            let is_there = |version: &u64| (*version >= self.old.version()).then_some(());
            let left = end.saturating_duration_since(self.clock.instant());
            let is_late = self.clock.timeout(left, progress.wait_for(is_there)).await.is_err();
            // Checked again while the gate blocks notifications: the old version may just have
            // shown a change that the new one lacks.
            let is_behind = || !is_late && self.new.version() < self.old.version();
            let mut is_ended = false;
            let took = self.old_gate.shut_if(|| {
                let old = if is_behind() { None } else { Some(self.take()) };
                is_ended = matches!(old, Some(None));
                old.flatten()
            });
            match took {
                Some(old) => return old,
                // The new version was stopped, which cancels this task too; the old one keeps
                // leading.
                None if is_ended => pending().await,
                None => {}
            }
        }
    }

    /// Shows the resource version of the new version.
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

    /// Makes the new version lead, and removes the old one; none if the new one was stopped.
    fn take(&self) -> Option<Kind> {
        let mut kinds = self.kinds.write().unwrap_or_else(PoisonError::into_inner);
        if self.cancel.is_cancelled() {
            return None;
        }
        kinds.get_mut(self.new.resource())?.leads = true;
        kinds.remove(self.old.resource())
    }
}
