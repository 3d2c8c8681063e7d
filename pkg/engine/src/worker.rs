//! The workers: from a key in the queue to its plan, its writes and its requeue.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use api::{Key, Resource, Text};
use cache::{Selection, SharedInformerFactory};
use client::Client;
use cloud::Cloud;
use controller::{
    Answer, Call, Controller, Count, Deletion, Ended, Enqueue, Facts, MetadataChange, Outcome,
    Plan, Query, Shape, Shared, View,
};
use discovery::Discovery;
use futures::future::BoxFuture;
use mutant::Mutant;
use runtime::{Runtime, Task, fenced, fenced_async};
use tokio::task::AbortHandle;
use tracing::Instrument;
use workqueue::Queue;

use crate::act::Act;
use crate::door::{Constants, Door, Opaque, Typed};
use crate::events::Recorder;
use crate::provider::Provider;
use crate::read::Doors;
use crate::record::Alive;
use crate::shadow::Shadow;
use crate::telemetry::Became;
use crate::{Metrics, Phase, Record, Settled, read};

/// How often a plan may collect for live reads before its key is requeued with back-off.
pub(crate) const FETCH_ROUNDS_MAX: usize = 8;
/// How long the first start waits for kinds that are only known at run time. One kind that cannot
/// be listed must not keep a controller from all the others. As upstream's initial sync timeout of
/// the garbage collector.
const EVERYTHING_LIMIT: Duration = Duration::from_secs(30);
/// How often the first start looks meanwhile whether such a kind is served at all.
const OPTIONAL_INTERVAL: Duration = Duration::from_secs(1);
/// How long a cache may take to be complete before the log says so.
const SYNC_NOTICE: Duration = Duration::from_secs(30);
/// How often in a row a key may fail with a conflict before that is logged as a warning. One
/// conflict is normal: another client wrote between our read and our write.
const CONFLICTS_USUAL: u32 = 5;
/// The API server's reason for that.
const CONFLICT: &str = "Conflict";
/// The error of a sync whose plan keeps asking for live reads.
pub(crate) const TOO_MANY_FETCHES: &str = "still asks for live reads after eight rounds";

/// Calls a handler with a change, and collects the keys that the change enqueues.
pub(crate) type Ask<'a> = &'a dyn Fn(&View<'_>, &mut Enqueue);

/// Runs one controller.
pub struct Engine {
    pub(crate) controller: Arc<dyn Door>,
    /// What the controller declares.
    constants: Constants,
    /// The kind of the objects that its keys name, if they name objects.
    pub(crate) own: Option<Resource>,
    pub(crate) workers: usize,
    pub(crate) queue: Queue<Key>,
    pub(crate) act: Act,
    drain_limit: Duration,
    /// Set if it does not act.
    pub(crate) shadow: Option<Shadow>,
    /// Connects the handlers of its watch table; taken at the start.
    subscriptions: Mutex<Vec<BoxFuture<'static, ()>>>,
}

/// The parts of an engine, besides its controller.
pub struct Parts {
    /// The controller's canonical name.
    pub name: &'static str,
    /// The kind of the objects that its keys name, if they name objects.
    pub own: Option<Resource>,
    /// The number of keys that are synced at once.
    pub workers: usize,
    /// The workqueue.
    pub queue: Queue<Key>,
    /// How long after the start of the shutdown a worker may take to finish its sync. Zero: no
    /// limit.
    pub drain_limit: Duration,
    /// The client of the controller's user.
    pub client: Client,
    /// Where its Events go. The code that starts it must finish it: engines may share it.
    pub recorder: Recorder,
    /// The cloud; none: plans that ask it find that there is none.
    pub cloud: Option<Arc<dyn Cloud>>,
    /// Set for a shadow, which does not act: how long the manager in charge has for each write.
    pub shadow: Option<Duration>,
    /// Clock, randomness and cancellation.
    pub runtime: Runtime,
    /// Counters.
    pub metrics: Metrics,
}

/// The result of a sync.
pub(crate) enum Synced {
    /// The object was deleted.
    Deleted,
    /// Success; requeue after the delay, if there is one.
    Done(Option<Duration>),
    /// The caches are stale; they will enqueue the key.
    Unsettled,
    /// Requeue with back-off.
    Failed(Failed),
}

/// The snapshot and verdict of a sync, as far as it got.
#[derive(Default)]
pub(crate) struct Seen {
    pub(crate) snapshot: Option<Opaque>,
    pub(crate) verdict: Option<Opaque>,
}

/// The result of acting in a sync.
struct Done {
    outcome: Outcome,
    /// Of the last plan, if there was one.
    verdict: Option<Opaque>,
    /// When to requeue.
    again: Option<Duration>,
    /// Whether the error is logged at debug only.
    quiet: bool,
}

/// Why a sync failed.
pub(crate) struct Failed {
    error: String,
    /// The object has changed since it was read.
    is_conflict: bool,
    /// No warning is due.
    quiet: bool,
    /// The HTTP code of the response, if there was one.
    code: Option<u16>,
}

impl Engine {
    /// Builds the engine over the kinds of its watch table. Several engines of one controller share
    /// its memory. Must be called before the informers start.
    pub fn new<C: Controller>(
        controller: C,
        memory: Arc<Shared<C::Memory>>,
        parts: Parts,
        factory: &mut SharedInformerFactory,
    ) -> Arc<Self> {
        Self::behind(Arc::new(Typed { controller, memory }), parts, factory)
    }

    fn behind(
        controller: Arc<dyn Door>,
        parts: Parts,
        factory: &mut SharedInformerFactory,
    ) -> Arc<Self> {
        let (kinds, constants) = (controller.kinds(factory), controller.constants());
        let Parts { name, own, workers, queue, drain_limit, client, .. } = parts;
        let Parts { recorder, cloud, shadow, runtime, metrics, .. } = parts;
        let shadow = shadow.map(|grace| Shadow::new(grace, metrics.shadow(name)));
        let act = Act {
            controller: name,
            discovery: Discovery::new(client.clone()),
            client,
            reader: factory.metadata_client().clone(),
            recorder,
            provider: Provider::new(cloud, runtime.clock.clone()),
            expectations: Mutex::default(),
            ambiguous_writes: Mutex::default(),
            kinds,
            record: Arc::new(Record::new(runtime.clock.clone())),
            telemetry: metrics.telemetry(constants.metrics, &runtime.clock),
            runtime,
            metrics,
        };
        let engine = Arc::new(Self {
            controller: Arc::clone(&controller),
            constants,
            own,
            workers,
            queue,
            act,
            drain_limit,
            shadow,
            subscriptions: Mutex::default(),
        });
        *engine.subscriptions() = controller.subscriptions(factory, &Arc::downgrade(&engine));
        if engine.constants.metrics.iter().any(|family| family.shape == Shape::Gauge) {
            let weak = Arc::downgrade(&engine);
            let gauges = move || weak.upgrade().map(|engine| engine.gauges()).unwrap_or_default();
            engine.act.metrics.gauged_by(Box::new(gauges));
        }
        engine
    }

    /// Runs the workers once the caches are complete, until the process shuts down. Then they
    /// finish the syncs in progress, within the drain limit, and begin no others.
    ///
    /// Handlers are connected only then, and are first notified of all objects as added; upstream's
    /// informers also start when the process leads. So changes during months on a standby are
    /// neither queued nor remembered.
    pub async fn run(self: Arc<Self>) {
        let _started = self.act.record.started();
        let cancel = self.act.runtime.cancel.clone();
        tokio::select! {
            biased;
            () = cancel.cancelled() => return,
            () = self.prepare() => {}
        }
        tracing::info!(
            controller = self.act.controller,
            workers = self.workers,
            "starting workers"
        );
        for seed in self.constants.seeds {
            self.queue.add(Key::parse(seed));
        }
        let worker = |_| {
            let alive = self.act.record.alive();
            runtime::spawn("worker", Arc::clone(&self).work(alive))
        };
        let workers: Vec<_> = (0..self.workers).map(worker).collect();
        self.act.record.running();
        tokio::select! {
            biased;
            () = cancel.cancelled() => {}
            () = self.enqueue_overdue() => {}
        }
        self.queue.shut_down();
        let aborts: Vec<_> = workers.iter().map(Task::abort_handle).collect();
        let all = futures::future::join_all(workers);
        if self.drain_limit.is_zero() {
            all.await;
        } else if self.act.runtime.clock.timeout(self.drain_limit, all).await.is_err() {
            tracing::warn!(controller = self.act.controller, "workers did not stop in time");
            // Otherwise they would go on writing once their request is answered, when another
            // process may lead.
            aborts.iter().for_each(AbortHandle::abort);
        }
    }

    /// Waits until the caches are complete and the handlers are notified of all their objects.
    async fn prepare(&self) {
        if self.workers == 0 {
            // No worker will take a key.
            self.queue.shut_down();
        }
        self.synced().await;
        self.optional_synced().await;
        let subscriptions = std::mem::take(&mut *self.subscriptions());
        for subscription in subscriptions {
            subscription.await;
        }
        self.notified_of_everything().await;
    }

    fn subscriptions(&self) -> MutexGuard<'_, Vec<BoxFuture<'static, ()>>> {
        self.subscriptions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for the caches of its kinds, and periodically logs which ones are missing; a kind that
    /// the API server does not serve is logged only once, since that may last.
    async fn synced(&self) {
        let (controller, clock) = (self.act.controller, &self.act.runtime.clock);
        for informer in &self.act.kinds.informers {
            let (resource, synced) = (informer.selection(), informer.watch_synced());
            let complete = || synced.wait_for(|synced| synced.then_some(()));
            let mut said_unserved = false;
            while clock.timeout(SYNC_NOTICE, complete()).await.is_err() {
                let is_unserved = informer.status().unserved;
                if !is_unserved {
                    let text = "still waiting for the cache to be complete";
                    tracing::warn!(controller, %resource, "{text}");
                } else if !said_unserved {
                    let text = "the API server does not serve a kind that the controller reads; \
                                it starts once it is served";
                    tracing::warn!(controller, %resource, "{text}");
                }
                said_unserved = is_unserved;
            }
        }
    }

    /// Waits for the caches of kinds that need not be served, as long as they may be, and up to a
    /// limit.
    async fn optional_synced(&self) {
        let clock = &self.act.runtime.clock;
        let end = clock.instant() + EVERYTHING_LIMIT;
        for informer in &self.act.kinds.optional {
            let synced = informer.watch_synced();
            let complete = || synced.wait_for(|synced| synced.then_some(()));
            while clock.timeout(OPTIONAL_INTERVAL, complete()).await.is_err() {
                if informer.status().unserved || clock.instant() >= end {
                    let (controller, resource) = (self.act.controller, informer.selection());
                    let text = "starting without the cache of a kind that need not be served";
                    tracing::info!(controller, %resource, "{text}");
                    break;
                }
            }
        }
    }

    /// Waits for the caches of kinds that are only known at run time, up to a limit.
    async fn notified_of_everything(&self) {
        let Some(everything) = &self.act.kinds.everything else { return };
        if !everything.ready(EVERYTHING_LIMIT).await {
            let without: Vec<_> = self.incomplete().into_iter().map(|kind| kind.resource).collect();
            let (controller, without) = (self.act.controller, without.join(", "));
            tracing::warn!(controller, without, "starting without the caches of some kinds");
        }
    }

    /// Enqueues the keys whose deletions are overdue. The caches may never show them, and then
    /// nothing else enqueues the keys. Runs for ever.
    async fn enqueue_overdue(&self) {
        let clock = &self.act.runtime.clock;
        loop {
            let (overdue, next) = self.act.expectations().overdue(clock.instant());
            self.add_all(overdue);
            clock.sleep_until(next).await;
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

    /// One sync, and the one switch over its result.
    async fn sync_fenced(&self, key: &Key) {
        let started = self.act.runtime.clock.instant();
        let mut seen = Seen::default();
        let synced = fenced_async(self.sync(key, &mut seen)).await.unwrap_or_else(|panic| {
            self.act.record.panicked();
            self.act.metrics.panics.with_label_values(&[self.act.controller]).inc();
            Synced::failed(format!("panic: {}", panic.0))
        });
        let ended = synced.ended(self.act.runtime.clock.instant() - started);
        self.count(|| self.controller.counts(&seen, &ended));
        match synced {
            Synced::Deleted => {
                self.act.forget(key);
                self.queue.deleted(key);
                self.act.record.succeeded(key);
            }
            Synced::Done(again) => {
                self.forget(key);
                if let Some(delay) = again.filter(|_| !mutant::is(Mutant::NoLookAgain)) {
                    self.queue.add_after(key.clone(), delay);
                }
            }
            // The caches will enqueue it. The count of failures stays: the key may be waiting
            // because of them, and no sync has succeeded since.
            Synced::Unsettled => {}
            Synced::Failed(Failed { error, .. }) if self.is_given_up(key) => {
                tracing::warn!(error, "sync failed too often; not retried until something changes");
                self.act.record.gave_up(key, self.queue.num_requeues(key) + 1, &error);
                self.queue.forget(key);
            }
            Synced::Failed(Failed { error, is_conflict, quiet, .. }) => {
                let retries = self.queue.num_requeues(key);
                if is_conflict && retries < CONFLICTS_USUAL {
                    tracing::debug!(error, retries, "the object has changed, will be retried");
                } else if quiet {
                    tracing::debug!(error, retries, "sync failed, will be retried");
                } else {
                    tracing::warn!(error, retries, "sync failed, will be retried");
                }
                self.act.record.failed(key, retries + 1, &error);
                if !mutant::is(Mutant::ErrorsNotRetried) {
                    self.queue.add_rate_limited(key.clone());
                }
            }
        }
    }

    /// Whether it has failed too often to be retried.
    fn is_given_up(&self, key: &Key) -> bool {
        self.constants.retries_max.is_some_and(|max| self.queue.num_requeues(key) >= max)
    }

    /// Forgets the failures of a key.
    fn forget(&self, key: &Key) {
        self.queue.forget(key);
        self.act.record.succeeded(key);
    }

    /// Adds the controller's counts.
    fn count(&self, counts: impl FnOnce() -> Vec<Count>) {
        self.act.telemetry.add(&self.counted(counts), Became::Done);
    }

    fn counted(&self, counts: impl FnOnce() -> Vec<Count>) -> Vec<Count> {
        fenced(counts).unwrap_or_else(|panic| {
            let controller = self.act.controller;
            tracing::error!(controller, panic = panic.0, "computing counts panicked");
            Vec::new()
        })
    }

    /// The current gauges; none while the controller does not run, as on a standby.
    fn gauges(&self) -> Vec<Count> {
        let phase = self.act.record.state().phase;
        if phase != Phase::Running {
            return Vec::new();
        }
        let view = self.view();
        self.counted(|| self.controller.gauges(&view))
    }

    /// The caches at this moment.
    pub(crate) fn view(&self) -> View<'_> {
        let clock = &self.act.runtime.clock;
        View::new(clock.now(), clock.uptime(), &self.act.kinds.listers)
    }

    /// Syncs a key. The snapshot and verdict are left in `seen`.
    async fn sync(&self, key: &Key, seen: &mut Seen) -> Synced {
        if let Some(shadow) = &self.shadow {
            return self.shadow(shadow, key).await;
        }
        if let Err(error) = self.act.resolve_ambiguous(key).await {
            return Synced::failed(format!(
                "cannot notify whether the last write was done: {error}"
            ));
        }
        // Before the caches are read: a key that settles in between is at worst synced once more.
        let settled = self.act.expectations().settled(
            key,
            self.own.as_ref(),
            self.act.runtime.clock.instant(),
        );
        if settled == Settled::NotSelf {
            return Synced::Unsettled;
        }
        let started = self.act.runtime.clock.instant();
        let view = self.view().after(self.queue.num_requeues(key));
        let snapshot = self.controller.observe(key, &view);
        let Some(snapshot) = snapshot else {
            self.enqueue_all(self.controller.deleted(key));
            return Synced::Deleted;
        };
        let snapshot = &*seen.snapshot.insert(snapshot);
        let done = if settled == Settled::Yes {
            match self.carry_out(key, snapshot).await {
                Ok(done) => done,
                Err(ended) => return ended,
            }
        } else {
            let outcome = Outcome { unsettled: true, ..Outcome::default() };
            Done { outcome, verdict: None, again: None, quiet: false }
        };
        let Done { outcome, verdict, again, quiet } = done;
        seen.verdict = verdict;
        let verdict = seen.verdict.as_ref();
        if let Some(status) = self.controller.report(snapshot, verdict, &outcome)
            && let Err(error) = self.act.write(key, &status).await
        {
            let status = error.status();
            let is_conflict = status.is_some_and(|status| status.reason == CONFLICT);
            let code = status.map(|status| status.code);
            let error = format!("cannot write the status: {error}");
            return Synced::Failed(Failed { error, is_conflict, quiet: false, code });
        }
        match outcome.error {
            Some(error) => {
                let is_conflict = outcome.reason == CONFLICT;
                Synced::Failed(Failed { error, is_conflict, quiet, code: outcome.code })
            }
            None if settled != Settled::Yes => Synced::Unsettled,
            // The plan was cut short: nothing can be created in a namespace that is being deleted.
            None if outcome.unsettled => Synced::Done(None),
            // The delay counts from the time of the snapshot.
            None => Synced::Done(
                again.map(|delay| delay.saturating_sub(self.act.runtime.clock.instant() - started)),
            ),
        }
    }

    /// Decides and acts, in as many rounds as the live reads need. Returns the result, or how the
    /// sync ends without a last plan.
    async fn carry_out(&self, key: &Key, snapshot: &Opaque) -> Result<Done, Synced> {
        let client = self.act.paced(&self.act.client, key);
        let mut facts = Facts::default();
        for round in 0..=FETCH_ROUNDS_MAX {
            let (plan, verdict) = self.controller.decide(snapshot, &facts);
            tracing::debug!(why = %plan.why, steps = plan.steps.len(), "decided");
            let (steps, queries) = plan.round();
            if round == FETCH_ROUNDS_MAX && queries.is_some() {
                break;
            }
            self.act.telemetry.begin(&plan.counts);
            let mut outcome = self.act.act(key, steps, &mut facts).await;
            self.act.telemetry.end(&plan.counts, Became::of(&outcome));
            if outcome.unsettled && self.act.runtime.cancel.is_cancelled() {
                tracing::info!(why = %plan.why, "stopped before the whole plan was written");
                return Err(Synced::Unsettled);
            }
            let mut quiet = false;
            if queries.is_none() && !outcome.unsettled && outcome.error.is_none() {
                outcome.error.clone_from(&plan.error);
                quiet = plan.quiet;
            }
            if !steps.is_empty() {
                let error = outcome.error.as_deref();
                self.act.record.acted(key, &plan, error);
                tracing::info!(why = %plan.why, actions = plan.actions(), error, "acted");
            }
            let Some(queries) = queries.filter(|_| !outcome.unsettled && outcome.error.is_none())
            else {
                self.enqueue_all(self.controller.acted(snapshot, &verdict, &outcome));
                let (verdict, again) = (Some(verdict), plan.again);
                return Ok(Done { outcome, verdict, again, quiet });
            };
            self.act.expect_silence(key, queries);
            let answers = read::fetch(&client, &self.act.doors(), queries).await;
            for (query, answer) in queries.iter().zip(answers) {
                self.learn(snapshot, query, &answer);
                facts.answers.insert(query.clone(), answer);
            }
        }
        Err(Synced::failed(TOO_MANY_FETCHES.to_owned()))
    }

    /// Decides, with the live reads that precede the first write. None if the plan asks for too
    /// many.
    pub(crate) async fn decide(
        &self,
        client: &Client,
        snapshot: &Opaque,
        facts: &mut Facts,
    ) -> Option<Plan> {
        decided(&*self.controller, client, &self.act.doors(), snapshot, facts).await
    }

    pub(crate) fn learn(&self, snapshot: &Opaque, query: &Query, answer: &Answer) {
        if let Answer::Served(served) = answer {
            self.act.metrics.keep(served);
        }
        self.enqueue_all(self.controller.answered(snapshot, query, answer));
    }

    /// Handles a change in the cache of a kind, possibly the deletion of the object with this uid:
    /// first enqueues the keys that depend on it, then the keys that it settles, since a settled
    /// key reads the handlers' memory. Versions are settled by [`Engine::reached`], once all
    /// changes that came together are notified: the changes of a list come in the order of names.
    pub(crate) fn changed(
        &self,
        selection: &Selection,
        deleted: Option<(Deletion, &Text)>,
        handler: Ask<'_>,
    ) {
        let queue = self.notify(&selection.resource, handler);
        self.settle_deleted(|| selection.clone(), deleted);
        self.enqueue_all(queue);
    }

    /// As [`Engine::changed`], for a kind whose metadata is watched.
    pub(crate) fn metadata_changed(
        &self,
        resource: &Resource,
        change: &MetadataChange<'_>,
        handler: Ask<'_>,
    ) {
        let queue = self.notify(resource, handler);
        let selection = || Selection::whole(resource.clone());
        match change {
            MetadataChange::Dropped => {
                self.act.metrics.forget(resource);
                self.add_all(self.act.expectations().dropped(&selection()));
            }
            MetadataChange::Complete
            | MetadataChange::Added(_)
            | MetadataChange::Updated { .. }
            | MetadataChange::Deleted(_) => self.settle_deleted(selection, change.gone()),
        }
        self.enqueue_all(queue);
    }

    fn settle_deleted(
        &self,
        selection: impl FnOnce() -> Selection,
        deleted: Option<(Deletion, &Text)>,
    ) {
        if let Some(deleted) = deleted {
            self.add_settled(self.act.expectations().deleted(&selection(), deleted));
        }
    }

    /// Notifies a handler of a change, and returns the keys that it enqueues. A handler that panics
    /// enqueues no key; the keys that the change settles are enqueued all the same.
    fn notify(&self, resource: &Resource, handler: Ask<'_>) -> Enqueue {
        fenced(|| self.collect(handler)).unwrap_or_else(|panic| {
            let controller = self.act.controller;
            tracing::error!(controller, %resource, panic = panic.0, "a handler panicked");
            Enqueue::default()
        })
    }

    /// Enqueues the keys that a handler returns.
    pub(crate) fn enqueue_from(&self, handler: Ask<'_>) {
        self.enqueue_all(self.collect(handler));
    }

    /// Calls a handler, and returns the keys that it enqueues.
    fn collect(&self, handler: Ask<'_>) -> Enqueue {
        let mut queue = Enqueue::default();
        handler(&self.view(), &mut queue);
        queue
    }

    pub(crate) fn enqueue_all(&self, queue: Enqueue) {
        self.act.telemetry.add(&queue.counts, Became::Done);
        for call in queue.calls {
            match call {
                Call::Now(key) => self.queue.add(key),
                Call::After(key, delay) => self.queue.add_after(key, delay),
                Call::Forget(key) => {
                    self.act.forget(&key);
                    self.queue.add(key);
                }
            }
        }
    }

    pub(crate) fn reached(&self, selection: &Selection, version: u64) {
        self.add_settled(self.act.expectations().reached(selection, version));
    }

    fn add_settled(&self, keys: Vec<Key>) {
        if self.constants.follows_writes {
            self.add_all(keys);
        }
    }

    fn add_all(&self, keys: Vec<Key>) {
        for key in keys {
            self.queue.add(key);
        }
    }
}

impl Synced {
    pub(crate) fn failed(error: String) -> Self {
        Self::Failed(Failed { error, is_conflict: false, quiet: false, code: None })
    }

    pub(crate) fn failed_quietly(error: String) -> Self {
        Self::Failed(Failed { error, is_conflict: false, quiet: true, code: None })
    }

    /// The same in the controller contract's types.
    fn ended(&self, took: Duration) -> Ended {
        let (error, code) = match self {
            Self::Failed(failed) => (Some(failed.error.clone()), failed.code),
            Self::Deleted | Self::Done(_) | Self::Unsettled => (None, None),
        };
        Ended { took, unsettled: matches!(self, Self::Unsettled), error, code }
    }
}

/// Decides, with the live reads that precede the first write. None if the plan asks for too many.
pub(crate) async fn decided(
    controller: &dyn Door,
    client: &Client,
    doors: &Doors<'_>,
    snapshot: &Opaque,
    facts: &mut Facts,
) -> Option<Plan> {
    for round in 0..=FETCH_ROUNDS_MAX {
        let (plan, _) = controller.decide(snapshot, facts);
        let ([], Some(queries)) = plan.round() else { return Some(plan) };
        if round == FETCH_ROUNDS_MAX {
            break;
        }
        let answers = read::fetch(client, doors, queries).await;
        facts.answers.extend(queries.iter().cloned().zip(answers));
    }
    None
}
