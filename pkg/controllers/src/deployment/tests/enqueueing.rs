//! Which keys a change enqueues.

use controller::fixture::enqueued;

use super::*;

const FOO: &str = "now shop/foo\n";

/// `shop/baz`, which selects `foo=baz`.
fn baz() -> Value {
    let it = with(deployment("v1", 1), json!({"metadata": {"name": "baz", "uid": "d2"}}));
    spec(it, json!({"selector": {"matchLabels": {"foo": "baz"}}}))
}

fn labelled(set: Value, value: &str) -> Value {
    with(set, json!({"metadata": {"labels": {"foo": value}}}))
}

fn owned(set: Value, owner: &Value) -> Value {
    with(set, json!({"metadata": owned_by("Deployment", owner)}))
}

fn updated<T: Kind>(old: &Value, new: &Value) -> Change<T> {
    let version = |object: &Value, version: &str| {
        decode(&with(object.clone(), json!({"metadata": {"resourceVersion": version}})))
    };
    Change::Updated { old: version(old, "1"), new: version(new, "2") }
}

#[test]
fn deployments_enqueue_themselves() {
    let fixture = caches(&[], &[], &[]);
    let it = deployment("v1", 1);
    for (name, change, expected) in [
        ("added", Change::Added(decode::<Deployment>(&it)), FOO),
        ("changed", updated(&it, &deployment("v2", 1)), FOO),
        ("resync", updated(&it, &it), FOO),
        ("deleted", Change::Deleted(decode(&it)), "forget shop/foo\n"),
    ] {
        assert_eq!(enqueued(&CONTROLLER, &change, &fixture), expected, "{name}");
    }
}

/// TestAddReplicaSet, TestAddReplicaSetOrphan, TestDeleteReplicaSet, TestDeleteReplicaSetOrphan,
/// TestGetDeploymentsForReplicaSet.
#[test]
fn new_and_deleted_sets_enqueue_their_owner_or_adopters() {
    let twin = with(deployment("v1", 1), json!({"metadata": {"name": "twin", "uid": "d3"}}));
    let all = spec(twin.clone(), json!({"selector": {"matchLabels": null}}));
    let all = with(all, json!({"metadata": {"name": "all"}}));
    let elsewhere = with(twin.clone(), json!({"metadata": {"namespace": "other"}}));
    let it = deployment("v1", 1);
    let fixture = caches(&[it, baz(), twin, all, elsewhere], &[], &[]);
    let added = |set: Value| Change::Added(decode::<ReplicaSet>(&set));
    let gone = |set: Value| Change::Deleted(decode::<ReplicaSet>(&set));
    let both = "now shop/foo\nnow shop/twin\n";
    let other = |patch: Value| {
        let owner = with(json!({"metadata": {"name": "foo", "uid": "d1"}}), patch);
        owned(set("v1", 1), &owner)
    };
    let of_kind = |kind: &str| {
        let owner = json!({"metadata": {"name": "foo", "uid": "d1"}});
        with(set("v1", 1), json!({"metadata": owned_by(kind, &owner)}))
    };
    let bare = json!({"metadata": {"labels": null}});
    for (name, change, expected) in [
        ("TestAddReplicaSet", added(set("v1", 1)), FOO),
        ("of the other one", added(owned(set("v1", 1), &baz())), "now shop/baz\n"),
        ("being deleted", added(deleted(set("v1", 1))), FOO),
        ("TestAddReplicaSetOrphan", added(orphaned(set("v1", 1))), both),
        ("an orphan that is being deleted", added(deleted(orphaned(set("v1", 1)))), ""),
        ("an orphan without labels", added(with(orphaned(set("v1", 1)), bare)), ""),
        ("TestDeleteReplicaSet", gone(set("v1", 1)), FOO),
        ("TestDeleteReplicaSetOrphan", gone(orphaned(set("v1", 1))), ""),
        ("another uid", added(other(json!({"metadata": {"uid": "x"}}))), ""),
        ("another name", added(other(json!({"metadata": {"name": "x"}}))), ""),
        ("another kind", added(of_kind("Rollout")), ""),
    ] {
        assert_eq!(enqueued(&CONTROLLER, &change, &fixture), expected, "{name}");
    }
}

/// TestUpdateReplicaSet, TestUpdateReplicaSetOrphanWithNewLabels,
/// TestUpdateReplicaSetChangeControllerRef, TestUpdateReplicaSetRelease.
#[test]
fn changed_sets_enqueue_old_and_new_owners() {
    let fixture = caches(&[deployment("v1", 1), baz()], &[], &[]);
    let mine = || set("v1", 1);
    let orphan = || orphaned(set("v1", 1));
    for (name, old, new, expected) in [
        ("TestUpdateReplicaSet", mine(), set("v1", 2), FOO),
        (
            "TestUpdateReplicaSetOrphanWithNewLabels",
            orphan(),
            labelled(orphan(), "baz"),
            "now shop/baz\n",
        ),
        ("an orphan that is scaled", orphan(), orphaned(set("v1", 2)), ""),
        (
            "TestUpdateReplicaSetChangeControllerRef",
            owned(mine(), &baz()),
            mine(),
            "now shop/baz\nnow shop/foo\n",
        ),
        ("TestUpdateReplicaSetRelease", mine(), orphan(), "now shop/foo\nnow shop/foo\n"),
        ("adopted", orphan(), mine(), FOO),
    ] {
        let change = updated::<ReplicaSet>(&old, &new);
        assert_eq!(enqueued(&CONTROLLER, &change, &fixture), expected, "{name}");
    }
    let same = decode::<ReplicaSet>(&mine());
    let resync = Change::Updated { old: Arc::clone(&same), new: same };
    assert_eq!(enqueued(&CONTROLLER, &resync, &fixture), "", "same version");
}

/// TestPodDeletionEnqueuesRecreateDeployment and the three beside it.
#[test]
fn the_last_pod_that_goes_enqueues_a_recreate() {
    let of =
        |name: &str, set: &Value| with(pod(name), json!({"metadata": owned_by("ReplicaSet", set)}));
    let (rs1, rs2) = (set("v1", 1), set("v2", 1));
    let orphan = orphaned(set("v2", 2));
    let it = recreate(deployment("v2", 1));
    let foreign = labelled(set("v2", 1), "baz");
    for (name, it, sets, left, expected) in [
        ("TestPodDeletionEnqueues", &it, [&rs1, &rs2], vec![], FOO),
        ("TestPodDeletionDoesntEnqueue", &it, [&rs1, &rs2], vec![of("b", &rs2)], ""),
        ("PartialReplicaSetOwnershipEnqueue", &it, [&rs1, &orphan], vec![of("b", &orphan)], FOO),
        ("PartialReplicaSetOwnershipDoesntEnqueue", &it, [&rs1, &orphan], vec![of("b", &rs1)], ""),
        (
            "a set to be released does not count",
            &it,
            [&rs1, &foreign],
            vec![of("b", &foreign)],
            FOO,
        ),
        (
            "one that has ended counts",
            &it,
            [&rs1, &rs2],
            vec![with(of("b", &rs2), json!({"status": {"phase": "Failed"}}))],
            "",
        ),
        ("a rolling update does not wait", &deployment("v2", 1), [&rs1, &rs2], vec![], ""),
    ] {
        let fixture = caches(std::slice::from_ref(it), &sets.map(Clone::clone), &left);
        let gone = Change::Deleted(decode::<Pod>(&of("a", &rs1)));
        assert_eq!(enqueued(&CONTROLLER, &gone, &fixture), expected, "{name}");
        let changed = updated::<Pod>(&of("a", &rs1), &deleted(of("a", &rs1)));
        assert_eq!(enqueued(&CONTROLLER, &changed, &fixture), "", "{name}: only deletions");
    }
    let fixture = caches(&[it], &[rs1], &[]);
    let bare = Change::Deleted(decode::<Pod>(&pod("a")));
    assert_eq!(enqueued(&CONTROLLER, &bare, &fixture), "", "nobody's pod");
}
