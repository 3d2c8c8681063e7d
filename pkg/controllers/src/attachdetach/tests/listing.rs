//! `volumesAttached`, as upstream's `node_status_updater_test.go` and `VolumesAreAttached`;
//! metrics, and what an operator reads.

use std::time::Duration;

use controller::Controller as _;
use controller::{Amount, Count};

use super::*;

fn patched(volumes: &serde_json::Value) -> String {
    let body = json!({"metadata": {"uid": "uid-node-1"}, "status": {"volumesAttached": volumes}});
    format!("in order: patch nodes node-1 status {body}\n")
}

/// TestNodeStatusUpdater_UpdateNodeStatuses…: one patch with all that is attached; what is there
/// keeps its path and its place, and what other plugins have is kept.
#[test]
fn a_node_lists_what_is_attached() {
    let mut world = world(&["ReadWriteOnce"]);
    let there = json!([{"name": "flex/driver/x", "devicePath": "/dev/x"}]);
    world.set_node("node-1", json!({"status": {"volumesAttached": there}}));
    world.run(&[pod("a", "node-1", "data")]);
    world.sync(VOLUME);
    world.attacher("node-1", &json!({"attached": true}));
    world.sync(VOLUME);
    let all = json!([{"name": "flex/driver/x", "devicePath": "/dev/x"},
        {"name": VOLUME, "devicePath": ""}]);
    let plan = world.sync("node-1");
    assert!(plan.ends_with(&patched(&all)), "{plan}");
    assert_eq!(world.sync("node-1"), "why: the node lists what is attached\n");
    world.pods.clear();
    world.sync(VOLUME);
    let plan = world.sync("node-1");
    assert!(plan.ends_with(&patched(&there)), "{plan}");
    world.set_node("node-1", json!({"status": {"volumesAttached": [{"name": VOLUME}]}}));
    let plan = world.sync("node-1");
    assert!(plan.ends_with(&patched(&serde_json::Value::Null)), "{plan}");
}

/// `VerifyVolumesAreAttached`: what lost its attachment is listed for one period more, if the live
/// read says the same; with `--disable-attach-detach-reconcile-sync`, for ever.
#[test]
fn a_volume_without_an_attachment_is_not_listed_for_long() {
    let listed = json!({"status": {"volumesAttached": [{"name": VOLUME, "devicePath": ""}]}});
    let mut world = world(&["ReadWriteOnce"]);
    world.set_node("node-1", listed.clone());
    let waits = world.sync("node-1");
    assert!(waits.contains("again in 60s"), "{waits}");
    world.uptime += Duration::from_secs(59);
    assert!(world.sync("node-1").contains("again in 1s"));
    world.uptime += Duration::from_secs(1);
    world.is_deaf = true;
    assert!(world.sync("node-1").contains("again in 5s"));
    world.is_deaf = false;
    let plan = world.sync("node-1");
    assert!(plan.starts_with("fetch metadata of volumeattachments.storage.k8s.io csi-"), "{plan}");
    assert!(world.listed("node-1").is_empty());

    let mut world = self::world(&["ReadWriteOnce"]);
    world.options.sync_period = None;
    world.set_node("node-1", listed);
    world.uptime += Duration::from_hours(1);
    assert_eq!(world.sync("node-1"), "why: the node lists what is attached\n");
}

/// TestVolumesInUseMetricCollection, TestTotalVolumesMetricCollection.
#[test]
fn volumes_are_counted_by_node_and_by_state() {
    let mut world = world(&["ReadWriteMany"]);
    world.run(&[
        pod("a", "node-1", "data"),
        pod("b", "node-1", "data"),
        pod("c", "node-2", "data"),
    ]);
    world.sync(VOLUME);
    let fixture = world.fixture();
    let counts = Controller(world.options).gauges(&fixture.view(), &world.memory);
    let shown = |count: &Count| {
        let Amount::Of(value) = count.value else { panic!("a gauge has a value") };
        format!("{} {} {value}", count.family.name, count.labels.join(" "))
    };
    assert_eq!(
        counts.iter().map(shown).collect::<Vec<_>>(),
        [
            "storage_count_attachable_volumes_in_use node-1 kubernetes.io/csi:d.example 2",
            "storage_count_attachable_volumes_in_use node-2 kubernetes.io/csi:d.example 1",
            "attachdetach_controller_total_volumes kubernetes.io/csi:d.example \
             desired_state_of_world 2",
            "attachdetach_controller_total_volumes kubernetes.io/csi:d.example \
             actual_state_of_world 2",
        ],
    );
}

/// An operator may ask for a PersistentVolume, and reads what each node has of it.
#[test]
fn an_operator_reads_what_a_volume_waits_for() {
    let mut world = world(&["ReadWriteOnce"]);
    world.run(&[pod("a", "node-1", "data")]);
    world.sync(VOLUME);
    world.attacher("node-1", &json!({"attachError": {"message": "no such disk"}}));
    world.sync(VOLUME);
    world.uptime += Duration::from_secs(5);
    let controller = Controller(world.options);
    let key = controller.named(&Key::new("", "pv-1"), &world.memory).unwrap();
    assert_eq!(key, Key::parse(VOLUME));
    assert!(controller.named(&Key::new("", "node-1"), &world.memory).is_none());
    let fixture = world.fixture();
    let observed = controller.observe(&key, &fixture.view(), &world.memory).unwrap();
    let facts = controller.summary(&observed);
    let name = world.name("h1", "node-1");
    assert_eq!(
        facts,
        [
            ("plugin", "kubernetes.io/csi:d.example".to_owned()),
            (
                "node",
                format!(
                    "node-1: {name} is not attached: no such disk, needed by pod shop/a, attach \
                     asked for 5s ago"
                ),
            ),
        ],
    );
}
