//! Where objects are: all of them at one revision, and what changed lately. Pure.
//!
//! Objects of a table are in the order of their paths (`namespace/name`, compared as text), which
//! is the order in which etcd keeps them and clients see them.

mod disk;
mod event;
mod snapshot;
mod stored;

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ops::Bound;
use std::sync::Arc;

use api::Key;
use serde_json::Value;

pub(crate) use event::Event;
pub(crate) use snapshot::Snapshot;
pub(crate) use stored::{Stored, TypeMeta, encode};

/// Names the objects of one resource, whatever the version: `pods`, `deployments.apps`.
pub(crate) type Table = Arc<str>;
/// `namespace/name`, or `name` outside namespaces.
type Path = Box<str>;

/// All objects.
pub(crate) struct Store {
    /// The version of the last write.
    revision: u64,
    tables: BTreeMap<Table, Objects>,
    limits: Limits,
    /// Changes before this revision are no longer served, whatever the table.
    floor: u64,
    /// The tables that were written to since the last call.
    changed: BTreeSet<Table>,
}

/// How much is remembered of each table, for watches and for continued lists.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// Changes.
    pub(crate) changes: usize,
    /// What the objects take that only the history holds, roughly.
    pub(crate) bytes: usize,
}

/// How much a server holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Resources with objects, or that had some lately.
    pub tables: usize,
    /// Objects.
    pub objects: usize,
    /// Changes that are remembered.
    pub changes: usize,
    /// What only the history holds, roughly.
    pub history_bytes: usize,
    /// Open watches.
    pub watches: usize,
}

/// The objects of a table.
#[derive(Default)]
struct Objects {
    by_path: BTreeMap<Path, Arc<Stored>>,
    /// The last changes, oldest first.
    history: VecDeque<Arc<Event>>,
    /// What only the history holds.
    history_bytes: usize,
    /// The revision of the last change that was forgotten.
    forgotten: u64,
}

/// A revision that is asked for and no longer known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Compacted {
    /// The oldest one that is known.
    pub(crate) oldest: u64,
}

// === impl Store ===

impl Store {
    /// An empty one, at revision 1, that remembers so many changes of each table.
    pub(crate) fn new(limits: impl Into<Limits>) -> Self {
        let (tables, changed) = (BTreeMap::new(), BTreeSet::new());
        Self { revision: 1, tables, limits: limits.into(), floor: 0, changed }
    }

    /// The version of the last write.
    pub(crate) fn revision(&self) -> u64 {
        self.revision
    }

    /// An object.
    pub(crate) fn get(&self, table: &str, key: &Key) -> Option<&Arc<Stored>> {
        self.tables.get(table)?.by_path.get(&*key.to_string())
    }

    /// The objects of a table in the order of their paths: those of a namespace, or all.
    pub(crate) fn list(&self, table: &str, namespace: Option<&str>) -> Vec<Arc<Stored>> {
        let Some(objects) = self.tables.get(table) else { return Vec::new() };
        let within = objects.by_path.range::<str, _>(snapshot::bounds(&range(namespace)));
        within.map(|(_, it)| it.clone()).collect()
    }

    /// Writes an object: sets its version and adds to the history.
    pub(crate) fn put(&mut self, table: &Table, key: &Key, mut object: Value) -> Arc<Stored> {
        self.revision += 1;
        set_version(&mut object, self.revision);
        let stored = Arc::new(Stored::new(self.revision, object));
        let objects = self.tables.entry(table.clone()).or_default();
        let before = objects.by_path.insert(key.to_string().into(), stored.clone());
        let event = Event::new(self.revision, key.clone(), before, Some(stored.clone()));
        objects.remember(event, self.limits);
        self.changed.insert(table.clone());
        stored
    }

    /// Removes an object, and returns it as it was. The removal has a version of its own.
    pub(crate) fn remove(&mut self, table: &str, key: &Key) -> Option<Arc<Stored>> {
        let name = self.tables.get_key_value(table)?.0.clone();
        let objects = self.tables.get_mut(table)?;
        let before = objects.by_path.remove(&*key.to_string())?;
        self.revision += 1;
        let event = Event::new(self.revision, key.clone(), Some(before.clone()), None);
        objects.remember(event, self.limits);
        self.changed.insert(name);
        Some(before)
    }

    /// The changes of a table after a revision, oldest first.
    pub(crate) fn after(
        &self,
        table: &str,
        revision: u64,
    ) -> Result<impl Iterator<Item = &Arc<Event>>, Compacted> {
        self.reaches(table, revision)?;
        self.follow(table, revision)
    }

    /// The same for a watch that has seen all up to `revision`: only a gap after that matters.
    pub(crate) fn follow(
        &self,
        table: &str,
        revision: u64,
    ) -> Result<impl Iterator<Item = &Arc<Event>>, Compacted> {
        let objects = self.tables.get(table);
        if let Some(objects) = objects.filter(|objects| revision < objects.forgotten) {
            return Err(Compacted { oldest: objects.forgotten });
        }
        Ok(objects.into_iter().flat_map(move |objects| objects.after(revision)))
    }

    /// A table as it was at a revision (that is not ahead).
    pub(crate) fn at(&self, table: &str, revision: u64) -> Result<Snapshot<'_>, Compacted> {
        self.reaches(table, revision)?;
        Ok(self.tables.get(table).map_or_else(Snapshot::empty, |objects| {
            Snapshot::new(&objects.by_path, objects.after(revision))
        }))
    }

    /// All as it was at a revision (that is not ahead), with the history up to then.
    pub(crate) fn as_of(&self, revision: u64) -> Result<Self, Compacted> {
        if revision < self.floor {
            return Err(Compacted { oldest: self.floor });
        }
        let mut then = Self::new(self.limits);
        then.floor = self.floor;
        then.revision = revision;
        for (table, objects) in &self.tables {
            let snapshot = self.at(table, revision)?;
            let by_path = snapshot.objects(None, None);
            let by_path = by_path.map(|(path, it)| (path.into(), it.clone())).collect();
            let end = objects.history.partition_point(|event| event.revision <= revision);
            let history: VecDeque<_> = objects.history.range(..end).cloned().collect();
            let history_bytes = history.iter().map(|event| event.bytes()).sum();
            let forgotten = objects.forgotten;
            let objects = Objects { by_path, history, history_bytes, forgotten };
            then.tables.insert(table.clone(), objects);
        }
        Ok(then)
    }

    /// Whether what a table was at a revision is known.
    fn reaches(&self, table: &str, revision: u64) -> Result<(), Compacted> {
        let forgotten = self.tables.get(table).map_or(0, |objects| objects.forgotten);
        let oldest = forgotten.max(self.floor);
        if revision < oldest { Err(Compacted { oldest }) } else { Ok(()) }
    }

    /// Forgets what was before a revision, as etcd does on a compaction.
    pub(crate) fn compact(&mut self, before: u64) {
        let before = before.min(self.revision);
        self.floor = self.floor.max(before);
        self.tables.values_mut().for_each(|objects| objects.forget_up_to(before));
        // A table without objects may have forgotten changes after the floor: it stays to say so.
        let floor = self.floor;
        self.tables.retain(|_, it| {
            !it.by_path.is_empty() || !it.history.is_empty() || it.forgotten > floor
        });
    }

    /// The tables that were written to since this was last asked.
    pub(crate) fn take_changed(&mut self) -> BTreeSet<Table> {
        std::mem::take(&mut self.changed)
    }

    /// How much there is.
    pub(crate) fn counts(&self) -> Counts {
        let start = Counts { tables: self.tables.len(), ..Counts::default() };
        self.tables.values().fold(start, |counts, objects| Counts {
            objects: counts.objects + objects.by_path.len(),
            changes: counts.changes + objects.history.len(),
            history_bytes: counts.history_bytes + objects.history_bytes,
            ..counts
        })
    }
}

// === impl Limits ===

/// So many changes, whatever they take.
impl From<usize> for Limits {
    fn from(changes: usize) -> Self {
        Self { changes, bytes: usize::MAX }
    }
}

// === impl Objects ===

impl Objects {
    /// The changes after a revision, those that are remembered.
    fn after(&self, revision: u64) -> impl DoubleEndedIterator<Item = &Arc<Event>> {
        let start = self.history.partition_point(|event| event.revision <= revision);
        self.history.range(start..)
    }

    fn remember(&mut self, event: Event, limits: Limits) {
        self.history_bytes += event.bytes();
        self.history.push_back(Arc::new(event));
        while self.history.len() > limits.changes || self.history_bytes > limits.bytes {
            if !self.forget() {
                break;
            }
        }
    }

    fn forget_up_to(&mut self, revision: u64) {
        while self.history.front().is_some_and(|event| event.revision <= revision) {
            self.forget();
        }
    }

    /// Forgets the oldest change; false: there is none.
    fn forget(&mut self) -> bool {
        let Some(event) = self.history.pop_front() else { return false };
        self.history_bytes = self.history_bytes.saturating_sub(event.bytes());
        self.forgotten = event.revision;
        true
    }
}

/// The paths of a namespace, or all: from the first, up to the second and without it.
fn range(namespace: Option<&str>) -> (Bound<String>, Bound<String>) {
    match namespace {
        // What follows `/` among characters is `0`.
        Some(namespace) => {
            (Bound::Included(format!("{namespace}/")), Bound::Excluded(format!("{namespace}0")))
        }
        None => (Bound::Unbounded, Bound::Unbounded),
    }
}

/// `metadata.resourceVersion`.
fn set_version(object: &mut Value, revision: u64) {
    if object.get("metadata").is_none_or(|metadata| !metadata.is_object()) && object.is_object() {
        object["metadata"] = Value::Object(serde_json::Map::new());
    }
    if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.insert("resourceVersion".to_owned(), revision.to_string().into());
    }
}
