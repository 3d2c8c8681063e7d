//! Reading the caches.

use std::any::{Any, TypeId};
use std::sync::Arc;

use api::{Key, Kind, Time};

/// The caches at one moment.
pub struct View<'a> {
    /// That moment, on the wall clock.
    pub now: Time,
    /// How often in a row the key that is looked at has failed before; 0 for handlers.
    pub failures: u32,
    caches: &'a dyn Caches,
}

/// The caches of all kinds that the process watches.
pub trait Caches: Send + Sync {
    /// The `Arc<dyn Lister<T>>` of the kind `T` with this type id.
    fn lister(&self, kind: TypeId) -> Option<&dyn Any>;
}

/// Reads the cache of one kind. All lists come sorted by key. Objects are shared, never changed.
pub trait Lister<T>: Send + Sync {
    /// The object with this key.
    fn get(&self, key: &Key) -> Option<Arc<T>>;

    /// The objects that an index of the kind (`T::INDEXES`, by name) finds under `value`.
    fn by(&self, index: &str, value: &str) -> Vec<Arc<T>>;

    /// All objects.
    fn all(&self) -> Vec<Arc<T>>;
}

impl<'a> View<'a> {
    /// The caches as they are, at the moment `now`.
    pub fn new(now: Time, caches: &'a dyn Caches) -> Self {
        Self { now, failures: 0, caches }
    }

    /// The same, for a key that has failed so often in a row.
    #[must_use]
    pub fn after(self, failures: u32) -> Self {
        Self { failures, ..self }
    }

    /// The cache of kind `T`, which must be one of the controller's watches.
    pub fn of<T: Kind>(&self) -> &'a dyn Lister<T> {
        let lister = self.caches.lister(TypeId::of::<T>());
        let lister = lister.and_then(|any| any.downcast_ref::<Arc<dyn Lister<T>>>());
        &**lister.expect("a controller reads only the kinds in its watch table")
    }
}
