//! What becomes of an object that is looked at.

use api::{Key, intern};
use controller::fixture::with;
use controller::{Controller as _, Plan};
use serde_json::{Value, json};

use super::world::*;
use crate::garbagecollector::identity::Identity;

fn item() -> Identity {
    id("v1", "Pod", "ns1", "item", "item-uid")
}

fn owner(name: &str) -> Identity {
    id("v1", "ReplicationController", "ns1", name, &format!("{name}-uid"))
}

fn child() -> Identity {
    id("v1", "Pod", "ns1", "child", "child-uid")
}

/// What is read for the item, and the plan.
fn looked_at(w: &mut World) -> String {
    let (reads, plan) = w.sync(&item().key());
    format!("{reads}{}", plan.unwrap())
}

fn only_plan(w: &mut World, id: &Identity) -> Plan {
    let (reads, plan) = w.sync(&id.key());
    assert_eq!(reads, "");
    plan.unwrap()
}

/// A world in which the item has owners: one that is there, one that was deleted, one that waits.
fn with_owners(owners: &[&str], item_object: impl Fn(&[&Identity]) -> Value) -> World {
    let mut w = World::new();
    let ids: Vec<_> = owners.iter().map(|name| owner(name)).collect();
    for id in &ids {
        match &*id.name {
            "waiting" => {
                w.live(id, &waiting(object(id, &[])));
                w.see(id, &waiting(object(id, &[])));
            }
            _ => w.add(id, &[]),
        }
    }
    w.see(&item(), &item_object(&ids.iter().collect::<Vec<_>>()));
    if owners.contains(&"gone") {
        w.delete(&owner("gone"));
    }
    w
}

const DISOWN: &str = r#"{"metadata":{"ownerReferences":[{"$patch":"delete","uid":"gone-uid"}],"#;

const READ: &str = "get replicationcontrollers ns1/waiting\n";

/// `attemptToDeleteItem` by what the owners are worth. Only those that wait are read.
#[test]
fn an_object_goes_with_the_last_of_its_owners() {
    let item_with = |owners: &[&Identity]| object(&item(), owners);
    for (name, owners, reads, expected) in [
        (
            "one owner that is there",
            &["solid"][..],
            "",
            "why: it stays, since it is owned by ReplicationController solid (solid-uid)\n",
        ),
        (
            "one owner that is deleted",
            &["gone"],
            "",
            "why: its owners do not exist: ReplicationController gone (gone-uid)\n\
             in order: delete pods ns1/item with these owners, Background\n",
        ),
        (
            "TestSolidOwnerDoesNotBlockWaitingOwner: waiting and absent owners are removed",
            &["solid", "gone", "waiting"],
            READ,
            "why: it stays, since it is owned by ReplicationController solid (solid-uid); absent \
             or being deleted: ReplicationController gone (gone-uid), ReplicationController \
             waiting (waiting-uid)\n\
             in order: patch pods ns1/item {\"metadata\":{\"ownerReferences\":[{\"$patch\":\
             \"delete\",\"uid\":\"gone-uid\"},{\"$patch\":\"delete\",\"uid\":\"waiting-uid\"}],\
             \"uid\":\"item-uid\"}}\n",
        ),
        (
            "absent and waiting, without dependents",
            &["gone", "waiting"],
            READ,
            "why: its owners do not exist: ReplicationController gone (gone-uid); being deleted in \
             the foreground: ReplicationController waiting (waiting-uid)\n\
             in order: delete pods ns1/item with these owners, Background\n",
        ),
    ] {
        let mut w = with_owners(owners, item_with);
        assert_eq!(looked_at(&mut w), [reads, expected].concat(), "{name}");
    }
}

/// Seen waiting, and by now its dependents are to stay: the cache alone deletes none of them.
#[test]
fn an_owner_that_no_longer_waits_keeps_its_dependents() {
    let mut w = with_owners(&["waiting"], |owners| object(&item(), owners));
    let leaving = ending(finalizers(object(&owner("waiting"), &[]), &["orphan"]));
    w.live(&owner("waiting"), &leaving);
    let stays = "why: it stays, since it is owned by ReplicationController waiting (waiting-uid)\n";
    assert_eq!(looked_at(&mut w), format!("{READ}{stays}"));
}

/// The last switch of `attemptToDeleteItem`.
#[test]
fn what_was_asked_for_the_dependents_is_honoured() {
    for (finalizer, policy) in
        [("orphan", "Orphan"), ("foregroundDeletion", "Foreground"), ("x.io/y", "Background")]
    {
        let object = |owners: &[&Identity]| finalizers(object(&item(), owners), &[finalizer]);
        let mut w = with_owners(&["gone"], object);
        let expected = format!("delete pods ns1/item with these owners, {policy}\n");
        assert!(looked_at(&mut w).ends_with(&expected), "{finalizer}");
    }
}

/// `attemptToDeleteItem`: waiting owners and dependents.
#[test]
fn an_object_with_dependents_goes_in_the_foreground_if_its_owner_waits() {
    let mut w = with_owners(&["waiting"], |owners| object(&item(), owners));
    w.see(&child(), &blocking(&child(), &[&item()]));
    let why = "why: its owners are being deleted in the foreground: ReplicationController waiting \
               (waiting-uid)\n";
    let delete = "in order: delete pods ns1/item with these owners, Foreground\n";
    let expected = format!("{READ}{why}{delete}");
    assert_eq!(looked_at(&mut w), expected);
}

/// `attemptToDeleteItem`: the circle; and TestUnblockOwnerReference. Once the references do not
/// block, the object is deleted.
#[test]
fn a_circle_is_broken_before_the_object_goes_in_the_foreground() {
    let mut w = World::new();
    let first = owner("first");
    w.see(&first, &blocking(&first, &[&item()]));
    w.see(&item(), &blocking(&item(), &[&first]));
    w.pending.clear();
    w.see(&first, &waiting(blocking(&first, &[&item()])));
    w.live(&first, &waiting(blocking(&first, &[&item()])));
    assert_eq!(w.queue(), "ns1/Pod:item; ns1/ReplicationController:first");
    let expected = "get replicationcontrollers ns1/first\n\
                    why: its owners are being deleted in the foreground: ReplicationController \
                    first (first-uid), and so is one of its dependents: owners must not wait for \
                    it\nin order: patch pods ns1/item {\"metadata\":{\"ownerReferences\":[\
                    {\"blockOwnerDeletion\":false,\"uid\":\"first-uid\"}],\"uid\":\"item-uid\"}}\n";
    assert_eq!(looked_at(&mut w), expected);
    w.see(&item(), &object(&item(), &[&first]));
    assert_eq!(w.queue(), "ns1/Pod:item; ns1/ReplicationController:first");
    assert!(looked_at(&mut w).ends_with("delete pods ns1/item with these owners, Foreground\n"));
    let plan = only_plan(&mut w, &first).to_string();
    assert!(plan.starts_with(
        "why: it is being deleted in the foreground, and no dependent blocks that any longer\n"
    ));
}

/// The same through an object that was never observed: a dependent that waits is known of it, its
/// owners are only read live.
#[test]
fn a_circle_through_a_virtual_object_is_broken_too() {
    let mut w = World::new();
    let first = owner("first");
    let going = waiting(blocking(&first, &[&item()]));
    w.live(&first, &going);
    w.see(&first, &going);
    w.live(&item(), &blocking(&item(), &[&first]));
    let (_, plan) = w.sync(&item().key());
    let plan = plan.unwrap().to_string();
    assert!(plan.contains("and so is one of its dependents"), "{plan}");
    assert!(plan.contains("{\"blockOwnerDeletion\":false,\"uid\":\"first-uid\"}"), "{plan}");
}

/// `processDeletingDependentsItem` and `removeFinalizer`; TestNonBlockingOwnerRefDoesNotBlock.
#[test]
fn a_deletion_in_the_foreground_ends_with_the_last_dependent_that_blocks_it() {
    let mut w = World::new();
    w.see(&item(), &object(&item(), &[]));
    let other = id("v1", "Pod", "ns1", "other", "other-uid");
    w.see(&child(), &blocking(&child(), &[&item()]));
    w.see(&other, &object(&other, &[&item()]));
    assert_eq!(w.queue(), "");
    let going = ending(finalizers(object(&item(), &[]), &["a", "foregroundDeletion", "b"]));
    w.see(&item(), &going);
    assert_eq!(w.queue(), "ns1/Pod:child; ns1/Pod:other; ns1/Pod:item");
    let waits = "why: it is being deleted in the foreground and waits for 1 of its 2 dependents\n";
    assert_eq!(looked_at(&mut w), waits);
    w.pending.clear();
    w.delete(&child());
    assert_eq!(w.queue(), "ns1/Pod:item");
    let merge = "in order: merge pods ns1/item {\"metadata\":{\"finalizers\":[\"a\",\"b\"],\
                 \"resourceVersion\":\"4\",\"uid\":\"item-uid\"}}\n";
    assert!(looked_at(&mut w).ends_with(merge));
    // The finalizer was removed already: nothing to do.
    w.see(&item(), &ending(finalizers(object(&item(), &[]), &["a"])));
    assert_eq!(looked_at(&mut w), "why: it is being deleted\n");
}

/// As upstream's marshalled nil slice: `null` takes the field away.
#[test]
fn the_last_finalizer_leaves_no_list_behind() {
    let mut w = World::new();
    w.see(&item(), &waiting(object(&item(), &[])));
    let merge = "merge pods ns1/item {\"metadata\":{\"finalizers\":null,\"resourceVersion\":\"1\",\
                 \"uid\":\"item-uid\"}}\n";
    assert!(looked_at(&mut w).ends_with(merge));
}

#[test]
fn an_object_that_is_being_deleted_or_has_no_owners_is_left_alone() {
    let mut w = with_owners(&["gone"], |owners| ending(object(&item(), owners)));
    assert_eq!(looked_at(&mut w), "why: it is being deleted\n");
    w.see(&item(), &ending(finalizers(object(&item(), &[]), &["orphan", "foregroundDeletion"])));
    assert_eq!(looked_at(&mut w), "why: it is being deleted\n", "first it orphans them");
    w.see(&item(), &object(&item(), &[]));
    assert_eq!(looked_at(&mut w), "why: it has no owners\n");
}

/// TestAttemptToDeleteItem: the item is virtual, so it and its owners are read live.
#[test]
fn a_virtual_object_is_read_live_and_goes_with_its_owners() {
    let mut w = World::new();
    w.live(&item(), &object(&item(), &[&owner("owner1")]));
    w.add(&child(), &[&item()]);
    let expected = "get pods ns1/item\nget replicationcontrollers ns1/owner1\n\
                    why: its owners do not exist: ReplicationController owner1 (owner1-uid)\n\
                    in order: delete pods ns1/item with these owners, Background\nagain in 60s\n";
    assert_eq!(looked_at(&mut w), expected);
    // TestAttemptToDeleteItemDeleteObjectNotFound, for one that only references know: gone when it
    // is synced again, and its dependents are enqueued.
    w.gone(&item());
    w.pending.clear();
    assert_eq!(
        looked_at(&mut w),
        "get pods ns1/item\nwhy: it does not exist; those that name it as owner are looked at\n"
    );
    w.is("v1/Pod ns1/child -> item-uid", "ns1/Pod:child");
}

/// TestAttemptToDeleteItemDeleteObjectNotFoundWaitingForDependents: the owner is read live and
/// waits. A deletion that finds no object is a success for the engine; the watch shows it.
#[test]
fn an_owner_that_was_never_observed_is_read_live() {
    let owner1 = owner("owner1");
    for (name, live, expected) in [
        ("gone", None, "delete pods ns1/item with these owners, Background\n"),
        (
            "replaced",
            Some(object(&Identity { uid: intern("new-uid"), ..owner1.clone() }, &[])),
            "delete pods ns1/item with these owners, Background\n",
        ),
        (
            "there",
            Some(object(&owner1, &[])),
            "owned by ReplicationController owner1 (owner1-uid)\n",
        ),
        (
            "waits",
            Some(waiting(object(&owner1, &[]))),
            "delete pods ns1/item with these owners, Background\n",
        ),
        (
            "is being deleted, and does not wait",
            Some(ending(object(&owner1, &[]))),
            "owned by ReplicationController owner1 (owner1-uid)\n",
        ),
        (
            "is to orphan its dependents first",
            Some(ending(finalizers(object(&owner1, &[]), &["orphan", "foregroundDeletion"]))),
            "owned by ReplicationController owner1 (owner1-uid)\n",
        ),
    ] {
        let mut w = World::new();
        w.add(&item(), &[&owner1]);
        if let Some(live) = live {
            w.live(&owner1, &live);
        }
        let text = looked_at(&mut w);
        assert!(text.starts_with("get replicationcontrollers ns1/owner1\n"), "{name}: {text}");
        assert!(text.ends_with(expected), "{name}: {text}");
    }
}

/// One that was observed, but not under this name: the API server has the last word.
#[test]
fn a_reference_with_a_wrong_name_is_read_live() {
    let mut w = with_owners(&["solid"], |owners| {
        object(&item(), &[&Identity { name: intern("other"), ..owners[0].clone() }])
    });
    let text = looked_at(&mut w);
    assert!(text.starts_with("get replicationcontrollers ns1/other\n"), "{text}");
    assert!(text.ends_with("delete pods ns1/item with these owners, Background\n"), "{text}");
}

#[test]
fn a_read_that_fails_deletes_nothing_and_is_tried_again() {
    let mut w = World::new();
    w.add(&item(), &[&owner("gone"), &owner("broken")]);
    w.broken(&owner("broken"));
    let error = "error: cannot read metadata of replicationcontrollers ns1/broken: broken\n";
    assert_eq!(
        looked_at(&mut w),
        format!(
            "get replicationcontrollers ns1/broken\nget replicationcontrollers ns1/gone\n\
             why: an owner cannot be found out about\n{error}"
        )
    );
    let (_, plan) = w.sync(&owner("broken").key());
    let plan = plan.unwrap();
    assert_eq!(plan.to_string(), format!("why: it was never observed\n{error}"));
    assert!(!plan.quiet, "the API server should answer");
}

/// `classifyReferences` and `processAttemptToDeleteWorker`: an unknown kind is an error whatever
/// the other owners are; a namespaced owner of an object outside namespaces is not.
#[test]
fn owners_of_unknown_kinds_keep_an_object() {
    let mut w = World::new();
    let unknown = id("example.com/v1", "Widget", "ns1", "w", "w-uid");
    w.add(&item(), &[&owner("gone"), &unknown]);
    let text = looked_at(&mut w);
    assert!(text.starts_with("why: an owner cannot be found out about\nerror: unable to get REST"));
    // A custom resource whose definition is deleted may be named for ever: no warning at each try.
    for key in [item().key(), unknown.key()] {
        let plan = w.sync(&key).1.unwrap();
        assert!(plan.error.is_some() && plan.quiet, "{plan}");
    }
    let node = id("v1", "Node", "", "node", "node-uid");
    w.add(&node, &[&owner("gone")]);
    let why = "why: it is outside namespaces, and cannot be owned by ReplicationController gone \
               (gone-uid), which is in one\n";
    assert_eq!(only_plan(&mut w, &node).to_string(), why);
}

/// TestAbsentOwnerCache: one read of an owner serves all that name it.
#[test]
fn an_absent_owner_is_read_once() {
    let mut w = World::new();
    let pods = ["a", "b", "c"].map(|name| id("v1", "Pod", "ns1", name, name));
    for pod in &pods {
        w.add(pod, &[&owner("rc1")]);
    }
    assert_eq!(w.queue(), "ns1/ReplicationController:rc1");
    let mut reads = String::new();
    while !w.pending.is_empty() {
        reads.push_str(&w.look());
    }
    let deletes = ["a", "b", "c"]
        .map(|name| format!("delete pods ns1/{name} with these owners, Background\n"));
    let read = "get replicationcontrollers ns1/rc1\n".to_owned();
    assert_eq!(reads, read + &deletes.concat());
}

/// The response to a read that began before an owner was made again says nothing of the new one.
#[test]
fn an_old_answer_makes_no_new_owner_absent() {
    let mut w = World::new();
    let (old, new) = (owner("rc"), Identity { uid: intern("new-uid"), ..owner("rc") });
    w.add(&item(), &[&old]);
    let look = w.begin(&old.key());
    // Another owner of that name comes between, and a look that reads it by the same query.
    w.add(&child(), &[&new]);
    let other = w.begin(&child().key());
    w.pending.clear();
    w.end(look, &controller::Answer::NotFound);
    let absent = "v1/ReplicationController ns1/rc";
    assert_eq!((w.queue().as_str(), w.absent().as_str()), ("ns1/Pod:item", absent));
    assert!(w.graph.read().by_uid("new-uid").unwrap().is_virtual(), "the old one, and only that");
    w.end(other, &controller::Answer::NotFound);
    assert_eq!(w.queue(), "ns1/Pod:item; ns1/Pod:child");
}

/// Two owners of one name that are deleted both, as after two deletions in a row: the looks at them
/// ask the same at the same time, and each of them has its answer.
#[test]
fn looks_at_absent_owners_of_one_name_do_not_collide() {
    let mut w = World::new();
    let (old, new) = (owner("rc"), Identity { uid: intern("new-uid"), ..owner("rc") });
    w.add(&item(), &[&old]);
    w.add(&child(), &[&new]);
    let looks = [w.begin(&old.key()), w.begin(&new.key())];
    w.pending.clear();
    for look in looks {
        w.end(look, &controller::Answer::NotFound);
    }
    w.is("v1/Pod ns1/child -> new-uid; v1/Pod ns1/item -> rc-uid", "ns1/Pod:item; ns1/Pod:child");
}

/// A cluster-scoped owner that is not there is absent in all namespaces at once.
#[test]
fn an_absent_cluster_scoped_owner_is_read_once() {
    let mut w = World::new();
    let node = id("v1", "Node", "", "node", "node-uid");
    let pods = ["ns1", "ns2"].map(|namespace| id("v1", "Pod", namespace, "a", namespace));
    for pod in &pods {
        w.add(pod, &[&node]);
    }
    // The second one is looked at since the namespace of the first one might matter.
    assert_eq!(w.queue(), "ns1/Node:node; ns2/Pod:a");
    assert_eq!(w.look(), "get nodes node\n");
    w.is("v1/Pod ns1/a -> node-uid; v1/Pod ns2/a -> node-uid", "ns2/Pod:a; ns1/Pod:a");
    assert_eq!(w.look(), "delete pods ns2/a with these owners, Background\n");
    assert_eq!(w.look(), "delete pods ns1/a with these owners, Background\n");
}

/// Uids in references are any text. A look at what is deleted by now costs no more than another
/// one, and there is none for an owner of which it is known that it does not exist.
#[test]
fn an_owner_with_an_odd_uid_is_looked_at_once_and_by_no_walk() {
    for uid in ["0a1b2c3d-0000-4000-8000-0123456789ab", "odd", "o:d:d", "Pod"] {
        let mut w = World::new();
        let gone = Identity { uid: intern(uid), ..owner("gone") };
        w.add(&item(), &[&gone]);
        let key = w.pending[0].clone();
        assert_eq!(w.look(), "get replicationcontrollers ns1/gone\n", "not again, {uid}");
        assert_eq!(w.queue(), "ns1/Pod:item", "{uid}");
        let before = w.graph.read().walks();
        assert!(w.sync(&key).1.is_none(), "{uid}");
        assert_eq!(w.graph.read().walks(), before, "{uid}");
    }
}

#[test]
fn a_person_finds_an_object_by_less_than_its_key() {
    let mut w = World::new();
    let uid = "0a1b2c3d-0000-4000-8000-0123456789ab";
    let web = id("apps/v1", "Deployment", "ns1", "web", uid);
    let role = id("rbac.authorization.k8s.io/v1", "Role", "ns1", "system:a", "role-uid");
    w.add(&web, &[]);
    w.add(&role, &[]);
    w.add(&item(), &[]);
    for (text, expected) in [
        (format!("ns1/Deployment.apps:web:{uid}"), Some("web")),
        ("ns1/Deployment.apps:web".to_owned(), Some("web")),
        (uid.to_owned(), Some("web")),
        ("item-uid".to_owned(), Some("item")),
        ("ns1/Role.rbac.authorization.k8s.io:system:a:role-uid".to_owned(), Some("system:a")),
        ("ns1/Role.rbac.authorization.k8s.io:system:a".to_owned(), Some("system:a")),
        (format!("ns2/Deployment.apps:web:{uid}"), None),
        (format!("ns1/Deployment.apps:other:{uid}"), None),
        ("ns1/Deployment:web".to_owned(), None),
        ("ns2/Pod:item".to_owned(), None),
    ] {
        let (nodes, key) = (w.graph.read(), Key::parse(&text));
        let meant = nodes.named(&key).unwrap_or(key);
        let name = nodes.resolve(&meant).map(|slot| &*nodes.node(slot).key.name);
        assert_eq!(name, expected, "{text}");
    }
}

/// One of two objects that are called the same, which can be for a moment.
#[test]
fn a_name_that_two_objects_have_finds_neither() {
    let mut w = World::new();
    w.add(&child(), &[&item(), &Identity { uid: intern("other-uid"), ..item() }]);
    assert_eq!(w.graph.read().named(&Key::parse("ns1/Pod:item")), None);
    assert_eq!(w.graph.read().named(&Key::parse("ns1/Pod:child")), Some(child().key()));
}

#[test]
fn the_summary_shows_what_is_known_of_owners_and_dependents() {
    let mut w = with_owners(&["solid", "gone", "waiting"], |owners| {
        let unknown = id("example.com/v1", "Widget", "ns1", "w", "w-uid");
        let mut owners = owners.to_vec();
        let missing = owner("missing");
        owners.extend([&unknown, &missing]);
        blocking(&item(), &owners)
    });
    w.see(&child(), &blocking(&child(), &[&item()]));
    let view = controller::fixture::Fixture::default();
    let snapshot = w.collector.observe(&item().key(), &view.view(), &w.graph.read()).unwrap();
    let facts = w.collector.summary(&snapshot);
    let lines: Vec<_> = facts.iter().map(|(name, value)| format!("{name}: {value}")).collect();
    let blocks = "its foreground deletion waits for this object";
    let rc = "owner: v1/ReplicationController";
    assert_eq!(
        lines,
        [
            "object: [v1/Pod, namespace: ns1, name: item, uid: item-uid]".to_owned(),
            "state: there".to_owned(),
            format!("{rc} solid (uid solid-uid): there, {blocks}"),
            format!("{rc} gone (uid gone-uid): does not exist, {blocks}"),
            format!(
                "{rc} waiting (uid waiting-uid): being deleted in the foreground, to be read live, \
                 {blocks}"
            ),
            format!(
                "owner: example.com/v1/Widget w (uid w-uid): of a kind that is not served, {blocks}"
            ),
            format!("{rc} missing (uid missing-uid): not observed, to be read live, {blocks}"),
            "dependents: 1".to_owned(),
            "dependents that block: 1".to_owned(),
        ]
    );
}

/// For kinds that know no strategic merge: all references that stay, of exactly this version. Also
/// TestDeleteOwnerRefPatch.
#[test]
fn custom_resources_get_a_merge_patch_to_the_same_end() {
    let item_with = |owners: &[&Identity]| {
        with(
            object(&item(), owners),
            json!({"metadata": {"ownerReferences": [
                {"apiVersion": "v1", "kind": "ReplicationController", "name": "solid",
                    "uid": "solid-uid", "controller": true, "blockOwnerDeletion": true},
                reference(owners[1], true),
            ]}}),
        )
    };
    let mut w = with_owners(&["solid", "gone"], item_with);
    let plan = only_plan(&mut w, &item());
    let [controller::Step::InOrder(actions)] = plan.steps.as_slice() else { panic!("{plan}") };
    let [controller::Action::Write(write)] = actions.as_slice() else { panic!("{plan}") };
    let patch = write.patched().unwrap();
    assert_eq!(patch.body, format!("{DISOWN}\"uid\":\"item-uid\"}}}}"));
    let otherwise: Value = serde_json::from_str(patch.otherwise.as_ref().unwrap()).unwrap();
    assert_eq!(
        otherwise,
        json!({"metadata": {"uid": "item-uid", "resourceVersion": "3", "ownerReferences": [
            {"apiVersion": "v1", "kind": "ReplicationController", "name": "solid",
                "uid": "solid-uid", "controller": true, "blockOwnerDeletion": true}]}})
    );
    assert_eq!(write.tolerates, [controller::Tolerated::Missing]);
}

/// A strategic merge finds one of two references to the same owner.
#[test]
fn an_owner_that_is_named_twice_is_unblocked_whole() {
    let first = owner("first");
    let twice = |json: Value| {
        let refs = [reference(&first, false), reference(&first, true)];
        with(json, json!({"metadata": {"ownerReferences": refs}}))
    };
    let mut w = World::new();
    w.see(&first, &waiting(blocking(&first, &[&item()])));
    w.see(&item(), &twice(object(&item(), &[])));
    w.live(&first, &waiting(object(&first, &[])));
    let loose =
        r#"{"apiVersion":"v1","kind":"ReplicationController","name":"first","uid":"first-uid"}"#;
    let merge = format!(
        "merge pods ns1/item {{\"metadata\":{{\"ownerReferences\":[{loose},{loose}],\
         \"resourceVersion\":\"2\",\"uid\":\"item-uid\"}}}}\n"
    );
    let text = looked_at(&mut w);
    assert!(text.ends_with(&merge), "{text}");
}
