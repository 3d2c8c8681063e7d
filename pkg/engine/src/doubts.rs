//! Writes that failed and may have been done all the same: the connection broke, no answer came in
//! time, or it was a 5xx.
//!
//! Until it is known what came of it, a controller that acts on its caches may make a second object
//! for one that it does not see yet, or scale up twice. So before the key acts again the API server
//! is asked what there is, and the key awaits that its caches show that. Upstream acts at once.
//!
//! The question is a list of metadata, as the user of the informers: who may only create or delete
//! objects of a kind may not list them. Of one object with a known name that object is asked for:
//! its version comes to the cache with an event of its own. An object that got its name from the
//! API server may be any: then it is a short list of all, and if there are more than fit into it,
//! the version of the list, to which the cache comes with the next event or bookmark of the kind.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::{MutexGuard, PoisonError};

use api::{Codec, Key, Meta, Resource, Text};
use client::ApiError;
use controller::ObjectRef;
use mutant::Mutant;
use runtime::Instant;

use crate::act::Act;
use crate::expectations::LIMIT;
use crate::read;

/// The doubts of all keys of one controller: which, and since when.
#[derive(Debug, Default)]
pub(crate) struct Doubts(BTreeMap<Key, BTreeMap<About, Instant>>);

/// What a write was about.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct About {
    resource: Resource,
    namespace: Text,
    /// Empty: an object that was to be made under a name of the API server's choice.
    name: Text,
    /// Empty: an object that was to be made.
    uid: Text,
}

// === impl Doubts ===

impl Doubts {
    /// It is known what came of this write.
    fn end(&mut self, key: &Key, about: &About) {
        if let Some(of_key) = self.0.get_mut(key) {
            of_key.remove(about);
            if of_key.is_empty() {
                self.0.remove(key);
            }
        }
    }

    /// Whoever is gone has nothing to be unsure of.
    fn forget(&mut self, key: &Key) {
        self.0.remove(key);
    }

    /// Those of `key`, each kind and namespace for itself.
    fn places(&self, key: &Key) -> Vec<BTreeMap<About, Instant>> {
        let mut places = BTreeMap::<_, BTreeMap<About, Instant>>::new();
        for (about, since) in self.0.get(key).into_iter().flatten() {
            let place = (about.resource.clone(), about.namespace.clone());
            places.entry(place).or_default().insert(about.clone(), *since);
        }
        places.into_values().collect()
    }
}

// === impl About ===

impl About {
    /// A write to this very object.
    pub(crate) fn object(object: &ObjectRef) -> Self {
        let ObjectRef { resource, key, uid, .. } = object;
        let (namespace, name) = (key.namespace.clone(), key.name.clone());
        Self { resource: resource.clone(), namespace, name, uid: uid.clone() }
    }

    /// What this makes.
    pub(crate) fn create(resource: &Resource, namespace: &Text, body: &str) -> Self {
        let meta = Meta::decode(Codec::Json, body.as_bytes());
        let name = meta.map(|meta| meta.key.name.clone()).unwrap_or_default();
        let (resource, namespace) = (resource.clone(), namespace.clone());
        Self { resource, namespace, name, uid: Text::default() }
    }

    /// Whether to do it twice does no harm. Deletions and patches name a uid, updates a version,
    /// and of two creates under one name the second is refused.
    fn is_repeatable(&self) -> bool {
        !self.name.is_empty()
    }

    /// Without a name if that is not known.
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

impl fmt::Display for About {
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
        write!(f, "may have come of a {what} that failed")
    }
}

// === impl Act ===

impl Act {
    /// The doubts about `key`, in words.
    pub(crate) fn doubts_of(&self, key: &Key) -> Vec<String> {
        self.doubts().0.get(key).into_iter().flatten().map(|(about, _)| about.to_string()).collect()
    }

    /// Nothing is awaited for `key`, and no write of it is in doubt: its object is gone.
    pub(crate) fn forget(&self, key: &Key) {
        self.expectations().forget(key);
        self.doubts().forget(key);
    }

    /// Notes that a write may have been done although it failed. Not of a kind that the controller
    /// does not read: what came of it will never show, and it decides as if it were not done.
    pub(crate) fn doubt(&self, key: &Key, about: About, error: &ApiError) {
        let is_read = !self.kinds.selections(&about.resource, &about.key()).is_empty();
        if error.is_ambiguous() && is_read && !mutant::is(Mutant::LostIsNotDone) {
            let now = self.runtime.clock.instant();
            self.doubts().0.entry(key.clone()).or_default().entry(about).or_insert(now);
        }
    }

    /// What came of earlier writes to this object does not matter any more.
    pub(crate) fn undoubt(&self, key: &Key, object: &ObjectRef) {
        self.doubts().end(key, &About::object(object));
    }

    /// Asks what came of the writes of earlier syncs of which that is not known. An error: it is
    /// still not known.
    pub(crate) async fn clear_doubts(&self, key: &Key) -> Result<(), ApiError> {
        let places = self.doubts().places(key);
        for abouts in places {
            self.clear_place(key, &abouts).await?;
            let mut doubts = self.doubts();
            for about in abouts.keys() {
                doubts.end(key, about);
            }
        }
        Ok(())
    }

    /// The same for the writes of one kind in one namespace.
    async fn clear_place(
        &self,
        key: &Key,
        abouts: &BTreeMap<About, Instant>,
    ) -> Result<(), ApiError> {
        let Some((first, _)) = abouts.first_key_value() else { return Ok(()) };
        let About { resource, namespace, name, .. } = first;
        let only = (abouts.len() == 1 && !name.is_empty()).then_some(&**name);
        let reader = self.paced(&self.reader, key);
        match read::held(&reader, resource, namespace, only).await {
            Ok(held) => self.await_held(key, abouts, &held),
            Err(error) if self.is_vain(abouts, &error) => {
                tracing::warn!(
                    %resource, namespace = &**namespace, %error,
                    "nobody can tell whether the last write was done, going on without"
                );
            }
            Err(error) => return Err(error),
        }
        Ok(())
    }

    /// Whether asking does not help: the kind is gone or nobody may list it. A 403 may pass, as
    /// while an API server starts: it counts at once only where nothing can be made twice.
    fn is_vain(&self, abouts: &BTreeMap<About, Instant>, error: &ApiError) -> bool {
        let now = self.runtime.clock.instant();
        let is_over = |(about, since): (&About, &Instant)| {
            about.is_repeatable() || now.saturating_duration_since(*since) > LIMIT
        };
        let is_gone = error.is_gone() || error.is_not_found() || error.is_method_not_allowed();
        is_gone || (error.is_forbidden() && abouts.iter().all(is_over))
    }

    /// The key awaits that its caches show what there is.
    fn await_held(&self, key: &Key, abouts: &BTreeMap<About, Instant>, held: &read::Held) {
        let uids: Option<BTreeSet<_>> =
            held.objects.as_ref().map(|all| all.iter().map(|meta| &meta.uid).collect());
        for about in abouts.keys() {
            let is_gone = uids.as_ref().is_some_and(|uids| !uids.contains(&about.uid));
            if is_gone && !about.uid.is_empty() {
                self.remember_gone(key, &about.reference());
            }
            self.remember_version(key, &about.resource, &about.key(), held.shows());
        }
    }

    fn doubts(&self) -> MutexGuard<'_, Doubts> {
        self.doubts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
