//! The router, called in process.

mod cbor;
mod chain;
mod health;
mod pages;
mod upstream;

use std::io;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};
use std::time::Duration;

use axum::body::Body;
use http::request::Builder;
use http::{Request, StatusCode};
use http_body_util::BodyExt;
use tower::ServiceExt;
use tracing::subscriber::{DefaultGuard, NoSubscriber};
use tracing::{Dispatch, Level};

use super::*;

/// A request with this header may see everything.
const LET_IN: (&str, &str) = ("authorization", "let me in");

const PRIVATE: &str = "no-cache, private";

/// Admits requests with the header, all requests to /healthz, and refuses invalid credentials.
struct Door;

/// The way in which a request was admitted.
#[derive(Clone, Copy, Debug)]
struct Entered;

impl Admit for Door {
    type User = Entered;

    async fn admit(&self, request: &Parts) -> Result<Entered, Response<Bytes>> {
        let refusal = |status, body| {
            let response = Response::builder().status(status).header("x-door", "shut");
            response.body(Bytes::from_static(body)).unwrap()
        };
        let word = request.headers.get(LET_IN.0).map(|word| word.to_str().unwrap());
        match (word, request.uri.path()) {
            (Some("a lie"), _) => Err(refusal(StatusCode::UNAUTHORIZED, b"Unauthorized")),
            (Some("let me in"), _) | (_, "/healthz") => Ok(Entered),
            _ => Err(refusal(StatusCode::FORBIDDEN, b"forbidden: anonymous")),
        }
    }
}

/// A response, read to its end.
#[derive(Debug)]
struct Answer {
    status: u16,
    headers: HeaderMap,
    body: String,
}

impl Answer {
    fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(|value| value.to_str().unwrap())
    }
}

/// A manager with all pages, at one moment.
fn pages() -> Pages {
    Pages {
        component: "kube-controller-manager",
        health: Health::new(|_, _| {}),
        metrics: expose("metrics"),
        slis: expose("slis"),
        reset_slis: Box::new(|| {}),
        configs: BTreeMap::new(),
        flags: Some(BTreeMap::from([("a", "1m0s"), ("b", "<a>&")].map(owned))),
        status: Some(ProcessStatus {
            started: Time::parse("2026-11-21T18:02:03.7Z").unwrap(),
            go_version: "go1.26.8".to_owned(),
            binary_version: "1.36.3".to_owned(),
            emulation_version: Some("1.36".to_owned()),
        }),
        cbor: false,
        debugging: Some(Debugging { profiles: Router::new(), set_verbosity: Box::new(|_| Ok(())) }),
        extra: Router::new(),
    }
}

fn owned((name, value): (&str, &str)) -> (String, String) {
    (name.to_owned(), value.to_owned())
}

fn expose(page: &'static str) -> Expose {
    Box::new(move |accept| Exposition {
        content_type: "text/plain; version=0.0.4".to_owned(),
        body: format!("{page} {accept:?}"),
    })
}

/// Simulated, in the second in which the process started.
fn runtime_with(seed: u64) -> Runtime {
    let start = Time::parse("2026-11-21T18:02:03Z").unwrap();
    Runtime::simulated(start + Duration::from_millis(900), seed)
}

fn router_of(pages: Pages) -> Router {
    router(pages, Door, &runtime_with(1))
}

async fn ask(router: &Router, request: Builder, body: impl Into<Body>) -> Answer {
    let request = request.body(body.into()).unwrap();
    let (parts, body) = router.clone().oneshot(request).await.unwrap().into_parts();
    let body = body.collect().await.unwrap().to_bytes();
    let body = String::from_utf8(body.to_vec()).unwrap();
    Answer { status: parts.status.as_u16(), headers: parts.headers, body }
}

/// A request that may see everything.
async fn get(router: &Router, uri: &str) -> Answer {
    call(router, "GET", uri).await
}

async fn call(router: &Router, method: &str, uri: &str) -> Answer {
    let request = Request::builder().method(method).uri(uri).header(LET_IN.0, LET_IN.1);
    ask(router, request, Body::empty()).await
}

/// The log of this thread as text.
#[derive(Clone, Default)]
struct Lines(Arc<Mutex<Vec<u8>>>);

impl Lines {
    fn record(level: Level) -> (Self, DefaultGuard) {
        // With one log in the process, the first test that reaches a line decides for all tests
        // whether the line is enabled; with two, both are asked each time.
        static OTHER: LazyLock<Dispatch> = LazyLock::new(|| Dispatch::new(NoSubscriber::default()));
        LazyLock::force(&OTHER);
        let lines = Self::default();
        let writer = lines.clone();
        let log = tracing_subscriber::fmt().with_ansi(false).without_time();
        let log = log.with_max_level(level).with_writer(move || writer.clone()).finish();
        (lines, tracing::subscriber::set_default(log))
    }

    /// What was logged since the last call.
    fn take(&self) -> Vec<String> {
        let bytes = std::mem::take(&mut *self.0.lock().unwrap());
        String::from_utf8(bytes).unwrap().lines().map(|line| line.trim().to_owned()).collect()
    }
}

impl io::Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
