//! Owners that are known not to exist.

use std::collections::BTreeMap;

use api::{OwnerRef, Text, intern};
use mutant::Mutant;

use super::identity::Identity;

/// How many are remembered. Upstream has 500 (`NewReferenceCache`): a namespace with more owners
/// than that, deleted at once, makes it ask again and again. One entry costs about 250 bytes.
pub(super) const ABSENT_MAX: usize = 10_000;

/// The owners that a live read did not find; the least recently used are dropped first. Uids are
/// never used twice, so what is in here stays true for ever.
#[derive(Debug)]
pub(super) struct Absent {
    /// To when it was used last.
    known: BTreeMap<Identity, u64>,
    by_age: BTreeMap<u64, Identity>,
    /// Counts the uses.
    now: u64,
    max: usize,
}

impl Absent {
    pub(super) fn new(max: usize) -> Self {
        Self { known: BTreeMap::new(), by_age: BTreeMap::new(), now: 0, max }
    }

    pub(super) fn add(&mut self, identity: Identity) {
        self.touch(identity);
        while self.known.len() > self.max
            && let Some((_, oldest)) = self.by_age.pop_first()
        {
            self.known.remove(&oldest);
        }
    }

    /// Whether it is known not to exist.
    pub(super) fn has(&self, identity: &Identity) -> bool {
        self.known.contains_key(identity)
    }

    /// Whether the owner that an object in `namespace` means is known not to exist: outside
    /// namespaces, or in this one.
    pub(super) fn has_owner(&self, owner: &OwnerRef, namespace: &Text) -> bool {
        if mutant::is(Mutant::AbsentAnywhere) {
            return self.known.keys().any(|known| known.uid == owner.uid);
        }
        !self.known.is_empty()
            && (self.has(&Identity::of(owner, &intern("")))
                || self.has(&Identity::of(owner, namespace)))
    }

    /// A decision relied on the absence of this owner: it will be forgotten later than others.
    pub(super) fn used(&mut self, owner: &OwnerRef, namespace: &Text) {
        for identity in [Identity::of(owner, &intern("")), Identity::of(owner, namespace)] {
            if self.has(&identity) {
                self.touch(identity);
            }
        }
    }

    fn touch(&mut self, identity: Identity) {
        self.now += 1;
        if let Some(before) = self.known.insert(identity.clone(), self.now) {
            self.by_age.remove(&before);
        }
        self.by_age.insert(self.now, identity);
    }

    #[cfg(test)]
    pub(super) fn all(&self) -> Vec<Identity> {
        self.known.keys().cloned().collect()
    }
}
