//! Upstream's metrics of authentication and authorization: pkg/endpoints/ filters/metrics.go,
//! pkg/authentication/token/cache/stats.go, the two factories, request/x509.

use std::time::Duration;

use metrics::{
    Error, Family, Histogram, HistogramVec, IntCounterVec, IntGauge, IntGaugeVec, Registry,
};

use crate::decision::Decision;

const REQUEST_SECONDS: &[f64] = &[0.25, 0.5, 0.7, 1.0, 1.5, 3.0, 5.0, 10.0];
const FILTER_SECONDS: &[f64] = &[
    0.001, 0.002, 0.004, 0.008, 0.016, 0.032, 0.064, 0.128, 0.256, 0.512, 1.024, 2.048, 4.096,
    8.192, 16.384,
];
/// From half an hour to a year.
const EXPIRATION_SECONDS: &[f64] = &[
    0.0,
    1800.0,
    3600.0,
    7200.0,
    21_600.0,
    43_200.0,
    86_400.0,
    172_800.0,
    345_600.0,
    604_800.0,
    2_592_000.0,
    7_776_000.0,
    15_552_000.0,
    31_104_000.0,
];
/// Names that are counted separately. Each other name would make a series.
const KNOWN_NAMES: [&str; 5] =
    ["admin", "client", "kube_proxy", "kubelet", "system:serviceaccount:kube-system:default"];

const USERS: Family<'_> = Family::alpha(
    "authenticated_user_requests",
    "Requests with a known user, by a few well-known names.",
)
.labels(&["username"]);
const AUTHENTICATIONS: Family<'_> = Family::alpha(
    "authentication_attempts",
    "Requests whose user was looked for, by what came of it.",
)
.labels(&["result"]);
const AUTHENTICATION_DURATION: Family<'_> = Family::alpha(
    "authentication_duration_seconds",
    "How long it took to find the user of a request, by what came of it.",
)
.labels(&["result"])
.buckets(FILTER_SECONDS);
const AUTHORIZATIONS: Family<'_> = Family::alpha(
    "authorization_attempts_total",
    "Requests that were allowed, denied, met no-opinion, or ended in an error.",
)
.labels(&["result"]);
const AUTHORIZATION_DURATION: Family<'_> = Family::alpha(
    "authorization_duration_seconds",
    "How long it took to decide about a request, by the decision.",
)
.labels(&["result"])
.buckets(FILTER_SECONDS);
const TOKEN_REQUESTS: Family<'_> = Family::alpha(
    "authentication_token_cache_request_total",
    "Bearer tokens looked up, by whether their user was remembered.",
)
.labels(&["status"]);
const TOKEN_REQUEST_DURATION: Family<'_> = Family::alpha(
    "authentication_token_cache_request_duration_seconds",
    "How long it took to look up a bearer token, by whether its user was remembered.",
)
.labels(&["status"]);
const TOKEN_FETCHES: Family<'_> = Family::alpha(
    "authentication_token_cache_fetch_total",
    "Bearer tokens that the API server was asked about, by whether it could say.",
)
.labels(&["status"]);
const TOKEN_FETCHES_ACTIVE: Family<'_> = Family::alpha(
    "authentication_token_cache_active_fetch_count",
    "Bearer tokens being asked about, and requests that wait for that.",
)
.labels(&["status"]);
const CERTIFICATE_EXPIRATION: Family<'_> = Family::alpha(
    "apiserver_client_certificate_expiration_seconds",
    "How long the client certificates of requests were still valid.",
)
.buckets(EXPIRATION_SECONDS);
const AUTHN: Family<'_> = Family::alpha(
    "apiserver_delegated_authn_request_total",
    "TokenReviews that the API server was asked for, by the code it answered.",
)
.labels(&["code"]);
const AUTHN_DURATION: Family<'_> = Family::alpha(
    "apiserver_delegated_authn_request_duration_seconds",
    "How long TokenReviews took, by the code that the API server answered.",
)
.labels(&["code"])
.buckets(REQUEST_SECONDS);
const AUTHZ: Family<'_> = Family::alpha(
    "apiserver_delegated_authz_request_total",
    "SubjectAccessReviews that the API server was asked for, by the code it answered.",
)
.labels(&["code"]);
const AUTHZ_DURATION: Family<'_> = Family::alpha(
    "apiserver_delegated_authz_request_duration_seconds",
    "How long SubjectAccessReviews took, by the code that the API server answered.",
)
.labels(&["code"])
.buckets(REQUEST_SECONDS);

/// The metrics of a [`crate::Guard`].
#[derive(Clone, Debug)]
pub struct Metrics {
    users: IntCounterVec,
    authentication: Filter,
    authorization: Filter,
    token_requests: IntCounterVec,
    token_request_duration: HistogramVec,
    token_fetches: IntCounterVec,
    token_fetches_active: IntGaugeVec,
    certificate_expiration: Histogram,
    pub(crate) delegated_authn: Delegated,
    pub(crate) delegated_authz: Delegated,
}

#[derive(Clone, Debug)]
struct Filter {
    attempts: IntCounterVec,
    duration: HistogramVec,
}

/// Metrics of the requests to the API server for one kind of review.
#[derive(Clone, Debug)]
pub(crate) struct Delegated {
    requests: IntCounterVec,
    duration: HistogramVec,
}

/// Counted until dropped.
pub(crate) struct Counted(IntGauge);

// === impl Metrics ===

impl Metrics {
    /// Registers the families. An error if the registry has them already.
    pub fn new(registry: &Registry) -> Result<Self, Error> {
        Ok(Self {
            users: registry.family(&USERS)?,
            authentication: Filter {
                attempts: registry.family(&AUTHENTICATIONS)?,
                duration: registry.family(&AUTHENTICATION_DURATION)?,
            },
            authorization: Filter {
                attempts: registry.family(&AUTHORIZATIONS)?,
                duration: registry.family(&AUTHORIZATION_DURATION)?,
            },
            token_requests: registry.family(&TOKEN_REQUESTS)?,
            token_request_duration: registry.family(&TOKEN_REQUEST_DURATION)?,
            token_fetches: registry.family(&TOKEN_FETCHES)?,
            token_fetches_active: registry.family(&TOKEN_FETCHES_ACTIVE)?,
            certificate_expiration: registry.family(&CERTIFICATE_EXPIRATION)?,
            delegated_authn: Delegated {
                requests: registry.family(&AUTHN)?,
                duration: registry.family(&AUTHN_DURATION)?,
            },
            delegated_authz: Delegated {
                requests: registry.family(&AUTHZ)?,
                duration: registry.family(&AUTHZ_DURATION)?,
            },
        })
    }

    /// A request was authenticated; `name` is the user, none after an error.
    pub(crate) fn authenticated(&self, name: Option<&str>, duration: Duration) {
        if let Some(name) = name {
            let label = match name {
                _ if KNOWN_NAMES.contains(&name) => name,
                _ if name.contains('@') => "email_id",
                _ => "other",
            };
            self.users.with_label_values(&[label]).inc();
        }
        let result = if name.is_some() { "success" } else { "error" };
        self.authentication.observe(result, duration);
    }

    pub(crate) fn authorized(&self, decision: &Result<Decision, String>, duration: Duration) {
        let result = match decision {
            Ok(Decision::Allowed) => "allowed",
            Ok(Decision::Denied(_)) => "denied",
            Ok(Decision::NoOpinion(_)) => "no-opinion",
            Err(_) => "error",
        };
        self.authorization.observe(result, duration);
    }

    /// A client certificate with this remaining validity was presented, from any issuer.
    pub(crate) fn certificate_expires_in(&self, seconds: f64) {
        self.certificate_expiration.observe(seconds);
    }

    pub(crate) fn token_asked(&self, status: &str, duration: Duration) {
        self.token_requests.with_label_values(&[status]).inc();
        let seconds = duration.as_secs_f64();
        self.token_request_duration.with_label_values(&[status]).observe(seconds);
    }

    pub(crate) fn token_fetched(&self, status: &str) {
        self.token_fetches.with_label_values(&[status]).inc();
    }

    pub(crate) fn token_fetches_active(&self, status: &str) -> IntGauge {
        self.token_fetches_active.with_label_values(&[status])
    }
}

impl Filter {
    fn observe(&self, result: &str, duration: Duration) {
        self.attempts.with_label_values(&[result]).inc();
        self.duration.with_label_values(&[result]).observe(duration.as_secs_f64());
    }
}

impl Delegated {
    /// A request was answered with `code`, or `<error>`.
    pub(crate) fn observe(&self, code: &str, duration: Duration) {
        self.requests.with_label_values(&[code]).inc();
        self.duration.with_label_values(&[code]).observe(duration.as_secs_f64());
    }
}

// === impl Counted ===

impl Counted {
    pub(crate) fn new(gauge: IntGauge) -> Self {
        gauge.inc();
        Self(gauge)
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.dec();
    }
}
