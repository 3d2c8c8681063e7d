//! Whose key a change enqueues.

use api::PersistentVolumeClaim;
use controller::fixture::{decode, enqueued, owned_by, with};
use controller::{Change, Controller as _};
use serde_json::json;

use super::world::{World, phase, running, terminating};
use super::*;

fn version(object: Value, version: &str) -> Value {
    with(object, json!({"metadata": {"resourceVersion": version}}))
}

/// TestStatefulSetControllerAddPod, ..AddPodOrphan, ..AddPodNoSet, ..UpdatePod, ..WithNoSet,
/// ..WithSameVersion, ..OrphanWithNewLabels, ..ChangeControllerRef, ..Release, ..DeletePod,
/// ..DeletePodOrphan.
#[test]
fn pods() {
    let world = World::settled(bare(set(1)));
    let fixture = world.fixture();
    let pod = version(world.pods["foo-0"].clone(), "5");
    let orphan = with(pod.clone(), json!({"metadata": {"ownerReferences": null}}));
    let foreign = with(orphan.clone(), json!({"metadata": {"labels": {"foo": "other"}}}));
    let other = json!({"metadata": {"name": "foo", "uid": "another"}});
    let others = with(pod.clone(), json!({"metadata": owned_by("StatefulSet", &other)}));
    let pending = phase("Pending")(pod.clone());
    let added = |pod: &Value| Change::Added(decode::<Pod>(pod));
    let deleted = |pod: &Value| Change::Deleted(decode::<Pod>(pod));
    let updated = |old: &Value, new: &Value| Change::Updated {
        old: decode::<Pod>(old),
        new: decode::<Pod>(&version(new.clone(), "6")),
    };
    let (once, none, twice) = ("now shop/foo\n", "", "now shop/foo\nnow shop/foo\n");
    let cases = [
        ("added", added(&pod), once),
        ("added, being deleted", added(&terminating(pod.clone())), once),
        ("added, of another set", added(&others), none),
        ("added, an orphan", added(&orphan), once),
        ("added, an orphan that is being deleted", added(&terminating(orphan.clone())), none),
        ("added, an orphan that nobody selects", added(&foreign), none),
        ("updated", updated(&pending, &pod), once),
        ("updated, being deleted", updated(&pod, &terminating(pod.clone())), once),
        ("updated, of another set", updated(&others, &others), none),
        ("the same version", updated(&version(pod.clone(), "6"), &pod), none),
        ("an orphan with other labels", updated(&foreign, &orphan), once),
        ("taken by another one", updated(&pod, &others), once),
        ("let go", updated(&pod, &orphan), twice),
        ("let go, with other labels", updated(&pod, &foreign), once),
        ("deleted", deleted(&pod), once),
        ("deleted, an orphan", deleted(&orphan), none),
    ];
    for (name, change, expected) in cases {
        assert_eq!(enqueued(&DEFAULT, &change, &fixture), expected, "{name}");
    }
}

/// `updatePod`: a pod that becomes ready is looked at again once it is available.
#[test]
fn a_pod_that_becomes_ready() {
    let world = World::settled(with(bare(set(1)), json!({"spec": {"minReadySeconds": 30}})));
    let new = running(version(world.pods["foo-0"].clone(), "6"));
    let old = version(phase("Running")(new.clone()), "5");
    let change = Change::Updated { old: decode::<Pod>(&old), new: decode::<Pod>(&new) };
    let enqueued = enqueued(&DEFAULT, &change, &world.fixture());
    assert_eq!(enqueued, "now shop/foo\nafter 30s shop/foo\n");
}

/// Upstream's hears of no claim; a pod that waits for one to be gone would wait for a resync.
#[test]
fn claims_and_sets() {
    let world = World::settled(set(1));
    let fixture = world.fixture();
    let claim = decode::<PersistentVolumeClaim>(&world.claims["datadir-foo-0"]);
    let (added, deleted) = (Change::Added(claim.clone()), Change::Deleted(claim));
    assert_eq!(enqueued(&DEFAULT, &added, &fixture), "");
    assert_eq!(enqueued(&DEFAULT, &deleted, &fixture), "now shop/foo\n");
    let set = decode::<StatefulSet>(&world.set);
    assert_eq!(enqueued(&DEFAULT, &Change::Added(set.clone()), &fixture), "now shop/foo\n");
    assert_eq!(enqueued(&DEFAULT, &Change::Deleted(set), &fixture), "forget shop/foo\n");
    let summary = DEFAULT.summary(&world.snapshot());
    assert!(summary.contains(&("have", "1".to_owned())), "{summary:?}");
}
