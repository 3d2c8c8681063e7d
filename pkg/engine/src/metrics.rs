//! What the engine counts beside upstream's metrics (those names start with `kcm_`, which upstream
//! does not use), and the histograms that controllers fill.

use std::collections::BTreeMap;

use controller::{Histogram, Sample};
use prometheus::{HistogramOpts, IntCounterVec, Opts, Registry};

/// Counters over all controllers.
#[derive(Clone, Debug)]
pub struct Metrics {
    /// Label `controller`.
    pub(crate) panics: IntCounterVec,
    /// Labels `controller`, `verb`, `resource`, `code`.
    pub(crate) writes: IntCounterVec,
    /// Where the histograms of controllers go.
    registry: Registry,
}

/// The histograms of one controller, by name.
#[derive(Debug)]
pub(crate) struct Histograms(BTreeMap<&'static str, prometheus::Histogram>);

impl Metrics {
    /// Registers the families. An error if the registry has them already.
    pub fn new(registry: &Registry) -> Result<Self, prometheus::Error> {
        let counter = |name: &str, help: &str, labels: &[&str]| {
            let family = IntCounterVec::new(Opts::new(name, help), labels)?;
            registry.register(Box::new(family.clone()))?;
            Ok::<_, prometheus::Error>(family)
        };
        Ok(Self {
            panics: counter(
                "kcm_sync_panics_total",
                "[ALPHA] Panics that were caught while a key was synced; the key is tried again.",
                &["controller"],
            )?,
            writes: counter(
                "kcm_writes_total",
                "[ALPHA] Writes of controllers, by verb, resource and HTTP code.",
                &["controller", "verb", "resource", "code"],
            )?,
            registry: registry.clone(),
        })
    }

    /// Registers the histograms of a controller. One that cannot be registered is left out, and
    /// the log says so: a metric is no reason to leave a cluster without its controller.
    pub(crate) fn histograms(&self, families: &[Histogram]) -> Histograms {
        let register = |family: &Histogram| {
            let opts = HistogramOpts::new(family.name, family.help);
            let histogram = prometheus::Histogram::with_opts(opts.buckets(family.buckets.to_vec()))
                .and_then(|histogram| {
                    self.registry.register(Box::new(histogram.clone()))?;
                    Ok(histogram)
                });
            histogram
                .inspect_err(|error| tracing::warn!(name = family.name, %error, "metric left out"))
                .ok()
                .map(|histogram| (family.name, histogram))
        };
        Histograms(families.iter().filter_map(register).collect())
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
