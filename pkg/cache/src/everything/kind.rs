//! A watched kind, from its start to its stop.

use std::sync::{Arc, Mutex, PoisonError};

use api::Resource;
use controller::MetadataChange;
use runtime::{Cancel, Instant, Latest, spawn};

use super::handover::Handover;
use super::{Hooks, is_definition};
use crate::informer::{Follower, Informer};

/// A watched kind, in one of its versions.
pub(super) struct Kind {
    pub(super) informer: Arc<Informer>,
    /// Whether the informer is shared, and outlives this.
    pub(super) is_shared: bool,
    /// Whether handlers are notified of this version; not yet while another version leads, see
    /// [`Handover`].
    pub(super) leads: bool,
    /// When discovery first lacked the kind, if it has lacked it since.
    pub(super) lacked: Option<Instant>,
    pub(super) gate: Arc<Gate>,
    /// Stops the tasks of this kind.
    pub(super) cancel: Cancel,
    /// Whether the handlers are notified of all objects, or never will be.
    notified: Latest<bool>,
    /// Whether the handlers are notified that the version before is dropped, if there was one.
    alone: Latest<bool>,
}

/// Lets changes through to the handlers until it is shut. The lock is held meanwhile, so nothing
/// follows the last notification.
#[derive(Default)]
pub(super) struct Gate {
    is_shut: Mutex<bool>,
}

// === impl Kind ===

impl Kind {
    pub(super) fn new(informer: Arc<Informer>, is_shared: bool, cancel: Cancel) -> Self {
        let (gate, notified, alone) = (Arc::default(), Latest::new(false), Latest::new(true));
        Self { informer, is_shared, leads: true, lacked: None, gate, cancel, notified, alone }
    }

    /// Starts the informer, and a task that waits for `listening`, then notifies `hooks` of the
    /// cached objects and of all later changes.
    pub(super) fn start(&self, hooks: &Arc<Hooks>, listening: &Latest<bool>) {
        let (follower, cancel) = (self.follower(hooks), self.cancel.clone());
        let (informer, notified) = (Arc::clone(&self.informer), self.notified.clone());
        let (gate, hooks, listening) =
            (Arc::clone(&self.gate), Arc::clone(hooks), listening.clone());
        let definitions = self.of_definitions(&hooks);
        let notify = async move {
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
            notified.set(true);
        };
        spawn("kind", async move {
            tokio::select! {
                biased;
                () = cancel.cancelled() => {}
                () = notify => {}
            }
        });
    }

    /// As [`Kind::start`], once this version leads; last, handlers are notified that the version
    /// before is dropped. Before `listening`, it is dropped first: no handler knows any of it.
    pub(super) fn start_after(&self, handover: Handover, hooks: &Arc<Hooks>) {
        let (follower, cancel) = (self.follower(hooks), self.cancel.clone());
        let alone = self.alone.clone();
        alone.set(false);
        let (gate, hooks, notified) =
            (Arc::clone(&self.gate), Arc::clone(hooks), self.notified.clone());
        let definitions = self.of_definitions(&hooks);
        spawn("kind", async move {
            let caught_up = async {
                if let Some(definitions) = definitions {
                    handover.new.follow(definitions).await;
                }
                handover.caught_up().await
            };
            let mut before = tokio::select! {
                biased;
                () = cancel.cancelled() => return,
                before = caught_up => Some(before),
            };
            if !handover.listening.get() {
                if let Some(before) = before.take() {
                    before.stop(handover.old.resource(), &hooks);
                }
                alone.set(true);
                tokio::select! {
                    biased;
                    () = cancel.cancelled() => return,
                    () = handover.listening.wait_for(|listening| listening.then_some(())) => {}
                }
            }
            // From here on to the end, even if this version stops meanwhile: nothing else notifies
            // the handlers that the version before is dropped.
            handover.new.follow(follower).await;
            gate.pass(|| hooks.changed(handover.new.resource(), &MetadataChange::Complete));
            if let Some(before) = before {
                before.stop(handover.old.resource(), &hooks);
            }
            alone.set(true);
            notified.set(true);
        });
    }

    /// Stops the kind, and notifies the handlers if they know of it. A shared informer continues.
    pub(super) fn stop(self, resource: &Resource, hooks: &Hooks) {
        self.cancel.cancel();
        if self.leads {
            self.gate.shut(|| hooks.changed(resource, &MetadataChange::Dropped));
        }
        self.notified.set(true);
    }

    pub(super) fn resource(&self) -> &Resource {
        self.informer.resource()
    }

    /// Whether the handlers are notified of all objects.
    pub(super) fn is_notified(&self) -> bool {
        self.notified.get()
    }

    /// Whether all objects are listed; the handlers may not be notified of them yet.
    pub(super) fn is_listed(&self) -> bool {
        self.is_notified() || self.informer.watch_synced().get()
    }

    /// Shows true once [`Kind::is_notified`], or once the kind is stopped.
    pub(super) fn notified(&self) -> Latest<bool> {
        self.notified.clone()
    }

    /// Shows true once the handlers are notified that the version before is dropped.
    pub(super) fn alone(&self) -> Latest<bool> {
        self.alone.clone()
    }

    /// A follower if these objects define what the API server serves. It also runs before
    /// `listening`: otherwise the caches of a standby would lack new kinds.
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
    fn pass(&self, notify: impl FnOnce()) {
        let is_shut = self.is_shut.lock().unwrap_or_else(PoisonError::into_inner);
        if !*is_shut {
            notify();
        }
    }

    /// Shuts the gate if `take` returns something. No handler is notified meanwhile.
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
