//! The filters that every request passes before its page.

use std::time::Duration;

use axum::extract::{Query, Request};
use axum::middleware::Next;
use axum::response::Response;
use http::header::CACHE_CONTROL;
use http::{HeaderValue, StatusCode, Uri};
use runtime::{Clock, Elapsed, Fenced};
use tracing::{debug, error, warn};

use crate::{Admit, answer};

/// How long a request may take, until the head of its response is ready. Upstream has no limit.
pub(crate) const REQUEST_MAX: Duration = Duration::from_mins(1);

/// The longest profile. The time that the request asks for with `?seconds=` is added to
/// [`REQUEST_MAX`].
pub(crate) const PROFILE_MAX: Duration = Duration::from_mins(5);

/// The text of upstream's panic filter (apiserver/pkg/server/filters/wrap.go).
const PANICKED: &str = "This request caused apiserver to panic. Look in the logs for details.";

/// The chain in front of the pages, as `BuildHandlerChain` in controller-manager/app/serve.go.
pub(crate) struct Chain<A> {
    admit: A,
    clock: Clock,
}

// === impl Chain ===

impl<A: Admit> Chain<A> {
    pub(crate) fn new(admit: A, clock: Clock) -> Self {
        Self { admit, clock }
    }

    /// The response to a request, also after a panic.
    pub(crate) async fn serve(&self, request: Request, next: Next) -> Response {
        let (method, uri) = (request.method().clone(), request.uri().clone());
        let (path, started, limit) = (uri.path(), self.clock.instant(), time_limit(&uri));
        let answered = self.clock.timeout(limit, self.admitted(request, next));
        let mut response = match runtime::fenced_async(answered).await {
            Ok(Ok(response)) => response,
            Ok(Err(Elapsed)) => {
                warn!(%method, path, ?limit, "a request timed out");
                let text = format!("the request took longer than {limit:?}");
                answer::error(StatusCode::GATEWAY_TIMEOUT, &text)
            }
            Err(Fenced(panic)) => {
                error!(%method, path, panic, "a request panicked");
                answer::error(StatusCode::INTERNAL_SERVER_ERROR, PANICKED)
            }
        };
        let private = HeaderValue::from_static("no-cache, private");
        response.headers_mut().entry(CACHE_CONTROL).or_insert(private);
        let (status, elapsed) = (response.status().as_u16(), self.clock.instant() - started);
        debug!(%method, path, status, ?elapsed, "served a request");
        response
    }

    async fn admitted(&self, request: Request, next: Next) -> Response {
        let (mut parts, body) = request.into_parts();
        match self.admit.admit(&parts).await {
            Ok(user) => {
                parts.extensions.insert(user);
                next.run(Request::from_parts(parts, body)).await
            }
            Err(refusal) => refusal.map(Into::into),
        }
    }
}

/// [`REQUEST_MAX`], and for profiles also their recording time.
fn time_limit(uri: &Uri) -> Duration {
    if !uri.path().starts_with("/debug/pprof/") {
        return REQUEST_MAX;
    }
    let query = pairs(uri).into_iter().find(|(key, _)| key == "seconds");
    let seconds = query.and_then(|(_, value)| value.parse::<f64>().ok());
    let recorded = seconds.and_then(|seconds| {
        Duration::try_from_secs_f64(seconds.min(PROFILE_MAX.as_secs_f64())).ok()
    });
    REQUEST_MAX + recorded.unwrap_or_default()
}

/// The query of a URI, decoded, in its order.
pub(crate) fn pairs(uri: &Uri) -> Vec<(String, String)> {
    Query::try_from_uri(uri).map(|Query(pairs)| pairs).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_profiles_may_take_longer_and_not_for_ever() {
        let rows = [
            ("/metrics", 60),
            ("/metrics?seconds=30", 60),
            ("/debug/pprof?seconds=30", 60),
            ("/debug/pprof/", 60),
            ("/debug/pprof/profile", 60),
            ("/debug/pprof/profile?seconds=30", 90),
            ("/debug/pprof/trace?debug=1&seconds=1.0", 61),
            ("/debug/pprof/profile?seconds=86400", 60 + 300),
            ("/debug/pprof/profile?seconds=inf", 60 + 300),
            ("/debug/pprof/profile?seconds=-5", 60),
            ("/debug/pprof/profile?seconds=x", 60),
        ];
        for (uri, seconds) in rows {
            assert_eq!(time_limit(&Uri::from_static(uri)), Duration::from_secs(seconds), "{uri}");
        }
    }
}
