//! Owners and what they manage: what an owner selects, and which keys a managed object enqueues.
//! From the event handlers that upstream's workload controllers have in common.

use std::sync::Arc;

use api::{
    DaemonSet, DecodeError, Deployment, Job, Key, Kind, Meta, ReplicaSet, ReplicationController,
    Selector, SelectorError, StatefulSet,
};

use crate::{Change, Enqueue, View, Why};

/// A kind whose objects manage the objects that their selector matches.
pub trait Owner: Kind {
    /// Its index of all objects of a namespace.
    const BY_NAMESPACE: &'static str;

    /// The selector of its objects; or why the owner must be skipped.
    fn usable_selector(&self) -> Result<&Selector, Refusal<'_>>;
}

/// Why an owner is skipped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal<'a> {
    /// It cannot be decoded.
    Unreadable(&'a DecodeError),
    /// Its selector is not valid.
    Invalid(&'a SelectorError),
    /// Its selector is empty and would match everything. The API server does not admit that.
    SelectsAll,
}

/// Enqueues the managers of a changed object: its controller, or all owners that may adopt it if it
/// has none, and the former controller if that changed. A resync enqueues no key.
pub fn enqueue_managers<T: Owner>(
    change: &Change<impl Kind>,
    view: &View<'_>,
    queue: &mut Enqueue,
) {
    match change {
        Change::Added(it) if it.meta().controller().is_none() && !it.meta().is_terminating() => {
            enqueue_selecting::<T>(it.meta(), view, queue);
        }
        Change::Added(it) | Change::Deleted(it) => enqueue_owner::<T>(it.meta(), view, queue),
        Change::Updated { .. } if change.is_resync() => {}
        Change::Updated { old, new } => {
            let (old, new) = (old.meta(), new.meta());
            let changed_hands = old.controller() != new.controller();
            if changed_hands {
                enqueue_owner::<T>(old, view, queue);
            }
            if new.controller().is_some() {
                enqueue_owner::<T>(new, view, queue);
            } else if changed_hands || old.labels != new.labels {
                enqueue_selecting::<T>(new, view, queue);
            }
        }
    }
}

/// Enqueues the `T` that manages an object, if there is one.
pub fn enqueue_owner<T: Kind>(meta: &Meta, view: &View<'_>, queue: &mut Enqueue) {
    if let Some(owner) = owner_of::<T>(meta, view) {
        queue.add(&owner.meta().key);
    }
}

/// The `T` that manages an object, by name and uid.
pub fn owner_of<T: Kind>(meta: &Meta, view: &View<'_>) -> Option<Arc<T>> {
    let uid = &meta.controller()?.uid;
    view.of::<T>().get(&owner_key::<T>(meta)?).filter(|owner| owner.meta().uid == *uid)
}

/// The key of the `T` that manages an object; another object may have that key by now. As upstream
/// only the kind is compared, not the group.
pub fn owner_key<T: Kind>(meta: &Meta) -> Option<Key> {
    let owner = meta.controller().filter(|owner| *owner.kind == *T::RESOURCE.kind)?;
    Some(Key { namespace: meta.key.namespace.clone(), name: owner.name.clone() })
}

/// Enqueues the owners that may adopt an orphan. As `GetPodReplicaSets` and similar functions.
pub fn enqueue_selecting<T: Owner>(orphan: &Meta, view: &View<'_>, queue: &mut Enqueue) {
    if orphan.labels.is_empty() {
        return;
    }
    for owner in view.of::<T>().by(T::BY_NAMESPACE, &orphan.key.namespace) {
        if owner.usable_selector().is_ok_and(|selector| selector.matches(&orphan.labels)) {
            queue.add(&owner.meta().key);
        }
    }
}

fn usable<'a>(
    unreadable: Option<&'a DecodeError>,
    selector: &'a Result<Selector, SelectorError>,
) -> Result<&'a Selector, Refusal<'a>> {
    match (unreadable, selector) {
        (Some(error), _) => Err(Refusal::Unreadable(error)),
        (None, Err(error)) => Err(Refusal::Invalid(error)),
        (None, Ok(selector)) if selector.is_empty() => Err(Refusal::SelectsAll),
        (None, Ok(selector)) => Ok(selector),
    }
}

// === impl Owner ===

impl Owner for DaemonSet {
    const BY_NAMESPACE: &'static str = Self::BY_NAMESPACE;

    fn usable_selector(&self) -> Result<&Selector, Refusal<'_>> {
        usable(self.unreadable.as_ref(), &self.selector)
    }
}

impl Owner for Deployment {
    const BY_NAMESPACE: &'static str = Self::BY_NAMESPACE;

    fn usable_selector(&self) -> Result<&Selector, Refusal<'_>> {
        usable(self.unreadable.as_ref(), &self.selector)
    }
}

impl Owner for Job {
    const BY_NAMESPACE: &'static str = Self::BY_NAMESPACE;

    fn usable_selector(&self) -> Result<&Selector, Refusal<'_>> {
        usable(self.unreadable.as_ref(), &self.selector)
    }
}

impl Owner for ReplicaSet {
    const BY_NAMESPACE: &'static str = Self::BY_NAMESPACE;

    fn usable_selector(&self) -> Result<&Selector, Refusal<'_>> {
        usable(self.unreadable.as_ref(), &self.selector)
    }
}

impl Owner for ReplicationController {
    const BY_NAMESPACE: &'static str = Self::BY_NAMESPACE;

    fn usable_selector(&self) -> Result<&Selector, Refusal<'_>> {
        self.0.usable_selector()
    }
}

impl Owner for StatefulSet {
    const BY_NAMESPACE: &'static str = Self::BY_NAMESPACE;

    fn usable_selector(&self) -> Result<&Selector, Refusal<'_>> {
        usable(self.unreadable.as_ref(), &self.selector)
    }
}

// === impl Refusal ===

impl Refusal<'_> {
    /// As text; `noun` names the kind of the owner.
    pub fn why(self, noun: &str) -> Why {
        match self {
            Self::Unreadable(error) => format!("the {noun} cannot be read: {error}").into(),
            Self::Invalid(error) => format!("the selector is invalid: {error}").into(),
            Self::SelectsAll => "the selector is empty".into(),
        }
    }
}
