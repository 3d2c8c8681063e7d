//! The objects of one kind, by key and by the kind's indexes.

use std::borrow::Borrow;
use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};
use std::slice::from_ref;
use std::sync::Arc;
use std::time::Duration;

use api::{AnyObject, Found, Key, Meta, Shape, Text};
use controller::{Cache, Change, Show};
use mutant::Mutant;

/// The cached objects of one kind.
///
/// Never shows an older state: an event that is older than the cached object, or than the store's
/// version for an object that is not cached, changes nothing. Each method that changes the store
/// returns the changes in the order for handlers. If one of them panics, the objects are as they
/// were before, and the indexes can be rebuilt from them.
pub(crate) struct Store {
    shape: Shape,
    /// A set: a map would hold each key twice, which costs some 45 bytes an object.
    objects: BTreeSet<ByKey>,
    /// One for each index of the kind, in their order. A bucket is sorted by key and never empty: a
    /// vector costs 16 bytes an object, where a map would cost some 70.
    indexes: Vec<BTreeMap<Text, Vec<Arc<dyn AnyObject>>>>,
    version: u64,
}

/// An object as its key.
struct ByKey(Arc<dyn AnyObject>);

// === impl Store ===

impl Store {
    /// An empty store of objects of this shape.
    pub(crate) fn new(shape: Shape) -> Self {
        let indexes = shape.indexes().map(|_| BTreeMap::new()).collect();
        Self { shape, objects: BTreeSet::new(), indexes, version: 0 }
    }

    /// The highest resource version up to which the store is known to be complete; 0 before the
    /// first list.
    pub(crate) fn version(&self) -> u64 {
        self.version
    }

    /// The number of objects.
    pub(crate) fn len(&self) -> usize {
        self.objects.len()
    }

    /// The object with this key.
    pub(crate) fn get(&self, key: &Key) -> Option<&Arc<dyn AnyObject>> {
        self.objects.get(key).map(|object| &object.0)
    }

    /// Adds or changes an object. One with another uid under the same key gives a deletion and an
    /// addition.
    pub(crate) fn apply(&mut self, object: Arc<dyn AnyObject>) -> Vec<Change<dyn AnyObject>> {
        let meta = object.metadata();
        let version = meta.resource_version;
        let held = self.get(&meta.key).map(Arc::clone);
        if version <= held.as_ref().map_or(self.version, |held| held.metadata().resource_version) {
            return Vec::new();
        }
        let changes = match held {
            None => vec![Change::Added(Arc::clone(&object))],
            Some(old)
                if old.metadata().uid == object.metadata().uid
                    || mutant::is(Mutant::UidIgnored) =>
            {
                vec![Change::Updated { old, new: Arc::clone(&object) }]
            }
            Some(old) => vec![Change::Deleted(old), Change::Added(Arc::clone(&object))],
        };
        for change in &changes {
            self.index(change);
        }
        self.objects.replace(ByKey(object));
        self.advance(version);
        changes
    }

    /// Deletes the object of `meta`. `last` is its final state, if that could be decoded; otherwise
    /// handlers get the cached state.
    pub(crate) fn delete(
        &mut self,
        meta: &Meta,
        last: Option<Arc<dyn AnyObject>>,
    ) -> Vec<Change<dyn AnyObject>> {
        let held = self.get(&meta.key).filter(|_| !mutant::is(Mutant::DeletionIgnored));
        let Some(held) = held else {
            self.advance(meta.resource_version);
            return Vec::new();
        };
        if meta.resource_version < held.metadata().resource_version {
            return Vec::new();
        }
        let held = Arc::clone(held);
        self.index(&Change::Deleted(Arc::clone(&held)));
        self.objects.remove(&meta.key);
        self.advance(meta.resource_version);
        let last = last.filter(|last| last.metadata().uid == held.metadata().uid);
        vec![Change::Deleted(last.unwrap_or(held))]
    }

    /// Replaces everything by `objects`, the complete list at `version`. Deletions come first, so
    /// that a handler never sees a name, an address or a slot taken twice.
    pub(crate) fn replace(
        &mut self,
        mut list: BTreeMap<Key, Arc<dyn AnyObject>>,
        version: u64,
    ) -> Vec<Change<dyn AnyObject>> {
        let mut changes = Vec::new();
        for ByKey(held) in &self.objects {
            match list.get_mut(&held.metadata().key) {
                Some(new) if new.metadata().uid == held.metadata().uid => {
                    if new.metadata().resource_version <= held.metadata().resource_version {
                        *new = Arc::clone(held);
                    }
                }
                Some(_) | None if mutant::is(Mutant::RelistHidesDeletions) => {}
                Some(_) | None => changes.push(Change::Deleted(Arc::clone(held))),
            }
        }
        for (key, new) in &list {
            match self.get(key) {
                Some(held) if Arc::ptr_eq(held, new) => {}
                Some(held) if held.metadata().uid == new.metadata().uid => {
                    changes.push(Change::Updated { old: Arc::clone(held), new: Arc::clone(new) });
                }
                Some(_) | None => changes.push(Change::Added(Arc::clone(new))),
            }
        }
        for change in &changes {
            self.index(change);
        }
        self.objects = list.into_values().map(ByKey).collect();
        self.advance(version);
        changes
    }

    /// Rebuilds the indexes from the objects. An object without a value for an index, or whose
    /// value panics, is not in that index.
    pub(crate) fn index_anew(&mut self) {
        self.indexes.iter_mut().for_each(BTreeMap::clear);
        for ByKey(object) in &self.objects {
            for (at, buckets) in self.indexes.iter_mut().enumerate() {
                let Ok(values) = runtime::fenced(|| object.values(at)) else { continue };
                for value in values.as_slice() {
                    put(buckets.entry(value.clone()).or_default(), object);
                }
            }
        }
    }

    /// Notes that everything up to `version` was seen, as a bookmark reports.
    pub(crate) fn advance(&mut self, version: u64) {
        self.version = self.version.max(version);
    }

    /// Updates the indexes for a change. The old state must be the one that they contain.
    fn index(&mut self, change: &Change<dyn AnyObject>) {
        let (old, new) = match change {
            Change::Added(new) => (None, Some(new)),
            Change::Updated { old, new } => (Some(old), Some(new)),
            Change::Deleted(old) => (Some(old), None),
        };
        let values = |it: Option<&Arc<dyn AnyObject>>, at| it.map(|it| it.values(at));
        for (at, buckets) in self.indexes.iter_mut().enumerate() {
            let (from, to) = (values(old, at), values(new, at));
            let from = from.as_ref().map(Found::as_slice).unwrap_or_default();
            let to = to.as_ref().map(Found::as_slice).unwrap_or_default();
            shift(buckets, (old, from), (new, to));
        }
    }
}

impl Cache for Store {
    fn get(&self, key: &Key) -> Option<Arc<dyn AnyObject>> {
        self.get(key).map(Arc::clone)
    }

    fn by(&self, index: &str, value: &str, show: &mut Show<'_>) {
        let at = self.shape.indexes().position(|known| known == index);
        let buckets = at.and_then(|at| self.indexes.get(at));
        let buckets = buckets.expect("a cache is asked only for the indexes of its kind");
        if let Some(bucket) = buckets.get(value) {
            show(bucket);
        }
    }

    fn all(&self, show: &mut Show<'_>) {
        self.objects.iter().for_each(|ByKey(object)| show(from_ref(object)));
    }

    fn of_namespace(&self, namespace: &str, show: &mut Show<'_>) {
        let from = self.objects.range(Key::new(namespace, "")..);
        let is_there = |it: &&ByKey| *it.0.metadata().key.namespace == *namespace;
        from.take_while(is_there).for_each(|ByKey(object)| show(from_ref(object)));
    }

    /// Filled by the informer.
    fn heard(&self) -> Option<Duration> {
        None
    }

    fn version(&self) -> u64 {
        self.version
    }
}

// === impl ByKey ===

impl Borrow<Key> for ByKey {
    fn borrow(&self) -> &Key {
        &self.0.metadata().key
    }
}

impl Ord for ByKey {
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.metadata().key.cmp(&other.0.metadata().key)
    }
}

impl PartialOrd for ByKey {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for ByKey {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for ByKey {}

/// Moves an object in one index from its old values to the new ones.
fn shift(
    buckets: &mut BTreeMap<Text, Vec<Arc<dyn AnyObject>>>,
    (old, from): (Option<&Arc<dyn AnyObject>>, &[Text]),
    (new, to): (Option<&Arc<dyn AnyObject>>, &[Text]),
) {
    for value in from.iter().filter(|value| !to.contains(value)) {
        if let Some(old) = old {
            remove(buckets, value, &old.metadata().key);
        }
    }
    for value in to {
        if let Some(new) = new {
            put(buckets.entry(value.clone()).or_default(), new);
        }
    }
}

fn put(bucket: &mut Vec<Arc<dyn AnyObject>>, object: &Arc<dyn AnyObject>) {
    match find(bucket, &object.metadata().key) {
        Ok(at) => bucket.splice(at..=at, [Arc::clone(object)]).for_each(drop),
        Err(at) => bucket.insert(at, Arc::clone(object)),
    }
}

fn remove(buckets: &mut BTreeMap<Text, Vec<Arc<dyn AnyObject>>>, value: &Text, key: &Key) {
    let Some(bucket) = buckets.get_mut(value) else { return };
    if let Ok(at) = find(bucket, key) {
        bucket.remove(at);
    }
    if bucket.is_empty() {
        buckets.remove(value);
    }
}

fn find(bucket: &[Arc<dyn AnyObject>], key: &Key) -> Result<usize, usize> {
    bucket.binary_search_by(|object| object.metadata().key.cmp(key))
}
