//! Reading the caches.

use std::any::TypeId;
use std::marker::PhantomData;
use std::sync::Arc;
use std::time::Duration;

use api::{AnyObject, Key, Kind, Object, Resource, Time, typed};

#[cfg(test)]
mod tests;

/// The caches at one moment.
pub struct View<'a> {
    /// The time, on the wall clock, which may be set.
    pub now: Time,
    /// The time, on a clock that cannot be set and never goes back: how long the process has run.
    pub uptime: Duration,
    /// How often in a row the key has failed before; 0 for handlers.
    pub failures: u32,
    caches: &'a dyn Caches,
}

/// The caches of all kinds that the process watches.
pub trait Caches: Send + Sync {
    /// The cache of the kind `T` with this type id.
    fn cache(&self, kind: TypeId) -> Option<&dyn Cache>;

    /// The cache of a kind that is only known at run time; none if it is not complete yet, if there
    /// is no such kind, or if the controller did not ask for everything.
    fn metadata(&self, resource: &Resource) -> Option<Arc<dyn Cache>>;
}

/// The cache of one kind, of any type. Objects come sorted by key, and are shared.
pub trait Cache: Send + Sync {
    /// The object with this key.
    fn get(&self, key: &Key) -> Option<Arc<dyn AnyObject>>;

    /// Shows the objects that an index of the kind (by its name) has under `value`, in pieces. The
    /// cache is locked meanwhile.
    fn by(&self, index: &str, value: &str, show: &mut Show<'_>);

    /// Shows all objects, in pieces. The cache is locked meanwhile.
    fn all(&self, show: &mut Show<'_>);

    /// Shows all objects in a namespace, in pieces. The cache is locked meanwhile.
    fn of_namespace(&self, namespace: &str, show: &mut Show<'_>);

    /// When the API server last sent something about the kind that the cache shows now, as
    /// [`View::uptime`]; none: never.
    fn heard(&self) -> Option<Duration>;

    /// Up to which version it holds what the API server has; 0: that is not known.
    fn version(&self) -> u64 {
        0
    }
}

/// Called with objects.
pub type Show<'a> = dyn FnMut(&[Arc<dyn AnyObject>]) + 'a;

/// Reads the cache of one kind. All lists come sorted by key. Objects are shared, never changed.
pub struct Lister<'a, T> {
    cache: &'a dyn Cache,
    kind: PhantomData<fn() -> T>,
}

/// Reads the metadata of the objects of a kind that is only known at run time. All lists come
/// sorted by key. Labels may be left out.
pub struct MetadataLister(Arc<dyn Cache>);

// === impl View ===

impl<'a> View<'a> {
    /// The caches as they are, at the moment that is `now` on the wall clock.
    pub fn new(now: Time, uptime: Duration, caches: &'a dyn Caches) -> Self {
        Self { now, uptime, failures: 0, caches }
    }

    /// The same, for a key that has failed so often in a row.
    #[must_use]
    pub fn after(self, failures: u32) -> Self {
        Self { failures, ..self }
    }

    /// The cache of kind `T`, which must be one of the controller's watches.
    pub fn of<T: Kind>(&self) -> Lister<'a, T> {
        Lister::new(self.cache::<T>())
    }

    /// The age of the last data of the API server about kind `T`: an event, a bookmark or a list.
    /// Bookmarks come each minute, so a much greater age means that the connection or the server is
    /// broken, and says nothing about the objects. None: there was no data yet.
    pub fn silence<T: Kind>(&self) -> Option<Duration> {
        self.cache::<T>().heard().map(|heard| self.uptime.saturating_sub(heard))
    }

    /// Whether the cache of kind `T` holds what the API server sent: false only of a kind that the
    /// watch table has as optional.
    pub fn is_listed<T: Kind>(&self) -> bool {
        self.silence::<T>().is_some()
    }

    /// The metadata of all objects of a kind, for a controller whose watch table asks for
    /// everything. If a kind is served in several versions, any of them works. None as long as the
    /// kind is not listed: unknown is not absent.
    pub fn metadata(&self, resource: &Resource) -> Option<MetadataLister> {
        self.caches.metadata(resource).map(MetadataLister)
    }

    fn cache<T: Kind>(&self) -> &'a dyn Cache {
        let cache = self.caches.cache(TypeId::of::<T>());
        cache.expect("a controller reads only the kinds in its watch table")
    }
}

// === impl Lister ===

impl<'a, T: Object> Lister<'a, T> {
    /// Reads this cache, which holds objects of type `T`.
    pub fn new(cache: &'a dyn Cache) -> Self {
        Self { cache, kind: PhantomData }
    }

    /// The object with this key.
    pub fn get(self, key: &Key) -> Option<Arc<T>> {
        self.cache.get(key).as_ref().map(typed)
    }

    /// The objects that an index of the kind (`T::INDEXES`, by name) finds under `value`.
    pub fn by(self, index: &str, value: &str) -> Vec<Arc<T>> {
        let mut found = Vec::new();
        self.cache.by(index, value, &mut |objects| found.extend(objects.iter().map(typed)));
        found
    }

    /// All objects.
    pub fn all(self) -> Vec<Arc<T>> {
        let mut found = Vec::new();
        self.cache.all(&mut |objects| found.extend(objects.iter().map(typed)));
        found
    }

    /// Up to which version of the kind the cache is complete; 0: that is not known.
    pub fn version(self) -> u64 {
        self.cache.version()
    }
}

// === impl MetadataLister ===

impl MetadataLister {
    /// The object with this key.
    pub fn get(&self, key: &Key) -> Option<Arc<dyn AnyObject>> {
        self.0.get(key)
    }

    /// Up to which version of the kind the cache is complete; 0: that is not known.
    pub fn version(&self) -> u64 {
        self.0.version()
    }

    /// All objects.
    pub fn all(&self) -> Vec<Arc<dyn AnyObject>> {
        let mut found = Vec::new();
        self.0.all(&mut |objects| found.extend_from_slice(objects));
        found
    }

    /// All objects in a namespace.
    pub fn of_namespace(&self, namespace: &str) -> Vec<Arc<dyn AnyObject>> {
        let mut found = Vec::new();
        self.0.of_namespace(namespace, &mut |objects| found.extend_from_slice(objects));
        found
    }

    /// How many objects there are in a namespace.
    pub fn count(&self, namespace: &str) -> usize {
        let mut count = 0;
        self.0.of_namespace(namespace, &mut |objects| count += objects.len());
        count
    }
}

impl<T> Clone for Lister<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Lister<'_, T> {}
