//! Authenticates and authorizes the requests on the secure port.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use client::Client;
use http::Response;
use http::request::Parts;
use runtime::Runtime;
use rustls::pki_types::CertificateDer;

use crate::access::{self, Access, Object, Question, Reviews};
use crate::answer;
use crate::certificate::Certificate;
use crate::decision::Decision;
use crate::review::Reviewer;
use crate::token::{self, Tokens};
use crate::trust::Trust;
use crate::{Metrics, ProxySettings, User};

/// The flags of the groups Authentication and Authorization, without the kubeconfigs.
#[derive(Clone, Debug)]
pub struct Settings {
    /// `--client-ca-file`; none: the CA in the cluster's ConfigMap.
    pub client_ca_file: Option<PathBuf>,
    /// `--requestheader-*`.
    pub request_header: ProxySettings,
    /// `--authentication-skip-lookup`: what the flags leave out is not looked up in the cluster.
    pub skip_lookup: bool,
    /// `--authentication-tolerate-lookup-failure`: start even if that lookup fails.
    pub tolerate_lookup_failure: bool,
    /// `--authentication-token-webhook-cache-ttl`.
    pub token_ttl: Duration,
    /// `--authorization-always-allow-paths`: exact, or up to a `*` at the end.
    pub always_allow_paths: Vec<String>,
    /// `--authorization-webhook-cache-authorized-ttl`.
    pub authorized_ttl: Duration,
    /// `--authorization-webhook-cache-unauthorized-ttl`.
    pub unauthorized_ttl: Duration,
}

/// Authenticates and authorizes each request. Cheap to clone.
#[derive(Clone)]
pub struct Guard(Arc<Inner>);

struct Inner {
    trust: Trust,
    tokens: Option<Tokens>,
    access: Access,
    metrics: Metrics,
    runtime: Runtime,
}

/// Why there is no guard. Names the flag or the object with the error.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// A CA file cannot be used.
    #[error("{flag} {path}: {text}", path = path.display())]
    File {
        /// The flag that names the file.
        flag: &'static str,
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        text: String,
    },
    /// The cluster's ConfigMap cannot be used.
    #[error("unable to load configmap based request-header-client-ca-file: {0}")]
    Lookup(String),
    /// A path has a `*` elsewhere than at its end.
    #[error("--authorization-always-allow-paths: only trailing * allowed in {0:?}")]
    AlwaysAllowPath(String),
}

// === impl Guard ===

impl Guard {
    /// Reads the CAs, and reads them again until the runtime is cancelled.
    ///
    /// `authentication` and `authorization` are clients of `--authentication-kubeconfig` and
    /// `--authorization-kubeconfig`. Without the first, bearer tokens are not valid and nothing is
    /// looked up in the cluster; without the second, everything is refused except open paths and
    /// requests of `system:masters`.
    pub async fn start(
        settings: &Settings,
        authentication: Option<&Client>,
        authorization: Option<&Client>,
        metrics: &Metrics,
        runtime: &Runtime,
    ) -> Result<Self, Error> {
        let tokens = authentication.map(|client| {
            let delegated = metrics.delegated_authn.clone();
            let reviewer =
                Reviewer::new(client.clone(), token::PATH, token::LIMIT, delegated, runtime);
            Tokens::new(reviewer, settings.token_ttl, metrics)
        });
        if authorization.is_none() {
            tracing::warn!(
                "no --authorization-kubeconfig: requests are forbidden but for \
                 --authorization-always-allow-paths and the group system:masters"
            );
        }
        let reviews = authorization.map(|client| {
            let delegated = metrics.delegated_authz.clone();
            let reviewer =
                Reviewer::new(client.clone(), access::PATH, access::LIMIT, delegated, runtime);
            Reviews::new(reviewer, settings.authorized_ttl, settings.unauthorized_ttl)
        });
        let access = Access::new(&settings.always_allow_paths, reviews)?;
        let trust = Trust::start(settings, authentication, runtime).await?;
        let (metrics, runtime) = (metrics.clone(), runtime.clone());
        Ok(Self(Arc::new(Inner { trust, tokens, access, metrics, runtime })))
    }

    /// The user, if the request is allowed. Otherwise the whole response: 401, 403 or 500. `chain`
    /// is the client's certificate chain in the TLS handshake, its own certificate first; empty:
    /// none.
    pub async fn admit(
        &self,
        request: &Parts,
        chain: &[CertificateDer<'static>],
    ) -> Result<User, Response<Bytes>> {
        let Inner { access, metrics, runtime, .. } = &*self.0;
        let clock = &runtime.clock;
        let started = clock.instant();
        let user = self.authenticate(request, chain).await;
        let name = user.as_ref().ok().map(|user| &*user.name);
        metrics.authenticated(name, clock.instant() - started);
        let user = user.map_err(|errors| {
            tracing::warn!(error = errors.join("; "), "cannot authenticate a request");
            answer::unauthorized(request)
        })?;

        let started = clock.instant();
        let question = Question::new(&user, request);
        let decision = access.decide(&question).await;
        metrics.authorized(&decision, clock.instant() - started);
        match decision {
            Ok(Decision::Allowed) => Ok(user),
            Ok(Decision::Denied(reason) | Decision::NoOpinion(reason)) => {
                let Question { user, verb, path } = &question;
                tracing::debug!(user = user.name, verb, path, reason, "a request is forbidden");
                Err(answer::forbidden(request, &question, &reason))
            }
            Err(error) => Err(answer::internal_error(request, &question, &error)),
        }
    }

    /// Whether an admitted user may `get` an object, as the API server decides. An error if it
    /// could not be asked.
    pub async fn may_get(&self, user: &User, object: &Object<'_>) -> Result<bool, String> {
        self.0.access.may_get(user, object).await
    }

    /// The first valid credentials count. If none are valid, the error of each; if there are none,
    /// no user (pkg/authentication/authenticatorfactory/delegating.go).
    async fn authenticate(
        &self,
        request: &Parts,
        chain: &[CertificateDer<'static>],
    ) -> Result<User, Vec<String>> {
        let mut errors = Vec::new();
        match self.by_front_proxy(request, chain) {
            Ok(Some(user)) => return Ok(user.authenticated()),
            Ok(None) => {}
            Err(error) => errors.push(error),
        }
        match self.by_certificate(chain) {
            Ok(Some(user)) => return Ok(user.authenticated()),
            Ok(None) => {}
            Err(error) => errors.push(error),
        }
        if let (Some(tokens), Some(token)) = (&self.0.tokens, token::of(&request.headers)) {
            match tokens.user(&token).await {
                Ok(user) => return Ok(user.authenticated()),
                Err(error) => errors.push(error),
            }
        }
        if errors.is_empty() { Ok(User::anonymous()) } else { Err(errors) }
    }

    fn by_front_proxy(
        &self,
        request: &Parts,
        chain: &[CertificateDer<'static>],
    ) -> Result<Option<User>, String> {
        let Inner { trust, runtime, .. } = &*self.0;
        let (Some(bundle), Some(first)) = (trust.proxies(), chain.first()) else {
            return Ok(None);
        };
        let certificate = Certificate::parse(first)?;
        let verified = bundle.verify(chain, runtime.clock.now());
        verified.map_err(|error| format!("{certificate} is not a front proxy's: {error}"))?;
        let headers = trust.headers();
        if !headers.allows(&certificate.common_name) {
            return Err(format!("{certificate} is not among the allowed front proxies"));
        }
        Ok(headers.user(&request.headers))
    }

    fn by_certificate(&self, chain: &[CertificateDer<'static>]) -> Result<Option<User>, String> {
        let Inner { trust, metrics, runtime, .. } = &*self.0;
        let (Some(bundle), Some(first)) = (trust.clients(), chain.first()) else {
            return Ok(None);
        };
        let certificate = Certificate::parse(first)?;
        let now = runtime.clock.now();
        metrics.certificate_expires_in(certificate.remaining_seconds(now));
        let verified = bundle.verify(chain, now);
        verified.map_err(|error| format!("{certificate} proves nothing: {error}"))?;
        certificate.user()
    }
}

impl fmt::Debug for Guard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Guard")
    }
}
