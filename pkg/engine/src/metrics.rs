//! The engine's metrics besides upstream's (their names start with `kcm_`, which upstream does not
//! use), and the registration of the controllers' families.

#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

use api::{Resource, Served};
use metrics::{Error, Family, IntCounter, IntCounterVec, IntGauge, IntGaugeVec, Registry};
use runtime::Clock;

use crate::Counts;
use crate::telemetry::{Families, Source, Telemetry};

/// Counters over all controllers.
#[derive(Clone, Debug)]
pub struct Metrics {
    /// Label `controller`.
    pub(crate) panics: IntCounterVec,
    /// Labels `controller`, `verb`, `resource`, `code`; see [`Metrics::count_write`].
    pub(crate) writes: IntCounterVec,
    /// What shadows find. Label `controller`.
    shadowed: Arc<ShadowFamilies>,
    /// The series of `writes`.
    written: Arc<Mutex<BTreeSet<[String; 4]>>>,
    /// The families of controllers.
    families: Arc<Families>,
    /// The registry that shows them.
    registry: Registry,
}

/// The families of shadows.
#[derive(Debug)]
struct ShadowFamilies {
    agreed: IntCounterVec,
    late: IntCounterVec,
    moot: IntCounterVec,
    dropped: IntCounterVec,
    differences: IntGaugeVec,
}

/// The series of one shadow.
#[derive(Debug)]
pub(crate) struct Shadowed {
    agreed: IntCounter,
    late: IntCounter,
    moot: IntCounter,
    dropped: IntCounter,
    differences: IntGauge,
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
        let families = Arc::<Families>::default();
        // Weak: the registry holds the hook, and the families hold series of the registry.
        let shown = Arc::downgrade(&families);
        registry.before_page(move || {
            if let Some(families) = shown.upgrade() {
                families.refresh();
            }
        });
        Ok(Self {
            panics: registry.family(&panics.labels(&["controller"]))?,
            writes: registry.family(&writes.labels(&["controller", "verb", "resource", "code"]))?,
            shadowed: Arc::new(ShadowFamilies::new(registry)?),
            written: Arc::default(),
            families,
            registry: registry.clone(),
        })
    }

    /// Counts a write with these label values. Custom kinds are added and removed: the series of a
    /// removed kind are dropped by [`Metrics::forget`] or [`Metrics::keep`].
    pub(crate) fn count_write(&self, values: [&str; 4]) {
        let mut written = self.written.lock().unwrap_or_else(PoisonError::into_inner);
        written.insert(values.map(ToOwned::to_owned));
        self.writes.with_label_values(&values).inc();
    }

    /// Drops the series of a kind that is no longer served.
    pub(crate) fn forget(&self, resource: &Resource) {
        let removed = resource.to_string();
        self.retain(|name| *name != removed);
    }

    /// Drops the series of all kinds that are not served, if discovery is complete.
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
            // The only error is a series that was never counted.
            let _ = self.writes.remove_label_values(&values.each_ref().map(String::as_str));
        }
    }

    /// The families of a controller.
    pub(crate) fn telemetry(&self, table: &[controller::Family], clock: &Clock) -> Telemetry {
        self.families.of(&self.registry, table, clock)
    }

    /// Asks `source` for gauges whenever a page is rendered.
    pub(crate) fn gauged_by(&self, source: Source) {
        self.families.gauged_by(source);
    }

    /// The series of the shadow of a controller.
    pub(crate) fn shadow(&self, controller: &str) -> Shadowed {
        let ShadowFamilies { agreed, late, moot, dropped, differences } = &*self.shadowed;
        let of = |family: &IntCounterVec| family.with_label_values(&[controller]);
        Shadowed {
            agreed: of(agreed),
            late: of(late),
            moot: of(moot),
            dropped: of(dropped),
            differences: differences.with_label_values(&[controller]),
        }
    }
}

// === impl ShadowFamilies ===

impl ShadowFamilies {
    fn new(registry: &Registry) -> Result<Self, Error> {
        let counter = |name, help| {
            registry.family::<IntCounterVec>(&Family::alpha(name, help).labels(&["controller"]))
        };
        let differences = Family::alpha(
            "kcm_shadow_differences",
            "Writes that a shadow wants and that have not come true within the grace period.",
        );
        Ok(Self {
            agreed: counter(
                "kcm_shadow_agreed_total",
                "Writes that a shadow wanted and that came true within the grace period.",
            )?,
            late: counter(
                "kcm_shadow_late_total",
                "Writes that a shadow wanted and that came true after the grace period.",
            )?,
            moot: counter(
                "kcm_shadow_moot_total",
                "Writes that a shadow wanted until something else made them needless.",
            )?,
            dropped: counter(
                "kcm_shadow_dropped_total",
                "Writes that a shadow did not judge, or differences that it did not keep.",
            )?,
            differences: registry.family(&differences.labels(&["controller"]))?,
        })
    }
}

// === impl Shadowed ===

impl Shadowed {
    /// Counts what has changed: counts, and the number of differences. Several shadows can share
    /// the series.
    pub(crate) fn count(&self, before: (Counts, usize), after: (Counts, usize)) {
        let ((old, had), (new, has)) = (before, after);
        self.agreed.inc_by(new.agreed - old.agreed);
        self.late.inc_by(new.late - old.late);
        self.moot.inc_by(new.moot - old.moot);
        self.dropped.inc_by(new.dropped - old.dropped);
        let count = |open: usize| i64::try_from(open).unwrap_or(i64::MAX);
        self.differences.add(count(has) - count(had));
    }
}
