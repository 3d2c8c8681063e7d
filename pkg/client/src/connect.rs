//! From `--kubeconfig` and `--master` to a connection.

use std::path::{Path, PathBuf};
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::BodyExt;
use http_body_util::combinators::UnsyncBoxBody;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use k8s_openapi::ByteString;
use kube::Config;
use kube::client::{Body, ConfigExt};
use kube::config::{KubeConfigOptions, Kubeconfig};
use tower::util::BoxCloneSyncService;
use tower::{BoxError, Service, ServiceBuilder, ServiceExt};

use crate::Guard;
use crate::gate::GatedConnector;
use crate::spread::{STREAMS_MAX, Spread};

/// How long a TCP connection may take to open.
const CONNECT_LIMIT: Duration = Duration::from_secs(10);
/// An idle connection is asked for a sign of life this often, as client-go does.
const PING_INTERVAL: Duration = Duration::from_secs(30);
/// How long that sign may take.
const PING_LIMIT: Duration = Duration::from_secs(15);

/// What the server may send of one answer ahead of its reader, as hyper has it.
const STREAM_BYTES_MAX: u32 = 2 * 1024 * 1024;

/// Where the API server is and who we are.
#[derive(Clone, Debug)]
pub struct ConnectOptions {
    /// The kubeconfig; none: the service account that the pod was given.
    pub kubeconfig: Option<PathBuf>,
    /// The flag that names it, for errors.
    pub kubeconfig_flag: &'static str,
    /// `--master`, which replaces the kubeconfig's server.
    pub master: Option<String>,
}

/// A connection to one API server, HTTP/2 where it offers that, with pings, so that a dead one is
/// noticed within 45 seconds. Many named clients share it. What is more than one HTTP/2 connection
/// carries, as watches are by the hundred, goes over further ones.
pub struct Connection {
    /// What sends over it.
    pub kube: kube::Client,
    /// The server's `host:port`.
    pub host: String,
    /// What it was made from.
    pub(crate) source: Source,
}

/// As whom a gated connection speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GatedUser {
    /// As the connection that it is made from.
    Same,
    /// As nobody, for clients that send tokens of their own ([`crate::Client::acting_as`]).
    Nobody,
}

/// How to reach the server.
#[derive(Clone)]
pub(crate) enum Source {
    /// Over the network.
    Network {
        config: Box<Config>,
        /// The flag that says so.
        flag: String,
    },
    /// In this process.
    Inside(Inside),
}

/// An API server in this process.
type Inside = BoxCloneSyncService<Request<Body>, Response<AnyBody>, BoxError>;
type AnyBody = UnsyncBoxBody<Bytes, BoxError>;

/// Why there is no client. Names the flag or the file at fault.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// A kubeconfig cannot be used.
    #[error("{flag} {path}: {text}", path = path.display())]
    Kubeconfig {
        /// The flag that names it.
        flag: &'static str,
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        text: String,
    },
    /// The value of `--master` is no URL.
    #[error("--master {master:?}: {text}")]
    Master {
        /// The value.
        master: String,
        /// What is wrong with it.
        text: String,
    },
    /// There is no kubeconfig, and we do not run in a pod.
    #[error(
        "neither --kubeconfig nor --master was given, and the in-cluster configuration cannot be \
         used: {0}"
    )]
    InCluster(String),
    /// The certificates cannot be used.
    #[error("{origin}: cannot set up TLS: {text}")]
    Tls {
        /// The flag that the configuration comes from.
        origin: String,
        /// What is wrong.
        text: String,
    },
}

/// Sets up a connection as the user of the kubeconfig; nothing is sent yet.
pub async fn connect(options: &ConnectOptions) -> Result<Connection, ConfigError> {
    let config = config(options).await?;
    let flag = match &options.kubeconfig {
        Some(path) => format!("{} {}", options.kubeconfig_flag, path.display()),
        None => "in-cluster configuration".to_owned(),
    };
    Connection::new(Source::Network { config: Box::new(config), flag }, None)
}

/// The `certificate-authority-data` of the cluster that the kubeconfig of `--kubeconfig` chooses:
/// PEM, or nothing. As upstream, a file that `certificate-authority` names is not read for it.
pub fn authority_data(kubeconfig: &Path) -> Result<Vec<u8>, ConfigError> {
    let failed = |text: String| {
        let (flag, path) = ("--kubeconfig", kubeconfig.to_owned());
        ConfigError::Kubeconfig { flag, path, text }
    };
    let file = Kubeconfig::read_from(kubeconfig).map_err(|error| failed(chain(&error)))?;
    let context = file.contexts.iter().find(|it| Some(&it.name) == file.current_context.as_ref());
    let name = context.and_then(|it| it.context.as_ref()).map(|context| &context.cluster);
    let cluster = file.clusters.iter().find(|it| Some(&it.name) == name);
    let data = cluster.and_then(|it| it.cluster.as_ref()?.certificate_authority_data.clone());
    let Some(data) = data else { return Ok(Vec::new()) };
    let bytes: Result<ByteString, _> = serde_json::from_value(data.into());
    let bytes = bytes.map_err(|error| failed(format!("certificate-authority-data: {error}")))?;
    Ok(bytes.0)
}

// === impl ConnectOptions ===

impl Default for ConnectOptions {
    fn default() -> Self {
        Self { kubeconfig: None, kubeconfig_flag: "--kubeconfig", master: None }
    }
}

// === impl Connection ===

impl Connection {
    /// A connection of its own to the same server, for what may be sent only while `guard` agrees.
    /// It is asked before each write to the network, below TLS, so that nothing leaves later than
    /// that which was allowed earlier; a refusal ends the connection.
    pub fn gated(&self, guard: &Guard, user: GatedUser) -> Result<Self, ConfigError> {
        let mut source = self.source.clone();
        if let (GatedUser::Nobody, Source::Network { config, .. }) = (user, &mut source) {
            config.auth_info = kube::config::AuthInfo::default();
        }
        Self::new(source, Some(guard))
    }

    /// A connection to an API server in this process, for a sandbox and for simulation. Nobody
    /// needs credentials there.
    pub fn inside<S, B>(server: S) -> Self
    where
        S: Service<Request<Body>, Response = Response<B>> + Clone + Send + Sync + 'static,
        S::Future: Send,
        S::Error: Into<BoxError>,
        B: http_body::Body<Data = Bytes> + Send + 'static,
        B::Error: Into<BoxError>,
    {
        let wrap = |body: B| body.map_err(Into::into).boxed_unsync();
        let server = server.map_response(move |answer| answer.map(wrap));
        Self::to_inside(BoxCloneSyncService::new(server.map_err(Into::into)), None)
    }

    fn new(source: Source, guard: Option<&Guard>) -> Result<Self, ConfigError> {
        let (config, flag) = match &source {
            Source::Network { config, flag } => (config, flag),
            Source::Inside(server) => return Ok(Self::to_inside(server.clone(), guard)),
        };
        let host = config.cluster_url.authority().map_or_else(String::new, ToString::to_string);
        Ok(Self { kube: build(config, flag, guard)?, host, source })
    }

    fn to_inside(server: Inside, guard: Option<&Guard>) -> Self {
        let (gate, inner) = (guard.cloned(), server.clone());
        let gated = tower::service_fn(move |request: Request<Body>| {
            let (gate, inner) = (gate.clone(), inner.clone());
            async move {
                // Not before: a process may stand still between the call and here.
                match gate.and_then(|gate| gate().err()) {
                    Some(why) => Err(why.into()),
                    None => inner.oneshot(request).await,
                }
            }
        });
        let kube = kube::Client::new(gated, "default");
        Self { kube, host: "sandbox".to_owned(), source: Source::Inside(server) }
    }
}

fn build(
    config: &Config,
    origin: &str,
    guard: Option<&Guard>,
) -> Result<kube::Client, ConfigError> {
    let failed = |text| ConfigError::Tls { origin: origin.to_owned(), text };
    let tls = |error: kube::Error| failed(chain(&error));

    let mut tcp = hyper_util::client::legacy::connect::HttpConnector::new();
    tcp.enforce_http(false);
    tcp.set_nodelay(true);
    tcp.set_connect_timeout(Some(CONNECT_LIMIT));
    let tcp = GatedConnector { tcp, guard: guard.cloned() };
    let connector = hyper_rustls::HttpsConnectorBuilder::new()
        .with_tls_config(config.rustls_client_config().map_err(tls)?)
        .https_or_http();
    let connector = match &config.tls_server_name {
        Some(name) => {
            let name = name.clone().try_into();
            let name = name.map_err(|error| failed(format!("tls-server-name: {error}")))?;
            connector.with_server_name_resolver(hyper_rustls::FixedServerNameResolver::new(name))
        }
        None => connector,
    };
    let connector = connector.enable_all_versions().wrap_connector(tcp);
    let http = Spread::new(move || http().build::<_, Body>(connector.clone()));
    let service = ServiceBuilder::new()
        .layer(config.base_uri_layer())
        .option_layer(config.auth_layer().map_err(tls)?)
        .layer(config.extra_headers_layer().map_err(tls)?)
        .service(http);
    Ok(kube::Client::new(service.boxed(), config.default_namespace.clone()))
}

/// How a connection behaves.
pub(crate) fn http() -> hyper_util::client::legacy::Builder {
    let mut http = hyper_util::client::legacy::Client::builder(TokioExecutor::new());
    http.timer(TokioTimer::new())
        .http2_keep_alive_interval(PING_INTERVAL)
        .http2_keep_alive_timeout(PING_LIMIT)
        .http2_keep_alive_while_idle(true)
        .http2_initial_stream_window_size(STREAM_BYTES_MAX)
        .http2_initial_connection_window_size(STREAM_BYTES_MAX * STREAMS_MAX);
    http
}

async fn config(options: &ConnectOptions) -> Result<Config, ConfigError> {
    let master = options.master.as_deref().map(parse_master).transpose()?;
    let mut config = match (&options.kubeconfig, &master) {
        (Some(path), _) => from_kubeconfig(options.kubeconfig_flag, path).await?,
        (None, Some(url)) => Config::new(url.clone()),
        (None, None) => Config::incluster().map_err(|e| ConfigError::InCluster(chain(&e)))?,
    };
    if let Some(url) = master {
        config.cluster_url = url;
    }
    Ok(config)
}

async fn from_kubeconfig(flag: &'static str, path: &Path) -> Result<Config, ConfigError> {
    let failed = |error: kube::config::KubeconfigError| ConfigError::Kubeconfig {
        flag,
        path: path.to_owned(),
        text: chain(&error),
    };
    let kubeconfig = Kubeconfig::read_from(path).map_err(failed)?;
    let options = KubeConfigOptions::default();
    Config::from_custom_kubeconfig(kubeconfig, &options).await.map_err(failed)
}

fn parse_master(master: &str) -> Result<http::Uri, ConfigError> {
    let failed = |text: String| ConfigError::Master { master: master.to_owned(), text };
    let with_scheme =
        if master.contains("://") { master.to_owned() } else { format!("http://{master}") };
    let url: http::Uri =
        with_scheme.parse().map_err(|e: http::uri::InvalidUri| failed(e.to_string()))?;
    match url.scheme_str() {
        Some("http" | "https") => Ok(url),
        _ => Err(failed("the scheme must be http or https".to_owned())),
    }
}

/// An error with its causes, each said once, and only its first line: a parser shows the lines
/// around the fault, which may hold keys and tokens.
fn chain(error: &(dyn std::error::Error + 'static)) -> String {
    let text = crate::ApiError::from_transport(error).to_string();
    text.lines().next().unwrap_or_default().to_owned()
}
