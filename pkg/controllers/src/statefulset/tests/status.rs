//! The status.

use controller::fixture::with;
use controller::{Controller as _, Outcome};
use serde_json::json;

use super::world::{World, phase, running, terminating};
use super::*;

/// TestStatefulSetStatusUpdate, `computeReplicaStatus`.
#[test]
fn what_counts() {
    let mut world = World::settled(bare(set(4)));
    world.change_pod("foo-0", phase("Pending"));
    world.change_pod("foo-1", terminating);
    world.change_pod("foo-2", |pod| {
        with(pod, json!({"metadata": {"labels": {"controller-revision-hash": "other"}}}))
    });
    world.sync();
    assert_eq!(world.counts(), [4, 3, 3, 2, 2]);
}

/// `inconsistentStatus`.
#[test]
fn a_status_that_is_right_is_not_written() {
    let mut world = World::settled(bare(set(2)));
    let is_written = |world: &World| {
        let snapshot = world.snapshot();
        let (_, course) = world.controller.plan(&snapshot, &Facts::default());
        world.controller.report(&snapshot, Some(&course), &Outcome::default()).is_some()
    };
    assert!(!is_written(&world));
    world.set["status"]["collisionCount"] = Value::Null;
    assert!(!is_written(&world), "the number of collisions alone");
    world.set["status"]["observedGeneration"] = json!(7);
    assert!(!is_written(&world), "a later generation");
    world.set["status"]["observedGeneration"] = json!(0);
    assert!(is_written(&world));
    for field in COUNTS {
        let mut world = World::settled(bare(set(2)));
        world.set["status"][field] = json!(9);
        assert!(is_written(&world), "{field}");
    }
    // What others say stays.
    world.set["status"]["conditions"] = json!([{"type": "Mine", "status": "True"}]);
    world.sync();
    assert_eq!(world.set["status"]["conditions"][0]["type"], "Mine");
}

/// `performUpdate`: written also if the plan failed; not if earlier writes are not seen, nor if the
/// claim on pods failed.
#[test]
fn when_the_status_is_written() {
    let mut world = World::settled(bare(set(2)));
    world.change_pod("foo-1", phase("Pending"));
    let snapshot = world.snapshot();
    let (_, course) = world.controller.plan(&snapshot, &Facts::default());
    let report =
        |outcome: &Outcome| world.controller.report(&snapshot, Some(&course), outcome).is_some();
    let failed = Outcome { error: Some("no".into()), step: Some(0), ..Outcome::default() };
    assert!(report(&failed));
    assert!(!report(&Outcome { unsettled: true, ..Outcome::default() }));
    assert!(world.controller.report(&snapshot, None, &Outcome::default()).is_none());

    world.change_pod("foo-0", |pod| with(pod, json!({"metadata": {"ownerReferences": null}})));
    let snapshot = world.snapshot();
    let course =
        Some(Course { current: "a".into(), update: "a".into(), collision_count: 0, rolled: 0 });
    assert!(world.controller.report(&snapshot, Some(&course), &failed).is_none());
}

/// A pod of neither revision that is deleted for the update lowers a number that it was no part of:
/// upstream's is below zero then, which the API server refuses.
#[test]
fn no_count_is_below_zero() {
    let mut world = World::settled(bare(set(2)));
    world.each_pod(|pod| {
        with(running(pod), json!({"metadata": {"labels": {"controller-revision-hash": "older"}}}))
    });
    world.sync();
    assert_eq!(world.counts(), [2, 2, 2, 0, 0]);
}
