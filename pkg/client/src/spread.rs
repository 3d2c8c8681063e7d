//! Spreads streams over several connections when a server limits the streams of one.
//!
//! An HTTP/2 server limits the streams of a connection, and a watch is a stream for minutes. The
//! pool of hyper-util has one connection for each server, and requests beyond the limit wait
//! silently behind watches that do not end: lists, writes and the renewal of the lease alike. Go's
//! transport opens another connection instead (golang.org/x/net/http2/transport.go,
//! `idleStateLocked`), and so do we.

#[cfg(test)]
mod tests;

use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::task::{Context, Poll};

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::BodyExt;
use hyper::body::Body;
use tower::{BoxError, Service};

use crate::network::Unanswered;

/// The streams of one connection. The API server allows 100 by default
/// (k8s.io/apiserver/pkg/server/secure_serving.go), which is the least that RFC 9113 recommends;
/// the rest is for streams that have ended here and not yet at the server.
pub(crate) const STREAMS_MAX: u32 = 90;
/// Connections to one server; with more streams than they carry, the streams are shared evenly.
const CONNECTIONS_MAX: usize = 64;

/// Sends over the first connection with room for another stream. Clones share the connections.
pub(crate) struct Spread<S>(Arc<Mutex<Connections<S>>>);

struct Connections<S> {
    connect: Box<dyn Fn() -> S + Send>,
    unanswered: Unanswered,
    /// In the order of creation, which is also the order of use.
    made: Vec<Load<S>>,
}

/// A connection (several, if the server supports only HTTP/1) and its streams.
struct Load<S> {
    service: S,
    /// Held by this and by each stream.
    streams: Arc<()>,
}

pub(crate) type Answered<B> = Pin<Box<dyn Future<Output = Result<Response<B>, BoxError>> + Send>>;
pub(crate) type Counted = http_body_util::combinators::UnsyncBoxBody<Bytes, BoxError>;

/// A request that waits for its response. If it is dropped before, the connection is not used any
/// more.
struct Waiting<S> {
    spread: Spread<S>,
    /// The streams of the connection.
    streams: Weak<()>,
    has_answer: bool,
}

// === impl Spread ===

impl<S> Spread<S> {
    /// Sends over connections from `connect`, which are opened at first use. `unanswered` decides
    /// about a connection on which a request was given up before its response began.
    pub(crate) fn new(connect: impl Fn() -> S + Send + 'static, unanswered: Unanswered) -> Self {
        let connections = Connections { connect: Box::new(connect), unanswered, made: Vec::new() };
        Self(Arc::new(Mutex::new(connections)))
    }

    fn connections(&self) -> MutexGuard<'_, Connections<S>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<S> Clone for Spread<S> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<S, T, B> Service<Request<T>> for Spread<S>
where
    S: Service<Request<T>, Response = Response<B>, Future: Send + 'static> + Send + 'static,
    S::Error: Into<BoxError>,
    B: Body<Data = Bytes, Error: Into<BoxError>> + Send + 'static,
{
    type Response = Response<Counted>;
    type Error = BoxError;
    type Future = Answered<Counted>;

    /// Always ready, as hyper's clients are.
    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<T>) -> Self::Future {
        let mut connections = self.connections();
        let load = connections.choose();
        let stream = Arc::clone(&load.streams);
        let answer = load.service.call(request);
        let streams = Arc::downgrade(&stream);
        let waiting = match connections.unanswered {
            Unanswered::Stays => None,
            Unanswered::Leaves => {
                Some(Waiting { spread: self.clone(), streams, has_answer: false })
            }
        };
        drop(connections);
        Box::pin(async move {
            let mut waiting = waiting;
            let answer = answer.await.map_err(Into::into);
            if let Some(waiting) = &mut waiting {
                waiting.has_answer = true;
            }
            let answer = answer?;
            Ok(answer.map(|body| {
                let counted = body.map_frame(move |frame| {
                    let _ = &stream;
                    frame
                });
                counted.map_err(Into::into).boxed_unsync()
            }))
        })
    }
}

// === impl Connections ===

impl<S> Connections<S> {
    /// The connection for one more stream. Later connections without streams are closed.
    fn choose(&mut self) -> &mut Load<S> {
        let free = self.made.iter().position(|load| load.streams() < STREAMS_MAX);
        let at = match free {
            Some(at) => {
                let mut behind = self.made.split_off(at + 1);
                behind.retain(|load| load.streams() > 0);
                self.made.append(&mut behind);
                at
            }
            None if self.made.len() < CONNECTIONS_MAX => {
                self.made.push(Load { service: (self.connect)(), streams: Arc::default() });
                let connections = self.made.len();
                tracing::debug!(connections, "opening a connection, the others are full");
                connections - 1
            }
            None => {
                let loads = self.made.iter().enumerate();
                let least = loads.min_by_key(|(_, load)| load.streams());
                least.map_or(0, |(at, _)| at)
            }
        };
        &mut self.made[at]
    }
}

// === impl Waiting ===

impl<S> Drop for Waiting<S> {
    fn drop(&mut self) {
        if self.has_answer {
            return;
        }
        tracing::debug!("no answer came in time, leaving the connection");
        let is_other = |load: &Load<S>| !self.streams.ptr_eq(&Arc::downgrade(&load.streams));
        self.spread.connections().made.retain(is_other);
    }
}

// === impl Load ===

impl<S> Load<S> {
    fn streams(&self) -> u32 {
        u32::try_from(Arc::strong_count(&self.streams) - 1).unwrap_or(u32::MAX)
    }
}
