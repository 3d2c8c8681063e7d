//! Opens connections: directly to the API server, or through a proxy.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use http::Uri;
use hyper::rt::{Read, ReadBufCursor, Write};
use hyper_rustls::{HttpsConnector, MaybeHttpsStream};
use hyper_util::client::legacy::connect::proxy::{SocksV5, Tunnel};
use hyper_util::client::legacy::connect::{Connected, Connection, HttpConnector};
use hyper_util::rt::TokioIo;
use runtime::Clock;
use tokio::net::TcpStream;
use tower::{BoxError, Service};

use crate::gate::{Gated, GatedConnector};
use crate::proxy::{Protocol, Proxy, User};

/// TCP, with the guard that is asked before each write.
pub(crate) type Tcp = GatedConnector<HttpConnector>;
type Stream = MaybeHttpsStream<Gated<TokioIo<TcpStream>>>;

/// Opens connections to the API server, with TLS or without.
#[derive(Clone)]
pub(crate) struct Dialer {
    route: Route,
    /// The proxy, as text.
    through: Option<String>,
    /// How long opening may take; a proxy may be silent as well.
    limit: Duration,
    clock: Clock,
}

#[derive(Clone)]
enum Route {
    Direct(Tcp),
    /// The proxy forwards requests; only for servers without TLS.
    Forward(Uri, HttpsConnector<Tcp>),
    /// The proxy forwards bytes.
    Tunnel(Tunnel<HttpsConnector<Tcp>>),
    Socks(SocksV5<Tcp>),
}

/// An open connection.
pub(crate) struct Line {
    stream: Stream,
    /// Whether requests must name the server, because a proxy forwards them.
    is_forwarded: bool,
}

/// A connection through a proxy that could not be opened.
#[derive(Debug, thiserror::Error)]
#[error("cannot connect through the proxy {through}")]
struct ProxyError {
    through: String,
    source: BoxError,
}

type Opening = Pin<Box<dyn Future<Output = Result<Line, BoxError>> + Send>>;

// === impl Dialer ===

impl Dialer {
    /// Connections to `server`, through `proxy` if there is one, with the TLS configuration `tls`.
    /// Opening takes no longer than `limit`.
    pub(crate) fn new(
        (tcp, server): (Tcp, &Uri),
        proxy: Option<(&Proxy, rustls::ClientConfig)>,
        limit: Duration,
        clock: Clock,
    ) -> Self {
        let through = proxy.as_ref().map(|(proxy, _)| proxy.to_string());
        let route = match proxy {
            None => Route::Direct(tcp),
            Some((proxy, tls)) => match proxy.protocol {
                Protocol::Socks5 => Route::Socks(socks(tcp, proxy)),
                Protocol::Http => http(tcp, proxy, tls, server),
            },
        };
        Self { route, through, limit, clock }
    }
}

fn socks(tcp: Tcp, proxy: &Proxy) -> SocksV5<Tcp> {
    let socks = SocksV5::new(proxy.address.clone(), tcp);
    match proxy.user.clone() {
        Some(User { name, password }) => socks.with_auth(name, password),
        None => socks,
    }
}

/// As Go's net/http: TLS goes through a tunnel, plain HTTP is forwarded.
fn http(tcp: Tcp, proxy: &Proxy, tls: rustls::ClientConfig, server: &Uri) -> Route {
    let builder = hyper_rustls::HttpsConnectorBuilder::new().with_tls_config(tls);
    let to_proxy = builder.https_or_http().enable_http1().wrap_connector(tcp);
    if server.scheme_str() != Some("https") {
        return Route::Forward(proxy.address.clone(), to_proxy);
    }
    let tunnel = Tunnel::new(proxy.address.clone(), to_proxy);
    Route::Tunnel(match proxy.authorization() {
        Some(authorization) => tunnel.with_auth(authorization),
        None => tunnel,
    })
}

impl Service<Uri> for Dialer {
    type Response = Line;
    type Error = BoxError;
    type Future = Opening;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        match &mut self.route {
            Route::Direct(tcp) => tcp.poll_ready(cx),
            Route::Forward(_, proxy) => proxy.poll_ready(cx),
            Route::Tunnel(tunnel) => tunnel.poll_ready(cx).map_err(Into::into),
            Route::Socks(socks) => socks.poll_ready(cx).map_err(Into::into),
        }
    }

    fn call(&mut self, server: Uri) -> Opening {
        let opening: Pin<Box<dyn Future<Output = Result<Stream, BoxError>> + Send>> =
            match &mut self.route {
                Route::Direct(tcp) => {
                    let opening = tcp.call(server);
                    Box::pin(async move { Ok(opening.await?.into()) })
                }
                Route::Forward(proxy, through) => Box::pin(through.call(proxy.clone())),
                Route::Tunnel(tunnel) => {
                    let opening = tunnel.call(server);
                    Box::pin(async move { Ok(opening.await?) })
                }
                Route::Socks(socks) => {
                    let opening = socks.call(server);
                    Box::pin(async move { Ok(opening.await?.into()) })
                }
            };
        let is_forwarded = matches!(self.route, Route::Forward(..));
        let (clock, limit, through) = (self.clock.clone(), self.limit, self.through.clone());
        Box::pin(async move {
            let opened = clock.timeout(limit, opening).await;
            let opened = opened.unwrap_or_else(|_| Err(format!("nothing within {limit:?}").into()));
            let stream = opened.map_err(|source| match through {
                Some(through) => ProxyError { through, source }.into(),
                None => source,
            })?;
            Ok(Line { stream, is_forwarded })
        })
    }
}

// === impl Line ===

impl Connection for Line {
    fn connected(&self) -> Connected {
        self.stream.connected().proxy(self.is_forwarded)
    }
}

impl Read for Line {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: ReadBufCursor<'_>,
    ) -> Poll<std::io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, buffer)
    }
}

impl Write for Line {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<std::io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        parts: &[std::io::IoSlice<'_>],
    ) -> Poll<std::io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(cx, parts)
    }
}
