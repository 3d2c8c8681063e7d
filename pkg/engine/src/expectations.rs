//! Read your writes.
//!
//! A controller that acts on a cache older than its own last write creates duplicates. After a plan
//! was acted on, its key is *unsettled* until the caches have caught up: until each cache that may
//! show a written object has reached the version of the write (versions of a kind are comparable
//! since Kubernetes 1.35), and until the caches that hold a deleted object mark it as terminating,
//! or no longer hold it if the write removed it. A cache that selects by fields reaches a version
//! by an event of its own, or within a minute by a bookmark. Replaces upstream's
//! `ControllerExpectations` (pkg/controller/controller_utils.go) and `ConsistencyStore`
//! (pkg/controller/util/consistency).

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use api::{Key, Resource, Text};
use cache::Selection;
use controller::Deletion;
use runtime::Instant;

/// After this long, a key no longer waits for the deletion of an object or the end of a namespace.
/// As upstream's `ExpectationsTimeout`. A key waits for versions without limit, as upstream's
/// `ConsistencyStore`: a cache that has not caught up in this time is too stale to act on.
pub(crate) const LIMIT: Duration = Duration::from_mins(5);

/// How long after [`LIMIT`] a key is enqueued, and the time between two checks of all keys.
const MARGIN: Duration = Duration::from_secs(1);

/// The expectations of all keys of one controller. Pure: the caller passes in what the caches show.
#[derive(Debug, Default)]
#[expect(clippy::struct_field_names, reason = "indexes are named by what they find by")]
pub(crate) struct Expectations {
    /// Only unsettled keys.
    by_key: BTreeMap<Key, Awaited>,
    /// The keys that wait for a version of a cache; consistent with `by_key`.
    by_version: BTreeMap<Selection, BTreeSet<(u64, Key)>>,
    /// The keys that wait for a deletion; consistent with `by_key`.
    by_uid: BTreeMap<(Selection, Text, Deletion), BTreeSet<Key>>,
}

/// A version that no cache reaches: the obstacle ends with the key's own object, or by itself.
pub(crate) const NEVER: u64 = u64::MAX;

/// How far the caches have caught up with the writes for a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Settled {
    /// All writes are visible: act.
    Yes,
    /// Writes to other objects are not visible yet: report the status, do not act.
    NotOthers,
    /// A write to the key's own object is not visible yet: do nothing, since the next write to it
    /// would be refused.
    NotSelf,
}

/// The expectations of a key.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Awaits {
    /// The caches must reach these versions.
    pub(crate) versions: Vec<(Selection, u64)>,
    /// In these caches the deletion of the object with this uid must have come so far.
    pub(crate) deletions: Vec<(Selection, Text, Deletion)>,
    /// The last write.
    pub(crate) since: Instant,
}

#[derive(Debug)]
struct Awaited {
    versions: BTreeMap<Selection, u64>,
    deletions: BTreeSet<(Selection, Text, Deletion)>,
    /// The last write.
    since: Instant,
}

impl Expectations {
    /// A write for `key` gave an object of `selection` this version.
    pub(crate) fn expect_version(
        &mut self,
        key: &Key,
        selection: &Selection,
        version: u64,
        now: Instant,
    ) {
        let awaited = self.awaited(key, now);
        let highest = awaited.versions.entry(selection.clone()).or_insert(0);
        if version <= *highest {
            return;
        }
        let before = std::mem::replace(highest, version);
        let waiting = self.by_version.entry(selection.clone()).or_default();
        waiting.remove(&(before, key.clone()));
        waiting.insert((version, key.clone()));
    }

    /// A write for `key` brought the deletion of the object of `selection` with this uid so far.
    pub(crate) fn expect_deleted(
        &mut self,
        key: &Key,
        selection: &Selection,
        (deletion, uid): (Deletion, &Text),
        now: Instant,
    ) {
        let object = (selection.clone(), uid.clone(), deletion);
        self.awaited(key, now).deletions.insert(object.clone());
        self.by_uid.entry(object).or_default().insert(key.clone());
    }

    /// The cache of `selection` has reached `version`. Returns the keys that this settles.
    pub(crate) fn reached(&mut self, selection: &Selection, version: u64) -> Vec<Key> {
        let Some(waiting) = self.by_version.get_mut(selection) else { return Vec::new() };
        let mut settled = Vec::new();
        while waiting.first().is_some_and(|(awaited, _)| *awaited <= version) {
            let Some((_, key)) = waiting.pop_first() else { break };
            if let Some(awaited) = self.by_key.get_mut(&key) {
                awaited.versions.remove(selection);
                if awaited.is_settled() {
                    self.by_key.remove(&key);
                    settled.push(key);
                }
            }
        }
        settled
    }

    /// The cache of `selection` shows that the deletion of the object has come so far. Returns the
    /// keys that this settles.
    pub(crate) fn deleted(
        &mut self,
        selection: &Selection,
        (deletion, uid): (Deletion, &Text),
    ) -> Vec<Key> {
        let mut settled = self.settle_deletion(selection, (Deletion::Marked, uid));
        if deletion == Deletion::Removed {
            settled.extend(self.settle_deletion(selection, (Deletion::Removed, uid)));
        }
        settled
    }

    fn settle_deletion(
        &mut self,
        selection: &Selection,
        (deletion, uid): (Deletion, &Text),
    ) -> Vec<Key> {
        if self.by_uid.is_empty() {
            return Vec::new();
        }
        let object = (selection.clone(), uid.clone(), deletion);
        let mut waiting = self.by_uid.remove(&object).unwrap_or_default();
        waiting.retain(|key| {
            let Some(awaited) = self.by_key.get_mut(key) else { return false };
            awaited.deletions.remove(&object);
            awaited.is_settled()
        });
        for key in &waiting {
            self.by_key.remove(key);
        }
        waiting.into_iter().collect()
    }

    /// The cache of `selection` is dropped and will never show anything again. Returns the keys
    /// that this settles.
    pub(crate) fn dropped(&mut self, selection: &Selection) -> Vec<Key> {
        let mut settled = self.reached(selection, NEVER);
        self.by_version.remove(selection);
        let objects = self.by_uid.keys().filter(|(of, ..)| of == selection);
        let uids: Vec<_> = objects.map(|(_, uid, _)| uid.clone()).collect();
        for uid in uids {
            settled.extend(self.deleted(selection, (Deletion::Removed, &uid)));
        }
        settled
    }

    /// How far the caches have caught up for a key of kind `own`. Expectations with a limit that
    /// are older than [`LIMIT`] are given up first.
    pub(crate) fn settled(&mut self, key: &Key, own: Option<&Resource>, now: Instant) -> Settled {
        let is_old = |awaited: &Awaited| now.duration_since(awaited.since) > LIMIT;
        if self.by_key.get(key).is_some_and(is_old) {
            self.give_up(key);
        }
        let Some(awaited) = self.by_key.get(key) else { return Settled::Yes };
        let is_own = |own: &Resource| awaited.versions.keys().any(|it| it.resource == *own);
        let is_own = own.is_some_and(is_own);
        if is_own { Settled::NotSelf } else { Settled::NotOthers }
    }

    /// The keys with expectations that are overdue, and when to check again.
    pub(crate) fn overdue(&self, now: Instant) -> (Vec<Key>, Instant) {
        let (mut overdue, mut next) = (Vec::new(), now + LIMIT);
        for (key, awaited) in self.by_key.iter().filter(|(_, awaited)| awaited.has_limit()) {
            let end = awaited.since + LIMIT + MARGIN;
            if end <= now {
                overdue.push(key.clone());
            } else {
                next = next.min(end.max(now + MARGIN));
            }
        }
        (overdue, next)
    }

    /// Drops the expectations of `key` that have a limit.
    fn give_up(&mut self, key: &Key) {
        let Some(awaits) = self.awaits(key) else { return };
        self.forget(key);
        for (selection, version) in awaits.versions {
            if version != NEVER {
                self.expect_version(key, &selection, version, awaits.since);
            }
        }
    }

    /// Drops all expectations of `key`: its object was deleted, and a new one of the same name
    /// starts clean.
    pub(crate) fn forget(&mut self, key: &Key) {
        let Some(awaited) = self.by_key.remove(key) else { return };
        for (selection, version) in awaited.versions {
            if let Some(waiting) = self.by_version.get_mut(&selection) {
                waiting.remove(&(version, key.clone()));
            }
        }
        for object in awaited.deletions {
            if let Some(waiting) = self.by_uid.get_mut(&object) {
                waiting.remove(key);
                if waiting.is_empty() {
                    self.by_uid.remove(&object);
                }
            }
        }
    }

    /// The expectations of `key`; none if it is settled.
    pub(crate) fn awaits(&self, key: &Key) -> Option<Awaits> {
        let Awaited { versions, deletions, since } = self.by_key.get(key)?;
        let versions = versions.iter().map(|(selection, version)| (selection.clone(), *version));
        Some(Awaits {
            versions: versions.collect(),
            deletions: deletions.iter().cloned().collect(),
            since: *since,
        })
    }

    /// The number of unsettled keys.
    pub(crate) fn len(&self) -> usize {
        self.by_key.len()
    }

    /// Whether no key is unsettled.
    #[cfg(test)]
    pub(crate) fn is_empty(&self) -> bool {
        self.by_key.is_empty()
    }

    fn awaited(&mut self, key: &Key, now: Instant) -> &mut Awaited {
        let awaited = self.by_key.entry(key.clone()).or_insert_with(|| Awaited {
            versions: BTreeMap::new(),
            deletions: BTreeSet::new(),
            since: now,
        });
        awaited.since = now;
        awaited
    }
}

impl Awaited {
    /// Whether some of it has a limit.
    fn has_limit(&self) -> bool {
        !self.deletions.is_empty() || self.versions.values().any(|version| *version == NEVER)
    }

    fn is_settled(&self) -> bool {
        self.versions.is_empty() && self.deletions.is_empty()
    }
}
