//! Which keys changes enqueue.

use api::{ControllerRevision, DaemonSet, Node, Pod};
use controller::fixture::{decode, with};
use controller::{Change, Controller as _, Shared};
use serde_json::{Value, json};

use super::super::Backoff;
use super::world::World;
use super::*;

const NOW: &str = "now shop/foo\n";

fn added<T: api::Kind>(world: &World, object: &Value) -> String {
    world.enqueued(&Change::<T>::Added(decode(object)))
}

fn removed<T: api::Kind>(world: &World, object: &Value) -> String {
    world.enqueued(&Change::<T>::Deleted(decode(object)))
}

fn updated<T: api::Kind>(world: &World, old: &Value, new: &Value) -> String {
    let new = with(new.clone(), json!({"metadata": {"resourceVersion": "2"}}));
    let change = Change::<T>::Updated { old: decode(old), new: decode(&new) };
    world.enqueued(&change)
}

/// The change of a resync: the same version twice.
fn again<T: api::Kind>(world: &World, object: &Value) -> String {
    let change = Change::<T>::Updated { old: decode(object), new: decode(object) };
    world.enqueued(&change)
}

/// Another set in the namespace, with the same selector.
fn other_set() -> Value {
    with(set(), json!({"metadata": {"name": "bar", "uid": "u2"}}))
}

fn orphan(object: Value) -> Value {
    with(object, json!({"metadata": {"ownerReferences": null}}))
}

/// TestDeleteFinalStateUnknown, TestExpectationsOnRecreate: the cache reports a replaced set as a
/// deleted and an added one.
#[test]
fn a_set_enqueues_itself() {
    let world = world(&set(), 0);
    assert_eq!(added::<DaemonSet>(&world, &set()), NOW);
    assert_eq!(updated::<DaemonSet>(&world, &set(), &set()), NOW);
    assert_eq!(again::<DaemonSet>(&world, &set()), NOW);
    assert_eq!(removed::<DaemonSet>(&world, &set()), "forget shop/foo\n");
}

#[test]
fn pods_enqueue_their_set_and_orphans_those_that_select_them() {
    let world = world(&set(), 0);
    let pod = || own("p", "node-0");
    let foreign = || labelled(orphan(pod()), &json!({"name": "x"}));
    let replaced = || {
        let mut pod = pod();
        pod["metadata"]["ownerReferences"][0]["uid"] = json!("u0");
        pod
    };
    // TestAddPod, TestAddPodOrphan
    assert_eq!(added::<Pod>(&world, &pod()), NOW);
    assert_eq!(added::<Pod>(&world, &replaced()), "");
    assert_eq!(added::<Pod>(&world, &orphan(pod())), NOW);
    assert_eq!(added::<Pod>(&world, &foreign()), "");
    assert_eq!(added::<Pod>(&world, &deleted(orphan(pod()))), "");
    assert_eq!(added::<Pod>(&world, &deleted(pod())), NOW);
    // TestUpdatePod, TestUpdatePodOrphanSameLabels, TestUpdatePodOrphanWithNewLabels
    assert_eq!(updated::<Pod>(&world, &pod(), &pod()), NOW);
    assert_eq!(updated::<Pod>(&world, &orphan(pod()), &orphan(pod())), "");
    assert_eq!(updated::<Pod>(&world, &foreign(), &orphan(pod())), NOW);
    // TestUpdatePodControllerRefRemoved: both the old owner and the sets that may adopt it
    assert_eq!(updated::<Pod>(&world, &pod(), &orphan(pod())), format!("{NOW}{NOW}"));
    // TestUpdatePodChangeControllerRef
    assert_eq!(updated::<Pod>(&world, &pod(), &replaced()), NOW);
    assert_eq!(updated::<Pod>(&world, &pod(), &deleted(pod())), NOW);
    // Taken from its owner while it is being deleted.
    assert_eq!(updated::<Pod>(&world, &deleted(pod()), &deleted(orphan(pod()))), NOW);
    assert_eq!(again::<Pod>(&world, &pod()), "");
    assert_eq!(again::<Pod>(&world, &deleted(pod())), "");
    // TestDeletePod, TestDeletePodOrphan, TestDeleteNoDaemonPod
    assert_eq!(removed::<Pod>(&world, &pod()), NOW);
    assert_eq!(removed::<Pod>(&world, &orphan(pod())), "");
}

#[test]
fn a_pod_that_becomes_ready_enqueues_its_set_once_more_when_it_is_available() {
    let mut set = set();
    set["spec"]["minReadySeconds"] = json!(10);
    let world = world(&set, 0);
    let (waiting, ready) = (own("p", "node-0"), ready_for(own("p", "node-0"), 0));
    assert_eq!(updated::<Pod>(&world, &waiting, &ready), format!("{NOW}after 11s shop/foo\n"));
    assert_eq!(updated::<Pod>(&world, &ready, &ready), NOW);
}

#[test]
fn revisions_enqueue_their_set_when_they_change_or_go() {
    let mut world = world(&set(), 1);
    world.sync();
    let revision = || world.revisions.values().next().unwrap().clone();
    let add = |revision: &Value| added::<ControllerRevision>(&world, revision);
    let update = |old: &Value, new: &Value| updated::<ControllerRevision>(&world, old, new);
    assert_eq!(add(&revision()), "");
    assert_eq!(add(&orphan(revision())), NOW);
    assert_eq!(add(&deleted(revision())), NOW);
    assert_eq!(update(&revision(), &revision()), NOW);
    assert_eq!(again::<ControllerRevision>(&world, &revision()), "");
    assert_eq!(update(&orphan(revision()), &orphan(revision())), "");
    let foreign = labelled(orphan(revision()), &json!({"name": "x"}));
    assert_eq!(update(&foreign, &orphan(revision())), NOW);
    assert_eq!(update(&revision(), &foreign), NOW);
    assert_eq!(removed::<ControllerRevision>(&world, &revision()), NOW);
    assert_eq!(removed::<ControllerRevision>(&world, &orphan(revision())), "");
}

/// TestUpdateNode, TestShouldIgnoreNodeUpdate, TestAddNode.
#[test]
fn a_node_enqueues_the_sets_that_it_concerns() {
    let selecting = || template(set(), &json!({"nodeSelector": {"color": "blue"}}));
    let misscheduled = |set: Value| with(set, json!({"status": {"numberMisscheduled": 1}}));
    let (plain, blue) = (node("node-0"), labelled(node("node-0"), &json!({"color": "blue"})));
    let stay = || tainted(node("node-0"), "x", "NoSchedule");
    let leave = || tainted(node("node-0"), "x", "NoExecute");
    let heartbeat = with(
        plain.clone(),
        json!({"status": {"conditions": [
        {"type": "Ready", "status": "False"}]}, "spec": {"unschedulable": true}}),
    );
    let rows = [
        (
            "Nothing changed, should not enqueue",
            selecting(),
            plain.clone(),
            plain.clone(),
            false,
            "",
        ),
        ("Node labels changed", selecting(), plain.clone(), blue.clone(), false, NOW),
        ("Node taints changed", set(), stay(), plain.clone(), false, NOW),
        ("Node Allocatable changed", set(), plain.clone(), heartbeat, false, ""),
        (
            "Pod transitions from misscheduled to scheduled due to node label change",
            misscheduled(selecting()),
            plain.clone(),
            blue.clone(),
            true,
            NOW,
        ),
        ("has its pod and should have it", selecting(), plain.clone(), blue.clone(), true, ""),
        ("may keep its pod", set(), plain.clone(), stay(), true, ""),
        ("must not keep its pod", set(), plain.clone(), leave(), true, NOW),
        ("must not have the pod that it has not", set(), plain, leave(), false, ""),
    ];
    for (name, set, old, new, has_pod, want) in rows {
        let mut world = world(&set, 0);
        if has_pod {
            world.put_pod(own("p", "node-0"));
        }
        assert_eq!(updated::<Node>(&world, &old, &new), want, "{name}");
    }
    assert_eq!(added::<Node>(&world(&set(), 0), &node("node-0")), NOW);
    assert_eq!(added::<Node>(&world(&selecting(), 0), &node("node-0")), "");
    // One that comes back before its pod went.
    let mut kept = world(&set(), 0);
    kept.put_pod(own("p", "node-0"));
    assert_eq!(added::<Node>(&kept, &node("node-0")), NOW);
    assert_eq!(removed::<Node>(&world(&set(), 0), &node("node-0")), "");
}

/// The pod of another set with the same selector is not this set's.
#[test]
fn pods_of_other_sets_do_not_count_for_a_node() {
    let mut world = world(&set(), 0);
    let mut pod = own("p", "node-0");
    pod["metadata"]["ownerReferences"][0]["name"] = other_set()["metadata"]["name"].clone();
    world.put_pod(pod);
    assert_eq!(added::<Node>(&world, &node("node-0")), NOW);
}

#[test]
fn a_failed_pod_that_goes_is_counted_once() {
    let world = world(&set(), 1);
    let failed = phase(own("p", "node-0"), "Failed");
    let left = |failed_pods: &Shared<Backoff>| {
        let mut probe = super::world(&set(), 1);
        probe.put_pod(failed.clone());
        let (fixture, key) = (probe.fixture(), api::Key::new("shop", "foo"));
        let failed_pods = failed_pods.read();
        let snapshot = probe.controller.observe(&key, &fixture.view(), &failed_pods).unwrap();
        snapshot.delays["node-0"].left.as_secs()
    };
    updated::<Pod>(&world, &failed, &failed);
    removed::<Pod>(&world, &own("running", "node-0"));
    removed::<Pod>(&world, &orphan(failed.clone()));
    assert_eq!(left(&world.failed_pods), 0);
    updated::<Pod>(&world, &failed, &deleted(failed.clone()));
    updated::<Pod>(&world, &deleted(failed.clone()), &deleted(failed.clone()));
    removed::<Pod>(&world, &deleted(failed.clone()));
    assert_eq!(left(&world.failed_pods), 1);
    removed::<Pod>(&world, &failed);
    assert_eq!(left(&world.failed_pods), 2);
}
