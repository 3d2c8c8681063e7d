//! What an object is called: by its owners' dependents, and in the keys of the queues.

use std::fmt;

use api::{Key, Meta, OwnerRef, Resource, Text, intern};

/// What is known of an object that a reference names as owner, or that was observed. As upstream's
/// `objectReference`; sorted as its `referenceLessThan`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Identity {
    pub(super) kind: Text,
    pub(super) api_version: Text,
    /// Empty for cluster-scoped objects; for one that was never observed, that of the dependent.
    pub(super) namespace: Text,
    pub(super) name: Text,
    pub(super) uid: Text,
}

impl Identity {
    /// The owner that a reference of an object in `namespace` names.
    pub(super) fn of(owner: &OwnerRef, namespace: &Text) -> Self {
        Self {
            kind: owner.kind.clone(),
            api_version: owner.api_version.clone(),
            namespace: namespace.clone(),
            name: owner.name.clone(),
            uid: owner.uid.clone(),
        }
    }

    /// An object that was observed.
    pub(super) fn observed(resource: &Resource, meta: &Meta) -> Self {
        Self {
            kind: intern(&resource.kind),
            api_version: intern(&resource.api_version()),
            namespace: meta.key.namespace.clone(),
            name: meta.key.name.clone(),
            uid: meta.uid.clone(),
        }
    }

    /// The same one outside namespaces.
    pub(super) fn cluster_scoped(self) -> Self {
        Self { namespace: intern(""), ..self }
    }

    /// Whether a reference says the same, but for the namespace. As upstream's
    /// `ownerReferenceMatchesCoordinates`.
    pub(super) fn matches(&self, owner: &OwnerRef) -> bool {
        self.uid == owner.uid
            && self.name == owner.name
            && self.kind == owner.kind
            && self.api_version == owner.api_version
    }

    /// Its key in the queues.
    pub(super) fn key(&self) -> Key {
        key(&label(&self.api_version, &self.kind), &self.namespace, &self.name, &self.uid)
    }
}

impl fmt::Display for Identity {
    /// As upstream's `objectReference.String`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kind, api_version, namespace, name, uid } = self;
        write!(f, "[{api_version}/{kind}, namespace: {namespace}, name: {name}, uid: {uid}]")
    }
}

/// `Deployment.apps`, or `Pod`: a kind without its version, so that a key outlives the one in which
/// the object is referred to.
pub(super) fn label(api_version: &str, kind: &str) -> String {
    match api_version.split_once('/') {
        Some((group, _)) => format!("{kind}.{group}"),
        None => kind.to_owned(),
    }
}

/// `Deployment.apps:web:<uid>`, in the object's namespace.
pub(super) fn key(label: &str, namespace: &Text, name: &str, uid: &str) -> Key {
    Key { namespace: namespace.clone(), name: format!("{label}:{name}:{uid}").into() }
}

/// The uids that a key may speak of: names may have colons, and uids in references too, since the
/// API server takes any text for them.
pub(super) fn uids(key: &Key) -> impl Iterator<Item = &str> {
    key.name.match_indices(':').filter_map(|(at, _)| key.name.get(at + 1..))
}
