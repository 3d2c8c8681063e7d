//! The address of the API server, its CA, and our credentials.

use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use http::{HeaderName, HeaderValue, Uri};
use rustls::pki_types::ServerName;

use crate::plugin::Plugin;
use crate::proxy::Proxy;

/// More than any configured file needs. A device or a log file is not read into memory.
const FILE_BYTES_MAX: u64 = 1 << 20;
/// The directory of a pod's service account (rest/config.go, `InClusterConfig`).
const ACCOUNT: &str = "/var/run/secrets/kubernetes.io/serviceaccount";

/// The content of a kubeconfig, or of the pod's environment.
pub(crate) struct Config {
    pub(crate) server: Uri,
    /// The name that the server's certificate must have, if not its host.
    pub(crate) server_name: Option<ServerName<'static>>,
    /// Whether any certificate of the server is accepted.
    pub(crate) is_insecure: bool,
    /// The CA of the server; none: the system's CAs.
    pub(crate) authority: Option<Source>,
    pub(crate) proxy: Option<Proxy>,
    pub(crate) user: User,
}

/// Our credentials. Anonymous, if it is empty.
#[derive(Default)]
pub(crate) struct User {
    /// A certificate and its key.
    pub(crate) identity: Option<(Source, Source)>,
    /// The header to send while `token_file` has no token.
    pub(crate) authorization: Option<HeaderValue>,
    pub(crate) token_file: Option<PathBuf>,
    /// The plugin that returns our credentials, if there are no others.
    pub(crate) plugin: Option<Plugin>,
    /// The headers of impersonation.
    pub(crate) impersonation: Vec<(HeaderName, HeaderValue)>,
}

/// The user of a gated connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GatedUser {
    /// The user of the connection that it is made from.
    Same,
    /// No user, for clients that send tokens of their own ([`crate::Client::acting_as`]).
    Nobody,
}

/// The place of some bytes.
pub(crate) enum Source {
    /// In the configuration itself.
    Data(Vec<u8>),
    /// In a file, which may change.
    File(PathBuf),
}

// === impl Config ===

impl Config {
    /// The configuration of a server without anything else.
    pub(crate) fn of(server: Uri) -> Self {
        let (authority, user) = (None, User::default());
        Self { server, server_name: None, is_insecure: false, authority, proxy: None, user }
    }

    /// The configuration of a pod; `variable` reads the environment. An error says what is missing.
    pub(crate) fn in_cluster(variable: impl Fn(&str) -> Option<String>) -> Result<Self, String> {
        let set = |name| {
            let value = variable(name).filter(|value| !value.is_empty());
            value.ok_or_else(|| format!("environment variable {name} is not set"))
        };
        let (host, port) = (set("KUBERNETES_SERVICE_HOST")?, set("KUBERNETES_SERVICE_PORT")?);
        let host = if host.contains(':') { format!("[{host}]") } else { host };
        let server = format!("https://{host}:{port}");
        let server = server.parse().map_err(|error| format!("{server} is no URL: {error}"))?;
        let file = |name| Path::new(ACCOUNT).join(name);
        let user = User { token_file: Some(file("token")), ..User::default() };
        Ok(Self { authority: Some(Source::File(file("ca.crt"))), user, ..Self::of(server) })
    }

    pub(crate) fn is_encrypted(&self) -> bool {
        self.server.scheme_str() == Some("https")
    }

    /// Whether any connection uses TLS.
    pub(crate) fn needs_trust(&self) -> bool {
        let is_https = |proxy: &Proxy| proxy.address.scheme_str() == Some("https");
        self.is_encrypted() || self.proxy.as_ref().is_some_and(is_https)
    }

    /// Whether nothing that it names can change.
    pub(crate) fn is_static(&self) -> bool {
        let is_file = |source: &Source| matches!(source, Source::File(_));
        let User { identity, token_file, plugin, .. } = &self.user;
        let in_identity =
            identity.as_ref().is_some_and(|(cert, key)| is_file(cert) || is_file(key));
        let in_authority = self.authority.as_ref().is_some_and(is_file);
        !in_identity && !in_authority && token_file.is_none() && plugin.is_none()
    }
}

// === impl Source ===

impl Source {
    /// The bytes. An error names the field and the file.
    pub(crate) fn read(&self, field: &str) -> Result<Vec<u8>, String> {
        match self {
            Self::Data(bytes) => Ok(bytes.clone()),
            Self::File(path) => {
                let failed = |why: &str| format!("{field} {}: {why}", path.display());
                match read_file(path) {
                    Ok(bytes) if bytes.trim_ascii().is_empty() => Err(failed("the file is empty")),
                    Ok(bytes) => Ok(bytes),
                    Err(error) => Err(failed(&error.to_string())),
                }
            }
        }
    }
}

/// The content of a file, unless it is unreasonably large.
pub(crate) fn read_file(path: &Path) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(path)?.take(FILE_BYTES_MAX + 1).read_to_end(&mut bytes)?;
    if u64::try_from(bytes.len()).is_ok_and(|size| size > FILE_BYTES_MAX) {
        return Err(std::io::Error::other("the file is too large"));
    }
    Ok(bytes)
}
