//! Metrics of the queues: upstream's seven families, by queue name.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use metrics::{
    Error, Family, GaugeVec, Histogram, HistogramVec, IntCounter, IntCounterVec, IntGaugeVec,
    Registry,
};

use crate::queue::Load;

const LABELS: &[&str] = &["name"];
/// From 10 ns to 10 s, as `ExponentialBuckets(10e-9, 10, 10)` computes them.
const BUCKETS: &[f64] = &[
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

/// The metrics of all queues of a process. Cheap to clone.
///
/// The three gauges are computed at scrape, so they are always current (upstream refreshes two of
/// them every 500 ms). Queues of one name are added up; for the longest-running worker the maximum
/// counts.
///
/// Names, help texts and buckets: `k8s.io/component-base/metrics/prometheus/workqueue`.
#[derive(Clone)]
pub struct WorkqueueMetrics(Arc<Families>);

/// The metrics of one queue.
pub struct QueueMetrics {
    pub(crate) adds: IntCounter,
    pub(crate) retries: IntCounter,
    pub(crate) waited: Histogram,
    pub(crate) worked: Histogram,
    name: String,
    families: Arc<Families>,
}

/// A queue that can report its load.
pub(crate) trait Probe: Send + Sync {
    fn load(&self) -> Load;
}

struct Families {
    depth: IntGaugeVec,
    adds: IntCounterVec,
    waited: HistogramVec,
    worked: HistogramVec,
    unfinished: GaugeVec,
    longest: GaugeVec,
    retries: IntCounterVec,
    /// The live queues by name. A name stays when its queues are dropped: its series stay too, and
    /// must show zero.
    queues: Mutex<BTreeMap<String, Vec<Weak<dyn Probe>>>>,
}

// === impl WorkqueueMetrics ===

impl WorkqueueMetrics {
    /// Registers the families. Fails if `registry` has one of them already.
    pub fn new(registry: &Registry) -> Result<Self, Error> {
        let families = Arc::new(Families::new(registry)?);
        // Reading the load of a queue may count adds whose delay is over, so it happens before any
        // family is read.
        let looked_at = Arc::clone(&families);
        registry.before_page(move || looked_at.refresh());
        Ok(Self(families))
    }

    /// The metrics of the queue `name`, which show zeros from now on. Several queues may have the
    /// same name. A queue without metrics is not shown.
    pub fn for_queue(&self, name: &str) -> QueueMetrics {
        let Families { depth, adds, waited, worked, unfinished, longest, retries, .. } = &*self.0;
        depth.with_label_values(&[name]);
        unfinished.with_label_values(&[name]);
        longest.with_label_values(&[name]);
        QueueMetrics {
            adds: adds.with_label_values(&[name]),
            retries: retries.with_label_values(&[name]),
            waited: waited.with_label_values(&[name]),
            worked: worked.with_label_values(&[name]),
            name: name.to_owned(),
            families: Arc::clone(&self.0),
        }
    }
}

// === impl QueueMetrics ===

impl QueueMetrics {
    /// Shows `queue` for as long as it lives.
    pub(crate) fn watch(&self, queue: Weak<dyn Probe>) {
        let mut queues = self.families.queues.lock().unwrap_or_else(PoisonError::into_inner);
        queues.entry(self.name.clone()).or_default().push(queue);
    }
}

// === impl Families ===

impl Families {
    fn new(registry: &Registry) -> Result<Self, Error> {
        let depth = Family::beta("workqueue_depth", "Current depth of workqueue");
        let adds =
            Family::beta("workqueue_adds_total", "Total number of adds handled by workqueue");
        let waited = Family::beta(
            "workqueue_queue_duration_seconds",
            "How long in seconds an item stays in workqueue before being requested.",
        );
        let worked = Family::beta(
            "workqueue_work_duration_seconds",
            "How long in seconds processing an item from workqueue takes.",
        );
        let unfinished = Family::beta(
            "workqueue_unfinished_work_seconds",
            "How many seconds of work has done that is in progress and hasn't been observed by \
             work_duration. Large values indicate stuck threads. One can deduce the number of \
             stuck threads by observing the rate at which this increases.",
        );
        let longest = Family::beta(
            "workqueue_longest_running_processor_seconds",
            "How many seconds has the longest running processor for workqueue been running.",
        );
        let retries =
            Family::beta("workqueue_retries_total", "Total number of retries handled by workqueue");
        Ok(Self {
            depth: registry.family(&depth.labels(LABELS))?,
            adds: registry.family(&adds.labels(LABELS))?,
            waited: registry.family(&waited.labels(LABELS).buckets(BUCKETS))?,
            worked: registry.family(&worked.labels(LABELS).buckets(BUCKETS))?,
            unfinished: registry.family(&unfinished.labels(LABELS))?,
            longest: registry.family(&longest.labels(LABELS))?,
            retries: registry.family(&retries.labels(LABELS))?,
            queues: Mutex::default(),
        })
    }

    fn refresh(&self) {
        let mut queues = self.queues.lock().unwrap_or_else(PoisonError::into_inner);
        for (name, queues) in &mut *queues {
            queues.retain(|queue| queue.strong_count() > 0);
            let loads = queues.iter().filter_map(Weak::upgrade).map(|queue| queue.load());
            let load = loads.fold(Load::default(), |sum, load| Load {
                depth: sum.depth + load.depth,
                unfinished: sum.unfinished.saturating_add(load.unfinished),
                longest: sum.longest.max(load.longest),
            });
            let depth = i64::try_from(load.depth).unwrap_or(i64::MAX);
            self.depth.with_label_values(&[name]).set(depth);
            set_seconds(&self.unfinished, name, load.unfinished);
            set_seconds(&self.longest, name, load.longest);
        }
    }
}

fn set_seconds(gauge: &GaugeVec, name: &str, value: Duration) {
    gauge.with_label_values(&[name]).set(value.as_secs_f64());
}
