//! Reviews by the API server: TokenReviews and SubjectAccessReviews.

use std::time::Duration;

use bytes::Bytes;
use client::{ApiError, Client};
use runtime::Runtime;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use tokio::sync::Semaphore;

use crate::metrics::Delegated;

/// The number of tries, as `DefaultAuthWebhookRetryBackoff` of
/// pkg/server/options/authentication.go; the next constants too.
const TRIES_MAX: u32 = 5;
const PAUSE_FIRST: Duration = Duration::from_millis(500);
const PAUSE_FACTOR: f64 = 1.5;
const PAUSE_JITTER: f64 = 0.2;
/// How long one try may take.
const TRY_LIMIT: Duration = Duration::from_secs(10);
/// The most reviews in progress. The client's rate limit serves callers in order; without this
/// limit, unauthenticated clients could fill it for minutes in advance.
const AT_ONCE_MAX: usize = 100;

/// The kind and the version of a review.
pub(crate) type Kind = (&'static str, &'static str);

/// Asks the API server for reviews.
pub(crate) struct Reviewer {
    client: Client,
    path: &'static str,
    /// The time limit of a review, all tries together.
    limit: Duration,
    metrics: Delegated,
    pub(crate) runtime: Runtime,
    turns: Semaphore,
}

// === Wire ===

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Review<S> {
    kind: &'static str,
    api_version: &'static str,
    spec: S,
}

#[derive(Deserialize)]
struct Reviewed<S> {
    #[serde(default)]
    status: S,
}

// === impl Reviewer ===

impl Reviewer {
    pub(crate) fn new(
        client: Client,
        path: &'static str,
        limit: Duration,
        metrics: Delegated,
        runtime: &Runtime,
    ) -> Self {
        let turns = Semaphore::new(AT_ONCE_MAX);
        Self { client, path, limit, metrics, runtime: runtime.clone(), turns }
    }

    /// POSTs a review of `spec` and returns the status of the response; retries where the failure
    /// may be temporary.
    pub(crate) async fn ask<T: DeserializeOwned + Default>(
        &self,
        (kind, api_version): Kind,
        spec: impl Serialize,
    ) -> Result<T, ApiError> {
        let review = Review { kind, api_version, spec };
        let body = Bytes::from(serde_json::to_vec(&review).expect("a review is JSON"));
        drop(review);
        let clock = &self.runtime.clock;
        let deadline = clock.instant() + self.limit;
        let timed_out = |_| ApiError::Timeout(format!("{}: too many wait for answers", self.path));
        let _turn = clock.timeout(self.limit, self.turns.acquire()).await.map_err(timed_out)?;
        let mut pause = PAUSE_FIRST;
        let mut tries = 0;
        loop {
            let left = deadline.saturating_duration_since(clock.instant());
            let error = match self.try_once(&body, left.min(TRY_LIMIT)).await {
                Ok(body) => return decode(&body),
                Err(error) => error,
            };
            tries += 1;
            let delay = self.runtime.random.jitter(pause, PAUSE_JITTER);
            let too_late = clock.instant() + delay >= deadline;
            if tries == TRIES_MAX || too_late || !may_pass(&error) {
                return Err(error);
            }
            clock.sleep(delay).await;
            pause = pause.mul_f64(PAUSE_FACTOR);
        }
    }

    async fn try_once(&self, body: &Bytes, limit: Duration) -> Result<Bytes, ApiError> {
        let clock = &self.runtime.clock;
        let started = clock.instant();
        // Boxed since it is large, and the future of every admitted request includes it.
        let create = Box::pin(self.client.create(self.path, body.clone()));
        let answer = clock.timeout(limit, create).await;
        let timed_out =
            |_| Err(ApiError::Timeout(format!("{}: no answer within {limit:?}", self.path)));
        let answer = answer.unwrap_or_else(timed_out);
        // The API server responds to a review with 201; the client does not return the code.
        let code = answer.as_ref().map_or_else(ApiError::label, |_| "201".to_owned());
        self.metrics.observe(&code, clock.instant() - started);
        answer
    }
}

fn decode<T: DeserializeOwned + Default>(body: &[u8]) -> Result<T, ApiError> {
    let wrong = |error| ApiError::Decode(format!("the review that came back: {error}"));
    serde_json::from_slice(body).map(|Reviewed { status }| status).map_err(wrong)
}

/// Whether a retry may help, as `DefaultShouldRetry` of pkg/util/webhook; but every broken
/// connection counts, not just a reset one.
fn may_pass(error: &ApiError) -> bool {
    match error {
        ApiError::Transport { refused, .. } => !refused,
        ApiError::Status(status) => {
            let reason = match status.reason.as_str() {
                "InternalError" | "Timeout" => true,
                // The response was not a Status object; client-go makes one from the code.
                "" => matches!(status.code, 500 | 504),
                _ => false,
            };
            reason || error.is_too_many_requests() || status.retry_after.is_some()
        }
        ApiError::Timeout(_)
        | ApiError::Decode(_)
        | ApiError::Credentials(_)
        | ApiError::Name(_)
        | ApiError::Fenced(_) => false,
    }
}
