//! The states of zones, and the rates.

use std::collections::BTreeMap;
use std::time::Duration;

use controller::fixture::{decode, with};
use serde_json::json;

use super::super::zones::{Limiter, Size, Turn, Zone, ZoneState, sizes, turn, zone_of};
use super::world::{RATES, World, bare, node};

fn at(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

/// The states that TestMonitorNodeHealth expects, by how many nodes are not ready.
#[test]
fn a_zone_is_disrupted_by_how_many_nodes_are_not_ready() {
    for (all, unready, expected) in [
        (1, 0, ZoneState::Normal),
        (1, 1, ZoneState::FullDisruption),
        (2, 2, ZoneState::FullDisruption),
        (3, 2, ZoneState::Normal),
        (5, 3, ZoneState::PartialDisruption),
        (6, 3, ZoneState::Normal),
        (20, 11, ZoneState::PartialDisruption),
    ] {
        assert_eq!(Size { all, unready }.state(&RATES), expected, "{unready} of {all}");
    }
}

/// `handleDisruption`, one look after the other.
#[test]
fn the_last_ready_node_decides_for_all_zones() {
    let size = |all, unready| Size { all, unready };
    let sizes = |a: Size, b: Size| BTreeMap::from([("a".into(), a), ("b".into(), b)]);
    let mut zones: BTreeMap<_, Zone> = BTreeMap::new();
    let mut look = |of, seconds| turn(&mut zones, &of, &RATES, at(seconds));
    assert_eq!(look(sizes(size(2, 2), size(2, 0)), 0), Turn::Stays, "one zone is");
    assert_eq!(look(sizes(size(2, 2), size(2, 2)), 5), Turn::IntoMasterDisruption);
    assert_eq!(look(sizes(size(2, 2), size(2, 2)), 10), Turn::Stays);
    assert_eq!(look(sizes(size(2, 2), size(2, 1)), 15), Turn::OutOfMasterDisruption);
    assert_eq!(look(sizes(size(2, 1), size(2, 0)), 20), Turn::Stays);
    assert_eq!(look(BTreeMap::new(), 25), Turn::Stays, "no nodes at all");
    // At the very start nobody knows better.
    let mut zones = BTreeMap::new();
    let down = sizes(size(1, 1), size(1, 1));
    assert_eq!(turn(&mut zones, &down, &RATES, at(0)), Turn::IntoMasterDisruption);
}

/// TestTry and TestSwapLimiter of the rate limited queue.
#[test]
fn tokens_come_one_at_a_time() {
    let mut limiter = Limiter::new(0.1, at(0));
    assert!(limiter.try_accept(at(0)), "the first one is there");
    assert!(!limiter.try_accept(at(9)));
    let wait = limiter.wait(at(9)).unwrap();
    assert_eq!(wait.as_millis(), 1000);
    assert!(limiter.try_accept(at(9) + wait));
    assert!(limiter.try_accept(at(100)) && !limiter.try_accept(at(101)), "no more than one");
    let mut never = Limiter::new(0.0, at(0));
    assert!(!never.try_accept(at(1_000_000)));
    assert_eq!(never.wait(at(0)), None);
}

/// The nodes of a zone get their taints by its rate; of a large one that is partly disrupted, more
/// slowly; of a small one, not at all.
#[test]
fn nodes_take_turns() {
    let zone = |name: String, ready: &str| {
        let labels = json!({"topology.kubernetes.io/zone": "z"});
        with(node(&name, ready, 0), json!({"metadata": {"labels": labels}}))
    };
    for (nodes, unready, granted) in [(100, 10, 6), (100, 60, 1), (20, 12, 0)] {
        let all = (0..nodes).map(|at| zone(format!("node{at:03}"), "True"));
        let mut world = World::with(&all.collect::<Vec<_>>());
        for at in 0..unready {
            world.node(&zone(format!("node{at:03}"), "False"));
        }
        // The state comes first, as with upstream, whose pass ends with it.
        world.zones();
        for at in 0..unready {
            world.look(&format!("node{at:03}"));
        }
        world.tick(60);
        let health = world.memory.read();
        let turns = health.nodes.values().filter(|node| node.turn).count();
        assert_eq!(turns, granted, "{unready} of {nodes}");
    }
}

/// Without any ready node, none has a taint that evicts; later all have as long as ever.
#[test]
fn in_a_master_disruption_nobody_is_evicted() {
    let taints = json!([{"key": "node.kubernetes.io/unreachable", "effect": "NoExecute"},
        {"key": "node.kubernetes.io/unreachable", "effect": "NoSchedule"}]);
    let lost = |name: &str| with(node(name, "Unknown", 0), json!({"spec": {"taints": taints}}));
    let mut world = World::with(&[lost("a"), node("b", "True", 0)]);
    world.node(&node("b", "Unknown", 0));
    assert!(world.zones().contains("now a\nnow b\n"));
    let plan = world.plan("a").to_string();
    assert!(plan.contains("\"taints\":[{\"effect\":\"NoSchedule\""), "{plan}");
    assert!(!plan.contains("NoExecute"), "{plan}");
    world.look("a");
    world.look("b");
    world.tick(600);
    assert!(world.summary("a").contains("master disruption: no node is ready"));
    // One comes back.
    world.node(&node("b", "True", -700));
    assert!(world.zones().contains("now a\nnow b\n"));
    let health = world.memory.read();
    assert!(health.nodes.values().all(|node| node.probe == world.uptime));
}

/// `GetZoneKey` and Test_isNodeExcludedFromDisruptionChecks.
#[test]
fn a_zone_is_a_region_and_a_zone() {
    for (labels, expected) in [
        (json!({}), ""),
        (json!({"topology.kubernetes.io/zone": "z"}), ":\0:z"),
        (
            json!({"topology.kubernetes.io/zone": "z", "topology.kubernetes.io/region": "r"}),
            "r:\0:z",
        ),
        (
            json!({"failure-domain.beta.kubernetes.io/zone": "old",
                "topology.kubernetes.io/zone": "new"}),
            ":\0:old",
        ),
    ] {
        let node = with(bare("node0", 0), json!({"metadata": {"labels": labels}}));
        assert_eq!(&*zone_of(&decode(&node)), expected, "{labels}");
    }
    let excluded = json!({"metadata": {"labels": {"node.kubernetes.io/exclude-disruption": ""}}});
    let lost = |name: &str| with(node(name, "False", 0), excluded.clone());
    assert!(sizes([&*decode(&lost("node0"))]).is_empty());
    // They get their taints all the same, and at the rate of a zone, however often it is looked at.
    let mut world = World::with(&[lost("node0"), lost("node1"), lost("node2")]);
    let turns = |world: &World| world.memory.read().nodes.values().filter(|node| node.turn).count();
    assert_eq!(turns(&world), 1);
    for _ in 0..3 {
        world.zones();
    }
    assert_eq!(turns(&world), 1);
    world.tick(10);
    assert_eq!(turns(&world), 2);
}
