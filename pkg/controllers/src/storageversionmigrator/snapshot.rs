//! What a sync of the migrator looks at.

use std::sync::Arc;

use api::{AnyObject, Key, Meta, StorageVersionMigration, Time};
use controller::View;

use super::decide::PORTION;
use super::{Found, Memory, version};

/// A migration, and what it is about.
#[derive(Clone, Debug)]
pub struct Snapshot {
    pub(super) migration: Arc<StorageVersionMigration>,
    pub(super) kind: Found,
    pub(super) objects: Option<Objects>,
    pub(super) now: Time,
}

/// The objects of a kind.
#[derive(Clone, Debug)]
pub(super) struct Objects {
    /// Up to which version they are known.
    pub(super) shown: u64,
    /// Those behind the last one that was stored anew, no more than a portion and one.
    pub(super) next: Vec<Meta>,
    /// How many there are behind it.
    pub(super) left: usize,
}

pub(super) fn observe(key: &Key, view: &View<'_>, memory: &Memory) -> Option<Snapshot> {
    let migration = view.of::<StorageVersionMigration>().get(key)?;
    let kind = memory.kind_of(&migration);
    let done = memory.done.get(key).filter(|(uid, _)| *uid == migration.meta.uid);
    let objects = objects(&migration, &kind, done.map(|(_, last)| last), view);
    Some(Snapshot { migration, kind, objects, now: view.now })
}

/// What is left to be stored anew; none: it is not time for that, or not listed.
fn objects(
    migration: &StorageVersionMigration,
    kind: &Found,
    done: Option<&Key>,
    view: &View<'_>,
) -> Option<Objects> {
    let Found::Served(kind) = kind else { return None };
    let until = version(&migration.until).ok().filter(|_| !migration.is_over())?;
    let cache = view.metadata(&kind.resource)?;
    // Before the objects are looked at.
    let shown = cache.version();
    let is_left = |object: &Arc<dyn AnyObject>| {
        let meta = object.metadata();
        meta.resource_version <= until && done.is_none_or(|done| meta.key > *done)
    };
    let left: Vec<_> = cache.all().into_iter().filter(is_left).collect();
    let next = left.iter().take(PORTION + 1).map(|it| it.metadata().clone()).collect();
    Some(Objects { shown, next, left: left.len() })
}
