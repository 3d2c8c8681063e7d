//! Which nodes are declared unknown, and when.

use std::time::Duration;

use api::{Key, Node};
use controller::fixture::{pod, time, with};
use controller::{Answer, Outcome, Query, Refused};
use serde_json::json;

use super::world::{World, bare, node};

/// The part of a plan that declares a node unknown.
const UNKNOWN: &str = "patch nodes node0 status";

fn is_lost(plan: &str) -> bool {
    plan.contains(UNKNOWN)
}

/// TestMonitorNodeHealthUpdateStatus and TestTryUpdateNodeHealth.
#[test]
fn a_node_whose_kubelet_is_silent_is_unknown() {
    for (name, node, after, lost) in [
        ("Node created long time ago, with no status", bare("node0", 100_000), 0, true),
        ("Node created recently, with no status", bare("node0", 0), 0, false),
        ("the same after the startup grace period", bare("node0", 0), 61, true),
        ("Node created long time ago, with status", node("node0", "True", 0), 55, true),
        ("Status false - after grace period", node("node0", "False", 0), 55, true),
        ("Status unknown - after grace period", node("node0", "Unknown", 0), 55, false),
        // The clock of the kubelet is nobody's business.
        ("Node with a status of long ago, which is new", node("node0", "True", 100_000), 45, false),
    ] {
        let mut world = World::new();
        world.node(&node);
        let mut plan = world.look("node0");
        if after > 0 {
            world.zones();
            world.tick(after / 5 * 5);
            world.pass(after % 5 + 1);
            plan = world.look("node0");
        }
        assert_eq!(is_lost(&plan), lost, "{name}: {plan}");
    }
}

/// Rule: each write is for itself. Upstream's taints know nothing of `MarkPodsNotReady`, and the
/// next pass comes after a period, not after back-off.
#[test]
fn what_fails_for_a_pod_keeps_no_taint_from_its_node() {
    let mut world = World::with(&[node("node0", "True", 0), node("node1", "True", 0)]);
    world.pod(&with(pod("a"), json!({"spec": {"nodeName": "node0"}})));
    world.tick(55);
    world.look("node0");
    world.node(&node("node0", "Unknown", 0));
    world.outcome = Outcome { error: Some("no".to_owned()), ..Outcome::default() };
    let plan = world.look("node0");
    assert!(plan.contains("chain 0: patch nodes node0"), "{plan}");
    assert!(plan.contains("chain 1: patch pods shop/a status"), "{plan}");
    assert!(world.memory.read().nodes["node0"].waits.is_some());
    assert!(world.zones().contains("now node0\n"));
    let plan = world.look("node0");
    assert!(plan.contains("unreachable\",") && plan.contains("NoExecute"), "{plan}");
    assert!(world.memory.read().nodes["node0"].turn, "until it is done");
}

/// What is written, and what follows: TestNodeEventGeneration, TestPodStatusChange,
/// TestMonitorNodeHealthMarkPodsNotReady and …Retry.
#[test]
fn an_unknown_node_is_announced_and_its_pods_are_not_ready() {
    let pressure = json!({"type": "MemoryPressure", "status": "False"});
    let mut ready = node("node0", "True", 0);
    ready["status"]["conditions"].as_array_mut().unwrap().push(pressure);
    let mut world = World::with(&[ready.clone()]);
    let on = |name| with(pod(name), json!({"spec": {"nodeName": "node0"}}));
    let false_already = json!({"status": {"conditions": [{"type": "Ready", "status": "False"}]}});
    world.pod(&on("a"));
    world.pod(&with(on("b"), false_already));
    world.pod(&with(on("c"), json!({"status": {"conditions": []}})));
    world.pod(&with(on("d"), json!({"spec": {"nodeName": "other"}})));
    world.tick(55);
    let now = time(55_000_000_000);
    let never = |name: &str| {
        format!(
            "{{\"lastHeartbeatTime\":\"{}\",\"lastTransitionTime\":\"{now}\",\
            \"message\":\"Kubelet never posted node status.\",\
            \"reason\":\"NodeStatusNeverUpdated\",\"status\":\"Unknown\",\"type\":\"{name}\"}}",
            time(0)
        )
    };
    let stopped = |name: &str| {
        format!(
            "{{\"lastTransitionTime\":\"{now}\",\
            \"message\":\"Kubelet stopped posting node status.\",\
            \"reason\":\"NodeStatusUnknown\",\"status\":\"Unknown\",\"type\":\"{name}\"}}"
        )
    };
    let conditions =
        [stopped("Ready"), stopped("MemoryPressure"), never("DiskPressure"), never("PIDPressure")];
    assert_eq!(
        world.look("node0"),
        format!(
            "why: its kubelet is silent for 55s\n\
            in order: patch nodes node0 status {{\"metadata\":{{\"resourceVersion\":\"7\",\
            \"uid\":\"u-node0\"}},\"status\":{{\"conditions\":[{}]}}}}\n\
            in order: event Normal NodeNotReady: Node node0 status is now: NodeNotReady\n",
            conditions.join(",")
        )
    );
    // Now the cache shows it.
    world.node(&node("node0", "Unknown", 0));
    let marks = "patch pods shop/a status";
    world.outcome = Outcome { error: Some("no".to_owned()), ..Outcome::default() };
    for _ in 0..2 {
        let plan = world.look("node0");
        assert!(plan.contains(marks), "also again, since it has failed: {plan}");
        assert!(plan.contains("event Warning NodeNotReady: Node is not ready"), "{plan}");
        assert!(!plan.contains("shop/b") && !plan.contains("shop/c") && !plan.contains("shop/d"));
    }
    world.outcome = Outcome::default();
    assert!(world.look("node0").contains(marks));
    assert!(!world.look("node0").contains(marks), "the kubelet may say that it is ready");
}

/// TestProcessPodMarkPodNotReady: a pod that is bound to a node that is not ready.
#[test]
fn a_pod_that_comes_to_a_node_that_is_not_ready_is_not_ready() {
    let on = |node: &str| with(pod("late"), json!({"spec": {"nodeName": node}}));
    let mut world = World::with(&[node("node0", "False", 0), node("node1", "True", 0)]);
    assert_eq!(world.pod(&on("node1")), "");
    assert_eq!(world.pod(&on("node0")), "now node0\n");
    let marks = "patch pods shop/late status";
    assert!(world.look("node0").contains(marks));
    assert!(!world.look("node0").contains(marks), "once");
    // Those that were there before are the kubelet's.
    let mut world = World::new();
    world.pod(&on("node0"));
    world.node(&node("node0", "False", 0));
    let plan = world.look("node0");
    assert!(!plan.contains(marks), "{plan}");
    // But for those of a node that a predecessor has declared unknown.
    let mut world = World::new();
    world.pod(&on("node0"));
    world.node(&node("node0", "Unknown", 0));
    assert!(world.look("node0").contains(marks));
}

/// TestMonitorNodeHealthUpdateNodeAndPodStatusWithLease.
#[test]
fn a_renewed_lease_is_a_sign_of_life() {
    let mut world = World::with(&[node("node0", "True", 0)]);
    world.lease("node0", 0);
    for second in 1..20 {
        world.tick(10);
        // Whatever the clock of the kubelet says: it may be set back by an hour, too.
        let renewed = if second > 10 { second * 10 - 3600 } else { second * 10 };
        world.lease("node0", renewed);
        let plan = world.look("node0");
        assert!(!is_lost(&plan), "after {second} renewals: {plan}");
    }
    world.tick(45);
    assert!(!is_lost(&world.look("node0")));
    world.tick(10);
    assert!(is_lost(&world.look("node0")), "it is not renewed any more");
    // One that has never reported, but renews.
    let mut world = World::new();
    world.lease("node0", 0);
    world.node(&bare("node0", 100_000));
    assert!(!is_lost(&world.look("node0")));
}

/// Wall clocks may be set by hours.
#[test]
fn a_clock_that_is_set_kills_no_node() {
    for hours in [-5, 5] {
        let mut world = World::with(&[node("node0", "True", 0)]);
        world.tick(20);
        world.now = time(hours * 3_600_000_000_000);
        assert!(!is_lost(&world.look("node0")), "{hours} hours");
        world.tick(25);
        assert!(!is_lost(&world.look("node0")));
        world.tick(10);
        assert!(is_lost(&world.look("node0")), "nor does it keep one alive");
    }
}

/// The API server is away for ten minutes, the watch of Leases is silent, or this process was
/// suspended: nothing is heard, and then kubelets get as long as ever.
#[test]
fn a_silence_of_the_api_server_kills_no_node() {
    let mut world = World::with(&[node("node0", "True", 0)]);
    world.lease("node0", 0);
    world.tick(20);
    for _ in 0..60 {
        world.silence += Duration::from_secs(10);
        world.tick(10);
        let plan = world.look("node0");
        assert!(!is_lost(&plan), "{plan}");
    }
    assert!(world.look("node0").contains("there is no news of Leases since then"));
    // It is back. Whether a node or the zones are looked at first does not matter.
    world.silence = Duration::ZERO;
    assert!(!is_lost(&world.look("node0")));
    assert!(world.summary("node0").contains("the API server: is silent\n"));
    world.zones();
    assert!(!is_lost(&world.look("node0")));
    world.tick(45);
    assert!(!is_lost(&world.look("node0")));
    world.tick(10);
    assert!(is_lost(&world.look("node0")), "it is silent for another reason");

    let mut suspended = World::with(&[node("node0", "True", 0)]);
    suspended.pass(600);
    assert!(!is_lost(&suspended.look("node0")), "nothing was heard meanwhile");
}

/// An API server that is behind sends bookmarks, too: renewals that it does not show yet count.
#[test]
fn a_server_that_is_behind_kills_no_node() {
    let mut world = World::with(&[node("node0", "True", 0)]);
    world.lease("node0", 0);
    (world.version, world.shown) = (200, 150);
    world.tick(55);
    for _ in 0..3 {
        let plan = world.look("node0");
        assert!(plan.contains("the cache of Leases does not show that time yet"), "{plan}");
        world.tick(5);
    }
    // There it is.
    world.shown = 160;
    world.lease("node0", 40);
    assert!(!is_lost(&world.look("node0")));
    world.shown = 200;
    assert!(!is_lost(&world.look("node0")), "it has a new deadline");
    world.tick(55);
    assert!(is_lost(&world.look("node0")), "nothing is hidden");
}

/// A zone that is cut off costs one question, not one for each of its nodes.
#[test]
fn one_answer_does_for_all_that_are_late() {
    let mut world = World::with(&[node("node0", "True", 0), node("node1", "True", 0)]);
    world.tick(55);
    let plan = |world: &World, name| world.plan(name).round().1.map(<[Query]>::to_vec);
    let version = || Some(vec![Query::path("/api/v1/nodes?limit=1")]);
    assert_eq!(plan(&world, "node0"), version());
    assert!(is_lost(&world.look("node0")));
    let live = |name| Some(vec![Query::view::<Node>(Key::new("", name))]);
    assert_eq!(plan(&world, "node1"), live("node1"));
}

/// Versions of another etcd cannot be compared; nodes that are dead must not live for ever.
#[test]
fn leases_of_another_etcd_hide_no_dead_node() {
    let mut world = World::with(&[node("node0", "True", 0)]);
    world.shown = 50;
    world.tick(55);
    for _ in 0..60 {
        assert!(!is_lost(&world.look("node0")));
        world.tick(5);
    }
    world.tick(5);
    assert!(is_lost(&world.look("node0")));
}

/// What cannot be known is asked again.
#[test]
fn a_late_kubelet_lives_while_nobody_names_a_version() {
    let key = Key::new("", "node0");
    for (answer, error) in [
        (Answer::Failed(Refused::from("no")), "error: no\n"),
        (Answer::Json(json!({"metadata": {}}).into()), "the list has no resourceVersion\n"),
    ] {
        let mut world = World::with(&[node("node0", "True", 0)]);
        world.tick(55);
        let plan = world.planned(&key, &[(Query::path("/api/v1/nodes?limit=1"), answer)]);
        assert!(plan.ends_with(error), "{plan}");
        assert!(!is_lost(&plan));
    }
}

/// Where nobody renews anything but the kubelet that is dead, there are bookmarks.
#[test]
fn a_quiet_cluster_hides_no_dead_node() {
    let mut world = World::with(&[node("node0", "True", 0)]);
    let mut lost = None;
    for second in 1..300_u64 {
        world.pass(1);
        world.silence = Duration::from_secs(second % 60);
        if second % 5 == 0 {
            world.zones();
        }
        if is_lost(&world.look("node0")) {
            lost = Some(second);
            break;
        }
    }
    assert!(lost.is_some_and(|seconds| seconds <= 180), "{lost:?}");
}

/// A kubelet that has reported more than the cache shows.
#[test]
fn a_live_read_has_the_last_word() {
    let mut world = World::with(&[node("node0", "True", 0)]);
    world.tick(55);
    let refused = Answer::Failed(Refused::from("no"));
    let plan = world.look_answered("node0", &refused);
    assert!(plan.ends_with("error: no\n"), "{plan}");
    let reported = node("node0", "True", -50);
    let plan = world.look_live("node0", Some(&reported));
    assert_eq!(plan, "why: its kubelet has reported meanwhile\nagain in 1s\n");
    assert!(!is_lost(&world.look("node0")), "that counts from now on");
    let plan = World::new().look("node0");
    assert_eq!(plan, "gone\n");
    world.tick(60);
    let plan = world.look_live("node0", None);
    assert_eq!(plan, "why: the node is deleted already\n");
}

/// TestNodeEventGeneration.
#[test]
fn nodes_that_come_and_go_are_announced() {
    let mut world = World::new();
    assert_eq!(world.node(&node("node0", "True", 0)), "now node0\n");
    assert_eq!(
        world.look("node0"),
        "why: it is ready\n\
        in order: event Normal RegisteredNode: Node node0 event: Registered Node node0 in \
        Controller\nagain in 50.001s\n"
    );
    assert_eq!(world.look("node0"), "why: it is ready\nagain in 50.001s\n");
    assert_eq!(world.no_node("node0"), "forget node0\n");
    assert_eq!(
        world.look("node0"),
        "why: the node is deleted\n\
        in order: event Normal RemovingNode: Node node0 event: Removing Node node0 from \
        Controller\n"
    );
    assert_eq!(world.look("node0"), "gone\n");
}

#[test]
fn an_explanation_names_what_it_waits_for() {
    let mut world = World::with(&[node("node0", "True", 0), node("node1", "False", 0)]);
    world.pass(3);
    assert_eq!(world.summary("node0"), "ready: True\nzone: none\nkubelet last heard of: 3s ago\n");
    assert!(world.summary("node1").contains("waits for a taint: since 3s\n"));
    assert_eq!(
        world.summary("zones/all"),
        "zone: none: 1 of 2 not ready, Normal\nnodes that wait for a taint: 1\n\
        master disruption: false\n"
    );
}
