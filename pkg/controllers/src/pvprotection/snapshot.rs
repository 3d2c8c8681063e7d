//! What a sync of a volume looks at.

use std::sync::Arc;

use api::{Key, PersistentVolume};
use controller::View;

/// A volume.
#[derive(Clone, Debug)]
pub struct Snapshot {
    /// The volume.
    pub volume: Arc<PersistentVolume>,
}

pub(super) fn observe(key: &Key, view: &View<'_>) -> Option<Snapshot> {
    view.of::<PersistentVolume>().get(key).map(|volume| Snapshot { volume })
}

// === impl Snapshot ===

impl Snapshot {
    pub(super) fn summary(&self) -> Vec<(&'static str, String)> {
        let PersistentVolume { meta, claim, .. } = &*self.volume;
        let none = || "none".to_owned();
        let finalizers = meta.finalizers.join(", ");
        vec![
            ("being deleted", meta.is_terminating().to_string()),
            ("finalizers", if finalizers.is_empty() { none() } else { finalizers }),
            ("bound", self.volume.is_bound().to_string()),
            ("claim", claim.as_ref().map_or_else(none, Key::to_string)),
        ]
    }
}
