//! What a sync of a namespace looks at.

use std::sync::Arc;

use api::{Key, Namespace, ServiceAccount};
use controller::View;

use super::NAME;

/// A namespace and its account.
#[derive(Clone, Debug)]
pub struct Snapshot {
    /// The namespace.
    pub namespace: Arc<Namespace>,
    /// Whether the account is there.
    pub exists: bool,
}

pub(super) fn observe(key: &Key, view: &View<'_>) -> Option<Snapshot> {
    let namespace = view.of::<Namespace>().get(key)?;
    let account = view.of::<ServiceAccount>().get(&Key::new(&key.name, NAME));
    Some(Snapshot { namespace, exists: account.is_some() })
}

// === impl Snapshot ===

impl Snapshot {
    pub(super) fn summary(&self) -> Vec<(&'static str, String)> {
        vec![("phase", format!("{:?}", self.namespace.phase)), ("exists", self.exists.to_string())]
    }
}
