//! The guard against a fake API server, under paused time.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::convert::Infallible;
use std::io::Write;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, Once};
use std::time::Duration;

use api::Time;
use bytes::Bytes;
use client::Client;
use http::request::Parts;
use http::{Request, Response, Version};
use http_body_util::{BodyExt, Full};
use kube::client::Body;
use metrics::Registry;
use runtime::Runtime;
use rustls::pki_types::CertificateDer;
use serde_json::{Value, json};
use tower::service_fn;

use crate::{Error, Guard, Metrics, ProxySettings, Settings, User};

mod access;
mod answers;
mod certificates;
mod configmap;
mod families;
mod front_proxy;
mod issue;
mod lookup;
mod matrix;
mod tokens;

/// The behaviour of the API server, and the requests it received.
#[derive(Default)]
struct Api {
    /// The response to GET of the ConfigMap.
    configmap: Option<Reply>,
    /// When the next watch reports a change of the ConfigMap; none: watches are refused.
    changes_after: Option<Duration>,
    /// Responses to TokenReviews, by token. Other tokens are not valid.
    tokens: BTreeMap<String, Reply>,
    /// The response to SubjectAccessReviews.
    access: Option<Reply>,
    /// Responses that come before all of these.
    first: Vec<Reply>,
    /// The delay of each response.
    delay: Duration,
    /// Method, path and body of each request, and its time.
    seen: Vec<(String, Value, Duration)>,
}

type Reply = (u16, Value);

struct World {
    api: Arc<Mutex<Api>>,
    client: Client,
    registry: Registry,
    metrics: Metrics,
    runtime: Runtime,
}

/// A request, as a client sends it.
#[derive(Clone, Default)]
struct Ask {
    target: &'static str,
    method: http::Method,
    version: Version,
    headers: Vec<(&'static str, String)>,
    chain: Vec<CertificateDer<'static>>,
}

fn run<T>(test: impl Future<Output = T>) -> T {
    let mut tokio = tokio::runtime::Builder::new_current_thread();
    tokio.enable_all().start_paused(true).build().unwrap().block_on(test)
}

/// Upstream's defaults of the flags.
fn settings() -> Settings {
    let ttl = Duration::from_secs(10);
    Settings {
        client_ca_file: None,
        request_header: ProxySettings {
            username_headers: vec!["x-remote-user".to_owned()],
            group_headers: vec!["x-remote-group".to_owned()],
            extra_headers_prefix: vec!["x-remote-extra-".to_owned()],
            ..ProxySettings::default()
        },
        skip_lookup: false,
        tolerate_lookup_failure: false,
        token_ttl: ttl,
        always_allow_paths: ["/healthz", "/readyz", "/livez"].map(str::to_owned).to_vec(),
        authorized_ttl: ttl,
        unauthorized_ttl: ttl,
    }
}

fn failure(code: u16, reason: &str, message: &str) -> Reply {
    (code, json!({"kind": "Status", "reason": reason, "message": message, "code": code}))
}

fn owner_of(name: &str) -> Reply {
    let user = json!({"username": name, "uid": "u1", "groups": ["g1"], "extra": {"k": ["v"]}});
    (201, json!({"status": {"authenticated": true, "user": user}}))
}

/// A temporary file of this test.
struct TempFile(PathBuf);

impl TempFile {
    fn new(name: &str, content: &str) -> Self {
        let path = std::env::temp_dir().join(format!("auth-{}-{name}", std::process::id()));
        std::fs::write(&path, content).unwrap();
        Self(path)
    }
}

impl Drop for TempFile {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

thread_local! {
    /// What was logged on this thread, at all levels. A test is a thread.
    static LOGGED: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// Starts logging, for all tests: a logger for one test alone would miss lines that another thread
/// had reached before.
fn start_logging() {
    static STARTED: Once = Once::new();
    STARTED.call_once(|| {
        let log = tracing_subscriber::fmt().with_max_level(tracing::Level::TRACE).with_ansi(false);
        let log = log.with_writer(|| Logger).finish();
        tracing::subscriber::set_global_default(log).unwrap();
    });
}

/// What this test has logged since the last call.
fn logged() -> String {
    String::from_utf8(LOGGED.take()).unwrap()
}

struct Logger;

impl Write for Logger {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        LOGGED.with_borrow_mut(|lines| lines.write(bytes))
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

// === impl World ===

impl World {
    fn new() -> Self {
        start_logging();
        let runtime = Runtime::simulated(Time::parse("2026-01-01T00:00:00Z").unwrap(), 7);
        let api = Arc::new(Mutex::new(Api::default()));
        let (shared, clock) = (Arc::clone(&api), runtime.clock.clone());
        let started = clock.instant();
        let service = service_fn(move |request: Request<Body>| {
            let (api, clock) = (Arc::clone(&shared), clock.clone());
            async move {
                let at = clock.instant() - started;
                let what = format!("{} {}", request.method(), request.uri());
                let body = request.into_body().collect().await.unwrap().to_bytes();
                let body = serde_json::from_slice(&body).unwrap_or(Value::Null);
                let ((code, answer), delay) = {
                    let mut api = api.lock().unwrap();
                    api.seen.push((what.clone(), body.clone(), at));
                    api.reply(&what, &body)
                };
                clock.sleep(delay).await;
                let answer = Bytes::from(answer.to_string());
                let response = Response::builder().status(code);
                Ok::<_, Infallible>(response.body(Full::new(answer)).unwrap())
            }
        });
        let registry = Registry::default();
        let client_metrics = client::Metrics::new(&registry).unwrap();
        let settings = client::Settings {
            qps: 200.0,
            burst: 400,
            user_agent: "test".to_owned(),
            host: "h:1".to_owned(),
        };
        let kube = kube::Client::new(service, "default");
        let client = Client::new(kube, settings, &client_metrics, &runtime);
        let metrics = Metrics::new(&registry).unwrap();
        Self { api, client, registry, metrics, runtime }
    }

    /// With both kubeconfigs.
    async fn guard(&self, settings: &Settings) -> Result<Guard, Error> {
        let client = Some(&self.client);
        Guard::start(settings, client, client, &self.metrics, &self.runtime).await
    }

    fn api<T>(&self, change: impl FnOnce(&mut Api) -> T) -> T {
        change(&mut self.api.lock().unwrap())
    }

    /// How many requests had a method and path with this prefix.
    fn count(&self, start: &str) -> usize {
        self.api(|api| api.seen.iter().filter(|(what, ..)| what.starts_with(start)).count())
    }

    /// The value of a counter or gauge, or the count of a histogram.
    fn metric(&self, name: &str, label: &str) -> u64 {
        let families = self.registry.gather();
        let Some(family) = families.iter().find(|family| family.name() == name) else {
            return 0;
        };
        let fits = |m: &&prometheus::proto::Metric| {
            label.is_empty() || m.get_label().iter().any(|l| l.value() == label)
        };
        let values = family.get_metric().iter().filter(fits).map(|m| {
            let value = m.get_counter().get_value() + m.get_gauge().get_value();
            m.get_histogram().get_sample_count() + value.to_string().parse::<u64>().unwrap()
        });
        values.sum()
    }
}

impl Api {
    /// The response, and its delay.
    fn reply(&mut self, what: &str, body: &Value) -> (Reply, Duration) {
        if !what.contains("watch=true") {
            return (self.object(what, body), self.delay);
        }
        match self.changes_after.take() {
            Some(delay) => ((200, json!({"type": "MODIFIED"})), delay),
            None => (failure(403, "Forbidden", "no watch"), Duration::ZERO),
        }
    }

    fn object(&mut self, what: &str, body: &Value) -> Reply {
        if what.contains("configmaps") {
            let none = || failure(404, "NotFound", "there is none");
            return self.configmap.clone().unwrap_or_else(none);
        }
        if !self.first.is_empty() {
            return self.first.remove(0);
        }
        if what.contains("tokenreviews") {
            let nobody = (201, json!({"status": {"error": "[invalid bearer token]"}}));
            let token = body["spec"]["token"].as_str().unwrap();
            return self.tokens.get(token).cloned().unwrap_or(nobody);
        }
        self.access.clone().unwrap_or((201, json!({"status": {}})))
    }
}

// === impl Ask ===

fn get(target: &'static str) -> Ask {
    Ask { target, ..Ask::default() }
}

impl Ask {
    fn header(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.headers.push((name, value.into()));
        self
    }

    fn bearer(self, token: &str) -> Self {
        self.header("authorization", format!("Bearer {token}"))
    }

    fn showing(self, certificate: &CertificateDer<'static>) -> Self {
        Self { chain: vec![certificate.clone()], ..self }
    }

    fn parts(&self) -> Parts {
        let mut request = Request::builder().method(self.method.clone()).uri(self.target);
        request = request.version(self.version);
        for (name, value) in &self.headers {
            request = request.header(*name, value);
        }
        request.body(()).unwrap().into_parts().0
    }

    async fn of(&self, guard: &Guard) -> Result<User, Response<Bytes>> {
        guard.admit(&self.parts(), &self.chain).await
    }

    /// The code of the response, 200 if the request is admitted.
    async fn code(&self, guard: &Guard) -> u16 {
        self.of(guard).await.map_or_else(|response| response.status().as_u16(), |_| 200)
    }

    /// The name of the user for the guard, whether or not the request is allowed.
    async fn name(&self, guard: &Guard) -> String {
        let response = match self.of(guard).await {
            Ok(user) => return user.name,
            Err(response) => response,
        };
        let text = String::from_utf8(response.into_body().to_vec()).unwrap();
        let status: Value = serde_json::from_str(&text).unwrap();
        let message = status["message"].as_str().unwrap();
        message.split('"').nth(1).unwrap_or(message).to_owned()
    }
}
