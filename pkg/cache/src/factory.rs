//! One informer for each kind, shared by all controllers.

use std::any::{Any, TypeId};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use api::{Key, Kind, Resource};
use client::Client;
use controller::{Caches, Lister};
use runtime::Runtime;

use crate::health::Status;
use crate::informer::{AnyHandler, AnyInformer, Informer, VersionHook};
use crate::store::Store;

/// Makes informers, at most one for each kind, and finds them again, by type or by resource.
///
/// First every part of the program asks for the informers it needs and adds its handlers, then all
/// start together. The types see to the first half of that: to ask takes `&mut self`.
pub struct SharedInformerFactory {
    client: Client,
    runtime: Runtime,
    informers: BTreeMap<TypeId, Entry>,
    /// Of two kinds with the same resource the one that was asked for first.
    by_resource: BTreeMap<Resource, Arc<dyn AnyInformer>>,
}

struct Entry {
    erased: Arc<dyn AnyInformer>,
    /// An `Arc<Informer<T>>`.
    typed: Box<dyn Any + Send + Sync>,
    /// An `Arc<dyn Lister<T>>`.
    lister: Box<dyn Any + Send + Sync>,
}

/// Caches that did not sync in time.
#[derive(Clone, Debug, thiserror::Error, PartialEq, Eq)]
#[error("the caches of {} did not sync in time", .0.join(", "))]
pub struct NotSynced(pub Vec<String>);

/// Caches of some kinds: what one controller may read, or fixed objects in tests.
#[derive(Default)]
pub struct Listers {
    /// An `Arc<dyn Lister<T>>` each.
    listers: BTreeMap<TypeId, Box<dyn Any + Send + Sync>>,
}

// === impl SharedInformerFactory ===

impl SharedInformerFactory {
    /// A factory whose informers share `client`, and so its rate limit.
    pub fn new(client: Client, runtime: Runtime) -> Self {
        Self { client, runtime, informers: BTreeMap::new(), by_resource: BTreeMap::new() }
    }

    /// The informer of kind `T`; it is made if it was not asked for before.
    pub fn informer<T: Kind>(&mut self) -> Arc<Informer<T>> {
        let kind = TypeId::of::<T>();
        let known = self.informers.get(&kind).and_then(|entry| entry.typed.downcast_ref());
        if let Some(informer) = known {
            return Arc::clone(informer);
        }
        let informer = Arc::new(Informer::<T>::new(self.client.clone(), self.runtime.clone()));
        let erased: Arc<dyn AnyInformer> = Arc::clone(&informer) as _;
        self.by_resource.entry(T::RESOURCE).or_insert_with(|| Arc::clone(&erased));
        let typed = Box::new(Arc::clone(&informer));
        self.informers.insert(kind, Entry { erased, typed, lister: Box::new(informer.lister()) });
        informer
    }

    /// Starts all informers. Must be called on a tokio runtime.
    pub fn start(&self) {
        for informer in self.all() {
            Arc::clone(informer).start();
        }
    }

    /// Waits until all caches hold their first list, at most for `limit`.
    pub async fn wait_synced(&self, limit: Duration) -> Result<(), NotSynced> {
        let all = async {
            for informer in self.all() {
                // An error says that the informer is gone, which cannot be: we hold it.
                let _ = informer.watch_synced().wait_for(|synced| *synced).await;
            }
        };
        if self.runtime.clock.timeout(limit, all).await.is_ok() {
            return Ok(());
        }
        let late = self.all().into_iter().filter(|informer| !*informer.watch_synced().borrow());
        Err(NotSynced(late.map(|informer| informer.resource().to_string()).collect()))
    }

    /// Calls `handler` with each `&Change<T>` of the kind with this type id. Whether there is an
    /// informer of it. As [`Informer::add_handler`].
    pub fn subscribe(&self, kind: TypeId, handler: AnyHandler) -> bool {
        let informer = self.informers.get(&kind);
        informer.map(|entry| entry.erased.subscribe(handler)).is_some()
    }

    /// Calls `hook` each time the cache of the kind with this type id has advanced. Whether there
    /// is an informer of it.
    pub fn on_version(&self, kind: TypeId, hook: VersionHook) -> bool {
        let informer = self.informers.get(&kind);
        informer.map(|entry| entry.erased.on_version(hook)).is_some()
    }

    /// The version of the cache of the kind with this type id.
    pub fn version(&self, kind: TypeId) -> Option<u64> {
        self.informers.get(&kind).map(|entry| entry.erased.version())
    }

    /// The version of the cache of `resource`; none if it is not cached.
    pub fn version_of(&self, resource: &Resource) -> Option<u64> {
        self.by_resource.get(resource).map(|informer| informer.version())
    }

    /// Whether the cache of `resource` holds the object with this key and uid, and it is not being
    /// deleted.
    pub fn holds(&self, resource: &Resource, key: &Key, uid: &str) -> bool {
        self.by_resource.get(resource).is_some_and(|informer| informer.holds(key, uid))
    }

    /// How the informers fare, sorted by resource.
    pub fn status(&self) -> Vec<Status> {
        self.all().into_iter().map(|informer| informer.status()).collect()
    }

    /// All informers, sorted by resource: the order of type ids is the compiler's.
    fn all(&self) -> Vec<&Arc<dyn AnyInformer>> {
        let mut all: Vec<_> = self.informers.values().map(|entry| &entry.erased).collect();
        all.sort_by(|a, b| a.resource().cmp(b.resource()));
        all
    }
}

impl Caches for SharedInformerFactory {
    fn lister(&self, kind: TypeId) -> Option<&dyn Any> {
        self.informers.get(&kind).map(|entry| &*entry.lister as &dyn Any)
    }
}

// === impl Listers ===

impl Listers {
    /// Adds the cache of kind `T`.
    pub fn add<T: Kind>(&mut self, lister: Arc<dyn Lister<T>>) {
        self.listers.insert(TypeId::of::<T>(), Box::new(lister));
    }

    /// These caches, with `objects` as all objects of kind `T`.
    #[must_use]
    pub fn with<T: Kind>(mut self, objects: impl IntoIterator<Item = T>) -> Self {
        let objects = objects.into_iter().map(|o| (o.meta().key.clone(), Arc::new(o))).collect();
        let mut store = Store::<T>::default();
        store.replace(objects, 0);
        self.add::<T>(Arc::new(store));
        self
    }
}

impl Caches for Listers {
    fn lister(&self, kind: TypeId) -> Option<&dyn Any> {
        self.listers.get(&kind).map(|lister| &**lister as &dyn Any)
    }
}
