//! One pod on each node that should have one.

use std::time::Duration;

use controller::fixture::with;
use serde_json::{Value, json};

use super::world::World;
use super::*;

/// Adds pods of the set to a node: with the label of the present template, not ready. As upstream's
/// `addPods`.
fn add(world: &mut World, node: &str, count: usize) {
    let hash = world.hash();
    for n in 0..count {
        world.put_pod(with_hash(own(&format!("{node}-{n}"), node), &hash));
    }
}

/// Adds pods that the set controls and no longer selects.
fn add_foreign(world: &mut World, node: &str, count: usize) {
    for n in 0..count {
        let pod = own(&format!("{node}-foreign-{n}"), node);
        world.put_pod(labelled(pod, &json!({"name": "other"})));
    }
}

fn select_nodes(set: Value) -> Value {
    template(set, &json!({"nodeSelector": {"color": "blue"}}))
}

fn blue(world: &mut World, from: usize, count: usize) {
    for n in from..from + count {
        world.put_node(labelled(node(&format!("node-{n}")), &json!({"color": "blue"})));
    }
}

/// A pod whose release a webhook undoes, or that cannot be written any more (422), stays the set's
/// by name only: its node gets another one, and the status counts it, in this sync and in the next.
#[test]
fn a_release_that_does_not_stick_stops_nothing() {
    let mut world = world(&set(), 2);
    add_foreign(&mut world, "node-0", 1);
    let pods = world.pods.clone();
    let done = world.sync();
    assert_eq!((done.counts, done.reported), ((2, 0, 0), true));
    world.pods.extend(pods);
    let done = world.sync();
    assert_eq!((done.counts, done.plan.actions()), ((0, 0, 0), 1), "{}", done.plan);
}

#[test]
fn each_node_that_should_have_a_pod_gets_one() {
    for set in strategies() {
        // TestSimpleDaemonSetLaunchesPods, TestSimpleDaemonSetScheduleDaemonSetPodsLaunchesPods
        let mut simple = world(&set, 5);
        assert_eq!(simple.counts(), (5, 0, 0));
        assert_eq!(simple.counts(), (0, 0, 0));
        // TestNoNodesDoesNothing
        assert_eq!(world(&set, 0).counts(), (0, 0, 0));
        // TestOneNodeDaemonLaunchesPod
        assert_eq!(world(&set, 1).counts(), (1, 0, 0));
        // TestSelectorDaemonLaunchesPods, TestSelectorDaemonSetLaunchesPods
        let mut selecting = world(&select_nodes(set.clone()), 4);
        blue(&mut selecting, 4, 3);
        assert_eq!(selecting.counts(), (3, 0, 0));
        // TestBadSelectorDaemonDoesNothing
        assert_eq!(world(&select_nodes(set.clone()), 4).counts(), (0, 0, 0));
        // TestNameDaemonSetLaunchesPods
        let named = |name: &str| template(set.clone(), &json!({"nodeName": name}));
        assert_eq!(world(&named("node-0"), 5).counts(), (1, 0, 0));
        // TestBadNameDaemonSetDoesNothing
        assert_eq!(world(&named("node-10"), 5).counts(), (0, 0, 0));
        // TestNameAndSelectorDaemonSetLaunchesPods
        let mut both = world(&select_nodes(named("node-6")), 4);
        blue(&mut both, 4, 3);
        assert_eq!(both.counts(), (1, 0, 0));
        // TestInconsistentNameSelectorDaemonSetDoesNothing
        let mut inconsistent = world(&select_nodes(named("node-0")), 4);
        blue(&mut inconsistent, 4, 3);
        assert_eq!(inconsistent.counts(), (0, 0, 0));
    }
}

#[test]
fn superfluous_and_misplaced_pods_go() {
    for set in strategies() {
        // TestDealsWithExistingPods
        let mut existing = world(&set, 5);
        add(&mut existing, "node-1", 1);
        add(&mut existing, "node-2", 2);
        add(&mut existing, "node-3", 5);
        add_foreign(&mut existing, "node-4", 2);
        assert_eq!(existing.counts(), (2, 5, 0));
        // TestSelectorDaemonDeletesUnselectedPods
        let mut unselected = world(&select_nodes(set.clone()), 5);
        blue(&mut unselected, 5, 5);
        add_foreign(&mut unselected, "node-0", 2);
        add(&mut unselected, "node-1", 3);
        add_foreign(&mut unselected, "node-1", 1);
        add(&mut unselected, "node-4", 1);
        assert_eq!(unselected.counts(), (5, 4, 0));
        // TestSelectorDaemonDealsWithExistingPods
        let mut both = world(&select_nodes(set.clone()), 5);
        blue(&mut both, 5, 5);
        for (node, own, foreign) in [
            ("node-0", 1, 0),
            ("node-1", 3, 2),
            ("node-2", 4, 0),
            ("node-6", 13, 0),
            ("node-7", 0, 4),
            ("node-9", 1, 1),
        ] {
            add(&mut both, node, own);
            add_foreign(&mut both, node, foreign);
        }
        assert_eq!(both.counts(), (3, 20, 0));
    }
}

/// Scheduled ones are older than others, then the creation counts, then the name.
#[test]
fn of_several_pods_on_a_node_the_oldest_stays() {
    let mut world = world(&set(), 1);
    let unscheduled = waiting("a-unscheduled", "node-0");
    world.put_pod(created(unscheduled, 9000));
    world.put_pod(created(own("b", "node-0"), 100));
    world.put_pod(created(own("d", "node-0"), 200));
    world.put_pod(created(own("c", "node-0"), 200));
    assert_eq!(world.sync().deleted, ["d", "b", "a-unscheduled"]);
}

#[test]
fn a_taint_that_is_not_tolerated_keeps_pods_away_or_drives_them_off() {
    for set in strategies() {
        // TestNoScheduleTaintedDoesntEvicitRunningIntolerantPod
        let mut world = world(&set, 0);
        world.put_node(tainted(node("node-0"), "a", "NoSchedule"));
        assert_eq!(world.counts(), (0, 0, 0));
        add(&mut world, "node-0", 1);
        assert_eq!(world.counts(), (0, 0, 0));
        // TestNoExecuteTaintedDoesEvicitRunningIntolerantPod
        world.put_node(tainted(node("node-0"), "a", "NoExecute"));
        assert_eq!(world.counts(), (0, 1, 0));
    }
}

/// TestDaemonSetRespectsTermination: a pod that is being deleted still occupies its node.
#[test]
fn a_node_whose_pod_is_being_deleted_gets_no_other_one_yet() {
    for set in strategies() {
        let mut world = world(&set, 1);
        add(&mut world, "node-0", 1);
        world.each_pod(deleted);
        assert_eq!(world.counts(), (0, 0, 0));
        // But one that has ended and waits for a finalizer does not.
        world.each_pod(|pod| phase(pod, "Failed"));
        assert_eq!(world.counts(), (1, 0, 0));
    }
}

/// TestDaemonKillFailedPods.
#[test]
fn failed_pods_are_killed() {
    for set in strategies() {
        for (failed, normal, want) in
            [(0, 1, (0, 0, 0)), (0, 0, (1, 0, 0)), (1, 0, (0, 1, 1)), (1, 3, (0, 3, 1))]
        {
            let mut world = world(&set, 1);
            add(&mut world, "node-0", failed);
            world.each_pod(|pod| phase(pod, "Failed"));
            let hash = world.hash();
            for n in 0..normal {
                world.put_pod(with_hash(own(&format!("normal-{n}"), "node-0"), &hash));
            }
            assert_eq!(world.counts(), want, "{failed} failed, {normal} normal");
        }
    }
}

/// TestSimpleDaemonSetRestartsPodsOnTerminalPhase.
#[test]
fn a_pod_that_has_ended_goes_with_an_event_and_is_made_again() {
    for (word, want) in [
        (
            "Failed",
            "Warning FailedDaemonPod: Found failed daemon pod shop/p on node node-0, will try to \
             kill it",
        ),
        (
            "Succeeded",
            "Normal SucceededDaemonPod: Found succeeded daemon pod shop/p on node node-0, will \
             try to delete it",
        ),
    ] {
        let mut world = world(&set(), 1);
        world.put_pod(phase(own("p", "node-0"), word));
        assert_eq!(world.sync().events, [want]);
        assert_eq!(world.counts(), (1, 0, 0));
    }
}

/// With a status of this generation, which the back-off begins anew without.
fn observed(set: Value) -> Value {
    with(set, json!({"status": {"observedGeneration": 2}}))
}

/// TestDaemonKillFailedPodsBackoff. Here the back-off begins when the pod is seen deleted.
#[test]
fn failed_pods_of_a_node_are_killed_ever_more_slowly() {
    for set in strategies() {
        let mut world = world(&observed(set), 1);
        let fail = |world: &mut World| {
            let pod = with_hash(own("p", "node-0"), &world.hash());
            world.put_pod(phase(pod, "Failed"));
        };
        fail(&mut world);
        assert_eq!(world.counts(), (0, 1, 1));
        for delay in [1, 2, 4] {
            fail(&mut world);
            let delay = Duration::from_secs(delay);
            let done = world.sync();
            assert_eq!((done.counts, done.plan.again), ((0, 0, 0), Some(delay)));
            let over = world.now + delay;
            world.now = over - Duration::from_nanos(1);
            assert_eq!(world.counts(), (0, 0, 0));
            world.now = over;
            assert_eq!(world.counts(), (0, 1, 1));
        }
        // Another node does not wait, nor does this one for a new template.
        world.put_node(node("node-1"));
        fail(&mut world);
        world.put_pod(phase(own("q", "node-1"), "Failed"));
        assert_eq!(world.sync().deleted, ["q"]);
        world.set["status"]["observedGeneration"] = json!(3);
        assert_eq!(world.sync().deleted, ["p"]);
    }
}

#[test]
fn of_several_failed_pods_on_a_node_one_goes_at_a_time() {
    let mut world = world(&observed(set()), 1);
    add(&mut world, "node-0", 3);
    world.each_pod(|pod| phase(pod, "Failed"));
    let done = world.sync();
    assert_eq!((done.counts, done.plan.again), ((0, 1, 1), Some(Duration::from_secs(1))));
    assert_eq!(world.counts(), (0, 0, 0));
}

/// TestDeleteUnscheduledPodForNotExistingNode.
#[test]
fn a_pod_for_a_node_that_does_not_exist_goes_unless_it_is_on_it() {
    for set in strategies() {
        let mut world = world(&set, 1);
        add(&mut world, "node-0", 1);
        add(&mut world, "node-1", 1);
        world.put_pod(waiting("pod1-node-3", "node-2"));
        let done = world.sync();
        assert_eq!((done.counts.0, done.deleted), (0, vec!["pod1-node-3".to_owned()]));
    }
}

/// TestGetNodesToDaemonPods.
#[test]
fn pods_count_for_their_node_unless_they_have_ended_and_go() {
    let mut world = world(&set(), 2);
    world.put_pod(own("owned", "node-0"));
    world.put_pod(phase(own("succeeded", "node-0"), "Succeeded"));
    world.put_pod(phase(own("failed", "node-1"), "Failed"));
    world.put_pod(deleted(own("going", "node-1")));
    world.put_pod(deleted(phase(own("ended-and-going", "node-0"), "Succeeded")));
    world.put_pod(own("nowhere", ""));
    let snapshot = world.snapshot();
    let names = |node: &str| -> Vec<String> {
        let nodes = snapshot.by_node();
        nodes[node].iter().map(|pod| pod.meta.key.name.to_string()).collect()
    };
    assert_eq!(names("node-0"), ["owned", "succeeded"]);
    assert_eq!(names("node-1"), ["failed", "going"]);
    assert_eq!(snapshot.by_node().len(), 2);
}

/// TestPodIsNotDeletedByDaemonsetWithEmptyLabelSelector.
#[test]
fn a_set_that_selects_all_pods_gets_a_warning_and_is_left_alone() {
    for set in strategies() {
        let mut world = world(&with(set, json!({"spec": {"selector": {"matchLabels": null}}})), 1);
        world.put_pod(own("p", "node-0"));
        let done = world.sync();
        assert_eq!(done.counts, (0, 0, 1));
        assert_eq!(
            done.events,
            ["Warning SelectingAll: This daemon set is selecting all pods. A non-empty selector \
              is required."]
        );
        assert!(!done.reported);
    }
}

/// TestDontDoAnythingIfBeingDeleted. TestDontDoAnythingIfBeingDeletedRace is a row of the claims:
/// the live set is being deleted.
#[test]
fn a_set_that_is_being_deleted_is_left_alone() {
    for set in strategies() {
        let mut world = world(&deleted(set), 5);
        add_foreign(&mut world, "node-1", 1);
        let done = world.sync();
        assert_eq!(done.plan.to_string(), "why: the set is being deleted\n");
        assert!(!done.reported);
    }
}

#[test]
fn a_set_with_an_invalid_selector_is_left_alone() {
    let selector = json!({"matchLabels": {"name": "not a label"}});
    let mut world = world(&with(set(), json!({"spec": {"selector": selector}})), 1);
    let done = world.sync();
    assert!(done.plan.is_rest() && !done.reported);
    assert!(done.plan.why.starts_with("the selector is invalid"), "{}", done.plan.why);
}

/// The burst of upstream's `syncNodes` counts creates and deletes by themselves.
#[test]
fn a_sync_makes_and_deletes_no_more_than_the_burst() {
    let mut world = world(&set(), 300);
    assert_eq!(world.counts(), (250, 0, 0));
    assert_eq!(world.counts(), (50, 0, 0));
    for n in 0..300 {
        world.put_node(tainted(node(&format!("node-{n}")), "a", "NoExecute"));
    }
    (300..560).for_each(|n| world.put_node(node(&format!("node-{n}"))));
    assert_eq!(world.counts(), (250, 250, 0));
}

#[test]
fn creates_start_slowly_and_a_failure_of_deletes_does_not_keep_them_from_being_made() {
    let mut world = world(&set(), 3);
    let text = world.plan().to_string();
    let revision = "in order: create controllerrevisions.apps in shop\n";
    let create = |how: &str| format!("{how}: create pods in shop\n").repeat(3);
    let why = "why: 3 pods missing, creating 3; 0 to delete, deleting 0\n";
    assert_eq!(text, format!("{why}{revision}{}", create("slow start")));

    world.put_node(tainted(node("node-3"), "a", "NoExecute"));
    world.put_pod(own("p", "node-3"));
    world.put_node(tainted(node("node-4"), "b", "NoSchedule"));
    world.put_pod(phase(own("q", "node-4"), "Succeeded"));
    let text = world.plan().to_string();
    let why = "why: 3 pods missing, creating 3; 2 to delete, deleting 2\n";
    let event = "event Normal SucceededDaemonPod: Found succeeded daemon pod shop/q on node \
                 node-4, will try to delete it";
    let rest =
        format!("chain 1: delete pods shop/p\nchain 2: {event}\nchain 2: delete pods shop/q\n");
    assert_eq!(text, format!("{why}{revision}{}{rest}", create("chain 0")));

    (0..3).for_each(|n| drop(world.nodes.remove(&format!("node-{n}"))));
    world.pods.remove("q");
    let text = world.plan().to_string();
    let why = "why: 0 pods missing, creating 0; 1 to delete, deleting 1\n";
    assert_eq!(text, format!("{why}{revision}together: delete pods shop/p\n"));
}

/// TestSurgeDealsWithExistingPods.
#[test]
fn with_surge_superfluous_pods_of_the_same_template_go_too() {
    let mut world = world(&surge(set(), &json!(1)), 5);
    add(&mut world, "node-1", 1);
    add(&mut world, "node-2", 2);
    add(&mut world, "node-3", 5);
    add_foreign(&mut world, "node-4", 2);
    assert_eq!(world.counts(), (2, 5, 0));
}

/// A node with a new pod `new` and older ones; `old` is the oldest of these.
fn surging(min_ready_seconds: i32) -> World {
    let mut set = surge(set(), &json!(1));
    set["spec"]["minReadySeconds"] = json!(min_ready_seconds);
    let mut world = world(&set, 5);
    let hash = world.hash();
    world.put_pod(created(with_hash(own("new", "node-1"), &hash), 100));
    world.put_pod(created(ready_for(own("old", "node-1"), 150), 150));
    world.put_pod(created(ready_for(own("excess", "node-1"), 140), 140));
    world.put_pod(with_hash(own("other", "node-2"), &hash));
    world
}

fn done(mut world: World) -> (usize, Vec<String>) {
    let done = world.sync();
    (done.counts.0, done.deleted)
}

#[test]
fn with_surge_the_oldest_ready_pod_stays_until_the_new_one_is_available() {
    let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
    // TestSurgePreservesReadyOldPods
    assert_eq!(done(surging(0)), (3, names(&["excess"])));
    // TestSurgeDeletesUnreadyOldPods
    let mut world = surging(0);
    world.put_pod(created(own("old", "node-1"), 150));
    assert_eq!(done(world), (3, names(&["excess", "old"])));
    // TestSurgePreservesOldReadyWithUnsatisfiedMinReady
    let mut world = surging(15);
    let new = world.pods["new"].clone();
    world.put_pod(ready_for(new.clone(), 10));
    assert_eq!(done(world), (3, names(&["excess"])));
    // TestSurgeDeletesOldReadyWithUnsatisfiedMinReady
    let mut world = surging(15);
    world.put_pod(ready_for(new, 20));
    assert_eq!(done(world), (3, names(&["excess", "old"])));
}

/// TestSurgeCreatesNewPodWhenAtMaxSurgeAndOldPodDeleted.
#[test]
fn with_surge_a_node_whose_pods_are_all_being_deleted_gets_one_above_the_limit() {
    let mut world = world(&surge(set(), &json!(1)), 5);
    let hash = world.hash();
    world.put_pod(created(with_hash(own("new", "node-0"), &hash), 100));
    for n in 0..5 {
        world.put_pod(ready_for(own(&format!("old-{n}"), &format!("node-{n}")), 200));
    }
    let going = deleted(world.pods["old-4"].clone());
    world.put_pod(going);
    assert_eq!(done(world), (1, Vec::new()));
}
