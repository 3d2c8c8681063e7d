//! Which keys a change enqueues. As the handlers of upstream's `NewAttachDetachController`.

use api::{CsiDriver, Node, PersistentVolume, PersistentVolumeClaim, Pod, VolumeAttachment};
use controller::fixture::{decode, lines, remembered};
use controller::{Change, Shared};
use serde_json::Value;

use super::*;

/// The keys, one a line, of a change from `old` to `new`.
fn enqueued<T: api::Kind>(world: &World, old: Option<&Value>, new: Option<&Value>) -> String {
    let change = match (old, new) {
        (None, Some(new)) => Change::<T>::Added(decode(new)),
        (Some(old), Some(new)) => Change::Updated { old: decode(old), new: decode(new) },
        (Some(old), None) => Change::Deleted(decode(old)),
        (None, None) => panic!("no change"),
    };
    let memory = Shared::default();
    lines(&remembered(&Controller(world.options), &memory, &change, &world.fixture()))
}

fn now(keys: &[&str]) -> String {
    let line = |text: String, key: &&str| text + "now " + key + "\n";
    keys.iter().fold(String::new(), line)
}

/// Attached to `node-1` for the pod `a`.
fn attached() -> World {
    let mut world = world(&["ReadWriteOnce"]);
    world.run(&[pod("a", "node-1", "data")]);
    world.settle(VOLUME);
    world
}

/// `podAdd`, `podUpdate`, `podDelete`; TestPodUpdateWithADC.
#[test]
fn pods_enqueue_their_volumes() {
    let mut world = attached();
    let it = pod("a", "node-1", "data");
    let pending = with(it.clone(), json!({"spec": {"nodeName": ""}}));
    let over = with(it.clone(), json!({"status": {"phase": "Failed"}}));
    let ready = with(it.clone(), json!({"metadata": {"labels": {"x": "y"}}}));
    assert_eq!(enqueued::<Pod>(&world, None, Some(&it)), now(&[VOLUME]));
    assert_eq!(enqueued::<Pod>(&world, None, Some(&pending)), "");
    assert_eq!(enqueued::<Pod>(&world, Some(&pending), Some(&it)), now(&[VOLUME]));
    assert_eq!(enqueued::<Pod>(&world, Some(&it), Some(&over)), now(&[VOLUME]));
    assert_eq!(enqueued::<Pod>(&world, Some(&it), Some(&ready)), "");
    assert_eq!(enqueued::<Pod>(&world, Some(&it), None), now(&[VOLUME]));
    // Its claim is gone already, or made anew: what the node has is looked at.
    world.claims.clear();
    assert_eq!(enqueued::<Pod>(&world, Some(&it), None), now(&[VOLUME]));
    world.claims.insert("data".to_owned(), claim("data", ""));
    assert_eq!(enqueued::<Pod>(&world, Some(&it), None), now(&[VOLUME]));
}

/// `enqueuePVC`.
#[test]
fn claims_enqueue_the_volumes_that_they_name() {
    let world = attached();
    let bound = claim("data", "pv-1");
    let pending = with(bound.clone(), json!({"status": {"phase": "Pending"}}));
    let labelled = with(bound.clone(), json!({"metadata": {"labels": {"x": "y"}}}));
    assert_eq!(
        enqueued::<PersistentVolumeClaim>(&world, Some(&pending), Some(&bound)),
        now(&[VOLUME])
    );
    assert_eq!(enqueued::<PersistentVolumeClaim>(&world, Some(&bound), Some(&labelled)), "");
    assert_eq!(enqueued::<PersistentVolumeClaim>(&world, Some(&bound), None), now(&[VOLUME]));
}

#[test]
fn volumes_enqueue_themselves() {
    let world = attached();
    let it = volume("pv-1", "h1", "data");
    let free = with(it.clone(), json!({"spec": {"claimRef": null}}));
    let labelled = with(it.clone(), json!({"metadata": {"labels": {"x": "y"}}}));
    let local = with(it.clone(), json!({"spec": {"csi": null, "hostPath": {"path": "/"}}}));
    assert_eq!(enqueued::<PersistentVolume>(&world, None, Some(&it)), now(&[VOLUME]));
    assert_eq!(enqueued::<PersistentVolume>(&world, Some(&free), Some(&it)), now(&[VOLUME]));
    assert_eq!(enqueued::<PersistentVolume>(&world, Some(&it), Some(&labelled)), "");
    assert_eq!(enqueued::<PersistentVolume>(&world, None, Some(&local)), "");
    assert_eq!(enqueued::<PersistentVolume>(&world, Some(&it), None), now(&[VOLUME]));
}

#[test]
fn attachments_enqueue_their_volume_and_their_node() {
    let mut world = attached();
    let it = world.attachments.values().next().unwrap().clone();
    assert_eq!(enqueued::<VolumeAttachment>(&world, None, Some(&it)), now(&["node-1", VOLUME]));
    assert_eq!(enqueued::<VolumeAttachment>(&world, Some(&it), None), now(&["node-1", VOLUME]));
    world.volumes.clear();
    assert_eq!(enqueued::<VolumeAttachment>(&world, None, Some(&it)), now(&["node-1"]));
}

/// `nodeAdd`, `nodeUpdate`, `nodeDelete`.
#[test]
fn nodes_enqueue_what_changes_for_their_volumes() {
    let world = attached();
    let it = node("node-1");
    let changed = |fields| with(it.clone(), fields);
    assert_eq!(enqueued::<Node>(&world, None, Some(&it)), now(&["node-1", VOLUME]));
    assert_eq!(enqueued::<Node>(&world, Some(&it), None), now(&["node-1", VOLUME]));
    let other = "kubernetes.io/csi/d.example^h2";
    let rows = [
        (json!({"metadata": {"labels": {"x": "y"}}}), now(&[])),
        (json!({"status": {"volumesInUse": [other]}}), now(&[other])),
        (json!({"status": {"volumesAttached": [{"name": other}]}}), now(&["node-1", other])),
        (json!({"status": {"conditions": [{"type": "Ready", "status": "False"}]}}), now(&[VOLUME])),
        (
            json!({"spec": {"taints": [{"key": "node.kubernetes.io/out-of-service",
                "effect": "NoExecute"}]}}),
            now(&[VOLUME]),
        ),
        (json!({"metadata": {"annotations": null}}), now(&[VOLUME])),
        (json!({"status": {"volumesInUse": ["flex/driver/x"]}}), now(&[])),
    ];
    for (fields, keys) in rows {
        assert_eq!(
            enqueued::<Node>(&world, Some(&it), Some(&changed(fields.clone()))),
            keys,
            "{fields}"
        );
    }
}

#[test]
fn a_driver_that_needs_no_attachments_any_more_enqueues_its_volumes() {
    let mut world = attached();
    let driver = |required: bool| {
        let spec = json!({"attachRequired": required});
        json!({"metadata": {"name": "d.example"}, "spec": spec})
    };
    let (with, without) = (driver(true), driver(false));
    assert_eq!(enqueued::<CsiDriver>(&world, None, Some(&with)), "");
    assert_eq!(enqueued::<CsiDriver>(&world, None, Some(&without)), now(&[VOLUME]));
    assert_eq!(enqueued::<CsiDriver>(&world, Some(&with), Some(&with)), "");
    assert_eq!(enqueued::<CsiDriver>(&world, Some(&with), Some(&without)), now(&[VOLUME]));
    assert_eq!(enqueued::<CsiDriver>(&world, Some(&without), None), now(&[VOLUME]));
    // What only an attachment names, or a pod.
    world.volumes.clear();
    assert_eq!(enqueued::<CsiDriver>(&world, Some(&without), None), "", "nothing says what it is");
    let pod = json!({"metadata": {"name": "b", "namespace": "shop"}, "spec": {"nodeName": "node-1",
        "volumes": [{"name": "v", "azureDisk": {"diskName": "d", "diskURI": "/disks/d"}}]}});
    world.pods.insert("b".to_owned(), pod);
    let disk = json!({"metadata": {"name": "disk.csi.azure.com"}, "spec": {}});
    assert_eq!(
        enqueued::<CsiDriver>(&world, Some(&disk), None),
        now(&["kubernetes.io/csi/disk.csi.azure.com^/disks/d"])
    );
}
