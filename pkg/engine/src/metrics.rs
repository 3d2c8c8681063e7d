//! What the engine counts beside upstream's metrics. The names start with `kcm_`, which upstream
//! does not use.

use prometheus::{IntCounterVec, Opts, Registry};

/// Counters over all controllers.
#[derive(Clone, Debug)]
pub struct Metrics {
    /// Label `controller`.
    pub(crate) panics: IntCounterVec,
    /// Labels `controller`, `verb`, `resource`, `result`.
    pub(crate) writes: IntCounterVec,
}

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
        })
    }
}
