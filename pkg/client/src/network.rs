//! An API server over the network.

#[cfg(test)]
mod tests;

use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use http::{HeaderValue, Request, Response, StatusCode, Uri, header};
use http_body_util::BodyExt as _;
use http_body_util::combinators::MapErr;
use hyper_rustls::{FixedServerNameResolver, HttpsConnector};
use hyper_util::client::legacy::Builder;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use kube::client::Body;
use kube::client::middleware::BaseUriLayer;
use runtime::Clock;
use tower::{BoxError, Layer as _, Service};

use crate::Guard;
use crate::Transport;
use crate::config::{Config, GatedUser};
use crate::credentials::{Credentials, Loaded};
use crate::dial::Dialer;
use crate::error::cause;
use crate::gate::GatedConnector;
use crate::proxy::{Protocol, Proxy};
use crate::spread::{Answered, Counted, STREAMS_MAX, Spread};

/// How far the server may send ahead of the reader of one response, as hyper's default.
const STREAM_BYTES_MAX: u32 = 2 * 1024 * 1024;

/// The server and our credentials.
pub(crate) struct Network {
    pub(crate) config: Arc<Config>,
    pub(crate) credentials: Arc<Credentials>,
}

/// The purpose of a connection.
#[derive(Clone)]
pub(crate) struct Purpose {
    pub(crate) user: GatedUser,
    pub(crate) guard: Option<Guard>,
    pub(crate) liveness: Liveness,
}

/// How soon a connection with a dead peer is given up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Liveness {
    /// How long it may take to open.
    pub(crate) open_limit: Duration,
    /// The interval of pings on an idle connection.
    pub(crate) ping_interval: Duration,
    /// The time limit of the response to a ping.
    pub(crate) ping_limit: Duration,
    /// How long the kernel tries to deliver bytes; none: its default, a quarter of an hour.
    pub(crate) unacknowledged_max: Option<Duration>,
    /// What happens to a connection on which a request was given up before its response.
    pub(crate) unanswered: Unanswered,
}

/// See [`Liveness::unanswered`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unanswered {
    /// The connection stays in use: the caller may have given up for its own reasons.
    Stays,
    /// A new connection is opened, which may reach another server.
    Leaves,
}

/// Opens connections.
struct Opener {
    network: Arc<Network>,
    purpose: Purpose,
    /// For a proxy that forwards requests.
    proxy_authorization: Option<HeaderValue>,
}

type Http = hyper_util::client::legacy::Client<HttpsConnector<Dialer>, Sent>;
type Sent = MapErr<Body, fn(kube::Error) -> BoxError>;

/// Sends over connections that were opened with the current credentials. Connections with older
/// ones end with their last stream.
#[derive(Clone)]
struct Sender {
    opener: Arc<Opener>,
    open: Arc<Mutex<Open>>,
}

struct Open {
    with: Arc<Loaded>,
    connections: Spread<Http>,
}

// === impl Liveness ===

impl Liveness {
    /// client-go's pings (k8s.io/apimachinery pkg/util/net/http.go): a dead peer is noticed within
    /// 45 seconds.
    pub(crate) const USUAL: Self = Self {
        open_limit: Duration::from_secs(10),
        ping_interval: Duration::from_secs(30),
        ping_limit: Duration::from_secs(15),
        unacknowledged_max: None,
        unanswered: Unanswered::Stays,
    };

    /// For requests that must be done within `limit`: a dead peer is noticed in less than a third
    /// of it, so that there is time for another try.
    pub(crate) fn within(limit: Duration) -> Self {
        let [tenth, third] = [limit / 10, limit * 3 / 10];
        Self {
            open_limit: third.min(Self::USUAL.open_limit),
            ping_interval: tenth.min(Self::USUAL.ping_interval),
            ping_limit: (tenth * 2).min(Self::USUAL.ping_limit),
            unacknowledged_max: Some(third),
            unanswered: Unanswered::Leaves,
        }
    }

    /// The HTTP configuration.
    pub(crate) fn http(self) -> Builder {
        let mut http = hyper_util::client::legacy::Client::builder(TokioExecutor::new());
        http.timer(TokioTimer::new())
            .http2_keep_alive_interval(self.ping_interval)
            .http2_keep_alive_timeout(self.ping_limit)
            .http2_keep_alive_while_idle(true)
            .http2_initial_stream_window_size(STREAM_BYTES_MAX)
            .http2_initial_connection_window_size(STREAM_BYTES_MAX * STREAMS_MAX);
        http
    }

    pub(crate) fn tcp(self) -> HttpConnector {
        let mut tcp = HttpConnector::new();
        tcp.enforce_http(false);
        tcp.set_nodelay(true);
        tcp.set_connect_timeout(Some(self.open_limit));
        tcp.set_tcp_user_timeout(self.unacknowledged_max);
        tcp
    }
}

// === impl Network ===

impl Network {
    /// The server's `host:port`.
    pub(crate) fn host(&self) -> String {
        self.config.server.authority().map_or_else(String::new, ToString::to_string)
    }

    /// The transport to it; no connection is opened yet.
    pub(crate) fn transport(self: &Arc<Self>, purpose: Purpose) -> Transport {
        let proxy_authorization = self.forwarder().and_then(Proxy::authorization);
        let opener = Opener { network: Arc::clone(self), purpose, proxy_authorization };
        let base = BaseUriLayer::new(self.config.server.clone());
        let service = base.layer(Sender::new(Arc::new(opener)));
        // The service is always ready, and its shared state is behind a lock.
        Transport::new(move |request| service.clone().call(request))
    }

    /// The proxy, if it forwards requests.
    fn forwarder(&self) -> Option<&Proxy> {
        let is_seen = |proxy: &&Proxy| proxy.protocol == Protocol::Http;
        self.config.proxy.as_ref().filter(is_seen).filter(|_| !self.config.is_encrypted())
    }

    fn server(&self) -> &Uri {
        &self.config.server
    }
}

// === impl Opener ===

impl Opener {
    fn connections(&self, with: &Loaded) -> Spread<Http> {
        let Purpose { user, guard, liveness } = &self.purpose;
        let (tls, liveness) = (with.tls(*user).clone(), *liveness);
        let tcp = GatedConnector { tcp: liveness.tcp(), guard: guard.clone() };
        let proxy = self.network.config.proxy.as_ref().map(|proxy| (proxy, tls.clone()));
        let (server, limit) = (self.network.server(), liveness.open_limit);
        let dialer = Dialer::new((tcp, server), proxy, limit, Clock::system());
        let builder = hyper_rustls::HttpsConnectorBuilder::new().with_tls_config(tls);
        let builder = builder.https_or_http();
        let builder = match self.network.config.server_name.clone() {
            Some(name) => builder.with_server_name_resolver(FixedServerNameResolver::new(name)),
            None => builder,
        };
        let connector = builder.enable_all_versions().wrap_connector(dialer);
        let connect = move || liveness.http().build::<_, Sent>(connector.clone());
        Spread::new(connect, liveness.unanswered)
    }
}

// === impl Sender ===

impl Sender {
    fn new(opener: Arc<Opener>) -> Self {
        let with = opener.network.credentials.now();
        let connections = opener.connections(&with);
        Self { opener, open: Arc::new(Mutex::new(Open { with, connections })) }
    }
}

impl Service<Request<Body>> for Sender {
    type Response = Response<Counted>;
    type Error = BoxError;
    type Future = Answered<Counted>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, mut request: Request<Body>) -> Self::Future {
        let credentials = Arc::clone(&self.opener.network.credentials);
        let now = credentials.now();
        let user = self.opener.purpose.user;
        let proxy = self.opener.proxy_authorization.iter();
        let proxy = proxy.map(|value| (header::PROXY_AUTHORIZATION, value.clone()));
        request.headers_mut().extend(proxy);
        now.headers(user).iter().for_each(|(name, value)| {
            // Some headers have several values.
            request.headers_mut().append(name, value.clone());
        });
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if !Arc::ptr_eq(&open.with, &now) {
            *open = Open { connections: self.opener.connections(&now), with: now };
        }
        let request = request.map(|body| body.map_err(cause as fn(kube::Error) -> BoxError));
        let answer = open.connections.call(request);
        Box::pin(async move {
            let answer = answer.await;
            match &answer {
                // A rejected token of an account says nothing about our credentials.
                Ok(answer) if answer.status() == StatusCode::UNAUTHORIZED => match user {
                    GatedUser::Same => credentials.refused(),
                    GatedUser::Nobody => credentials.reload_soon(),
                },
                Ok(_) => {}
                Err(_) => credentials.reload_soon(),
            }
            answer
        })
    }
}
