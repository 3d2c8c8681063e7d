//! What a decision about a node and its machine looks at.

use std::sync::Arc;

use api::{Effect, Machine, Status, Taint};

/// The key of the taint of a node whose machine is shut down. Upstream's `TaintNodeShutdown`.
const SHUTDOWN: &str = "node.cloudprovider.kubernetes.io/shutdown";

/// A node at one moment.
#[derive(Clone, Debug)]
pub struct Snapshot {
    /// The node.
    pub machine: Arc<Machine>,
}

/// Upstream's `ShutdownTaint`.
pub(super) fn taint() -> Taint {
    Taint::new(SHUTDOWN, "", Effect::NoSchedule)
}

/// Whether it is that taint, with whatever value.
pub(super) fn is_shutdown(taint: &Taint) -> bool {
    &*taint.key == SHUTDOWN && taint.effect == Effect::NoSchedule
}

pub(super) fn is_ready(machine: &Machine) -> bool {
    machine.ready == Some(Status::True)
}

/// Whether there may be something to do for it.
pub(super) fn needs_look(machine: &Machine) -> bool {
    !is_ready(machine) || machine.taints.iter().any(is_shutdown)
}

// === impl Snapshot ===

impl Snapshot {
    pub(super) fn summary(&self) -> Vec<(&'static str, String)> {
        let Machine { ready, provider_id, taints, .. } = &*self.machine;
        let ready = ready.map_or("never reported".to_owned(), |it| format!("{it:?}"));
        let mut facts = vec![("ready", ready)];
        facts.extend((!provider_id.is_empty()).then(|| ("provider ID", provider_id.to_string())));
        facts.extend(taints.iter().map(|taint| ("taint", taint.to_string())));
        facts
    }
}
