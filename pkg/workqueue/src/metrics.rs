//! What operators see of the queues: upstream's seven families, by queue name.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use prometheus::core::{Collector, Desc};
use prometheus::proto::MetricFamily;
use prometheus::{
    GaugeVec, Histogram, HistogramOpts, HistogramVec, IntCounter, IntCounterVec, IntGaugeVec, Opts,
    Registry, Result, exponential_buckets,
};

use crate::queue::Load;

const LABELS: &[&str] = &["name"];

/// The metrics of all queues of a process. Cheap to clone.
///
/// The three gauges are computed while metrics are gathered, so that they are never out of date
/// (upstream refreshes two of them every 500 ms). Queues of one name are added up; for the
/// longest-running worker the longest counts.
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

/// A queue that can tell how busy it is.
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
    /// The living queues by name. A name stays when its queues are gone: its series stay too, and
    /// must show zero.
    queues: Mutex<BTreeMap<String, Vec<Weak<dyn Probe>>>>,
}

// === impl WorkqueueMetrics ===

impl WorkqueueMetrics {
    /// Registers the families. Fails if `registry` has one of them already.
    pub fn new(registry: &Registry) -> Result<Self> {
        let metrics = Self(Arc::new(Families::new()?));
        registry.register(Box::new(metrics.clone()))?;
        Ok(metrics)
    }

    /// The metrics of the queue `name`, which show zeros from now on. Several queues may have the
    /// same name. A queue that should not be seen gets none.
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

impl Collector for WorkqueueMetrics {
    fn desc(&self) -> Vec<&Desc> {
        self.0.all().into_iter().flat_map(Collector::desc).collect()
    }

    fn collect(&self) -> Vec<MetricFamily> {
        // All families are one collector, so that a look at the queues, which may count adds whose
        // delay is over, comes before any family is read.
        self.0.refresh();
        self.0.all().into_iter().flat_map(Collector::collect).collect()
    }
}

// === impl QueueMetrics ===

impl QueueMetrics {
    /// Shows `queue` as long as it lives.
    pub(crate) fn watch(&self, queue: Weak<dyn Probe>) {
        let mut queues = self.families.queues.lock().unwrap_or_else(PoisonError::into_inner);
        queues.entry(self.name.clone()).or_default().push(queue);
    }
}

// === impl Families ===

impl Families {
    fn new() -> Result<Self> {
        let depth = opts("workqueue_depth", "Current depth of workqueue");
        let adds = opts("workqueue_adds_total", "Total number of adds handled by workqueue");
        let waited = histogram_opts(
            "workqueue_queue_duration_seconds",
            "How long in seconds an item stays in workqueue before being requested.",
        )?;
        let worked = histogram_opts(
            "workqueue_work_duration_seconds",
            "How long in seconds processing an item from workqueue takes.",
        )?;
        let unfinished = opts(
            "workqueue_unfinished_work_seconds",
            "How many seconds of work has done that is in progress and hasn't been observed by \
             work_duration. Large values indicate stuck threads. One can deduce the number of \
             stuck threads by observing the rate at which this increases.",
        );
        let longest = opts(
            "workqueue_longest_running_processor_seconds",
            "How many seconds has the longest running processor for workqueue been running.",
        );
        let retries =
            opts("workqueue_retries_total", "Total number of retries handled by workqueue");
        Ok(Self {
            depth: IntGaugeVec::new(depth, LABELS)?,
            adds: IntCounterVec::new(adds, LABELS)?,
            waited: HistogramVec::new(waited, LABELS)?,
            worked: HistogramVec::new(worked, LABELS)?,
            unfinished: GaugeVec::new(unfinished, LABELS)?,
            longest: GaugeVec::new(longest, LABELS)?,
            retries: IntCounterVec::new(retries, LABELS)?,
            queues: Mutex::default(),
        })
    }

    fn all(&self) -> [&dyn Collector; 7] {
        [
            &self.depth,
            &self.adds,
            &self.waited,
            &self.worked,
            &self.unfinished,
            &self.longest,
            &self.retries,
        ]
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

fn opts(name: &str, help: &str) -> Opts {
    Opts::new(name, format!("[BETA] {help}"))
}

fn histogram_opts(name: &str, help: &str) -> Result<HistogramOpts> {
    // From 10 ns to 10 s.
    let buckets = exponential_buckets(1e-8, 10.0, 10)?;
    Ok(HistogramOpts::from(opts(name, help)).buckets(buckets))
}
