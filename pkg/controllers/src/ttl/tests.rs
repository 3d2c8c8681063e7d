//! Tables, mirroring upstream's `pkg/controller/ttl/ttl_controller_test.go` and
//! `test/integration/ttlcontroller`.

use std::sync::Arc;

use api::{DecodeError, Key, Node, Object as _};
use controller::fixture::{Fixture, NOW, decode, lines, remembered, with};
use controller::{Change, Controller as _, Facts, Shared};
use serde_json::{Value, json};

use super::*;

const RIGHT: &str = "why: the annotation is right\n";

fn node(name: &str, annotations: &Value) -> Value {
    let meta = json!({"name": name, "uid": format!("uid-{name}"), "resourceVersion": "1",
        "annotations": annotations});
    json!({ "metadata": meta })
}

fn says(ttl: &str) -> Value {
    node("name", &json!({"node.alpha.kubernetes.io/ttl": ttl}))
}

/// So many nodes were seen, and this is the step.
fn at(nodes: usize, step: usize) -> Size {
    Size { nodes, step }
}

/// Which keys a change enqueues, and the size after it.
fn enqueued(size: Size, change: &Change<Node>) -> (String, Size) {
    let memory = Shared::default();
    *memory.write() = size;
    let queue = remembered(&Controller, &memory, change, &Fixture::default());
    let after = *memory.read();
    (lines(&queue), after)
}

/// The plan for the node `name`.
fn planned(size: &Size, node: &Value) -> String {
    let fixture = Fixture::default().holding::<Node>(std::slice::from_ref(node));
    let snapshot = Controller.observe(&Key::new("", "name"), &fixture.view(), size);
    let plan = snapshot.map(|snapshot| Controller.decide(&snapshot, &Facts::default()).0);
    plan.map_or_else(|| "gone\n".to_owned(), |plan| plan.to_string())
}

/// Upstream's patch, and the uid.
fn patches(nodes: usize, ttl: &str) -> String {
    let annotations = format!(r#"{{"node.alpha.kubernetes.io/ttl":"{ttl}"}}"#);
    let body = format!(r#"{{"metadata":{{"annotations":{annotations},"uid":"uid-name"}}}}"#);
    format!("why: {nodes} nodes ask for {ttl}s\nin order: patch nodes name {body}\n")
}

/// TestUpdateNodeIfNeeded, all rows, and TestPatchNode: its rows with 10 seconds, which no step
/// asks for, have another number here. Its last row patches nothing, since nothing differs.
#[test]
fn annotations_are_written_as_upstream() {
    let ttl = Node::TTL;
    for (name, (nodes, step), annotations, expected) in [
        ("TestUpdateNodeIfNeeded, row 1", (5, 0), json!({}), patches(5, "0")),
        ("row 2", (200, 1), Value::Null, patches(200, "15")),
        ("row 3", (700, 2), json!({}), patches(700, "30")),
        ("row 4", (1500, 3), json!({ ttl: "0" }), patches(1500, "60")),
        ("row 5", (1500, 3), json!({ ttl: "60" }), RIGHT.to_owned()),
        ("row 6", (700, 2), json!({ ttl: "60" }), patches(700, "30")),
        ("TestPatchNode, row 6", (200, 1), json!({ ttl: "0", "a": "b" }), patches(200, "15")),
        ("TestPatchNode, row 7", (200, 1), json!({ ttl: "15", "a": "b" }), RIGHT.to_owned()),
        ("the largest step", (9999, 4), json!({ ttl: "60" }), patches(9999, "300")),
        ("card: not numeric", (5, 0), json!({ ttl: "x" }), patches(5, "0")),
        ("strconv.Atoi: empty", (5, 0), json!({ ttl: "" }), patches(5, "0")),
        ("strconv.Atoi: blanks", (5, 0), json!({ ttl: " 0" }), patches(5, "0")),
        ("strconv.Atoi: no unit", (200, 1), json!({ ttl: "15s" }), patches(200, "15")),
        ("strconv.Atoi: sign and zeros", (200, 1), json!({ ttl: "+015" }), RIGHT.to_owned()),
        ("strconv.Atoi: minus zero", (5, 0), json!({ ttl: "-0" }), RIGHT.to_owned()),
        ("strconv.Atoi: negative", (200, 1), json!({ ttl: "-15" }), patches(200, "15")),
    ] {
        assert_eq!(planned(&at(nodes, step), &node("name", &annotations)), expected, "{name}");
    }
}

/// Card, Sync 1 and Edge cases: a node that is deleted; one that is being deleted.
#[test]
fn terminating_nodes_are_written_until_they_are_deleted() {
    let size = at(5, 0);
    assert_eq!(planned(&size, &node("another", &json!({}))), "gone\n");
    let deleted = json!({"metadata": {"deletionTimestamp": NOW}});
    assert_eq!(planned(&size, &with(says("1"), deleted)), patches(5, "0"));
}

/// TestDesiredTTL, all rows, and the other boundaries of the table.
#[test]
fn the_size_of_the_cluster_asks_for_a_time_as_upstream() {
    let node = decode::<Node>(&node("name", &json!({})));
    let added = || Change::Added(node.clone());
    let deleted = || Change::Deleted(node.clone());
    for (number, change, nodes, step, expected) in [
        (1, added(), 0, 0, 0),
        (2, added(), 99, 0, 0),
        (3, added(), 100, 0, 15),
        (4, deleted(), 101, 1, 15),
        (5, deleted(), 91, 1, 15),
        (6, added(), 91, 1, 15),
        (7, deleted(), 90, 1, 0),
        (8, deleted(), 1800, 4, 60),
        (9, deleted(), 10000, 4, 300),
        // More than upstream's rows: each boundary from both sides.
        (10, added(), 499, 1, 15),
        (11, added(), 500, 1, 30),
        (12, deleted(), 451, 2, 30),
        (13, deleted(), 450, 2, 15),
        (14, added(), 1000, 2, 60),
        (15, deleted(), 901, 3, 60),
        (16, deleted(), 900, 3, 30),
        (17, added(), 2000, 3, 300),
        (18, deleted(), 1801, 4, 300),
        // One step at a time, in both directions.
        (19, added(), 5000, 0, 15),
        (20, deleted(), 50, 3, 30),
        (21, deleted(), 0, 0, 0),
    ] {
        let (_, size) = enqueued(at(nodes, step), &change);
        assert_eq!(size.ttl_seconds(), expected, "row {number}");
        let left = if matches!(change, Change::Added(_)) { nodes + 1 } else { nodes.max(1) - 1 };
        assert_eq!(size.nodes, left, "row {number}");
    }
}

/// TestTTLAnnotations (integration): over the boundary and back. Nodes change once the cluster has
/// its new size, as there.
#[test]
fn nodes_get_the_new_time_with_their_next_change() {
    let (mut size, mut enqueues);
    let bare = decode::<Node>(&node("name", &json!({})));
    size = Size::default();
    for _ in 0..100 {
        (enqueues, size) = enqueued(size, &Change::Added(bare.clone()));
        assert_eq!(enqueues, "now name\n");
    }
    assert_eq!(planned(&size, &says("0")), RIGHT);
    (_, size) = enqueued(size, &Change::Added(bare.clone()));
    assert_eq!(planned(&size, &says("0")), patches(101, "15"));
    // The hysteresis: 90 nodes still have the longer time.
    for _ in 0..11 {
        (enqueues, size) = enqueued(size, &Change::Deleted(bare.clone()));
        assert_eq!(enqueues, "forget name\n");
    }
    assert_eq!(planned(&size, &says("15")), RIGHT);
    (_, size) = enqueued(size, &Change::Deleted(bare));
    assert_eq!(planned(&size, &says("15")), patches(89, "0"));
}

/// Heartbeats enqueue nothing; card, Edge cases: what a user writes is replaced.
#[test]
fn a_change_enqueues_a_node_only_if_its_annotation_is_wrong() {
    let woken_by = |new: &Value| {
        let [old, new] = [&says("15"), new].map(decode::<Node>);
        let (enqueues, size) = enqueued(at(200, 1), &Change::Updated { old, new });
        assert_eq!(size.nodes, 200, "a change is no new node");
        enqueues
    };
    let heartbeat = json!({"status": {"conditions": [{"type": "Ready", "status": "True"}]}});
    assert_eq!(woken_by(&with(says("15"), heartbeat)), "");
    for wrong in [says("0"), says("x"), node("name", &Value::Null)] {
        assert_eq!(woken_by(&wrong), "now name\n", "{wrong}");
    }
}

/// A node of which only the metadata could be read: the patch does no harm, and makes no loop.
#[test]
fn a_node_that_cannot_be_read_counts_and_is_patched_at_most_once_for_each_change() {
    let meta = decode::<Node>(&says("0")).meta.clone();
    let node = Arc::new(Node::unreadable(meta, &DecodeError("spec: no".to_owned())));
    let (enqueues, size) = enqueued(at(5, 0), &Change::Added(node.clone()));
    assert_eq!((enqueues.as_str(), size.nodes), ("now name\n", 6));
    let snapshot = Snapshot { node, ttl_seconds: 0, nodes: 6 };
    let (plan, ()) = Controller.decide(&snapshot, &Facts::default());
    assert_eq!((plan.to_string(), plan.again, plan.error), (patches(6, "0"), None, None));
}

#[test]
fn a_summary_says_what_is_wanted_and_what_is_there() {
    let fixture = Fixture::default().holding::<Node>(&[says("0")]);
    let key = Key::new("", "name");
    let snapshot = Controller.observe(&key, &fixture.view(), &at(200, 1)).unwrap();
    let expected = [("nodes", "200"), ("wanted", "15s"), (Node::TTL, "0")];
    let expected = expected.map(|(name, value)| (name, value.to_owned()));
    assert_eq!(Controller.summary(&snapshot), expected);
}
