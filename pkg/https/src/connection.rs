//! One connection, from its first byte to its last.

use std::convert::Infallible;
use std::error::Error as StdError;
use std::net::SocketAddr;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::time::Duration;

use http::{Request, Response};
use http_body::Body;
use hyper::body::Incoming;
use hyper::rt::Executor;
use hyper::server::conn::{http1, http2};
use hyper_util::rt::{TokioIo, TokioTimer};
use runtime::{Cancel, Clock, Instant, Reader};
use rustls::ServerConfig;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

use crate::activity::{Activity, End, Protocol, State, Watched, hang_up};
use crate::certificates::Chooser;
use crate::places::Place;
use crate::service::FencedService;
use crate::{Limits, PeerCertificates, listen};

/// The largest head of a request. A larger one gets 431.
const HEAD_BYTES_MAX: u32 = 1 << 20;
/// How much body an HTTP/2 client may send before a page reads it. Upstream allows 256 KiB for each
/// stream; no page of a manager reads that much.
const WINDOW_BYTES: u32 = 1 << 16;
/// The interval of pings to HTTP/2 clients, and the time limit of the response.
const PING_EVERY: Duration = Duration::from_secs(30);
const PONG_MAX: Duration = Duration::from_secs(15);

/// The first bytes of plain HTTP requests, as far as Go checks.
const PLAIN_HTTP: [&[u8; 5]; 5] = [b"GET /", b"HEAD ", b"POST ", b"PUT /", b"OPTIO"];
const PLAIN_HTTP_ANSWER: &[u8] =
    b"HTTP/1.0 400 Bad Request\r\n\r\nClient sent an HTTP request to an HTTPS server.\n";

/// What all connections share.
pub(crate) struct Terms {
    pub(crate) config: ServerConfig,
    pub(crate) chooser: Chooser,
    pub(crate) limits: Limits,
    pub(crate) http2_max_streams: u32,
    pub(crate) clock: Clock,
    /// Responses are finished, new requests are refused.
    pub(crate) closing: Cancel,
    /// Connections end at once.
    pub(crate) ended: Cancel,
}

/// Starts the tasks of HTTP/2 streams.
#[derive(Clone)]
struct Streams;

/// Serves one client until either side ends the connection. Errors of clients are logged at debug:
/// a port scanner must not fill the log.
pub(crate) async fn converse<S, B>(
    stream: TcpStream,
    peer: SocketAddr,
    place: &Place,
    terms: &Terms,
    service: S,
) where
    S: tower::Service<Request<Incoming>, Response = Response<B>, Error = Infallible>,
    S: Clone + Send + 'static,
    S::Future: Send,
    B: Body + Send + Unpin + 'static,
    B::Data: Send,
    B::Error: Into<Box<dyn StdError + Send + Sync>>,
{
    let handshake = terms.clock.timeout(terms.limits.handshake, shake_hands(stream, terms));
    let handshake = tokio::select! { biased;
        () = terms.closing.cancelled() => return,
        handshake = handshake => handshake,
    };
    let stream = match handshake {
        Ok(Ok(Some(stream))) => stream,
        Ok(Ok(None)) => return,
        Ok(Err(error)) => return tracing::debug!(%peer, %error, "TLS handshake error"),
        Err(runtime::Elapsed) => return tracing::debug!(%peer, "TLS handshake timeout"),
    };
    let (_, tls) = stream.get_ref();
    let protocol = match tls.alpn_protocol() {
        Some(b"h2") => Protocol::Two,
        _ => Protocol::One,
    };
    let certificates = tls.peer_certificates().unwrap_or_default();
    let certificates = certificates.iter().map(|cert| cert.clone().into_owned()).collect();
    let certificates = PeerCertificates(certificates);
    let activity = Activity::new(protocol, terms.clock.clone());
    let io = TokioIo::new(Watched::new(stream, activity.clone(), place.evicted().clone()));
    let line = place.line().clone();
    let service = FencedService { service, activity: activity.clone(), peer, certificates, line };
    let ended = match protocol {
        Protocol::One => {
            let connection = http1_builder().serve_connection(io, service);
            let close = http1::Connection::graceful_shutdown;
            until_ended(pin!(connection), close, &activity, place, terms).await
        }
        Protocol::Two => {
            let connection = http2_builder(terms).serve_connection(io, service);
            let close = http2::Connection::graceful_shutdown;
            until_ended(pin!(connection), close, &activity, place, terms).await
        }
    };
    match ended {
        Some(Ok(())) => {}
        Some(Err(error)) => tracing::debug!(%peer, %error, "connection error"),
        None => {
            tracing::debug!(%peer, "a client does not read its response; the connection is closed");
        }
    }
}

/// The connection after its handshake. None if it was not TLS; the client got a response that says
/// so.
async fn shake_hands(
    mut stream: TcpStream,
    terms: &Terms,
) -> std::io::Result<Option<TlsStream<TcpStream>>> {
    listen::keep_alive(&stream)?;
    let mut start = [0; 5];
    let count = stream.peek(&mut start).await?;
    if count == start.len() && PLAIN_HTTP.contains(&&start) {
        stream.write_all(PLAIN_HTTP_ANSWER).await?;
        hang_up(&mut stream, &terms.clock).await;
        return Ok(None);
    }
    let mut config = terms.config.clone();
    config.cert_resolver = Arc::new(terms.chooser.at(stream.local_addr()?.ip()));
    TlsAcceptor::from(Arc::new(config)).accept(stream).await.map(Some)
}

fn http1_builder() -> http1::Builder {
    let mut builder = http1::Builder::new();
    // `Activity` limits the reading of a head, since it distinguishes an idle client from a slow
    // one.
    builder
        .header_read_timeout(None)
        .max_header_size(HEAD_BYTES_MAX as usize)
        .max_buf_size(HEAD_BYTES_MAX as usize);
    builder
}

fn http2_builder(terms: &Terms) -> http2::Builder<Streams> {
    let mut builder = http2::Builder::new(Streams);
    builder
        .timer(TokioTimer::new())
        .max_concurrent_streams(terms.http2_max_streams)
        .max_header_list_size(HEAD_BYTES_MAX)
        .initial_stream_window_size(WINDOW_BYTES)
        .initial_connection_window_size(WINDOW_BYTES)
        .keep_alive_interval(PING_EVERY)
        .keep_alive_timeout(PONG_MAX);
    builder
}

/// Serves until the connection has ended. Closes it when it is idle, when the port closes, or when
/// it must make room. None: it is aborted, since the client does not read.
async fn until_ended<C: Future<Output = hyper::Result<()>>>(
    mut connection: Pin<&mut C>,
    close: fn(Pin<&mut C>),
    activity: &Activity,
    place: &Place,
    terms: &Terms,
) -> Option<hyper::Result<()>> {
    // Set before the connection is dropped, since its drop reads it.
    let break_off = || {
        place.evicted().cancel();
        None
    };
    match while_active(connection.as_mut(), activity, terms).await {
        Ok(ended) => return Some(ended),
        Err(End::AtOnce) => return break_off(),
        Err(End::InPeace) => {}
    }
    close(connection.as_mut());
    let (mut states, asked_at) = (activity.reader(), terms.clock.instant());
    let ends = |states: &mut Reader<State>| {
        states.look(|state| state.goodbye_ends(asked_at, &terms.limits))
    };
    loop {
        let at = ends(&mut states);
        tokio::select! { biased;
            ended = connection.as_mut() => return Some(ended),
            () = states.changed() => {}
            () = until(at, &terms.clock) => {
                if is_over(ends(&mut states), &terms.clock) {
                    return break_off();
                }
            }
        }
    }
}

/// Serves until the connection has ended or must end, and returns how.
async fn while_active<C: Future>(
    mut connection: Pin<&mut C>,
    activity: &Activity,
    terms: &Terms,
) -> Result<C::Output, End> {
    let mut states = activity.reader();
    loop {
        let (end, is_leaving) = states.look(|state| (state.end(&terms.limits), state.is_leaving()));
        if is_leaving {
            return Err(End::InPeace);
        }
        tokio::select! { biased;
            () = terms.closing.cancelled() => return Err(End::InPeace),
            ended = connection.as_mut() => return Ok(ended),
            () = states.changed() => {}
            () = until(end.map(|(at, _)| at), &terms.clock) => {
                // The deadline may have moved meanwhile.
                let end = activity.look(|state| state.end(&terms.limits));
                if let Some((at, how)) = end && is_over(Some(at), &terms.clock) {
                    return Err(how);
                }
            }
        }
    }
}

async fn until(at: Option<Instant>, clock: &Clock) {
    match at {
        Some(at) => clock.sleep_until(at).await,
        None => std::future::pending().await,
    }
}

fn is_over(at: Option<Instant>, clock: &Clock) -> bool {
    at.is_some_and(|at| at <= clock.instant())
}

// === impl Streams ===

impl<F: Future<Output = ()> + Send + 'static> Executor<F> for Streams {
    fn execute(&self, stream: F) {
        // Ends with its connection, which holds the other end of its channels.
        drop(runtime::spawn("https stream", stream));
    }
}
