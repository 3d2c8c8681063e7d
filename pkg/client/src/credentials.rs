//! What we trust the API server by and who we are, read anew when the files change.
//!
//! client-go does this too (transport/cert_rotation.go, ca_rotation.go and token_source.go): a
//! client certificate every five minutes and at each handshake, a CA every five minutes, a token
//! every minute. Here all of them are read every minute, and at once after an error that they may
//! be the reason of. What stands in the kubeconfig itself stays as it is.

use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Weak};
use std::time::Duration;

use http::HeaderValue;
use kube::Config;
use kube::client::ConfigExt as _;
use kube::config::AuthInfo;
use runtime::{Clock, Latest};
use rustls::ClientConfig;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use tokio::sync::Notify;

use crate::connect::{GatedUser, chain};
use crate::encoding::base64;

/// How often the files are read.
pub(crate) const LOOK_INTERVAL: Duration = Duration::from_mins(1);
/// How soon at the earliest after an error that they may be the reason of.
const LOOK_PAUSE: Duration = Duration::from_secs(2);
/// More than any of them needs. A device or a log in its place is not read into memory.
const FILE_BYTES_MAX: u64 = 1 << 20;

/// Where credentials are, as far as they are not in the configuration itself.
#[derive(Clone, Debug, Default)]
pub(crate) struct Files {
    pub(crate) authority: Option<PathBuf>,
    certificate: Option<PathBuf>,
    key: Option<PathBuf>,
    token: Option<PathBuf>,
}

/// What is in the files.
#[derive(Clone, Default, PartialEq, Eq)]
struct Contents {
    authority: Option<Vec<u8>>,
    certificate: Option<Vec<u8>>,
    key: Option<Vec<u8>>,
    token: Option<Vec<u8>>,
}

/// What all connections to one server are opened with.
pub(crate) struct Credentials {
    /// The configuration, without what is in files.
    config: Config,
    files: Files,
    /// What it was made from, for the log.
    origin: String,
    loaded: Latest<Arc<Loaded>>,
    doubted: Arc<Notify>,
}

/// What new connections are opened with.
pub(crate) struct Loaded {
    contents: Contents,
    user: ClientConfig,
    nobody: ClientConfig,
    token: Option<HeaderValue>,
}

// === impl Files ===

impl Files {
    /// Takes the files out of a configuration. The CA of a kubeconfig's cluster is given beside
    /// it, since the configuration holds what was in it.
    pub(crate) fn take(config: &mut Config, authority: Option<PathBuf>) -> Self {
        let user = &mut config.auth_info;
        let unless = |data: bool, file: &mut Option<String>| {
            file.take().filter(|file| !data && !file.is_empty()).map(PathBuf::from)
        };
        Self {
            authority: config.root_cert_file.take().or(authority),
            certificate: unless(
                user.client_certificate_data.is_some(),
                &mut user.client_certificate,
            ),
            key: unless(user.client_key_data.is_some(), &mut user.client_key),
            token: unless(false, &mut user.token_file),
        }
    }

    fn is_empty(&self) -> bool {
        let Self { authority, certificate, key, token } = self;
        [authority, certificate, key, token].into_iter().all(Option::is_none)
    }

    /// An error names the field and the file.
    fn read(&self) -> Result<Contents, String> {
        let read = |field: &str, path: &Option<PathBuf>| {
            let Some(path) = path else { return Ok(None) };
            let failed = |why: &str| format!("{field} {}: {why}", path.display());
            match read_file(path) {
                Ok(bytes) if bytes.trim_ascii().is_empty() => Err(failed("the file is empty")),
                Ok(bytes) => Ok(Some(bytes)),
                Err(error) => Err(failed(&error.to_string())),
            }
        };
        Ok(Contents {
            authority: read("certificate-authority", &self.authority)?,
            certificate: read("client-certificate", &self.certificate)?,
            key: read("client-key", &self.key)?,
            token: read("tokenFile", &self.token)?,
        })
    }
}

fn read_file(path: &Path) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(path)?.take(FILE_BYTES_MAX + 1).read_to_end(&mut bytes)?;
    if u64::try_from(bytes.len()).is_ok_and(|size| size > FILE_BYTES_MAX) {
        return Err(std::io::Error::other("the file is too large"));
    }
    Ok(bytes)
}

// === impl Credentials ===

impl Credentials {
    /// Reads the files for the first time, and follows them every `interval` while the result is
    /// in use. The error says what is wrong with which file.
    pub(crate) fn load(
        config: Config,
        files: Files,
        origin: String,
        interval: Duration,
    ) -> Result<Arc<Self>, String> {
        let loaded = Loaded::new(&config, files.read()?)?;
        let follows = !files.is_empty();
        let (loaded, doubted) = (Latest::new(Arc::new(loaded)), Arc::default());
        let credentials = Arc::new(Self { config, files, origin, loaded, doubted });
        if follows {
            let (weak, doubted) = (Arc::downgrade(&credentials), Arc::clone(&credentials.doubted));
            runtime::spawn("credentials", follow(weak, doubted, interval));
        }
        Ok(credentials)
    }

    /// What to open connections with now.
    pub(crate) fn now(&self) -> Arc<Loaded> {
        self.loaded.get()
    }

    /// Something failed that new credentials may mend.
    pub(crate) fn doubt(&self) {
        self.doubted.notify_one();
    }

    /// Loads what is new. What is broken is not used, and why it is comes back: files are seldom
    /// replaced all at the same moment.
    async fn refresh(&self) -> Result<(), String> {
        // A file system that hangs must not hang the manager.
        let files = self.files.clone();
        let read = tokio::task::spawn_blocking(move || files.read()).await;
        let contents = read.map_err(|error| error.to_string())??;
        if contents == self.now().contents {
            return Ok(());
        }
        let loaded = Loaded::new(&self.config, contents)?;
        self.loaded.set(Arc::new(loaded));
        let origin = &self.origin;
        tracing::info!(origin, "credentials have changed, new connections are opened with them");
        Ok(())
    }
}

async fn follow(credentials: Weak<Credentials>, doubted: Arc<Notify>, interval: Duration) {
    let (clock, pause) = (Clock::system(), LOOK_PAUSE.min(interval));
    let mut complaint = None;
    loop {
        clock.sleep(pause).await;
        // Its end, or a doubt before that.
        let _ = clock.timeout(interval.saturating_sub(pause), doubted.notified()).await;
        let Some(credentials) = credentials.upgrade() else { return };
        let failed = credentials.refresh().await.err();
        if let Some(error) = failed.as_ref().filter(|_| failed != complaint) {
            let origin = &credentials.origin;
            tracing::warn!(origin, error, "cannot load credentials, the old ones are kept");
        }
        complaint = failed;
    }
}

// === impl Loaded ===

impl Loaded {
    fn new(config: &Config, contents: Contents) -> Result<Self, String> {
        let mut config = config.clone();
        if let Some(pem) = &contents.authority {
            config.root_cert = Some(certificates(pem)?);
        }
        let user = &mut config.auth_info;
        if let Some(pem) = &contents.certificate {
            user.client_certificate_data = Some(base64(pem));
        }
        if let Some(pem) = &contents.key {
            user.client_key_data = Some(base64(pem).into());
        }
        let token = contents.token.as_ref().map(|token| bearer(token)).transpose()?;
        let user = tls(&config)?;
        config.auth_info = AuthInfo::default();
        Ok(Self { contents, user, nobody: tls(&config)?, token })
    }

    /// How TLS is spoken as this user.
    pub(crate) fn tls(&self, user: GatedUser) -> &ClientConfig {
        match user {
            GatedUser::Same => &self.user,
            GatedUser::Nobody => &self.nobody,
        }
    }

    /// `Authorization`, if there is a token in a file.
    pub(crate) fn token(&self, user: GatedUser) -> Option<&HeaderValue> {
        self.token.as_ref().filter(|_| user == GatedUser::Same)
    }
}

fn tls(config: &Config) -> Result<ClientConfig, String> {
    config.rustls_client_config().map_err(|error| format!("cannot set up TLS: {}", chain(&error)))
}

fn certificates(pem: &[u8]) -> Result<Vec<Vec<u8>>, String> {
    let all: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem).collect();
    let all = all.map_err(|error| format!("certificate-authority: {error}"))?;
    if all.is_empty() {
        return Err("certificate-authority: there is no certificate in it".to_owned());
    }
    Ok(all.into_iter().map(|certificate| certificate.to_vec()).collect())
}

fn bearer(token: &[u8]) -> Result<HeaderValue, String> {
    let value = HeaderValue::from_bytes(&[b"Bearer ", token.trim_ascii()].concat());
    let mut value = value.map_err(|error| format!("tokenFile: {error}"))?;
    value.set_sensitive(true);
    Ok(value)
}
