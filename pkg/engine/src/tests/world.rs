//! An engine over real informers, and a fake API server for both.
//!
//! Everything happens in namespace `shop`. Objects of the first lists have version 1, the lists
//! themselves version 10.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use api::{Key, Kind, Pod, ReplicaSet, Time};
use cache::SharedInformerFactory;
use cache::fixture::{Call, Server, Stream, bookmark, event, status};
use cloud::Cloud;
use controller::{
    Change, Controller, Enqueue, Facts, Form, News, Outcome, Plan, Query, View, Watches, Write,
    fixture,
};
use metrics::Registry;
use runtime::{Instant, Runtime, Task};
use serde_json::{Value, json};
use workqueue::{Limiter, Queue, WorkqueueMetrics};

use crate::events::Recorder;
use crate::{Engine, Metrics, Parts};

pub(super) use controller::fixture::with;

pub(super) const PODS: &str = "/api/v1/namespaces/shop/pods";
pub(super) const SETS: &str = "/apis/apps/v1/namespaces/shop/replicasets";

/// Longer than the first few back-offs, shorter than all limits.
const SOON: Duration = Duration::from_secs(8);

pub(super) const DRAIN_LIMIT: Duration = Duration::from_secs(5);

type Planner = dyn Fn(&Seen, &Facts) -> Plan + Send + Sync;
type Hook = dyn Fn(Stage, &Key) + Send + Sync;

pub(super) struct World {
    pub(super) server: Server,
    /// Receives the Events, so that other requests are not lost among them.
    pub(super) events: Server,
    /// Receives the requests of the informers' user, which the engine resolves ambiguous writes
    /// with.
    pub(super) reader: Server,
    pub(super) pods: Feed,
    pub(super) sets: Feed,
    pub(super) metrics: Metrics,
    pub(super) registry: Registry,
    /// While true, the fence refuses writes, as with an expired lease.
    fence_closed: Arc<AtomicBool>,
    engine: Task,
    /// Its informers notify no handler once it is dropped.
    _informers: SharedInformerFactory,
}

/// An engine that does not run, and informers that wait for their first response: a standby that
/// has just started.
pub(super) struct Cold {
    pub(super) server: Server,
    pub(super) events: Server,
    reader: Server,
    pub(super) metrics: Metrics,
    pub(super) registry: Registry,
    pub(super) engine: Arc<Engine>,
    fence_closed: Arc<AtomicBool>,
    informers: SharedInformerFactory,
}

/// The watch of a kind.
pub(super) struct Feed(Stream);

/// A controller of ReplicaSets that does what the test says, and logs its calls.
pub(super) struct Probe {
    plan: Box<Planner>,
    /// Called in each stage; may panic.
    hook: Box<Hook>,
    log: Log,
}

/// The calls of a [`Probe`] so far, as `<ms of the snapshot> <stage> <key>`.
#[derive(Clone, Default)]
pub(super) struct Log(Arc<Mutex<Vec<String>>>);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    Observe,
    Decide,
    Report,
    Summary,
    /// Its handler is notified of a pod; the key is the pod's.
    Notified,
    /// It is notified that the object was deleted.
    Deleted,
}

/// What a [`Probe`] observes.
pub(super) struct Seen {
    pub(super) key: Key,
    pub(super) now: Time,
    pub(super) failures: u32,
}

// === Objects ===

/// ReplicaSet `web` that asks for `want` pods; its status is right if `have` are there.
pub(super) fn set(version: u64, want: usize, have: usize) -> Value {
    json!({
        "metadata": {"name": "web", "namespace": "shop", "uid": "uid-web", "generation": 1,
            "resourceVersion": version.to_string()},
        "spec": {"replicas": want, "selector": {"matchLabels": {"app": "web"}},
            "template": {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": []}}},
        "status": {"replicas": have, "fullyLabeledReplicas": have, "readyReplicas": have,
            "availableReplicas": have, "terminatingReplicas": 0, "observedGeneration": 1},
    })
}

/// The same under another name, with a uid to match.
pub(super) fn named(set: Value, name: &str) -> Value {
    with(set, json!({"metadata": {"name": name, "uid": format!("uid-{name}")}}))
}

/// A ready pod with the labels of `web` that nobody manages.
pub(super) fn orphan(name: &str, version: u64) -> Value {
    let meta = json!({"resourceVersion": version.to_string(), "labels": {"app": "web"}});
    with(fixture::pod(name), json!({"metadata": meta}))
}

/// A ready pod of `web`.
pub(super) fn pod(name: &str, version: u64) -> Value {
    let owner = fixture::owned_by("ReplicaSet", &set(1, 0, 0));
    with(orphan(name, version), json!({"metadata": owner}))
}

pub(super) fn terminating(pod: Value, version: u64) -> Value {
    let since = "1970-01-01T00:00:01Z";
    let meta = json!({"deletionTimestamp": since, "resourceVersion": version.to_string()});
    with(pod, json!({"metadata": meta}))
}

/// The object that the API server creates from a POST.
pub(super) fn born(post: &Call, name: &str, version: u64) -> Value {
    let meta = json!({"name": name, "namespace": "shop", "uid": format!("uid-{name}"),
        "resourceVersion": version.to_string(), "creationTimestamp": "1970-01-01T00:00:00Z"});
    with(body(post), json!({"metadata": meta, "status": {"phase": "Pending"}}))
}

pub(super) fn body(call: &Call) -> Value {
    serde_json::from_slice(&call.body).unwrap()
}

// === Answers ===

/// Answers a POST as if the API server had made the pod, and returns it.
pub(super) async fn make(post: Call, name: &str, version: u64) -> Value {
    let pod = born(&post, name, version);
    post.reply(201, pod.to_string()).await;
    pod
}

/// Answers a PUT or a PATCH with `object`.
pub(super) async fn accept(call: Call, object: &Value) {
    call.reply(200, object.to_string()).await;
}

/// Refuses a request.
pub(super) async fn refuse(call: Call, code: u16, reason: &str, message: &str) {
    call.reply(code, status(code, reason, message)).await;
}

/// Answers that there is no such object.
pub(super) async fn missing(call: Call, name: &str) {
    let status = json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": 404,
        "reason": "NotFound", "message": "not there", "details": {"name": name}});
    call.reply(404, status.to_string()).await;
}

// === impl World ===

impl World {
    /// The ReplicaSet controller, once its caches hold these objects.
    pub(super) async fn new(sets: &[Value], pods: &[Value]) -> Self {
        let controller = controllers::replicaset::Controller::new(500);
        Self::start(controller, 2, sets, pods).await.0
    }

    /// A [`Probe`] with one worker that has these plans for `web`.
    pub(super) async fn probe(
        plan: impl Fn(&Seen, &Facts) -> Plan + Send + Sync + 'static,
    ) -> (Self, Log) {
        Self::probe_with(&[set(1, 0, 0)], |_, _| {}, plan).await
    }

    /// A [`Probe`] with one worker that calls `hook` in each stage.
    pub(super) async fn probe_with(
        sets: &[Value],
        hook: impl Fn(Stage, &Key) + Send + Sync + 'static,
        plan: impl Fn(&Seen, &Facts) -> Plan + Send + Sync + 'static,
    ) -> (Self, Log) {
        let log = Log::default();
        let probe = Probe::new(&log, hook, plan);
        (Self::start(probe, 1, sets, &[]).await.0, log)
    }

    pub(super) async fn start(
        controller: impl Controller,
        workers: usize,
        sets: &[Value],
        pods: &[Value],
    ) -> (Self, Arc<Engine>) {
        Cold::new(controller, workers, DRAIN_LIMIT).start(sets, pods).await
    }

    /// The next request to create a pod. As with all that follow, it must come soon.
    pub(super) async fn post(&mut self) -> Call {
        self.soon("POST", PODS).await
    }

    /// The next request to delete this pod.
    pub(super) async fn delete(&mut self, name: &str) -> Call {
        self.soon("DELETE", &format!("{PODS}/{name}")).await
    }

    /// The next request to patch this pod.
    pub(super) async fn patch(&mut self, name: &str) -> Call {
        self.soon("PATCH", &format!("{PODS}/{name}")).await
    }

    /// The next live read of `web`.
    pub(super) async fn get(&mut self) -> Call {
        self.soon("GET", &format!("{SETS}/web")).await
    }

    /// The next status write for `web`.
    pub(super) async fn put(&mut self) -> Call {
        self.soon("PUT", &format!("{SETS}/web/status")).await
    }

    /// The next request that finds out the result of a write to the object at this path.
    pub(super) async fn question(&mut self, path: &str) -> Call {
        let (place, name) = path.rsplit_once('/').unwrap();
        let call = self.reader.find("GET", place).await;
        assert_eq!(call.path, format!("{place}?fieldSelector=metadata.name%3D{name}"));
        assert!(call.accept.contains("as=PartialObjectMetadataList"), "{}", call.accept);
        call
    }

    /// The next such request, answered with these objects, at a version that the caches do not
    /// reach.
    pub(super) async fn finds(&mut self, path: &str, objects: &[Value]) {
        let question = self.question(path).await;
        let list = json!({"metadata": {"resourceVersion": "1000"}, "items": objects});
        accept(question, &list).await;
    }

    /// Completes a status write: it is answered, and its event is sent. Returns the new status.
    pub(super) async fn done(&mut self, put: Call, version: u64) -> Value {
        let written =
            with(body(&put), json!({"metadata": {"resourceVersion": version.to_string()}}));
        accept(put, &written).await;
        self.sets.modified(&written).await;
        written["status"].clone()
    }

    /// The next status has this many pods; it is completed.
    pub(super) async fn counts(&mut self, replicas: usize, version: u64) {
        let put = self.put().await;
        let status = self.done(put, version).await;
        assert_eq!(status["replicas"], replicas);
    }

    /// The next Event, as `<type> <reason> <message>`.
    pub(super) async fn event(&mut self) -> String {
        let call = self.events.find("POST", "/api/v1/namespaces/shop/events").await;
        let event = body(&call);
        call.reply(201, event.to_string()).await;
        let text = |field: &str| event[field].as_str().unwrap().to_owned();
        format!("{} {} {}", text("type"), text("reason"), text("message"))
    }

    /// The pods are listed again.
    pub(super) async fn relists_pods(&mut self, pods: &[Value], version: u64) {
        self.pods = Feed::begin(&mut self.server, "/api/v1/pods", pods, version).await;
    }

    /// Makes the fence refuse writes from now on, or admit them again.
    pub(super) fn close_fence(&self, closed: bool) {
        self.fence_closed.store(closed, Ordering::Relaxed);
    }

    /// No request comes for a second.
    pub(super) async fn quiet(&mut self) {
        self.wait(Duration::from_secs(1)).await;
        let mut calls = self.server.under_way().await;
        calls.extend(self.reader.under_way().await);
        let calls: Vec<_> = calls.iter().map(Call::line).collect();
        assert!(calls.is_empty(), "not quiet: {calls:?}");
    }

    /// Lets all tasks run until none is runnable.
    pub(super) async fn settle(&self) {
        self.wait(Duration::from_millis(1)).await;
    }

    pub(super) async fn wait(&self, time: Duration) {
        self.server.runtime.clock.sleep(time).await;
    }

    pub(super) fn instant(&self) -> Instant {
        self.server.runtime.clock.instant()
    }

    /// How many retries the queue's metrics show.
    pub(super) fn retries(&self) -> u64 {
        let page = self.registry.page("").body;
        let mut lines = page.lines().filter(|line| line.starts_with("workqueue_retries_total"));
        lines.find_map(|line| line.split_once(' ')?.1.parse().ok()).unwrap()
    }

    /// Shuts the process down, and returns how long the engine took.
    pub(super) async fn stop(&mut self) -> Duration {
        let since = self.instant();
        self.server.runtime.cancel.cancel();
        let clock = self.server.runtime.clock.clone();
        clock.timeout(cache::fixture::LIMIT, &mut self.engine).await.unwrap().unwrap();
        self.instant() - since
    }

    async fn soon(&mut self, method: &str, path: &str) -> Call {
        let since = self.instant();
        let call = self.server.find(method, path).await;
        let waited = call.at.duration_since(since);
        assert!(waited < SOON, "{method} {path} came after {waited:?}");
        call
    }
}

// === impl Cold ===

impl Cold {
    pub(super) fn new(controller: impl Controller, workers: usize, drain_limit: Duration) -> Self {
        Self::on(|_| None, controller, workers, drain_limit)
    }

    /// The same on a cloud.
    pub(super) fn on(
        cloud: impl FnOnce(&Runtime) -> Option<Arc<dyn Cloud>>,
        controller: impl Controller,
        workers: usize,
        drain_limit: Duration,
    ) -> Self {
        let (server, events, reader) = (Server::default(), Server::default(), Server::default());
        let runtime = server.runtime.clone();
        let registry = Registry::default();
        let metrics = Metrics::new(&registry).unwrap();
        let fence_closed = Arc::new(AtomicBool::new(false));
        let closed = Arc::clone(&fence_closed);
        let fence = move || {
            let is_closed = closed.load(Ordering::Relaxed);
            if is_closed { Err("the lease ran out".to_owned()) } else { Ok(()) }
        };
        let queue_metrics = WorkqueueMetrics::new(&registry).unwrap().for_queue("test");
        let parts = Parts {
            cloud: cloud(&runtime),
            shadow: None,
            name: "test-controller",
            own: Some(ReplicaSet::RESOURCE),
            workers,
            drain_limit,
            queue: Queue::new(runtime.clock.clone(), Limiter::default(), Some(queue_metrics)),
            client: server.client.guarded(Arc::new(fence)),
            recorder: Recorder::start(events.client.clone(), "test-controller", &runtime),
            runtime: runtime.clone(),
            metrics: metrics.clone(),
        };
        let mut factory = SharedInformerFactory::new(server.client.clone(), runtime)
            .with_metadata_client(reader.client.clone());
        let engine = Engine::new(controller, Arc::default(), parts, &mut factory);
        factory.start();
        let informers = factory;
        Self { server, events, reader, metrics, registry, engine, fence_closed, informers }
    }

    /// Runs it.
    pub(super) fn run(&self) -> Task {
        runtime::spawn("engine", Arc::clone(&self.engine).run())
    }

    /// Runs it, and its caches hold these objects.
    pub(super) async fn start(mut self, sets: &[Value], pods: &[Value]) -> (World, Arc<Engine>) {
        let task = self.run();
        let (sets, pods) = self.warm(sets, pods).await;
        let engine = Arc::clone(&self.engine);
        let Self { server, events, reader, metrics, registry, fence_closed, informers, .. } = self;
        let world = World {
            server,
            events,
            reader,
            pods,
            sets,
            metrics,
            registry,
            fence_closed,
            engine: task,
            _informers: informers,
        };
        (world, engine)
    }

    /// Its caches hold these objects.
    pub(super) async fn warm(&mut self, sets: &[Value], pods: &[Value]) -> (Feed, Feed) {
        let sets = Feed::begin(&mut self.server, "/apis/apps/v1/replicasets", sets, 10).await;
        let pods = Feed::begin(&mut self.server, "/api/v1/pods", pods, 10).await;
        (sets, pods)
    }
}

// === impl Feed ===

impl Feed {
    pub(super) async fn begin(
        server: &mut Server,
        path: &str,
        objects: &[Value],
        version: u64,
    ) -> Self {
        let call = server.find("GET", path).await;
        let mut feed = Self(call.answer(200, "application/json"));
        feed.many("ADDED", objects).await;
        feed.0.send(bookmark(version, true)).await;
        feed
    }

    pub(super) async fn added(&mut self, object: &Value) {
        self.many("ADDED", std::slice::from_ref(object)).await;
    }

    pub(super) async fn modified(&mut self, object: &Value) {
        self.many("MODIFIED", std::slice::from_ref(object)).await;
    }

    pub(super) async fn deleted(&mut self, object: &Value) {
        self.many("DELETED", std::slice::from_ref(object)).await;
    }

    pub(super) async fn bookmark(&mut self, version: u64) {
        self.0.send(bookmark(version, false)).await;
    }

    /// The watch ends with an error.
    pub(super) async fn fails(&mut self, code: u16, reason: &str) {
        self.0.send(event("ERROR", &status(code, reason, "the watch ends"))).await;
    }

    pub(super) async fn many(&mut self, kind: &str, objects: &[Value]) {
        let lines = objects.iter().map(|object| event(kind, &object.to_string()));
        self.0.send(lines.collect::<String>()).await;
    }
}

// === impl Log ===

impl Log {
    fn add(&self, seen: &Seen, what: impl AsRef<str>) {
        let (ms, what) = (seen.now.since(Time::EPOCH).as_millis(), what.as_ref());
        self.0.lock().unwrap().push(format!("{ms} {what} {}", seen.key.name));
    }

    pub(super) fn push(&self, line: &str) {
        self.0.lock().unwrap().push(line.to_owned());
    }

    /// What was logged since the last call.
    pub(super) fn take(&self) -> Vec<String> {
        std::mem::take(&mut self.0.lock().unwrap())
    }

    /// The milliseconds of the observations since the last call.
    pub(super) fn observed(&self) -> Vec<u64> {
        let lines = self.take();
        let observed = lines.iter().filter(|line| line.contains(" observe "));
        observed.map(|line| line.split(' ').next().unwrap().parse().unwrap()).collect()
    }
}

// === impl Probe ===

impl Probe {
    pub(super) fn new(
        log: &Log,
        hook: impl Fn(Stage, &Key) + Send + Sync + 'static,
        plan: impl Fn(&Seen, &Facts) -> Plan + Send + Sync + 'static,
    ) -> Self {
        Self { plan: Box::new(plan), hook: Box::new(hook), log: log.clone() }
    }
}

impl Controller for Probe {
    type Snapshot = Seen;
    type Memory = ();
    type Verdict = ();

    fn watches(&self, table: &mut impl Watches<Self>) {
        table.on::<ReplicaSet>(|_, change, _, queue| match change {
            Change::Added(set) | Change::Updated { new: set, .. } => queue.add(&set.meta.key),
            Change::Deleted(set) => queue.forget(&set.meta.key),
        });
        table.on::<Pod>(|controller, change, _, queue| {
            let pod = &change.object().meta.key;
            assert_ne!(&*pod.name, "poison");
            (controller.hook)(Stage::Notified, pod);
            queue.add(&Key::new("shop", "web"));
        });
    }

    fn observe(&self, key: &Key, view: &View<'_>, (): &()) -> Option<Seen> {
        let seen = Seen { key: key.clone(), now: view.now, failures: view.failures };
        self.log.add(&seen, "observe");
        let set = view.of::<ReplicaSet>().get(key);
        (self.hook)(Stage::Observe, key);
        set.map(|_| seen)
    }

    fn decide(&self, seen: &Seen, facts: &Facts) -> (Plan, ()) {
        self.log.add(seen, "decide");
        (self.hook)(Stage::Decide, &seen.key);
        ((self.plan)(seen, facts), ())
    }

    fn remember(&self, (): &mut (), news: News<'_, Self>, _: &mut Enqueue) {
        if let News::Gone(key) = news {
            (self.hook)(Stage::Deleted, key);
        }
        let News::Answered {
            query: query @ Query::Get { form: Form::Metadata, .. }, answer, ..
        } = news
        else {
            return;
        };
        let version = match answer.metadata() {
            Ok(Some(found)) => found.meta.resource_version.to_string(),
            Ok(None) => "none".to_owned(),
            Err(error) => error.to_string(),
        };
        self.log.push(&format!("learn {query}: {version}"));
    }

    fn summary(&self, seen: &Seen) -> Vec<(&'static str, String)> {
        (self.hook)(Stage::Summary, &seen.key);
        vec![("name", seen.key.name.to_string())]
    }

    fn report(&self, seen: &Seen, _: Option<&()>, outcome: &Outcome) -> Option<Write> {
        let how = if outcome.unsettled { "unsettled" } else { "done" };
        self.log.add(seen, format!("report {}", outcome.error.as_deref().unwrap_or(how)));
        (self.hook)(Stage::Report, &seen.key);
        None
    }
}
