//! What a sync of a namespace looks at.

use std::sync::Arc;

use api::{Key, Namespace, NamespacePhase, RootCa};
use controller::View;
use mutant::Mutant;

/// The key of the authority in the data.
pub(super) const CA_KEY: &str = "ca.crt";

/// A namespace and its ConfigMap.
#[derive(Clone, Debug)]
pub struct Snapshot {
    /// The namespace.
    pub namespace: Arc<Namespace>,
    /// The ConfigMap `kube-root-ca.crt`.
    pub published: Option<Arc<RootCa>>,
}

pub(super) fn observe(key: &Key, view: &View<'_>) -> Option<Snapshot> {
    let namespace = view.of::<Namespace>().get(key)?;
    let published = view.of::<RootCa>().get(&Key::new(&key.name, RootCa::NAME));
    Some(Snapshot { namespace, published })
}

/// Whether the data is the authority and nothing else, and something says what it is for.
pub(super) fn is_right(published: &RootCa, root_ca: &str) -> bool {
    let data = published.data.iter().map(|(key, value)| (&**key, &**value));
    published.described && (data.eq([(CA_KEY, root_ca)]) || mutant::is(Mutant::RootCaUnread))
}

// === impl Snapshot ===

impl Snapshot {
    /// Whether nothing can be made in the namespace.
    pub(super) fn is_terminating(&self) -> bool {
        let Namespace { meta, phase, .. } = &*self.namespace;
        meta.is_terminating() || *phase == NamespacePhase::Terminating
    }

    pub(super) fn summary(&self, root_ca: &str) -> Vec<(&'static str, String)> {
        let published = match &self.published {
            Some(published) if is_right(published, root_ca) => "right",
            Some(_) => "wrong",
            None => "missing",
        };
        vec![
            ("terminating", self.is_terminating().to_string()),
            ("published", published.to_owned()),
            ("bytes of the authority", root_ca.len().to_string()),
        ]
    }
}
