//! What one look at an object reads of the graph.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

use api::{Key, OwnerRef, Resource, Served, Text, intern};
use controller::{ObjectRef, Query};

use super::graph::Graph;
use super::identity::Identity;
use super::node::{Ending, Node};

/// How many dependents of one owner are orphaned in one sync: a plan has to fit in memory.
pub(super) const ORPHANS_MAX: usize = 1000;

/// An object, its owners, and as much as matters of its dependents. Small, however many those are.
#[derive(Clone, Debug)]
pub struct Snapshot {
    pub(super) identity: Identity,
    /// None: it was never observed, and is known from references only.
    pub(super) seen: Option<Seen>,
    /// The owners, each uid as often as it is named.
    pub(super) owners: Vec<Owner>,
    pub(super) dependents: usize,
    /// How many of the dependents block its deletion in the foreground.
    pub(super) blocking: u32,
    /// What can be done about an object that was never observed.
    pub(super) standing: Standing,
    /// Whether one of the dependents is itself being deleted in the foreground.
    pub(super) in_circle: bool,
    pub(super) served: Option<Arc<Served>>,
    /// What this look may read live, and which objects it looks for by that.
    pub(super) asked: BTreeMap<Query, BTreeSet<Identity>>,
}

/// An object as it was observed.
#[derive(Clone, Debug)]
pub(super) struct Seen {
    pub(super) object: ObjectRef,
    pub(super) owners: Arc<[OwnerRef]>,
    /// Its finalizers, if they matter.
    pub(super) ending: Ending,
}

/// An owner, and what is known of it.
#[derive(Clone, Debug)]
pub(super) struct Owner {
    pub(super) reference: OwnerRef,
    pub(super) standing: Standing,
    /// Whether it was observed in another namespace, where it cannot be meant.
    pub(super) is_elsewhere: bool,
}

/// What is known of an owner.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Standing {
    /// It is there.
    Solid,
    /// It was seen being deleted in the foreground, and waiting for its dependents. Since those are
    /// deleted with it, this query reads whether it still does.
    Waiting(Box<Query>),
    /// There is no such object.
    Absent,
    /// Not known; this query reads it.
    Unseen(Box<Query>),
    /// The API server does not serve its kind, or not yet.
    NoKind,
    /// It is in a namespace, and the object is in none, so it can mean no owner.
    NoNamespace,
}

/// An owner whose dependents are to stay, and some of them.
#[derive(Clone, Debug)]
pub struct Orphans {
    pub(super) identity: Identity,
    pub(super) seen: Option<Seen>,
    /// The first of the dependents, at most [`ORPHANS_MAX`].
    pub(super) dependents: Vec<Seen>,
    /// How many there are.
    pub(super) count: usize,
}

pub(super) fn observe(graph: &Graph, key: &Key) -> Option<Snapshot> {
    let slot = graph.resolve(key)?;
    let (refs, namespace) = {
        let node = graph.node(slot);
        (Arc::clone(&node.owners), node.key.namespace.clone())
    };
    let owners: Vec<_> = refs.iter().map(|owner| known(graph, owner, &namespace)).collect();
    let node = graph.node(slot);
    // The dependents can only matter then. What the owners of a virtual object are is not known.
    let may_go = node.is_virtual() || owners.iter().any(|owner| owner.standing != Standing::Solid);
    let in_circle = may_go && node.dependents().any(|slot| graph.node(slot).is_waiting());
    let (identity, seen) = (node.identity(), seen(node));
    let (dependents, blocking) = (node.dependents_count(), node.blocking());
    let served = graph.served.clone();
    let standing = match &seen {
        Some(_) => Standing::Solid,
        None => unseen(served.as_deref(), &identity),
    };
    let mut asked = BTreeMap::<_, BTreeSet<_>>::new();
    let refs = owners
        .iter()
        .map(|owner| (&owner.standing, Identity::of(&owner.reference, &identity.namespace)));
    for (standing, identity) in refs.chain([(&standing, identity.clone())]) {
        if let Standing::Unseen(query) | Standing::Waiting(query) = standing {
            asked.entry((**query).clone()).or_default().insert(identity);
        }
    }
    Some(Snapshot {
        identity,
        seen,
        owners,
        dependents,
        blocking,
        standing,
        in_circle,
        served,
        asked,
    })
}

pub(super) fn observe_orphans(graph: &Graph, key: &Key) -> Option<Orphans> {
    let node = graph.node(graph.resolve(key)?);
    let dependents = node.dependents().take(ORPHANS_MAX);
    Some(Orphans {
        identity: node.identity(),
        seen: seen(node),
        dependents: dependents.filter_map(|slot| seen(graph.node(slot))).collect(),
        count: node.dependents_count(),
    })
}

fn seen(node: &Node) -> Option<Seen> {
    let resource = node.kind.resource.clone()?;
    let object = ObjectRef {
        resource,
        key: node.key.clone(),
        uid: node.uid.clone(),
        resource_version: node.version,
    };
    let ending = node.ending().cloned().unwrap_or_default();
    Some(Seen { object, owners: Arc::clone(&node.owners), ending })
}

/// What is known of the owner that an object in `namespace` names.
fn known(graph: &Graph, owner: &OwnerRef, namespace: &Text) -> Owner {
    let is_absent = graph.absent.has_owner(owner, namespace);
    let node = graph.by_uid(&owner.uid);
    let served = graph.served.as_deref();
    let meant = node.and_then(|node| Some((node, meant(node, owner, namespace, served)?)));
    let standing = match meant {
        _ if is_absent => Standing::Absent,
        Some((node, resource)) if node.is_waiting() => {
            Standing::Waiting(read(resource, node.key.clone()))
        }
        Some(_) => Standing::Solid,
        None => unseen(served, &Identity::of(owner, namespace)),
    };
    let is_elsewhere = node.is_some_and(|node| node.is_elsewhere(namespace));
    Owner { reference: owner.clone(), standing, is_elsewhere }
}

/// The kind of a node, if it was observed and is what a live read of the reference would find: by
/// kind, namespace, name and uid; in this version of its kind or in another one that is served.
fn meant<'a>(
    node: &'a Node,
    owner: &OwnerRef,
    namespace: &Text,
    served: Option<&Served>,
) -> Option<&'a Resource> {
    let resource = node.kind.resource.as_ref()?;
    let is_version_served = || {
        let other = served.and_then(|served| served.find(&owner.api_version, &owner.kind));
        other.is_some_and(|it| it.group == resource.group && it.plural == resource.plural)
    };
    let is_meant = node.uid == owner.uid
        && node.key.name == owner.name
        && node.kind.kind == owner.kind
        && !node.is_elsewhere(namespace)
        && (node.kind.api_version == owner.api_version || is_version_served());
    is_meant.then_some(resource)
}

fn read(resource: &Resource, key: Key) -> Box<Query> {
    Box::new(Query::metadata(resource.clone(), key))
}

/// How to find out about an object that was never observed.
pub(super) fn unseen(served: Option<&Served>, identity: &Identity) -> Standing {
    let Identity { kind, api_version, namespace, name, .. } = identity;
    match served.and_then(|served| served.find(api_version, kind)) {
        None => Standing::NoKind,
        Some(resource) if resource.namespaced && namespace.is_empty() => Standing::NoNamespace,
        Some(resource) => {
            let namespace = if resource.namespaced { namespace.clone() } else { intern("") };
            Standing::Unseen(read(resource, Key { namespace, name: name.clone() }))
        }
    }
}

// === impl Snapshot ===

impl Snapshot {
    pub(super) fn summary(&self) -> Vec<(&'static str, String)> {
        let state = match &self.seen {
            None => "not observed",
            Some(seen) if seen.ending.is_waiting() => "being deleted in the foreground",
            Some(seen) if seen.ending.is_orphaning() => "being deleted, dependents stay",
            Some(seen) if seen.ending.terminating => "being deleted",
            Some(_) => "there",
        };
        let mut facts = vec![("object", self.identity.to_string()), ("state", state.to_owned())];
        facts.extend(self.owners.iter().map(|owner| ("owner", owner.to_string())));
        facts.push(("dependents", self.dependents.to_string()));
        facts.push(("dependents that block", self.blocking.to_string()));
        facts
    }

    /// The owners that do not exist.
    pub(super) fn absent(&self) -> impl Iterator<Item = &OwnerRef> {
        let absent = self.owners.iter().filter(|owner| owner.standing == Standing::Absent);
        absent.map(|owner| &owner.reference)
    }

    /// The owners that were observed in another namespace, each once.
    pub(super) fn elsewhere(&self) -> Vec<&OwnerRef> {
        let owners = self.owners.iter().filter(|owner| owner.is_elsewhere);
        let by_uid = owners.map(|owner| (&owner.reference.uid, &owner.reference));
        by_uid.collect::<BTreeMap<_, _>>().into_values().collect()
    }
}

impl fmt::Display for Owner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let OwnerRef { api_version, kind, name, uid, block_owner_deletion, .. } = &self.reference;
        let standing = match &self.standing {
            Standing::Solid => "there",
            Standing::Waiting(_) => "being deleted in the foreground, to be read live",
            Standing::Absent => "does not exist",
            Standing::Unseen(_) => "not observed, to be read live",
            Standing::NoKind => "of a kind that is not served",
            Standing::NoNamespace => "in a namespace, which an object in none cannot refer to",
        };
        write!(f, "{api_version}/{kind} {name} (uid {uid}): {standing}")?;
        if self.is_elsewhere {
            f.write_str(", observed in another namespace")?;
        }
        if *block_owner_deletion {
            f.write_str(", its foreground deletion waits for this object")?;
        }
        Ok(())
    }
}

// === impl Orphans ===

impl Orphans {
    pub(super) fn summary(&self) -> Vec<(&'static str, String)> {
        let waits = self.seen.as_ref().is_some_and(|seen| seen.ending.is_orphaning());
        vec![
            ("object", self.identity.to_string()),
            ("its dependents are to stay", waits.to_string()),
            ("dependents", self.count.to_string()),
        ]
    }
}
