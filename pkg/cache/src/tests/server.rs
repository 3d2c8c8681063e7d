//! An API server that the test plays: it sees each request and answers it bit by bit.

use std::io;
use std::time::Duration;

use api::Time;
use bytes::Bytes;
use client::{Client, Metrics, Settings};
use http::{Request, Response, header};
use http_body_util::Channel;
use http_body_util::channel::Sender;
use kube::client::Body;
use prometheus::Registry;
use runtime::{Instant, Runtime};
use tokio::sync::{mpsc, oneshot};
use tower::{BoxError, service_fn};

/// Longest wait of a test, in simulated time.
pub(super) const LIMIT: Duration = Duration::from_hours(1);

type Reply = Result<Response<Channel<Bytes, BoxError>>, BoxError>;

pub(super) struct Server {
    pub(super) runtime: Runtime,
    pub(super) client: Client,
    calls: mpsc::UnboundedReceiver<Call>,
}

/// A request that waits for its answer.
pub(super) struct Call {
    /// Path and query.
    pub(super) path: String,
    pub(super) accept: String,
    /// When it came.
    pub(super) at: Instant,
    reply: oneshot::Sender<Reply>,
}

/// An answer that is being written; it ends when this is dropped.
pub(super) struct Stream(Sender<Bytes, BoxError>);

/// Runs a test on one thread, with the time of tokio stopped: it jumps when nothing else is to do.
pub(super) fn run<T>(test: impl Future<Output = T>) -> T {
    let mut tokio = tokio::runtime::Builder::new_current_thread();
    tokio.enable_all().start_paused(true).build().unwrap().block_on(test)
}

impl Server {
    pub(super) fn new() -> Self {
        let runtime = Runtime::simulated(Time::EPOCH, 7);
        let (sender, calls) = mpsc::unbounded_channel();
        let clock = runtime.clock.clone();
        let service = service_fn(move |request: Request<Body>| {
            let (reply, answer) = oneshot::channel();
            let accept = request.headers()[header::ACCEPT].to_str().unwrap().to_owned();
            let (path, at) = (request.uri().to_string(), clock.instant());
            sender.send(Call { path, accept, at, reply }).unwrap();
            async move { answer.await.unwrap_or_else(|closed| Err(closed.into())) }
        });
        let settings =
            Settings { qps: 0.0, burst: 0, user_agent: "test".into(), host: "test".into() };
        let metrics = Metrics::new(&Registry::new()).unwrap();
        let kube = kube::Client::new(service, "default");
        let client = Client::new(kube, settings, &metrics, &runtime);
        Self { runtime, client, calls }
    }

    /// The next request.
    pub(super) async fn call(&mut self) -> Call {
        self.runtime.clock.timeout(LIMIT, self.calls.recv()).await.unwrap().unwrap()
    }

    /// The next request, which must be for this path (without its timeoutSeconds), answered in JSON.
    pub(super) async fn json(&mut self, path: &str) -> Stream {
        let call = self.call().await;
        assert_eq!(call.without_timeout(), path);
        call.answer(200, "application/json")
    }

    /// The next request, which must be for this path (without its timeoutSeconds), answered with an
    /// error.
    pub(super) async fn error(&mut self, path: &str, code: u16, reason: &str, message: &str) {
        let call = self.call().await;
        assert_eq!(call.without_timeout(), path);
        call.answer(code, "application/json").send(&status(code, reason, message)).await;
    }
}

impl Call {
    pub(super) fn answer(self, code: u16, kind: &str) -> Stream {
        let (sender, body) = Channel::new(16);
        let response = Response::builder().status(code).header(header::CONTENT_TYPE, kind);
        self.reply.send(Ok(response.body(body).unwrap())).unwrap();
        Stream(sender)
    }

    /// Nobody listens at the server's address.
    pub(super) fn refuse(self) {
        let error = io::Error::from(io::ErrorKind::ConnectionRefused);
        self.reply.send(Err(error.into())).unwrap();
    }

    /// The value of timeoutSeconds.
    pub(super) fn timeout(&self) -> Option<u64> {
        let (_, rest) = self.path.split_once("&timeoutSeconds=")?;
        rest.split('&').next()?.parse().ok()
    }

    pub(super) fn without_timeout(&self) -> String {
        match self.timeout() {
            Some(seconds) => self.path.replace(&format!("&timeoutSeconds={seconds}"), ""),
            None => self.path.clone(),
        }
    }
}

impl Stream {
    pub(super) async fn send(&mut self, piece: impl AsRef<[u8]>) {
        self.try_send(piece).await.unwrap();
    }

    /// Whether somebody still reads.
    pub(super) async fn try_send(&mut self, piece: impl AsRef<[u8]>) -> Result<(), ()> {
        self.0.send_data(Bytes::copy_from_slice(piece.as_ref())).await.map_err(|_| ())
    }

    /// The connection breaks.
    pub(super) fn abort(self) {
        self.0.abort(io::Error::from(io::ErrorKind::ConnectionReset).into());
    }
}

/// A `Status` as JSON.
pub(super) fn status(code: u16, reason: &str, message: &str) -> String {
    format!(
        r#"{{"kind":"Status","apiVersion":"v1","metadata":{{}},"status":"Failure","message":"{message}","reason":"{reason}","code":{code}}}"#
    )
}
