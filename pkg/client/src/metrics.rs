//! `rest_client_*`, as upstream's component-base/metrics/prometheus/restclient.
//!
//! Families that could only be zero or absent here are left out. They are those of credential
//! plugins except the one for the lifetime of their certificates, and those of what works
//! differently here: the cleaning of client-go's cache of transports and its reloading of
//! certificates, for which the log shows new and unreadable ones
//! (`rest_client_exec_plugin_call_total`, `rest_client_exec_plugin_certificate_rotation_age`,
//! `rest_client_transport_ca_reload_total`, `rest_client_transport_cache_gc_calls_total`,
//! `rest_client_transport_cert_rotation_gc_calls_total`).

use metrics::{Error, Family, Gauge, HistogramVec, IntCounterVec, IntGauge, Registry};

const SECONDS: &[f64] = &[0.005, 0.025, 0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 15.0, 30.0, 60.0];
const BYTES: &[f64] = &[
    64.0,
    256.0,
    512.0,
    1024.0,
    4096.0,
    16384.0,
    65536.0,
    262_144.0,
    1_048_576.0,
    4_194_304.0,
    16_777_216.0,
];

/// The metrics of all clients of a process.
#[derive(Clone, Debug)]
pub struct Metrics {
    pub(crate) requests: IntCounterVec,
    pub(crate) retries: IntCounterVec,
    pub(crate) duration: HistogramVec,
    pub(crate) limiter_duration: HistogramVec,
    pub(crate) request_size: HistogramVec,
    pub(crate) response_size: HistogramVec,
    /// Label `result`: `hit` for a client over an existing connection, `miss` for a new one.
    pub(crate) transports: IntCounterVec,
    transports_kept: IntGauge,
}

impl Metrics {
    /// Registers the families. An error if the registry has them already.
    pub fn new(registry: &Registry) -> Result<Self, Error> {
        let requests = Family::alpha(
            "rest_client_requests_total",
            "Number of HTTP requests, partitioned by status code, method, and host.",
        );
        let retries = Family::alpha(
            "rest_client_request_retries_total",
            "Number of request retries, partitioned by status code, verb, and host.",
        );
        let transports = Family::alpha(
            "rest_client_transport_create_calls_total",
            "Number of calls to get a new transport, partitioned by the result of the operation \
             hit: obtained from the cache, miss: created and added to the cache, miss-gc: \
             recreated and added back to the cache after being garbage collected, uncacheable: \
             created and not cached",
        );
        let transports_kept = Family::alpha(
            "rest_client_transport_cache_entries",
            "Number of transport entries in the internal cache.",
        );
        let plugin_ttl: Gauge = registry.family(&Family::alpha(
            "rest_client_exec_plugin_ttl_seconds",
            "Gauge of the shortest TTL (time-to-live) of the client certificate(s) managed by the \
             auth exec plugin. The value is in seconds until certificate expiry (negative if \
             already expired). If auth exec plugins are unused or manage no TLS certificates, the \
             value will be +INF.",
        ))?;
        // Alerts on expiring certificates read infinity as: there are none.
        plugin_ttl.set(f64::INFINITY);
        let histogram = |name, help, buckets| {
            registry.family(&Family::alpha(name, help).labels(&["verb", "host"]).buckets(buckets))
        };
        Ok(Self {
            requests: registry.family(&requests.labels(&["code", "method", "host"]))?,
            retries: registry.family(&retries.labels(&["code", "verb", "host"]))?,
            duration: histogram(
                "rest_client_request_duration_seconds",
                "Request latency in seconds. Broken down by verb, and host.",
                SECONDS,
            )?,
            limiter_duration: histogram(
                "rest_client_rate_limiter_duration_seconds",
                "Client side rate limiter latency in seconds. Broken down by verb, and host.",
                SECONDS,
            )?,
            request_size: histogram(
                "rest_client_request_size_bytes",
                "Request size in bytes. Broken down by verb and host.",
                BYTES,
            )?,
            response_size: histogram(
                "rest_client_response_size_bytes",
                "Response size in bytes. Broken down by verb and host.",
                BYTES,
            )?,
            transports: registry.family(&transports.labels(&["result"]))?,
            transports_kept: registry.family(&transports_kept)?,
        })
    }

    /// Counts a connection, which clients share.
    pub fn count_transport(&self) {
        self.transports_kept.add(1);
        self.transports.with_label_values(&["miss"]).inc();
    }
}
