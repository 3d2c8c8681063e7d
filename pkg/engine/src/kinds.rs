//! The caches that a controller reads.

use std::collections::BTreeSet;
use std::sync::Arc;

use api::{Key, Resource};
use cache::{Informer, Listers, Selection};
use controller::{Deletion, ObjectRef};

/// The kinds that a controller reads.
#[derive(Default)]
pub(crate) struct Kinds {
    pub(crate) listers: Listers,
    /// Sorted by what they watch, none twice.
    pub(crate) informers: Vec<Arc<Informer>>,
    /// Those without which it starts, too, if the API server does not serve their kinds.
    pub(crate) optional: Vec<Arc<Informer>>,
    /// The metadata of all kinds, for a controller that asked for it.
    pub(crate) everything: Option<Arc<cache::Everything>>,
}

// === impl Kinds ===

impl Kinds {
    /// The kinds that the controller reads, as text.
    pub(crate) fn names(&self) -> Vec<String> {
        let everything = self.everything.iter().map(|_| "metadata of all kinds".to_owned());
        let all = self.informers.iter().chain(&self.optional);
        let selections: BTreeSet<_> = all.map(|it| it.selection()).collect();
        selections.into_iter().map(ToString::to_string).chain(everything).collect()
    }

    /// The caches that may show the object with this key, which has an empty name if that is not
    /// known. None if the controller does not read the kind: then the key does not wait for the
    /// write.
    pub(crate) fn selections(&self, resource: &Resource, key: &Key) -> BTreeSet<Selection> {
        let of_kind = self.informers.iter().map(|informer| informer.selection());
        let mut of_kind = of_kind.filter(|it| it.resource == *resource).peekable();
        if of_kind.peek().is_none() {
            let everything = self.everything.as_ref();
            let is_watched = everything.is_some_and(|all| all.version_of(resource).is_some());
            return is_watched.then(|| Selection::whole(resource.clone())).into_iter().collect();
        }
        of_kind.filter(|it| it.may_hold(key)).cloned().collect()
    }

    /// The version of a cache; none if the controller does not read it.
    pub(crate) fn version_of(&self, selection: &Selection) -> Option<u64> {
        let of_all = || self.everything.as_ref()?.version_of(&selection.resource);
        self.of(selection).map(|informer| informer.version()).min().or_else(of_all)
    }

    /// The version that the handlers of a cache are notified of; none if the controller does not
    /// read it.
    pub(crate) fn notified_version(&self, selection: &Selection) -> Option<u64> {
        let of_all = || self.everything.as_ref()?.notified_version(&selection.resource);
        self.of(selection).map(|informer| informer.notified()).min().or_else(of_all)
    }

    /// Whether the cache does not show yet that the deletion of this object has come so far.
    pub(crate) fn lacks(
        &self,
        selection: &Selection,
        object: &ObjectRef,
        deletion: Deletion,
    ) -> bool {
        let ObjectRef { resource, key, uid, .. } = object;
        let lacks = |held: Option<bool>| match deletion {
            Deletion::Marked => held.is_some_and(|is_terminating| !is_terminating),
            Deletion::Removed => held.is_some(),
        };
        if self.of(selection).next().is_none() {
            return self
                .everything
                .as_ref()
                .is_some_and(|all| lacks(all.holds(resource, key, uid)));
        }
        self.of(selection).any(|informer| lacks(informer.holds(key, uid)))
    }

    /// The informers of the same objects: one for each view of the controller.
    pub(crate) fn of(&self, selection: &Selection) -> impl Iterator<Item = &Arc<Informer>> {
        self.informers.iter().filter(move |informer| informer.selection() == selection)
    }

    pub(crate) fn add(&mut self, informer: Arc<Informer>) {
        if self.informers.iter().any(|known| Arc::ptr_eq(known, &informer)) {
            return;
        }
        let at = self.informers.partition_point(|it| it.selection() <= informer.selection());
        self.informers.insert(at, informer);
    }
}
