//! What a sync of a token looks at.

use std::sync::Arc;

use api::{BootstrapToken, Expiration, Key, Time};
use controller::View;

/// A token at one moment.
#[derive(Clone, Debug)]
pub struct Snapshot {
    /// The moment.
    pub now: Time,
    /// The token.
    pub token: Arc<BootstrapToken>,
}

pub(super) fn observe(key: &Key, view: &View<'_>) -> Option<Snapshot> {
    let token = view.of::<BootstrapToken>().get(key)?;
    Some(Snapshot { now: view.now, token })
}

// === impl Snapshot ===

impl Snapshot {
    pub(super) fn summary(&self) -> Vec<(&'static str, String)> {
        let expires = match self.token.expiration {
            Expiration::Never => "never".to_owned(),
            Expiration::At(at) => at.to_string(),
            Expiration::Unparsable => "at no time that can be read".to_owned(),
        };
        vec![("expires", expires), ("being deleted", self.token.meta.is_terminating().to_string())]
    }
}
