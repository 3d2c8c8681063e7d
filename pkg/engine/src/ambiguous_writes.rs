//! Ambiguous writes: they failed and may have been done all the same. The connection broke, no
//! response came in time, or it was a 5xx.
//!
//! Until the result is known, a controller that acts on its caches may create a second object for
//! one that it does not see yet, or scale up twice. So before it acts for the key again, the engine
//! asks the API server which objects exist, and the key waits until its caches show them. Upstream
//! acts at once.
//!
//! The request is a list of metadata, with the informers' user: a user that may only create or
//! delete objects of a kind may not list them. If the name is known, only that object is requested,
//! and its version reaches the cache with an event of its own. An object with a generated name may
//! be any: the request is a short list of all objects. If there are more than fit into it, the
//! version of the list counts, which the cache reaches with the next event or bookmark of the kind.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::{MutexGuard, PoisonError};

use api::{Codec, Key, Meta, Resource, Text};
use client::ApiError;
use controller::{Deletion, ObjectRef};
use mutant::Mutant;
use runtime::Instant;

use crate::act::Act;
use crate::expectations::LIMIT;
use crate::read;

/// The ambiguous writes of one controller, by key, each with its time.
#[derive(Debug, Default)]
pub(crate) struct AmbiguousWrites(BTreeMap<Key, BTreeMap<Target, Instant>>);

/// The object that a write was meant for.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Target {
    resource: Resource,
    namespace: Text,
    /// Empty: a create with a generated name.
    name: Text,
    /// Empty: a create.
    uid: Text,
}

// === impl AmbiguousWrites ===

impl AmbiguousWrites {
    /// The result of this write is known.
    fn end(&mut self, key: &Key, target: &Target) {
        if let Some(of_key) = self.0.get_mut(key) {
            of_key.remove(target);
            if of_key.is_empty() {
                self.0.remove(key);
            }
        }
    }

    /// The object of the key was deleted: its writes no longer matter.
    fn forget(&mut self, key: &Key) {
        self.0.remove(key);
    }

    /// The writes of `key`, grouped by kind and namespace.
    fn places(&self, key: &Key) -> Vec<BTreeMap<Target, Instant>> {
        let mut places = BTreeMap::<_, BTreeMap<Target, Instant>>::new();
        for (target, since) in self.0.get(key).into_iter().flatten() {
            let place = (target.resource.clone(), target.namespace.clone());
            places.entry(place).or_default().insert(target.clone(), *since);
        }
        places.into_values().collect()
    }
}

// === impl Target ===

impl Target {
    /// A write to this very object.
    pub(crate) fn object(object: &ObjectRef) -> Self {
        let ObjectRef { resource, key, uid, .. } = object;
        let (namespace, name) = (key.namespace.clone(), key.name.clone());
        Self { resource: resource.clone(), namespace, name, uid: uid.clone() }
    }

    /// A create with this body.
    pub(crate) fn create(resource: &Resource, namespace: &Text, body: &str) -> Self {
        let meta = Meta::decode(Codec::Json, body.as_bytes());
        let name = meta.map(|meta| meta.key.name.clone()).unwrap_or_default();
        let (resource, namespace) = (resource.clone(), namespace.clone());
        Self { resource, namespace, name, uid: Text::default() }
    }

    /// Whether a repeated write does no harm. Deletions and patches name a uid, updates a version,
    /// and of two creates under one name the second is refused.
    fn is_repeatable(&self) -> bool {
        !self.name.is_empty()
    }

    /// The name is empty if it is not known.
    fn key(&self) -> Key {
        Key::new(&self.namespace, &self.name)
    }

    fn reference(&self) -> ObjectRef {
        ObjectRef {
            resource: self.resource.clone(),
            key: self.key(),
            uid: self.uid.clone(),
            resource_version: 0,
        }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { resource, namespace, name, uid } = self;
        write!(f, "{resource} ")?;
        if !name.is_empty() {
            write!(f, "{name:?} ")?;
        }
        if !namespace.is_empty() {
            write!(f, "in {namespace:?} ")?;
        }
        let what = if uid.is_empty() { "create" } else { "write" };
        write!(f, "may be the result of a {what} that failed")
    }
}

// === impl Act ===

impl Act {
    /// The ambiguous writes of `key`, as text.
    pub(crate) fn ambiguous_writes_of(&self, key: &Key) -> Vec<String> {
        self.ambiguous_writes()
            .0
            .get(key)
            .into_iter()
            .flatten()
            .map(|(target, _)| target.to_string())
            .collect()
    }

    /// Drops all expectations and ambiguous writes of `key`: its object was deleted.
    pub(crate) fn forget(&self, key: &Key) {
        self.expectations().forget(key);
        self.ambiguous_writes().forget(key);
    }

    /// Notes an ambiguous write, unless the controller does not read the kind: then its result will
    /// never show, and the controller decides as if it was not done.
    pub(crate) fn note_ambiguous(&self, key: &Key, target: Target, error: &ApiError) {
        let is_read = !self.kinds.selections(&target.resource, &target.key()).is_empty();
        if error.is_ambiguous() && is_read && !mutant::is(Mutant::LostIsNotDone) {
            let now = self.runtime.clock.instant();
            self.ambiguous_writes().0.entry(key.clone()).or_default().entry(target).or_insert(now);
        }
    }

    /// The results of earlier writes to this object no longer matter.
    pub(crate) fn forget_ambiguous(&self, key: &Key, object: &ObjectRef) {
        self.ambiguous_writes().end(key, &Target::object(object));
    }

    /// Finds out the results of ambiguous writes of earlier syncs. An error: they are still
    /// unknown.
    pub(crate) async fn resolve_ambiguous(&self, key: &Key) -> Result<(), ApiError> {
        let places = self.ambiguous_writes().places(key);
        for targets in places {
            self.resolve_place(key, &targets).await?;
            let mut ambiguous_writes = self.ambiguous_writes();
            for target in targets.keys() {
                ambiguous_writes.end(key, target);
            }
        }
        Ok(())
    }

    /// As [`Act::resolve_ambiguous`], for the writes of one kind in one namespace.
    async fn resolve_place(
        &self,
        key: &Key,
        targets: &BTreeMap<Target, Instant>,
    ) -> Result<(), ApiError> {
        let Some((first, _)) = targets.first_key_value() else { return Ok(()) };
        let Target { resource, namespace, name, .. } = first;
        let only = (targets.len() == 1 && !name.is_empty()).then_some(&**name);
        let reader = self.paced(&self.reader, key);
        match read::held(&reader, resource, namespace, only).await {
            Ok(held) => self.await_held(key, targets, &held),
            Err(error) if self.is_unknowable(targets, &error) => {
                tracing::warn!(
                    %resource, namespace = &**namespace, %error,
                    "cannot find out whether the last write was done; continuing without"
                );
            }
            Err(error) => return Err(error),
        }
        Ok(())
    }

    /// Whether the result cannot be found out: the kind is no longer served, or listing it is
    /// forbidden. A 403 may be temporary, while an API server starts: it counts at once only for
    /// writes that are safe to repeat.
    fn is_unknowable(&self, targets: &BTreeMap<Target, Instant>, error: &ApiError) -> bool {
        let now = self.runtime.clock.instant();
        let is_over = |(target, since): (&Target, &Instant)| {
            target.is_repeatable() || now.saturating_duration_since(*since) > LIMIT
        };
        let is_gone = error.is_gone() || error.is_not_found() || error.is_method_not_allowed();
        is_gone || (error.is_forbidden() && targets.iter().all(is_over))
    }

    /// Makes the key wait until its caches show the objects that exist.
    fn await_held(&self, key: &Key, targets: &BTreeMap<Target, Instant>, held: &read::Held) {
        let uids: Option<BTreeSet<_>> =
            held.objects.as_ref().map(|all| all.iter().map(|meta| &meta.uid).collect());
        for target in targets.keys() {
            let is_gone = uids.as_ref().is_some_and(|uids| !uids.contains(&target.uid));
            if is_gone && !target.uid.is_empty() {
                self.remember_deleted(key, &target.reference(), Deletion::Removed);
            }
            self.remember_version(key, &target.resource, &target.key(), held.shows());
        }
    }

    fn ambiguous_writes(&self) -> MutexGuard<'_, AmbiguousWrites> {
        self.ambiguous_writes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
