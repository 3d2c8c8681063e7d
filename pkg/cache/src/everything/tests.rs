//! The informers of all kinds against a fake API server, with scripted discovery.

mod discovery;
mod kinds;
mod reading;
mod sharing;
mod versions;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use api::{Resource, Served, ServedKind, Verb};
use client::ApiError;
use controller::MetadataChange;
use futures::future::BoxFuture;
use metrics::Registry;
use runtime::{Clock, Instant};
use tokio::sync::mpsc;

use super::{Everything, LACKED_MAX, PERIOD, Parts, Source, VERBS};
use crate::fixture::{LIMIT, Server, Stream, bookmark, event};
use crate::informer::Informer;
use crate::metrics::Metrics;

const SYNC_ERRORS: &str = "garbagecollector_controller_resources_sync_error_total ";
const SECOND: Duration = Duration::from_secs(1);
const NO_ANSWER: Answer = None;

/// The result of discovery; none: an error.
type Answer = Option<Arc<Served>>;

/// Discovery with results that the test sets.
struct Script {
    answer: Mutex<Answer>,
    asked: mpsc::UnboundedSender<Instant>,
    clock: Clock,
}

/// The informers of all kinds, and what their handlers received.
struct Test {
    server: Server,
    everything: Arc<Everything>,
    script: Arc<Script>,
    asked: mpsc::UnboundedReceiver<Instant>,
    heard: mpsc::UnboundedReceiver<String>,
    registry: Registry,
}

fn widgets() -> Resource {
    Resource::namespaced("example.com", "v1", "widgets", "Widget")
}

fn gadgets() -> Resource {
    Resource::namespaced("other.example.com", "v1", "gadgets", "Gadget")
}

/// Served in the preferred version, with all verbs.
fn served(resources: impl IntoIterator<Item = Resource>) -> Arc<Served> {
    let kind = |resource| ServedKind {
        resource,
        verbs: VERBS.into(),
        preferred: true,
        subresources: Box::default(),
    };
    Arc::new(Served::new(resources.into_iter().map(kind).collect(), [].into()))
}

/// As [`served`], with these groups that cannot be discovered.
fn without(groups: &[&str], resources: impl IntoIterator<Item = Resource>) -> Arc<Served> {
    let failed = groups.iter().map(|group| ((*group).to_owned(), "no answer".to_owned())).collect();
    Arc::new(Served::new(served(resources).kinds.clone(), failed))
}

fn json(name: &str, uid: &str, version: u64) -> String {
    format!(
        r#"{{"metadata":{{"namespace":"default","name":"{name}","uid":"{uid}","resourceVersion":"{version}"}}}}"#
    )
}

/// As `widgets`, or `widgets/v2` in a version that is not v1.
fn called(resource: &Resource) -> String {
    let Resource { plural, version, .. } = resource;
    if version == "v1" { plural.to_string() } else { format!("{plural}/{version}") }
}

/// A change as `widgets + default/a@5`.
fn text(resource: &Resource, change: &MetadataChange<'_>) -> String {
    let plural = called(resource);
    match change {
        MetadataChange::Added(it) => format!("{plural} + {}@{}", it.key, it.resource_version),
        MetadataChange::Updated { old, new } => {
            format!("{plural} ~ {}@{}>{}", new.key, old.resource_version, new.resource_version)
        }
        MetadataChange::Deleted(it) => format!("{plural} - {}@{}", it.key, it.resource_version),
        MetadataChange::Complete => format!("{plural} complete"),
        MetadataChange::Dropped => format!("{plural} dropped"),
    }
}

// === impl Script ===

impl Source for Arc<Script> {
    fn served(&self) -> BoxFuture<'_, Result<Arc<Served>, ApiError>> {
        self.asked.send(self.clock.instant()).unwrap();
        let answer = self.answer.lock().unwrap().clone();
        let error = || ApiError::Timeout("no answer".to_owned());
        Box::pin(std::future::ready(answer.ok_or_else(error)))
    }
}

// === impl Test ===

impl Test {
    fn new(answer: impl Into<Answer>) -> Self {
        Self::beside(&Server::default, |_| Vec::new(), answer)
    }

    /// Started together with shared informers.
    fn beside(
        server: &dyn Fn() -> Server,
        others: impl FnOnce(&Server) -> Vec<Arc<Informer>>,
        answer: impl Into<Answer>,
    ) -> Self {
        let test = Self::idle(server, others, answer);
        test.everything.listen();
        test
    }

    /// The same, without [`Everything::listen`].
    fn idle(
        server: &dyn Fn() -> Server,
        others: impl FnOnce(&Server) -> Vec<Arc<Informer>>,
        answer: impl Into<Answer>,
    ) -> Self {
        let (server, registry) = (server(), Registry::default());
        let (asked_sender, asked) = mpsc::unbounded_channel();
        let (answer, clock) = (Mutex::new(answer.into()), server.runtime.clock.clone());
        let script = Arc::new(Script { answer, asked: asked_sender, clock });
        let metrics = Metrics::new(&registry).unwrap();
        let everything = Arc::new(Everything::new(Parts {
            source: Box::new(Arc::clone(&script)),
            client: server.client.clone(),
            runtime: server.runtime.clone(),
            sync_errors: metrics.sync_errors().ok(),
            streams: true,
            metrics: Some(metrics),
        }));
        let (sender, heard) = mpsc::unbounded_channel();
        let (changes, versions) = (sender.clone(), sender.clone());
        let watched = Arc::downgrade(&everything);
        everything.add_handler(Box::new(move |resource, change| {
            let is_watched = watched.upgrade().unwrap().version_of(resource).is_some();
            assert_eq!(is_watched, !matches!(change, MetadataChange::Dropped));
            // A test of its own covers when that comes.
            if !matches!(change, MetadataChange::Complete) {
                changes.send(text(resource, change)).unwrap();
            }
        }));
        everything.on_version(Box::new(move |resource, version| {
            versions.send(format!("{} at {version}", called(resource))).unwrap();
        }));
        everything.on_served(Box::new(move |served| {
            sender.send(format!("served {}", served.kinds.len())).unwrap();
        }));
        let others = others(&server);
        for other in &others {
            Arc::clone(other).start();
        }
        everything.start(others.into_iter());
        Self { server, everything, script, asked, heard, registry }
    }

    /// A test whose cache holds the widget a@5, and watches from 10.
    async fn watching() -> (Self, Stream) {
        let mut test = Self::new(served([widgets()]));
        let stream = test.list(&widgets(), &[("a", "a", 5)], 10).await;
        test.hears(&["served 1", "widgets + default/a@5", "widgets at 10"]).await;
        (test, stream)
    }

    /// Answers the next list of a kind, whose response continues as its watch.
    async fn list(
        &mut self,
        resource: &Resource,
        objects: &[(&str, &str, u64)],
        version: u64,
    ) -> Stream {
        let call = self.server.find("GET", &resource.collection_path("")).await;
        assert!(call.path.contains("sendInitialEvents=true"), "{}", call.path);
        let mut stream = call.answer(200, "application/json");
        for (name, uid, version) in objects {
            stream.send(event("ADDED", &json(name, uid, *version))).await;
        }
        stream.send(bookmark(version, true)).await;
        stream
    }

    /// Sets the result of discovery from now on.
    fn answer(&self, answer: impl Into<Answer>) {
        *self.script.answer.lock().unwrap() = answer.into();
    }

    /// Sets the result, and waits until kinds that it lacks are dropped.
    async fn loses(&mut self, answer: impl Into<Answer>) {
        self.answer(answer);
        self.server.runtime.clock.sleep(LACKED_MAX + 2 * PERIOD).await;
    }

    /// Sets the result; returns when discovery next ran.
    async fn asks_and_gets(&mut self, answer: impl Into<Answer>) -> Instant {
        while self.asked.try_recv().is_ok() {}
        self.answer(answer);
        self.asks().await
    }

    /// Waits for the next discovery, and returns when it ran.
    async fn asks(&mut self) -> Instant {
        let clock = &self.server.runtime.clock;
        clock.timeout(LIMIT, self.asked.recv()).await.unwrap().unwrap()
    }

    /// The next notifications of handlers and hooks.
    async fn hears(&mut self, expected: &[&str]) {
        for expected in expected {
            let clock = &self.server.runtime.clock;
            let heard = clock.timeout(LIMIT, self.heard.recv()).await.unwrap().unwrap();
            assert_eq!(heard, *expected);
        }
    }

    /// No notification comes, even after all tasks have run.
    async fn hears_nothing(&mut self) {
        self.server.runtime.clock.sleep(Duration::from_millis(1)).await;
        assert_eq!(self.heard.try_recv().ok(), None);
    }

    /// The paths that are requested once no task is runnable.
    async fn asked_paths(&mut self) -> Vec<String> {
        let calls = self.server.under_way().await;
        let path = |path: &str| path.split('?').next().unwrap_or_default().to_owned();
        calls.iter().map(|call| path(&call.path)).collect()
    }

    fn sync_errors(&self) -> String {
        let page = self.registry.page("").body;
        let value = page.lines().find_map(|line| line.strip_prefix(SYNC_ERRORS));
        value.unwrap_or_default().to_owned()
    }
}

/// Whether the client stopped reading the stream.
async fn is_closed(stream: &mut Stream, server: &Server) -> bool {
    let closed = async { while stream.try_send("\n").await.is_ok() {} };
    server.runtime.clock.timeout(LIMIT, closed).await.is_ok()
}
