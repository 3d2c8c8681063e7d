//! `rest_client_*`, as upstream's component-base/metrics/prometheus/restclient.

use prometheus::{HistogramOpts, HistogramVec, IntCounterVec, Opts, Registry};

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
}

impl Metrics {
    /// Registers the families. An error if the registry has them already.
    pub fn new(registry: &Registry) -> Result<Self, prometheus::Error> {
        let counter = |name: &str, help: &str, labels: &[&str]| {
            let family = IntCounterVec::new(Opts::new(name, help), labels)?;
            registry.register(Box::new(family.clone()))?;
            Ok::<_, prometheus::Error>(family)
        };
        let histogram = |name: &str, help: &str, buckets: &[f64]| {
            let opts = HistogramOpts::new(name, help).buckets(buckets.to_vec());
            let family = HistogramVec::new(opts, &["verb", "host"])?;
            registry.register(Box::new(family.clone()))?;
            Ok::<_, prometheus::Error>(family)
        };
        Ok(Self {
            requests: counter(
                "rest_client_requests_total",
                "[ALPHA] Number of HTTP requests, partitioned by status code, method, and host.",
                &["code", "method", "host"],
            )?,
            retries: counter(
                "rest_client_request_retries_total",
                "[ALPHA] Number of request retries, partitioned by status code, verb, and host.",
                &["code", "verb", "host"],
            )?,
            duration: histogram(
                "rest_client_request_duration_seconds",
                "[ALPHA] Request latency in seconds. Broken down by verb, and host.",
                SECONDS,
            )?,
            limiter_duration: histogram(
                "rest_client_rate_limiter_duration_seconds",
                "[ALPHA] Client side rate limiter latency in seconds. Broken down by verb, and \
                 host.",
                SECONDS,
            )?,
            request_size: histogram(
                "rest_client_request_size_bytes",
                "[ALPHA] Request size in bytes. Broken down by verb and host.",
                BYTES,
            )?,
            response_size: histogram(
                "rest_client_response_size_bytes",
                "[ALPHA] Response size in bytes. Broken down by verb and host.",
                BYTES,
            )?,
        })
    }
}
