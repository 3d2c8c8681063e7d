//! What a sync of a group looks at.

use std::sync::Arc;

use api::{Key, Pod, PodGroup};
use controller::View;

/// A group, and what keeps it.
#[derive(Clone, Debug)]
pub struct Snapshot {
    /// The group.
    pub group: Arc<PodGroup>,
    /// A pod that may run in it, as the caches have it; looked for only if it is being deleted.
    pub user: Option<Arc<Pod>>,
}

pub(super) fn observe(key: &Key, view: &View<'_>) -> Option<Snapshot> {
    let group = view.of::<PodGroup>().get(key)?;
    let is_held = group.meta.is_held_by(PodGroup::PROTECTION);
    let user = if is_held { user(key, view) } else { None };
    Some(Snapshot { group, user })
}

/// As `hasActivePods`.
fn user(key: &Key, view: &View<'_>) -> Option<Arc<Pod>> {
    let active = |group: &str| {
        let pods = view.of::<Pod>().by(Pod::ACTIVE_BY_GROUP, group);
        pods.into_iter().next()
    };
    active(&key.to_string()).or_else(|| active(&format!("{}/", key.namespace)))
}

// === impl Snapshot ===

impl Snapshot {
    /// Why the group is kept, if it is.
    pub(super) fn kept(&self) -> Option<String> {
        let pod = self.user.as_ref()?;
        let key = &pod.meta.key;
        Some(if pod.unreadable {
            format!("pod {key} cannot be read, and may run in it")
        } else {
            format!("pod {key} may run in it")
        })
    }

    pub(super) fn summary(&self) -> Vec<(&'static str, String)> {
        let meta = &self.group.meta;
        let none = || "none".to_owned();
        let finalizers = meta.finalizers.join(", ");
        let mut facts = vec![
            ("being deleted", meta.is_terminating().to_string()),
            ("finalizers", if finalizers.is_empty() { none() } else { finalizers }),
        ];
        if meta.is_held_by(PodGroup::PROTECTION) {
            facts.push(("kept by", self.kept().unwrap_or_else(none)));
        }
        facts
    }
}
