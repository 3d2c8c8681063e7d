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
use crate::health::InformerStatus;
use crate::informer::{Informer, Rewound};
use crate::metrics::Metrics;
use crate::selection::Selection;
use crate::store::Store;

/// Makes informers, at most one for each view.
///
/// First every part of the program asks for its informers and adds its handlers, then all informers
/// start together. The types enforce the first half: asking takes `&mut self`. After the drop no
/// handler is notified any more.
pub struct SharedInformerFactory {
    client: Client,
    /// For the informers of kinds that discovery lists.
    metadata_client: Client,
    runtime: Runtime,
    metrics: Option<Metrics>,
    /// Whether informers may ask for streaming lists.
    streams: bool,
    /// How often handlers are notified of all objects.
    resync: Option<Duration>,
    /// Set by the first informer that finds that the API server was restored to an older state.
    rewound: Latest<Option<Rewound>>,
    informers: BTreeMap<TypeId, Arc<Informer>>,
    everything: Option<Arc<Everything>>,
}

/// Caches of some kinds: those that one controller may read, or fixed objects in tests.
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

    /// This factory, with a separate client for [`Everything`], as upstream's `metadata-informers`:
    /// listing a thousand kinds at once then delays no other kind.
    pub fn with_metadata_client(mut self, metadata_client: Client) -> Self {
        self.metadata_client = metadata_client;
        self
    }

    /// The client that lists metadata for [`Everything`], as a user that may list all kinds.
    pub fn metadata_client(&self) -> &Client {
        &self.metadata_client
    }

    /// This factory, with informers that notify their handlers of all objects after each one to two
    /// times `period_min`: a safeguard against lost changes, as upstream's `--min-resync-period`.
    /// Zero: never.
    pub fn with_resync(mut self, period_min: Duration) -> Self {
        let period = self.runtime.random.jitter(period_min, 1.0);
        self.resync = Some(period).filter(|period| !period.is_zero());
        self
    }

    /// This factory, with informers that count in `metrics`.
    pub fn with_metrics(mut self, metrics: Metrics) -> Self {
        self.metrics = Some(metrics);
        self
    }

    /// This factory, with informers that ask for streaming lists or not: upstream's gate
    /// `WatchListClient`. Without streams, each list comes in pages.
    pub fn with_streams(mut self, streams: bool) -> Self {
        self.streams = streams;
        self
    }

    /// The informer of kind `T`, made at the first call.
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

    /// The informers of all kinds that the API server serves, made at the first call, and counted
    /// in the metrics from then on.
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

    /// Makes all informers list again: as [`Informer::renew`].
    pub fn renew(&self) {
        self.all().into_iter().for_each(|informer| informer.renew());
        if let Some(everything) = &self.everything {
            everything.renew();
        }
    }

    /// Waits until it is certain that the API server was restored to an older state, which caches
    /// cannot follow. Kinds that only [`Everything`] watches do not count: their storage may be
    /// that of another API server, and they are listed as if they were new.
    pub async fn rewound(&self) -> Rewound {
        self.rewound.wait_for(Clone::clone).await
    }

    /// An error that names the informers whose tasks keep panicking, if there are any.
    pub fn alive(&self) -> Result<(), String> {
        let status = self.status();
        let dying = status.iter().filter_map(|status| Some((status, status.dying.as_ref()?)));
        let named: Vec<_> =
            dying.map(|(status, why)| format!("{}: {}", status.selection, why.error)).collect();
        if named.is_empty() { Ok(()) } else { Err(named.join("; ")) }
    }

    /// The state of the informers, sorted by what they watch.
    pub fn status(&self) -> Vec<InformerStatus> {
        let mut all: Vec<_> = self.all().into_iter().map(|informer| informer.status()).collect();
        all.extend(self.everything.iter().flat_map(|everything| everything.status()));
        // The sort is stable: two informers may have the same selection, one of them for metadata
        // alone.
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

/// Handlers hold informers, and informers hold handlers.
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
                informer.notify_all().await;
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
