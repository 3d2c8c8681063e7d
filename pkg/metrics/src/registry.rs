//! The families of a process.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use prometheus::core::Collector;
use prometheus::proto::MetricFamily;
use prometheus::{IntCounter, IntCounterVec};

use crate::family::{Family, Metric};
use crate::page::{self, Page};
use crate::settings::Settings;

const REGISTERED: Family<'_> = Family::beta(
    "registered_metrics_total",
    "The count of registered metrics broken by stability level and deprecation version.",
)
.labels(&["stability_level", "deprecated_version"]);
const DISABLED: Family<'_> =
    Family::beta("disabled_metrics_total", "The count of disabled metrics.");
const HIDDEN: Family<'_> = Family::beta("hidden_metrics_total", "The count of hidden metrics.");
const UNEXPECTED: Family<'_> = Family::alpha(
    "cardinality_enforcement_unexpected_categorizations_total",
    "The count of unexpected categorizations during cardinality enforcement.",
);

/// The families of a process, and the page that shows them. Cheap to clone.
///
/// A family that is disabled or hidden can be used as any other; it is just not shown.
#[derive(Clone)]
pub struct Registry(Arc<Inner>);

/// Why a family cannot be registered.
#[derive(Debug, thiserror::Error)]
#[error("metric {name}: {source}")]
pub struct Error {
    name: String,
    source: prometheus::Error,
}

struct Inner {
    shown: prometheus::Registry,
    settings: Settings,
    counts: Counts,
    /// The families that DELETE resets, in the order of registration.
    resettable: Mutex<Vec<Box<dyn Resettable>>>,
    hooks: Mutex<Vec<Hook>>,
}

type Hook = Box<dyn Fn() + Send + Sync>;

/// The registry's own counters.
struct Counts {
    registered: IntCounterVec,
    disabled: IntCounter,
    hidden: IntCounter,
    unexpected: IntCounter,
}

/// A [`Metric`] without its type.
pub(crate) trait Resettable: Send + Sync {
    fn reset(&self);
    #[cfg(any(test, feature = "fixture"))]
    fn collector(&self) -> &dyn Collector;
}

// === impl Registry ===

impl Registry {
    /// A registry that shows what `settings` allow, with its own four counters.
    pub fn new(settings: Settings) -> Self {
        let registry = Self::bare(settings);
        let counts = &registry.0.counts;
        registry
            .add(&REGISTERED, &counts.registered)
            .and_then(|()| registry.add(&DISABLED, &counts.disabled))
            .and_then(|()| registry.add(&HIDDEN, &counts.hidden))
            .and_then(|()| registry.add(&UNEXPECTED, &counts.unexpected))
            .expect("a new registry is empty");
        counts.disabled.inc_by(registry.0.settings.disabled_count());
        registry
    }

    /// As [`Registry::new`], without its own counters.
    pub(crate) fn bare(settings: Settings) -> Self {
        Self(Arc::new(Inner {
            shown: prometheus::Registry::new(),
            settings,
            counts: Counts::new().expect("the descriptions above are good"),
            resettable: Mutex::default(),
            hooks: Mutex::default(),
        }))
    }

    /// Registers a family of the requested type. An error if it is registered already, or if its
    /// description is wrong.
    pub fn family<M: Metric>(&self, family: &Family<'_>) -> Result<M, Error> {
        let metric = M::of(family).map_err(|source| Error::of(family.name(), source))?;
        self.add(family, &metric)?;
        Ok(metric)
    }

    /// Registers families that are never hidden, disabled or reset.
    pub fn raw(&self, collector: Box<dyn Collector>) -> Result<(), Error> {
        let names: Vec<_> = collector.desc().iter().map(|desc| desc.fq_name.clone()).collect();
        let added = self.0.shown.register(collector);
        added.map_err(|source| Error::of(&names.join(", "), source))
    }

    /// Calls `hook` each time before the families are read, to set the ones that are not kept up to
    /// date. Pages are rendered one after the other. The hook must not ask this registry for a page
    /// or for another hook.
    pub fn before_page(&self, hook: impl Fn() + Send + Sync + 'static) {
        lock(&self.0.hooks).push(Box::new(hook));
    }

    /// The response to a GET with the header Accept `accept`.
    pub fn page(&self, accept: &str) -> Page {
        page::render(&self.gather(), accept)
    }

    /// The effect of DELETE where it is served, in upstream's manager only for /metrics/slis:
    /// families with labels lose their series, counters without are 0 again. A series that code
    /// still holds is no longer shown.
    pub fn reset(&self) {
        lock(&self.0.resettable).iter().for_each(|family| family.reset());
    }

    /// The visible families with series, sorted by name; series sorted by labels.
    pub fn gather(&self) -> Vec<MetricFamily> {
        let hooks = lock(&self.0.hooks);
        hooks.iter().for_each(|hook| hook());
        let mut families = self.0.shown.gather();
        let unexpected = self.0.settings.allowed.constrain(&mut families);
        // Another page may have been read meanwhile, but not counted: that waits for the hooks.
        let counted = &self.0.counts.unexpected;
        counted.inc_by(unexpected.saturating_sub(counted.get()));
        if let Some(family) = families.iter_mut().find(|family| family.name() == UNEXPECTED.name())
            && let Some(mut now) = counted.collect().pop()
        {
            family.set_metric(now.take_metric());
        }
        families
    }

    fn add<M: Metric>(&self, family: &Family<'_>, metric: &M) -> Result<(), Error> {
        let Inner { shown, settings, counts, resettable, .. } = &*self.0;
        if settings.hides(family) {
            counts.hidden.inc();
            return Ok(());
        }
        let added = shown.register(Box::new(metric.clone()));
        added.map_err(|source| Error::of(family.name(), source))?;
        let stability = family.stability().name();
        counts.registered.with_label_values(&[stability, &family.deprecated_version()]).inc();
        lock(resettable).push(Box::new(metric.clone()));
        Ok(())
    }

    #[cfg(any(test, feature = "fixture"))]
    pub(crate) fn each(&self, mut look: impl FnMut(&dyn Collector)) {
        lock(&self.0.resettable).iter().for_each(|family| look(family.collector()));
    }
}

impl Default for Registry {
    fn default() -> Self {
        Self::new(Settings::default())
    }
}

impl fmt::Debug for Registry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.shown.fmt(f)
    }
}

// === impl Counts ===

impl Counts {
    fn new() -> Result<Self, prometheus::Error> {
        Ok(Self {
            registered: Metric::of(&REGISTERED)?,
            disabled: Metric::of(&DISABLED)?,
            hidden: Metric::of(&HIDDEN)?,
            unexpected: Metric::of(&UNEXPECTED)?,
        })
    }
}

// === impl Error ===

impl Error {
    fn of(name: &str, source: prometheus::Error) -> Self {
        Self { name: name.to_owned(), source }
    }
}

// === impl Resettable ===

impl<M: Metric> Resettable for M {
    fn reset(&self) {
        Metric::reset(self);
    }

    #[cfg(any(test, feature = "fixture"))]
    fn collector(&self) -> &dyn Collector {
        self
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
