//! Bearer tokens: the API server says whose they are.
//!
//! A token is in memory while it is asked about, and nowhere else: what is kept is its keyed hash,
//! and words that come back are searched for it before anybody sees them.

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

/// Where TokenReviews are made.
pub(crate) const PATH: &str = "/apis/authentication.k8s.io/v1/tokenreviews";
const KIND: Kind = ("TokenReview", "authentication.k8s.io/v1");
/// How long it may take until a token is known, `TokenRequestTimeout` of
/// pkg/server/options/authentication.go.
pub(crate) const LIMIT: Duration = Duration::from_secs(10);
/// Tokens whose owners are remembered. Upstream has no limit, and plans for this many.
const KEPT_MAX: usize = 32 * 1024;

/// Asks whose a token is, and remembers for a while.
pub(crate) struct Tokens {
    reviewer: Reviewer,
    lookup: Lookup<Verdict>,
    ttl: Duration,
    metrics: Metrics,
}

/// Whose the token is; none: nobody's. An error if that cannot be said.
type Verdict = Result<Option<User>, String>;

// === Wire ===

#[derive(Serialize)]
struct Spec<'a> {
    token: &'a str,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Status {
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

    /// Whose the token is. An error if nobody's, or if that cannot be said.
    pub(crate) async fn user(&self, token: &str) -> Result<User, String> {
        let started = self.reviewer.runtime.clock.instant();
        let digest = self.lookup.digest(token.as_bytes());
        let verdict = if let Some(verdict) = self.lookup.kept(digest) {
            self.observe("hit", started);
            verdict
        } else {
            let blocked = Counted::new(self.metrics.token_fetches_active("blocked"));
            let verdict = self.lookup.ask(digest, self.review(token)).await;
            drop(blocked);
            self.observe("miss", started);
            verdict
        };
        verdict?.ok_or_else(|| "invalid bearer token".to_owned())
    }

    /// The API server's verdict, and how long it holds: errors are not kept.
    async fn review(&self, token: &str) -> (Verdict, Duration) {
        let in_flight = Counted::new(self.metrics.token_fetches_active("in_flight"));
        let verdict = self.ask(token).await;
        drop(in_flight);
        self.metrics.token_fetched(if verdict.is_ok() { "ok" } else { "error" });
        let ttl = if verdict.is_ok() { self.ttl } else { Duration::ZERO };
        (verdict, ttl)
    }

    async fn ask(&self, token: &str) -> Verdict {
        let status = match self.reviewer.ask::<Status>(KIND, Spec { token }).await {
            Ok(status) => status,
            Err(error) => {
                let error = redacted(&error.to_string(), token);
                tracing::warn!(%error, path = PATH, "cannot ask the API server whose a token is");
                return Err(error);
            }
        };
        match status {
            Status { authenticated: true, user, .. } => Ok(Some(user)),
            Status { error, .. } if error.is_empty() => Ok(None),
            Status { error, .. } => Err(redacted(&error, token)),
        }
    }

    fn observe(&self, status: &str, started: Instant) {
        self.metrics.token_asked(status, self.reviewer.runtime.clock.instant() - started);
    }
}

/// The bearer token of a request, as pkg/authentication/request/bearertoken finds it; none if there
/// is no such credential or it is empty.
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
