//! From `--kubeconfig` and `--master` to a connection.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::BodyExt;
use http_body_util::combinators::UnsyncBoxBody;
use k8s_openapi::ByteString;
use kube::Config;
use kube::client::Body;
use kube::config::{Cluster, KubeConfigOptions, Kubeconfig};
use tower::util::BoxCloneSyncService;
use tower::{BoxError, Service, ServiceExt};

use crate::Guard;
use crate::credentials::{Credentials, Files, LOOK_INTERVAL};
use crate::network::{Liveness, Network, Purpose};
use crate::proxy::{Environment, Proxy};

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
/// carries, as watches are by the hundred, goes over further ones. What the kubeconfig says in
/// files is followed: a new certificate, CA or token is used within a minute.
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
    Network(Arc<Network>),
    /// In this process.
    Inside(Inside),
}

/// What decides besides the options; tests have their own.
pub(crate) struct Surroundings {
    pub(crate) environment: Environment,
    pub(crate) look_interval: Duration,
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
    /// A proxy cannot be used.
    #[error("{origin}: {text}")]
    Proxy {
        /// The flag and the field, or the variable, that names it.
        origin: String,
        /// What is wrong with it.
        text: String,
    },
    /// There is no kubeconfig, and we do not run in a pod.
    #[error(
        "neither --kubeconfig nor --master was given, and the in-cluster configuration cannot be \
         used: {0}"
    )]
    InCluster(String),
    /// What we trust the server by, or who we are, cannot be used.
    #[error("{origin}: {text}")]
    Credentials {
        /// The flag that the configuration comes from.
        origin: String,
        /// What is wrong.
        text: String,
    },
}

/// Sets up a connection as the user of the kubeconfig; nothing is sent yet.
pub async fn connect(options: &ConnectOptions) -> Result<Connection, ConfigError> {
    let environment = Environment::read();
    connect_in(options, Surroundings { environment, look_interval: LOOK_INTERVAL }).await
}

pub(crate) async fn connect_in(
    options: &ConnectOptions,
    surroundings: Surroundings,
) -> Result<Connection, ConfigError> {
    let Found { mut config, authority, proxy_url } = find(options).await?;
    let origin = match &options.kubeconfig {
        Some(path) => format!("{} {}", options.kubeconfig_flag, path.display()),
        None => "in-cluster configuration".to_owned(),
    };
    let proxy = match proxy_url {
        Some(url) => Proxy::parse(&url).map(Some).map_err(|text| {
            let origin = format!("{origin}: proxy-url");
            ConfigError::Proxy { origin, text }
        }),
        None => surroundings.environment.proxy(&config.cluster_url).map_err(|(name, text)| {
            let origin = format!("environment variable {name}");
            ConfigError::Proxy { origin, text }
        }),
    }?;
    if let Some(proxy) = &proxy {
        let server = &config.cluster_url;
        tracing::info!(%proxy, %server, "the API server is reached through a proxy");
    }
    let files = Files::take(&mut config, authority);
    let interval = surroundings.look_interval;
    let credentials = Credentials::load(config.clone(), files, origin.clone(), interval);
    let credentials =
        credentials.map_err(|text| ConfigError::Credentials { origin: origin.clone(), text })?;
    let network = Network { config, origin, proxy, credentials };
    let purpose = Purpose { user: GatedUser::Same, guard: None, liveness: Liveness::USUAL };
    Connection::new(Source::Network(Arc::new(network)), purpose)
}

/// The `certificate-authority-data` of the cluster that the kubeconfig of `--kubeconfig` chooses:
/// PEM, or nothing. As upstream, a file that `certificate-authority` names is not read for it.
pub fn authority_data(kubeconfig: &Path) -> Result<Vec<u8>, ConfigError> {
    let failed = |text: String| {
        let (flag, path) = ("--kubeconfig", kubeconfig.to_owned());
        ConfigError::Kubeconfig { flag, path, text }
    };
    let mut file = Kubeconfig::read_from(kubeconfig).map_err(|error| failed(chain(&error)))?;
    let data = chosen(&mut file).and_then(|cluster| cluster.certificate_authority_data.clone());
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
    /// that which was allowed earlier; a refusal ends the connection. What the kernel has, and
    /// cannot deliver within `unacknowledged_max`, ends the connection too (behind a proxy the
    /// kernel knows of the proxy alone).
    pub fn gated(
        &self,
        guard: &Guard,
        user: GatedUser,
        unacknowledged_max: Option<Duration>,
    ) -> Result<Self, ConfigError> {
        let liveness = Liveness { unacknowledged_max, ..Liveness::USUAL };
        let guard = Some(guard.clone());
        Self::new(self.source.clone(), Purpose { user, guard, liveness })
    }

    /// A connection of its own to the same server, for what must be answered within `limit`. Where
    /// the other end is gone, that shows in less than a third of it, and a request that is given up
    /// without an answer is followed by a new connection.
    pub fn prompt(&self, limit: Duration) -> Result<Self, ConfigError> {
        let (user, liveness) = (GatedUser::Same, Liveness::within(limit));
        Self::new(self.source.clone(), Purpose { user, guard: None, liveness })
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

    fn new(source: Source, purpose: Purpose) -> Result<Self, ConfigError> {
        let network = match &source {
            Source::Network(network) => network,
            Source::Inside(server) => {
                return Ok(Self::to_inside(server.clone(), purpose.guard.as_ref()));
            }
        };
        let (kube, host) = (network.client(purpose)?, network.host());
        Ok(Self { kube, host, source })
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

/// What the flags and the kubeconfig say.
struct Found {
    config: Config,
    /// The file of the CA, if the kubeconfig names one.
    authority: Option<PathBuf>,
    /// `proxy-url`.
    proxy_url: Option<String>,
}

async fn find(options: &ConnectOptions) -> Result<Found, ConfigError> {
    let master = options.master.as_deref().map(parse_master).transpose()?;
    let plain = |config| Found { config, authority: None, proxy_url: None };
    let mut found = match (&options.kubeconfig, &master) {
        (Some(path), _) => from_kubeconfig(options.kubeconfig_flag, path).await?,
        (None, Some(url)) => plain(Config::new(url.clone())),
        (None, None) => {
            let config = Config::incluster();
            plain(config.map_err(|error| ConfigError::InCluster(chain(&error)))?)
        }
    };
    if let Some(url) = master {
        found.config.cluster_url = url;
    }
    Ok(found)
}

async fn from_kubeconfig(flag: &'static str, path: &Path) -> Result<Found, ConfigError> {
    let failed = |error: kube::config::KubeconfigError| ConfigError::Kubeconfig {
        flag,
        path: path.to_owned(),
        text: chain(&error),
    };
    let mut kubeconfig = Kubeconfig::read_from(path).map_err(failed)?;
    let (mut authority, mut proxy_url) = (None, None);
    if let Some(cluster) = chosen(&mut kubeconfig) {
        let file = cluster.certificate_authority.clone().filter(|file| !file.is_empty());
        authority = file.filter(|_| cluster.certificate_authority_data.is_none());
        // In its place is what keeps the library from looking at the environment, by other rules.
        proxy_url = cluster.proxy_url.replace("http://unused".to_owned());
    }
    let options = KubeConfigOptions::default();
    let config = Config::from_custom_kubeconfig(kubeconfig, &options).await.map_err(failed)?;
    let proxy_url = proxy_url.filter(|url| !url.is_empty());
    Ok(Found { config, authority: authority.map(PathBuf::from), proxy_url })
}

/// The cluster of the current context.
fn chosen(kubeconfig: &mut Kubeconfig) -> Option<&mut Cluster> {
    let current = kubeconfig.current_context.as_ref();
    let context = kubeconfig.contexts.iter().find(|it| Some(&it.name) == current)?;
    let name = &context.context.as_ref()?.cluster;
    kubeconfig.clusters.iter_mut().find(|it| it.name == *name)?.cluster.as_mut()
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
pub(crate) fn chain(error: &(dyn std::error::Error + 'static)) -> String {
    let text = crate::ApiError::from_transport(error).to_string();
    text.lines().next().unwrap_or_default().to_owned()
}
