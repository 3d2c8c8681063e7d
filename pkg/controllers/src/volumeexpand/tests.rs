//! Tables, mirroring upstream's `expand_controller_test.go` (TestSyncHandler).

use std::sync::Arc;

use api::{Key, Object as _, PersistentVolume};
use controller::fixture::{Fixture, decode, enqueued, with};
use controller::{Answer, Controller as _, Facts, Query, Refused, Views};
use serde_json::{Value, json};

use super::*;

/// As upstream's `getFakePersistentVolumeClaim`: it has and asks for so much.
fn claim(volume: &str, has: &str, asks: &str) -> Value {
    json!({
        "metadata": {"name": "good-pvc", "namespace": "default", "uid": "u1",
            "resourceVersion": "7"},
        "spec": {"volumeName": volume, "resources": {"requests": {"storage": asks}}},
        "status": {"phase": "Bound", "capacity": {"storage": has}},
    })
}

/// As upstream's `getFakePersistentVolume`, of this source.
fn volume(name: &str, source: &str) -> Value {
    json!({
        "metadata": {"name": name, "uid": "v1", "resourceVersion": "3"},
        "spec": {
            "capacity": {"storage": "1Gi"},
            "claimRef": {"namespace": "default", "name": "good-pvc", "uid": "u1"},
            (source): {},
        },
    })
}

fn key() -> Key {
    Key::new("default", "good-pvc")
}

fn planned_with(claim: &Value, volume: Option<(&str, Answer)>) -> String {
    let claims = std::slice::from_ref(claim);
    planned_in(&Fixture::default().holding::<PersistentVolumeClaim>(claims), volume)
}

fn planned_in(fixture: &Fixture, volume: Option<(&str, Answer)>) -> String {
    let snapshot = Controller.observe(&key(), &fixture.view(), &()).unwrap();
    let facts = volume.map(|(name, answer)| {
        Facts::from([(Query::view::<PersistentVolume>(Key::new("", name)), answer)])
    });
    Controller.decide(&snapshot, &facts.unwrap_or_default()).0.to_string()
}

/// What is planned once the volume was read live.
fn planned(claim: &Value, volume: &Value) -> String {
    let name = volume["metadata"]["name"].as_str().unwrap();
    let answer = Answer::Views(Views::new(vec![decode::<PersistentVolume>(volume)]));
    planned_with(claim, Some((name, answer)))
}

/// Card, Sync 2: the volume is read live.
#[test]
fn the_volume_is_read_live() {
    assert_eq!(
        planned_with(&claim("vol-3", "1Gi", "2Gi"), None),
        "why: does volume vol-3 have to grow? It is read live\nfetch persistentvolumes vol-3\n",
    );
}

/// TestSyncHandler: when pvc has no PV binding. Card, Sync 2: not found, or another failure.
#[test]
fn a_volume_that_is_not_read_is_a_failure() {
    let rows = [
        (claim("", "1Gi", "1Gi"), None, r#"failed to get PV "": resource name may not be empty"#),
        (
            claim("vol-3", "1Gi", "2Gi"),
            Some(Answer::NotFound),
            r#"failed to get PV "vol-3": persistentvolumes "vol-3" not found"#,
        ),
        (
            claim("vol-3", "1Gi", "2Gi"),
            Some(Answer::Failed(Refused { code: Some(403), ..Refused::from("forbidden") })),
            r#"failed to get PV "vol-3": forbidden"#,
        ),
    ];
    for (claim, answer, error) in rows {
        let plan = planned_with(&claim, answer.map(|answer| ("vol-3", answer)));
        assert!(plan.contains(&format!("error: {error}")), "{plan}");
    }
}

/// Card, Sync 3.
#[test]
fn another_claims_volume_is_a_failure() {
    for reference in [
        json!({"namespace": "default", "name": "good-pvc", "uid": "u2"}),
        json!({"namespace": "other", "name": "good-pvc", "uid": "u1"}),
        Value::Null,
    ] {
        let volume = with(volume("vol-3", "csi"), json!({"spec": {"claimRef": reference}}));
        let plan = planned(&claim("vol-3", "1Gi", "2Gi"), &volume);
        let error = "persistent Volume is not bound to PVC being updated : default/good-pvc";
        assert!(plan.contains(error), "{plan}");
    }
}

/// Card, Sync 4.
#[test]
fn a_claim_that_has_what_it_asks_for_is_left_alone() {
    for (has, asks) in [("1Gi", "1Gi"), ("2Gi", "1Gi"), ("1024Mi", "1Gi")] {
        let plan = planned(&claim("vol-3", has, asks), &volume("vol-3", "csi"));
        assert_eq!(plan, "why: the claim has what it asks for\n");
    }
}

/// TestSyncHandler: when pvc and pv has everything for in-tree plugin; and the same with a volume
/// whose expansion its node is to end. Card, Sync 5: no request if the annotation is right.
#[test]
fn the_resizer_of_a_migrated_plugin_is_named() {
    let sources = [
        ("gcePersistentDisk", "kubernetes.io/gce-pd", "pd.csi.storage.gke.io"),
        ("awsElasticBlockStore", "kubernetes.io/aws-ebs", "ebs.csi.aws.com"),
        ("cinder", "kubernetes.io/cinder", "cinder.csi.openstack.org"),
        ("azureDisk", "kubernetes.io/azure-disk", "disk.csi.azure.com"),
        ("azureFile", "kubernetes.io/azure-file", "file.csi.azure.com"),
        ("vsphereVolume", "kubernetes.io/vsphere-volume", "csi.vsphere.vmware.com"),
        ("portworxVolume", "kubernetes.io/portworx-volume", "pxd.portworx.com"),
    ];
    let annotation = "volume.alpha.kubernetes.io/pre-resize-capacity";
    for (source, plugin, driver) in sources {
        let grows = (claim("vol-3", "1Gi", "2Gi"), volume("vol-3", source));
        let resized = json!({"metadata": {"annotations": {(annotation): "1Gi"}}});
        let ends = (claim("vol-3", "2Gi", "2Gi"), with(volume("vol-3", source), resized));
        for (claim, volume) in [grows, ends] {
            let waits = format!(
                "CSI migration enabled for {plugin}; waiting for external resizer to expand the pvc"
            );
            let plan = planned(&claim, &volume);
            assert!(plan.contains(&format!("ExternalExpanding: {waits}")), "{plan}");
            let patch = format!(r#""volume.kubernetes.io/storage-resizer":"{driver}""#);
            assert!(plan.contains(&patch) && plan.contains("default/good-pvc status {"), "{plan}");
            let named = json!({"metadata": {"annotations": {
                "volume.kubernetes.io/storage-resizer": driver}}});
            let plan = planned(&with(claim, named), &volume);
            assert!(plan.contains(&waits) && !plan.contains("patch"), "{plan}");
        }
    }
}

/// TestSyncHandler: for csi plugin without migration path. Card, Sync 6.
#[test]
fn any_other_volume_waits_for_another_controller() {
    for source in ["csi", "nfs", "hostPath", "local"] {
        let plan = planned(&claim("vol-3", "1Gi", "2Gi"), &volume("vol-3", source));
        let waits = "waiting for an external controller to expand this PVC";
        assert!(plan.contains(&format!("ExternalExpanding: {waits}")), "{plan}");
        assert!(!plan.contains("patch"), "{plan}");
    }
}

/// Rule: what cannot be read is left alone.
#[test]
fn what_cannot_be_read_is_left_alone() {
    let claim = claim("vol-3", "1Gi", "2Gi");
    let broken = Fixture::default().holding_unreadable::<PersistentVolumeClaim>(&claim, "spec: no");
    assert!(planned_in(&broken, None).contains("why: the claim cannot be read"));
    let meta = decode::<PersistentVolume>(&volume("vol-3", "csi")).meta.clone();
    let broken = PersistentVolume::unreadable(meta, &api::DecodeError("spec: no".to_owned()));
    let answer = Answer::Views(Views::new(vec![Arc::new(broken)]));
    let plan = planned_with(&claim, Some(("vol-3", answer)));
    assert!(plan.contains("why: volume vol-3 cannot be read"), "{plan}");
}

/// Card, Events: claims that are bound, when they are new, or when their request or their capacity
/// grew.
#[test]
fn claims_that_grew_are_enqueued() {
    let claims = |old: &Value, new: &Value| {
        let (old, new) = (decode::<PersistentVolumeClaim>(old), decode(new));
        let change = Change::<PersistentVolumeClaim>::Updated { old, new };
        enqueued(&Controller, &change, &Fixture::default())
    };
    let before = claim("vol-3", "1Gi", "1Gi");
    let rows = [
        (claim("vol-3", "1Gi", "2Gi"), true),
        (claim("vol-3", "2Gi", "1Gi"), true),
        (claim("vol-3", "1Gi", "1Gi"), false),
        (claim("vol-3", "1Gi", "1024Mi"), false),
        (claim("vol-3", "512Mi", "512Mi"), false),
        (with(claim("vol-3", "1Gi", "2Gi"), json!({"status": {"phase": "Pending"}})), false),
    ];
    for (after, is_enqueued) in rows {
        let keys = if is_enqueued { "now default/good-pvc\n" } else { "" };
        assert_eq!(claims(&before, &after), keys, "{after}");
    }
    let added = |claim: &Value| {
        let claim = decode::<PersistentVolumeClaim>(claim);
        enqueued(&Controller, &Change::Added(claim), &Fixture::default())
    };
    assert_eq!(added(&before), "now default/good-pvc\n");
    assert_eq!(added(&with(before, json!({"status": {"phase": "Lost"}}))), "");
}
