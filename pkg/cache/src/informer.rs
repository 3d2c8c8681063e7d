//! The cache of one kind, kept up to date.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard};
use std::time::Duration;

use api::{AnyObject, Codec, DecodeError, Key, Kind, Meta, Object, Resource, Shape};
use client::Client;
use controller::{Cache, Change, MetadataChange, Show};
use runtime::{Cancel, Instant, Latest, Runtime, fenced, spawn};
use tokio::sync::{Mutex as Turn, OwnedSemaphorePermit, Semaphore};

use crate::drive::keep;
use crate::health::{Health, Status};
use crate::metrics::{Meter, Metrics};
use crate::selection::Selection;
use crate::store::Store;

/// Handlers hear of so many changes before other tasks get a turn.
const BATCH: usize = 256;
/// The longest wait for others to list first: some may hang, and then all of them list at once.
const LIST_WAIT_MAX: Duration = Duration::from_secs(10);

/// Called for each change of the cache, after the cache was changed, in the order of the changes.
/// The cache waits meanwhile, so it only notes which keys to look at. Made by [`handler`].
pub type Handler = Box<dyn Fn(&Change<dyn AnyObject>) + Send + Sync>;
/// Called with the cache's version each time it has advanced, after the handlers.
pub type VersionHook = Box<dyn Fn(u64) + Send + Sync>;

/// Keeps a cache of all objects of one kind and tells handlers what changes.
///
/// Until the first list the cache is empty; then it holds every object, and never goes back to an
/// older state. Objects that cannot be decoded are held as `Object::unreadable`. It knows of their
/// kind what its [`Shape`] says, so all of this is compiled once.
pub struct Informer {
    selection: Selection,
    shape: Shape,
    client: Client,
    runtime: Runtime,
    store: RwLock<Store>,
    handlers: RwLock<Vec<Handler>>,
    hooks: RwLock<Vec<VersionHook>>,
    followers: RwLock<Vec<Follower>>,
    /// Held while something is told, so that who comes later hears of all and in order.
    turn: Turn<()>,
    /// As [`Informer::told`].
    told: AtomicU64,
    synced: Latest<bool>,
    /// How often a new list was asked for.
    renewals: Latest<u64>,
    health: Mutex<Health>,
    meter: Option<Meter>,
    metrics: Option<Metrics>,
    /// Where it says that the API server has gone back.
    rewound: Latest<Option<Rewound>>,
    /// How many may list at once.
    lists: Option<Arc<Semaphore>>,
    /// Whether it may ask for streaming lists.
    streams: bool,
    started: AtomicBool,
}

/// Hears of the metadata of one kind, until it is cancelled.
pub(crate) struct Follower {
    pub(crate) cancel: Cancel,
    /// Called for each change, and first for all that is held. Resyncs are left out.
    pub(crate) changed: Box<dyn Fn(&MetadataChange<'_>) + Send + Sync>,
    /// Called as a [`VersionHook`].
    pub(crate) reached: VersionHook,
}

/// An API server has gone back to an older state for good: etcd was restored from a backup. What
/// caches hold, and what was concluded from them, may be wrong.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the API server has {resource} as of version {list} only, for a minute now, and {shown} was \
     seen before: etcd was restored to an older state, and all that is in memory may be wrong"
)]
pub struct Rewound {
    /// The kind of which that was seen.
    pub resource: Resource,
    /// The latest version that the server has.
    pub list: u64,
    /// The version that was seen before.
    pub shown: u64,
}

/// An object as far as it could be read.
pub(crate) struct Decoded {
    pub(crate) object: Arc<dyn AnyObject>,
    /// Whether it is more than its metadata.
    pub(crate) whole: bool,
}

/// An object of which not even the metadata could be read.
pub(crate) struct Unread {
    /// What it is called, if that could be read.
    pub(crate) key: Option<Key>,
    pub(crate) error: DecodeError,
}

/// What has come of a change of the store.
struct Changed {
    changes: Vec<Change<dyn AnyObject>>,
    /// The version of the store before.
    before: u64,
    after: u64,
    came: Instant,
}

/// A handler of changes of objects of type `T`, for a cache that holds such.
pub fn handler<T: Object>(tell: impl Fn(&Change<T>) + Send + Sync + 'static) -> Handler {
    Box::new(move |change| tell(&change.typed()))
}

// === impl Informer ===

impl Informer {
    /// An informer of these objects, which have this shape, that does nothing before
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
            turn: Turn::default(),
            told: AtomicU64::new(0),
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

    /// This informer, counting nothing but panics in `metrics`.
    pub(crate) fn counting_panics(self, metrics: Option<&Metrics>) -> Self {
        Self { metrics: metrics.cloned(), ..self }
    }

    /// This informer, which says here that the API server has gone back.
    pub(crate) fn with_rewound(self, rewound: Latest<Option<Rewound>>) -> Self {
        Self { rewound, ..self }
    }

    /// This informer, listing only when it gets a permit of `lists`, or has long waited for one.
    pub(crate) fn with_lists(self, lists: Arc<Semaphore>) -> Self {
        Self { lists: Some(lists), ..self }
    }

    /// This informer, asking for streaming lists or not.
    pub(crate) fn with_streams(self, streams: bool) -> Self {
        Self { streams, ..self }
    }

    /// Starts the task that lists and watches, until the runtime is cancelled; after a panic it
    /// goes on, with back-off. Later calls do nothing.
    pub fn start(self: &Arc<Self>) {
        if !self.started.swap(true, Ordering::Relaxed) {
            spawn("informer", keep(Arc::clone(self)));
        }
    }

    /// Tells `handler` of all objects that are held, as added, and from then on of each change,
    /// once and in order; and `hook` of the version that the handler has heard of. Who subscribes
    /// late hears the same as who was there from the start, as with client-go's `AddEventHandler`.
    /// A panic inside is logged and goes no further.
    pub async fn subscribe(&self, handler: Handler, hook: VersionHook) {
        let _turn = self.turn.lock().await;
        let version = self.tell_held(&|held| handler(&Change::Added(Arc::clone(held)))).await;
        if version > 0 {
            self.fence(|| hook(version));
        }
        self.add_handler(handler);
        self.on_version(hook);
    }

    /// Adds a handler. One that is added before the start hears of everything; one that is added
    /// later only of what changes from then on. A panic inside is logged and goes no further.
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

    /// The version up to which the handlers have heard of everything. The cache may be ahead.
    pub fn told(&self) -> u64 {
        self.told.load(Ordering::SeqCst)
    }

    /// Whether a list is in the cache and the handlers know of it: the first one, or after
    /// [`Informer::renew`] one that was begun since.
    pub fn has_synced(&self) -> bool {
        self.synced.get()
    }

    /// Waits until [`Informer::has_synced`], at most for `limit`; whether it has.
    pub async fn synced(&self, limit: Duration) -> bool {
        let synced = self.synced.wait_for(|synced| synced.then_some(()));
        self.runtime.clock.timeout(limit, synced).await.is_ok()
    }

    /// Lists anew what is the latest now: until that is in the cache, [`Informer::has_synced`] says
    /// no. The cache goes on to show what it has.
    pub fn renew(&self) {
        self.renewals.update(|count| {
            *count += 1;
            self.synced.set_if_changed(false);
            true
        });
    }

    /// Whether the object with this key is the one with this uid, and not being deleted.
    pub fn holds(&self, key: &Key, uid: &str) -> bool {
        let store = self.read();
        let meta = store.get(key).map(|object| object.metadata());
        meta.is_some_and(|meta| &*meta.uid == uid && !meta.is_terminating())
    }

    /// Shows true while [`Informer::has_synced`].
    pub fn watch_synced(&self) -> Latest<bool> {
        self.synced.clone()
    }

    /// How it fares.
    pub fn status(&self) -> Status {
        let (objects, version) = {
            let store = self.read();
            (store.len(), store.version())
        };
        let health = self.health();
        Status {
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

    /// The task has panicked, perhaps in the middle of a change.
    pub(crate) fn died(&self, panic: &str) {
        self.store.write().unwrap_or_else(PoisonError::into_inner).index_anew();
        let resource = self.resource();
        self.health().died(panic, self.runtime.clock.now());
        if let Some(metrics) = &self.metrics {
            metrics.panics(resource).inc();
        }
        tracing::error!(%resource, panic, "an informer panicked; it will be started again");
    }

    /// The API server has forgotten what was shown.
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

    /// Which objects of it.
    pub fn selection(&self) -> &Selection {
        &self.selection
    }

    pub(crate) fn shape(&self) -> &Shape {
        &self.shape
    }

    /// Lets go of all who are told of changes.
    pub(crate) fn forget(&self) {
        forget(&self.handlers);
        forget(&self.hooks);
        forget(&self.followers);
    }

    /// Whether the API server has gone back, so that nothing new will ever come.
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

    /// Waits until it may list, if that is limited.
    pub(crate) async fn list_permit(&self) -> Option<OwnedSemaphorePermit> {
        let permit = Arc::clone(self.lists.as_ref()?).acquire_owned();
        self.runtime.clock.timeout(LIST_WAIT_MAX, permit).await.ok()?.ok()
    }

    /// Changes the cache, then tells the handlers and the version hooks.
    pub(crate) async fn update(
        &self,
        change: impl FnOnce(&mut Store) -> Vec<Change<dyn AnyObject>>,
    ) {
        // Nobody waits for it as a rule, and then it must not cost this task its turn: what came
        // together is told together.
        let _turn = match self.turn.try_lock() {
            Ok(turn) => turn,
            Err(_) => self.turn.lock().await,
        };
        let came = self.runtime.clock.instant();
        let changed = {
            let mut store = self.store.write().unwrap_or_else(PoisonError::into_inner);
            let before = store.version();
            let changes = change(&mut store);
            Changed { changes, before, after: store.version(), came }
        };
        self.tell(changed).await;
    }

    /// Tells of what has changed. The caller has the turn.
    async fn tell(&self, Changed { changes, before, after, came }: Changed) {
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
        self.told.store(after, Ordering::SeqCst);
        if after > before {
            for hook in &*self.hooks.read().unwrap_or_else(PoisonError::into_inner) {
                self.fence(|| hook(after));
            }
            self.each_follower(|follower| (follower.reached)(after));
        }
    }

    /// Tells the handlers of every object as if it had just been updated without a change, as
    /// client-go's resync does.
    pub(crate) async fn tell_all(&self) {
        let _turn = self.turn.lock().await;
        let again =
            |object: Arc<dyn AnyObject>| Change::Updated { old: Arc::clone(&object), new: object };
        let changes: Vec<_> = self.held().0.into_iter().map(again).collect();
        for batch in changes.chunks(BATCH) {
            self.tell_handlers(batch);
            tokio::task::yield_now().await;
        }
    }

    /// Tells the follower of what is held, then of each change. It hears of every change once,
    /// whenever it comes.
    pub(crate) async fn follow(&self, follower: Follower) {
        let _turn = self.turn.lock().await;
        let tell = |held: &Arc<dyn AnyObject>| {
            (follower.changed)(&MetadataChange::Added(held.metadata()));
        };
        let version = self.tell_held(&tell).await;
        if version > 0 {
            self.fence(|| (follower.reached)(version));
        }
        let mut followers = self.followers.write().unwrap_or_else(PoisonError::into_inner);
        // Here, since nobody else adds any: at most one of those that are gone is left.
        followers.retain(|known| !known.cancel.is_cancelled());
        followers.push(follower);
    }

    /// Tells of all objects that are held. Returns the version of the cache, which stays so as long
    /// as the caller has the turn.
    async fn tell_held(&self, tell: &(dyn Fn(&Arc<dyn AnyObject>) + Sync)) -> u64 {
        let (held, version) = self.held();
        for batch in held.chunks(BATCH) {
            for object in batch {
                self.fence(|| tell(object));
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

    /// A list is in the cache and the handlers know of it. It was begun after this many renewals.
    pub(crate) fn set_synced(&self, renewals: u64) {
        // Under the lock of the count, so that a renewal comes before or after it as a whole.
        self.renewals.with(|count| {
            if *count == renewals {
                self.synced.set_if_changed(true);
            }
        });
    }

    /// Waits until it is asked for another list than `done` times, and says how often then.
    pub(crate) async fn renewal(&self, done: u64) -> u64 {
        self.renewals.wait_for(|count| Some(*count).filter(|count| *count != done)).await
    }

    /// Decodes an object. One that is broken is logged; an error if not even its metadata can be
    /// read.
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

    fn each_follower(&self, tell: impl Fn(&Follower)) {
        let followers = self.followers.read().unwrap_or_else(PoisonError::into_inner);
        for follower in followers.iter().filter(|follower| !follower.cancel.is_cancelled()) {
            self.fence(|| tell(follower));
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
}

/// A panic is an error as any other.
fn or_panic<T>(decode: impl FnOnce() -> Result<T, DecodeError>) -> Result<T, DecodeError> {
    fenced(decode).unwrap_or_else(|panic| Err(DecodeError(panic.0)))
}

/// Lets go of all, none of whom is told any more. They end outside of the lock: what ends with them
/// may ask for it.
pub(crate) fn forget<T>(listeners: &RwLock<Vec<T>>) {
    let gone = std::mem::take(&mut *listeners.write().unwrap_or_else(PoisonError::into_inner));
    drop(gone);
}
