//! The workers: from a key in the queue to its plan, its writes and its next turn.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use api::{Key, Kind, Resource};
use cache::{AnyInformer, Listers, SharedInformerFactory};
use client::Client;
use controller::{
    Call, Change, Controller, Facts, Handler, ObjectRef, Outcome, Plan, Step, View, Wake, Watches,
};
use runtime::{Runtime, Task, fenced_async};
use tokio::task::AbortHandle;
use tracing::Instrument;
use workqueue::Queue;

use crate::act::{self, Act};
use crate::events::Recorder;
use crate::expectations::LIMIT;
use crate::metrics::Histograms;
use crate::record::Alive;
use crate::{Metrics, Record, Settled};

/// How often a plan may ask for live reads before its key is tried again later.
const FETCH_ROUNDS_MAX: usize = 4;
/// How long a cache may take to be complete before the log says so.
const SYNC_NOTICE: Duration = Duration::from_secs(30);
/// How often in a row a key may fail since its object has changed meanwhile, until that is worth a
/// warning. Once is usual: somebody else wrote between our look and our write.
const CONFLICTS_USUAL: u32 = 5;
/// The API server's word for that.
const CONFLICT: &str = "Conflict";
/// The error of a sync whose plans never have enough.
pub(crate) const TOO_MANY_FETCHES: &str = "still asks for live reads after four rounds";

/// Runs one controller.
pub struct Engine<C: Controller> {
    pub(crate) controller: C,
    /// The kind that its keys name.
    pub(crate) own: Resource,
    pub(crate) workers: usize,
    pub(crate) queue: Queue<Key>,
    pub(crate) act: Act,
    drain_limit: Duration,
    histograms: Histograms,
}

/// What an engine is built from, besides its controller.
pub struct Parts {
    /// The controller's canonical name.
    pub name: &'static str,
    /// The kind that its keys name.
    pub own: Resource,
    /// How many keys are worked on at once.
    pub workers: usize,
    /// The keys to look at.
    pub queue: Queue<Key>,
    /// How long after the process is asked to stop a worker may take to end its sync. Zero: as long
    /// as it takes.
    pub drain_limit: Duration,
    /// As whom it writes.
    pub client: Client,
    /// Where its Events go.
    pub recorder: Recorder,
    /// Time, randomness and the end.
    pub runtime: Runtime,
    /// Counters.
    pub metrics: Metrics,
}

/// The kinds that a controller reads.
#[derive(Default)]
pub(crate) struct Kinds {
    pub(crate) listers: Listers,
    pub(crate) informers: BTreeMap<Resource, Arc<dyn AnyInformer>>,
}

/// Finds the kinds of a watch table.
struct Collect<'a> {
    factory: &'a mut SharedInformerFactory,
    kinds: Kinds,
}

/// Connects the handlers of a watch table.
struct Subscribe<'a, C: Controller> {
    factory: &'a mut SharedInformerFactory,
    engine: &'a Arc<Engine<C>>,
}

/// How a sync went, for the one switch over it.
enum Synced {
    /// The object is gone.
    Gone,
    /// Well; look again after the delay, if there is one.
    Done(Option<Duration>),
    /// The caches are behind; they wake the key.
    Unsettled,
    /// Try again with back-off.
    Failed(Failed),
}

/// Why a sync failed.
struct Failed {
    error: String,
    /// The object has changed since it was looked at.
    is_conflict: bool,
}

impl<C: Controller> Engine<C> {
    /// Builds the engine and subscribes it to the kinds of its watch table. To be called before the
    /// informers start.
    pub fn new(controller: C, parts: Parts, factory: &mut SharedInformerFactory) -> Arc<Self> {
        let mut collect = Collect { factory, kinds: Kinds::default() };
        C::watches(&mut collect);
        let kinds = collect.kinds;
        let Parts { name, own, workers, queue, drain_limit, client, recorder, runtime, metrics } =
            parts;
        let histograms = metrics.histograms(C::HISTOGRAMS);
        let act = Act {
            controller: name,
            client,
            recorder,
            expectations: Mutex::default(),
            doubts: Mutex::default(),
            kinds,
            record: Arc::new(Record::new(runtime.clock.clone())),
            counters: metrics.counters(C::COUNTERS),
            runtime,
            metrics,
        };
        let engine = Self { controller, own, workers, queue, act, drain_limit, histograms };
        let engine = Arc::new(engine);
        C::watches(&mut Subscribe { factory, engine: &engine });
        engine
    }

    /// Runs the workers once the caches are complete, until the process is asked to stop. Then they
    /// end the syncs that are under way, within the drain limit, and begin none.
    pub async fn run(self: Arc<Self>) {
        let _started = self.act.record.started();
        let cancel = self.act.runtime.cancel.clone();
        tokio::select! {
            biased;
            () = cancel.cancelled() => return,
            () = self.synced() => {}
        }
        tracing::info!(
            controller = self.act.controller,
            workers = self.workers,
            "starting workers"
        );
        for seed in C::SEEDS {
            self.queue.add(Key::parse(seed));
        }
        let worker = |_| {
            let alive = self.act.record.alive();
            runtime::spawn("worker", Arc::clone(&self).work(alive))
        };
        let workers: Vec<_> = (0..self.workers).map(worker).collect();
        self.act.record.running();
        cancel.cancelled().await;
        self.queue.shut_down();
        let aborts: Vec<_> = workers.iter().map(Task::abort_handle).collect();
        let all = futures::future::join_all(workers);
        if self.drain_limit.is_zero() {
            all.await;
        } else if self.act.runtime.clock.timeout(self.drain_limit, all).await.is_err() {
            tracing::warn!(controller = self.act.controller, "workers did not stop in time");
            // Or they would write more once their request is answered, when others may lead.
            aborts.iter().for_each(AbortHandle::abort);
        }
        self.act.recorder.finish().await;
    }

    /// Waits for the caches, and says every now and then which of them it still waits for.
    async fn synced(&self) {
        for (resource, informer) in &self.act.kinds.informers {
            let mut synced = informer.watch_synced();
            let clock = &self.act.runtime.clock;
            // An error says that the informer is gone, which cannot be: we hold it.
            while clock.timeout(SYNC_NOTICE, synced.wait_for(|synced| *synced)).await.is_err() {
                let controller = self.act.controller;
                tracing::warn!(controller, %resource, "still waiting for the cache to be complete");
            }
        }
    }

    async fn work(self: Arc<Self>, _alive: Alive) {
        while let Some(key) = self.queue.get().await {
            if self.act.runtime.cancel.is_cancelled() {
                return;
            }
            let span = tracing::info_span!("sync", controller = self.act.controller, key = %*key);
            let _working = self.act.record.working(&key);
            self.sync_fenced(&key).instrument(span).await;
        }
    }

    /// One sync, and the one switch over how it went.
    async fn sync_fenced(&self, key: &Key) {
        let synced = fenced_async(self.sync(key)).await.unwrap_or_else(|panic| {
            self.act.record.panicked();
            self.act.metrics.panics.with_label_values(&[self.act.controller]).inc();
            Synced::failed(format!("panic: {}", panic.0))
        });
        match synced {
            Synced::Gone => {
                self.act.expectations().forget(key);
                self.forget(key);
            }
            Synced::Done(again) => {
                self.forget(key);
                if let Some(delay) = again {
                    self.queue.add_after(key.clone(), delay);
                }
            }
            // The caches wake it; this is for the case that they never do.
            Synced::Unsettled => {
                self.forget(key);
                self.queue.wake_after(key.clone(), LIMIT + Duration::from_secs(1));
            }
            Synced::Failed(Failed { error, .. }) if self.is_given_up(key) => {
                tracing::warn!(error, "sync failed too often, dropped until something changes");
                self.act.record.failed(key, self.queue.num_requeues(key) + 1, &error);
                self.forget(key);
            }
            Synced::Failed(Failed { error, is_conflict }) => {
                let retries = self.queue.num_requeues(key);
                if is_conflict && retries < CONFLICTS_USUAL {
                    tracing::debug!(error, retries, "the object has changed, will be retried");
                } else {
                    tracing::warn!(error, retries, "sync failed, will be retried");
                }
                self.act.record.failed(key, retries + 1, &error);
                self.queue.add_rate_limited(key.clone());
            }
        }
    }

    /// Whether it has failed too often to be tried again.
    fn is_given_up(&self, key: &Key) -> bool {
        C::RETRIES_MAX.is_some_and(|max| self.queue.num_requeues(key) >= max)
    }

    /// Its failures, if there were any, are over.
    fn forget(&self, key: &Key) {
        self.queue.forget(key);
        self.act.record.succeeded(key);
    }

    async fn sync(&self, key: &Key) -> Synced {
        if let Err(error) = self.act.clear_doubts(key).await {
            return Synced::failed(format!("cannot tell whether the last write was done: {error}"));
        }
        // Before the caches are read: what settles in between is at worst looked at once more.
        let settled =
            self.act.expectations().settled(key, &self.own, self.act.runtime.clock.instant());
        if settled == Settled::NotSelf {
            return Synced::Unsettled;
        }
        let started = self.act.runtime.clock.instant();
        let snapshot = {
            let view = View::new(self.act.runtime.clock.now(), &self.act.kinds.listers);
            self.controller.observe(key, &view)
        };
        let Some(snapshot) = snapshot else { return Synced::Gone };
        let (outcome, again) = if settled == Settled::Yes {
            let client = self.act.client(key);
            let mut facts = Facts::default();
            let Some(plan) = self.decide(&client, &snapshot, &mut facts).await else {
                return Synced::failed(TOO_MANY_FETCHES.to_owned());
            };
            tracing::debug!(why = %plan.why, steps = plan.steps.len(), "decided");
            self.histograms.add(&plan.samples);
            let outcome = self.act.act(key, &plan).await;
            if outcome.unsettled && self.act.runtime.cancel.is_cancelled() {
                tracing::info!(why = %plan.why, "stopped before all of it was written");
                return Synced::Unsettled;
            }
            if !plan.is_rest() {
                let error = outcome.error.as_deref();
                self.act.record.acted(key, &plan, error);
                tracing::info!(why = %plan.why, actions = plan.actions(), error, "acted");
            }
            (outcome, plan.again)
        } else {
            (Outcome { unsettled: true, ..Outcome::default() }, None)
        };
        if let Some(status) = self.controller.report(&snapshot, &outcome)
            && let Err(error) = self.act.update_status(key, &status).await
        {
            let is_conflict = error.status().is_some_and(|status| status.reason == CONFLICT);
            let error = format!("cannot write the status: {error}");
            return Synced::Failed(Failed { error, is_conflict });
        }
        match outcome.error {
            Some(error) => {
                let is_conflict = outcome.reason == CONFLICT;
                Synced::Failed(Failed { error, is_conflict })
            }
            None if outcome.unsettled => Synced::Unsettled,
            // The plan counts from the snapshot.
            None => Synced::Done(
                again.map(|delay| delay.saturating_sub(self.act.runtime.clock.instant() - started)),
            ),
        }
    }

    /// Decides, with the live reads that the plan asks for. None if it asks for too many.
    pub(crate) async fn decide(
        &self,
        client: &Client,
        snapshot: &C::Snapshot,
        facts: &mut Facts,
    ) -> Option<Plan> {
        let mut rounds = 0..FETCH_ROUNDS_MAX;
        loop {
            let plan = self.controller.decide(snapshot, facts);
            let queries = plan.steps.iter().find_map(|step| match step {
                Step::Fetch(queries) => Some(queries.clone()),
                Step::InOrder(_) | Step::Together(_) | Step::SlowStart(_) | Step::Chains(_) => None,
            });
            let Some(queries) = queries else { return Some(plan) };
            rounds.next()?;
            act::fetch(client, &queries, facts).await;
        }
    }

    /// A change in the cache: first what it settles, then whom it wakes.
    fn changed<T: Kind>(&self, handler: Handler<C, T>, change: &Change<T>) {
        let seen = change.seen();
        self.reached(&T::RESOURCE, seen.version);
        if let Some(uid) = seen.gone {
            let settled = self.act.expectations().gone(&T::RESOURCE, &uid);
            for key in settled {
                self.queue.add(key);
            }
        }

        let mut wake = Wake::default();
        let view = View::new(self.act.runtime.clock.now(), &self.act.kinds.listers);
        handler(&self.controller, change, &view, &mut wake);
        for call in wake.calls {
            match call {
                Call::Now(key) => self.queue.add(key),
                Call::After(key, delay) => self.queue.add_after(key, delay),
                Call::Forget(key) => {
                    self.act.expectations().forget(&key);
                    self.queue.add(key);
                }
            }
        }
    }

    pub(crate) fn reached(&self, resource: &Resource, version: u64) {
        let settled = self.act.expectations().reached(resource, version);
        for key in settled {
            self.queue.add(key);
        }
    }
}

// === impl Synced ===

impl Synced {
    fn failed(error: String) -> Self {
        Self::Failed(Failed { error, is_conflict: false })
    }
}

// === impl Kinds ===

impl Kinds {
    /// How far the cache of a kind has come; none if the controller does not read it.
    pub(crate) fn version_of(&self, resource: &Resource) -> Option<u64> {
        self.informers.get(resource).map(|informer| informer.version())
    }

    /// Whether the cache holds this very object, and not as terminating.
    pub(crate) fn holds(&self, object: &ObjectRef) -> bool {
        let informer = self.informers.get(&object.resource);
        informer.is_some_and(|informer| informer.holds(&object.key, &object.uid))
    }
}

impl<C> Watches<C> for Collect<'_> {
    fn on<T: Kind>(&mut self, _: Handler<C, T>) {
        let informer = self.factory.informer::<T>();
        self.kinds.listers.add(informer.lister());
        self.kinds.informers.insert(T::RESOURCE, informer);
    }
}

// === impl Subscribe ===

impl<C: Controller> Watches<C> for Subscribe<'_, C> {
    fn on<T: Kind>(&mut self, handler: Handler<C, T>) {
        let informer = self.factory.informer::<T>();
        // Weak: the engine holds the informers, which hold these.
        let engine = Arc::downgrade(self.engine);
        informer.add_handler(Box::new(move |change: &Change<T>| {
            if let Some(engine) = engine.upgrade() {
                engine.changed(handler, change);
            }
        }));
        let engine = Arc::downgrade(self.engine);
        informer.on_version(Box::new(move |version| {
            if let Some(engine) = engine.upgrade() {
                engine.reached(&T::RESOURCE, version);
            }
        }));
    }
}
