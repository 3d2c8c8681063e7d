//! What every object carries.

use std::borrow::Borrow;
use std::fmt;
use std::sync::Arc;

use crate::intern::{intern_owners, intern_pairs};
use crate::{Text, Time, intern};

/// Names an object within its kind: the reconcile key. Prints as `namespace/name`, or `name` for
/// cluster-scoped kinds, which have an empty namespace.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key {
    /// Empty for cluster-scoped kinds.
    pub namespace: Text,
    /// The object's name.
    pub name: Text,
}

/// The part of `metadata` that controllers read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Meta {
    /// Namespace and name.
    pub key: Key,
    /// Differs between two objects that had the same name one after the other.
    pub uid: Text,
    /// Version of the object, comparable within its kind (since Kubernetes 1.35).
    pub resource_version: u64,
    /// Counts changes of the spec.
    pub generation: i64,
    /// When the API server made it.
    pub creation_timestamp: Option<Time>,
    /// Set once deletion was asked for.
    pub deletion_timestamp: Option<Time>,
    /// The labels.
    pub labels: Labels,
    /// The owners, at most one of them the controller.
    pub owners: Arc<[OwnerRef]>,
    /// What must happen before the object is removed.
    pub finalizers: Box<[Text]>,
}

/// An entry of `metadata.ownerReferences`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct OwnerRef {
    /// `group/version` of the owner.
    pub api_version: Text,
    /// Kind of the owner.
    pub kind: Text,
    /// Name of the owner, in the same namespace or cluster-scoped.
    pub name: Text,
    /// Uid of the owner.
    pub uid: Text,
    /// Whether this owner is the one that manages the object.
    pub controller: bool,
    /// Whether foreground deletion of the owner waits for the object.
    pub block_owner_deletion: bool,
}

/// Labels, sorted by key. Equal sets share their memory.
#[derive(Clone, PartialEq, Eq)]
pub struct Labels(Arc<[(Text, Text)]>);

// === impl Key ===

impl Key {
    /// The key of `name` in `namespace` (empty for cluster-scoped kinds).
    pub fn new(namespace: &str, name: &str) -> Self {
        Self { namespace: intern(namespace), name: Arc::from(name) }
    }

    /// Reads what [`fmt::Display`] writes.
    pub fn parse(text: &str) -> Self {
        let (namespace, name) = text.split_once('/').unwrap_or(("", text));
        Self::new(namespace, name)
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.namespace.is_empty() {
            return f.write_str(&self.name);
        }
        write!(f, "{}/{}", self.namespace, self.name)
    }
}

// === impl Meta ===

impl Meta {
    /// The owner that manages the object.
    pub fn controller(&self) -> Option<&OwnerRef> {
        self.owners.iter().find(|owner| owner.controller)
    }

    /// Whether the owner with this uid manages the object.
    pub fn is_controlled_by(&self, uid: &str) -> bool {
        self.controller().is_some_and(|owner| &*owner.uid == uid)
    }

    /// Whether deletion was asked for.
    pub fn is_terminating(&self) -> bool {
        self.deletion_timestamp.is_some()
    }

    /// Whether it has this finalizer.
    pub fn has_finalizer(&self, finalizer: &str) -> bool {
        self.finalizers.iter().any(|name| &**name == finalizer)
    }

    /// Whether deletion was asked for and waits for this finalizer. As upstream's
    /// `IsDeletionCandidate` in pkg/controller/util/protectionutil.
    pub fn is_held_by(&self, finalizer: &str) -> bool {
        self.is_terminating() && self.has_finalizer(finalizer)
    }

    /// Whether it may still get this finalizer, and has not. As upstream's `NeedToAddFinalizer` in
    /// pkg/controller/util/protectionutil.
    pub fn lacks_finalizer(&self, finalizer: &str) -> bool {
        !self.is_terminating() && !self.has_finalizer(finalizer)
    }
}

// === impl OwnerRef ===

impl OwnerRef {
    /// `owners` with equal lists sharing their memory.
    pub(crate) fn shared(owners: &[Self]) -> Arc<[Self]> {
        intern_owners(owners)
    }
}

// === impl Labels ===

impl Labels {
    /// Labels from pairs in any order; of two with the same key the last one stays.
    pub fn new<K: AsRef<str>, V: AsRef<str>>(pairs: impl IntoIterator<Item = (K, V)>) -> Self {
        let sorted: std::collections::BTreeMap<Text, Text> =
            pairs.into_iter().map(|(k, v)| (intern(k.as_ref()), intern(v.as_ref()))).collect();
        Self(intern_pairs(&sorted.into_iter().collect::<Vec<_>>()))
    }

    /// The value of a label.
    pub fn get(&self, key: &str) -> Option<&str> {
        let at =
            self.0.binary_search_by(|(known, _)| <Text as Borrow<str>>::borrow(known).cmp(key));
        at.ok().and_then(|at| self.0.get(at)).map(|(_, value)| &**value)
    }

    /// All labels, sorted by key.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(key, value)| (&**key, &**value))
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether all of `other` are among them, with the same values. Constant time if both are the
    /// same set, as the labels of a pod and of its template mostly are.
    pub fn contains_all(&self, other: &Self) -> bool {
        self == other || other.iter().all(|(key, value)| self.get(key) == Some(value))
    }
}

impl Default for Labels {
    fn default() -> Self {
        Self(intern_pairs(&[]))
    }
}

impl fmt::Debug for Labels {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter()).finish()
    }
}
