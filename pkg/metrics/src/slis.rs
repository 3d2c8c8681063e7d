//! `/metrics/slis`: the results of health checks, from which the availability of a component is
//! computed (component-base/metrics/prometheus/slis).

use prometheus::{Gauge, GaugeVec, IntCounterVec};

use crate::family::Family;
use crate::page::Page;
use crate::process;
use crate::registry::{Error, Registry};
use crate::settings::Settings;

/// The results of health checks. Cheap to clone.
#[derive(Clone)]
pub struct Slis {
    registry: Registry,
    last: GaugeVec,
    all: IntCounterVec,
}

// === impl Slis ===

impl Slis {
    /// No check has run yet.
    pub fn new(settings: Settings) -> Self {
        Self::registered(Registry::bare(settings)).expect("a new registry is empty")
    }

    fn registered(registry: Registry) -> Result<Self, Error> {
        let last = Family::stable(
            "kubernetes_healthcheck",
            "This metric records the result of a single healthcheck.",
        );
        let all = Family::stable(
            "kubernetes_healthchecks_total",
            "This metric records the results of all healthcheck.",
        );
        let last = registry.family(&last.labels(&["name", "type"]))?;
        let all = registry.family(&all.labels(&["name", "type", "status"]))?;
        if let Some(seconds) = process::start_time_seconds() {
            let start: Gauge = registry.family(&Family::alpha(
                "process_start_time_seconds",
                "Start time of the process since unix epoch in seconds.",
            ))?;
            start.set(seconds);
        }
        Ok(Self { registry, last, all })
    }

    /// Notes a run of check `name` for the endpoint `kind`, such as `healthz`, and its result.
    pub fn observe(&self, name: &str, kind: &str, is_ok: bool) {
        let (value, status) = if is_ok { (1.0, "success") } else { (0.0, "error") };
        self.last.with_label_values(&[name, kind]).set(value);
        self.all.with_label_values(&[name, kind, status]).inc();
    }

    /// As [`Registry::page`].
    pub fn page(&self, accept: &str) -> Page {
        self.registry.page(accept)
    }

    /// As [`Registry::reset`].
    pub fn reset(&self) {
        self.registry.reset();
    }
}
