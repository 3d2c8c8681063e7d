//! What the engine counts beside upstream's metrics (those names start with `kcm_`, which upstream
//! does not use), and the counters and histograms that controllers fill.

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use api::{Resource, Served};
use controller::{Counter, Histogram, Sample, Tally};
use metrics::{Error, Family, HistogramVec, IntCounterVec, Registry};

/// Counters over all controllers.
#[derive(Clone, Debug)]
pub struct Metrics {
    /// Label `controller`.
    pub(crate) panics: IntCounterVec,
    /// Labels `controller`, `verb`, `resource`, `code`; see [`Metrics::count_write`].
    pub(crate) writes: IntCounterVec,
    /// The series of `writes`.
    written: Arc<Mutex<BTreeSet<[String; 4]>>>,
    /// Where the families of controllers go.
    registry: Registry,
}

/// The histograms of one controller, by name.
#[derive(Debug)]
pub(crate) struct Histograms(BTreeMap<&'static str, metrics::Histogram>);

/// The counters of one controller, by name.
#[derive(Debug, Default)]
pub(crate) struct Counters(BTreeMap<&'static str, IntCounterVec>);

/// How the syncs of one controller are counted and timed.
#[derive(Debug)]
pub(crate) struct Syncs {
    total: IntCounterVec,
    duration: HistogramVec,
}

impl Metrics {
    /// Registers the families. An error if the registry has them already.
    pub fn new(registry: &Registry) -> Result<Self, Error> {
        let panics = Family::alpha(
            "kcm_sync_panics_total",
            "Panics that were caught while a key was synced; the key is tried again.",
        );
        let writes = Family::alpha(
            "kcm_writes_total",
            "Writes of controllers, by verb, resource and HTTP code.",
        );
        Ok(Self {
            panics: registry.family(&panics.labels(&["controller"]))?,
            writes: registry.family(&writes.labels(&["controller", "verb", "resource", "code"]))?,
            written: Arc::default(),
            registry: registry.clone(),
        })
    }

    /// Counts a write with these values of the labels. Custom kinds come and go: of one that is
    /// gone no series is left, if [`Metrics::forget`] or [`Metrics::keep`] is told.
    pub(crate) fn count_write(&self, values: [&str; 4]) {
        let mut written = self.written.lock().unwrap_or_else(PoisonError::into_inner);
        written.insert(values.map(ToOwned::to_owned));
        self.writes.with_label_values(&values).inc();
    }

    /// A kind is gone.
    pub(crate) fn forget(&self, resource: &Resource) {
        let gone = resource.to_string();
        self.retain(|name| *name != gone);
    }

    /// All kinds that are not served are gone, if it is known of all what is served.
    pub(crate) fn keep(&self, served: &Served) {
        if served.failed.is_empty() {
            let kinds = served.kinds.iter().map(|kind| kind.resource.to_string());
            let names: BTreeSet<String> = kinds.collect();
            self.retain(|name| names.contains(name));
        }
    }

    fn retain(&self, stays: impl Fn(&String) -> bool) {
        let mut written = self.written.lock().unwrap_or_else(PoisonError::into_inner);
        for values in written.extract_if(.., |[_, _, resource, _]| !stays(resource)) {
            // Only what was never counted is an error.
            let _ = self.writes.remove_label_values(&values.each_ref().map(String::as_str));
        }
    }

    /// Registers the histograms of a controller. One that cannot be registered is left out, and
    /// the log says so: a metric is no reason to leave a cluster without its controller.
    pub(crate) fn histograms(&self, families: &[Histogram]) -> Histograms {
        let register = |family: &Histogram| {
            let described = Family::bracketed(family.name, family.help).buckets(family.buckets);
            Some((family.name, or_left_out(self.registry.family(&described))?))
        };
        Histograms(families.iter().filter_map(register).collect())
    }

    /// As [`Metrics::histograms`], for the counters of a controller.
    pub(crate) fn counters(&self, families: &[Counter]) -> Counters {
        let register = |family: &Counter| {
            let described = Family::bracketed(family.name, family.help).labels(family.labels);
            Some((family.name, or_left_out(self.registry.family(&described))?))
        };
        Counters(families.iter().filter_map(register).collect())
    }
}

impl Metrics {
    /// As [`Metrics::histograms`], for the families about the syncs of a controller.
    pub(crate) fn syncs(&self, families: &controller::Syncs) -> Option<Syncs> {
        let controller::Syncs { total, duration } = families;
        let count = Family::bracketed(total.name, total.help).labels(total.labels);
        let time = Family::bracketed(duration.name, duration.help);
        let time = time.buckets(duration.buckets).labels(total.labels);
        Some(Syncs {
            total: or_left_out(self.registry.family(&count))?,
            duration: or_left_out(self.registry.family(&time))?,
        })
    }
}

impl Syncs {
    /// Counts a sync that ended with this code.
    pub(crate) fn add(&self, code: u16, took: Duration) {
        let code = code.to_string();
        self.duration.with_label_values(&[&code]).observe(took.as_secs_f64());
        self.total.with_label_values(&[&code]).inc();
    }
}

fn or_left_out<M>(family: Result<M, Error>) -> Option<M> {
    family.inspect_err(|error| tracing::warn!(%error, "metric left out")).ok()
}

impl Counters {
    /// Counts an attempt, and its failure.
    pub(crate) fn add(&self, tally: &Tally, done: bool) {
        let labels: Vec<_> = tally.labels.iter().map(String::as_str).collect();
        let names = [Some(tally.attempts), (!done).then_some(tally.failures)];
        for counter in names.into_iter().flatten().filter_map(|name| self.0.get(name)) {
            counter.with_label_values(&labels).inc();
        }
    }
}

impl Histograms {
    pub(crate) fn add(&self, samples: &[Sample]) {
        for sample in samples {
            if let Some(histogram) = self.0.get(sample.histogram) {
                histogram.observe(sample.value);
            }
        }
    }
}
