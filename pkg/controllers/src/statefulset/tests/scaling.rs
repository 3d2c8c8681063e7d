//! How many pods there are, and in which order they come and go.

use controller::Controller as _;
use controller::fixture::{ago, ready, with};
use serde_json::json;

use super::world::{World, phase, running, terminating};
use super::*;

/// TestStatefulSetControl: CreatesPods.
#[test]
fn pods_come_one_after_the_other_each_when_those_before_are_ready() {
    let mut world = World::new(set(3));
    assert_eq!(
        world.sync(),
        "why: creating pod foo-0
in order: create controllerrevisions.apps in shop
in order: create persistentvolumeclaims in shop
in order: create pods in shop
"
    );
    let first = world.revisions.keys().next().unwrap().clone();
    assert_eq!(world.ordinals(), [0]);
    assert_eq!(world.sync(), "why: waits for pod foo-0 to be Running and Ready: it is Pending\n");
    world.each_pod(running);
    assert_eq!(
        world.sync(),
        "why: creating pod foo-1
in order: create persistentvolumeclaims in shop
in order: create pods in shop
"
    );
    world.settle();
    assert_eq!(world.ordinals(), [0, 1, 2]);
    assert_eq!(world.sync(), REST);
    assert_eq!(world.counts(), [3, 3, 3, 3, 3]);
    assert_eq!(world.set["status"]["currentRevision"], json!(first));
    let claims: Vec<_> = world.claims.keys().collect();
    assert_eq!(claims, ["datadir-foo-0", "datadir-foo-1", "datadir-foo-2"]);
}

/// TestStatefulSetControl: ScalesUp, ScalesDown; and that the claims stay.
#[test]
fn a_set_is_scaled_down_from_the_highest_number() {
    let mut world = World::settled(set(2));
    world.set = replicas(&world.set, 4);
    world.settle();
    assert_eq!(world.ordinals(), [0, 1, 2, 3]);
    world.set = replicas(&world.set, 0);
    let mut seen = Vec::new();
    while !world.pods.is_empty() {
        world.sync();
        seen.push(world.ordinals());
    }
    assert_eq!(seen, [vec![0, 1, 2], vec![0, 1], vec![0], vec![]]);
    assert_eq!(world.claims.len(), 4);
}

/// TestStatefulSetControl: ReplacesPods, RecreatesFailedPod, RecreatesSucceededPod.
#[test]
fn a_pod_that_has_ended_is_deleted_and_made_again() {
    for end in ["Failed", "Succeeded"] {
        let mut world = World::settled(bare(set(3)));
        world.change_pod("foo-1", phase(end));
        world.pods.remove("foo-2");
        world.graceful = true;
        assert_eq!(
            world.sync(),
            "why: deleting pod foo-1, which has ended\nin order: delete pods shop/foo-1\n"
        );
        assert_eq!(
            world.sync(),
            "why: waits for pod foo-1 to be gone, which has ended\n",
            "a pod that is being deleted is not deleted again"
        );
        world.pods.remove("foo-1");
        world.settle();
        assert_eq!(world.ordinals(), [0, 1, 2]);
    }
}

/// TestStatefulSetControllerBlocksScaling, TestStatefulSetControllerRespectsTermination.
#[test]
fn what_pods_that_wait_for_each_other_wait_for() {
    type Case<'a> = (&'a str, &'a dyn Fn(&mut World), &'a str);
    let cases: &[Case<'_>] = &[
        (
            "a pod is not ready",
            &|world| world.change_pod("foo-0", phase("Running")),
            "waits for pod foo-0 to be Running and Ready: it is Running and not Ready",
        ),
        (
            "a node is lost",
            &|world| world.change_pod("foo-1", phase("Unknown")),
            "waits for pod foo-1 to be Running and Ready: it is Unknown",
        ),
        (
            "a pod is being deleted",
            &|world| world.change_pod("foo-1", terminating),
            "waits for pod foo-1 to be gone, which is being deleted",
        ),
        ("a pod is missing", &|world| drop(world.pods.remove("foo-1")), "creating pod foo-1"),
    ];
    for (name, change, why) in cases {
        let mut world = World::settled(bare(set(3)));
        // Nobody goes meanwhile, either.
        world.set = replicas(&world.set, 2);
        change(&mut world);
        assert_eq!(world.why(), *why, "{name}");
        world.sync();
        assert!(world.pods.contains_key("foo-2"), "{name}");
    }
}

/// `processCondemned`.
#[test]
fn a_superfluous_pod_that_is_not_ready_goes_only_if_it_is_the_first_such() {
    let mut world = World::settled(bare(set(3)));
    world.set = replicas(&world.set, 1);
    world.change_pod("foo-1", phase("Pending"));
    world.change_pod("foo-2", phase("Pending"));
    assert_eq!(
        world.sync(),
        "why: pod foo-2 is not Available and is deleted only after pod foo-1, which is not either\n"
    );
    world.change_pod("foo-2", running);
    assert_eq!(
        world.sync(),
        "why: deleting pod foo-2, for which there is no place\nin order: delete pods shop/foo-2\n"
    );
    world.graceful = true;
    assert_eq!(
        world.sync(),
        "why: deleting pod foo-1, for which there is no place\nin order: delete pods shop/foo-1\n"
    );
    assert_eq!(
        world.sync(),
        "why: waits for pod foo-1 to be gone before the next one is deleted\n"
    );
}

/// TestParallelScale, and `slowStartBatch`: 1, 2, 4.
#[test]
fn in_parallel_all_come_and_go_at_once_in_batches_that_double() {
    let mut world = World::new(parallel(bare(set(5))));
    let plan = world.sync();
    assert_eq!(
        plan.lines().map(|line| line.split(':').next().unwrap()).collect::<Vec<_>>(),
        ["why", "in order", "chain 0", "chain 0", "chain 1", "chain 0", "chain 1"]
    );
    assert_eq!(world.ordinals(), [0, 1, 2, 3, 4]);
    assert!(world.why().contains("waits for pod foo-3 to be Running and Ready"));
    world.set = replicas(&world.set, 1);
    world.sync();
    assert_eq!(world.ordinals(), [0], "ready or not");
}

/// TestStatefulSetControlWithStartOrdinal.
#[test]
fn numbers_begin_where_the_set_says() {
    let from = |start| json!({"spec": {"ordinals": {"start": start}}});
    let mut world = World::settled(with(set(3), from(2)));
    assert_eq!(world.ordinals(), [2, 3, 4]);
    world.set = with(world.set.clone(), from(0));
    world.settle();
    assert_eq!(world.ordinals(), [0, 1, 2], "those behind the end go");
    world.set = with(world.set.clone(), from(1));
    world.settle();
    assert_eq!(world.ordinals(), [1, 2, 3]);
}

/// TestStatefulSetControllerDeletionTimestamp: nothing but the status.
#[test]
fn a_set_that_is_being_deleted_is_left_alone() {
    let mut world = World::settled(set(3));
    world.pods.remove("foo-1");
    world.set = generation(terminating(image(&world.set, "new")));
    assert_eq!(world.sync(), "why: the set is being deleted\n");
    assert_eq!(world.counts(), [2, 2, 2, 2, 2]);
    assert_eq!(world.set["status"]["observedGeneration"], world.set["metadata"]["generation"]);
    assert_eq!(world.revisions.len(), 1);
}

#[test]
fn a_set_that_selects_everything_or_cannot_be_read_is_left_alone() {
    let mut world = World::settled(set(1));
    world.set["spec"]["selector"] = json!({});
    assert_eq!(world.sync(), "why: the selector is empty\n");
    world.set["spec"]["selector"] =
        json!({"matchExpressions": [{"key": "foo", "operator": "Odd", "values": ["bar"]}]});
    assert!(world.sync().starts_with("why: the selector is invalid"));
    assert_eq!(world.pods.len(), 1);
}

/// One user's mistake must not take the memory of the process.
#[test]
fn a_set_may_ask_for_more_pods_than_there_is_room_for() {
    let mut world = World::new(parallel(bare(set(i32::MAX))));
    world.sync();
    assert_eq!(world.pods.len(), 500);
    world.set = with(world.set.clone(), json!({"spec": {"ordinals": {"start": i32::MAX}}}));
    assert!(world.plan().actions() > 0);
}

/// TestIsMemberOf.
#[test]
fn only_pods_with_the_name_of_the_set_and_a_number_are_its_own() {
    let mut world = World::settled(bare(set(1)));
    let pod = world.pods["foo-0"].clone();
    for name in ["foo-bar", "foo-99999999999", "foo-1-1"] {
        let named = json!({"metadata": {"name": name, "uid": name}});
        world.pods.insert(name.to_owned(), with(pod.clone(), named));
    }
    let plan = world.sync();
    assert!(plan.contains("patch pods shop/foo-bar"), "released: {plan}");
    assert!(plan.contains("patch pods shop/foo-1-1"), "released: {plan}");
    assert!(!plan.contains("delete pods"), "{plan}");
    assert_eq!(world.counts()[0], 1, "a number that is none does not count");
}

/// TestGetPodsForStatefulSetAdopt, TestGetPodsForStatefulSetRelease.
#[test]
fn orphans_are_adopted_and_what_is_no_longer_selected_is_let_go() {
    let mut world = World::settled(bare(set(2)));
    world.change_pod("foo-0", |pod| with(pod, json!({"metadata": {"ownerReferences": null}})));
    world.change_pod("foo-1", |pod| with(pod, json!({"metadata": {"labels": {"foo": "other"}}})));
    let plan = world.plan().to_string();
    assert!(plan.starts_with("why: 1 to adopt, 1 to release; creating pod foo-1\n"), "{plan}");
    assert!(plan.contains("patch pods shop/foo-0 {\"metadata\":{\"uid\":"), "{plan}");
}

/// TestStatefulSetAvailability, TestStatefulSetScaleDownRespectsMinReadySeconds,
/// TestStatefulSetAvailabilityCheck.
#[test]
fn a_pod_must_have_been_ready_for_long_enough() {
    let patient = |replicas| with(bare(set(replicas)), json!({"spec": {"minReadySeconds": 30}}));
    let since =
        |seconds| move |pod| with(pod, json!({"status": {"conditions": [ready(&ago(seconds))]}}));
    let mut world = World::settled(patient(3));
    world.change_pod("foo-1", since(10));
    world.pods.remove("foo-2");
    assert_eq!(
        world.sync(),
        "why: waits for pod foo-1 to be Available: to have been Ready for 30s\nagain in 20s\n"
    );
    assert_eq!(world.counts()[..3], [2, 2, 1]);
    world.now = controller::fixture::time(20_000_000_000);
    assert_eq!(world.sync().lines().next(), Some("why: creating pod foo-2"));
    // One that has no place goes if it is the first that is not available.
    let mut world = World::settled(patient(2));
    world.set = replicas(&world.set, 0);
    world.change_pod("foo-0", since(10));
    world.change_pod("foo-1", since(10));
    assert!(world.why().starts_with("pod foo-1 is not Available"));
}

/// Upstream sees no such pod at all, and would make another one.
#[test]
fn a_pod_that_cannot_be_read_is_waited_for() {
    for world in [World::settled(set(2)), World::settled(parallel(set(2)))] {
        let fixture = world.fixture().holding_unreadable::<Pod>(&world.pods["foo-0"], "odd");
        let snapshot = DEFAULT.observe(&Key::parse("shop/foo"), &fixture.view(), &()).unwrap();
        let (plan, _) = DEFAULT.plan(&snapshot, &Facts::default());
        let why = "why: waits for pod foo-0 to be Running and Ready: it cannot be read";
        assert!(plan.to_string().starts_with(why), "{plan}");
        assert_eq!(plan.actions(), 0);
    }
}
