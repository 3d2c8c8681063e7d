//! An API server that a test plays: it sees each request and answers it piece by piece.

use std::collections::VecDeque;
use std::io;
use std::time::Duration;

use api::Time;
use bytes::Bytes;
use client::{Client, Metrics, Settings};
use http::{Method, Request, Response, header};
use http_body_util::channel::Sender;
use http_body_util::{BodyExt, Channel};
use kube::client::Body;
use metrics::Registry;
use runtime::{Instant, Runtime};
use tokio::sync::{mpsc, oneshot};
use tower::{BoxError, service_fn};

/// Longest wait of a test, in simulated time.
pub const LIMIT: Duration = Duration::from_hours(1);
/// Simulated time passes only when no task is runnable, so all tasks are idle after any wait. This
/// is the shortest wait.
const TICK: Duration = Duration::from_millis(1);
/// A test that skips this many requests waits for one that never comes.
const PASSED_MAX: usize = 1000;

type Reply = Result<Response<Channel<Bytes, BoxError>>, BoxError>;

/// The server, and the simulated runtime of its clients.
pub struct Server {
    /// Simulated: the wall clock starts at the epoch.
    pub runtime: Runtime,
    /// Sends to this server, without a rate limit.
    pub client: Client,
    calls: mpsc::UnboundedReceiver<Call>,
    /// Requests that arrived while the test looked for another one.
    passed: VecDeque<Call>,
}

/// A request that waits for its answer.
pub struct Call {
    /// The method.
    pub method: Method,
    /// Path and query.
    pub path: String,
    /// The header `Accept`.
    pub accept: String,
    /// The body; often empty.
    pub body: Bytes,
    /// When it arrived.
    pub at: Instant,
    reply: oneshot::Sender<Reply>,
}

/// A response that is being written; it ends when this is dropped.
pub struct Stream(Sender<Bytes, BoxError>);

/// Runs a test on one thread, with tokio's time paused: it jumps when no task is runnable.
pub fn run<T>(test: impl Future<Output = T>) -> T {
    let mut tokio = tokio::runtime::Builder::new_current_thread();
    let tokio = tokio.enable_all().start_paused(true).build();
    tokio.expect("a runtime can be built").block_on(test)
}

/// A `Status` as JSON.
pub fn status(code: u16, reason: &str, message: &str) -> String {
    format!(
        r#"{{"kind":"Status","apiVersion":"v1","metadata":{{}},"status":"Failure","message":"{message}","reason":"{reason}","code":{code}}}"#
    )
}

/// An event of a JSON watch, as a line.
pub fn event(kind: &str, object: &str) -> String {
    format!("{{\"type\":\"{kind}\",\"object\":{object}}}\n")
}

/// A bookmark of a JSON watch, as a line; `list_end`: the one that ends a streamed list.
pub fn bookmark(version: u64, list_end: bool) -> String {
    let end = if list_end { r#","annotations":{"k8s.io/initial-events-end":"true"}"# } else { "" };
    let object = format!(
        r#"{{"kind":"Pod","apiVersion":"v1","metadata":{{"resourceVersion":"{version}","creationTimestamp":null{end}}},"spec":{{"containers":null}},"status":{{}}}}"#
    );
    event("BOOKMARK", &object)
}

// === impl Server ===

impl Default for Server {
    fn default() -> Self {
        let runtime = Runtime::simulated(Time::EPOCH, 7);
        let (sender, calls) = mpsc::unbounded_channel();
        let clock = runtime.clock.clone();
        let service = service_fn(move |request: Request<Body>| {
            let (sender, at) = (sender.clone(), clock.instant());
            async move {
                let (head, body) = request.into_parts();
                let accept = head.headers.get(header::ACCEPT).and_then(|v| v.to_str().ok());
                let (reply, answer) = oneshot::channel();
                let call = Call {
                    method: head.method,
                    path: head.uri.to_string(),
                    accept: accept.unwrap_or_default().to_owned(),
                    body: body.collect().await?.to_bytes(),
                    at,
                    reply,
                };
                sender.send(call)?;
                answer.await.unwrap_or_else(|closed| Err(closed.into()))
            }
        });
        let settings =
            Settings { qps: 0.0, burst: 0, user_agent: "test".into(), host: "test".into() };
        let metrics = Metrics::new(&Registry::default()).expect("a new registry is empty");
        let kube = kube::Client::new(service, "default");
        let client = Client::new(kube, settings, &metrics, &runtime);
        Self { runtime, client, calls, passed: VecDeque::new() }
    }
}

impl Server {
    /// The next request.
    pub async fn call(&mut self) -> Call {
        match self.passed.pop_front() {
            Some(call) => call,
            None => self.received().await,
        }
    }

    /// The next request with this method and path (without its query); other requests stay queued.
    pub async fn find(&mut self, method: &str, path: &str) -> Call {
        let known = self.passed.iter().position(|call| call.is(method, path));
        if let Some(call) = known.and_then(|at| self.passed.remove(at)) {
            return call;
        }
        let until = self.runtime.clock.instant() + LIMIT;
        loop {
            let left = until - self.runtime.clock.instant();
            let call = self.runtime.clock.timeout(left, self.calls.recv()).await.ok().flatten();
            let came = || self.passed.iter().map(Call::line).collect::<Vec<_>>();
            let may_come = call.is_some() && self.passed.len() < PASSED_MAX;
            assert!(may_come, "no {method} {path} came, but {:?}", came());
            match call {
                Some(call) if call.is(method, path) => return call,
                other => self.passed.extend(other),
            }
        }
    }

    /// All requests that have arrived once no task is runnable, oldest first.
    pub async fn under_way(&mut self) -> Vec<Call> {
        self.runtime.clock.sleep(TICK).await;
        while let Ok(call) = self.calls.try_recv() {
            self.passed.push_back(call);
        }
        self.passed.drain(..).collect()
    }

    /// The next request, which must be for this path (without its timeoutSeconds); JSON.
    pub async fn json(&mut self, path: &str) -> Stream {
        let call = self.call().await;
        assert_eq!(call.without_timeout(), path);
        call.answer(200, "application/json")
    }

    /// The next request, which must be for this path (without its timeoutSeconds), answered with an
    /// error.
    pub async fn error(&mut self, path: &str, code: u16, reason: &str, message: &str) {
        let call = self.call().await;
        assert_eq!(call.without_timeout(), path);
        call.reply(code, status(code, reason, message)).await;
    }

    async fn received(&mut self) -> Call {
        let call = self.runtime.clock.timeout(LIMIT, self.calls.recv()).await;
        call.ok().flatten().expect("a request comes")
    }
}

// === impl Call ===

impl Call {
    /// Begins a response of this content type.
    pub fn answer(self, code: u16, kind: &str) -> Stream {
        let (sender, body) = Channel::new(16);
        let response = Response::builder().status(code).header(header::CONTENT_TYPE, kind);
        let sent = self.reply.send(response.body(body).map_err(BoxError::from));
        assert!(sent.is_ok(), "somebody waits for the answer");
        Stream(sender)
    }

    /// Answers with this JSON.
    pub async fn reply(self, code: u16, json: impl AsRef<[u8]>) {
        self.answer(code, "application/json").send(json).await;
    }

    /// Fails as if nothing listens at the server's address.
    pub fn refuse(self) {
        self.fail(io::ErrorKind::ConnectionRefused);
    }

    /// Breaks the connection before there is a response.
    pub fn reset(self) {
        self.fail(io::ErrorKind::ConnectionReset);
    }

    /// Whether the client has given up the request.
    pub fn is_given_up(&self) -> bool {
        self.reply.is_closed()
    }

    /// Method and path.
    pub fn line(&self) -> String {
        format!("{} {}", self.method, self.path)
    }

    /// The value of timeoutSeconds.
    pub fn timeout(&self) -> Option<u64> {
        let (_, rest) = self.path.split_once("&timeoutSeconds=")?;
        rest.split('&').next()?.parse().ok()
    }

    /// Path and query but for timeoutSeconds.
    pub fn without_timeout(&self) -> String {
        match self.timeout() {
            Some(seconds) => self.path.replace(&format!("&timeoutSeconds={seconds}"), ""),
            None => self.path.clone(),
        }
    }

    fn is(&self, method: &str, path: &str) -> bool {
        self.method == method && self.path.split('?').next() == Some(path)
    }

    fn fail(self, kind: io::ErrorKind) {
        let sent = self.reply.send(Err(io::Error::from(kind).into()));
        assert!(sent.is_ok(), "somebody waits for the answer");
    }
}

// === impl Stream ===

impl Stream {
    /// Sends some bytes; the client must still read.
    pub async fn send(&mut self, piece: impl AsRef<[u8]>) {
        self.try_send(piece).await.expect("somebody reads");
    }

    /// Sends some bytes. An error if the client no longer reads.
    pub async fn try_send(&mut self, piece: impl AsRef<[u8]>) -> Result<(), ()> {
        self.0.send_data(Bytes::copy_from_slice(piece.as_ref())).await.map_err(|_| ())
    }

    /// Breaks the connection.
    pub fn abort(self) {
        self.0.abort(io::Error::from(io::ErrorKind::ConnectionReset).into());
    }
}
