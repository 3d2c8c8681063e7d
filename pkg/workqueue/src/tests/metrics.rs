//! Metrics of queues.

use metrics::Registry;
use runtime::Clock;

use super::{Duration, ms};
use crate::limiter::Limiter;
use crate::metrics::WorkqueueMetrics;
use crate::shell::Queue;

struct Fixture {
    registry: Registry,
    metrics: WorkqueueMetrics,
}

impl Fixture {
    fn new() -> Self {
        let registry = Registry::default();
        let metrics = WorkqueueMetrics::new(&registry).expect("nothing is registered");
        Self { registry, metrics }
    }

    fn queue(&self, name: &str) -> Queue<&'static str> {
        let metrics = self.metrics.for_queue(name);
        Queue::new(Clock::system(), Limiter::default(), Some(metrics))
    }

    fn page(&self) -> String {
        // The registry always has its own metrics.
        let page = self.registry.page("").body;
        let is_ours = |line: &&str| line.contains("workqueue_");
        page.lines().filter(is_ours).flat_map(|line| [line, "\n"]).collect()
    }

    /// The value of the series `workqueue_<series>`.
    fn value(&self, series: &str) -> f64 {
        let page = self.page();
        let values: Vec<_> = page
            .lines()
            .filter_map(|line| line.strip_prefix("workqueue_")?.strip_prefix(series))
            .filter_map(|rest| rest.strip_prefix(' ')?.parse().ok())
            .collect();
        assert_eq!(values.len(), 1, "{series} is shown once");
        values[0]
    }

    fn assert_values(&self, expected: &[(&str, f64)]) {
        for (series, expected) in expected {
            let value = self.value(series);
            assert!((value - expected).abs() < 1e-9, "{series} is {value}, not {expected}");
        }
    }
}

// component-base/metrics/prometheus/workqueue/metrics.go; HELP with the stability level in front
const HEADERS: &str = "\
# HELP workqueue_adds_total [BETA] Total number of adds handled by workqueue
# TYPE workqueue_adds_total counter
# HELP workqueue_depth [BETA] Current depth of workqueue
# TYPE workqueue_depth gauge
# HELP workqueue_longest_running_processor_seconds [BETA] How many seconds has the longest running \
processor for workqueue been running.
# TYPE workqueue_longest_running_processor_seconds gauge
# HELP workqueue_queue_duration_seconds [BETA] How long in seconds an item stays in workqueue \
before being requested.
# TYPE workqueue_queue_duration_seconds histogram
# HELP workqueue_retries_total [BETA] Total number of retries handled by workqueue
# TYPE workqueue_retries_total counter
# HELP workqueue_unfinished_work_seconds [BETA] How many seconds of work has done that is in \
progress and hasn't been observed by work_duration. Large values indicate stuck threads. One can \
deduce the number of stuck threads by observing the rate at which this increases.
# TYPE workqueue_unfinished_work_seconds gauge
# HELP workqueue_work_duration_seconds [BETA] How long in seconds processing an item from \
workqueue takes.
# TYPE workqueue_work_duration_seconds histogram
";

// metrics.md "Workqueues"; the bounds as a 1.36.3 leader shows them
const BOUNDS: [f64; 10] = [
    1e-8,
    1e-7,
    1e-6,
    9.999_999_999_999_999e-6,
    9.999_999_999_999_999e-5,
    0.001,
    0.01,
    0.1,
    1.0,
    10.0,
];

// metrics.md "Page format": absent until used, then zero
#[test]
fn a_queue_shows_all_families_from_its_start() {
    let fixture = Fixture::new();
    assert_eq!(fixture.page(), "", "no queue");
    fixture.metrics.for_queue("replicaset");
    let page = fixture.page();
    let (headers, samples): (Vec<_>, Vec<_>) = page.lines().partition(|line| line.starts_with('#'));
    assert_eq!(headers, HEADERS.lines().collect::<Vec<_>>());
    assert!(samples.iter().all(|line| line.ends_with(" 0")), "{page}");
    assert!(samples.iter().all(|line| line.contains("{name=\"replicaset\"")), "{page}");
}

#[test]
fn buckets_are_upstreams() {
    let fixture = Fixture::new();
    fixture.metrics.for_queue("job");
    let page = fixture.page();
    for family in ["queue", "work"] {
        let bucket = format!("workqueue_{family}_duration_seconds_bucket{{name=\"job\",le=\"");
        let bounds: Vec<f64> = page
            .lines()
            .filter_map(|line| line.strip_prefix(&bucket)?.split('"').next()?.parse().ok())
            .filter(|bound: &f64| bound.is_finite())
            .collect();
        assert_eq!(bounds, BOUNDS);
    }
}

#[test]
fn families_are_as_upstream() {
    let fixture = Fixture::new();
    assert_eq!(metrics::fixture::unlike_upstream(&fixture.registry), Vec::<String>::new());
}

#[test]
fn families_are_registered_once() {
    let fixture = Fixture::new();
    assert!(WorkqueueMetrics::new(&fixture.registry).is_err());
}

// metrics_test.go: TestMetrics
#[tokio::test(start_paused = true)]
async fn metrics_follow_a_key() {
    let fixture = Fixture::new();
    let queue = fixture.queue("test");
    queue.add("foo");
    fixture.assert_values(&[("adds_total{name=\"test\"}", 1.0), ("depth{name=\"test\"}", 1.0)]);

    tokio::time::advance(ms(50)).await;
    let foo = queue.get().await.expect("foo is queued");
    fixture.assert_values(&[
        ("queue_duration_seconds_sum{name=\"test\"}", 0.05),
        ("queue_duration_seconds_count{name=\"test\"}", 1.0),
        ("depth{name=\"test\"}", 0.0),
    ]);
    for _ in 0..5 {
        queue.add("foo");
    }
    fixture.assert_values(&[("adds_total{name=\"test\"}", 2.0), ("depth{name=\"test\"}", 1.0)]);

    tokio::time::advance(ms(25)).await;
    drop(foo);
    let foo = queue.get().await.expect("foo is queued again");
    fixture.assert_values(&[
        ("work_duration_seconds_sum{name=\"test\"}", 0.025),
        ("work_duration_seconds_count{name=\"test\"}", 1.0),
        ("queue_duration_seconds_sum{name=\"test\"}", 0.075),
        ("queue_duration_seconds_count{name=\"test\"}", 2.0),
        ("depth{name=\"test\"}", 0.0),
        ("unfinished_work_seconds{name=\"test\"}", 0.0),
    ]);

    tokio::time::advance(ms(1)).await;
    fixture.assert_values(&[
        ("unfinished_work_seconds{name=\"test\"}", 0.001),
        ("longest_running_processor_seconds{name=\"test\"}", 0.001),
    ]);
    drop(foo);
    fixture.assert_values(&[
        ("work_duration_seconds_sum{name=\"test\"}", 0.026),
        ("work_duration_seconds_count{name=\"test\"}", 2.0),
        ("unfinished_work_seconds{name=\"test\"}", 0.0),
        ("longest_running_processor_seconds{name=\"test\"}", 0.0),
    ]);
}

// metrics.md: retries_total counts also delays of zero, and nothing while shutting down
#[tokio::test(start_paused = true)]
async fn retries_are_counted_until_shut_down() {
    let fixture = Fixture::new();
    let queue = fixture.queue("test");
    queue.add("foo");
    queue.add_after("foo", Duration::ZERO);
    queue.add_after("foo", ms(10));
    queue.add_rate_limited("foo");
    fixture.assert_values(&[("retries_total{name=\"test\"}", 3.0)]);
    queue.shut_down();
    queue.add_after("foo", Duration::ZERO);
    queue.add_after("foo", ms(10));
    queue.add_rate_limited("foo");
    fixture.assert_values(&[("retries_total{name=\"test\"}", 3.0)]);
}

#[tokio::test(start_paused = true)]
async fn a_delay_that_ended_unseen_is_counted_when_metrics_are_gathered() {
    let fixture = Fixture::new();
    let queue = fixture.queue("test");
    queue.add_after("foo", ms(10));
    fixture.assert_values(&[("adds_total{name=\"test\"}", 0.0), ("depth{name=\"test\"}", 0.0)]);
    tokio::time::advance(ms(10)).await;
    fixture.assert_values(&[("adds_total{name=\"test\"}", 1.0), ("depth{name=\"test\"}", 1.0)]);
}

// metrics.md: five queues are named `certificate`
#[tokio::test(start_paused = true)]
async fn queues_of_one_name_are_added_up() {
    let fixture = Fixture::new();
    let queues = [fixture.queue("certificate"), fixture.queue("certificate")];
    let other = fixture.queue("job");
    let mut held = Vec::new();
    for queue in &queues {
        queue.add("foo");
        queue.add("bar");
        held.extend(queue.get().await);
        tokio::time::advance(ms(100)).await;
    }
    other.add("foo");
    fixture.assert_values(&[
        ("adds_total{name=\"certificate\"}", 4.0),
        ("depth{name=\"certificate\"}", 2.0),
        ("unfinished_work_seconds{name=\"certificate\"}", 0.3),
        ("longest_running_processor_seconds{name=\"certificate\"}", 0.2),
        ("adds_total{name=\"job\"}", 1.0),
        ("depth{name=\"job\"}", 1.0),
    ]);
    drop((queues, held));
    fixture.assert_values(&[
        ("adds_total{name=\"certificate\"}", 4.0),
        ("depth{name=\"certificate\"}", 0.0),
        ("unfinished_work_seconds{name=\"certificate\"}", 0.0),
        ("depth{name=\"job\"}", 1.0),
    ]);
}
