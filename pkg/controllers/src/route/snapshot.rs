//! What a pass over all nodes looks at.

use std::sync::Arc;

use api::{Machine, Time};

/// All nodes at one moment.
#[derive(Clone, Debug)]
pub struct Snapshot {
    /// The moment.
    pub now: Time,
    /// The nodes, by name.
    pub machines: Vec<Arc<Machine>>,
}

impl Snapshot {
    pub(super) fn summary(&self) -> Vec<(&'static str, String)> {
        let with_ranges = self.machines.iter().filter(|it| !it.pod_cidrs.is_empty()).count();
        vec![
            ("nodes", self.machines.len().to_string()),
            ("nodes with ranges", with_ranges.to_string()),
        ]
    }
}
