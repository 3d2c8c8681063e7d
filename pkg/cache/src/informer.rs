//! The cache of one kind, kept up to date.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard};
use std::time::Duration;

use api::{AnyObject, Codec, DecodeError, Key, Kind, Meta, Object, Resource, Shape};
use client::Client;
use controller::{Cache, Change, MetadataChange, Show};
use runtime::{Cancel, Instant, Latest, Runtime, fenced, spawn};
use tokio::sync::{Mutex as AsyncMutex, OwnedSemaphorePermit, Semaphore};

use crate::drive::keep;
use crate::health::{Health, InformerStatus};
use crate::metrics::{Meter, Metrics};
use crate::selection::Selection;
use crate::store::Store;

/// The number of changes that handlers are notified of before other tasks run.
const BATCH: usize = 256;
/// The longest wait for a permit to list: if some lists hang, all the others run at once after
/// this.
const LIST_WAIT_MAX: Duration = Duration::from_secs(10);

/// Called for each change of the cache, after the change, in the order of the changes. The cache
/// waits for it, so it only enqueues keys. Made by [`handler`].
pub type Handler = Box<dyn Fn(&Change<dyn AnyObject>) + Send + Sync>;
/// Called with the cache's version each time it has advanced, after the handlers.
pub type VersionHook = Box<dyn Fn(u64) + Send + Sync>;

/// Keeps a cache of all objects of one kind and notifies handlers of changes.
///
/// Before the first list the cache is empty; after it, the cache holds every object and never shows
/// an older state again. Objects that cannot be decoded are held as `Object::unreadable`. All that
/// depends on the kind is in its [`Shape`], so this code is compiled once.
pub struct Informer {
    selection: Selection,
    shape: Shape,
    client: Client,
    runtime: Runtime,
    store: RwLock<Store>,
    handlers: RwLock<Vec<Handler>>,
    hooks: RwLock<Vec<VersionHook>>,
    followers: RwLock<Vec<Follower>>,
    /// Held while handlers are notified, so that a new subscriber gets every change, in order.
    notifying: AsyncMutex<()>,
    /// As [`Informer::notified`].
    notified: AtomicU64,
    synced: Latest<bool>,
    /// How often a new list was requested.
    renewals: Latest<u64>,
    health: Mutex<Health>,
    meter: Option<Meter>,
    metrics: Option<Metrics>,
    /// Where it reports that the API server was restored to an older state.
    rewound: Latest<Option<Rewound>>,
    /// Limits how many informers list at once.
    lists: Option<Arc<Semaphore>>,
    /// Whether it may ask for streaming lists.
    streams: bool,
    started: AtomicBool,
}

/// A subscriber for the metadata of one kind, until it is cancelled.
pub(crate) struct Follower {
    pub(crate) cancel: Cancel,
    /// Called for each change, and first for each cached object. Resyncs are left out.
    pub(crate) changed: Box<dyn Fn(&MetadataChange<'_>) + Send + Sync>,
    /// Called as a [`VersionHook`].
    pub(crate) reached: VersionHook,
}

/// The API server was restored to an older state: etcd was restored from a backup. The content of
/// caches, and what was decided from it, may be wrong.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the API server has {resource} as of version {list} only, for a minute now, and {shown} was \
     seen before: etcd was restored to an older state, and all that is in memory may be wrong"
)]
pub struct Rewound {
    /// The kind in which that was seen.
    pub resource: Resource,
    /// The latest version that the server has.
    pub list: u64,
    /// The version that the cache showed before.
    pub shown: u64,
}

/// An object, as far as it could be decoded.
pub(crate) struct Decoded {
    pub(crate) object: Arc<dyn AnyObject>,
    /// Whether more than the metadata was decoded.
    pub(crate) whole: bool,
}

/// An object whose metadata cannot be decoded.
pub(crate) struct Unread {
    /// Its key, if that could be decoded.
    pub(crate) key: Option<Key>,
    pub(crate) error: DecodeError,
}

/// The result of a change of the store.
struct Changed {
    changes: Vec<Change<dyn AnyObject>>,
    /// The store's version before.
    before: u64,
    after: u64,
    came: Instant,
}

/// A handler of changes of objects of type `T`, for a cache of that type.
pub fn handler<T: Object>(notify: impl Fn(&Change<T>) + Send + Sync + 'static) -> Handler {
    Box::new(move |change| notify(&change.typed()))
}

// === impl Informer ===

impl Informer {
    /// An informer of these objects, which have this shape. It does nothing before
    /// [`Informer::start`].
    pub fn of(selection: Selection, shape: Shape, client: Client, runtime: Runtime) -> Self {
        Self {
            selection,
            shape,
            client,
            runtime,
            store: RwLock::new(Store::new(shape)),
            handlers: RwLock::default(),
            hooks: RwLock::default(),
            followers: RwLock::default(),
            notifying: AsyncMutex::default(),
            notified: AtomicU64::new(0),
            synced: Latest::new(false),
            renewals: Latest::new(0),
            health: Mutex::default(),
            meter: None,
            metrics: None,
            rewound: Latest::new(None),
            lists: None,
            streams: true,
            started: AtomicBool::new(false),
        }
    }

    /// An informer of the kind `T`, as [`Informer::of`].
    pub fn new<T: Kind>(client: Client, runtime: Runtime) -> Self {
        Self::of(Selection::of::<T>(), Shape::of::<T>(), client, runtime)
    }

    /// This informer, counting in `metrics`.
    pub(crate) fn with_metrics(self, metrics: Option<&Metrics>) -> Self {
        let meter = metrics.map(|metrics| metrics.meter(self.resource()));
        Self { meter, ..self.counting_panics(metrics) }
    }

    /// This informer, counting only panics in `metrics`.
    pub(crate) fn counting_panics(self, metrics: Option<&Metrics>) -> Self {
        Self { metrics: metrics.cloned(), ..self }
    }

    /// This informer, reporting to `rewound` that the API server was restored to an older state.
    pub(crate) fn with_rewound(self, rewound: Latest<Option<Rewound>>) -> Self {
        Self { rewound, ..self }
    }

    /// This informer, listing only when it has a permit of `lists`, or has waited for one for long.
    pub(crate) fn with_lists(self, lists: Arc<Semaphore>) -> Self {
        Self { lists: Some(lists), ..self }
    }

    /// This informer, asking for streaming lists or not.
    pub(crate) fn with_streams(self, streams: bool) -> Self {
        Self { streams, ..self }
    }

    /// Starts the task that lists and watches, until the runtime is cancelled; after a panic it
    /// restarts with back-off. Later calls do nothing.
    pub fn start(self: &Arc<Self>) {
        if !self.started.swap(true, Ordering::Relaxed) {
            spawn("informer", keep(Arc::clone(self)));
        }
    }

    /// Notifies `handler` of all cached objects, as added, and from then on of each change, once
    /// and in order. `hook` gets the version that the handler is notified of. A subscriber that
    /// comes after the start gets the same as one that was there before, as with client-go's
    /// `AddEventHandler`. A panic inside is caught and logged.
    pub async fn subscribe(&self, handler: Handler, hook: VersionHook) {
        let _notifying = self.notifying.lock().await;
        let version = self.notify_held(&|held| handler(&Change::Added(Arc::clone(held)))).await;
        if version > 0 {
            self.fence(|| hook(version));
        }
        self.add_handler(handler);
        self.on_version(hook);
    }

    /// Adds a handler. If it is added before the start, it is notified of everything; if later,
    /// only of changes from then on. A panic inside is caught and logged.
    pub(crate) fn add_handler(&self, handler: Handler) {
        self.handlers.write().unwrap_or_else(PoisonError::into_inner).push(handler);
    }

    /// Calls `hook` each time the version of the cache has advanced, by an object, a bookmark or a
    /// list.
    pub(crate) fn on_version(&self, hook: VersionHook) {
        self.hooks.write().unwrap_or_else(PoisonError::into_inner).push(hook);
    }

    /// The resource version up to which the cache is complete; 0 before the first list.
    pub fn version(&self) -> u64 {
        self.read().version()
    }

    /// The version up to which the handlers are notified of everything. The cache may be ahead.
    pub fn notified(&self) -> u64 {
        self.notified.load(Ordering::SeqCst)
    }

    /// Whether a list is in the cache and the handlers are notified of it: the first list, or after
    /// [`Informer::renew`] one that began since.
    pub fn has_synced(&self) -> bool {
        self.synced.get()
    }

    /// Waits until [`Informer::has_synced`], at most for `limit`; returns whether it has.
    pub async fn synced(&self, limit: Duration) -> bool {
        let synced = self.synced.wait_for(|synced| synced.then_some(()));
        self.runtime.clock.timeout(limit, synced).await.is_ok()
    }

    /// Lists the latest state again. Until that is in the cache, [`Informer::has_synced`] is false.
    /// Meanwhile the cache shows what it has.
    pub fn renew(&self) {
        self.renewals.update(|count| {
            *count += 1;
            self.synced.set_if_changed(false);
            true
        });
    }

    /// Whether the object with this key and uid is being deleted; none: the cache does not hold it.
    pub fn holds(&self, key: &Key, uid: &str) -> Option<bool> {
        let store = self.read();
        let meta = store.get(key).map(|object| object.metadata());
        meta.filter(|meta| &*meta.uid == uid).map(Meta::is_terminating)
    }

    /// The version of the object with this key, and this uid if one is given, and whether it is
    /// being deleted; none: the cache does not hold it.
    pub fn found(&self, key: &Key, uid: Option<&str>) -> Option<(u64, bool)> {
        let store = self.read();
        let meta = store.get(key).map(|object| object.metadata());
        let meta = meta.filter(|meta| uid.is_none_or(|uid| *meta.uid == *uid))?;
        Some((meta.resource_version, meta.is_terminating()))
    }

    /// Shows true while [`Informer::has_synced`].
    pub fn watch_synced(&self) -> Latest<bool> {
        self.synced.clone()
    }

    /// The state of the informer.
    pub fn status(&self) -> InformerStatus {
        let (objects, version) = {
            let store = self.read();
            (store.len(), store.version())
        };
        let health = self.health();
        InformerStatus {
            selection: self.selection.clone(),
            synced: self.has_synced(),
            objects,
            unreadable: health.unreadable_count(),
            version,
            relists: health.lists.saturating_sub(1),
            last_event: health.last_event,
            failing: health.failing.clone(),
            unserved: health.is_unserved(),
            panics: health.panics(),
            dying: health.dying(self.runtime.clock.now()).cloned(),
        }
    }

    /// Notes that the task has panicked, perhaps in the middle of a change.
    pub(crate) fn died(&self, panic: &str) {
        self.store.write().unwrap_or_else(PoisonError::into_inner).index_anew();
        let resource = self.resource();
        self.health().died(panic, self.runtime.clock.now());
        if let Some(metrics) = &self.metrics {
            metrics.panics(resource).inc();
        }
        tracing::error!(%resource, panic, "an informer panicked; it will be started again");
    }

    /// Notes that the API server no longer has the version that was shown.
    pub(crate) fn rewound(&self, list: u64, shown: u64) {
        self.rewound.set(Some(Rewound { resource: self.resource().clone(), list, shown }));
    }

    #[cfg(test)]
    pub(crate) fn followers_held(&self) -> usize {
        self.followers.read().unwrap().len()
    }

    /// The resource that it watches.
    pub fn resource(&self) -> &Resource {
        &self.selection.resource
    }

    /// Which objects of it are watched.
    pub fn selection(&self) -> &Selection {
        &self.selection
    }

    pub(crate) fn shape(&self) -> &Shape {
        &self.shape
    }

    /// Drops all handlers and hooks.
    pub(crate) fn forget(&self) {
        forget(&self.handlers);
        forget(&self.hooks);
        forget(&self.followers);
    }

    /// Whether the API server was restored to an older state, so that nothing new will ever come.
    pub(crate) fn is_rewound(&self) -> bool {
        self.rewound.with(Option::is_some)
    }

    pub(crate) fn streams(&self) -> bool {
        self.streams
    }

    pub(crate) fn client(&self) -> &Client {
        &self.client
    }

    pub(crate) fn runtime(&self) -> &Runtime {
        &self.runtime
    }

    pub(crate) fn health(&self) -> MutexGuard<'_, Health> {
        self.health.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn read(&self) -> RwLockReadGuard<'_, Store> {
        self.store.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for a permit to list, if lists are limited.
    pub(crate) async fn list_permit(&self) -> Option<OwnedSemaphorePermit> {
        let permit = Arc::clone(self.lists.as_ref()?).acquire_owned();
        self.runtime.clock.timeout(LIST_WAIT_MAX, permit).await.ok()?.ok()
    }

    /// Changes the cache, then notifies the handlers and the version hooks.
    pub(crate) async fn update(
        &self,
        change: impl FnOnce(&mut Store) -> Vec<Change<dyn AnyObject>>,
    ) {
        // The lock is usually free, and then taking it must not yield to other tasks: changes that
        // came together are notified together.
        let _notifying = match self.notifying.try_lock() {
            Ok(notifying) => notifying,
            Err(_) => self.notifying.lock().await,
        };
        let came = self.runtime.clock.instant();
        let changed = {
            let mut store = self.store.write().unwrap_or_else(PoisonError::into_inner);
            let before = store.version();
            let changes = change(&mut store);
            Changed { changes, before, after: store.version(), came }
        };
        self.notify(changed).await;
    }

    /// Notifies the handlers of what has changed. The caller holds the lock `notifying`.
    async fn notify(&self, Changed { changes, before, after, came }: Changed) {
        for (at, batch) in changes.chunks(BATCH).enumerate() {
            if at > 0 {
                tokio::task::yield_now().await;
            }
            self.note(|meter| meter.queued(changes.len() - at * BATCH));
            self.tell_handlers(batch);
            self.tell_followers(batch);
            let took = self.runtime.clock.instant().saturating_duration_since(came);
            self.note(|meter| meter.handled(batch.len(), took));
        }
        self.note(|meter| meter.queued(0));
        self.notified.store(after, Ordering::SeqCst);
        if after > before {
            for hook in &*self.hooks.read().unwrap_or_else(PoisonError::into_inner) {
                self.fence(|| hook(after));
            }
            self.each_follower(|follower| (follower.reached)(after));
        }
    }

    /// Notifies the handlers of every object as updated without a change, as client-go's resync
    /// does.
    pub(crate) async fn notify_all(&self) {
        let _notifying = self.notifying.lock().await;
        let again =
            |object: Arc<dyn AnyObject>| Change::Updated { old: Arc::clone(&object), new: object };
        let changes: Vec<_> = self.held().0.into_iter().map(again).collect();
        for batch in changes.chunks(BATCH) {
            self.tell_handlers(batch);
            tokio::task::yield_now().await;
        }
    }

    /// Notifies the follower of the cached objects, then of each change. It gets every change once,
    /// whenever it subscribes.
    pub(crate) async fn follow(&self, follower: Follower) {
        let _notifying = self.notifying.lock().await;
        let notify = |held: &Arc<dyn AnyObject>| {
            (follower.changed)(&MetadataChange::Added(held.metadata()));
        };
        let version = self.notify_held(&notify).await;
        if version > 0 {
            self.fence(|| (follower.reached)(version));
        }
        let mut followers = self.followers.write().unwrap_or_else(PoisonError::into_inner);
        // Only this function adds followers, so at most one cancelled follower is left.
        followers.retain(|known| !known.cancel.is_cancelled());
        followers.push(follower);
    }

    /// Notifies `notify` of all cached objects. Returns the version of the cache, which does not
    /// change while the caller holds the lock `notifying`.
    async fn notify_held(&self, notify: &(dyn Fn(&Arc<dyn AnyObject>) + Sync)) -> u64 {
        let (held, version) = self.held();
        for batch in held.chunks(BATCH) {
            for object in batch {
                self.fence(|| notify(object));
            }
            tokio::task::yield_now().await;
        }
        version
    }

    /// All objects, and the version of the cache that shows them.
    fn held(&self) -> (Vec<Arc<dyn AnyObject>>, u64) {
        let (mut held, store) = (Vec::new(), self.read());
        store.all(&mut |objects| held.extend_from_slice(objects));
        (held, store.version())
    }

    /// Notes that a list is in the cache and the handlers are notified of it. The list began after
    /// this many renewals.
    pub(crate) fn set_synced(&self, renewals: u64) {
        // Under the lock of the count: a renewal comes either before this or after it.
        self.renewals.with(|count| {
            if *count == renewals {
                self.synced.set_if_changed(true);
            }
        });
    }

    /// Waits until more than `done` lists were requested, and returns the number.
    pub(crate) async fn renewal(&self, done: u64) -> u64 {
        self.renewals.wait_for(|count| Some(*count).filter(|count| *count != done)).await
    }

    /// Decodes an object. An unreadable one is logged; an error if not even its metadata can be
    /// decoded.
    pub(crate) fn decode(&self, codec: Codec, bytes: &[u8]) -> Result<Decoded, Unread> {
        let error = match or_panic(|| (self.shape.decode)(codec, bytes)) {
            Ok(object) => {
                self.health().readable(&object.metadata().key);
                return Ok(Decoded { object, whole: true });
            }
            Err(error) => error,
        };
        let unreadable = |meta| {
            let object = (self.shape.unreadable)(meta, &error);
            self.log_unreadable(&object.metadata().key, &error, "an object cannot be read");
            Decoded { object, whole: false }
        };
        or_panic(|| Meta::decode(codec, bytes).map(unreadable)).map_err(|metadata| {
            let error = DecodeError(format!("{error}; its metadata: {metadata}"));
            let key = fenced(|| Key::decode(codec, bytes)).ok().flatten();
            if let Some(key) = &key {
                let text = "the metadata of an object cannot be read; what is known of it stays";
                self.log_unreadable(key, &error, text);
            }
            Unread { key, error }
        })
    }

    /// Once for each text.
    fn log_unreadable(&self, object: &Key, error: &DecodeError, text: &str) {
        if self.health().unreadable(object, &error.0) {
            tracing::warn!(resource = %self.resource(), %object, %error, "{text}");
        }
    }

    fn tell_followers(&self, changes: &[Change<dyn AnyObject>]) {
        for change in changes {
            self.each_follower(|follower| (follower.changed)(&change.metadata()));
        }
    }

    fn each_follower(&self, notify: impl Fn(&Follower)) {
        let followers = self.followers.read().unwrap_or_else(PoisonError::into_inner);
        for follower in followers.iter().filter(|follower| !follower.cancel.is_cancelled()) {
            self.fence(|| notify(follower));
        }
    }

    fn tell_handlers(&self, changes: &[Change<dyn AnyObject>]) {
        let handlers = self.handlers.read().unwrap_or_else(PoisonError::into_inner);
        for change in changes {
            for handler in &*handlers {
                self.fence(|| handler(change));
            }
        }
    }

    fn note(&self, what: impl FnOnce(&Meter)) {
        if let Some(meter) = &self.meter {
            what(meter);
        }
    }

    fn fence(&self, body: impl FnOnce()) {
        if let Err(panic) = fenced(body) {
            tracing::error!(resource = %self.resource(), panic = panic.0, "a handler panicked");
        }
    }
}

impl Cache for Informer {
    fn get(&self, key: &Key) -> Option<Arc<dyn AnyObject>> {
        self.read().get(key).map(Arc::clone)
    }

    fn by(&self, index: &str, value: &str, show: &mut Show<'_>) {
        self.read().by(index, value, show);
    }

    fn all(&self, show: &mut Show<'_>) {
        self.read().all(show);
    }

    fn of_namespace(&self, namespace: &str, show: &mut Show<'_>) {
        self.read().of_namespace(namespace, show);
    }

    fn heard(&self) -> Option<Duration> {
        self.health().heard
    }

    fn version(&self) -> u64 {
        Cache::version(&*self.read())
    }
}

/// Treats a panic as a decoding error.
fn or_panic<T>(decode: impl FnOnce() -> Result<T, DecodeError>) -> Result<T, DecodeError> {
    fenced(decode).unwrap_or_else(|panic| Err(DecodeError(panic.0)))
}

/// Drops all listeners, outside of the lock: dropping one may take the lock.
pub(crate) fn forget<T>(listeners: &RwLock<Vec<T>>) {
    let gone = std::mem::take(&mut *listeners.write().unwrap_or_else(PoisonError::into_inner));
    drop(gone);
}
