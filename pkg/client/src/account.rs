//! Requests as a service account, with tokens from the API server's TokenRequest.
//!
//! As `DynamicControllerClientBuilder` in upstream's k8s.io/controller-manager/pkg/clientbuilder
//! and `CachedTokenSource` in client-go.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use futures::FutureExt as _;
use futures::future::{BoxFuture, Shared, WeakShared};
use http::HeaderValue;
use runtime::Runtime;
use serde::Deserialize;

use crate::{ApiError, Client};

/// The namespace of the controllers' accounts.
const NAMESPACE: &str = "kube-system";
/// The requested lifetime of a token.
const LIFETIME_SECONDS: u32 = 3600;
/// The shortest lifetime that is trusted: our clock may be ahead of the API server's.
const LIFETIME_MIN: Duration = Duration::from_mins(10);
/// A token is replaced this long before four fifths of its life are over.
const LEEWAY: Duration = Duration::from_secs(10);
/// How often a token is requested before the request that needs it fails.
const TRIES_MAX: u32 = 4;
/// The first delay between two tries; it doubles.
const RETRY_DELAY: Duration = Duration::from_millis(500);

/// A service account in `kube-system`. Its clients share one token.
pub struct Account {
    root: Client,
    name: String,
    runtime: Runtime,
    token: Mutex<Option<Token>>,
    /// The token request in progress, while a caller waits for it.
    fetching: Mutex<Option<WeakShared<Fetching>>>,
}

type Fetching = BoxFuture<'static, Result<HeaderValue, ApiError>>;

struct Token {
    /// The value of the header `Authorization`.
    bearer: HeaderValue,
    /// On the monotonic clock.
    replace_at: runtime::Instant,
}

#[derive(Deserialize)]
struct TokenRequest {
    status: TokenStatus,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct TokenStatus {
    token: String,
    expiration_timestamp: api::Time,
}

impl Account {
    /// The account `name`, created and given a token through `root` when it is first needed.
    pub fn new(root: Client, name: &str, runtime: &Runtime) -> Self {
        let (token, fetching) = (Mutex::default(), Mutex::default());
        Self { root, name: name.to_owned(), runtime: runtime.clone(), token, fetching }
    }

    /// The suffix of its clients' user agent.
    pub fn user_name(&self) -> String {
        format!("system:serviceaccount:{NAMESPACE}:{}", self.name)
    }

    /// A valid token, as the value of the header `Authorization`. Of several concurrent callers one
    /// requests it, and all get the result.
    pub(crate) async fn bearer(self: &Arc<Self>) -> Result<HeaderValue, ApiError> {
        match self.cached_or_fetching() {
            Ok(bearer) => Ok(bearer),
            Err(fetching) => fetching.await,
        }
    }

    fn cached_or_fetching(self: &Arc<Self>) -> Result<HeaderValue, Shared<Fetching>> {
        let mut slot = self.fetching.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(bearer) = self.cached() {
            return Ok(bearer);
        }
        let under_way = slot.as_ref().and_then(WeakShared::upgrade);
        if let Some(fetching) = under_way.filter(|fetching| fetching.peek().is_none()) {
            return Err(fetching);
        }
        let account = Arc::clone(self);
        let fetching = async move { account.fetch_patiently().await }.boxed().shared();
        *slot = fetching.downgrade();
        Err(fetching)
    }

    async fn fetch_patiently(&self) -> Result<HeaderValue, ApiError> {
        let (mut tries, mut delay) = (1, RETRY_DELAY);
        loop {
            match self.fetch().await {
                Ok(bearer) => return Ok(bearer),
                Err(error) if tries == TRIES_MAX => {
                    let account = self.user_name();
                    return Err(ApiError::Credentials(format!("no token for {account}: {error}")));
                }
                Err(error) => {
                    tracing::debug!(account = self.name, %error, "cannot get a token, will retry");
                }
            }
            self.runtime.clock.sleep(delay).await;
            (tries, delay) = (tries + 1, delay * 2);
        }
    }

    /// The API server has rejected this token: the next request gets a new one.
    pub(crate) fn reject(&self, rejected: &HeaderValue) {
        let mut token = self.token.lock().unwrap_or_else(PoisonError::into_inner);
        token.take_if(|token| token.bearer == rejected);
    }

    fn cached(&self) -> Option<HeaderValue> {
        let token = self.token.lock().unwrap_or_else(PoisonError::into_inner);
        let now = self.runtime.clock.instant();
        token.as_ref().filter(|token| now < token.replace_at).map(|token| token.bearer.clone())
    }

    async fn fetch(&self) -> Result<HeaderValue, ApiError> {
        self.ensure().await?;
        let body = serde_json::json!({
            "apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest",
            "spec": { "expirationSeconds": LIFETIME_SECONDS },
        });
        let asked = self.runtime.clock.instant();
        let answer = self.root.create(&(self.path() + "/token"), body.to_string().into()).await?;
        let TokenRequest { status } = serde_json::from_slice(&answer)
            .map_err(|error| ApiError::Decode(format!("a TokenRequest: {error}")))?;
        let lifetime = status.expiration_timestamp.since(self.runtime.clock.now());
        let replace_at = asked + lifetime.max(LIFETIME_MIN) * 4 / 5 - LEEWAY;
        let bearer = HeaderValue::try_from(format!("Bearer {}", status.token))
            .map_err(|error| ApiError::Decode(format!("a token: {error}")))?;
        let token = Token { bearer: bearer.clone(), replace_at };
        *self.token.lock().unwrap_or_else(PoisonError::into_inner) = Some(token);
        Ok(bearer)
    }

    /// Creates the account if it is missing, and its namespace too.
    pub async fn ensure(&self) -> Result<(), ApiError> {
        match self.root.get(&self.path()).await {
            Err(error) if error.is_not_found() => {}
            other => return other.map(drop),
        }
        // An error shows in the requests that follow: upstream ignores it too.
        if let Err(error) = self.root.get(&format!("/api/v1/namespaces/{NAMESPACE}")).await
            && error.is_not_found()
        {
            let namespace = named("Namespace", NAMESPACE);
            let made = self.root.create("/api/v1/namespaces", namespace).await;
            tracing::debug!(error = made.err().map(|e| e.to_string()), "made {NAMESPACE}");
        }
        let path = format!("/api/v1/namespaces/{NAMESPACE}/serviceaccounts");
        match self.root.create(&path, named("ServiceAccount", &self.name)).await {
            // Another client created it in between.
            Err(error) if error.is_conflict() => Ok(()),
            other => other.map(drop),
        }
    }

    fn path(&self) -> String {
        format!("/api/v1/namespaces/{NAMESPACE}/serviceaccounts/{}", self.name)
    }
}

fn named(kind: &str, name: &str) -> Bytes {
    let object =
        serde_json::json!({"apiVersion": "v1", "kind": kind, "metadata": { "name": name }});
    object.to_string().into()
}
