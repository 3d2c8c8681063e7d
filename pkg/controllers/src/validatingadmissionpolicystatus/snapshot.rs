//! What a sync of a policy looks at.

use std::sync::Arc;

use api::{Key, ValidatingAdmissionPolicy};
use controller::View;

/// A policy.
#[derive(Clone, Debug)]
pub struct Snapshot {
    /// As the cache has it.
    pub policy: Arc<ValidatingAdmissionPolicy>,
}

pub(super) fn observe(key: &Key, view: &View<'_>) -> Option<Snapshot> {
    let policy = view.of::<ValidatingAdmissionPolicy>().get(key)?;
    Some(Snapshot { policy })
}

// === impl Snapshot ===

impl Snapshot {
    /// Whether there is any expression to check against any kind.
    pub(super) fn has_something_to_check(&self) -> bool {
        self.policy.expressions > 0 && self.policy.resources > 0
    }

    pub(super) fn summary(&self) -> Vec<(&'static str, String)> {
        vec![
            ("generation", self.policy.meta.generation.to_string()),
            ("looked at", self.policy.observed_generation.to_string()),
            ("expressions", self.policy.expressions.to_string()),
            ("resources that they are about", self.policy.resources.to_string()),
        ]
    }
}
