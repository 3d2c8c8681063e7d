//! One of the kinds that are watched, from its start to its end.

use std::sync::{Arc, Mutex, PoisonError};

use api::Resource;
use controller::MetadataChange;
use runtime::{Cancel, Instant, Latest, spawn};

use super::turn::Turn;
use super::{Hooks, is_definition};
use crate::informer::{Follower, Informer};

/// A kind that is watched, in one of its versions.
pub(super) struct Kind {
    pub(super) informer: Arc<Informer>,
    /// Whether the informer is there for others too, and stays when this ends.
    pub(super) is_shared: bool,
    /// Whether handlers hear of it; not yet while they hear of another version, see [`Turn`].
    pub(super) leads: bool,
    /// When the first of the answers came that all lack it.
    pub(super) lacked: Option<Instant>,
    pub(super) gate: Arc<Gate>,
    /// Ends what runs for this kind.
    pub(super) cancel: Cancel,
    /// Whether the handlers have heard of all objects, or never will.
    told: Latest<bool>,
    /// Whether they have heard that the version before is dropped, if there was one.
    alone: Latest<bool>,
}

/// Lets changes through to the handlers until it is shut. Since it is held meanwhile, nothing comes
/// after what is told last.
#[derive(Default)]
pub(super) struct Gate {
    is_shut: Mutex<bool>,
}

// === impl Kind ===

impl Kind {
    pub(super) fn new(informer: Arc<Informer>, is_shared: bool, cancel: Cancel) -> Self {
        let (gate, told, alone) = (Arc::default(), Latest::new(false), Latest::new(true));
        Self { informer, is_shared, leads: true, lacked: None, gate, cancel, told, alone }
    }

    /// Starts the informer, and a task that tells `hooks` of what it holds once somebody is
    /// `listening`, and sees to it that they also hear of all changes.
    pub(super) fn start(&self, hooks: &Arc<Hooks>, listening: &Latest<bool>) {
        let (follower, cancel) = (self.follower(hooks), self.cancel.clone());
        let (informer, told) = (Arc::clone(&self.informer), self.told.clone());
        let (gate, hooks, listening) =
            (Arc::clone(&self.gate), Arc::clone(hooks), listening.clone());
        let definitions = self.of_definitions(&hooks);
        let tell = async move {
            if let Some(definitions) = definitions {
                informer.follow(definitions).await;
            }
            if !listening.get() {
                Arc::clone(&informer).start();
                listening.wait_for(|listening| listening.then_some(())).await;
            }
            informer.follow(follower).await;
            Arc::clone(&informer).start();
            informer.watch_synced().wait_for(|synced| synced.then_some(())).await;
            gate.pass(|| hooks.changed(informer.resource(), &MetadataChange::Complete));
            told.set(true);
        };
        spawn("kind", async move {
            tokio::select! {
                biased;
                () = cancel.cancelled() => {}
                () = tell => {}
            }
        });
    }

    /// As [`Kind::start`], once its turn has come; last the handlers hear that the version before
    /// is dropped. Where nobody listens yet, it is dropped first: none of it was told.
    pub(super) fn start_after(&self, turn: Turn, hooks: &Arc<Hooks>) {
        let (follower, cancel) = (self.follower(hooks), self.cancel.clone());
        let alone = self.alone.clone();
        alone.set(false);
        let (gate, hooks, told) = (Arc::clone(&self.gate), Arc::clone(hooks), self.told.clone());
        let definitions = self.of_definitions(&hooks);
        spawn("kind", async move {
            let comes = async {
                if let Some(definitions) = definitions {
                    turn.new.follow(definitions).await;
                }
                turn.comes().await
            };
            let mut before = tokio::select! {
                biased;
                () = cancel.cancelled() => return,
                before = comes => Some(before),
            };
            if !turn.listening.get() {
                if let Some(before) = before.take() {
                    before.stop(turn.old.resource(), &hooks);
                }
                alone.set(true);
                tokio::select! {
                    biased;
                    () = cancel.cancelled() => return,
                    () = turn.listening.wait_for(|listening| listening.then_some(())) => {}
                }
            }
            // From here to the end, also if this version ends meanwhile: nobody else says that the
            // one before is gone.
            turn.new.follow(follower).await;
            gate.pass(|| hooks.changed(turn.new.resource(), &MetadataChange::Complete));
            if let Some(before) = before {
                before.stop(turn.old.resource(), &hooks);
            }
            alone.set(true);
            told.set(true);
        });
    }

    /// Ends it, and says so last to those who have heard of it. A shared informer goes on.
    pub(super) fn stop(self, resource: &Resource, hooks: &Hooks) {
        self.cancel.cancel();
        if self.leads {
            self.gate.shut(|| hooks.changed(resource, &MetadataChange::Dropped));
        }
        self.told.set(true);
    }

    pub(super) fn resource(&self) -> &Resource {
        self.informer.resource()
    }

    /// Whether the handlers have heard of all objects.
    pub(super) fn is_told(&self) -> bool {
        self.told.get()
    }

    /// Whether all objects were listed; the handlers may not have heard of them.
    pub(super) fn is_listed(&self) -> bool {
        self.is_told() || self.informer.watch_synced().get()
    }

    /// Shows true once [`Kind::is_told`], or once this has ended.
    pub(super) fn told(&self) -> Latest<bool> {
        self.told.clone()
    }

    /// Shows true once the handlers have heard that the version before is dropped.
    pub(super) fn alone(&self) -> Latest<bool> {
        self.alone.clone()
    }

    /// If these are objects that say what the API server serves: hears of them also while nobody
    /// listens, or the caches of a standby would lack new kinds.
    fn of_definitions(&self, hooks: &Arc<Hooks>) -> Option<Follower> {
        let hooks = Arc::clone(hooks);
        is_definition(self.informer.resource()).then(|| Follower {
            cancel: self.cancel.clone(),
            changed: Box::new(move |change| {
                hooks.note_definition(change);
                hooks.defined.notify_one();
            }),
            reached: Box::new(|_| {}),
        })
    }

    pub(super) fn follower(&self, hooks: &Arc<Hooks>) -> Follower {
        let resource = self.informer.resource().clone();
        let (gate, to) = (Arc::clone(&self.gate), Arc::clone(hooks));
        let (version_gate, version_to) = (Arc::clone(&gate), Arc::clone(&to));
        let of = resource.clone();
        Follower {
            cancel: self.cancel.clone(),
            changed: Box::new(move |change| gate.pass(|| to.changed(&resource, change))),
            reached: Box::new(move |version| {
                version_gate.pass(|| version_to.reached(&of, version));
            }),
        }
    }
}

// === impl Gate ===

impl Gate {
    fn pass(&self, tell: impl FnOnce()) {
        let is_shut = self.is_shut.lock().unwrap_or_else(PoisonError::into_inner);
        if !*is_shut {
            tell();
        }
    }

    /// Shuts it if `take` gives something. Nothing is told meanwhile.
    pub(super) fn shut_if<T>(&self, take: impl FnOnce() -> Option<T>) -> Option<T> {
        let mut is_shut = self.is_shut.lock().unwrap_or_else(PoisonError::into_inner);
        let taken = take();
        *is_shut = *is_shut || taken.is_some();
        taken
    }

    fn shut(&self, tell_last: impl FnOnce()) {
        let mut is_shut = self.is_shut.lock().unwrap_or_else(PoisonError::into_inner);
        *is_shut = true;
        tell_last();
    }
}
