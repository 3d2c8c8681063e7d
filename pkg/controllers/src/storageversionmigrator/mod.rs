//! The migrator of storage versions: all objects of a kind are stored anew, in the version in which
//! the API server stores them now.
//!
//! Reads: StorageVersionMigration, and the metadata of everything; live, CustomResourceDefinition
//! and a list of no objects. Writes: StorageVersionMigration (PUT of `status`), any object
//! (server-side apply of nothing), CustomResourceDefinition (server-side apply of `status`). No
//! Events. Upstream: `pkg/controller/storageversionmigrator` (v1.36).
//!
//! Three engines. [`Runner`] has one migration of each kind run at a time, the oldest first, and
//! notes its beginning and its end also in the definition of a custom kind: with a good end the
//! definition forgets the versions that nothing is stored in any more. [`Checkpoint`] notes up to
//! which version objects are to be stored anew. [`Migrator`] does that: an apply of nothing but uid
//! and version has the API server store the object as it is. What has another version by now was
//! stored since.
//!
//! **Invariant:** nothing is migrated before the cache of the kind has reached the noted version.
//! **Invariant:** a migration succeeds when each object that was noted was stored anew, or changed,
//! or deleted.
//! **Invariant:** stored versions are forgotten only after success, and if the definition did not
//! change meanwhile.
//!
//! What an event costs: a look at the migrations of its kind. A sync of a running migration looks
//! at all objects of its kind.
//!
//! Otherwise than upstream,
//! - the migrator goes on in portions, and a failure that passes costs what is left of one, where
//!   upstream begins again;
//! - a migration that has failed leaves the stored versions of its definition: upstream drops them,
//!   though objects may still be stored in them;
//! - gateways that fail (502) count among failures that pass.
//!
//! # Parts
//!
//! - `runner`, `checkpoint`, `migrator`: the engines. What the last one looks at and decides is in
//!   `snapshot` and `decide`.
//! - `conditions`: conditions as upstream sets them.

mod checkpoint;
mod conditions;
mod decide;
mod migrator;
mod runner;
mod snapshot;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use api::{Key, Served, ServedKind, StorageVersionMigration, Text, Time};

pub use checkpoint::Checkpoint;
pub use decide::Verdict;
pub use migrator::Migrator;
pub use runner::Runner;
pub use snapshot::Snapshot;

/// How long a kind may be missing after a migration was made: what is served is looked at each half
/// minute.
const APPEARS_MAX: Duration = Duration::from_mins(1);

/// What is served, and how far migrations are. Shared by the engines.
#[derive(Debug, Default)]
pub struct Memory {
    /// What the API server serves; none: not known yet.
    served: Option<Arc<Served>>,
    /// By migration: its uid, and the last object that was stored anew.
    done: BTreeMap<Key, (Text, Key)>,
}

/// What is known of the kind of a migration.
#[derive(Clone, Debug, PartialEq)]
enum Found {
    /// It is served.
    Served(ServedKind),
    /// It is not served, or not yet.
    Missing,
    /// Nothing is known of its group.
    Unknown(String),
}

// === impl Memory ===

impl Memory {
    /// The kind of a migration, in the version that the API server prefers. As `resourceFor`.
    fn kind_of(&self, migration: &StorageVersionMigration) -> Found {
        let Some(served) = &self.served else {
            return Found::Unknown("nothing is known of what is served yet".to_owned());
        };
        let is_it = |kind: &&ServedKind| {
            *kind.resource.group == *migration.group && *kind.resource.plural == *migration.plural
        };
        let mut alike = served.kinds.iter().filter(is_it);
        let first = alike.clone().find(|kind| kind.preferred).or_else(|| alike.next());
        if let Some(kind) = first {
            return Found::Served(kind.clone());
        }
        let is_of_group = |version: &&String| match version.split_once('/') {
            Some((group, _)) => *group == *migration.group,
            None => migration.group.is_empty(),
        };
        match served.failed.keys().find(is_of_group) {
            Some(version) => {
                Found::Unknown(format!("the API server does not say what {version} has"))
            }
            None => Found::Missing,
        }
    }
}

/// Whether the kind of a migration may still appear.
fn may_appear(migration: &StorageVersionMigration, now: Time) -> bool {
    let created = migration.meta.creation_timestamp;
    created.is_some_and(|created| now < created + APPEARS_MAX)
}

/// A kind as Go prints its `GroupVersionResource`.
fn printed(kind: &ServedKind) -> String {
    let resource = &kind.resource;
    format!("{}/{}, Resource={}", resource.group, resource.version, resource.plural)
}

/// As `isWellFormed` of apimachinery's util/resourceversion, or what it says instead.
fn version(text: &str) -> Result<u64, String> {
    let is_well_formed = !text.starts_with('0') && text.bytes().all(|byte| byte.is_ascii_digit());
    let version = if is_well_formed { text.parse().ok() } else { None };
    version.ok_or_else(|| format!("resource version is not well formed: {text}"))
}
