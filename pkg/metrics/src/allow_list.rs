//! The flags for allowed label values.

use std::collections::{BTreeMap, BTreeSet};

use prometheus::proto::{Bucket, Counter, Gauge, Histogram, Metric, MetricFamily, MetricType};

/// Upstream's replacement for a value that is not allowed.
const UNEXPECTED: &str = "unexpected";

/// The allowed values of labels: by family, by label.
///
/// Upstream replaces a value when it is used, we when it is shown. The only difference on the page
/// is in gauges that become one series: we add them up.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct AllowLists(BTreeMap<String, BTreeMap<String, BTreeSet<String>>>);

// === impl AllowLists ===

impl AllowLists {
    /// From upstream's mapping of `metric,label` to `value,value`. The keys must be validated
    /// already.
    pub(crate) fn new(mapping: &BTreeMap<String, String>) -> Self {
        let mut lists = Self::default();
        for (key, values) in mapping {
            if let Some((metric, label)) = key.split_once(',') {
                let values = values.split(',').map(str::to_owned).collect();
                let labels = lists.0.entry(metric.to_owned()).or_default();
                labels.insert(label.to_owned(), values);
            }
        }
        lists
    }

    /// Replaces values that are not allowed, adds up the series that become equal, and returns how
    /// often such values were used.
    pub(crate) fn constrain(&self, families: &mut [MetricFamily]) -> u64 {
        if self.0.is_empty() {
            return 0;
        }
        let constrained = families.iter_mut().filter_map(|family| {
            let labels = self.0.get(family.name())?;
            Some(constrain(family, labels))
        });
        constrained.sum()
    }
}

fn constrain(family: &mut MetricFamily, labels: &BTreeMap<String, BTreeSet<String>>) -> u64 {
    let kind = family.get_field_type();
    let mut uses: u64 = 0;
    let mut series: BTreeMap<Vec<String>, Metric> = BTreeMap::new();
    for mut metric in family.take_metric() {
        let mut replaced: u64 = 0;
        for label in metric.mut_label() {
            let allowed = labels.get(label.name());
            if allowed.is_some_and(|allowed| !allowed.contains(label.value())) {
                label.set_value(UNEXPECTED.to_owned());
                replaced += 1;
            }
        }
        uses += replaced * uses_of(kind, &metric);
        let values = metric.get_label().iter().map(|label| label.value().to_owned()).collect();
        let metric = match series.remove(&values) {
            Some(other) => added(kind, metric, &other),
            None => metric,
        };
        series.insert(values, metric);
    }
    family.set_metric(series.into_values().collect());
    uses
}

/// How often a series was used, as far as its value shows that.
fn uses_of(kind: MetricType, metric: &Metric) -> u64 {
    match kind {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a count")]
        MetricType::COUNTER => metric.get_counter().get_value() as u64,
        MetricType::HISTOGRAM => metric.get_histogram().get_sample_count(),
        MetricType::GAUGE | MetricType::SUMMARY | MetricType::UNTYPED => 1,
    }
}

/// `metric` with the values of `other` added.
fn added(kind: MetricType, mut metric: Metric, other: &Metric) -> Metric {
    match kind {
        MetricType::COUNTER => {
            let mut sum = Counter::default();
            sum.set_value(metric.get_counter().get_value() + other.get_counter().get_value());
            metric.set_counter(sum);
        }
        MetricType::HISTOGRAM => {
            let sum = both(metric.get_histogram(), other.get_histogram());
            metric.set_histogram(sum);
        }
        MetricType::GAUGE | MetricType::SUMMARY | MetricType::UNTYPED => {
            let mut sum = Gauge::default();
            sum.set_value(metric.get_gauge().get_value() + other.get_gauge().get_value());
            metric.set_gauge(sum);
        }
    }
    metric
}

/// Histograms of one family have the same buckets.
fn both(one: &Histogram, other: &Histogram) -> Histogram {
    let mut sum = Histogram::default();
    sum.set_sample_count(one.get_sample_count() + other.get_sample_count());
    sum.set_sample_sum(one.get_sample_sum() + other.get_sample_sum());
    let pairs = one.get_bucket().iter().zip(other.get_bucket());
    let buckets = pairs.map(|(one, other)| {
        let mut bucket = Bucket::default();
        bucket.set_upper_bound(one.upper_bound());
        bucket.set_cumulative_count(one.cumulative_count() + other.cumulative_count());
        bucket
    });
    sum.set_bucket(buckets.collect());
    sum
}
