//! What a sync of a role looks at.

use std::sync::Arc;

use api::{ClusterRole, Key};
use controller::View;

/// A role, and those that it may aggregate.
#[derive(Clone, Debug)]
pub struct Snapshot {
    /// The role.
    pub role: Arc<ClusterRole>,
    /// All other roles, sorted by name; none if this one aggregates none.
    pub others: Vec<Arc<ClusterRole>>,
}

pub(super) fn observe(key: &Key, view: &View<'_>) -> Option<Snapshot> {
    let roles = view.of::<ClusterRole>();
    let role = roles.get(key)?;
    let mut others = if role.aggregates.is_some() { roles.all() } else { Vec::new() };
    others.retain(|other| other.meta.key != *key);
    Some(Snapshot { role, others })
}

// === impl Snapshot ===

impl Snapshot {
    pub(super) fn summary(&self) -> Vec<(&'static str, String)> {
        let selectors = self.role.aggregates.as_ref();
        let selectors = selectors.map_or_else(|| "none".to_owned(), |all| all.len().to_string());
        vec![
            ("selectors", selectors),
            ("rules", self.role.rules.len().to_string()),
            ("other roles", self.others.len().to_string()),
        ]
    }
}
