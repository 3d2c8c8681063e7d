//! `trafficDistribution`: upstream's `trafficdist_test.go` and TestReconcile_TrafficDistribution.

use controller::Controller as _;
use controller::fixture::with;
use serde_json::{Value, json};

use super::world::{World, node, numbered};

/// Four pods on three nodes: two in zone-a, one in zone-b, one on a node without a zone. The last
/// one is not ready.
fn world(spec: Value) -> World {
    let mut world = World::new(spec);
    let nowhere = with(node("node-3", ""), json!({"metadata": {"labels": null}}));
    world.nodes = vec![node("node-1", "zone-a"), node("node-2", "zone-b"), nowhere];
    let on = |id, node: &str| with(numbered(id), json!({"spec": {"nodeName": node}}));
    let unready = json!({"status": {"conditions": [{"type": "Ready", "status": "False"}]}});
    let last = with(on(4, "node-1"), unready);
    world.pods = vec![on(0, "node-1"), on(1, "node-1"), on(2, "node-2"), on(3, "node-3"), last];
    world
}

#[test]
fn hints_are_given_as_asked() {
    let zones = "zone-a 2, zone-b 1";
    for (asked, for_zones, for_nodes) in [
        (json!(null), "", ""),
        (json!("PreferClose"), zones, ""),
        (json!("PreferSameZone"), zones, ""),
        (json!("PreferSameNode"), zones, "node-1 2, node-2 1, node-3 1"),
        (json!("Unknown"), "", ""),
    ] {
        let mut world = world(json!({ "trafficDistribution": asked }));
        world.sync();
        assert_eq!(world.hints("forZones"), for_zones, "{asked}");
        assert_eq!(world.hints("forNodes"), for_nodes, "{asked}");
        world.rests("hints");
        let gauges = world.controller.gauges(&world.fixture().view(), &world.memory.read());
        let asks = asked.as_str().filter(|asked| *asked != "Unknown");
        assert_eq!(gauges.get(3).map(|gauge| &*gauge.labels[0]), asks, "{asked}");
    }
}

/// Slices of which nothing else changes are written when the Service asks for something else; what
/// is not ready is left alone.
#[test]
fn hints_change_with_the_service() {
    let mut world = world(json!({}));
    world.sync();
    for (asked, for_zones, for_nodes) in [
        (json!("PreferSameNode"), "zone-a 2, zone-b 1", "node-1 2, node-2 1, node-3 1"),
        (json!("PreferSameZone"), "zone-a 2, zone-b 1", ""),
        (json!(null), "", ""),
    ] {
        world.service["spec"]["trafficDistribution"] = asked.clone();
        assert_eq!(world.sync().writes, [0, 1, 0], "{asked}");
        assert_eq!((&*world.hints("forZones"), &*world.hints("forNodes")), (for_zones, for_nodes));
        world.rests("hints");
    }
    world.service["spec"]["trafficDistribution"] = json!("PreferSameZone");
    world.sync();
    let last = world.slices[0]["endpoints"].as_array().unwrap().len() - 1;
    let unready = world.slices[0]["endpoints"].as_array().unwrap();
    let unready = unready.iter().position(|it| it["conditions"]["ready"] == json!(false));
    let hints = json!({"forZones": [{"name": "zone-x"}]});
    world.slices[0]["endpoints"][unready.unwrap_or(last)]["hints"] = hints;
    world.rests("one that is not ready");
}

/// The annotation counts first.
#[test]
fn topology_counts_first() {
    let mut world = world(json!({"trafficDistribution": "PreferSameZone"}));
    let annotations = json!({"service.kubernetes.io/topology-mode": "Auto"});
    world.service["metadata"]["annotations"] = annotations;
    world.sync();
    assert_eq!(world.hints("forZones"), "", "a node has no zone");
}
