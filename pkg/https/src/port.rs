//! The port: opening it, accepting clients, closing it.

use std::convert::Infallible;
use std::error::Error as StdError;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use http::{Request, Response};
use http_body::Body;
use hyper::body::Incoming;
use runtime::{Cancel, Instant, Runtime};
use tokio::net::{TcpListener, TcpStream};

use crate::certificates::Certificates;
use crate::connection::{Terms, converse};
use crate::listen::{listen, open_files_max};
use crate::places::{Place, Places};
use crate::{Error, Limits, Settings, tls};

/// How long responses in progress may take once the port closes: a page takes less than a second,
/// and the process is killed soon after it was asked to stop.
const CLOSING_MAX: Duration = Duration::from_secs(5);
/// Streams of an HTTP/2 connection without the flag. As `Serve` of secure_serving.go.
const HTTP2_STREAMS: u32 = 100;
/// The delay when no connection can be accepted, doubled each time, as Go.
const ACCEPT_DELAY_MIN: Duration = Duration::from_millis(5);
const ACCEPT_DELAY_MAX: Duration = Duration::from_secs(1);
/// How often too many connections, or failures to accept, are logged.
const WARNING_EVERY: Duration = Duration::from_mins(1);

/// An open port. Clients can connect, and wait until it is served.
pub struct Port {
    listener: TcpListener,
    address: SocketAddr,
    certificates: Certificates,
    terms: Terms,
    runtime: Runtime,
}

/// Accepts clients, up to the limit.
struct Door {
    listener: TcpListener,
    places: Places,
    runtime: Runtime,
    delay: Option<Duration>,
    warned_at: Option<Instant>,
}

// === impl Port ===

impl Port {
    /// Loads or generates the certificates and binds the port, in upstream's order: wrong settings
    /// are an error here, before the leader election.
    #[expect(clippy::unused_async, reason = "sockets need a runtime, which async code shows")]
    pub async fn open(settings: Settings, runtime: Runtime) -> Result<Self, Error> {
        let certificates = Certificates::load(&settings, &runtime)?;
        let listener = listen(&settings)?;
        let failed = |source| {
            let address = SocketAddr::new(settings.bind, settings.port);
            Error::Listen { address, step: "getsockname", source }
        };
        let address = listener.local_addr().map_err(failed)?;
        let chooser = certificates.chooser();
        let config = tls::config(&settings, Arc::new(chooser.clone()))?;
        let http2_max_streams = match settings.http2_max_streams {
            0 => HTTP2_STREAMS,
            streams => streams,
        };
        let terms = Terms {
            config,
            chooser,
            limits: Limits {
                connections: connections(settings.limits.connections),
                ..settings.limits
            },
            http2_max_streams,
            clock: runtime.clock.clone(),
            closing: runtime.cancel.clone(),
            ended: Cancel::new(),
        };
        Ok(Self { listener, address, certificates, terms, runtime })
    }

    /// The address of the port.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Serves clients until the runtime is cancelled. Then no more are accepted, and requests in
    /// progress are finished, for at most five seconds. If this future is dropped, all connections
    /// end at once.
    pub async fn serve<S, B>(self, service: S)
    where
        S: tower::Service<Request<Incoming>, Response = Response<B>, Error = Infallible>,
        S: Clone + Send + 'static,
        S::Future: Send,
        B: Body + Send + Unpin + 'static,
        B::Data: Send,
        B::Error: Into<Box<dyn StdError + Send + Sync>>,
    {
        let Self { listener, address, certificates, terms, runtime } = self;
        tracing::info!(%address, "serving securely");
        let limits = terms.limits;
        let places = Places::new(limits.connections);
        let mut door = Door::new(listener, places.clone(), runtime.clone());
        let _ended = terms.ended.clone().drop_guard();
        let terms = Arc::new(terms);
        let serving = async {
            loop {
                let (stream, peer, place) = door.accept().await;
                let (terms, service) = (Arc::clone(&terms), service.clone());
                drop(runtime::spawn("https connection", async move {
                    let evicted = place.evicted().clone();
                    tokio::select! { biased;
                        () = terms.ended.cancelled() => {}
                        () = evicted.cancelled() => {
                            tracing::debug!(%peer, "closed for a new connection");
                        }
                        () = converse(stream, peer, &place, &terms, service) => {}
                    }
                    drop(place);
                }));
            }
        };
        tokio::select! { biased;
            () = runtime.cancel.cancelled() => {}
            never = certificates.follow(&runtime.clock, limits.certificate_age) => match never {},
            never = serving => match never {},
        }
        drop(door);
        let all_ended = places.all_left(limits.connections);
        if runtime.clock.timeout(CLOSING_MAX, all_ended).await.is_err() {
            tracing::warn!("the port closes before all clients got their responses");
        }
        tracing::info!(%address, "stopped listening");
    }
}

/// The number of connections. Half of the files that the process may open are reserved: without
/// them it could not connect to the API server.
fn connections(wanted: usize) -> usize {
    let possible = open_files_max().and_then(|files| usize::try_from(files / 2).ok());
    match possible {
        Some(possible) if possible < wanted => {
            tracing::warn!(
                connections = possible,
                "the limit on open files (RLIMIT_NOFILE) leaves room for few connections"
            );
            possible
        }
        Some(_) | None => wanted,
    }
}

// === impl Door ===

impl Door {
    fn new(listener: TcpListener, places: Places, runtime: Runtime) -> Self {
        Self { listener, places, runtime, delay: None, warned_at: None }
    }

    /// The next client, and its place.
    async fn accept(&mut self) -> (TcpStream, SocketAddr, Place) {
        loop {
            match self.listener.accept().await {
                Ok((stream, peer)) => {
                    self.delay = None;
                    let peer = SocketAddr::new(peer.ip().to_canonical(), peer.port());
                    if !self.places.has_room() {
                        self.warn(
                            "too many connections at once: of those that have proven no name, the \
                             oldest ends for each new one",
                        );
                    }
                    let place = self.places.take(peer.ip()).await;
                    return (stream, peer, place);
                }
                Err(error) => {
                    self.delay = accept_delay(self.delay, &error);
                    if let Some(delay) = self.delay {
                        self.warn(&format!("cannot accept connections, trying again: {error}"));
                        self.runtime.clock.sleep(delay).await;
                    }
                }
            }
        }
    }

    fn warn(&mut self, text: &str) {
        let now = self.runtime.clock.instant();
        if self.warned_at.is_none_or(|at| now - at >= WARNING_EVERY) {
            tracing::warn!("{text}");
            self.warned_at = Some(now);
        }
    }
}

/// The delay after an error. None if it concerns one client that has disconnected already; all
/// others, such as missing file descriptors, would repeat at once.
pub(crate) fn accept_delay(last: Option<Duration>, error: &io::Error) -> Option<Duration> {
    use io::ErrorKind::{ConnectionAborted, ConnectionReset, Interrupted};
    let is_gone = matches!(error.kind(), ConnectionAborted | ConnectionReset | Interrupted);
    let next = last.map_or(ACCEPT_DELAY_MIN, |last| (last * 2).min(ACCEPT_DELAY_MAX));
    (!is_gone).then_some(next)
}
