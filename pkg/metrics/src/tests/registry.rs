//! What is registered, shown and reset.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use prometheus::{Gauge, GaugeVec, Histogram, HistogramVec, IntCounter, IntCounterVec};

use crate::{Family, Flags, Registry, Settings, Version, fixture};

fn samples(registry: &Registry) -> Vec<String> {
    let body = registry.page("").body;
    body.lines().filter(|line| !line.starts_with('#')).map(str::to_owned).collect()
}

fn settings(disabled: &[&str], version: &str) -> Settings {
    let flags = Flags {
        disabled_metrics: disabled.iter().map(|name| (*name).to_owned()).collect(),
        show_hidden_metrics_for_version: version.to_owned(),
        ..Flags::default()
    };
    flags.settings().unwrap()
}

fn allowing(pairs: &[(&str, &str)]) -> Settings {
    let pairs = pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned()));
    let flags = Flags { allow_list_mapping: Some(pairs.collect()), ..Flags::default() };
    flags.settings().unwrap()
}

// live/metrics.txt: the four counts of component-base/metrics
#[test]
fn a_new_registry_shows_its_own_counts() {
    assert_eq!(
        samples(&Registry::default()),
        [
            "cardinality_enforcement_unexpected_categorizations_total 0",
            "disabled_metrics_total 0",
            "hidden_metrics_total 0",
            "registered_metrics_total{deprecated_version=\"\",stability_level=\"ALPHA\"} 1",
            "registered_metrics_total{deprecated_version=\"\",stability_level=\"BETA\"} 3",
        ]
    );
    assert_eq!(fixture::unlike_upstream(&Registry::default()), Vec::<String>::new());
}

// legacyregistry.Reset: plain gauges and histograms have no Reset upstream
#[test]
fn a_reset_empties_labels_and_counters() {
    let registry = Registry::bare(Settings::default());
    let help = "Help.";
    let counter: IntCounter = registry.family(&Family::alpha("a_total", help)).unwrap();
    let counters = Family::alpha("b_total", help).labels(&["x"]);
    let counters: IntCounterVec = registry.family(&counters).unwrap();
    let gauge: Gauge = registry.family(&Family::alpha("c", help)).unwrap();
    let gauges: GaugeVec = registry.family(&Family::alpha("d", help).labels(&["x"])).unwrap();
    let histogram = Family::alpha("e", help).buckets(&[1.0]);
    let histogram: Histogram = registry.family(&histogram).unwrap();
    let histograms = Family::alpha("f", help).buckets(&[1.0]).labels(&["x"]);
    let histograms: HistogramVec = registry.family(&histograms).unwrap();
    let raw = IntCounter::new("g_total", help).unwrap();
    registry.raw(Box::new(raw.clone())).unwrap();
    let fill = || {
        counter.inc();
        counters.with_label_values(&["1"]).inc();
        gauge.set(1.0);
        gauges.with_label_values(&["1"]).set(1.0);
        histogram.observe(1.0);
        histograms.with_label_values(&["1"]).observe(1.0);
        raw.inc();
    };
    fill();
    registry.reset();
    let kept = ["e_bucket{le=\"1\"} 1", "e_bucket{le=\"+Inf\"} 1", "e_sum 1", "e_count 1"];
    let expected = [&["a_total 0", "c 1"][..], &kept, &["g_total 1"]].concat();
    assert_eq!(samples(&registry), expected);
    fill();
    let after = samples(&registry);
    for line in ["a_total 1", "b_total{x=\"1\"} 1", "d{x=\"1\"} 1", "f_count{x=\"1\"} 1"] {
        assert!(after.iter().any(|other| other == line), "{line} is missing in {after:?}");
    }
}

#[test]
fn a_second_registration_is_refused_by_name() {
    let registry = Registry::default();
    let family = Family::alpha("job_syncs_total", "Syncs.");
    let _: IntCounter = registry.family(&family).unwrap();
    let error = registry.family::<IntCounter>(&family).unwrap_err();
    assert!(error.to_string().starts_with("metric job_syncs_total: "), "{error}");
    let labelled = Family::alpha("other_total", "Others.").labels(&["x"]);
    let error = registry.family::<IntCounter>(&labelled).unwrap_err();
    assert!(error.to_string().starts_with("metric other_total: "), "{error}");
    assert!(registry.raw(Box::new(IntCounter::new("job_syncs_total", "Raw.").unwrap())).is_err());
}

// component-base/metrics/registry_test.go: TestDisabledMetrics
#[test]
fn disabled_families_are_used_but_not_shown() {
    let registry = Registry::new(settings(&["a_total", "raw_total", "a_total"], ""));
    let a: IntCounter = registry.family(&Family::alpha("a_total", "Help.")).unwrap();
    let b: IntCounter = registry.family(&Family::alpha("b_total", "Help.")).unwrap();
    registry.raw(Box::new(IntCounter::new("raw_total", "Help.").unwrap())).unwrap();
    a.inc();
    b.inc();
    let shown = samples(&registry);
    let is_there = |line: &str| shown.iter().any(|other| other == line);
    assert!(is_there("b_total 1") && is_there("raw_total 0"), "{shown:?}");
    assert!(!shown.iter().any(|line| line.starts_with("a_total")), "{shown:?}");
    assert!(
        is_there("disabled_metrics_total 2") && is_there("hidden_metrics_total 1"),
        "{shown:?}"
    );
}

const fn version(minor: u32) -> Version {
    Version { major: 1, minor, patch: 0 }
}

// component-base/metrics/registry_test.go: TestShouldHide, TestEnableHiddenMetrics
#[test]
fn deprecated_families_are_hidden_after_their_period() {
    let alpha = |minor| Family::alpha("a", "Help.").deprecated(version(minor));
    let beta = |minor| Family::beta("a", "Help.").deprecated(version(minor));
    let stable = |minor| Family::stable("a", "Help.").deprecated(version(minor));
    for (family, help, is_hidden) in [
        (alpha(37), "[ALPHA] Help.", false),
        (alpha(36), "[ALPHA] (Deprecated since 1.36.0) Help.", true),
        (beta(36), "[BETA] (Deprecated since 1.36.0) Help.", false),
        (beta(35), "[BETA] (Deprecated since 1.35.0) Help.", true),
        (stable(34), "[STABLE] (Deprecated since 1.34.0) Help.", false),
        (stable(33), "[STABLE] (Deprecated since 1.33.0) Help.", true),
    ] {
        for (shown_for, is_shown) in [("", !is_hidden), ("1.35", true)] {
            let registry = Registry::new(settings(&[], shown_for));
            let _: IntCounter = registry.family(&family).unwrap();
            let body = registry.page("").body;
            let line = format!("# HELP a {help}\n");
            assert_eq!(body.contains(&line), is_shown, "{help} for {shown_for:?}:\n{body}");
            let hidden = format!("\nhidden_metrics_total {}\n", u8::from(!is_shown));
            assert!(body.contains(&hidden), "{body}");
        }
    }
    let registry = Registry::new(settings(&["a"], "1.35"));
    let _: IntCounter = registry.family(&alpha(36)).unwrap();
    assert!(!registry.page("").body.contains("HELP a "), "disabled counts more");
}

#[test]
fn a_help_in_brackets_says_its_stability() {
    let registry = Registry::default();
    for (name, given, shown) in [
        ("a", "[STABLE] Help.", "[STABLE] Help."),
        ("b", "[BETA] Help.", "[BETA] Help."),
        ("c", "[ALPHA] Help.", "[ALPHA] Help."),
        ("d", "[OTHER] Help.", "[ALPHA] [OTHER] Help."),
        ("e", "Help.", "[ALPHA] Help."),
    ] {
        let _: IntCounter = registry.family(&Family::bracketed(name, given)).unwrap();
        let body = registry.page("").body;
        assert!(body.contains(&format!("# HELP {name} {shown}\n")), "{body}");
    }
}

// component-base/metrics/counter_test.go: TestCounterWithLabelValueAllowList
#[test]
fn values_that_are_not_allowed_fall_together() {
    let lists = [("a_total,code", "200,404"), ("b,verb", "GET"), ("b,host", "h"), ("c,zone", "x")];
    let registry = Registry::new(allowing(&lists));
    let a = Family::alpha("a_total", "Help.").labels(&["verb", "code"]);
    let a: IntCounterVec = registry.family(&a).unwrap();
    let b = Family::alpha("b", "Help.").labels(&["verb", "host"]).buckets(&[1.0]);
    let b: HistogramVec = registry.family(&b).unwrap();
    let c: GaugeVec = registry.family(&Family::alpha("c", "Help.").labels(&["zone"])).unwrap();
    for (verb, code, count) in
        [("GET", "200", 1), ("GET", "500", 2), ("GET", "503", 3), ("PUT", "500", 4)]
    {
        a.with_label_values(&[verb, code]).inc_by(count);
    }
    for (verb, host, value) in [
        ("GET", "h", 1.0),
        ("PUT", "i", 0.5),
        ("POST", "j", 2.0),
        ("GET", "i", 4.0),
        ("GET", "i", 3.0),
    ] {
        b.with_label_values(&[verb, host]).observe(value);
    }
    c.with_label_values(&["y"]).set(2.0);
    c.with_label_values(&["z"]).set(3.0);
    let shown = samples(&registry);
    assert_eq!(
        shown[..16],
        [
            "a_total{code=\"200\",verb=\"GET\"} 1",
            "a_total{code=\"unexpected\",verb=\"GET\"} 5",
            "a_total{code=\"unexpected\",verb=\"PUT\"} 4",
            "b_bucket{host=\"h\",verb=\"GET\",le=\"1\"} 1",
            "b_bucket{host=\"h\",verb=\"GET\",le=\"+Inf\"} 1",
            "b_sum{host=\"h\",verb=\"GET\"} 1",
            "b_count{host=\"h\",verb=\"GET\"} 1",
            "b_bucket{host=\"unexpected\",verb=\"GET\",le=\"1\"} 0",
            "b_bucket{host=\"unexpected\",verb=\"GET\",le=\"+Inf\"} 2",
            "b_sum{host=\"unexpected\",verb=\"GET\"} 7",
            "b_count{host=\"unexpected\",verb=\"GET\"} 2",
            "b_bucket{host=\"unexpected\",verb=\"unexpected\",le=\"1\"} 1",
            "b_bucket{host=\"unexpected\",verb=\"unexpected\",le=\"+Inf\"} 2",
            "b_sum{host=\"unexpected\",verb=\"unexpected\"} 2.5",
            "b_count{host=\"unexpected\",verb=\"unexpected\"} 2",
            "c{zone=\"unexpected\"} 5",
        ]
    );
    // Nine uses of a_total; one label of two uses and two labels of two uses of b; two gauges.
    let counted = "cardinality_enforcement_unexpected_categorizations_total 17";
    assert_eq!(shown[16], counted);
    assert_eq!(samples(&registry), shown, "a second look counts nothing");
}

#[test]
fn hooks_run_before_each_page() {
    let registry = Registry::bare(Settings::default());
    let gauge: Gauge = registry.family(&Family::alpha("a", "Help.")).unwrap();
    let pages = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&pages);
    registry.before_page(move || {
        counted.fetch_add(1, Ordering::Relaxed);
        gauge.inc();
    });
    assert_eq!(samples(&registry), ["a 1"]);
    assert_eq!(samples(&registry.clone()), ["a 2"]);
    assert_eq!(pages.load(Ordering::Relaxed), 2);
}
