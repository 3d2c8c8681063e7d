//! Rolling updates.

use std::time::Duration;

use controller::fixture::{ready, with};
use serde_json::{Value, json};

use super::super::rollout::{Allowed, allowed};
use super::world::World;
use super::*;

/// Marks all pods ready for long, as upstream's `markPodsReady`.
fn ready_all(world: &mut World) {
    world.each_pod(|pod| ready_for(pod, 3600));
}

/// Five nodes whose pods are ready, and then a new template and strategy.
fn updated(nodes: usize, strategy: impl Fn(Value) -> Value) -> World {
    let mut world = world(&set(), nodes);
    assert_eq!(world.counts(), (nodes, 0, 0));
    ready_all(&mut world);
    world.set = image(strategy(world.set.clone()), "foo2/bar2");
    world
}

fn steps(world: &mut World, want: &[(usize, usize)]) {
    for (number, (created, deleted)) in want.iter().enumerate() {
        assert_eq!(world.counts(), (*created, *deleted, 0), "step {number}");
    }
}

/// TestDaemonSetUpdatesPods.
#[test]
fn pods_are_replaced_as_many_at_once_as_may_be_unavailable() {
    let mut world = updated(5, |set| unavailable(set, &json!(2)));
    for count in [2, 2, 1] {
        steps(&mut world, &[(0, count), (count, 0)]);
        ready_all(&mut world);
    }
    steps(&mut world, &[(0, 0)]);
}

/// TestDaemonSetUpdatesPodsWithMaxSurge. Upstream's test deletes and makes pods in one sync, since
/// its fake shows deletions at once.
#[test]
fn with_surge_new_pods_come_before_old_ones_go() {
    let mut world = updated(5, |set| surge(set, &json!(2)));
    steps(&mut world, &[(2, 0), (0, 0)]);
    for created in [2, 1] {
        ready_all(&mut world);
        steps(&mut world, &[(0, 2), (created, 0), (0, 0)]);
    }
    ready_all(&mut world);
    steps(&mut world, &[(0, 1), (0, 0)]);
}

/// TestDaemonSetUpdatesPodsNotMatchTainstWithMaxSurge.
#[test]
fn with_surge_a_pod_that_should_not_be_there_goes_once_enough_others_are_available() {
    let tolerations = json!([{"key": "control-plane", "operator": "Exists"}]);
    let tolerant = template(surge(set(), &json!(1)), &json!({"tolerations": tolerations}));
    let mut world = world(&tolerant, 5);
    world.put_node(tainted(node("node-0"), "control-plane", "NoSchedule"));
    steps(&mut world, &[(5, 0)]);
    ready_all(&mut world);
    world.set =
        with(world.set.clone(), json!({"spec": {"template": {"spec": {"tolerations": null}}}}));
    steps(&mut world, &[(1, 1), (0, 0)]);
    for _ in 0..3 {
        ready_all(&mut world);
        steps(&mut world, &[(0, 1), (1, 0), (0, 0)]);
    }
    ready_all(&mut world);
    steps(&mut world, &[(0, 1), (0, 0)]);
}

/// "Only delete a pod on node A when a pod on node B becomes available."
#[test]
fn with_surge_available_pods_that_should_not_be_there_stay_until_others_are_available() {
    let mut world = updated(4, |set| surge(set, &json!(1)));
    for name in ["node-0", "node-1"] {
        world.put_node(tainted(node(name), "x", "NoSchedule"));
    }
    let misplaced = |pod: &Value| ["node-0", "node-1"].contains(&&*target(pod));
    let unready = json!({"status": {"conditions": null}});
    world.each_pod(|pod| if misplaced(&pod) { pod } else { with(pod, unready.clone()) });
    // The two others get successors; once one of them is available, a misplaced one is deleted.
    steps(&mut world, &[(2, 0), (0, 2), (0, 0)]);
    let first = world.pods.values().find(|pod| !misplaced(pod)).unwrap().clone();
    world.put_pod(ready_for(first, 60));
    steps(&mut world, &[(0, 1), (0, 0)]);
    assert_eq!(world.pods.values().filter(|pod| misplaced(pod)).count(), 1);
}

/// TestDaemonSetUpdatesWhenNewPodIsNotReady.
#[test]
fn new_pods_that_are_not_ready_use_up_what_may_be_unavailable() {
    let mut world = updated(5, |set| unavailable(set, &json!(3)));
    steps(&mut world, &[(0, 3), (3, 0), (0, 0)]);
}

/// TestDaemonSetUpdatesSomeOldPodsNotReady.
#[test]
fn another_update_replaces_the_unavailable_pods_first() {
    let mut world = updated(5, |set| unavailable(set, &json!(2)));
    steps(&mut world, &[(0, 2), (2, 0), (0, 0)]);
    world.set = image(world.set.clone(), "foo2/bar3");
    steps(&mut world, &[(0, 2), (2, 0), (0, 0)]);
    let is_ready = |pod: &&Value| !pod["status"]["conditions"].is_null();
    assert_eq!(world.pods.values().filter(is_ready).count(), 3);
}

/// TestDaemonSetUpdatesSaveOldHealthyPods.
#[test]
fn available_pods_stay_while_too_many_others_are_not() {
    let mut world = updated(20, |set| unavailable(set, &json!(10)));
    steps(&mut world, &[(0, 10), (10, 0), (0, 0)]);
    let ready = |world: &World| -> Vec<String> {
        let pods = world.pods.iter().filter(|(_, pod)| !pod["status"]["conditions"].is_null());
        pods.map(|(name, _)| name.clone()).collect()
    };
    let healthy = ready(&world);
    for n in 0..10 {
        world.set = image(unavailable(world.set.clone(), &json!(n)), &format!("foo2/bar3-{n}"));
        steps(&mut world, &[(0, 10), (10, 0), (0, 0)]);
        assert_eq!(ready(&world), healthy, "{n}");
    }
    world.set = image(unavailable(world.set.clone(), &json!(11)), "foo2/bar4");
    steps(&mut world, &[(0, 11), (11, 0), (0, 0)]);
    assert_eq!(ready(&world).len(), 9);
}

/// TestDaemonSetUpdatesAllOldNotReadyPodsAndNewNotReadyPods.
#[test]
fn old_unavailable_pods_go_even_when_nothing_more_may_be_unavailable() {
    let mut world = updated(100, |set| unavailable(set, &json!(10)));
    let old = world.pods.values().next().unwrap()["metadata"]["labels"].clone();
    for _ in 0..10 {
        steps(&mut world, &[(0, 10), (10, 0)]);
        ready_all(&mut world);
    }
    steps(&mut world, &[(0, 0)]);
    let mut unavailable_old = Vec::new();
    for (number, (name, pod)) in world.pods.iter_mut().enumerate() {
        if number >= 10 {
            *pod = with(pod.take(), json!({"status": {"conditions": null}}));
        }
        if number < 12 {
            *pod = labelled(pod.take(), &old);
        }
        if (10..12).contains(&number) {
            unavailable_old.push(name.clone());
        }
    }
    let mut deleted = world.sync().deleted;
    deleted.sort();
    assert_eq!(deleted, unavailable_old);
    steps(&mut world, &[(2, 0), (0, 0)]);
}

/// TestDaemonSetUpdatesAllOldPodsNotReady.
#[test]
fn unavailable_pods_are_all_replaced_at_once() {
    let mut world = updated(5, |set| unavailable(set, &json!(3)));
    world.each_pod(|pod| with(pod, json!({"status": {"conditions": null}})));
    steps(&mut world, &[(0, 5), (5, 0), (0, 0)]);
}

/// TestDaemonSetUpdatesAllOldPodsNotReadyMaxSurge.
#[test]
fn with_surge_unavailable_pods_get_successors_above_the_limit() {
    let mut world = updated(5, |set| surge(set, &json!(3)));
    world.each_pod(|pod| with(pod, json!({"status": {"conditions": null}})));
    steps(&mut world, &[(5, 0), (0, 5)]);
    ready_all(&mut world);
    world.set["spec"]["minReadySeconds"] = json!(15);
    world.set = image(world.set.clone(), "foo3/bar3");
    steps(&mut world, &[(3, 0)]);
    let hash = world.hash();
    let label = |pod: &Value| pod["metadata"]["labels"]["controller-revision-hash"].clone();
    let since = ready(&world.now.to_string());
    // Two updated pods become ready now, and an old one on a node without an updated one fails.
    let new: Vec<String> =
        world.pods.iter().filter(|(_, pod)| label(pod) == hash).map(|(n, _)| n.clone()).collect();
    for name in &new[..2] {
        let pod = world.pods[name].clone();
        world.put_pod(with(pod, json!({"status": {"phase": "Running", "conditions": [since]}})));
    }
    let covered: Vec<String> = new.iter().map(|name| target(&world.pods[name])).collect();
    let bare = world.pods.values().find(|pod| !covered.contains(&target(pod))).unwrap().clone();
    world.put_pod(with(bare, json!({"status": {"conditions": null}})));
    // The new ones are not available yet; the failed one gets a successor.
    world.now = world.now + Duration::from_secs(10);
    steps(&mut world, &[(1, 0)]);
    // Now two of them are, and the failed pod's successor is there: three old ones are deleted.
    world.now = world.now + Duration::from_secs(10);
    steps(&mut world, &[(0, 3), (1, 0)]);
    let since = ready(&world.now.to_string());
    world.each_pod(|pod| {
        if label(&pod) != hash || !pod["status"]["conditions"].is_null() {
            return pod;
        }
        with(pod, json!({"status": {"phase": "Running", "conditions": [since]}}))
    });
    world.now = world.now + Duration::from_secs(20);
    steps(&mut world, &[(0, 2), (0, 0)]);
}

/// TestDaemonSetUpdatesNoTemplateChanged.
#[test]
fn another_strategy_alone_replaces_nothing() {
    let mut world = updated(5, |set| unavailable(set, &json!(3)));
    world.set = image(world.set.clone(), "foo/bar");
    steps(&mut world, &[(0, 0)]);
}

#[test]
fn on_delete_replaces_nothing() {
    let mut world = updated(5, |set| set);
    steps(&mut world, &[(0, 0)]);
    let first = world.pods.keys().next().unwrap().clone();
    world.pods.remove(&first);
    steps(&mut world, &[(1, 0), (0, 0)]);
}

/// TestIsPodUpdated.
#[test]
fn a_pod_is_of_the_present_template_by_its_hash_or_its_generation() {
    let with_generation = |text: &str| {
        let annotations = json!({"deprecated.daemonset.template.generation": text});
        with(set(), json!({"metadata": {"annotations": annotations}}))
    };
    let rows = [
        ("hash", set(), json!({"controller-revision-hash": "h"}), true),
        ("other hash", set(), json!({"controller-revision-hash": "x"}), false),
        ("no labels", set(), json!({}), false),
        ("generation", with_generation("12"), json!({"pod-template-generation": "12"}), true),
        (
            "generation, other hash",
            with_generation("12"),
            json!({"pod-template-generation": "12", "controller-revision-hash": "x"}),
            true,
        ),
        (
            "hash, other generation",
            with_generation("12"),
            json!({"pod-template-generation": "5", "controller-revision-hash": "h"}),
            true,
        ),
        ("other generation", with_generation("12"), json!({"pod-template-generation": "5"}), false),
        ("no number", with_generation("a"), json!({"pod-template-generation": "a"}), false),
    ];
    for (name, set, labels, want) in rows {
        let mut world = world(&set, 1);
        world.put_pod(labelled(own("p", "node-0"), &labels));
        let snapshot = world.snapshot();
        assert_eq!(snapshot.is_updated(&snapshot.pods.mine[0], "h"), want, "{name}");
    }
}

/// TestGetUnavailableNumbers.
#[test]
fn the_strategy_says_how_many_nodes_may_lack_a_pod_or_have_two() {
    let allow = |surge, unavailable, desired| Allowed { surge, unavailable, desired };
    let rows = [
        ("No nodes", unavailable(set(), &json!(0)), 0, allow(0, 0, 0)),
        ("Two nodes with ready pods", unavailable(set(), &json!(1)), 2, allow(0, 1, 2)),
        ("Two nodes, one node without pods", unavailable(set(), &json!(0)), 2, allow(0, 1, 2)),
        ("…, surge", surge(set(), &json!(0)), 2, allow(0, 1, 2)),
        ("MaxUnavailable in percents", unavailable(set(), &json!("50%")), 2, allow(0, 1, 2)),
        ("…, surge", surge(set(), &json!("50%")), 2, allow(1, 0, 2)),
        ("MaxUnavailable is 100%, surge", surge(set(), &json!("100%")), 2, allow(2, 0, 2)),
        ("…, pod terminating", unavailable(set(), &json!("50%")), 3, allow(0, 2, 3)),
    ];
    for (name, set, nodes, want) in rows {
        assert_eq!(allowed(&world(&set, nodes).snapshot()), Ok(want), "{name}");
    }
}

#[test]
fn a_strategy_that_cannot_be_read_is_an_error() {
    for (set, want) in [
        (unavailable(set(), &json!("many")), "invalid value for MaxUnavailable: "),
        (surge(set(), &json!("x%")), "invalid value for MaxSurge: "),
    ] {
        let mut world = world(&set, 0);
        world.put_pod(own("p", "node-0"));
        let error = world.sync().plan.error.unwrap();
        assert!(error.starts_with("couldn't get unavailable numbers: "), "{error}");
        assert!(error.contains(want), "{error}");
    }
}

/// Upstream's rolling update fails until the pod is deleted.
#[test]
fn with_surge_an_old_pod_on_a_deleted_node_holds_up_nothing() {
    let mut world = updated(3, |set| surge(set, &json!(2)));
    world.put_pod(ready_for(own("lost", "node-9"), 60));
    steps(&mut world, &[(2, 0)]);
}
