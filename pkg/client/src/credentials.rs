//! The CA and our credentials, reloaded when the files change, and requested again before they
//! expire.
//!
//! client-go does this too (transport/cert_rotation.go, ca_rotation.go and token_source.go): a
//! client certificate every five minutes and at each handshake, a CA every five minutes, a token
//! every minute. Here all of them are read every minute, and at once after an error that they may
//! have caused. What is inline in the kubeconfig does not change. A plugin runs again after nine
//! tenths of the lifetime that it returned, and after a 401; client-go waits for the end of the
//! lifetime (plugin/pkg/client/auth/exec/exec.go).

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use api::Time;
use http::{HeaderName, HeaderValue, header};
use runtime::{Clock, Latest};
use rustls::ClientConfig;
use tokio::sync::Notify;

use crate::config::{Config, GatedUser, Source};
use crate::encoding::bearer;
use crate::plugin::Grant;
use crate::tls::{self, Trust};

/// How often the files are read.
pub(crate) const LOOK_INTERVAL: Duration = Duration::from_mins(1);
/// The shortest time until they are read again after an error that they may have caused.
const LOOK_PAUSE: Duration = Duration::from_secs(2);

/// The content of the files, and the result of a plugin.
#[derive(Clone, Default, PartialEq, Eq)]
struct Contents {
    authority: Option<Vec<u8>>,
    /// A certificate and its key.
    identity: Option<(Vec<u8>, Vec<u8>)>,
    token: Option<HeaderValue>,
    grant: Option<Grant>,
}

/// The credentials of all connections to one server.
pub(crate) struct Credentials {
    config: Arc<Config>,
    /// Its source, for the log.
    origin: String,
    /// How often the files are checked.
    interval: Duration,
    loaded: Latest<Arc<Loaded>>,
    reload: Arc<Notify>,
    /// Whether the server rejected our credentials.
    is_refused: AtomicBool,
    /// When the plugin is to run again.
    renew_at: Mutex<Option<Time>>,
}

/// The credentials of new connections.
pub(crate) struct Loaded {
    contents: Contents,
    user: ClientConfig,
    nobody: ClientConfig,
    headers: Vec<(HeaderName, HeaderValue)>,
}

// === impl Contents ===

impl Contents {
    /// Reads the files. An error names the field and the file.
    fn read(config: &Config) -> Result<Self, String> {
        let user = &config.user;
        let authority = config.authority.as_ref();
        let authority = authority.map(|source| source.read("certificate-authority")).transpose()?;
        let identity = match &user.identity {
            Some((cert, key)) => Some((cert.read("client-certificate")?, key.read("client-key")?)),
            None => None,
        };
        let token = user.token_file.clone().map(|path| {
            let token = Source::File(path).read("tokenFile")?;
            bearer(&token).ok_or_else(|| "tokenFile: it cannot be sent in a header".to_owned())
        });
        let token = match token.transpose() {
            // As upstream: the token in the file takes precedence over the one beside it, once the
            // file exists.
            Err(_) if user.authorization.is_some() => user.authorization.clone(),
            token => token?.or_else(|| user.authorization.clone()),
        };
        Ok(Self { authority, identity, token, grant: None })
    }

    /// When the plugin is to run again.
    fn renew_at(&self) -> Option<Time> {
        let (end, now) = (self.grant.as_ref()?.expires?, Clock::system().now());
        Some(now + end.since(now) / 10 * 9)
    }
}

/// A file system that hangs must not block the manager.
async fn read(config: &Arc<Config>) -> Result<Contents, String> {
    let config = Arc::clone(config);
    let read = tokio::task::spawn_blocking(move || Contents::read(&config)).await;
    read.map_err(|error| error.to_string())?
}

// === impl Credentials ===

impl Credentials {
    /// Reads the files and runs the plugin for the first time, and follows them every `interval`
    /// while the result is in use. The error names the file and what is wrong with it.
    pub(crate) async fn load(
        config: Arc<Config>,
        origin: String,
        interval: Duration,
    ) -> Result<Arc<Self>, String> {
        let mut contents = read(&config).await?;
        contents.grant = ask(&config, &contents).await?;
        let renew_at = Mutex::new(contents.renew_at());
        let loaded = Latest::new(Arc::new(Loaded::new(&config, contents)?));
        let (follows, reload) = (!config.is_static(), Arc::<Notify>::default());
        let is_refused = AtomicBool::default();
        let of_follower = Arc::clone(&reload);
        let all = Self { config, origin, interval, loaded, reload, is_refused, renew_at };
        let credentials = Arc::new(all);
        if follows {
            let weak = Arc::downgrade(&credentials);
            runtime::spawn("credentials", follow(weak, of_follower, interval));
        }
        Ok(credentials)
    }

    /// The credentials for opening a connection now.
    pub(crate) fn now(&self) -> Arc<Loaded> {
        self.loaded.get()
    }

    /// Reloads soon: an error came that new files may fix.
    pub(crate) fn reload_soon(&self) {
        self.reload.notify_one();
    }

    /// The server rejected our credentials, which new ones may fix.
    pub(crate) fn refused(&self) {
        self.is_refused.store(true, Ordering::Relaxed);
        self.reload_soon();
    }

    /// Loads what has changed. Broken files are not used, and their error is returned: files are
    /// seldom replaced all at the same moment.
    async fn refresh(&self) -> Result<(), String> {
        let old = self.now();
        let mut contents = read(&self.config).await?;
        let now = Clock::system().now();
        let is_refused = self.is_refused.swap(false, Ordering::Relaxed);
        contents.grant = match self.renew_at() {
            at if is_refused || at.is_some_and(|at| at <= now) => {
                // No sooner, if it fails or returns the same again.
                self.renew(at.map(|_| now + self.interval));
                ask(&self.config, &contents).await?
            }
            _ => old.contents.grant.clone(),
        };
        if contents == old.contents {
            return Ok(());
        }
        let renew_at = contents.renew_at();
        let loaded = Loaded::new(&self.config, contents)?;
        self.renew(renew_at);
        self.loaded.set(Arc::new(loaded));
        let origin = &self.origin;
        tracing::info!(origin, "credentials have changed, new connections are opened with them");
        Ok(())
    }

    fn renew_at(&self) -> Option<Time> {
        *self.renew_at.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn renew(&self, at: Option<Time>) {
        *self.renew_at.lock().unwrap_or_else(PoisonError::into_inner) = at;
    }
}

/// The result of the plugin, if there is one.
async fn ask(config: &Config, contents: &Contents) -> Result<Option<Grant>, String> {
    let Some(plugin) = &config.user.plugin else { return Ok(None) };
    plugin.ask(config, contents.authority.as_deref(), &Clock::system()).await.map(Some)
}

async fn follow(credentials: Weak<Credentials>, reload: Arc<Notify>, interval: Duration) {
    let (clock, pause) = (Clock::system(), LOOK_PAUSE.min(interval));
    let mut complaint = None;
    loop {
        let Some(due) = credentials.upgrade().map(|credentials| credentials.renew_at()) else {
            return;
        };
        let wait = due.map_or(interval, |at| at.since(clock.now()).min(interval));
        clock.sleep(pause).await;
        // Until the next check, or an error before it.
        let _ = clock.timeout(wait.saturating_sub(pause), reload.notified()).await;
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
        let trust = match &contents.authority {
            _ if config.is_insecure => Trust::Blind,
            Some(pem) => Trust::In(pem),
            None if config.needs_trust() => Trust::System,
            None => Trust::Unneeded,
        };
        let grant = contents.grant.as_ref();
        let granted = grant.and_then(|grant| grant.identity.as_ref());
        let granted = granted.map(|(cert, key)| (cert.as_bytes(), key.as_bytes()));
        let own = contents.identity.as_ref().map(|(cert, key)| (cert.as_slice(), key.as_slice()));
        let token = grant.and_then(|grant| grant.authorization.as_ref());
        let token = contents.token.as_ref().or(token);
        let authorization = token.map(|token| (header::AUTHORIZATION, token.clone()));
        let headers = authorization.into_iter().chain(config.user.impersonation.iter().cloned());
        let failed = |why| format!("cannot set up TLS: {why}");
        Ok(Self {
            user: tls::config(trust, own.or(granted)).map_err(failed)?,
            nobody: tls::config(trust, None).map_err(failed)?,
            headers: headers.collect(),
            contents,
        })
    }

    /// The TLS configuration of this user.
    pub(crate) fn tls(&self, user: GatedUser) -> &ClientConfig {
        match user {
            GatedUser::Same => &self.user,
            GatedUser::Nobody => &self.nobody,
        }
    }

    /// The headers of each request of this user.
    pub(crate) fn headers(&self, user: GatedUser) -> &[(HeaderName, HeaderValue)] {
        match user {
            GatedUser::Same => &self.headers,
            GatedUser::Nobody => &[],
        }
    }
}
