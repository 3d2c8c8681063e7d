//! The metadata of all objects of all kinds, while kinds are added and removed.
//!
//! As upstream's pkg/controller/garbagecollector (`Sync` in garbagecollector.go and `syncMonitors`
//! in graph_builder.go): discovery runs periodically, and there is an informer for each kind that
//! can be listed, watched and deleted. Unlike upstream, a kind that cannot be listed delays no
//! other kind, and a kind that is no longer served leaves nothing behind.

mod handover;
mod kind;

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{
    Arc, Mutex, MutexGuard, OnceLock, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard,
};
use std::time::Duration;

use api::{Key, Metadata, Resource, Served, Shape, Text, Verb};
use client::{ApiError, Client};
use controller::{Cache, MetadataChange};
use discovery::Discovery;
use futures::future::BoxFuture;
use metrics::IntCounter;
use mutant::Mutant;
use runtime::{Instant, Latest, Runtime, fenced, spawn};
use tokio::sync::{Notify, Semaphore};

use crate::health::InformerStatus;
use crate::informer::{Informer, forget};
use crate::metrics::Metrics;
use crate::selection::Selection;
use handover::Handover;
use kind::Kind;

/// The period of discovery, as upstream.
const PERIOD: Duration = Duration::from_secs(30);
/// The delay between a change of a CustomResourceDefinition and the next discovery: more changes
/// may follow, and the API server needs some time to serve the kind.
const DEFINED_DELAY: Duration = Duration::from_secs(1);
/// The shortest time between two discoveries.
const DEFINED_PERIOD_MIN: Duration = Duration::from_secs(5);
/// How long after a change of the kinds it is an error that some kinds are not listed, as upstream.
const SYNC_LIMIT: Duration = Duration::from_secs(30);
/// How long a kind stays when discovery lacks it without reporting a failure. An API server that
/// has just started, or that is stale, may lack kinds for some seconds although their objects
/// exist. If we forgot the dependents, they would be lost when their owner is deleted.
const LACKED_MAX: Duration = Duration::from_mins(1);
/// How many deleted definitions are remembered. The kinds of further ones stay for [`LACKED_MAX`].
const UNDEFINED_MAX: usize = 10_000;
/// How many unlisted kinds the log names.
const UNLISTED_NAMED_MAX: usize = 5;
/// How many kinds may be listed at once.
const LISTS_MAX: usize = 16;
/// The verbs that a kind must support to be watched.
const VERBS: &[Verb] = &[Verb::Delete, Verb::List, Verb::Watch];
/// Kinds that are left out, as `DefaultIgnoredResources` of
/// pkg/controller/garbagecollector/graph_builder.go: group and plural. There are many Events, they
/// own nothing, and they expire.
const IGNORED: [(&str, &str); 2] = [("", "events"), ("events.k8s.io", "events")];
/// The kind, as group and plural, whose objects define what the API server will serve.
const DEFINITIONS: (&str, &str) = ("apiextensions.k8s.io", "customresourcedefinitions");

/// The metadata of all objects of all kinds that the API server serves in the version that it
/// prefers, and that can be listed, watched and deleted; but no events.
///
/// A kind that has an informer already is not watched twice. A kind whose group cannot be
/// discovered stays as it was known. A kind that discovery lacks stays until its definition is
/// deleted too, or a minute has passed. When another version becomes the preferred one, the old
/// version stays until all objects are known in the new one. Handlers are notified of the changes
/// of a kind in order: of [`MetadataChange::Complete`] after all existing objects, and of
/// [`MetadataChange::Dropped`] last. For an old version, that is after all objects in the new one.
/// Each kind has a task of its own, so a slow handler delays only that kind.
pub struct Everything {
    parts: Parts,
    hooks: Arc<Hooks>,
    /// The shared informers of whole kinds.
    shared: OnceLock<BTreeMap<Resource, Arc<Informer>>>,
    served: Latest<Option<Arc<Served>>>,
    /// Whether handlers are notified of objects.
    listening: Latest<bool>,
    kinds: Arc<Kinds>,
    lists: Arc<Semaphore>,
    started: AtomicBool,
}

/// When a kind has two versions, one leads; the other is being replaced, or will replace it.
type Kinds = RwLock<BTreeMap<Resource, Kind>>;

/// What it is built from.
pub(crate) struct Parts {
    pub(crate) source: Box<dyn Source>,
    pub(crate) client: Client,
    pub(crate) runtime: Runtime,
    pub(crate) sync_errors: Option<IntCounter>,
    /// Whether its informers may ask for streaming lists.
    pub(crate) streams: bool,
    pub(crate) metrics: Option<Metrics>,
}

/// A source of discovery results.
pub(crate) trait Source: Send + Sync {
    fn served(&self) -> BoxFuture<'_, Result<Arc<Served>, ApiError>>;
}

/// Called for each change of an object of this kind, as [`crate::Handler`] is.
pub type MetadataHandler = Box<dyn Fn(&Resource, &MetadataChange<'_>) + Send + Sync>;
/// Called with what the API server serves.
pub type ServedHook = Box<dyn Fn(&Arc<Served>) + Send + Sync>;
/// Called with the version of this kind's cache each time it has advanced.
pub type MetadataVersionHook = Box<dyn Fn(&Resource, u64) + Send + Sync>;

/// The handlers and hooks to notify.
#[derive(Default)]
struct Hooks {
    changed: RwLock<Vec<MetadataHandler>>,
    served: RwLock<Vec<ServedHook>>,
    reached: RwLock<Vec<MetadataVersionHook>>,
    /// A CustomResourceDefinition changed.
    defined: Notify,
    /// The names of the definitions that were deleted since kinds were last removed.
    undefined: Mutex<BTreeSet<Text>>,
}

/// The state of the discovery loop.
#[derive(Default)]
struct Rounds {
    /// When the kinds last changed; none once the check that follows a change is done.
    changed: Option<Instant>,
    said: Logged,
}

/// What was logged last.
#[derive(Default)]
struct Logged {
    /// Why discovery failed.
    error: Option<String>,
    /// The groups that the last discovery lacked.
    missing: BTreeSet<String>,
}

// === impl Everything ===

impl Everything {
    pub(crate) fn new(parts: Parts) -> Self {
        Self {
            parts,
            hooks: Arc::default(),
            shared: OnceLock::new(),
            served: Latest::new(None),
            listening: Latest::new(false),
            kinds: Arc::default(),
            lists: Arc::new(Semaphore::new(LISTS_MAX)),
            started: AtomicBool::new(false),
        }
    }

    /// Calls `handler` for each change of each object after [`Everything::listen`]: first for all
    /// existing objects, as added. A handler that is added after `listen` is notified only of later
    /// changes.
    pub fn add_handler(&self, handler: MetadataHandler) {
        self.hooks.changed.write().unwrap_or_else(PoisonError::into_inner).push(handler);
    }

    /// Calls `hook` with what the API server serves: the first result and each one that differs
    /// from the one before, ahead of the changes that follow from it. A group that cannot be
    /// discovered keeps its last known content.
    pub fn on_served(&self, hook: ServedHook) {
        self.hooks.served.write().unwrap_or_else(PoisonError::into_inner).push(hook);
    }

    /// Calls `hook` each time the cache of a kind has advanced, after the handlers.
    pub fn on_version(&self, hook: MetadataVersionHook) {
        self.hooks.reached.write().unwrap_or_else(PoisonError::into_inner).push(hook);
    }

    /// From now on all handlers are notified of objects, beginning with the cached ones. Before,
    /// the caches are kept without notifying handlers: a standby may live for months and must not
    /// remember what was created and deleted meanwhile.
    pub fn listen(&self) {
        self.listening.set_if_changed(true);
    }

    /// Drops all handlers and hooks.
    pub(crate) fn forget(&self) {
        forget(&self.hooks.changed);
        forget(&self.hooks.served);
        forget(&self.hooks.reached);
        self.kinds().values().for_each(|kind| kind.informer.forget());
    }

    /// The resource version up to which the cache of a kind is complete, 0 before its first list;
    /// none if handlers are not notified of the kind in this version.
    pub fn version_of(&self, resource: &Resource) -> Option<u64> {
        let kinds = self.kinds();
        kinds.get(resource).filter(|kind| kind.leads).map(|kind| kind.informer.version())
    }

    /// The version up to which the handlers are notified of a kind; none if it is not watched.
    pub fn notified_version(&self, resource: &Resource) -> Option<u64> {
        let kinds = self.kinds();
        kinds.get(resource).filter(|kind| kind.leads).map(|kind| kind.informer.notified())
    }

    /// As [`Informer::holds`].
    pub fn holds(&self, resource: &Resource, key: &Key, uid: &str) -> Option<bool> {
        self.kinds().get(resource)?.informer.holds(key, uid)
    }

    /// As [`Informer::found`].
    pub fn found(&self, resource: &Resource, key: &Key, uid: Option<&str>) -> Option<(u64, bool)> {
        self.kinds().get(resource)?.informer.found(key, uid)
    }

    /// The cache of a kind, in the version that handlers are notified of; none before its first
    /// list, or if it is not watched.
    pub fn cache_of(&self, resource: &Resource) -> Option<Arc<dyn Cache>> {
        let kinds = self.kinds();
        let mut leading = kinds.values().filter(|kind| kind.leads);
        let kind = leading.find(|kind| name(kind.resource()) == name(resource))?;
        let is_listed = kind.informer.version() > 0;
        is_listed.then(|| Arc::clone(&kind.informer) as _)
    }

    /// Waits until discovery has succeeded and handlers are notified of all objects of all kinds,
    /// at most for `limit`; returns whether that is so.
    pub async fn ready(&self, limit: Duration) -> bool {
        let ready = async {
            self.served.wait_for(|served| served.is_some().then_some(())).await;
            loop {
                let is_missing = |kind: &&Kind| kind.leads && !kind.is_notified();
                let missing = self.kinds().values().find(is_missing).map(Kind::notified);
                let unsynced = || {
                    let kinds = self.kinds();
                    let leading = kinds.values().filter(|kind| kind.leads);
                    let mut synced = leading.map(|kind| kind.informer.watch_synced());
                    synced.find(|synced| !synced.get())
                };
                let Some(missing) = missing.or_else(unsynced) else { return };
                missing.wait_for(|is_there| is_there.then_some(())).await;
            }
        };
        self.parts.runtime.clock.timeout(limit, ready).await.is_ok()
    }

    /// The groups that cannot be discovered, as `group/version`, and why. Their kinds stay as they
    /// were known.
    pub fn missing(&self) -> BTreeMap<String, String> {
        self.served.get().map(|served| served.failed.clone()).unwrap_or_default()
    }

    /// The state of the informers that are not shared, sorted by resource.
    pub fn status(&self) -> Vec<InformerStatus> {
        let kinds = self.kinds();
        kinds.values().filter(|kind| !kind.is_shared).map(|kind| kind.informer.status()).collect()
    }

    /// Makes the informers that are not shared list again: as `Informer::renew`.
    pub(crate) fn renew(&self) {
        let kinds = self.kinds();
        let own = kinds.values().filter(|kind| !kind.is_shared);
        own.for_each(|kind| kind.informer.renew());
    }

    /// Starts discovery, until the runtime is cancelled. `informers` are the shared ones. Later
    /// calls do nothing.
    pub(crate) fn start(self: &Arc<Self>, informers: impl Iterator<Item = Arc<Informer>>) {
        if self.started.swap(true, Ordering::Relaxed) {
            return;
        }
        let whole = informers.filter(|informer| informer.selection().is_whole());
        let whole = whole.map(|informer| (informer.resource().clone(), informer));
        self.shared.get_or_init(|| whole.collect());
        spawn("discovery", Arc::clone(self).run());
    }

    async fn run(self: Arc<Self>) {
        let for_ever = async {
            let mut rounds = Rounds::default();
            loop {
                self.look(&mut rounds).await;
                self.rest(self.parts.runtime.clock.instant()).await;
                self.report_unlisted(&mut rounds);
            }
        };
        tokio::select! {
            biased;
            () = self.parts.runtime.cancel.cancelled() => {}
            () = for_ever => {}
        }
    }

    /// Waits until the next discovery is due.
    async fn rest(&self, asked: Instant) {
        let clock = &self.parts.runtime.clock;
        let defined = clock.timeout(PERIOD, self.hooks.defined.notified()).await;
        if defined.is_ok() {
            let at = (clock.instant() + DEFINED_DELAY).max(asked + DEFINED_PERIOD_MIN);
            clock.sleep_until(at).await;
        }
    }

    /// Runs discovery, and starts and stops the informers that differ.
    async fn look(&self, rounds: &mut Rounds) {
        let served = match self.parts.source.served().await {
            Ok(served) if wanted(&served).is_empty() => Err("no kinds to watch".to_owned()),
            Ok(served) => Ok(served),
            Err(error) => Err(error.to_string()),
        };
        rounds.said.log(&served);
        let Ok(served) = served else {
            self.count_error();
            return;
        };
        let before = self.served.get();
        let served = match &before {
            Some(before) if !served.failed.is_empty() => Arc::new(served.keeping(before)),
            Some(_) | None => served,
        };
        let now = self.parts.runtime.clock.instant();
        if before.is_none_or(|before| differ(&before, &served)) {
            self.hooks.served(&served);
            rounds.changed.get_or_insert(now);
        }
        // Also if nothing changed: a kind may have been missing for long enough now.
        self.apply(&served, now);
        self.served.set(Some(served));
    }

    /// Counts and logs the kinds that were not listed in time, once for each change of the kinds.
    fn report_unlisted(&self, rounds: &mut Rounds) {
        let now = self.parts.runtime.clock.instant();
        if rounds.changed.is_none_or(|changed| now - changed < SYNC_LIMIT) {
            return;
        }
        rounds.changed = None;
        let kinds = self.kinds();
        let is_unlisted = |kind: &Kind| !kind.is_listed() && kind.lacked.is_none();
        let unlisted: Vec<_> =
            kinds.iter().filter(|(_, kind)| is_unlisted(kind)).map(|(it, _)| it).collect();
        if !unlisted.is_empty() {
            let named: Vec<_> =
                unlisted.iter().take(UNLISTED_NAMED_MAX).map(ToString::to_string).collect();
            let (count, such_as) = (unlisted.len(), named.join(", "));
            tracing::warn!(count, such_as, "some kinds could not be listed yet");
            self.count_error();
        }
    }

    /// Stops the kinds that are no longer served, and starts the new ones.
    fn apply(&self, served: &Served, now: Instant) {
        let wanted = wanted(served);
        let removed = self.take_removed(served, &wanted, now);
        let new = |resource: &&Resource| !self.kinds().contains_key(*resource);
        let new: Vec<_> = wanted.iter().filter(new).collect();
        let (started, stopped, watched) = (new.len(), removed.len(), wanted.len());
        if started + stopped > 0 {
            tracing::info!(started, stopped, watched, "the watched kinds changed");
        }
        for (resource, kind) in removed {
            let version = &*resource.version;
            tracing::debug!(%resource, version, "the kind is no longer served");
            kind.stop(&resource, &self.hooks);
        }
        for resource in new {
            self.begin(resource);
        }
    }

    /// Removes the kinds that are no longer watched.
    fn take_removed(
        &self,
        served: &Served,
        wanted: &BTreeSet<Resource>,
        now: Instant,
    ) -> Vec<(Resource, Kind)> {
        let names: BTreeSet<_> = wanted.iter().map(name).collect();
        let mut undefined = self.hooks.undefined();
        let mut kinds = self.kinds_mut();
        let is_gone = |resource: &Resource, kind: &mut Kind| {
            if names.contains(&name(resource)) {
                kind.lacked = None;
                // A version stays until another one has replaced it. Handlers know nothing of a
                // version that was still waiting to replace another one.
                let is_preferred = wanted.contains(resource);
                let is_rewound = !kind.is_shared && kind.informer.is_rewound();
                let goes_first = mutant::is(Mutant::VersionDropsFirst);
                return if is_preferred { is_rewound } else { !kind.leads || goes_first };
            }
            if kind.leads && served.failed.contains_key(&resource.api_version()) {
                kind.lacked = None;
                return false;
            }
            let since = *kind.lacked.get_or_insert(now);
            let is_undefined = undefined.contains(&*definition(resource));
            let is_unlisted = now.saturating_duration_since(since) >= LACKED_MAX;
            is_undefined || !kind.leads || is_unlisted || mutant::is(Mutant::LackedIsGone)
        };
        let removed = kinds.extract_if(.., is_gone).collect();
        if !undefined.is_empty() {
            // Discovery may still list them.
            let watched: BTreeSet<_> = kinds.keys().map(definition).collect();
            undefined.retain(|name| watched.contains(&**name));
        }
        removed
    }

    /// Starts a kind, as the replacement of another version of it if there is one.
    fn begin(&self, resource: &Resource) {
        let mut kind = self.kind(resource);
        // The kind is visible before its informer starts: handlers may ask for its version.
        let mut kinds = self.kinds_mut();
        let before = kinds.values().find(|it| it.leads && name(it.resource()) == name(resource));
        let Some(before) = before else {
            return kinds
                .entry(resource.clone())
                .or_insert(kind)
                .start(&self.hooks, &self.listening);
        };
        let from = &*before.resource().version;
        tracing::info!(%resource, from, to = &*resource.version, "another version is preferred");
        let handover = Handover {
            new: Arc::clone(&kind.informer),
            old: Arc::clone(&before.informer),
            old_gate: Arc::clone(&before.gate),
            old_alone: before.alone(),
            kinds: Arc::clone(&self.kinds),
            clock: self.parts.runtime.clock.clone(),
            cancel: kind.cancel.clone(),
            listening: self.listening.clone(),
        };
        kind.leads = false;
        kinds.entry(resource.clone()).or_insert(kind).start_after(handover, &self.hooks);
    }

    fn kind(&self, resource: &Resource) -> Kind {
        let Parts { client, runtime, streams, metrics, .. } = &self.parts;
        let runtime = Runtime { cancel: runtime.cancel.child_token(), ..runtime.clone() };
        let shared = self.shared.get().and_then(|shared| shared.get(resource));
        let is_shared = shared.is_some();
        let informer = if let Some(informer) = shared {
            Arc::clone(informer)
        } else {
            let metrics = metrics.as_ref().filter(|_| Metrics::counts(resource));
            let all = Selection::whole(resource.clone());
            let shape = Shape::of::<Metadata>();
            let informer = Informer::of(all, shape, client.clone(), runtime.clone());
            let informer = informer.with_streams(*streams).with_metrics(metrics);
            let informer = informer.counting_panics(self.parts.metrics.as_ref());
            Arc::new(informer.with_lists(Arc::clone(&self.lists)))
        };
        Kind::new(informer, is_shared, runtime.cancel)
    }

    fn count_error(&self) {
        if let Some(errors) = &self.parts.sync_errors {
            errors.inc();
        }
    }

    fn kinds(&self) -> RwLockReadGuard<'_, BTreeMap<Resource, Kind>> {
        self.kinds.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn kinds_mut(&self) -> RwLockWriteGuard<'_, BTreeMap<Resource, Kind>> {
        self.kinds.write().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The kinds to watch.
fn wanted(served: &Served) -> BTreeSet<Resource> {
    let is_ignored = |it: &Resource| IGNORED.contains(&(&*it.group, &*it.plural));
    served.preferred(VERBS).filter(|it| !is_ignored(it)).cloned().collect()
}

/// The part of a resource that all its versions share.
fn name(resource: &Resource) -> (&str, &str) {
    (&resource.group, &resource.plural)
}

/// Whether objects of this kind define what the API server will serve.
fn is_definition(resource: &Resource) -> bool {
    DEFINITIONS == name(resource)
}

/// The name of the CustomResourceDefinition that may define such a kind.
fn definition(resource: &Resource) -> String {
    format!("{}.{}", resource.plural, resource.group)
}

/// Whether kinds or missing groups differ. The error texts of missing groups vary, so they do not
/// count.
fn differ(before: &Served, served: &Served) -> bool {
    before.kinds != served.kinds || !before.failed.keys().eq(served.failed.keys())
}

impl Source for Discovery {
    fn served(&self) -> BoxFuture<'_, Result<Arc<Served>, ApiError>> {
        Box::pin(Self::served(self))
    }
}

// === impl Hooks ===

impl Hooks {
    fn changed(&self, resource: &Resource, change: &MetadataChange<'_>) {
        for handler in &*self.changed.read().unwrap_or_else(PoisonError::into_inner) {
            fence(|| handler(resource, change));
        }
    }

    fn note_definition(&self, change: &MetadataChange<'_>) {
        match change {
            MetadataChange::Added(meta) => drop(self.undefined().remove(&meta.key.name)),
            MetadataChange::Deleted(meta) => {
                let mut undefined = self.undefined();
                if undefined.len() < UNDEFINED_MAX {
                    undefined.insert(meta.key.name.clone());
                }
            }
            MetadataChange::Updated { .. } | MetadataChange::Complete | MetadataChange::Dropped => {
            }
        }
    }

    fn undefined(&self) -> MutexGuard<'_, BTreeSet<Text>> {
        self.undefined.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn reached(&self, resource: &Resource, version: u64) {
        for hook in &*self.reached.read().unwrap_or_else(PoisonError::into_inner) {
            fence(|| hook(resource, version));
        }
    }

    fn served(&self, served: &Arc<Served>) {
        for hook in &*self.served.read().unwrap_or_else(PoisonError::into_inner) {
            fence(|| hook(served));
        }
    }
}

fn fence(body: impl FnOnce()) {
    if let Err(panic) = fenced(body) {
        tracing::error!(panic = panic.0, "a handler of all kinds panicked");
    }
}

// === impl Logged ===

impl Logged {
    /// Logs what is new.
    fn log(&mut self, served: &Result<Arc<Served>, String>) {
        match served {
            Err(error) => {
                if self.error.as_ref() != Some(error) {
                    let text = "cannot discover the API server's kinds, those known stay watched";
                    tracing::warn!(error, "{text}");
                    self.error = Some(error.clone());
                }
            }
            Ok(served) => {
                if self.error.take().is_some() {
                    tracing::info!("discovery succeeds again");
                }
                for (group, error) in &served.failed {
                    if !self.missing.contains(group) {
                        let text = "cannot discover a group; its kinds stay as they were known";
                        tracing::warn!(group, error, "{text}");
                    }
                }
                self.missing = served.failed.keys().cloned().collect();
            }
        }
    }
}
