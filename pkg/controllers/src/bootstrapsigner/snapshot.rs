//! What a sync looks at.

use std::sync::Arc;

use api::{BootstrapToken, ClusterInfo, Key, Time};
use controller::View;

/// The ConfigMap and all tokens.
#[derive(Clone, Debug)]
pub struct Snapshot {
    /// The moment.
    pub now: Time,
    /// The ConfigMap.
    pub info: Arc<ClusterInfo>,
    /// The tokens, by name.
    pub tokens: Vec<Arc<BootstrapToken>>,
}

pub(super) fn observe(key: &Key, view: &View<'_>) -> Option<Snapshot> {
    let info = view.of::<ClusterInfo>().get(key)?;
    Some(Snapshot { now: view.now, info, tokens: view.of::<BootstrapToken>().all() })
}

/// The id of a token that signs; none: it does not. As `validateSecretForSigning`.
pub(super) fn signing_id(token: &BootstrapToken, now: Time) -> Option<&str> {
    let is_good = token.signs && !token.secret.0.is_empty() && !token.has_expired(now);
    token.id.as_deref().filter(|_| is_good)
}

// === impl Snapshot ===

impl Snapshot {
    pub(super) fn summary(&self) -> Vec<(&'static str, String)> {
        let list = |ids: Vec<&str>| if ids.is_empty() { "none".to_owned() } else { ids.join(", ") };
        let signs = self.tokens.iter().filter_map(|token| signing_id(token, self.now));
        let signed = self.info.signatures.keys().map(|id| &**id);
        vec![
            ("has a kubeconfig", self.info.kubeconfig.is_some().to_string()),
            ("tokens that sign", list(signs.collect())),
            ("signed by", list(signed.collect())),
        ]
    }
}
