//! Claims for storage, and what pods say of them.

use serde_json::{Value, json};

use super::NOON;
use crate::*;

/// `PodPVCIndexFunc`: each claim once, including those of ephemeral volumes.
#[test]
fn the_claims_of_a_pod_are_read_from_both_codecs() {
    let pod = Pod::decode(Codec::Protobuf, include_bytes!("../../testdata/claims-pod.pb")).unwrap();
    let json = Pod::decode(Codec::Json, include_bytes!("../../testdata/claims-pod.json"));
    assert_eq!(json.as_ref(), Ok(&pod));
    let expected = [
        ("data-web-0".into(), ClaimSource::Named),
        ("web-0-scratch".into(), ClaimSource::Ephemeral),
    ];
    assert_eq!(*pod.claims, expected);
    let index = Pod::INDEXES.iter().find(|index| index.name == Pod::BY_CLAIM).unwrap();
    assert_eq!(index.of(&pod).as_slice(), ["shop/data-web-0".into(), "shop/web-0-scratch".into()]);
    assert!(pod.shut_down && pod.nothing_runs && pod.is_over());
    let bare = Pod::decode(Codec::Json, br#"{"metadata":{"namespace":"shop"}}"#).unwrap();
    assert!(bare.claims.is_empty() && index.of(&bare).as_slice().is_empty());
}

/// Most pods use no claim: what is kept for those that do must not cost them.
#[test]
fn a_pod_without_claims_pays_two_words() {
    assert_eq!(size_of_val(&Pod::decode(Codec::Json, b"{\"metadata\":{}}").unwrap().claims), 16);
    assert!(size_of::<Pod>() <= 368, "{}", size_of::<Pod>());
}

/// Every field that a template can have, from both codecs, is in the claim that is made from it. An
/// empty name of a class says something else than none.
#[test]
fn the_templates_of_ephemeral_volumes_are_read_whole() {
    let (protobuf, text) = (
        include_bytes!("../../testdata/ephemeral-pod.pb"),
        include_str!("../../testdata/ephemeral-pod.json"),
    );
    let pod = Pod::decode(Codec::Protobuf, protobuf).unwrap();
    assert_eq!(Pod::decode(Codec::Json, text.as_bytes()).as_ref(), Ok(&pod));
    let names: Vec<_> = pod.ephemeral_volumes.iter().map(|volume| &*volume.name).collect();
    assert_eq!(names, ["scratch", "bare", "again"], "in the order of the spec");
    let template =
        |at: usize| -> Value { serde_json::from_str(&pod.ephemeral_volumes[at].template).unwrap() };
    let text: Value = serde_json::from_str(text).unwrap();
    let whole = "/spec/volumes/0/ephemeral/volumeClaimTemplate";
    assert_eq!(Some(&template(0)), text.pointer(whole));
    assert_eq!(template(1), json!({"spec": {"storageClassName": ""}}));
    assert_eq!(template(2), json!({"spec": {}}));
}

/// The API server does not look at the bytes of annotations.
#[test]
fn a_template_with_odd_bytes_hides_no_pod() {
    let odd = include_bytes!("../../testdata/ephemeral-odd-pod.pb");
    let pod = Pod::decode(Codec::Protobuf, odd).unwrap();
    let template: Value = serde_json::from_str(&pod.ephemeral_volumes[0].template).unwrap();
    assert_eq!(template["metadata"]["annotations"]["note"], "caf\u{fffd}");
}

/// `getPVCReferencedVACNames` and `getPVReferencedVACNames`.
#[test]
fn claims_and_volumes_are_found_by_their_attributes_classes() {
    let of_claim = |spec: &str, current: &str, target: &str| {
        let json = json!({"metadata": {}, "spec": {"volumeAttributesClassName": spec},
            "status": {"currentVolumeAttributesClassName": current,
                "modifyVolumeStatus": {"targetVolumeAttributesClassName": target, "status": ""}}});
        let claim =
            PersistentVolumeClaim::decode(Codec::Json, json.to_string().as_bytes()).unwrap();
        found(&claim, PersistentVolumeClaim::BY_ATTRIBUTES_CLASS)
    };
    assert_eq!(of_claim("gold", "silver", "bronze"), ["bronze", "gold", "silver"]);
    assert_eq!(of_claim("gold", "gold", ""), ["gold"]);
    assert!(of_claim("", "", "").is_empty());
    let claim = PersistentVolumeClaim::decode(Codec::Json, br#"{"metadata":{}}"#).unwrap();
    assert!(claim.attributes_classes.is_empty());

    let of_volume = |name: Value| {
        let json = json!({"metadata": {}, "spec": {"volumeAttributesClassName": name}});
        let volume = PersistentVolume::decode(Codec::Json, json.to_string().as_bytes()).unwrap();
        found(&volume, PersistentVolume::BY_ATTRIBUTES_CLASS)
    };
    assert_eq!(of_volume(json!("gold")), ["gold"]);
    assert!(of_volume(json!("")).is_empty() && of_volume(Value::Null).is_empty());

    let error = DecodeError("no".to_owned());
    let claim = PersistentVolumeClaim::unreadable(claim.meta.clone(), &error);
    let volume = PersistentVolume::unreadable(claim.meta.clone(), &error);
    assert_eq!(found(&claim, PersistentVolumeClaim::BY_ATTRIBUTES_CLASS), [""]);
    assert_eq!(found(&volume, PersistentVolume::BY_ATTRIBUTES_CLASS), [""]);
}

/// The values under which an index finds an object.
fn found<T: Object>(object: &T, index: &str) -> Vec<String> {
    let index = T::INDEXES.iter().find(|known| known.name == index).unwrap();
    index.of(object).as_slice().iter().map(ToString::to_string).collect()
}

#[test]
fn a_volume_and_a_class_are_read_and_kept() {
    let volume = json!({
        "apiVersion": "v1", "kind": "PersistentVolume",
        "metadata": {"name": "pv-1", "uid": "v1", "resourceVersion": "9",
            "finalizers": ["kubernetes.io/pv-protection"], "deletionTimestamp": NOON},
        "spec": {"capacity": {"storage": "1Gi"}, "claimRef": {"namespace": "shop", "name": "data"},
            "fieldOfTomorrow": 1},
        "status": {"phase": "Bound"},
    });
    let found = PersistentVolume::decode(Codec::Json, volume.to_string().as_bytes()).unwrap();
    assert!(found.is_bound() && found.meta.is_held_by(PersistentVolume::PROTECTION));
    assert_eq!(found.claim, Some(Key::new("shop", "data")));
    let body = found.raw.edited(&PersistentVolume::RESOURCE, &[]).unwrap();
    assert_eq!(serde_json::from_str::<Value>(&body).unwrap(), volume);
    let bare = PersistentVolume::decode(Codec::Json, br#"{"metadata":{}}"#).unwrap();
    assert!(!bare.is_bound() && bare.claim.is_none());

    let class = json!({
        "apiVersion": "storage.k8s.io/v1", "kind": "VolumeAttributesClass",
        "metadata": {"name": "gold", "resourceVersion": "9"},
        "driverName": "csi.example.com", "parameters": {"iops": "5"},
    });
    let found = VolumeAttributesClass::decode(Codec::Json, class.to_string().as_bytes()).unwrap();
    assert!(found.meta.lacks_finalizer(VolumeAttributesClass::PROTECTION));
    let body = found.raw.edited(&VolumeAttributesClass::RESOURCE, &[]).unwrap();
    assert_eq!(serde_json::from_str::<Value>(&body).unwrap(), class);
}

/// `IsPodTerminated` and `notRunning` of pkg/volume/util.
#[test]
fn a_pod_is_over_once_nothing_of_it_runs() {
    let running = json!({"state": {"running": {"startedAt": null}}});
    let waiting = json!({"state": {"waiting": {}}});
    let ended = json!({"state": {"terminated": {"exitCode": 0}}});
    let silent = json!({"state": {}});
    let lists = ["containerStatuses", "initContainerStatuses", "ephemeralContainerStatuses"];
    for list in lists {
        for (phase, deleted, statuses, over) in [
            ("Failed", false, json!([running]), true),
            ("Succeeded", false, json!([running]), true),
            ("Running", false, json!([ended]), false),
            ("Running", true, json!([ended]), true),
            ("Running", true, json!([ended, waiting]), true),
            ("Running", true, json!([ended, running]), false),
            ("Running", true, json!([silent]), false),
            ("Pending", true, json!([]), true),
            ("Pending", true, Value::Null, true),
        ] {
            let deleted = deleted.then_some(NOON);
            let json = json!({"metadata": {"deletionTimestamp": deleted},
                "status": {"phase": phase, list: statuses}});
            let pod = Pod::decode(Codec::Json, json.to_string().as_bytes()).unwrap();
            assert_eq!(pod.is_over(), over, "{json}");
        }
    }
}

#[test]
fn a_claim_is_read_and_kept() {
    let claim = json!({
        "apiVersion": "v1", "kind": "PersistentVolumeClaim",
        "metadata": {"name": "data", "namespace": "shop", "uid": "c1", "resourceVersion": "9",
            "finalizers": ["kubernetes.io/pvc-protection"], "deletionTimestamp": NOON},
        "spec": {"accessModes": ["ReadWriteOnce"], "fieldOfTomorrow": 1},
        "status": {"phase": "Bound", "conditions": [
            {"type": "Resizing", "status": "True"}, {"type": "Unused", "status": "False"}]},
    });
    let read = |json: &Value| {
        PersistentVolumeClaim::decode(Codec::Json, json.to_string().as_bytes()).unwrap()
    };
    let held = |claim: &PersistentVolumeClaim| -> Option<Text> {
        PersistentVolumeClaim::INDEXES[0].of(claim).as_slice().first().cloned()
    };
    let found = read(&claim);
    assert_eq!(found.meta.key, Key::new("shop", "data"));
    assert_eq!((found.unused, found.is_held()), (Some(Status::False), true));
    assert_eq!(held(&found).as_deref(), Some("shop"));
    let body = found.raw.edited(&PersistentVolumeClaim::RESOURCE, &[]).unwrap();
    assert_eq!(serde_json::from_str::<Value>(&body).unwrap(), claim);
    for (metadata, protected) in [
        (json!({"finalizers": ["kubernetes.io/pvc-protection"]}), true),
        (json!({"finalizers": ["example.com/hold"], "deletionTimestamp": NOON}), false),
        (json!({"finalizers": null}), false),
    ] {
        let found = read(&json!({ "metadata": metadata }));
        assert_eq!((found.is_protected(), found.is_held(), held(&found)), (protected, false, None));
        assert_eq!(found.unused, None);
    }
    let error = DecodeError("no".to_owned());
    let unreadable = PersistentVolumeClaim::unreadable(found.meta, &error);
    assert_eq!(unreadable.unreadable, Some(error));
}
