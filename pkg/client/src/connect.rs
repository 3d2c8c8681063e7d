//! From `--kubeconfig` and `--master` to a connection.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderName, HeaderValue, Request, Response};
use http_body_util::BodyExt;
use kube::client::Body;
use tower::util::BoxCloneSyncService;
use tower::{BoxError, Service, ServiceExt};

use crate::config::{Config, GatedUser};
use crate::credentials::{Credentials, LOOK_INTERVAL};
use crate::kubeconfig::{Kubeconfig, parse_server};
use crate::network::{Liveness, Network, Purpose};
use crate::proxy::Environment;
use crate::transport::{Admits, AnyBody};
use crate::{Guard, Transport};

/// The options for the API server and our credentials.
#[derive(Clone, Debug)]
pub struct ConnectOptions {
    /// The kubeconfig; none: the pod's service account.
    pub kubeconfig: Option<PathBuf>,
    /// Kubeconfigs that have what it lacks, as those of the environment variable `KUBECONFIG`.
    pub more_kubeconfigs: Vec<PathBuf>,
    /// The flag that names it, for errors.
    pub kubeconfig_flag: &'static str,
    /// `--master`, which replaces the kubeconfig's server.
    pub master: Option<String>,
    /// The context of the kubeconfig; none: its current one.
    pub context: Option<String>,
    /// The user to impersonate; none: as the kubeconfig says.
    pub impersonate: Option<String>,
}

/// A connection to one API server, by HTTP/2 if the server supports it, with pings, so that a dead
/// one is noticed within 45 seconds. Many named clients share it. More streams than one HTTP/2
/// connection carries, such as hundreds of watches, use further connections. Files that the
/// kubeconfig names are followed: a new certificate, CA or token is used within a minute.
pub struct Connection {
    /// Sends over it.
    pub transport: Transport,
    /// The server's `host:port`.
    pub host: String,
    /// What it was made from.
    pub(crate) source: Source,
    /// What it and all connections that are made from it send.
    admits: Admits,
}

/// How the server is reached.
#[derive(Clone)]
pub(crate) enum Source {
    /// Over the network.
    Network(Arc<Network>),
    /// In this process.
    Inside(Ways),
}

/// The transports to an API server in this process.
#[derive(Clone)]
pub(crate) struct Ways {
    /// As the user of the connection.
    user: Inside,
    /// Without credentials.
    nobody: Inside,
}

/// Inputs besides the options; tests have their own.
pub(crate) struct Surroundings {
    pub(crate) environment: Environment,
    pub(crate) look_interval: Duration,
}

/// An API server in this process.
type Inside = BoxCloneSyncService<Request<Body>, Response<AnyBody>, BoxError>;

/// Why there is no client. Names the flag or the file with the error.
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
    /// A proxy of the environment cannot be used.
    #[error("environment variable {variable}: {text}")]
    Proxy {
        /// The variable that names it.
        variable: &'static str,
        /// What is wrong with it.
        text: String,
    },
    /// The user to impersonate cannot be sent.
    #[error("the user {0:?} cannot be sent in a header")]
    Impersonation(String),
    /// There is no kubeconfig, and we do not run in a pod.
    #[error(
        "neither --kubeconfig nor --master was given, and the in-cluster configuration cannot be \
         used: {0}"
    )]
    InCluster(String),
    /// The CA or our credentials cannot be used.
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
    let mut config = find(options)?;
    let origin = match &options.kubeconfig {
        Some(path) => format!("{} {}", options.kubeconfig_flag, path.display()),
        None => "in-cluster configuration".to_owned(),
    };
    if config.proxy.is_none() {
        let proxy = surroundings.environment.proxy(&config.server);
        let named = |(variable, text)| ConfigError::Proxy { variable, text };
        config.proxy = proxy.map_err(named)?;
    }
    if let Some(proxy) = &config.proxy {
        let server = &config.server;
        tracing::info!(%proxy, %server, "the API server is reached through a proxy");
    }
    let (config, interval) = (Arc::new(config), surroundings.look_interval);
    let credentials = Credentials::load(Arc::clone(&config), origin.clone(), interval).await;
    let credentials = credentials.map_err(|text| ConfigError::Credentials { origin, text })?;
    let network = Network { config, credentials };
    let purpose = Purpose { user: GatedUser::Same, guard: None, liveness: Liveness::USUAL };
    Ok(Connection::new(Source::Network(Arc::new(network)), purpose, Admits::All))
}

/// The `certificate-authority-data` of the cluster that the kubeconfig of `--kubeconfig` selects:
/// PEM, or empty. As upstream, a file named by `certificate-authority` does not count.
pub fn authority_data(kubeconfig: &Path) -> Result<Vec<u8>, ConfigError> {
    let data = Kubeconfig::read(kubeconfig).and_then(|file| file.authority_data());
    data.map(Option::unwrap_or_default).map_err(|text| {
        let (flag, path) = ("--kubeconfig", kubeconfig.to_owned());
        ConfigError::Kubeconfig { flag, path, text }
    })
}

/// The namespace of the context of the options; none: it has none, or there is no kubeconfig.
pub fn context_namespace(options: &ConnectOptions) -> Result<Option<String>, ConfigError> {
    let Some(path) = &options.kubeconfig else { return Ok(None) };
    let flag = options.kubeconfig_flag;
    let failed = |(path, text)| ConfigError::Kubeconfig { flag, path, text };
    let merged = Kubeconfig::merged(path, &options.more_kubeconfigs).map_err(failed)?;
    let namespace = merged.namespace(options.context.as_deref());
    namespace.map_err(|text| failed((path.clone(), text)))
}

/// Our client certificate in a kubeconfig, PEM; none also if it cannot be read.
pub fn client_certificate(kubeconfig: &Path) -> Option<Vec<u8>> {
    Kubeconfig::read(kubeconfig).ok()?.client_certificate()
}

// === impl ConnectOptions ===

impl Default for ConnectOptions {
    fn default() -> Self {
        let (kubeconfig_flag, master) = ("--kubeconfig", None);
        let more_kubeconfigs = Vec::new();
        let (kubeconfig, context, impersonate) = (None, None, None);
        Self { kubeconfig, more_kubeconfigs, kubeconfig_flag, master, context, impersonate }
    }
}

// === impl Connection ===

impl Connection {
    /// A separate connection to the same server, for requests that are sent only while `guard`
    /// allows it. The guard is asked before each write to the network, below TLS, so that a request
    /// that was allowed earlier does not leave later; a refusal ends the connection. The connection
    /// also ends if the kernel cannot deliver data within `unacknowledged_max` (behind a proxy that
    /// covers only the way to the proxy).
    pub fn gated(
        &self,
        guard: &Guard,
        user: GatedUser,
        unacknowledged_max: Option<Duration>,
    ) -> Self {
        let liveness = Liveness { unacknowledged_max, ..Liveness::USUAL };
        let guard = Some(guard.clone());
        Self::new(self.source.clone(), Purpose { user, guard, liveness }, self.admits)
    }

    /// A separate connection to the same server, for requests that must be answered within `limit`.
    /// A dead peer is noticed in less than a third of it, and after a request that is given up
    /// without a response a new connection is opened.
    pub fn prompt(&self, limit: Duration) -> Self {
        let (user, liveness) = (GatedUser::Same, Liveness::within(limit));
        Self::new(self.source.clone(), Purpose { user, guard: None, liveness }, self.admits)
    }

    /// This connection for a shadow: it, and each one that is made from it, sends nothing but GETs.
    /// Other requests fail before anything is sent.
    #[must_use]
    pub fn reading(self) -> Self {
        self.admitting(Admits::Reads)
    }

    /// As [`Connection::reading`], with the reviews of tokens and of access that a secure port
    /// needs: POSTs that store nothing.
    #[must_use]
    pub fn reviewing(self) -> Self {
        self.admitting(Admits::Reviews)
    }

    fn admitting(self, admits: Admits) -> Self {
        Self { transport: self.transport.admitting(admits), admits, ..self }
    }

    /// A connection to an API server in this process, for a sandbox and for simulation: with the
    /// user's credentials, and without credentials for clients that send tokens of their own.
    pub fn inside<S, B>(user: S, nobody: S) -> Self
    where
        S: Service<Request<Body>, Response = Response<B>> + Clone + Send + Sync + 'static,
        S::Future: Send,
        S::Error: Into<BoxError>,
        B: http_body::Body<Data = Bytes> + Send + 'static,
        B::Error: Into<BoxError>,
    {
        let body = |body: B| body.map_err(Into::into).boxed_unsync();
        let wrap = |server: S| {
            let server = server.map_response(move |answer| answer.map(body));
            BoxCloneSyncService::new(server.map_err(Into::into))
        };
        let ways = Ways { user: wrap(user), nobody: wrap(nobody) };
        Self::to_inside(ways, GatedUser::Same, None)
    }

    fn new(source: Source, purpose: Purpose, admits: Admits) -> Self {
        let made = match &source {
            Source::Network(network) => {
                let (transport, host) = (network.transport(purpose), network.host());
                Self { transport, host, source, admits }
            }
            Source::Inside(ways) => {
                Self::to_inside(ways.clone(), purpose.user, purpose.guard.as_ref())
            }
        };
        made.admitting(admits)
    }

    fn to_inside(ways: Ways, user: GatedUser, guard: Option<&Guard>) -> Self {
        let server = match user {
            GatedUser::Same => &ways.user,
            GatedUser::Nobody => &ways.nobody,
        };
        let (gate, inner) = (guard.cloned(), server.clone());
        let gated = tower::service_fn(move |request: Request<Body>| {
            let (gate, inner) = (gate.clone(), inner.clone());
            async move {
                // Checked only here: a process may be stopped between the call and this point.
                match gate.and_then(|gate| gate().err()) {
                    Some(why) => Err(why.into()),
                    None => inner.oneshot(request).await,
                }
            }
        });
        let transport = kube::Client::new(gated, "default").into();
        let (host, source) = ("sandbox".to_owned(), Source::Inside(ways));
        Self { transport, host, source, admits: Admits::All }
    }
}

/// The configuration of the flags and the kubeconfig.
fn find(options: &ConnectOptions) -> Result<Config, ConfigError> {
    let master = options.master.as_deref().map(|master| {
        let failed = |text: String| ConfigError::Master { master: master.to_owned(), text };
        parse_server(master).map_err(failed)
    });
    let mut config = match (&options.kubeconfig, master.transpose()?) {
        (Some(path), master) => {
            let (flag, context) = (options.kubeconfig_flag, options.context.as_deref());
            let failed = |(path, text)| ConfigError::Kubeconfig { flag, path, text };
            let merged = Kubeconfig::merged(path, &options.more_kubeconfigs).map_err(failed)?;
            merged.config(master, context).map_err(|text| failed((path.clone(), text)))?
        }
        (None, Some(server)) => Config::of(server),
        (None, None) => {
            let config = Config::in_cluster(|name| std::env::var(name).ok());
            config.map_err(ConfigError::InCluster)?
        }
    };
    if let Some(user) = &options.impersonate {
        let value = HeaderValue::try_from(user.as_str());
        let value = value.map_err(|_| ConfigError::Impersonation(user.clone()))?;
        let name = HeaderName::from_static("impersonate-user");
        config.user.impersonation = vec![(name, value)];
    }
    Ok(config)
}
