//! The families, as upstream has them.

use metrics::{Registry, fixture};

use crate::Metrics;

/// metrics.md, "Delegated auth and linked apiserver library". The fixture has what a leader showed
/// before any client sent a token: the rest is here.
#[test]
fn names_types_and_labels_are_those_of_upstream() {
    let registry = Registry::default();
    Metrics::new(&registry).unwrap();
    let never_shown = [
        "apiserver_delegated_authn_request_duration_seconds histogram code",
        "apiserver_delegated_authn_request_total counter code",
        "authentication_token_cache_active_fetch_count gauge status",
        "authentication_token_cache_fetch_total counter status",
        "authentication_token_cache_request_duration_seconds histogram status",
        "authentication_token_cache_request_total counter status",
    ];
    assert_eq!(fixture::unlike_upstream(&registry), never_shown);
    assert!(Metrics::new(&registry).is_err(), "they are registered once");
}

#[test]
fn buckets_are_those_of_upstream() {
    let registry = Registry::default();
    let metrics = Metrics::new(&registry).unwrap();
    let second = std::time::Duration::from_secs(1);
    metrics.certificate_expires_in(-1.0);
    metrics.authenticated(None, second);
    metrics.delegated_authn.observe("201", second);
    metrics.token_asked("hit", second);
    let page = registry.page("").body;
    let rows = [
        (
            "apiserver_client_certificate_expiration_seconds_bucket{",
            "0 1800 3600 7200 21600 43200 86400 172800 345600 604800 2.592e+06 7.776e+06 \
             1.5552e+07 3.1104e+07 +Inf",
        ),
        (
            "authentication_duration_seconds_bucket{",
            "0.001 0.002 0.004 0.008 0.016 0.032 0.064 0.128 0.256 0.512 1.024 2.048 4.096 8.192 \
             16.384 +Inf",
        ),
        (
            "apiserver_delegated_authn_request_duration_seconds_bucket{",
            "0.25 0.5 0.7 1 1.5 3 5 10 +Inf",
        ),
        (
            "authentication_token_cache_request_duration_seconds_bucket{",
            "0.005 0.01 0.025 0.05 0.1 0.25 0.5 1 2.5 5 10 +Inf",
        ),
    ];
    for (start, bounds) in rows {
        let lines = page.lines().filter(|line| line.starts_with(start));
        let found =
            lines.map(|line| line.split("le=\"").nth(1).unwrap().split('"').next().unwrap());
        assert_eq!(found.collect::<Vec<_>>().join(" "), bounds, "{start}");
    }
}
