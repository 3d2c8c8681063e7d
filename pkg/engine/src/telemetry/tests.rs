//! What the metrics page shows of counts.

use api::Time;
use controller::Family;
use runtime::Runtime;

use super::*;
use crate::Metrics;

const PLAIN: Family = Family::counter("plain_total", "[BETA] Plain.");
const BY: Family = Family::counter("by_total", "[ALPHA] By name.").labels(&["name"]);
const UNUSED: Family = Family::counter("unused_total", "[ALPHA] Unused.").labels(&[]);
const TOOK: Family = Family::histogram("took_seconds", "[STABLE] Took.", &[1.0, 10.0]);
const SIZE: Family = Family::gauge("size", "[ALPHA] Size.").labels(&["zone"]);
const ALL: Family = Family::gauge("all", "[ALPHA] All.");
const OLD: Family = Family::counter("old_total", "[ALPHA] Old.").deprecated([1, 36, 0]);
const TABLE: &[Family] = &[PLAIN, BY, UNUSED, TOOK, SIZE, ALL, OLD];

struct Test {
    registry: Registry,
    metrics: Metrics,
    runtime: Runtime,
    telemetry: Telemetry,
}

impl Test {
    fn new() -> Self {
        let (registry, runtime) = (Registry::default(), Runtime::simulated(Time::EPOCH, 1));
        let metrics = Metrics::new(&registry).unwrap();
        let telemetry = metrics.telemetry(TABLE, &runtime.clock);
        Self { registry, metrics, runtime, telemetry }
    }

    /// The lines of the families with this prefix.
    fn shows(&self, start: &str) -> Vec<String> {
        let page = self.registry.page("").body;
        page.lines().filter(|line| line.starts_with(start)).map(str::to_owned).collect()
    }
}

/// metrics.md: a family without labels is shown from the start, at zero; one with labels once it
/// has a series, which may be zero. Deprecated alpha families are hidden.
#[test]
fn what_is_shown_before_anything_happened() {
    let test = Test::new();
    let shown: Vec<_> = ["plain", "by", "unused", "took_seconds_count", "size", "all", "old"]
        .into_iter()
        .flat_map(|start| test.shows(start))
        .collect();
    assert_eq!(shown, ["plain_total 0", "took_seconds_count 0", "all 0"]);
    let none: [&str; 0] = [];
    let zero = Count::of(&BY, 0.0).labels(["a"]);
    test.telemetry.add(&[zero, Count::one(&UNUSED).labels(none)], Became::Done);
    assert_eq!(test.shows("by"), [r#"by_total{name="a"} 0"#]);
    assert_eq!(test.shows("unused"), ["unused_total 1"]);
    let help = "# HELP took_seconds [STABLE] Took.";
    assert!(test.registry.page("").body.contains(help));
}

/// When each count is added, by the result of its write.
#[test]
fn a_count_is_added_when_it_says() {
    for (became, expected) in [
        (Became::Done, ["always", "done"].as_slice()),
        (Became::Moot, &["always", "notdone"]),
        (Became::Failed, &["always", "failed", "notdone"]),
    ] {
        let test = Test::new();
        let counts = [
            ("always", When::Always),
            ("done", When::Done),
            ("notdone", When::NotDone),
            ("failed", When::Failed),
        ]
        .map(|(name, when)| Count::one(&BY).labels([name]).when(when));
        test.telemetry.begin(&counts);
        assert_eq!(test.shows("by"), [r#"by_total{name="always"} 1"#]);
        test.telemetry.end(&counts, became);
        let expected: Vec<_> =
            expected.iter().map(|name| format!(r#"by_total{{name="{name}"}} 1"#)).collect();
        assert_eq!(test.shows("by"), expected, "{became:?}");
    }
}

#[test]
fn time_is_measured_when_it_is_counted() {
    cache::fixture::run(async {
        let test = Test::new();
        let count = [Count::since(&TOOK, Time::EPOCH)];
        test.runtime.clock.sleep(std::time::Duration::from_secs(5)).await;
        test.telemetry.add(&count, Became::Done);
        assert_eq!(test.shows("took_seconds_sum"), ["took_seconds_sum 5"]);
    });
}

/// A counter does not fall, and NaN is not counted.
#[test]
fn what_is_no_value_is_not_counted() {
    let test = Test::new();
    for value in [f64::NAN, f64::INFINITY, -1.0] {
        test.telemetry.add(&[Count::of(&PLAIN, value)], Became::Done);
    }
    test.telemetry.add(&[Count::one(&SIZE).labels(["a"])], Became::Done);
    assert_eq!(test.shows("plain_total"), ["plain_total 0"]);
    assert_eq!(test.shows("size"), Vec::<String>::new(), "gauges are computed for the page");
}

/// Gauges are the sum of what their sources return now; a series that no source returns is removed.
#[test]
fn gauges_are_computed_for_each_page() {
    let test = Test::new();
    let zones: Arc<Mutex<Vec<&str>>> = Arc::default();
    for _ in 0..2 {
        let zones = Arc::clone(&zones);
        test.metrics.gauged_by(Box::new(move || {
            let zones = zones.lock().unwrap();
            let sizes = zones.iter().map(|zone| Count::one(&SIZE).labels([*zone]));
            sizes.chain(zones.iter().map(|_| Count::of(&ALL, 2.0))).collect()
        }));
    }
    *zones.lock().unwrap() = vec!["a", "b", "a"];
    assert_eq!(test.shows("size"), [r#"size{zone="a"} 4"#, r#"size{zone="b"} 2"#]);
    assert_eq!(test.shows("all"), ["all 12"]);
    *zones.lock().unwrap() = vec!["c"];
    assert_eq!(test.shows("size"), [r#"size{zone="c"} 2"#]);
    zones.lock().unwrap().clear();
    assert_eq!((test.shows("size"), test.shows("all")), (vec![], vec!["all 0".to_owned()]));
}

/// ReplicaSets and ReplicationControllers share a family, and so do several queues of one row. A
/// differing description is a mistake, but does not end the process.
#[test]
fn controllers_share_a_family_that_they_describe_alike() {
    const OTHER: Family = Family::gauge("plain_total", "[ALPHA] Other.");
    let test = Test::new();
    let same = test.metrics.telemetry(&[PLAIN], &test.runtime.clock);
    let other = test.metrics.telemetry(&[OTHER], &test.runtime.clock);
    for telemetry in [&test.telemetry, &same, &other] {
        telemetry.add(&[Count::one(&PLAIN)], Became::Done);
    }
    assert_eq!(test.shows("plain_total"), ["plain_total 2"]);
}

/// Limits: names vary for as long as the process lives.
#[test]
fn the_series_of_a_family_are_bounded() {
    let registry = Registry::default();
    let series = Series { max: 2, ..Series::new(&registry, &BY).unwrap() };
    for name in ["a", "b", "c", "d", "a"] {
        series.add(&[name.to_owned()], 1.0);
    }
    let page = registry.page("").body;
    let lines: Vec<_> = page.lines().filter(|line| line.starts_with("by_total")).collect();
    let expected =
        [r#"by_total{name="a"} 2"#, r#"by_total{name="b"} 1"#, r#"by_total{name="unexpected"} 2"#];
    assert_eq!(lines, expected);
}
