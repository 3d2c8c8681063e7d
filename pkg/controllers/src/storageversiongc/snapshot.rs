//! What a sync looks at.

use std::collections::BTreeSet;
use std::sync::Arc;

use api::{Key, StorageVersion, SystemLease, Text, Time};
use controller::View;

/// A StorageVersion, and which of its API servers are missing.
#[derive(Clone, Debug)]
pub struct Snapshot {
    /// The object.
    pub version: Arc<StorageVersion>,
    /// The API servers that it names and whose identity the cache lacks.
    pub missing: BTreeSet<Text>,
    /// The present moment.
    pub now: Time,
}

pub(super) fn observe(key: &Key, view: &View<'_>) -> Option<Snapshot> {
    let version = view.of::<StorageVersion>().get(key)?;
    let missing = missing(&version, view);
    Some(Snapshot { version, missing, now: view.now })
}

/// The API servers that a StorageVersion names and whose identity the cache lacks.
pub(super) fn missing(version: &StorageVersion, view: &View<'_>) -> BTreeSet<Text> {
    let leases = view.of::<SystemLease>();
    let is_missing = |server: &&Text| {
        let lease = leases.get(&lease_key(server));
        !lease.is_some_and(|lease| lease.is_of_api_server())
    };
    let servers = version.servers.iter().map(|it| &it.server);
    servers.filter(is_missing).cloned().collect()
}

/// The key of the identity of an API server.
pub(super) fn lease_key(server: &str) -> Key {
    Key::new(SystemLease::NAMESPACE, server)
}

// === impl Snapshot ===

impl Snapshot {
    pub(super) fn summary(&self) -> Vec<(&'static str, String)> {
        let list = |texts: Vec<String>| match texts.as_slice() {
            [] => "none".to_owned(),
            texts => texts.join(", "),
        };
        let servers = self.version.servers.iter();
        let servers = servers.map(|it| format!("{} ({})", it.server, it.encoding));
        let common = self.version.common.as_ref();
        let missing = self.missing.iter().map(Text::to_string);
        vec![
            ("API servers", list(servers.collect())),
            ("common version", common.map_or("none".to_owned(), Text::to_string)),
            ("without a Lease in the cache", list(missing.collect())),
        ]
    }
}
