//! HTTP/1.1 and HTTP/2 with prior knowledge, on a socket.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::middleware::from_fn;
use hyper::rt::Executor;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use hyper_util::service::TowerToHyperService;
use runtime::{Clock, Runtime};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;

use super::foreign;
use crate::server::Server;

/// How large the head of a request may be.
const HEAD_BYTES_MAX: u32 = 1 << 20;
/// How long a client may take to send it.
const HEAD_READ_MAX: Duration = Duration::from_secs(30);
/// How many requests may be open on a connection, watches among them.
const STREAMS_MAX: u32 = 1000;
/// How often an HTTP/2 client is asked whether it is there, and how long it may take to say so.
const PING_EVERY: Duration = Duration::from_secs(30);
const PONG_MAX: Duration = Duration::from_secs(15);
/// How long nothing is accepted after that has failed, as when there are no more descriptors.
const ACCEPT_AGAIN: Duration = Duration::from_millis(100);
/// How long connections may take to end.
const GOODBYE_MAX: Duration = Duration::from_secs(5);

/// Starts the tasks of HTTP/2 streams.
#[derive(Clone)]
struct Streams;

impl<F> Executor<F> for Streams
where
    F: Future<Output = ()> + Send + 'static,
{
    fn execute(&self, future: F) {
        runtime::spawn("sandbox-stream", future);
    }
}

impl Server {
    /// Serves plain HTTP until the runtime is cancelled: then watches end, responses are finished,
    /// and this returns when all connections have ended or 5 seconds have passed.
    ///
    /// `pages` go before what the API server itself has at a path.
    pub async fn serve(&self, listener: TcpListener, pages: Router) {
        let router = pages.fallback_service(self.service()).layer(from_fn(foreign::refuse));
        let (runtime, options) = (&self.shared.runtime, &self.shared.options);
        let permits_max = u32::try_from(options.connections_max).unwrap_or(u32::MAX >> 4);
        let permits = Arc::new(Semaphore::new(permits_max as usize));
        loop {
            let accepted = async {
                // The semaphore is never closed.
                let permit = permits.clone().acquire_owned().await;
                (permit, listener.accept().await)
            };
            let (permit, accepted) = tokio::select! { biased;
                () = runtime.cancel.cancelled() => break,
                accepted = accepted => accepted,
            };
            match accepted {
                Ok((stream, _)) => {
                    let conversation = converse(stream, router.clone(), runtime.clone());
                    runtime::spawn("sandbox-connection", async move {
                        conversation.await;
                        drop(permit);
                    });
                }
                Err(error) => {
                    tracing::warn!(%error, "cannot accept a connection");
                    Clock::system().sleep(ACCEPT_AGAIN).await;
                }
            }
        }
        drop(listener);
        let all = permits.acquire_many(permits_max);
        if let Err(runtime::Elapsed) = Clock::system().timeout(GOODBYE_MAX, all).await {
            tracing::warn!("connections are open still");
        }
    }
}

/// Serves one client until one of both sides ends it.
async fn converse(stream: TcpStream, router: Router, runtime: Runtime) {
    // Events are small and should not wait for each other.
    let _ = stream.set_nodelay(true);
    let mut builder = Builder::new(Streams);
    let size = HEAD_BYTES_MAX as usize;
    builder.http1().timer(TokioTimer::new()).header_read_timeout(HEAD_READ_MAX).max_buf_size(size);
    builder
        .http2()
        .timer(TokioTimer::new())
        .max_concurrent_streams(STREAMS_MAX)
        .max_header_list_size(HEAD_BYTES_MAX)
        .keep_alive_interval(PING_EVERY)
        .keep_alive_timeout(PONG_MAX);
    let service = TowerToHyperService::new(router);
    let connection = builder.serve_connection(TokioIo::new(stream), service);
    let mut connection = std::pin::pin!(connection);
    let ended = tokio::select! { biased;
        () = runtime.cancel.cancelled() => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
        ended = connection.as_mut() => ended,
    };
    // What clients do wrong is their business.
    if let Err(error) = ended {
        tracing::debug!(%error, "connection error");
    }
}
