//! The workers: from a key in the queue to its plan, its writes and its next turn.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
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

use crate::act::Act;
use crate::events::Recorder;
use crate::expectations::LIMIT;
use crate::metrics::Histograms;
use crate::{Expectations, Metrics, Settled};

/// How often a plan may ask for live reads before its key is tried again later.
const FETCH_ROUNDS_MAX: usize = 4;
/// How long a cache may take to be complete before the log says so.
const SYNC_NOTICE: Duration = Duration::from_secs(30);
/// How long after the process is asked to stop a worker may take to end its sync.
const DRAIN_LIMIT: Duration = Duration::from_secs(5);

/// Runs one controller.
pub struct Engine<C: Controller> {
    controller: C,
    /// The kind that its keys name.
    own: Resource,
    workers: usize,
    queue: Queue<Key>,
    act: Act,
    kinds: Arc<Kinds>,
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
    listers: Listers,
    informers: BTreeMap<Resource, Arc<dyn AnyInformer>>,
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
    Failed(String),
}

impl<C: Controller> Engine<C> {
    /// Builds the engine and subscribes it to the kinds of its watch table. To be called before the
    /// informers start.
    pub fn new(controller: C, parts: Parts, factory: &mut SharedInformerFactory) -> Arc<Self> {
        let mut collect = Collect { factory, kinds: Kinds::default() };
        C::watches(&mut collect);
        let kinds = Arc::new(collect.kinds);
        let Parts { name, own, workers, queue, client, recorder, runtime, metrics } = parts;
        let histograms = metrics.histograms(C::HISTOGRAMS);
        let act = Act {
            controller: name,
            client,
            recorder,
            expectations: Mutex::default(),
            doubts: Mutex::default(),
            kinds: Arc::clone(&kinds),
            runtime,
            metrics,
        };
        let engine = Arc::new(Self { controller, own, workers, queue, act, kinds, histograms });
        C::watches(&mut Subscribe { factory, engine: &engine });
        engine
    }

    /// Runs the workers once the caches are complete, until the process is asked to stop.
    pub async fn run(self: Arc<Self>) {
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
        let workers: Vec<_> =
            (0..self.workers).map(|_| runtime::spawn("worker", Arc::clone(&self).work())).collect();
        cancel.cancelled().await;
        self.queue.shut_down();
        let aborts: Vec<_> = workers.iter().map(Task::abort_handle).collect();
        let all = futures::future::join_all(workers);
        if self.act.runtime.clock.timeout(DRAIN_LIMIT, all).await.is_err() {
            tracing::warn!(controller = self.act.controller, "workers did not stop in time");
            // Or they would write more once their request is answered, when others may lead.
            aborts.iter().for_each(AbortHandle::abort);
        }
        self.act.recorder.stopped().await;
    }

    /// Waits for the caches, and says every now and then which of them it still waits for.
    async fn synced(&self) {
        for (resource, informer) in &self.kinds.informers {
            let mut synced = informer.watch_synced();
            let clock = &self.act.runtime.clock;
            // An error says that the informer is gone, which cannot be: we hold it.
            while clock.timeout(SYNC_NOTICE, synced.wait_for(|synced| *synced)).await.is_err() {
                let controller = self.act.controller;
                tracing::warn!(controller, %resource, "still waiting for the cache to be complete");
            }
        }
    }

    async fn work(self: Arc<Self>) {
        while let Some(key) = self.queue.get().await {
            if self.act.runtime.cancel.is_cancelled() {
                return;
            }
            let span = tracing::info_span!("sync", controller = self.act.controller, key = %*key);
            self.sync_fenced(&key).instrument(span).await;
        }
    }

    /// One sync, and the one switch over how it went.
    async fn sync_fenced(&self, key: &Key) {
        let synced = fenced_async(self.sync(key)).await.unwrap_or_else(|panic| {
            self.act.metrics.panics.with_label_values(&[self.act.controller]).inc();
            Synced::Failed(format!("panic: {}", panic.0))
        });
        match synced {
            Synced::Gone => {
                self.expectations().forget(key);
                self.queue.forget(key);
            }
            Synced::Done(again) => {
                self.queue.forget(key);
                if let Some(delay) = again {
                    self.queue.add_after(key.clone(), delay);
                }
            }
            // The caches wake it; this is for the case that they never do.
            Synced::Unsettled => {
                self.queue.forget(key);
                self.queue.add_after(key.clone(), LIMIT + Duration::from_secs(1));
            }
            Synced::Failed(error) => {
                tracing::warn!(
                    error,
                    retries = self.queue.num_requeues(key),
                    "sync failed, will be retried"
                );
                self.queue.add_rate_limited(key.clone());
            }
        }
    }

    async fn sync(&self, key: &Key) -> Synced {
        if let Err(error) = self.act.clear_doubts(key).await {
            return Synced::Failed(format!("cannot tell whether the last write was done: {error}"));
        }
        // Before the caches are read: what settles in between is at worst looked at once more.
        let settled = self.expectations().settled(key, &self.own, self.act.runtime.clock.instant());
        if settled == Settled::NotSelf {
            return Synced::Unsettled;
        }
        let started = self.act.runtime.clock.instant();
        let snapshot = {
            let view = View::new(self.act.runtime.clock.now(), &self.kinds.listers);
            self.controller.observe(key, &view)
        };
        let Some(snapshot) = snapshot else { return Synced::Gone };
        let (outcome, again) = if settled == Settled::Yes {
            let Some(plan) = self.decide(&snapshot).await else {
                return Synced::Failed("still asks for live reads after four rounds".to_owned());
            };
            tracing::debug!(why = %plan.why, steps = plan.steps.len(), "decided");
            self.histograms.add(&plan.samples);
            let outcome = self.act.act(key, &plan).await;
            if !plan.is_rest() {
                let error = outcome.error.as_deref();
                tracing::info!(why = %plan.why, actions = plan.actions(), error, "acted");
            }
            (outcome, plan.again)
        } else {
            (Outcome { unsettled: true, error: None }, None)
        };
        if let Some(status) = self.controller.report(&snapshot, &outcome)
            && let Err(error) = self.act.update_status(key, &status).await
        {
            return Synced::Failed(format!("cannot write the status: {error}"));
        }
        match outcome.error {
            Some(error) => Synced::Failed(error),
            None if outcome.unsettled => Synced::Unsettled,
            // The plan counts from the snapshot.
            None => Synced::Done(
                again.map(|delay| delay.saturating_sub(self.act.runtime.clock.instant() - started)),
            ),
        }
    }

    /// Decides, with the live reads that the plan asks for. None if it asks for too many.
    async fn decide(&self, snapshot: &C::Snapshot) -> Option<Plan> {
        let mut facts = Facts::default();
        let mut rounds = 0..FETCH_ROUNDS_MAX;
        loop {
            let plan = self.controller.decide(snapshot, &facts);
            let queries = plan.steps.iter().find_map(|step| match step {
                Step::Fetch(queries) => Some(queries.clone()),
                Step::InOrder(_) | Step::Together(_) | Step::SlowStart(_) => None,
            });
            let Some(queries) = queries else { return Some(plan) };
            rounds.next()?;
            self.act.fetch(&queries, &mut facts).await;
        }
    }

    /// A change in the cache: first what it settles, then whom it wakes.
    fn changed<T: Kind>(&self, handler: Handler<C, T>, change: &Change<T>) {
        let seen = change.seen();
        self.reached(&T::RESOURCE, seen.version);
        if let Some(uid) = seen.gone {
            let settled = self.expectations().gone(&T::RESOURCE, &uid);
            for key in settled {
                self.queue.add(key);
            }
        }

        let mut wake = Wake::default();
        let view = View::new(self.act.runtime.clock.now(), &self.kinds.listers);
        handler(&self.controller, change, &view, &mut wake);
        for call in wake.calls {
            match call {
                Call::Now(key) => self.queue.add(key),
                Call::After(key, delay) => self.queue.add_after(key, delay),
                Call::Forget(key) => {
                    self.expectations().forget(&key);
                    self.queue.add(key);
                }
            }
        }
    }

    pub(crate) fn reached(&self, resource: &Resource, version: u64) {
        let settled = self.expectations().reached(resource, version);
        for key in settled {
            self.queue.add(key);
        }
    }

    fn expectations(&self) -> MutexGuard<'_, Expectations> {
        self.act.expectations.lock().unwrap_or_else(PoisonError::into_inner)
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
