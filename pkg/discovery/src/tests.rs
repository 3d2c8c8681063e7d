//! Tests: the content of documents (`documents`), and the requests (`requests`).
//!
//! `testdata/` holds Kubernetes 1.36.3's own recording of its API server in both forms
//! (api/discovery): `aggregated.json` is `/apis`, `plain.json` all documents by their paths.

mod documents;
mod requests;

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use api::{Served, ServedKind, Time};
use bytes::Bytes;
use client::{Client, Metrics, Settings};
use http::{Request, Response};
use http_body_util::Full;
use kube::client::Body;
use metrics::Registry;
use runtime::Runtime;
use serde_json::{Value, json};
use tower::service_fn;

use crate::Discovery;
use crate::document::AGGREGATED;

/// An API server with the documents of a test, and a delay before each response.
struct Server {
    discovery: Discovery,
    /// The requests: path, and etag.
    seen: Arc<Mutex<Vec<String>>>,
    pages: Arc<Mutex<BTreeMap<String, Page>>>,
    runtime: Runtime,
}

/// The response at a path.
#[derive(Clone)]
struct Page {
    code: u16,
    content_type: &'static str,
    etag: Option<&'static str>,
    body: String,
    /// How many requests get a 500 before.
    errors: u32,
}

/// The delay of a response.
const SECOND: Duration = Duration::from_secs(1);

impl Page {
    fn plain(body: &Value) -> Self {
        let (content_type, body) = ("application/json", body.to_string());
        Self { code: 200, content_type, etag: None, body, errors: 0 }
    }

    fn aggregated(body: &Value) -> Self {
        Self { content_type: AGGREGATED, ..Self::plain(body) }
    }

    fn status(code: u16, message: &str) -> Self {
        let body = json!({"kind": "Status", "message": message, "reason": "x"});
        Self { code, ..Self::plain(&body) }
    }

    fn etag(self, etag: &'static str) -> Self {
        Self { etag: Some(etag), ..self }
    }
}

impl Server {
    fn new(pages: impl IntoIterator<Item = (&'static str, Page)>) -> Self {
        let runtime = Runtime::simulated(Time::EPOCH, 1);
        let pages = pages.into_iter().map(|(path, page)| (path.to_owned(), page));
        let pages: Arc<Mutex<BTreeMap<_, _>>> = Arc::new(Mutex::new(pages.collect()));
        let seen: Arc<Mutex<Vec<String>>> = Arc::default();
        let (log, there, clock) = (Arc::clone(&seen), Arc::clone(&pages), runtime.clock.clone());
        let service = service_fn(move |request: Request<Body>| {
            let path = request.uri().path().to_owned();
            let known = request.headers().get("if-none-match");
            let known = known.map(|etag| etag.to_str().unwrap().to_owned());
            let line = known.as_ref().map_or(path.clone(), |etag| format!("{path} {etag}"));
            log.lock().unwrap().push(line);
            let response = respond(there.lock().unwrap().get_mut(&path), known.as_deref());
            let clock = clock.clone();
            async move {
                clock.sleep(SECOND).await;
                Ok::<_, Infallible>(response)
            }
        });
        let settings = Settings { qps: 0.0, burst: 0, user_agent: "t".into(), host: "h".into() };
        let metrics = Metrics::new(&Registry::default()).unwrap();
        let kube = kube::Client::new(service, "default");
        let discovery = Discovery::new(Client::new(kube, settings, &metrics, &runtime));
        Self { discovery, seen, pages, runtime }
    }

    fn set(&self, path: &str, page: Page) {
        self.pages.lock().unwrap().insert(path.to_owned(), page);
    }

    fn seen(&self) -> Vec<String> {
        std::mem::take(&mut self.seen.lock().unwrap())
    }

    async fn served(&self) -> Arc<Served> {
        self.discovery.served().await.unwrap()
    }
}

fn respond(page: Option<&mut Page>, known: Option<&str>) -> Response<Full<Bytes>> {
    let mut missing = Page::status(404, "the server could not find the requested resource");
    let page = page.unwrap_or(&mut missing);
    let failing = page.errors > 0;
    page.errors = page.errors.saturating_sub(1);
    let unchanged = page.etag.is_some() && page.etag == known;
    let code = if failing { 500 } else { page.code };
    let mut response = Response::builder().status(if unchanged { 304 } else { code });
    response = response.header("content-type", page.content_type);
    if let Some(etag) = page.etag {
        response = response.header("etag", etag);
    }
    let body = if failing || unchanged { String::new() } else { page.body.clone() };
    response.body(Full::new(Bytes::from(body))).unwrap()
}

fn run<T>(test: impl Future<Output = T>) -> T {
    let mut tokio = tokio::runtime::Builder::new_current_thread();
    tokio.enable_all().start_paused(true).build().unwrap().block_on(test)
}

/// `group/version plural Kind`, with `*` in front if preferred and `(cluster)` if not namespaced.
fn rows(served: &Served) -> Vec<String> {
    let row = |kind: &ServedKind| {
        let star = if kind.preferred { "*" } else { "" };
        let scope = if kind.resource.namespaced { "" } else { " (cluster)" };
        let (version, it) = (kind.resource.api_version(), &kind.resource);
        format!("{star}{version} {} {}{scope}", it.plural, it.kind)
    };
    served.kinds.iter().map(row).collect()
}

/// An aggregated document. A version is `v1: pods/Pod nodes/Node/cluster none`, the last of which
/// has no kind; a `!` in front means stale.
fn aggregated(groups: &[(&str, &[&str])]) -> Value {
    let items = groups.iter().map(|(name, versions)| {
        let versions = versions.iter().map(|version| {
            let (version, resources) = version.split_once(':').unwrap();
            let freshness = if version.starts_with('!') { "Stale" } else { "Current" };
            let resources = resources.split_whitespace().map(|resource| {
                let words: Vec<&str> = resource.split('/').collect();
                let scope = if words.get(2).is_some() { "Cluster" } else { "Namespaced" };
                let kind = words.get(1).map(|kind| json!({"kind": kind, "group": name}));
                json!({"resource": words[0], "scope": scope, "responseKind": kind})
            });
            let resources: Vec<Value> = resources.collect();
            let version = version.trim_start_matches('!');
            json!({"version": version, "freshness": freshness, "resources": resources})
        });
        json!({"metadata": {"name": name}, "versions": versions.collect::<Vec<_>>()})
    });
    json!({"kind": "APIGroupDiscoveryList", "items": items.collect::<Vec<_>>()})
}

/// The plain `/apis` with one group and these versions.
fn plain_groups(name: &str, versions: &[&str], preferred: &str) -> Value {
    let versions: Vec<Value> = versions.iter().map(|version| json!({"version": version})).collect();
    json!({"groups": [
        {"name": name, "versions": versions, "preferredVersion": {"version": preferred}},
    ]})
}

/// The plain document of a group version: `pods/Pod nodes/Node/cluster`.
fn plain_resources(resources: &str) -> Value {
    let resources = resources.split_whitespace().map(|resource| {
        let words: Vec<&str> = resource.split('/').collect();
        json!({"name": words[0], "kind": words[1], "namespaced": words.get(2).is_none()})
    });
    json!({"resources": resources.collect::<Vec<_>>()})
}
