//! The name and the stability of a metric family.

use prometheus::core::{
    Atomic, Collector, GenericCounter, GenericCounterVec, GenericGauge, GenericGaugeVec,
};
use prometheus::{Error, Histogram, HistogramOpts, HistogramVec, Opts};

use crate::version::{VERSION, Version};

/// The description of a metric family; [`crate::Registry::family`] makes the family.
///
/// ```
/// use metrics::{Family, IntCounterVec, Registry};
///
/// # fn main() -> Result<(), metrics::Error> {
/// let requests = Family::alpha("rest_client_requests_total", "Number of HTTP requests.");
/// let requests: IntCounterVec = Registry::default().family(&requests.labels(&["code"]))?;
/// requests.with_label_values(&["200"]).inc();
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Family<'a> {
    name: &'a str,
    help: &'a str,
    stability: Stability,
    labels: &'a [&'a str],
    buckets: &'a [f64],
    deprecated: Option<Version>,
}

/// Upstream's stability level of a family, in brackets at the start of its help.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stability {
    /// May change at any time.
    Alpha,
    /// Deprecated for a release before it is removed.
    Beta,
    /// Deprecated for three releases before it is removed.
    Stable,
}

/// The types of families: prometheus' counters, gauges and histograms, plain or with labels.
pub trait Metric: Collector + Clone + 'static {
    /// Creates it. An error if the description does not fit the type.
    fn of(family: &Family<'_>) -> Result<Self, Error>;
    /// Resets it to its initial state. As upstream's, plain gauges and histograms are not reset.
    fn reset(&self) {}
}

// === impl Family ===

impl<'a> Family<'a> {
    /// A family without labels that may change at any time.
    pub const fn alpha(name: &'a str, help: &'a str) -> Self {
        Self::new(name, help, Stability::Alpha)
    }

    /// As [`Family::alpha`], but beta.
    pub const fn beta(name: &'a str, help: &'a str) -> Self {
        Self::new(name, help, Stability::Beta)
    }

    /// As [`Family::alpha`], but stable.
    pub const fn stable(name: &'a str, help: &'a str) -> Self {
        Self::new(name, help, Stability::Stable)
    }

    /// A family whose `help` starts with its stability in brackets; alpha if it does not.
    pub fn bracketed(name: &'a str, help: &'a str) -> Self {
        let levels = [Stability::Alpha, Stability::Beta, Stability::Stable];
        let stated = levels.into_iter().find_map(|level| {
            let rest = help.strip_prefix('[')?.strip_prefix(level.name())?;
            Some(Self::new(name, rest.strip_prefix("] ")?, level))
        });
        stated.unwrap_or_else(|| Self::alpha(name, help))
    }

    const fn new(name: &'a str, help: &'a str, stability: Stability) -> Self {
        Self { name, help, stability, labels: &[], buckets: &[], deprecated: None }
    }

    /// With label names.
    pub const fn labels(self, labels: &'a [&'a str]) -> Self {
        Self { labels, ..self }
    }

    /// With the upper bounds of a histogram's buckets, without the infinite one. The default is
    /// Prometheus' own, 0.005 to 10.
    pub const fn buckets(self, buckets: &'a [f64]) -> Self {
        Self { buckets, ..self }
    }

    /// Deprecated since `version`.
    pub const fn deprecated(self, version: Version) -> Self {
        Self { deprecated: Some(version), ..self }
    }

    pub(crate) fn name(&self) -> &'a str {
        self.name
    }

    pub(crate) fn stability(&self) -> Stability {
        self.stability
    }

    /// Empty if it is not deprecated.
    pub(crate) fn deprecated_version(&self) -> String {
        self.deprecated.map(|version| version.to_string()).unwrap_or_default()
    }

    /// Whether its deprecation is long enough ago that it is only shown on demand
    /// (component-base/metrics/registry.go, `shouldHide`).
    pub(crate) fn is_outdated(&self) -> bool {
        self.deprecated.is_some_and(|since| {
            let hidden_minor = since.minor + self.stability.deprecation_minors();
            (since.major, hidden_minor) <= (VERSION.major, VERSION.minor)
        })
    }

    fn help(&self) -> String {
        let stability = self.stability.name();
        match self.deprecated.filter(|since| *since <= VERSION) {
            Some(since) => format!("[{stability}] (Deprecated since {since}) {}", self.help),
            None => format!("[{stability}] {}", self.help),
        }
    }

    fn opts(&self) -> Opts {
        Opts::new(self.name, self.help())
    }

    /// An error if the family has labels.
    fn plain(&self) -> Result<Opts, Error> {
        match self.labels {
            [] => Ok(self.opts()),
            labels => {
                Err(Error::Msg(format!("a metric without labels cannot have labels {labels:?}")))
            }
        }
    }
}

// === impl Stability ===

impl Stability {
    /// As in the brackets.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Alpha => "ALPHA",
            Self::Beta => "BETA",
            Self::Stable => "STABLE",
        }
    }

    /// For how many minor releases a deprecated family stays visible.
    const fn deprecation_minors(self) -> u32 {
        match self {
            Self::Alpha => 0,
            Self::Beta => 1,
            Self::Stable => 3,
        }
    }
}

// === impl Metric ===

impl<P: Atomic + 'static> Metric for GenericCounter<P> {
    fn of(family: &Family<'_>) -> Result<Self, Error> {
        Self::with_opts(family.plain()?)
    }

    fn reset(&self) {
        self.reset();
    }
}

impl<P: Atomic + 'static> Metric for GenericCounterVec<P> {
    fn of(family: &Family<'_>) -> Result<Self, Error> {
        Self::new(family.opts(), family.labels)
    }

    fn reset(&self) {
        self.reset();
    }
}

impl<P: Atomic + 'static> Metric for GenericGauge<P> {
    fn of(family: &Family<'_>) -> Result<Self, Error> {
        Self::with_opts(family.plain()?)
    }
}

impl<P: Atomic + 'static> Metric for GenericGaugeVec<P> {
    fn of(family: &Family<'_>) -> Result<Self, Error> {
        Self::new(family.opts(), family.labels)
    }

    fn reset(&self) {
        self.reset();
    }
}

impl Metric for Histogram {
    fn of(family: &Family<'_>) -> Result<Self, Error> {
        Self::with_opts(histogram(family, family.plain()?))
    }
}

impl Metric for HistogramVec {
    fn of(family: &Family<'_>) -> Result<Self, Error> {
        Self::new(histogram(family, family.opts()), family.labels)
    }

    fn reset(&self) {
        self.reset();
    }
}

fn histogram(family: &Family<'_>, opts: Opts) -> HistogramOpts {
    let opts = HistogramOpts::from(opts);
    if family.buckets.is_empty() { opts } else { opts.buckets(family.buckets.to_vec()) }
}
