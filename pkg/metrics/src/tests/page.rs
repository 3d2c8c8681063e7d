//! The page, byte for byte.

use prometheus::{GaugeVec, Histogram, HistogramVec, IntCounter, IntCounterVec};

use crate::{Family, Gauge, Registry, Settings};

/// Families of all kinds, with all that has to be escaped.
fn filled(registry: &Registry) {
    let syncs = Family::stable("job_syncs_total", "Syncs.\nSecond \"line\" \\ and backslash.");
    let syncs: IntCounterVec = registry.family(&syncs.labels(&["result", "action"])).unwrap();
    syncs.with_label_values(&["success", "pods_created"]).inc_by(1_234_567);
    syncs.with_label_values(&["failure", "a\"b\\c\nd"]).inc();
    let changes: IntCounter =
        registry.family(&Family::alpha("endpoint_changes", "Changes.")).unwrap();
    changes.inc_by(3);
    let ttl: Gauge = registry.family(&Family::beta("a_ttl_seconds", "Lifetime.")).unwrap();
    ttl.set(f64::INFINITY);
    let usage = Family::alpha("b_usage", "Usage.").labels(&["zone"]);
    let usage: GaugeVec = registry.family(&usage).unwrap();
    usage.with_label_values(&["b"]).set(f64::NAN);
    usage.with_label_values(&["a"]).set(0.003_906_25);
    usage.with_label_values(&["c"]).set(-2.0);
    let age = Family::alpha("c_age_seconds", "Age.").buckets(&[1e-8, 1.0, 2_592_000.0]);
    let age: Histogram = registry.family(&age).unwrap();
    for value in [1e-9, 0.5, 0.75, 1e7] {
        age.observe(value);
    }
    let latency = Family::alpha("d_latency_seconds", "Latency.").labels(&["verb", "host"]);
    let latency: HistogramVec = registry.family(&latency.buckets(&[0.25])).unwrap();
    latency.with_label_values(&["GET", "h:1"]).observe(0.25);
    let unused = Family::alpha("e_unused_total", "Absent until it is used.").labels(&["x"]);
    let _: IntCounterVec = registry.family(&unused).unwrap();
}

const TEXT: &str = r#"# HELP a_ttl_seconds [BETA] Lifetime.
# TYPE a_ttl_seconds gauge
a_ttl_seconds +Inf
# HELP b_usage [ALPHA] Usage.
# TYPE b_usage gauge
b_usage{zone="a"} 0.00390625
b_usage{zone="b"} NaN
b_usage{zone="c"} -2
# HELP c_age_seconds [ALPHA] Age.
# TYPE c_age_seconds histogram
c_age_seconds_bucket{le="1e-08"} 1
c_age_seconds_bucket{le="1"} 3
c_age_seconds_bucket{le="2.592e+06"} 3
c_age_seconds_bucket{le="+Inf"} 4
c_age_seconds_sum 1.0000001250000002e+07
c_age_seconds_count 4
# HELP d_latency_seconds [ALPHA] Latency.
# TYPE d_latency_seconds histogram
d_latency_seconds_bucket{host="h:1",verb="GET",le="0.25"} 1
d_latency_seconds_bucket{host="h:1",verb="GET",le="+Inf"} 1
d_latency_seconds_sum{host="h:1",verb="GET"} 0.25
d_latency_seconds_count{host="h:1",verb="GET"} 1
# HELP endpoint_changes [ALPHA] Changes.
# TYPE endpoint_changes counter
endpoint_changes 3
# HELP job_syncs_total [STABLE] Syncs.\nSecond "line" \\ and backslash.
# TYPE job_syncs_total counter
job_syncs_total{action="a\"b\\c\nd",result="failure"} 1
job_syncs_total{action="pods_created",result="success"} 1.234567e+06
"#;

// metrics.md "Page format"; common/expfmt: MetricFamilyToText
#[test]
fn the_page_is_upstreams_text() {
    let registry = Registry::bare(Settings::default());
    filled(&registry);
    let page = registry.page("");
    assert_eq!(page.content_type, "text/plain; version=0.0.4; charset=utf-8; escaping=underscores");
    assert_eq!(page.body, TEXT);
}

/// The header of Prometheus 3.
const PROMETHEUS: &str = "application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.6,\
    application/openmetrics-text;version=0.0.1;q=0.5,\
    text/plain;version=1.0.0;escaping=allow-utf-8;q=0.4,text/plain;version=0.0.4;q=0.3,*/*;q=0.2";
const PROTOBUF: &str = "application/vnd.google.protobuf;\
    proto=io.prometheus.client.MetricFamily;encoding=delimited,";

// common/expfmt/encode_test.go: TestNegotiate; promhttp offers OpenMetrics only with
// EnableOpenMetrics, which upstream does not set
#[test]
fn the_format_is_always_text_and_the_escaping_is_repeated() {
    let both = format!("{PROTOBUF}application/openmetrics-text;version=1.0.0");
    for (accept, escaping) in [
        ("", "underscores"),
        ("*/*", "underscores"),
        ("text/plain;version=0.0.4;escaping=dots", "dots"),
        ("text/plain;version=0.0.4;escaping=nonsense", "underscores"),
        ("text/plain;escaping=values, text/plain;escaping=dots;q=0.5", "values"),
        ("text/plain;escaping=values;q=0.5, text/plain;escaping=dots", "dots"),
        ("text/plain;version=7;escaping=values, text/plain;escaping=dots;q=0.5", "dots"),
        (PROMETHEUS, "allow-utf-8"),
        (&both, "underscores"),
    ] {
        let page = Registry::bare(Settings::default()).page(accept);
        let kind = "text/plain; version=0.0.4; charset=utf-8; escaping";
        assert_eq!(page.content_type, format!("{kind}={escaping}"), "{accept}");
        assert_eq!(page.body, "");
    }
}
