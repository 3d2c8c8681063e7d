//! Which ranges of addresses nodes have.

use std::sync::Arc;

use serde_json::Value;

use super::fields::{list, text};
use super::{Judged, Oracle, kubelets};

const RANGES: &str = "/spec/podCIDRs";

impl Oracle {
    /// A node gets a range that another one has.
    pub(super) fn shares_range(&self, it: &Judged<'_>) -> Option<String> {
        if it.account != kubelets::ACCOUNT || list(it.sent, RANGES).is_empty() {
            return None;
        }
        let given = list(it.got, RANGES);
        let is_other = |node: &&Arc<Value>| text(node, "/metadata/name") != it.target.name;
        let has_it = |node: &&Arc<Value>| list(node, RANGES).iter().any(|it| given.contains(it));
        let other = self.objects.of_kind("Node").filter(is_other).find(has_it)?;
        Some(format!("{it}: {} has that range", text(other, "/metadata/name")))
    }

    /// What a node must have.
    pub(super) fn node_has_no_range(&self, node: &Value) -> Option<String> {
        (self.gives_ranges && list(node, RANGES).is_empty()).then(|| "has no range".to_owned())
    }

    /// A node without a kubelet goes if it is to have a pod, which would never run.
    pub(super) fn spare_repairs(&self, node: &Value) -> Option<String> {
        let name = text(node, "/metadata/name");
        let has_pod = |set: &Arc<Value>| self.places_of(set).contains(&name);
        let goes = is_spare(node) && self.objects.of_kind("DaemonSet").any(has_pod);
        goes.then(|| format!("> delete nodes/{name}\n"))
    }
}

/// Whether a node has no kubelet.
pub(super) fn is_spare(node: &Value) -> bool {
    text(node, "/metadata/name").starts_with("spare-")
}
