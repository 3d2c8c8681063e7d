//! What a sync has to do about pods.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use api::{Pod, Text};
use controller::EventType;

/// What is to be done about pods.
#[derive(Debug, Default)]
pub(super) struct Work {
    /// Nodes that get a pod.
    pub(super) create: Vec<Text>,
    /// Pods to delete.
    pub(super) delete: Vec<Arc<Pod>>,
    /// What is said about some of them, by their uid.
    pub(super) events: BTreeMap<Text, (EventType, &'static str, String)>,
    /// When a failed pod that must stay now may be deleted.
    pub(super) again: Option<Duration>,
}

// === impl Work ===

impl Work {
    /// A pod for each of these nodes, and the end of these pods.
    pub(super) fn new(create: Vec<Text>, delete: Vec<Arc<Pod>>) -> Self {
        Self { create, delete, ..Self::default() }
    }
}
