//! Where the API server is, what it is trusted by, and who we are.

use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use http::{HeaderName, HeaderValue, Uri};
use rustls::pki_types::ServerName;

use crate::plugin::Plugin;
use crate::proxy::Proxy;

/// More than any file needs that is named here. A device or a log in its place is not read into
/// memory.
const FILE_BYTES_MAX: u64 = 1 << 20;
/// Where a pod finds its service account (rest/config.go, `InClusterConfig`).
const ACCOUNT: &str = "/var/run/secrets/kubernetes.io/serviceaccount";

/// What a kubeconfig, or the pod that we are in, says.
pub(crate) struct Config {
    pub(crate) server: Uri,
    /// Whom the server's certificate must name, if not its host.
    pub(crate) server_name: Option<ServerName<'static>>,
    /// Whether any certificate of the server will do.
    pub(crate) is_insecure: bool,
    /// Who signs it; none: whom the system trusts.
    pub(crate) authority: Option<Source>,
    pub(crate) proxy: Option<Proxy>,
    pub(crate) user: User,
}

/// Who we are. As nobody, if there is nothing in it.
#[derive(Default)]
pub(crate) struct User {
    /// A certificate and its key.
    pub(crate) identity: Option<(Source, Source)>,
    /// What is sent while there is no token in `token_file`.
    pub(crate) authorization: Option<HeaderValue>,
    pub(crate) token_file: Option<PathBuf>,
    /// Who knows our credentials, if there are no others.
    pub(crate) plugin: Option<Plugin>,
    /// Who we are to be taken for.
    pub(crate) impersonation: Vec<(HeaderName, HeaderValue)>,
}

/// As whom a gated connection speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GatedUser {
    /// As the connection that it is made from.
    Same,
    /// As nobody, for clients that send tokens of their own ([`crate::Client::acting_as`]).
    Nobody,
}

/// Where some bytes are.
pub(crate) enum Source {
    /// In the configuration itself.
    Data(Vec<u8>),
    /// In a file, which may change.
    File(PathBuf),
}

// === impl Config ===

impl Config {
    /// A server that nothing else is known of.
    pub(crate) fn of(server: Uri) -> Self {
        let (authority, user) = (None, User::default());
        Self { server, server_name: None, is_insecure: false, authority, proxy: None, user }
    }

    /// What a pod is given; `variable` reads the environment. An error says what is missing.
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

    /// Whether there is anybody to speak TLS with.
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

/// What is in a file that is not unreasonably large.
pub(crate) fn read_file(path: &Path) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(path)?.take(FILE_BYTES_MAX + 1).read_to_end(&mut bytes)?;
    if u64::try_from(bytes.len()).is_ok_and(|size| size > FILE_BYTES_MAX) {
        return Err(std::io::Error::other("the file is too large"));
    }
    Ok(bytes)
}
