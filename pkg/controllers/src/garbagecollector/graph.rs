//! The graph of owners and dependents, as far as it was observed or is in references. As upstream's
//! `graph_builder.go`.

use std::borrow::Borrow;
use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use api::{Key, Meta, OwnerRef, Resource, Served, Text};
use controller::{Enqueue, Query};
use mutant::Mutant;

use super::absent::{ABSENT_MAX, Absent};
use super::identity::{self, Identity};
use super::node::{Edge, Ending, Node, NodeKind, edges};
use super::slab::Slab;

/// When a virtual node is looked at that was looked for under this name already, and in vain.
const FOUND_ABSENT_AGAIN: Duration = Duration::from_secs(30);

/// The graph: what the two controllers remember.
///
/// **Invariant:** a node with dependents has each of them once, and each of them names its uid as
/// an owner. Where a node is there, those that were observed since and name it are its dependents.
#[derive(Debug)]
pub struct Graph {
    slab: Slab<Node>,
    by_uid: BTreeSet<Entry>,
    kinds: BTreeMap<Resource, Arc<NodeKind>>,
    /// The virtual nodes, by the label of their kind. Few, but for the moments in which kinds are
    /// listed; and each kind that is listed asks for its own.
    virtuals: BTreeMap<Text, BTreeSet<u32>>,
    pub(super) absent: Absent,
    pub(super) served: Option<Arc<Served>>,
}

#[derive(Debug)]
struct Entry {
    uid: Text,
    slot: u32,
}

// === impl Graph ===

impl Default for Graph {
    fn default() -> Self {
        Self {
            slab: Slab::default(),
            by_uid: BTreeSet::new(),
            kinds: BTreeMap::new(),
            virtuals: BTreeMap::new(),
            absent: Absent::new(ABSENT_MAX),
            served: None,
        }
    }
}

/// What it can be asked.
impl Graph {
    pub(super) fn find(&self, uid: &str) -> Option<u32> {
        self.by_uid.get(uid).map(|entry| entry.slot)
    }

    /// The node in a place that an edge or the index leads to.
    pub(super) fn node(&self, slot: u32) -> &Node {
        self.slab.get(slot).expect("edges and indexes lead to nodes")
    }

    pub(super) fn by_uid(&self, uid: &str) -> Option<&Node> {
        Some(self.node(self.find(uid)?))
    }

    /// All nodes, by uid.
    pub(super) fn all(&self) -> impl Iterator<Item = &Node> {
        self.by_uid.iter().map(|entry| self.node(entry.slot))
    }

    /// The node that a key of the queue means.
    pub(super) fn resolve(&self, key: &Key) -> Option<u32> {
        let is_it = |slot: &u32| self.node(*slot).queue_key() == *key;
        identity::uids(key).filter_map(|uid| self.find(uid)).find(is_it)
    }

    /// The key of the node that a user names, possibly without the uid, if there is one such
    /// object, or all but the uid. Takes a walk over all nodes.
    pub(super) fn named(&self, key: &Key) -> Option<Key> {
        if self.resolve(key).is_some() {
            return None;
        }
        let is_called = |node: &Node| {
            let rest = key.name.strip_prefix(&*node.kind.label);
            node.key.namespace == key.namespace
                && rest.and_then(|rest| rest.strip_prefix(':')) == Some(&*node.key.name)
        };
        let mut called = self.slab.iter().filter(|(_, node)| is_called(node));
        let slot = match (called.next(), called.next()) {
            (Some((slot, _)), None) => Some(slot),
            (None | Some(_), _) => self.find(&key.name),
        };
        slot.map(|slot| self.node(slot).queue_key())
    }

    /// The dependents of a node with a reference that says what `identity` does, and those with one
    /// that says something else. As upstream's `partitionDependents`.
    fn partition(&self, slot: u32, identity: &Identity) -> (Vec<u32>, Vec<u32>) {
        let (mut matching, mut others) = (Vec::new(), Vec::new());
        for dependent in self.node(slot).dependents() {
            let node = self.node(dependent);
            let is_elsewhere =
                !identity.namespace.is_empty() && identity.namespace != node.key.namespace;
            let mut refs = node.owners.iter().filter(|owner| owner.uid == identity.uid);
            if !is_elsewhere && refs.clone().any(|owner| identity.matches(owner)) {
                matching.push(dependent);
            }
            if is_elsewhere || refs.any(|owner| !identity.matches(owner)) {
                others.push(dependent);
            }
        }
        (matching, others)
    }

    /// What else dependents call an owner that does not exist as `absent`: the next one in order,
    /// or the first. As upstream's `getAlternateOwnerIdentity`.
    fn alternate(&self, dependents: &[u32], absent: &Identity) -> Option<Identity> {
        let dependents = dependents.iter().map(|slot| self.node(*slot));
        let refs = dependents.flat_map(|node| {
            node.owners.iter().map(|owner| Identity::of(owner, &node.key.namespace))
        });
        alternate(refs, absent)
    }
}

/// See [`Graph::alternate`].
pub(super) fn alternate(
    refs: impl Iterator<Item = Identity>,
    absent: &Identity,
) -> Option<Identity> {
    let is_cluster_scoped = absent.namespace.is_empty();
    let others = refs.filter(|it| it.uid == absent.uid).map(|it| {
        let is_same_kind = it.api_version == absent.api_version && it.kind == absent.kind;
        if is_cluster_scoped && is_same_kind { it.cluster_scoped() } else { it }
    });
    let others: BTreeSet<_> = others.filter(|it| it != absent).collect();
    others.iter().find(|it| *it > absent).or_else(|| others.first()).cloned()
}

/// What is observed.
impl Graph {
    /// The API server serves these kinds. Enqueues the virtual nodes that can be looked for now.
    pub(super) fn serve(&mut self, served: &Arc<Served>, queue: &mut Enqueue) {
        let before = self.served.replace(Arc::clone(served)).unwrap_or_default();
        for node in self.virtuals.values().flatten().map(|slot| self.node(*slot)) {
            let NodeKind { api_version, kind, .. } = &*node.kind;
            if before.find(api_version, kind).is_none() && served.find(api_version, kind).is_some()
            {
                queue.add(&node.queue_key());
            }
        }
    }

    /// An object is there, in this version. One without a uid, which some API server may have, is
    /// no owner, and could not be deleted with preconditions.
    pub(super) fn put(&mut self, resource: &Resource, meta: &Meta, queue: &mut Enqueue) {
        if meta.uid.is_empty() {
            return;
        }
        let slot = self.find(&meta.uid).unwrap_or_else(|| {
            let kind = self.kind(resource);
            self.insert(Node::observed(kind, meta))
        });
        self.reveal(slot, resource, meta, queue);
        let was_waiting = self.node(slot).is_waiting();
        self.refresh(slot, resource, meta);
        self.relink(slot, &meta.owners, queue);
        // As upstream's `processTransitions`; those that are to be orphaned are another
        // controller's.
        if !was_waiting && self.node(slot).is_waiting() {
            self.enqueue_all(self.node(slot).dependents(), queue);
            self.enqueue(slot, queue);
        }
    }

    /// An object is deleted.
    pub(super) fn delete(&mut self, resource: &Resource, meta: &Meta, queue: &mut Enqueue) {
        if let Some(slot) = self.find(&meta.uid) {
            self.reveal(slot, resource, meta, queue);
            self.remove(slot, Identity::observed(resource, meta), queue);
        }
    }

    /// All there are of a kind were observed. Virtual nodes of the kind may have been found by live
    /// reads, and be deleted since: they are looked for.
    pub(super) fn complete(&self, resource: &Resource, queue: &mut Enqueue) {
        let label = identity::label(&resource.api_version(), &resource.kind);
        let of_kind = self.virtuals.get(&*label).into_iter().flatten().copied();
        self.enqueue_all(of_kind, queue);
    }

    /// A kind is no longer watched, so nothing is known of its objects: those without dependents
    /// are forgotten, the others are to be looked for. And so is what did not exist: a kind is also
    /// dropped when its API server was restored to an older state, in which objects that were
    /// deleted are there again, with their uids.
    pub(super) fn drop_kind(&mut self, resource: &Resource, queue: &mut Enqueue) {
        self.absent = Absent::new(ABSENT_MAX);
        let Some(kind) = self.kinds.remove(resource) else { return };
        let of_kind = self.slab.iter().filter(|(_, node)| Arc::ptr_eq(&node.kind, &kind));
        let slots: Vec<_> = of_kind.map(|(slot, _)| slot).collect();
        // Their owners wait for them no longer, or they would wait for ever.
        for slot in &slots {
            self.relink(*slot, &Arc::default(), queue);
        }
        for slot in slots {
            if self.node(slot).has_dependents() {
                let identity = self.node(slot).identity();
                self.name(slot, &identity);
                self.enqueue(slot, queue);
            } else {
                self.take(slot);
            }
        }
    }

    /// A live read found the object with this uid, or none: others that were meant are not there.
    /// Their uids were known before it began, or it would say nothing of them: another object with
    /// the same name may have been made since.
    pub(super) fn learn(
        &mut self,
        query: &Query,
        meant: &BTreeSet<Identity>,
        found: Option<&str>,
        queue: &mut Enqueue,
    ) {
        let Query::Get { resource, .. } = query else { return };
        for identity in meant {
            if Some(&*identity.uid) == found {
                continue;
            }
            let mut identity = identity.clone();
            if !resource.namespaced {
                // The namespace was a dependent's, and means nothing: no other name is to be tried
                // for dependents in other namespaces.
                identity = identity.cluster_scoped();
            }
            let Some(slot) = self.find(&identity.uid) else {
                self.absent.add(identity);
                continue;
            };
            let node = self.node(slot);
            if !resource.namespaced
                && node.is_virtual()
                && node.identity().cluster_scoped() == identity
            {
                self.name(slot, &identity);
            }
            self.vanish(&identity, queue);
        }
    }

    /// There is no such object. As upstream's virtual delete event.
    pub(super) fn vanish(&mut self, gone: &Identity, queue: &mut Enqueue) {
        let Some(slot) = self.find(&gone.uid) else { return };
        let (matching, others) = self.partition(slot, gone);
        let (is_virtual, is_it) =
            (self.node(slot).is_virtual(), self.node(slot).identity() == *gone);
        let stays = if is_virtual { !others.is_empty() } else { !is_it };
        if !stays {
            return self.remove(slot, gone.clone(), queue);
        }
        if !matching.is_empty() {
            self.absent.add(gone.clone());
            self.enqueue_all(matching, queue);
        }
        if is_virtual
            && is_it
            && let Some(next) = self.alternate(&others, gone)
        {
            self.name(slot, &next);
            if self.absent.has(&next) {
                queue.add_after(&next.key(), FOUND_ABSENT_AGAIN);
            } else {
                queue.add(&next.key());
            }
        }
    }
}

/// How it changes.
impl Graph {
    fn enqueue(&self, slot: u32, queue: &mut Enqueue) {
        queue.add(&self.node(slot).queue_key());
    }

    fn enqueue_all(&self, slots: impl IntoIterator<Item = u32>, queue: &mut Enqueue) {
        slots.into_iter().for_each(|slot| self.enqueue(slot, queue));
    }

    fn node_mut(&mut self, slot: u32) -> &mut Node {
        self.slab.get_mut(slot).expect("edges and indexes lead to nodes")
    }

    fn kind(&mut self, resource: &Resource) -> Arc<NodeKind> {
        if let Some(kind) = self.kinds.get(resource) {
            return Arc::clone(kind);
        }
        let kind = Arc::new(NodeKind::watched(resource));
        self.kinds.insert(resource.clone(), Arc::clone(&kind));
        kind
    }

    fn insert(&mut self, node: Node) -> u32 {
        let uid = node.uid.clone();
        let slot = self.slab.insert(node);
        self.by_uid.insert(Entry { uid, slot });
        self.index(slot);
        slot
    }

    /// Takes a node out that has no edges any more.
    fn discard(&mut self, slot: u32) -> Option<Node> {
        self.unindex(slot);
        let node = self.slab.remove(slot)?;
        self.by_uid.remove(&*node.uid);
        Some(node)
    }

    /// A node is called so, and not observed.
    fn name(&mut self, slot: u32, identity: &Identity) {
        self.unindex(slot);
        self.node_mut(slot).name(identity);
        self.index(slot);
    }

    /// Adds a node to `virtuals`, if it is one.
    fn index(&mut self, slot: u32) {
        let node = self.node(slot);
        if node.is_virtual() {
            let label = node.kind.label.clone();
            self.virtuals.entry(label).or_default().insert(slot);
        }
    }

    /// Takes a node out of `virtuals`, before it becomes another kind of node, or none.
    fn unindex(&mut self, slot: u32) {
        let Some(node) = self.slab.get(slot).filter(|node| node.is_virtual()) else { return };
        if let Some(of_kind) = self.virtuals.get_mut(&*node.kind.label) {
            of_kind.remove(&slot);
            if of_kind.is_empty() {
                self.virtuals.remove(&*node.kind.label);
            }
        }
    }

    /// A virtual node is observed, or one is in another version of its kind: those that say
    /// something else of it are to be verified.
    fn reveal(&mut self, slot: u32, resource: &Resource, meta: &Meta, queue: &mut Enqueue) {
        let is_as_before = self.node(slot).kind.resource.as_ref().is_some_and(|known| {
            known == resource || (&known.group, &known.kind) != (&resource.group, &resource.kind)
        });
        if is_as_before {
            return;
        }
        let observed = Identity::observed(resource, meta);
        if self.node(slot).identity() != observed {
            let (_, others) = self.partition(slot, &observed);
            self.enqueue_all(others, queue);
        }
        let kind = self.kind(resource);
        self.unindex(slot);
        let node = self.node_mut(slot);
        node.kind = kind;
        node.key = meta.key.clone();
    }

    /// What the version says besides the owners. Texts are taken anew, so that no old copy of what
    /// the cache holds stays here. An object that is served as two kinds is what it was first.
    fn refresh(&mut self, slot: u32, resource: &Resource, meta: &Meta) {
        let node = self.slab.get_mut(slot).expect("the caller has it");
        node.set_ending(Ending::of(meta));
        if node.kind.resource.as_ref() != Some(resource) {
            return;
        }
        node.version = meta.resource_version;
        node.key = meta.key.clone();
        if !Arc::ptr_eq(&node.uid, &meta.uid) {
            node.uid = meta.uid.clone();
            self.by_uid.replace(Entry { uid: meta.uid.clone(), slot });
        }
    }

    /// Takes a node out, with its edges, and enqueues those that it matters to.
    fn remove(&mut self, slot: u32, identity: Identity, queue: &mut Enqueue) {
        let node = self.take(slot);
        if node.has_dependents() {
            self.absent.add(identity);
        }
        self.enqueue_all(node.dependents().filter(|dependent| *dependent != slot), queue);
        if !mutant::is(Mutant::OwnerNotUnblocked) {
            self.enqueue_waiting(&node.owners, queue);
        }
    }

    /// Takes a node out. Its dependents stay, and name an owner that is not in the graph.
    fn take(&mut self, slot: u32) -> Node {
        let node = self.discard(slot).expect("the caller has it");
        for (owner, edge) in edges(&node.owners) {
            if let Some(at) = self.find(owner) {
                self.unlink(at, slot, edge);
            }
        }
        node
    }

    /// Removes an edge, and with the last one of a virtual node the node: no reference names it.
    fn unlink(&mut self, owner: u32, dependent: u32, edge: Edge) {
        let node = self.node_mut(owner);
        node.unlink(dependent, edge);
        if node.is_virtual() && !node.has_dependents() {
            self.discard(owner);
        }
    }

    /// Those of the owners that are deleted in the foreground see whether they still have to wait.
    fn enqueue_waiting(&self, owners: &[OwnerRef], queue: &mut Enqueue) {
        let owners = edges(owners);
        let owners = owners.keys().filter_map(|owner| self.find(owner));
        self.enqueue_all(owners.filter(|at| self.node(*at).is_waiting()), queue);
    }

    /// A node has these owners now. As upstream's `referencesDiffs`,
    /// `addUnblockedOwnersToDeleteQueue`, `addDependentToOwners` and `removeDependentFromOwners`.
    fn relink(&mut self, slot: u32, owners: &Arc<[OwnerRef]>, queue: &mut Enqueue) {
        let before = Arc::clone(&self.node(slot).owners);
        if Arc::ptr_eq(&before, owners) {
            return;
        }
        self.node_mut(slot).owners = Arc::clone(owners);
        let (was, is) = (edges(&before), edges(owners));
        for (owner, old) in &was {
            let Some(at) = self.find(owner) else { continue };
            let new = is.get(owner);
            if *old == Edge::Blocking && new != Some(old) {
                self.enqueue(at, queue);
            }
            match new {
                None => self.unlink(at, slot, *old),
                Some(new) if self.node(at).has_dependent(slot) => {
                    self.node_mut(at).unlink(slot, *old);
                    self.node_mut(at).link(slot, *new);
                }
                Some(_) => {}
            }
        }
        let (mut is_suspicious, mut owner_waits) = (false, false);
        let namespace = self.node(slot).key.namespace.clone();
        for owner in owners.iter().filter(|owner| !was.contains_key(&*owner.uid)) {
            let edge = is.get(&*owner.uid).copied().unwrap_or(Edge::Loose);
            if let Some(at) = self.find(&owner.uid) {
                self.node_mut(at).link(slot, edge);
                let node = self.node(at);
                is_suspicious = is_suspicious || disagrees(node, owner, &namespace);
                owner_waits = owner_waits || node.is_waiting();
            } else {
                let identity = Identity::of(owner, &namespace);
                let at = self.insert(Node::missing(&identity));
                self.node_mut(at).link(slot, edge);
                self.enqueue(at, queue);
            }
        }
        // Upstream finds a dependent that is added to an owner being deleted when it syncs the
        // owner again.
        if is_suspicious || owner_waits {
            self.enqueue(slot, queue);
        }
    }
}

/// Whether what a dependent in `namespace` says of an owner disagrees with what is known of it; or
/// might, since the owner was never observed. As upstream's `addDependentToOwners`.
fn disagrees(node: &Node, owner: &OwnerRef, namespace: &Text) -> bool {
    // The namespace of a virtual node is only that of the first object that named it.
    let may_be_anywhere = node.key.namespace.is_empty() && !node.is_virtual();
    !node.matches(owner) || (node.key.namespace != *namespace && !may_be_anywhere)
}

// === impl Entry ===

impl Borrow<str> for Entry {
    fn borrow(&self) -> &str {
        &self.uid
    }
}

impl PartialEq for Entry {
    fn eq(&self, other: &Self) -> bool {
        self.uid == other.uid
    }
}

impl Eq for Entry {}

impl PartialOrd for Entry {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Entry {
    fn cmp(&self, other: &Self) -> Ordering {
        self.uid.cmp(&other.uid)
    }
}

#[cfg(test)]
impl Graph {
    /// How often a caller walked over all nodes.
    pub(super) fn walks(&self) -> usize {
        self.slab.walks.load(std::sync::atomic::Ordering::Relaxed)
    }

    /// Checks that edges and owners agree, and the counts with both. As upstream's
    /// `verifyGraphInvariants`.
    pub(super) fn check(&self) {
        assert_eq!(self.by_uid.len(), self.slab.iter().count());
        let virtuals = self.virtuals.iter().flat_map(|(label, slots)| {
            assert!(!slots.is_empty(), "{label}");
            slots.iter().map(|slot| (*slot, label.clone()))
        });
        let is_virtual = |(_, node): &(u32, &Node)| node.is_virtual();
        let indexed = self.slab.iter().filter(is_virtual);
        let indexed = indexed.map(|(slot, node)| (slot, node.kind.label.clone()));
        assert_eq!(virtuals.collect::<BTreeMap<_, _>>(), indexed.collect());
        for (slot, node) in self.slab.iter() {
            assert_eq!(self.find(&node.uid), Some(slot), "{:?}", node.uid);
            let mut blocking = 0;
            for dependent in node.dependents() {
                let owners = &self.node(dependent).owners;
                assert!(owners.iter().any(|owner| owner.uid == node.uid), "{:?}", node.uid);
                blocking += u32::from(edges(owners)[&*node.uid] == Edge::Blocking);
            }
            assert_eq!(blocking, node.blocking(), "{:?}", node.uid);
            assert!(!node.is_virtual() || node.has_dependents(), "{:?}", node.uid);
            assert!(!node.is_virtual() || node.owners.is_empty(), "{:?}", node.uid);
        }
    }

    /// For each owner that is in the graph, its dependents are those that name it.
    pub(super) fn check_complete(&self) {
        for (slot, node) in self.slab.iter() {
            for owner in node.owners.iter().filter_map(|owner| self.find(&owner.uid)) {
                assert!(self.node(owner).has_dependent(slot), "{:?}", node.uid);
            }
        }
    }
}
