//! The metric families of controllers: registered from their tables, increased by counts.

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use controller::{Amount, Count, Outcome, Shape, When};
use metrics::{CounterVec, Error, Family, GaugeVec, HistogramVec, Registry, Version};
use runtime::Clock;

/// The most series of one family of a controller. Names of objects vary for as long as the process
/// lives, and a series stays.
const SERIES_MAX: usize = 20_000;
/// The label values of the one series that stands for all further ones: upstream's word for values
/// outside of an allow-list.
const UNEXPECTED: &str = "unexpected";

/// The families of one controller, by name.
#[derive(Debug)]
pub(crate) struct Telemetry {
    series: BTreeMap<&'static str, Arc<Series>>,
    clock: Clock,
}

/// The result of the write or plan that a count belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Became {
    /// It was done.
    Done,
    /// It was not done, which is no failure.
    Moot,
    /// It failed.
    Failed,
}

/// The families of all controllers.
#[derive(Default)]
pub(crate) struct Families {
    series: Mutex<BTreeMap<&'static str, Arc<Series>>>,
    /// The functions that compute gauges.
    sources: Mutex<Vec<Source>>,
}

/// Computes gauges.
pub(crate) type Source = Box<dyn Fn() -> Vec<Count> + Send + Sync>;

/// A family and its series.
#[derive(Debug)]
struct Series {
    family: controller::Family,
    vec: Vector,
    /// The label values of all series.
    known: Mutex<BTreeSet<Vec<String>>>,
    max: usize,
}

#[derive(Debug)]
enum Vector {
    Counter(CounterVec),
    Gauge(GaugeVec),
    Histogram(HistogramVec),
}

// === impl Telemetry ===

impl Telemetry {
    /// Adds the counts that do not depend on the result.
    pub(crate) fn begin(&self, counts: &[Count]) {
        self.each(counts, |when| when == When::Always);
    }

    /// Adds the counts that depend on the result.
    pub(crate) fn end(&self, counts: &[Count], became: Became) {
        self.each(counts, |when| match when {
            When::Always => false,
            When::Done => became == Became::Done,
            When::NotDone => became != Became::Done,
            When::Failed => became == Became::Failed,
        });
    }

    /// Both.
    pub(crate) fn add(&self, counts: &[Count], became: Became) {
        self.begin(counts);
        self.end(counts, became);
    }

    fn each(&self, counts: &[Count], counts_now: impl Fn(When) -> bool) {
        for count in counts.iter().filter(|count| counts_now(count.when)) {
            let Some(series) = self.series.get(count.family.name) else {
                let family = count.family.name;
                tracing::warn!(family, "not counted: the controller's table lacks the family");
                continue;
            };
            let value = match count.value {
                Amount::Of(value) => value,
                Amount::Since(then) => self.clock.now().since(then).as_secs_f64(),
            };
            // A gauge has only the value that is computed for a page.
            if series.family.shape != Shape::Gauge {
                series.add(&count.labels, value);
            }
        }
    }
}

// === impl Became ===

impl Became {
    /// The result of a plan.
    pub(crate) fn of(outcome: &Outcome) -> Self {
        if outcome.error.is_some() {
            Self::Failed
        } else if outcome.unsettled {
            Self::Moot
        } else {
            Self::Done
        }
    }
}

// === impl Families ===

impl Families {
    /// The families of one controller. One that cannot be registered is left out and logged: a
    /// metric is no reason to leave a cluster without its controller.
    pub(crate) fn of(
        &self,
        registry: &Registry,
        table: &[controller::Family],
        clock: &Clock,
    ) -> Telemetry {
        let mut all = lock(&self.series);
        let mut series = BTreeMap::new();
        for family in table {
            let known = all.get(family.name).filter(|known| known.family == *family).cloned();
            let one = known.map_or_else(|| Series::new(registry, family).map(Arc::new), Ok);
            match one {
                Ok(one) => {
                    all.insert(family.name, Arc::clone(&one));
                    series.insert(family.name, one);
                }
                Err(error) => tracing::warn!(%error, "metric left out"),
            }
        }
        Telemetry { series, clock: clock.clone() }
    }

    /// Asks `source` for gauges whenever they are read.
    pub(crate) fn gauged_by(&self, source: Source) {
        lock(&self.sources).push(source);
    }

    /// Computes all gauges.
    pub(crate) fn refresh(&self) {
        let gauges: BTreeMap<_, _> = lock(&self.series)
            .iter()
            .filter(|(_, series)| series.family.shape == Shape::Gauge)
            .map(|(name, series)| (*name, Arc::clone(series)))
            .collect();
        for series in gauges.values() {
            series.reset();
        }
        let sources = lock(&self.sources);
        for count in sources.iter().flat_map(|source| source()) {
            if let (Some(series), Amount::Of(value)) = (gauges.get(count.family.name), count.value)
            {
                series.add(&count.labels, value);
            }
        }
    }
}

impl fmt::Debug for Families {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        lock(&self.series).keys().fmt(f)
    }
}

// === impl Series ===

impl Series {
    fn new(registry: &Registry, family: &controller::Family) -> Result<Self, Error> {
        let described = Family::bracketed(family.name, family.help);
        let described = described.labels(family.labels.unwrap_or_default());
        let described = match family.deprecated {
            Some([major, minor, patch]) => described.deprecated(Version { major, minor, patch }),
            None => described,
        };
        let vec = match family.shape {
            Shape::Counter => Vector::Counter(registry.family(&described)?),
            Shape::Gauge => Vector::Gauge(registry.family(&described)?),
            Shape::Histogram(buckets) => {
                Vector::Histogram(registry.family(&described.buckets(buckets))?)
            }
        };
        let known = Mutex::default();
        let series = Self { family: *family, vec, known, max: SERIES_MAX };
        series.show();
        Ok(series)
    }

    /// A family without labels is shown from the start.
    fn show(&self) {
        if self.family.labels.is_none() {
            match &self.vec {
                Vector::Counter(vec) => drop(vec.get_metric_with_label_values::<&str>(&[])),
                Vector::Gauge(vec) => drop(vec.get_metric_with_label_values::<&str>(&[])),
                Vector::Histogram(vec) => drop(vec.get_metric_with_label_values::<&str>(&[])),
            }
        }
    }

    fn add(&self, labels: &[String], value: f64) {
        let (family, names) = (self.family.name, self.family.labels.unwrap_or_default());
        if labels.len() != names.len() || !value.is_finite() {
            tracing::warn!(family, ?labels, value, "not counted: no value of this family");
            return;
        }
        let labels: Vec<&str> = if self.admit(labels) {
            labels.iter().map(String::as_str).collect()
        } else {
            vec![UNEXPECTED; labels.len()]
        };
        match &self.vec {
            // Prometheus takes a counter that falls for one of a new process.
            Vector::Counter(vec) => vec.with_label_values(&labels).inc_by(value.max(0.0)),
            Vector::Gauge(vec) => vec.with_label_values(&labels).add(value),
            Vector::Histogram(vec) => vec.with_label_values(&labels).observe(value),
        }
    }

    /// Whether a series with these labels may be added.
    fn admit(&self, labels: &[String]) -> bool {
        let mut known = lock(&self.known);
        if known.contains(labels) {
            return true;
        }
        if known.len() >= self.max {
            return false;
        }
        known.insert(labels.to_vec());
        if known.len() == self.max {
            let (family, max) = (self.family.name, self.max);
            tracing::warn!(family, max, "too many series: all others are shown as one from now on");
        }
        true
    }

    fn reset(&self) {
        lock(&self.known).clear();
        match &self.vec {
            Vector::Gauge(vec) => vec.reset(),
            Vector::Counter(_) | Vector::Histogram(_) => {}
        }
        self.show();
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
