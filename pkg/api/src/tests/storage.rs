//! What the binder of claims and volumes reads.

use serde_json::{Value, json};

use crate::*;

fn volume(spec: &Value, phase: &str) -> PersistentVolume {
    let json = json!({"metadata": {"name": "v"}, "spec": spec, "status": {"phase": phase}});
    PersistentVolume::decode(Codec::Json, json.to_string().as_bytes()).unwrap()
}

/// The values under which an index finds a volume.
fn found(volume: &PersistentVolume, index: &str) -> Vec<String> {
    let index = PersistentVolume::INDEXES.iter().find(|known| known.name == index).unwrap();
    index.of(volume).as_slice().iter().map(ToString::to_string).collect()
}

#[test]
fn a_volume_says_what_it_can_be_used_for() {
    let spec = json!({
        "capacity": {"storage": "1536Mi"}, "accessModes": ["ReadOnlyMany", "ReadWriteOnce", "New"],
        "storageClassName": "gold", "volumeMode": "Block", "nfs": {"server": "a", "path": "/"},
        "persistentVolumeReclaimPolicy": "Recycle",
    });
    let read = volume(&spec, "Available");
    assert_eq!(read.capacity.map(apimachinery::Quantity::value), Some(1536 << 20));
    assert_eq!(read.modes, AccessModes::parse(["ReadWriteOnce", "ReadOnlyMany"]));
    assert_eq!(read.modes.count(), 2);
    assert!(read.modes.contain(AccessModes::parse(["ReadOnlyMany"])));
    assert!(!read.modes.contain(AccessModes::parse(["ReadWriteMany"])));
    assert!(read.is_block && read.is_free());
    assert_eq!((read.class.as_deref(), &*read.reclaim_policy), (Some("gold"), "Recycle"));
    assert_eq!(read.source, VolumeSource::Nfs);
    assert_eq!(read.phase.word(), "Available");
    assert_eq!(found(&read, PersistentVolume::FREE_BY_CLASS), ["gold"]);
    assert_eq!(found(&read, PersistentVolume::BY_CLAIM), [""; 0]);
    let bound = volume(&json!({"claimRef": {"namespace": "a", "name": "b"}}), "Available");
    assert_eq!(found(&bound, PersistentVolume::FREE_BY_CLASS), [""; 0]);
    assert_eq!(found(&bound, PersistentVolume::BY_CLAIM), ["a/b"]);
    assert_eq!(found(&volume(&json!({}), "Available"), PersistentVolume::FREE_BY_CLASS), [""]);
    for phase in ["Pending", "Bound", "Released", "Failed", "", "Another"] {
        let read = volume(&json!({}), phase);
        assert!(!read.is_free() && found(&read, PersistentVolume::FREE_BY_CLASS).is_empty());
    }
}

#[test]
fn a_class_is_read_from_json_and_protobuf() {
    let bytes = include_bytes!("../../testdata/storage-class.pb");
    let read = StorageClass::decode(Codec::Protobuf, bytes).unwrap();
    let json = include_bytes!("../../testdata/storage-class.json");
    assert_eq!(StorageClass::decode(Codec::Json, json).as_ref(), Ok(&read));
    assert_eq!((&*read.meta.key.name, &*read.provisioner), ("fast", "example.com/driver"));
    assert_eq!(read.binding, Some(BindingMode::WaitForFirstConsumer));
    assert!(read.is_default && *read.mount_options == [intern("ro"), intern("noatime")]);
    let bare = StorageClass::decode(Codec::Json, br#"{"metadata":{}}"#).unwrap();
    assert!(bare.binding.is_none() && !bare.is_default);
    let error = DecodeError("no".to_owned());
    assert_eq!(StorageClass::unreadable(bare.meta, &error).unreadable, Some(error));
}
