//! What a pass looks at.

use std::sync::Arc;
use std::time::Duration;

use api::{PodCertificateRequest, Time};
use controller::View;
use mutant::Mutant;

/// How old a request may become; upstream's `threshold`.
const AGE_MAX: Duration = Duration::from_mins(15);

/// All certificate requests of pods at one moment.
#[derive(Clone, Debug)]
pub struct Snapshot {
    /// The moment.
    pub now: Time,
    /// The requests, by namespace and name.
    pub requests: Vec<Arc<PodCertificateRequest>>,
}

pub(super) fn observe(view: &View<'_>) -> Snapshot {
    Snapshot { now: view.now, requests: view.of::<PodCertificateRequest>().all() }
}

// === impl Snapshot ===

impl Snapshot {
    /// The requests that are old. As upstream, one that says no time is.
    pub(super) fn old(&self) -> Vec<&PodCertificateRequest> {
        let is_early = mutant::is(Mutant::PodRequestGoesEarly);
        let age_max = if is_early { Duration::from_mins(1) } else { AGE_MAX };
        let is_old = |request: &&PodCertificateRequest| {
            let created = request.meta.creation_timestamp;
            created.is_none_or(|at| self.now >= at + age_max) && !request.meta.is_terminating()
        };
        self.requests.iter().map(|request| &**request).filter(is_old).collect()
    }

    pub(super) fn summary(&self) -> Vec<(&'static str, String)> {
        vec![("requests", self.requests.len().to_string()), ("old", self.old().len().to_string())]
    }
}
