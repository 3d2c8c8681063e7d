//! Hints by topology: upstream's `topologycache_test.go`, `utils_test.go` there, and
//! TestReconcileTopology.

use std::collections::BTreeMap;

use api::{Key, Node, Text};
use controller::fixture::{decode_all, with};
use controller::{Controller as _, Enqueue, Facts, News, Outcome};
use serde_json::{Value, json};

use super::world::{World, node, numbered};
use crate::endpointslice::topology::{Allocation, allocations, giving_and_receiving, zones};

/// 3 zones of 10 nodes, with pods on these nodes of `zone-a`, `zone-b` and `zone-c`.
fn world(mode: &str, pods: [usize; 3]) -> World {
    let mut world = World::new(json!({}));
    world.nodes.clear();
    for (at, zone) in ["zone-a", "zone-b", "zone-c"].iter().enumerate() {
        for number in 0..10 {
            let name = format!("node-{zone}-{number}");
            world.nodes.push(node(&name, zone));
            if number < pods[at] {
                let spec = json!({"spec": {"nodeName": name}});
                world.pods.push(with(numbered(at * 100 + number), spec));
            }
        }
    }
    let key = "service.kubernetes.io/topology-aware-hints";
    world.service["metadata"]["annotations"] = json!({ key: mode });
    world
}

fn crossing(world: &World) -> usize {
    let crosses = |it: &Value| it["hints"]["forZones"][0]["name"] != it["zone"];
    world.endpoints().into_iter().filter(crosses).count()
}

/// TestReconcileTopology, rows with a cache.
#[test]
fn zones_get_their_share() {
    let enabled =
        "TopologyAwareHintsEnabled Topology Aware Hints has been enabled, addressType: IPv4";
    let min = "TopologyAwareHintsDisabled Unable to allocate minimum required endpoints to each \
               zone without exceeding overload threshold (4 endpoints, 3 zones), addressType: IPv4";
    for (name, mode, pods, hints, crosses, events) in [
        ("auto", "auto", [0, 0, 3], "zone-a 1, zone-b 1, zone-c 1", 2, vec![enabled]),
        ("ratio beyond threshold", "auto", [2, 0, 2], "", 4, vec![min]),
        ("more endpoints", "Auto", [4, 3, 2], "zone-a 3, zone-b 3, zone-c 3", 1, vec![enabled]),
        ("disabled", "disabled", [4, 3, 2], "", 9, vec![]),
    ] {
        let mut world = world(mode, pods);
        assert_eq!(world.sync().events, events, "{name}");
        assert_eq!(world.hints("forZones"), hints, "{name}");
        assert_eq!(crossing(&world), crosses, "{name}");
        let again = world.sync();
        assert_eq!(again.writes, [0; 3], "{name}");
        assert!(again.events.iter().all(|event| !event.contains("Enabled")), "{name}");
    }
}

/// TestAddHints, rows of which the plan shows the reason; and hints that are taken away, with what
/// is told of that.
#[test]
fn hints_go_and_it_is_told_why() {
    let disabled = |why: &str| vec![format!("TopologyAwareHintsDisabled {why}, addressType: IPv4")];
    let mut few = world("Auto", [1, 1, 0]);
    let why = "Insufficient number of endpoints (2 endpoints, 3 zones)";
    assert_eq!(few.sync().events, disabled(why));
    let why = "Insufficient Node information: allocatable CPU or zone not specified on one or more \
               nodes";
    let mut world = world("Auto", [3, 3, 3]);
    world.sync();
    assert_eq!(world.hints("forZones"), "zone-a 3, zone-b 3, zone-c 3");
    let nodes = world.nodes.clone();
    world.nodes[0]["status"]["allocatable"] = json!({});
    let synced = world.sync();
    assert_eq!((synced.writes, synced.events), ([0, 1, 0], disabled(why)));
    assert_eq!(world.hints("forZones"), "");
    world.nodes = nodes;
    world.sync();
    world.service["metadata"]["annotations"] = json!({});
    let synced = world.sync();
    assert_eq!(synced.writes, [0, 1, 0]);
    assert_eq!(synced.events, disabled("Topology Aware Hints has been disabled"));
    assert_eq!(world.sync().events, Vec::<String>::new());
}

/// TestSetNodes.
#[test]
fn shares_of_zones_are_as_upstream() {
    let cpu = |name: &str, zone: &str, cpu: &str| {
        with(node(name, zone), json!({"status": {"allocatable": {"cpu": cpu}}}))
    };
    let unready = json!({"status": {"conditions": [{"type": "Ready", "status": "False"}]}});
    let master = json!({"metadata": {"labels": {"node-role.kubernetes.io/control-plane": ""}}});
    for (name, nodes, expected) in [
        ("empty", vec![], None),
        ("single node", vec![cpu("a", "zone-a", "1000m")], None),
        ("single zone", vec![cpu("a", "zone-a", "1000m"), cpu("b", "zone-a", "1000m")], None),
        (
            "2 zones",
            vec![cpu("a", "zone-a", "1000m"), cpu("b", "zone-b", "3")],
            Some("zone-a 0.25, zone-b 0.75"),
        ),
        (
            "2 zones, control-plane and unready nodes ignored",
            vec![
                cpu("a", "zone-a", "1"),
                cpu("b", "zone-b", "1"),
                with(cpu("c", "zone-c", "1"), master),
                with(cpu("d", "zone-d", "1"), unready),
            ],
            Some("zone-a 0.5, zone-b 0.5"),
        ),
        ("2 zones, one with no CPU", vec![cpu("a", "zone-a", "1"), cpu("b", "zone-b", "0")], None),
        (
            "a node without a zone",
            vec![cpu("a", "zone-a", "1"), cpu("b", "zone-b", "1"), cpu("c", "", "1")],
            None,
        ),
        ("no number", vec![cpu("a", "zone-a", "1"), cpu("b", "zone-b", "x")], None),
    ] {
        let found = zones(&decode_all::<Node>(&nodes));
        let found = found.map(|zones| {
            let words = zones.iter().map(|(zone, share)| format!("{zone} {share}"));
            words.collect::<Vec<_>>().join(", ")
        });
        assert_eq!(found.as_deref(), expected, "{name}");
    }
}

fn table<T: Copy>(rows: &[(&str, T)]) -> BTreeMap<Text, T> {
    rows.iter().map(|(zone, value)| ((*zone).into(), *value)).collect()
}

/// TestTopologyCacheGetAllocations... of upstream: minimum, maximum and desired.
#[test]
fn allocations_are_as_upstream() {
    let found = |endpoints, zones: &[(&str, f64)]| {
        let allocations = allocations(endpoints, Some(&table(zones)));
        allocations.map(|allocations| {
            let text = |(zone, it): (&Text, &Allocation)| {
                format!("{zone} {} {} {}", it.minimum, it.maximum, it.desired)
            };
            allocations.iter().map(text).collect::<Vec<_>>().join(", ")
        })
    };
    let two = found(2, &[("a", 0.5), ("b", 0.5)]);
    assert_eq!(two.as_deref(), Ok("a 1 1 1, b 1 1 1"));
    let four = found(4, &[("a", 0.5), ("b", 0.5)]);
    assert_eq!(four.as_deref(), Ok("a 2 2 2, b 2 2 2"));
    let nine = found(9, &[("a", 0.5), ("b", 0.5)]);
    assert_eq!(nine.as_deref(), Ok("a 4 5 4.5, b 4 5 4.5"));
    assert!(found(4, &[("a", 0.33), ("b", 0.33), ("c", 0.34)]).is_err());
}

/// Test_getGivingAndReceivingZones, all rows with counts that there can be.
#[test]
fn zones_give_as_upstream() {
    let allocation = |desired| Allocation { minimum: 0, maximum: 0, desired };
    let words = |counts: &BTreeMap<Text, usize>| {
        let words = counts.iter().map(|(zone, count)| format!("{zone} {count}"));
        words.collect::<Vec<_>>().join(", ")
    };
    let third = [("a", 5.0), ("b", 5.6), ("c", 5.4)];
    for (name, desired, counts, giving, receiving) in [
        ("empty", vec![], vec![], "", ""),
        (
            "simple allocation with no need for rebalancing",
            vec![("a", 1.2), ("b", 1.1), ("c", 1.0)],
            vec![("a", 1), ("b", 1), ("c", 1)],
            "",
            "",
        ),
        (
            "preference for same zone even when giving would be slightly better",
            vec![("a", 5.1), ("b", 5.1), ("c", 5.8)],
            vec![("a", 16)],
            "a 10",
            "b 5, c 5",
        ),
        (
            "when 2 zones need < 1 endpoint, give to zone that needs endpoint most",
            third.to_vec(),
            vec![("a", 16)],
            "a 11",
            "b 6, c 5",
        ),
        (
            "when 2 zones have extra endpoints, give from zone with most extra",
            third.to_vec(),
            vec![("b", 8), ("c", 8)],
            "b 2, c 3",
            "a 5",
        ),
        (
            "more allocated than allocations",
            vec![("a", 5.0), ("b", 5.0), ("c", 5.0)],
            vec![("a", 6), ("b", 6), ("c", 6)],
            "",
            "",
        ),
        (
            "negative allocations",
            vec![("a", -5.0), ("b", -5.0), ("c", -5.0)],
            vec![("a", 6), ("b", 6), ("c", 6)],
            "",
            "",
        ),
    ] {
        let desired: Vec<_> = desired.iter().map(|(zone, it)| (*zone, allocation(*it))).collect();
        let (gives, takes) = giving_and_receiving(&table(&desired), &table(&counts));
        assert_eq!((&*words(&gives), &*words(&takes)), (giving, receiving), "{name}");
    }
}

/// `checkNodeTopologyDistribution`: when the shares change, Services that have too few endpoints in
/// a zone are looked at.
#[test]
fn zones_that_grow_enqueue_services() {
    let mut world = world("Auto", [3, 3, 3]);
    world.sync();
    let overloaded = |world: &World| {
        let fixture = world.fixture();
        let key = Key::parse("zones");
        let memory = world.memory.read();
        let snapshot = world.controller.observe(&key, &fixture.view(), &memory).unwrap();
        drop(memory);
        let (plan, verdict) = world.controller.decide(&snapshot, &Facts::default());
        assert!(plan.is_rest());
        let mut queue = Enqueue::default();
        let outcome = Outcome::default();
        let news = News::Acted { snapshot: &snapshot, verdict: &verdict, outcome: &outcome };
        world.controller.remember(&mut world.memory.write(), news, &mut queue);
        controller::fixture::lines(&queue)
    };
    assert_eq!(overloaded(&world), "");
    for at in 0..10 {
        world.nodes[at]["status"]["allocatable"]["cpu"] = json!("1");
    }
    assert_eq!(overloaded(&world), "now shop/foo\n");
    world.nodes.truncate(5);
    assert_eq!(overloaded(&world), "now shop/foo\n");
}
