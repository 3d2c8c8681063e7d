//! One informer for each kind, shared by all controllers.

use std::any::{Any, TypeId};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use api::Kind;
use client::Client;
use controller::{Caches, Lister};
use runtime::Runtime;

use crate::health::Status;
use crate::informer::{AnyInformer, Informer};
use crate::metrics::Metrics;
use crate::store::Store;

/// Makes informers, at most one for each kind.
///
/// First every part of the program asks for the informers it needs and adds its handlers, then all
/// start together. The types see to the first half of that: to ask takes `&mut self`.
pub struct SharedInformerFactory {
    client: Client,
    runtime: Runtime,
    metrics: Option<Metrics>,
    /// How often handlers hear of everything.
    resync: Option<Duration>,
    informers: BTreeMap<TypeId, Entry>,
}

struct Entry {
    erased: Arc<dyn AnyInformer>,
    /// An `Arc<Informer<T>>`.
    typed: Box<dyn Any + Send + Sync>,
}

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
        Self { client, runtime, metrics: None, resync: None, informers: BTreeMap::new() }
    }

    /// This factory, its informers telling their handlers of all objects each time one to two
    /// times `period_min` have passed: a net below lost wake-ups, as upstream's
    /// `--min-resync-period`. Zero: never.
    pub fn with_resync(self, period_min: Duration) -> Self {
        let period = self.runtime.random.jitter(period_min, 1.0);
        Self { resync: Some(period).filter(|period| !period.is_zero()), ..self }
    }

    /// This factory, its informers counting in `metrics`.
    pub fn with_metrics(self, metrics: Metrics) -> Self {
        Self { metrics: Some(metrics), ..self }
    }

    /// The informer of kind `T`; it is made if it was not asked for before.
    pub fn informer<T: Kind>(&mut self) -> Arc<Informer<T>> {
        let kind = TypeId::of::<T>();
        let known = self.informers.get(&kind).and_then(|entry| entry.typed.downcast_ref());
        if let Some(informer) = known {
            return Arc::clone(informer);
        }
        let informer = Informer::<T>::new(self.client.clone(), self.runtime.clone());
        let informer = Arc::new(informer.with_metrics(self.metrics.as_ref()));
        let erased: Arc<dyn AnyInformer> = Arc::clone(&informer) as _;
        self.informers.insert(kind, Entry { erased, typed: Box::new(Arc::clone(&informer)) });
        informer
    }

    /// Starts all informers. Must be called on a tokio runtime.
    pub fn start(&self) {
        let all: Vec<_> = self.all().into_iter().map(Arc::clone).collect();
        for informer in &all {
            Arc::clone(informer).start();
        }
        if let Some(period) = self.resync {
            runtime::spawn("resync", resync(all, period, self.runtime.clone()));
        }
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

async fn resync(informers: Vec<Arc<dyn AnyInformer>>, period: Duration, runtime: Runtime) {
    let for_ever = async {
        loop {
            runtime.clock.sleep(period).await;
            for informer in &informers {
                informer.resync().await;
            }
        }
    };
    tokio::select! {
        biased;
        () = runtime.cancel.cancelled() => {}
        () = for_ever => {}
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
