//! A node of the graph.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use api::{Key, Meta, OwnerRef, Resource, Text, intern};

use super::identity::{self, Identity};

/// Upstream's `metav1.FinalizerDeleteDependents`: the API server sets it when it is asked to delete
/// an object in the foreground.
pub(super) const FOREGROUND: &str = "foregroundDeletion";
/// Upstream's `metav1.FinalizerOrphanDependents`: the dependents are to stay.
pub(super) const ORPHAN: &str = "orphan";

/// An object and its edges: 96 bytes, all texts shared with the cache, and 24 more in the index by
/// uid (some 36 with what a tree leaves free). One that has dependents costs 88 bytes more, which
/// are enough for eleven of them; others cost some 8 bytes each.
#[derive(Debug)]
pub(super) struct Node {
    pub(super) kind: Arc<NodeKind>,
    /// Of a virtual node: the namespace of a dependent.
    pub(super) key: Key,
    pub(super) uid: Text,
    /// The version that was observed last; of a virtual node: 0.
    pub(super) version: u64,
    pub(super) owners: Arc<[OwnerRef]>,
    dependents: Option<Box<Dependents>>,
    ending: Option<Box<Ending>>,
}

/// A kind, shared by its nodes; or what a reference says of the kind of a virtual node.
#[derive(Debug)]
pub(super) struct NodeKind {
    /// None: the node is virtual.
    pub(super) resource: Option<Resource>,
    pub(super) kind: Text,
    pub(super) api_version: Text,
    /// As keys have it.
    pub(super) label: Text,
}

#[derive(Debug, Default)]
struct Dependents {
    slots: BTreeSet<u32>,
    /// How many of them block the deletion of this node in the foreground.
    blocking: u32,
}

/// What matters of an object that ends or has a finalizer of ours; others have none of this.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Ending {
    pub(super) terminating: bool,
    pub(super) finalizers: Box<[Text]>,
}

// === impl Node ===

impl Node {
    /// An object that was observed; its owners are to be linked.
    pub(super) fn observed(kind: Arc<NodeKind>, meta: &Meta) -> Self {
        Self {
            kind,
            key: meta.key.clone(),
            uid: meta.uid.clone(),
            version: meta.resource_version,
            owners: Arc::default(),
            dependents: None,
            ending: None,
        }
    }

    /// An object that only a reference speaks of.
    pub(super) fn missing(identity: &Identity) -> Self {
        let mut node = Self {
            kind: Arc::new(NodeKind::referred(identity)),
            key: Key { namespace: intern(""), name: intern("") },
            uid: identity.uid.clone(),
            version: 0,
            owners: Arc::default(),
            dependents: None,
            ending: None,
        };
        node.name(identity);
        node
    }

    /// It is called so, and not observed.
    pub(super) fn name(&mut self, identity: &Identity) {
        self.kind = Arc::new(NodeKind::referred(identity));
        self.key = Key { namespace: identity.namespace.clone(), name: identity.name.clone() };
        self.version = 0;
        self.ending = None;
    }

    pub(super) fn is_virtual(&self) -> bool {
        self.kind.resource.is_none()
    }

    pub(super) fn identity(&self) -> Identity {
        Identity {
            kind: self.kind.kind.clone(),
            api_version: self.kind.api_version.clone(),
            namespace: self.key.namespace.clone(),
            name: self.key.name.clone(),
            uid: self.uid.clone(),
        }
    }

    /// Its key in the queues.
    pub(super) fn queue_key(&self) -> Key {
        identity::key(&self.kind.label, &self.key.namespace, &self.key.name, &self.uid)
    }

    /// As [`Identity::matches`].
    pub(super) fn matches(&self, owner: &OwnerRef) -> bool {
        self.uid == owner.uid
            && self.key.name == owner.name
            && self.kind.kind == owner.kind
            && self.kind.api_version == owner.api_version
    }

    /// Whether it is observed in a namespace that is not `namespace`.
    pub(super) fn is_elsewhere(&self, namespace: &str) -> bool {
        let own = &*self.key.namespace;
        !self.is_virtual() && !own.is_empty() && own != namespace
    }

    // === Its end ===

    pub(super) fn ending(&self) -> Option<&Ending> {
        self.ending.as_deref()
    }

    pub(super) fn set_ending(&mut self, ending: Option<Ending>) {
        if self.ending() != ending.as_ref() {
            self.ending = ending.map(Box::new);
        }
    }

    pub(super) fn is_terminating(&self) -> bool {
        self.ending().is_some_and(|ending| ending.terminating)
    }

    /// Whether it is being deleted in the foreground.
    pub(super) fn is_waiting(&self) -> bool {
        self.ending().is_some_and(Ending::is_waiting)
    }

    // === Its dependents ===

    /// By number.
    pub(super) fn dependents(&self) -> impl Iterator<Item = u32> {
        self.dependents.iter().flat_map(|dependents| dependents.slots.iter().copied())
    }

    pub(super) fn dependents_count(&self) -> usize {
        self.dependents.as_ref().map_or(0, |dependents| dependents.slots.len())
    }

    pub(super) fn has_dependents(&self) -> bool {
        self.dependents.is_some()
    }

    pub(super) fn has_dependent(&self, slot: u32) -> bool {
        self.dependents.as_ref().is_some_and(|dependents| dependents.slots.contains(&slot))
    }

    /// How many dependents block its deletion in the foreground.
    pub(super) fn blocking(&self) -> u32 {
        self.dependents.as_ref().map_or(0, |dependents| dependents.blocking)
    }

    /// Adds an edge.
    pub(super) fn link(&mut self, dependent: u32, edge: Edge) {
        let dependents = self.dependents.get_or_insert_default();
        if dependents.slots.insert(dependent) && edge == Edge::Blocking {
            dependents.blocking += 1;
        }
    }

    /// Takes an edge away, if there is one.
    pub(super) fn unlink(&mut self, dependent: u32, edge: Edge) {
        let Some(dependents) = &mut self.dependents else { return };
        if dependents.slots.remove(&dependent) && edge == Edge::Blocking {
            dependents.blocking -= 1;
        }
        if dependents.slots.is_empty() {
            self.dependents = None;
        }
    }
}

/// Whether an owner that is deleted in the foreground waits for the dependent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Edge {
    Blocking,
    Loose,
}

/// What an object's references come to, by the owner's uid.
pub(super) fn edges(owners: &[OwnerRef]) -> BTreeMap<&str, Edge> {
    let mut edges = BTreeMap::new();
    for owner in owners {
        let edge = edges.entry(&*owner.uid).or_insert(Edge::Loose);
        if owner.block_owner_deletion {
            *edge = Edge::Blocking;
        }
    }
    edges
}

// === impl NodeKind ===

impl NodeKind {
    /// A kind of which the objects are observed.
    pub(super) fn watched(resource: &Resource) -> Self {
        let api_version = resource.api_version();
        Self {
            kind: intern(&resource.kind),
            label: intern(&identity::label(&api_version, &resource.kind)),
            api_version: intern(&api_version),
            resource: Some(resource.clone()),
        }
    }

    fn referred(identity: &Identity) -> Self {
        Self {
            resource: None,
            kind: identity.kind.clone(),
            api_version: identity.api_version.clone(),
            label: intern(&identity::label(&identity.api_version, &identity.kind)),
        }
    }
}

// === impl Ending ===

impl Ending {
    /// What matters of an object's end, if anything does.
    pub(super) fn of(meta: &Meta) -> Option<Self> {
        let ending = Self::whole(meta);
        (ending.terminating || ending.has(FOREGROUND) || ending.has(ORPHAN)).then_some(ending)
    }

    /// The same, whether it matters or not.
    pub(super) fn whole(meta: &Meta) -> Self {
        Self { terminating: meta.is_terminating(), finalizers: meta.finalizers.clone() }
    }

    pub(super) fn has(&self, finalizer: &str) -> bool {
        self.finalizers.iter().any(|it| &**it == finalizer)
    }

    /// Whether the object is being deleted in the foreground. One that is to leave its dependents
    /// as orphans does that first, as upstream's `processTransitions`.
    pub(super) fn is_waiting(&self) -> bool {
        self.terminating && self.has(FOREGROUND) && !self.has(ORPHAN)
    }

    /// Whether the object is being deleted, and its dependents are to stay.
    pub(super) fn is_orphaning(&self) -> bool {
        self.terminating && self.has(ORPHAN)
    }
}
