//! The objects of one kind, by key and by the kind's indexes.

use std::borrow::Borrow;
use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use api::{Key, Meta, Object, Text, Values};
use controller::{Change, Lister};
use mutant::Mutant;

/// What is known of the objects of one kind.
///
/// Never goes back: an event that is older than what is held, or than the version of the store for
/// an object that is not held, changes nothing. Each method that changes it returns the changes in
/// the order in which handlers must hear of them. Should one of them panic, the objects are as they
/// were before, and the indexes can be made from them again.
pub struct Store<T: Object> {
    /// A map would hold each key twice, which is some 45 bytes an object.
    objects: BTreeSet<ByKey<T>>,
    /// One for each of `T::INDEXES`, in that order. A bucket is sorted by key and never empty: a
    /// vector costs 8 bytes an object, where a map would cost some 60.
    indexes: Vec<BTreeMap<Text, Vec<Arc<T>>>>,
    version: u64,
}

/// An object as its key.
struct ByKey<T>(Arc<T>);

// === impl Store ===

impl<T: Object> Default for Store<T> {
    fn default() -> Self {
        let indexes = T::INDEXES.iter().map(|_| BTreeMap::new()).collect();
        Self { objects: BTreeSet::new(), indexes, version: 0 }
    }
}

impl<T: Object> Store<T> {
    /// The highest resource version of which the store is known to hold everything up to it; 0
    /// before the first list.
    pub fn version(&self) -> u64 {
        self.version
    }

    /// The number of objects.
    pub fn len(&self) -> usize {
        self.objects.len()
    }

    /// Whether there is no object.
    pub fn is_empty(&self) -> bool {
        self.objects.is_empty()
    }

    /// The object with this key.
    pub fn get(&self, key: &Key) -> Option<&Arc<T>> {
        self.objects.get(key).map(|object| &object.0)
    }

    /// An object was added or changed. One with another uid under the same key gives a deletion
    /// and an addition.
    pub fn apply(&mut self, object: Arc<T>) -> Vec<Change<T>> {
        let meta = object.meta();
        let version = meta.resource_version;
        let held = self.get(&meta.key).map(Arc::clone);
        if version <= held.as_ref().map_or(self.version, |held| held.meta().resource_version) {
            return Vec::new();
        }
        let changes = match held {
            None => vec![Change::Added(Arc::clone(&object))],
            Some(old) if old.meta().uid == object.meta().uid || mutant::is(Mutant::UidIgnored) => {
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

    /// The object that `meta` speaks of was deleted. `last` is its final state, where that could
    /// be read; otherwise handlers get the state that was held.
    pub fn delete(&mut self, meta: &Meta, last: Option<Arc<T>>) -> Vec<Change<T>> {
        let held = self.get(&meta.key).filter(|_| !mutant::is(Mutant::DeletionIgnored));
        let Some(held) = held else {
            self.advance(meta.resource_version);
            return Vec::new();
        };
        if meta.resource_version < held.meta().resource_version {
            return Vec::new();
        }
        let held = Arc::clone(held);
        self.index(&Change::Deleted(Arc::clone(&held)));
        self.objects.remove(&meta.key);
        self.advance(meta.resource_version);
        let last = last.filter(|last| last.meta().uid == held.meta().uid);
        vec![Change::Deleted(last.unwrap_or(held))]
    }

    /// These are all objects there are, at `version`. Deletions come before all else, so that a
    /// handler never sees a name, an address or a slot taken twice.
    pub fn replace(&mut self, mut list: BTreeMap<Key, Arc<T>>, version: u64) -> Vec<Change<T>> {
        let mut changes = Vec::new();
        for ByKey(held) in &self.objects {
            match list.get_mut(&held.meta().key) {
                Some(new) if new.meta().uid == held.meta().uid => {
                    if new.meta().resource_version <= held.meta().resource_version {
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
                Some(held) if held.meta().uid == new.meta().uid => {
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

    /// Makes the indexes from the objects. One without a value for an index, or for which asking
    /// for it panics, is not in it.
    pub(crate) fn index_anew(&mut self) {
        self.indexes = T::INDEXES.iter().map(|_| BTreeMap::new()).collect();
        for ByKey(object) in &self.objects {
            for (index, buckets) in T::INDEXES.iter().zip(&mut self.indexes) {
                for value in runtime::fenced(|| index.of(object)).unwrap_or_default() {
                    put(buckets.entry(value).or_default(), object);
                }
            }
        }
    }

    /// Everything up to `version` was seen, as a bookmark says.
    pub fn advance(&mut self, version: u64) {
        self.version = self.version.max(version);
    }

    /// Brings the indexes up to a change. The old state must be the one that they know.
    fn index(&mut self, change: &Change<T>) {
        let (old, new) = match change {
            Change::Added(new) => (None, Some(new)),
            Change::Updated { old, new } => (Some(old), Some(new)),
            Change::Deleted(old) => (Some(old), None),
        };
        for (index, buckets) in T::INDEXES.iter().zip(&mut self.indexes) {
            match index.values {
                Values::One(value) => {
                    let (from, to) = (old.and_then(|it| value(it)), new.and_then(|it| value(it)));
                    shift(buckets, (old, from.as_slice()), (new, to.as_slice()));
                }
                Values::Several(values) => {
                    let all = |it: Option<&Arc<T>>| it.map(|it| values(it)).unwrap_or_default();
                    shift(buckets, (old, &all(old)), (new, &all(new)));
                }
            }
        }
    }
}

impl<T: Object> Lister<T> for Store<T> {
    fn get(&self, key: &Key) -> Option<Arc<T>> {
        self.get(key).map(Arc::clone)
    }

    fn by(&self, index: &str, value: &str) -> Vec<Arc<T>> {
        let at = T::INDEXES.iter().position(|known| known.name == index);
        let buckets = at.and_then(|at| self.indexes.get(at));
        let buckets = buckets.expect("a cache is asked only for the indexes of its kind");
        buckets.get(value).cloned().unwrap_or_default()
    }

    fn all(&self) -> Vec<Arc<T>> {
        self.objects.iter().map(|object| Arc::clone(&object.0)).collect()
    }
}

// === impl ByKey ===

impl<T: Object> Borrow<Key> for ByKey<T> {
    fn borrow(&self) -> &Key {
        &self.0.meta().key
    }
}

impl<T: Object> Ord for ByKey<T> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.meta().key.cmp(&other.0.meta().key)
    }
}

impl<T: Object> PartialOrd for ByKey<T> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<T: Object> PartialEq for ByKey<T> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl<T: Object> Eq for ByKey<T> {}

/// Brings one index from an object's old state and its values to the new ones.
fn shift<T: Object>(
    buckets: &mut BTreeMap<Text, Vec<Arc<T>>>,
    (old, from): (Option<&Arc<T>>, &[Text]),
    (new, to): (Option<&Arc<T>>, &[Text]),
) {
    for value in from.iter().filter(|value| !to.contains(value)) {
        if let Some(old) = old {
            remove(buckets, value, &old.meta().key);
        }
    }
    for value in to {
        if let Some(new) = new {
            put(buckets.entry(value.clone()).or_default(), new);
        }
    }
}

fn put<T: Object>(bucket: &mut Vec<Arc<T>>, object: &Arc<T>) {
    match find(bucket, &object.meta().key) {
        Ok(at) => bucket.splice(at..=at, [Arc::clone(object)]).for_each(drop),
        Err(at) => bucket.insert(at, Arc::clone(object)),
    }
}

fn remove<T: Object>(buckets: &mut BTreeMap<Text, Vec<Arc<T>>>, value: &Text, key: &Key) {
    let Some(bucket) = buckets.get_mut(value) else { return };
    if let Ok(at) = find(bucket, key) {
        bucket.remove(at);
    }
    if bucket.is_empty() {
        buckets.remove(value);
    }
}

fn find<T: Object>(bucket: &[Arc<T>], key: &Key) -> Result<usize, usize> {
    bucket.binary_search_by(|object| object.meta().key.cmp(key))
}
