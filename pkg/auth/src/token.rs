//! Bearer tokens: the API server authenticates them.
//!
//! A token is in memory only while it is reviewed. The cache has its keyed hash, and texts in
//! responses are searched for the token before they are shown.

use std::time::Duration;

use api::wire::null_is_empty;
use http::HeaderMap;
use http::header::AUTHORIZATION;
use runtime::Instant;
use serde::{Deserialize, Serialize};

use crate::User;
use crate::lookup::Lookup;
use crate::metrics::{Counted, Metrics};
use crate::review::{Kind, Reviewer};

/// The path of TokenReviews.
pub(crate) const PATH: &str = "/apis/authentication.k8s.io/v1/tokenreviews";
const KIND: Kind = ("TokenReview", "authentication.k8s.io/v1");
/// The time limit of a review, `TokenRequestTimeout` of pkg/server/options/authentication.go.
pub(crate) const LIMIT: Duration = Duration::from_secs(10);
/// The number of cached tokens. Upstream has no limit, and expects this many.
const KEPT_MAX: usize = 32 * 1024;

/// Finds the users of tokens, and caches them.
pub(crate) struct Tokens {
    reviewer: Reviewer,
    lookup: Lookup<TokenResult>,
    ttl: Duration,
    metrics: Metrics,
}

/// The user of the token; none: the token is not valid. An error if that cannot be found out.
type TokenResult = Result<Option<User>, String>;

// === Wire ===

#[derive(Serialize)]
struct Spec<'a> {
    token: &'a str,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct TokenReviewStatus {
    authenticated: bool,
    #[serde(deserialize_with = "null_is_empty")]
    user: User,
    error: String,
}

// === impl Tokens ===

impl Tokens {
    pub(crate) fn new(reviewer: Reviewer, ttl: Duration, metrics: &Metrics) -> Self {
        let lookup = Lookup::new(KEPT_MAX, &reviewer.runtime);
        Self { reviewer, lookup, ttl, metrics: metrics.clone() }
    }

    /// The user of the token. An error if it is not valid, or if that cannot be found out.
    pub(crate) async fn user(&self, token: &str) -> Result<User, String> {
        let started = self.reviewer.runtime.clock.instant();
        let digest = self.lookup.digest(token.as_bytes());
        let result = if let Some(result) = self.lookup.kept(digest) {
            self.observe("hit", started);
            result
        } else {
            let blocked = Counted::new(self.metrics.token_fetches_active("blocked"));
            let result = self.lookup.ask(digest, self.review(token)).await;
            drop(blocked);
            self.observe("miss", started);
            result
        };
        result?.ok_or_else(|| "invalid bearer token".to_owned())
    }

    /// The API server's result, and how long to cache it: errors are not cached.
    async fn review(&self, token: &str) -> (TokenResult, Duration) {
        let in_flight = Counted::new(self.metrics.token_fetches_active("in_flight"));
        let result = self.ask(token).await;
        drop(in_flight);
        self.metrics.token_fetched(if result.is_ok() { "ok" } else { "error" });
        let ttl = if result.is_ok() { self.ttl } else { Duration::ZERO };
        (result, ttl)
    }

    async fn ask(&self, token: &str) -> TokenResult {
        let status = match self.reviewer.ask::<TokenReviewStatus>(KIND, Spec { token }).await {
            Ok(status) => status,
            Err(error) => {
                let error = redacted(&error.to_string(), token);
                tracing::warn!(%error, path = PATH, "cannot ask the API server to review a token");
                return Err(error);
            }
        };
        match status {
            TokenReviewStatus { authenticated: true, user, .. } => Ok(Some(user)),
            TokenReviewStatus { error, .. } if error.is_empty() => Ok(None),
            TokenReviewStatus { error, .. } => Err(redacted(&error, token)),
        }
    }

    fn observe(&self, status: &str, started: Instant) {
        self.metrics.token_asked(status, self.reviewer.runtime.clock.instant() - started);
    }
}

/// The bearer token of a request, as pkg/authentication/request/bearertoken; none if there is none
/// or it is empty.
pub(crate) fn of(headers: &HeaderMap) -> Option<String> {
    let value = String::from_utf8_lossy(headers.get(AUTHORIZATION)?.as_bytes()).into_owned();
    let mut parts = value.trim().splitn(3, ' ');
    let scheme = parts.next()?;
    let token = parts.next().filter(|token| !token.is_empty())?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.to_owned())
}

fn redacted(text: &str, token: &str) -> String {
    text.replace(token, "<redacted>")
}
