//! From a changed object to the keys that must be looked at again.

use std::sync::Arc;
use std::time::Duration;

use api::{AnyObject, Key, Kind, Meta, Object, Resource, Served, Text, typed};

use crate::{Controller, Count, Shared, View};

/// Takes the rows of a controller's watch table: the kinds that it reads, and what their changes
/// queue.
pub trait Watches<C: Controller> {
    /// Kind `T` is read, and `handler` called for each of its changes. Handlers are pure and run
    /// while the informer waits, so they do little.
    fn row<T: Kind>(&mut self, handler: Handler<C, T>);

    /// The same for a kind that the API server may not serve. The controller starts also without
    /// it: see [`View::is_listed`].
    fn optional<T: Kind>(&mut self, handler: Handler<C, T>);

    /// The metadata of all objects is read, whatever their kind: of every kind that the API server
    /// serves and that can be listed, watched and deleted, as they come and go.
    fn everything(&mut self, handlers: Everything<C>);

    /// A row whose changes enqueue keys.
    fn on<T: Kind>(&mut self, enqueues: fn(&C, &Change<T>, &View<'_>, &mut Enqueue)) {
        self.row(Handler::Enqueues(enqueues));
    }

    /// A row whose changes are remembered, and may enqueue keys.
    fn remembers<T: Kind>(&mut self, keeps: Keeps<C, T>) {
        self.row(Handler::Remembers(keeps));
    }

    /// Kind `T` is read, and its changes enqueue no key.
    fn reads<T: Kind>(&mut self) {
        self.on::<T>(|_, _, _, _| {});
    }
}

/// What a change does.
pub enum Handler<C: Controller, T> {
    /// It enqueues keys.
    Enqueues(fn(&C, &Change<T>, &View<'_>, &mut Enqueue)),
    /// It is also remembered.
    Remembers(Keeps<C, T>),
}

/// Remembers a change, and returns the keys that it enqueues.
pub type Keeps<C, T> = fn(&C, &mut <C as Controller>::Memory, &Change<T>, &View<'_>, &mut Enqueue);

/// The handlers of a controller that reads the metadata of everything.
pub struct Everything<C: Controller> {
    /// The API server serves other kinds than before, or the first answer is there.
    pub served: fn(&C, &mut C::Memory, &Arc<Served>, &mut Enqueue),
    /// An object of this kind changed; or the kind is no longer watched.
    pub changed: ChangedAny<C>,
}

/// As [`Keeps`], of an object of any kind.
pub type ChangedAny<C> =
    fn(&C, &mut <C as Controller>::Memory, &Resource, &MetadataChange<'_>, &View<'_>, &mut Enqueue);

/// How far the deletion of an object has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Deletion {
    /// It is marked as terminating.
    Marked,
    /// It no longer exists.
    Removed,
}

/// A change of an object of which the metadata is looked at.
#[derive(Clone, Copy, Debug)]
pub enum MetadataChange<'a> {
    /// It is new to the cache.
    Added(&'a Meta),
    /// It has another version than before; or the same one, in a resync.
    Updated {
        /// As it was.
        old: &'a Meta,
        /// As it is.
        new: &'a Meta,
    },
    /// It was deleted; its last known version.
    Deleted(&'a Meta),
    /// The controller was notified of all existing objects of the kind; once after its watch began.
    Complete,
    /// The whole kind is no longer watched, so what is known of its objects may be out of date.
    Dropped,
}

/// A change of an object in the cache. An object that was replaced by another one of the same name
/// (and another uid) comes as a deletion and an addition. Caches themselves notify of `Change<dyn
/// AnyObject>`.
#[derive(Clone, Debug)]
pub enum Change<T: ?Sized> {
    /// It is new to the cache.
    Added(Arc<T>),
    /// It has another version than before; or the same one, in a resync.
    Updated {
        /// As it was.
        old: Arc<T>,
        /// As it is.
        new: Arc<T>,
    },
    /// It was deleted; its last known version.
    Deleted(Arc<T>),
}

/// What a handler asks of the workqueue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Call {
    /// Look at the key soon.
    Now(Key),
    /// Look at the key after a delay.
    After(Key, Duration),
    /// The object of the key was deleted: drop its expectations, then sync it once.
    Forget(Key),
}

/// Collects what handlers ask for, in order.
#[derive(Debug, Default)]
pub struct Enqueue {
    /// The calls, in order.
    pub calls: Vec<Call>,
    /// What is counted of the event.
    pub counts: Vec<Count>,
}

// === impl Handler ===

impl<C: Controller, T: Kind> Handler<C, T> {
    /// Notifies it of a change.
    pub fn hears(
        &self,
        (controller, memory): (&C, &Shared<C::Memory>),
        change: &Change<T>,
        view: &View<'_>,
        queue: &mut Enqueue,
    ) {
        match self {
            Self::Enqueues(enqueues) => enqueues(controller, change, view, queue),
            Self::Remembers(keeps) => keeps(controller, &mut memory.write(), change, view, queue),
        }
    }
}

// === impl Change ===

impl Change<dyn AnyObject> {
    /// The same with the type of the objects.
    pub fn typed<T: Object>(&self) -> Change<T> {
        match self {
            Self::Added(it) => Change::Added(typed(it)),
            Self::Updated { old, new } => Change::Updated { old: typed(old), new: typed(new) },
            Self::Deleted(it) => Change::Deleted(typed(it)),
        }
    }
}

impl<T: AnyObject + ?Sized> Change<T> {
    /// As [`MetadataChange::gone`].
    pub fn gone(&self) -> Option<(Deletion, &Text)> {
        self.metadata().gone()
    }

    /// The same, of the metadata.
    pub fn metadata(&self) -> MetadataChange<'_> {
        match self {
            Self::Added(it) => MetadataChange::Added(it.metadata()),
            Self::Updated { old, new } => {
                MetadataChange::Updated { old: old.metadata(), new: new.metadata() }
            }
            Self::Deleted(it) => MetadataChange::Deleted(it.metadata()),
        }
    }

    /// Whether nothing changed, and this is only a resync.
    pub fn is_resync(&self) -> bool {
        match self {
            Self::Updated { old, new } => {
                old.metadata().resource_version == new.metadata().resource_version
            }
            Self::Added(_) | Self::Deleted(_) => false,
        }
    }
}

impl<T: ?Sized> Change<T> {
    /// The object as it is now, or was last.
    pub fn object(&self) -> &Arc<T> {
        match self {
            Self::Added(object) | Self::Updated { new: object, .. } | Self::Deleted(object) => {
                object
            }
        }
    }
}

// === impl MetadataChange ===

impl<'a> MetadataChange<'a> {
    /// How far the deletion of the object has come, and its uid; none if it is not being deleted.
    pub fn gone(&self) -> Option<(Deletion, &'a Text)> {
        match self {
            Self::Added(meta) | Self::Updated { new: meta, .. } => {
                meta.is_terminating().then_some((Deletion::Marked, &meta.uid))
            }
            Self::Deleted(meta) => Some((Deletion::Removed, &meta.uid)),
            Self::Complete | Self::Dropped => None,
        }
    }
}

// === impl Enqueue ===

impl Enqueue {
    /// Look at the key soon.
    pub fn add(&mut self, key: &Key) {
        self.calls.push(Call::Now(key.clone()));
    }

    /// Look at the key after `delay`.
    pub fn add_after(&mut self, key: &Key, delay: Duration) {
        self.calls.push(Call::After(key.clone(), delay));
    }

    /// Add this to a family of the controller.
    pub fn count(&mut self, count: Count) {
        self.counts.push(count);
    }

    /// Enqueues the object that changed; if it was deleted, drops its expectations first.
    pub fn own(&mut self, change: &Change<impl Object>) {
        match change {
            Change::Added(it) | Change::Updated { new: it, .. } => self.add(&it.meta().key),
            Change::Deleted(it) => self.forget(&it.meta().key),
        }
    }

    /// Expect nothing more of the key, then look at it.
    pub fn forget(&mut self, key: &Key) {
        self.calls.push(Call::Forget(key.clone()));
    }
}
