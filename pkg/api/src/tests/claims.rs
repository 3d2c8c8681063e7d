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
    assert!(size_of::<Pod>() <= 280, "{}", size_of::<Pod>());
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
