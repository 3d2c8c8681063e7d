//! What changes do to the graph, and which keys they enqueue.

use super::world::*;
use crate::garbagecollector::absent::Absent;
use crate::garbagecollector::graph::alternate;
use crate::garbagecollector::identity::Identity;
use crate::garbagecollector::slab::Slab;

fn pod(name: &str) -> Identity {
    id("v1", "Pod", "ns1", name, name)
}

/// TestProcessEvent, all four cases: edges and owners agree after each event, which the world
/// checks; and they are complete, unless an owner was deleted.
#[test]
fn events_in_any_order_give_a_graph_that_agrees_with_itself() {
    for (name, events) in [
        ("test1", &[("1", &[][..]), ("2", &["1"]), ("3", &["1", "2"])][..]),
        ("test2", &[("1", &[]), ("2", &["1"]), ("3", &["1", "2"]), ("4", &["2"])]),
        ("test3", &[("1", &[]), ("2", &["1"]), ("3", &["1", "2"]), ("4", &["3"]), ("2", &["4"])]),
        ("reverse test2", &[("4", &["2"]), ("3", &["1", "2"]), ("2", &["1"]), ("1", &[])]),
    ] {
        let mut w = World::new();
        for (uid, owners) in events {
            let owners: Vec<_> = owners.iter().map(|uid| pod(uid)).collect();
            w.add(&pod(uid), &owners.iter().collect::<Vec<_>>());
            w.graph.read().check_complete();
        }
        if name.ends_with("test2") {
            w.pending.clear();
            w.delete(&pod("2"));
            let left = "v1/Pod ns1/1; v1/Pod ns1/3 -> 1 2; v1/Pod ns1/4 -> 2";
            assert_eq!(w.nodes(), left, "{name}");
            let mut queue: Vec<_> = w.pending.iter().map(short).collect();
            queue.sort();
            assert_eq!(queue, ["ns1/Pod:3", "ns1/Pod:4"], "{name}");
        }
    }
}

/// `addUnblockedOwnersToDeleteQueue` and `processTransitions`: which keys an update of "b"
/// enqueues, which is an owner of "c", and is owned by "a".
#[test]
fn updates_enqueue_the_keys_that_they_matter_to() {
    let [a, b, c, d] = ["a", "b", "c", "d"].map(pod);
    let both = |object| ending(finalizers(object, &["orphan", "foregroundDeletion"]));
    for (name, before, after, expected) in [
        ("nothing changed", object(&b, &[&a]), object(&b, &[&a]), ""),
        ("blocking reference gone", blocking(&b, &[&a]), object(&b, &[]), "ns1/Pod:a"),
        ("loose reference gone", object(&b, &[&a]), object(&b, &[]), ""),
        ("no longer blocking", blocking(&b, &[&a]), object(&b, &[&a]), "ns1/Pod:a"),
        ("now blocking", object(&b, &[&a]), blocking(&b, &[&a]), ""),
        ("another owner that is there", object(&b, &[]), object(&b, &[&a]), ""),
        ("another owner nobody has seen", object(&b, &[]), object(&b, &[&d]), "ns1/Pod:d"),
        ("being deleted", object(&b, &[&a]), ending(object(&b, &[&a])), ""),
        (
            "in the foreground",
            object(&b, &[&a]),
            waiting(object(&b, &[&a])),
            "ns1/Pod:c; ns1/Pod:b",
        ),
        ("still in the foreground", waiting(object(&b, &[])), waiting(object(&b, &[])), ""),
        ("orphan is checked first", object(&b, &[]), both(object(&b, &[])), ""),
        (
            "and then the foreground",
            both(object(&b, &[])),
            waiting(object(&b, &[])),
            "ns1/Pod:c; ns1/Pod:b",
        ),
    ] {
        let mut world = World::new();
        world.add(&a, &[]);
        world.see(&b, &before);
        world.see(&c, &blocking(&c, &[&b]));
        world.pending.clear();
        world.see(&b, &after);
        assert_eq!(world.queue(), expected, "{name}");
    }
}

/// Add events of objects that are already ending count as transitions.
#[test]
fn an_owner_that_waits_when_it_is_first_seen_enqueues_its_dependents() {
    let mut w = World::new();
    w.see(&pod("b"), &blocking(&pod("b"), &[&pod("a")]));
    w.pending.clear();
    w.see(&pod("a"), &waiting(object(&pod("a"), &[])));
    assert_eq!(w.queue(), "ns1/Pod:b; ns1/Pod:a");
    // Otherwise than upstream: so does one that comes later.
    w.pending.clear();
    w.see(&pod("c"), &object(&pod("c"), &[&pod("a")]));
    assert_eq!(w.queue(), "ns1/Pod:c");
}

/// The end of an object enqueues its dependents, and owners that wait for it.
#[test]
fn deletions_enqueue_dependents_and_waiting_owners() {
    let (a, b, c) = (pod("a"), pod("b"), pod("c"));
    let mut w = World::new();
    w.see(&a, &waiting(object(&a, &[])));
    w.add(&c, &[]);
    w.add(&b, &[&a, &c]);
    w.add(&pod("d"), &[&b]);
    w.pending.clear();
    w.delete(&b);
    assert_eq!(w.queue(), "ns1/Pod:d; ns1/Pod:a");
    assert_eq!(w.absent(), "v1/Pod ns1/b");
    w.delete(&pod("d"));
    assert_eq!(w.absent(), "v1/Pod ns1/b", "nobody depended on it");
}

/// From any namespace, an owner outside namespaces is a good one; and no object is one without uid.
#[test]
fn good_references_and_objects_without_uids_enqueue_nothing() {
    let node = id("v1", "Node", "", "node", "n");
    let mut w = World::new();
    w.add(&node, &[]);
    w.add(&pod("a"), &[&node]);
    w.add(&Identity { uid: "".into(), ..pod("b") }, &[&pod("c")]);
    w.is("v1/Pod ns1/a -> n; v1/Node node", "");
}

/// Two dependents name an owner in two ways, one of them outside namespaces: it is looked for in
/// both.
#[test]
fn an_absent_cluster_scoped_owner_gets_its_other_name() {
    let mut w = World::new();
    let node = id("v1", "Node", "", "node", "n");
    w.add(&pod("a"), &[&node]);
    w.add(&pod("b"), &[&id("v1", "Secret", "ns1", "s", "n")]);
    w.pending.clear();
    let (reads, _) = w.sync(&Identity { namespace: "ns1".into(), ..node }.key());
    assert_eq!(reads, "get nodes node\n");
    w.is("v1/Pod ns1/a -> n; v1/Pod ns1/b -> n; v1/Secret? ns1/s", "ns1/Pod:a; ns1/Secret:s");
}

/// The numbers of removed nodes are used again, or a slab would grow for ever.
#[test]
fn numbers_are_used_again() {
    let mut slab = Slab::default();
    let first = slab.insert("a");
    assert_eq!(slab.insert("b"), first + 1);
    assert_eq!((slab.remove(first), slab.remove(first)), (Some("a"), None));
    assert_eq!((slab.get(first), slab.get(1 << 20)), (None, None));
    assert_eq!(slab.insert("c"), first);
    let numbers: Vec<_> = (0..2000).map(|_| slab.insert("d")).collect();
    assert_eq!(numbers.last(), Some(&(first + 2001)));
    assert_eq!(slab.iter().count(), 2002);
}

/// A virtual node is there for those that name it.
#[test]
fn virtual_nodes_leave_with_their_last_dependent() {
    let mut w = World::new();
    w.add(&pod("b"), &[&pod("a")]);
    w.add(&pod("c"), &[&pod("a")]);
    w.delete(&pod("b"));
    w.is("v1/Pod? ns1/a; v1/Pod ns1/c -> a", "ns1/Pod:a");
    w.add(&pod("c"), &[]);
    w.is("v1/Pod ns1/c", "ns1/Pod:a");
    assert_eq!(w.look(), "not there");
}

/// TestAbsentOwnerCache: the least recently used is dropped first. To look is not to use.
#[test]
fn absent_owners_are_forgotten_in_order_of_use() {
    let [rc1, rc2, rc3] = ["1", "2", "3"].map(|n| id("v1", "ReplicationController", "ns1", n, n));
    let mut absent = Absent::new(2);
    absent.add(rc1.clone());
    absent.add(rc2.clone());
    let namespace = &pod("a").namespace;
    absent.used(&owner_ref(&rc1), namespace);
    assert!(absent.has_owner(&owner_ref(&rc2), namespace));
    absent.add(rc3.clone());
    assert_eq!(absent.all(), [rc1.clone(), rc3]);
    assert!(!absent.has_owner(&owner_ref(&rc2), namespace));
    // In another namespace, it may be.
    assert!(!absent.has_owner(&owner_ref(&rc1), &api::intern("ns2")));
    // One outside namespaces is absent everywhere.
    let node = id("v1", "Node", "", "node", "n");
    absent.add(node.clone());
    assert!(absent.has_owner(&owner_ref(&node), &api::intern("ns2")));
}

fn parent(version: &str, kind: &str, namespace: &str, name: &str) -> Identity {
    id(version, kind, namespace, name, "parentuid")
}

/// The same references, by an object in `namespace`.
fn by_child(namespace: &str, refs: &[&Identity]) -> Vec<Identity> {
    let refs = refs.iter();
    refs.map(|id| Identity { namespace: namespace.into(), ..(*id).clone() }).collect()
}

/// Names in order, and which one follows which.
fn in_order(namespace: &str) -> [(&'static str, Vec<Identity>, Identity, Option<Identity>); 2] {
    let names = ["v1", "v2", "v3", "v4", "v5"].map(|it| parent(it, "kind", namespace, "name"));
    let [first, .., fourth, last] = names.clone();
    [
        ("returns first if absent is sorted last", names.to_vec(), last.clone(), Some(first)),
        ("returns next after absent", names.to_vec(), fourth, Some(last)),
    ]
}

/// TestGetAlternateOwnerIdentity (`graph_builder_test.go`): the cases of namespaced owners, and
/// those of namespaced references from a namespaced child.
#[test]
fn an_absent_owner_gets_the_next_name_that_its_dependents_have_for_it() {
    let owner = |namespace: &str| parent("v1", "NSParent", namespace, "parentname");
    let version = parent("xx", "NSParent", "ns1", "parentname");
    let kind = parent("v1", "zzz", "ns1", "parentname");
    let name = parent("v1", "NSParent", "ns1", "zzz");
    let rows = [
        ("namespaced alternate version", version),
        ("namespaced alternate kind", kind),
        ("namespaced alternate namespace", owner("ns2")),
        ("namespaced alternate name", name),
    ];
    let rows = rows
        .map(|(case, other)| (case, vec![owner("ns1"), other.clone()], owner("ns1"), Some(other)));
    for (case, refs, absent, expected) in rows.into_iter().chain(in_order("ns1")) {
        assert_eq!(alternate(refs.into_iter(), &absent), expected, "{case}");
    }
}

/// TestGetAlternateOwnerIdentity, the cases of cluster-scoped owners.
#[test]
fn an_absent_cluster_scoped_owner_has_no_other_namespace() {
    let owner = parent("v1", "ClusterParent", "", "parentname");
    let version = parent("xx", "ClusterParent", "ns1", "parentname");
    let kind = parent("v1", "zzz", "ns1", "parentname");
    let name = parent("v1", "ClusterParent", "", "zzz");
    let cluster_kind = Identity { namespace: "".into(), ..kind.clone() };
    let unrelated = id("v1", "Parent", "ns1", "name", "anotheruid");
    let in_two = [by_child("ns1", &[&owner]), by_child("ns2", &[&owner])].concat();
    let rows = [
        ("cluster alternate version", by_child("ns1", &[&owner, &version]), Some(version)),
        ("cluster alternate kind", by_child("ns1", &[&owner, &kind]), Some(kind.clone())),
        ("cluster alternate namespace", in_two, None),
        ("cluster alternate name", by_child("ns1", &[&owner, &name]), Some(name)),
        ("ignore unrelated", by_child("ns1", &[&owner, &unrelated]), None),
        ("ignore matches", by_child("ns1", &[&owner, &owner]), None),
        ("collapse duplicates", by_child("", &[&owner, &kind, &kind]), Some(cluster_kind)),
    ];
    let rows = rows.map(|(case, refs, expected)| (case, refs, owner.clone(), expected));
    for (case, refs, absent, expected) in rows.into_iter().chain(in_order("")) {
        assert_eq!(alternate(refs.into_iter(), &absent), expected, "{case}");
    }
}

/// Two names for an owner, both of which were tried in vain: no busy loop.
#[test]
fn an_owner_that_has_no_name_left_is_looked_for_again_later() {
    let mut w = World::new();
    let secret = id("v1", "Secret", "ns1", "a", "a");
    w.see(&pod("b"), &ending(object(&pod("b"), &[&pod("a")])));
    w.see(&pod("c"), &ending(object(&pod("c"), &[&secret])));
    let mut delays = Vec::new();
    for gone in [pod("a"), secret.clone(), pod("a"), secret] {
        let mut queue = controller::Enqueue::default();
        w.graph.write().vanish(&gone, &mut queue);
        delays.push(matches!(queue.calls.last(), Some(controller::Call::After(..))));
    }
    assert_eq!(delays, [false, true, true, true]);
}

/// Neither the first nor the last of many edges costs more than the others: with edges in a list
/// that is searched, this takes minutes.
#[test]
fn an_owner_with_many_dependents_loses_them_one_by_one() {
    const MANY: usize = 100_000;
    let w = World::new();
    let owner = pod("owner");
    let mut nodes = w.graph.write();
    let mut queue = controller::Enqueue::default();
    let mut meta = metadata(&blocking(&pod("x"), &[&owner])).meta;
    for at in 0..MANY {
        meta.uid = format!("uid-{at}").into();
        nodes.put(&PODS, &meta, &mut queue);
    }
    let node = nodes.by_uid("owner").unwrap();
    assert_eq!((node.dependents_count(), node.blocking() as usize), (MANY, MANY));
    for at in (0..MANY).rev() {
        meta.uid = format!("uid-{at}").into();
        nodes.delete(&PODS, &meta, &mut queue);
    }
    assert!(nodes.by_uid("owner").is_none());
    assert_eq!(queue.calls.len(), 1, "the owner, when it was first named");
    nodes.check();
}
