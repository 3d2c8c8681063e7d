//! One informer for each kind, shared by all controllers.

use std::any::TypeId;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use api::{AnyObject, Kind, Resource, Shape};
use client::Client;
use controller::{Cache, Caches};
use discovery::Discovery;
use runtime::{Latest, Runtime};

use crate::everything::{Everything, Parts};
use crate::health::Status;
use crate::informer::{Informer, Rewound};
use crate::metrics::Metrics;
use crate::selection::Selection;
use crate::store::Store;

/// Makes informers, at most one for each view.
///
/// First every part of the program asks for the informers it needs and adds its handlers, then all
/// start together. The types see to the first half of that: to ask takes `&mut self`. When it goes,
/// nobody is told of changes any more.
pub struct SharedInformerFactory {
    client: Client,
    /// For the informers of kinds that discovery names.
    metadata_client: Client,
    runtime: Runtime,
    metrics: Option<Metrics>,
    /// Whether informers may ask for streaming lists.
    streams: bool,
    /// How often handlers hear of all objects.
    resync: Option<Duration>,
    /// Set by the first informer that finds that the API server has gone back.
    rewound: Latest<Option<Rewound>>,
    informers: BTreeMap<TypeId, Arc<Informer>>,
    everything: Option<Arc<Everything>>,
}

/// Caches of some kinds: what one controller may read, or fixed objects in tests.
#[derive(Default)]
pub struct Listers {
    caches: BTreeMap<TypeId, Arc<dyn Cache>>,
    everything: Option<Arc<Everything>>,
}

// === impl SharedInformerFactory ===

impl SharedInformerFactory {
    /// A factory whose informers share `client`, and so its rate limit.
    pub fn new(client: Client, runtime: Runtime) -> Self {
        Self {
            metadata_client: client.clone(),
            client,
            runtime,
            metrics: None,
            streams: true,
            resync: None,
            rewound: Latest::new(None),
            informers: BTreeMap::new(),
            everything: None,
        }
    }

    /// This factory, with a client of its own for [`Everything`], as upstream's
    /// `metadata-informers`: a thousand kinds that are listed at once then make no other kind wait.
    pub fn with_metadata_client(mut self, metadata_client: Client) -> Self {
        self.metadata_client = metadata_client;
        self
    }

    /// The client that lists metadata for [`Everything`]: as the user that may list all kinds.
    pub fn metadata_client(&self) -> &Client {
        &self.metadata_client
    }

    /// This factory, its informers telling their handlers of all objects each time one to two
    /// times `period_min` have passed: a net below lost wake-ups, as upstream's
    /// `--min-resync-period`. Zero: never.
    pub fn with_resync(mut self, period_min: Duration) -> Self {
        let period = self.runtime.random.jitter(period_min, 1.0);
        self.resync = Some(period).filter(|period| !period.is_zero());
        self
    }

    /// This factory, its informers counting in `metrics`.
    pub fn with_metrics(mut self, metrics: Metrics) -> Self {
        self.metrics = Some(metrics);
        self
    }

    /// This factory, its informers asking for streaming lists or not: upstream's gate
    /// `WatchListClient`. Without, each list comes in pages.
    pub fn with_streams(mut self, streams: bool) -> Self {
        self.streams = streams;
        self
    }

    /// The informer of kind `T`; it is made if it was not asked for before.
    pub fn informer<T: Kind>(&mut self) -> Arc<Informer> {
        self.share(TypeId::of::<T>(), Selection::of::<T>(), Shape::of::<T>())
    }

    fn share(&mut self, view: TypeId, selection: Selection, shape: Shape) -> Arc<Informer> {
        if let Some(informer) = self.informers.get(&view) {
            return Arc::clone(informer);
        }
        let informer = Informer::of(selection, shape, self.client.clone(), self.runtime.clone());
        let informer = informer.with_streams(self.streams).with_metrics(self.metrics.as_ref());
        let informer = Arc::new(informer.with_rewound(self.rewound.clone()));
        self.informers.insert(view, Arc::clone(&informer));
        informer
    }

    /// The informers of all kinds that the API server serves; they are made if they were not asked
    /// for before, and then counted in the metrics.
    pub fn everything(&mut self) -> Arc<Everything> {
        if let Some(everything) = &self.everything {
            return Arc::clone(everything);
        }
        let sync_errors = self.metrics.as_ref().and_then(|metrics| {
            let family = metrics.sync_errors();
            family.inspect_err(|error| tracing::error!(%error, "cannot count sync errors")).ok()
        });
        let client = self.metadata_client.clone();
        let source = Box::new(Discovery::new(client.clone()));
        let runtime = self.runtime.clone();
        let (streams, metrics) = (self.streams, self.metrics.clone());
        let parts = Parts { source, client, runtime, sync_errors, streams, metrics };
        let everything = Arc::new(Everything::new(parts));
        self.everything = Some(Arc::clone(&everything));
        everything
    }

    /// Starts all informers. Must be called on a tokio runtime.
    pub fn start(&self) {
        let all: Vec<_> = self.all().into_iter().map(Arc::clone).collect();
        for informer in &all {
            informer.start();
        }
        if let Some(everything) = &self.everything {
            everything.start(all.iter().map(Arc::clone));
        }
        if let Some(period) = self.resync {
            runtime::spawn("resync", resync(all, period, self.runtime.clone()));
        }
    }

    /// Lets all informers list anew: as [`Informer::renew`].
    pub fn renew(&self) {
        self.all().into_iter().for_each(|informer| informer.renew());
        if let Some(everything) = &self.everything {
            everything.renew();
        }
    }

    /// Waits until it is certain that the API server has gone back to an older state, which caches
    /// cannot follow. Of kinds that [`Everything`] alone watches that is not said: their storage
    /// may be that of another API server, and they are listed as if they were new.
    pub async fn rewound(&self) -> Rewound {
        self.rewound.wait_for(Clone::clone).await
    }

    /// An error that names the informers whose tasks panic again and again, if there are any.
    pub fn alive(&self) -> Result<(), String> {
        let status = self.status();
        let dying = status.iter().filter_map(|status| Some((status, status.dying.as_ref()?)));
        let named: Vec<_> =
            dying.map(|(status, why)| format!("{}: {}", status.selection, why.error)).collect();
        if named.is_empty() { Ok(()) } else { Err(named.join("; ")) }
    }

    /// How the informers fare, sorted by what they watch.
    pub fn status(&self) -> Vec<Status> {
        let mut all: Vec<_> = self.all().into_iter().map(|informer| informer.status()).collect();
        all.extend(self.everything.iter().flat_map(|everything| everything.status()));
        // Stable: of two of the same objects, one may be of their metadata alone.
        all.sort_by(|a, b| a.selection.cmp(&b.selection));
        all
    }

    /// All informers, sorted by what they watch: the order of type ids is the compiler's.
    fn all(&self) -> Vec<&Arc<Informer>> {
        let mut all: Vec<_> = self.informers.values().collect();
        all.sort_by(|a, b| a.selection().cmp(b.selection()));
        all
    }
}

/// Who hears of changes holds informers, which hold who hears of them.
impl Drop for SharedInformerFactory {
    fn drop(&mut self) {
        self.all().into_iter().for_each(|informer| informer.forget());
        if let Some(everything) = &self.everything {
            everything.forget();
        }
    }
}

async fn resync(informers: Vec<Arc<Informer>>, period: Duration, runtime: Runtime) {
    let for_ever = async {
        loop {
            runtime.clock.sleep(period).await;
            for informer in &informers {
                informer.tell_all().await;
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
    pub fn add<T: Kind>(&mut self, cache: Arc<dyn Cache>) {
        self.caches.insert(TypeId::of::<T>(), cache);
    }

    /// Adds the caches of all kinds that are only known at run time.
    pub fn add_everything(&mut self, everything: Arc<Everything>) {
        self.everything = Some(everything);
    }

    /// These caches, with `objects` as all objects of kind `T`.
    #[must_use]
    pub fn with<T: Kind>(mut self, objects: impl IntoIterator<Item = T>) -> Self {
        let object = |it: T| (it.meta().key.clone(), Arc::new(it) as Arc<dyn AnyObject>);
        let mut store = Store::new(Shape::of::<T>());
        store.replace(objects.into_iter().map(object).collect(), 0);
        self.add::<T>(Arc::new(store));
        self
    }
}

impl Caches for Listers {
    fn cache(&self, kind: TypeId) -> Option<&dyn Cache> {
        self.caches.get(&kind).map(|cache| &**cache)
    }

    fn metadata(&self, resource: &Resource) -> Option<Arc<dyn Cache>> {
        self.everything.as_ref()?.cache_of(resource)
    }
}
