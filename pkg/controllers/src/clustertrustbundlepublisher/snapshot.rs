//! What a sync looks at.

use std::sync::Arc;

use api::ServingTrustBundle;
use controller::View;

/// The bundles of the signer.
#[derive(Clone, Debug)]
pub struct Snapshot {
    /// Sorted by name.
    pub bundles: Vec<Arc<ServingTrustBundle>>,
}

pub(super) fn observe(view: &View<'_>) -> Snapshot {
    Snapshot { bundles: view.of::<ServingTrustBundle>().all() }
}

// === impl Snapshot ===

impl Snapshot {
    /// The bundle with this name.
    pub(super) fn named(&self, name: &str) -> Option<&ServingTrustBundle> {
        self.bundles.iter().map(|it| &**it).find(|it| *it.meta.key.name == *name)
    }

    /// All others.
    pub(super) fn others(&self, name: &str) -> impl Iterator<Item = &ServingTrustBundle> {
        self.bundles.iter().map(|it| &**it).filter(move |it| *it.meta.key.name != *name)
    }

    pub(super) fn summary(&self, name: &str, authority: &str) -> Vec<(&'static str, String)> {
        let published = match self.named(name) {
            Some(bundle) if *bundle.trust_bundle == *authority => "right",
            Some(_) => "wrong",
            None => "missing",
        };
        vec![
            ("bundle", name.to_owned()),
            ("published", published.to_owned()),
            ("other bundles of the signer", self.others(name).count().to_string()),
        ]
    }
}
