//! What a sync of a claim looks at.

use std::sync::Arc;

use api::{Key, PersistentVolumeClaim};
use controller::View;

/// A claim.
#[derive(Clone, Debug)]
pub struct Snapshot {
    /// It.
    pub claim: Arc<PersistentVolumeClaim>,
}

pub(super) fn observe(key: &Key, view: &View<'_>) -> Option<Snapshot> {
    view.of::<PersistentVolumeClaim>().get(key).map(|claim| Snapshot { claim })
}

// === impl Snapshot ===

impl Snapshot {
    pub(super) fn summary(&self) -> Vec<(&'static str, String)> {
        let shown = |it: &dyn std::fmt::Display| it.to_string();
        let claim = &self.claim;
        vec![
            ("volume", claim.volume.as_deref().unwrap_or("none").to_owned()),
            ("asks for", shown(&claim.request)),
            ("has", shown(&claim.capacity)),
            ("resizer", claim.resizer.as_deref().unwrap_or("not named").to_owned()),
        ]
    }
}
