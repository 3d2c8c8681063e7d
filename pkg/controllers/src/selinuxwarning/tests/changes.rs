//! The handlers of `selinux_warning_controller.go`.

use std::sync::Arc;

use api::{DecodeError, Object as _};
use controller::Change;
use controller::fixture::{decode, enqueued};

use super::*;

fn heard<T: api::Kind>(caches: &Fixture, change: &Change<T>) -> String {
    enqueued(&Controller, change, caches)
}

fn added<T: api::Kind>(object: &Value) -> Change<T> {
    Change::Added(decode(object))
}

fn updated<T: api::Kind>(old: &Value, new: &Value) -> Change<T> {
    Change::Updated { old: decode(old), new: decode(new) }
}

/// `enqueuePod` and `updatePod`.
#[test]
fn pods_that_come_and_end_are_enqueued() {
    let none = caches(&[]);
    let web = with_claim(pod("web", "s0", None), "pvc1");
    let plain = pod("plain", "s0", None);
    let over = ended(web.clone(), "Failed");
    assert_eq!(heard(&none, &added::<Pod>(&web)), "now ns1/web\n");
    assert_eq!(heard(&none, &added::<Pod>(&plain)), "", "it mounts nothing that counts");
    assert_eq!(heard(&none, &updated::<Pod>(&ended(web.clone(), "Pending"), &web)), "");
    assert_eq!(heard(&none, &updated::<Pod>(&web, &over)), "now ns1/web\n");
    assert_eq!(heard(&none, &updated::<Pod>(&over, &over)), "");
    let gone = |pod| Change::Deleted(decode::<Pod>(pod));
    assert_eq!(heard(&none, &gone(&web)), "forget ns1/web\n");
    assert_eq!(heard(&none, &gone(&plain)), "");
    let new = decode::<Pod>(&plain);
    let unread = Arc::new(Pod::unreadable(new.meta.clone(), &DecodeError("no".to_owned())));
    let read = Change::Updated { old: Arc::clone(&unread), new };
    assert_eq!(heard(&none, &read), "now ns1/plain\n");
    assert_eq!(heard(&none, &Change::Deleted(unread)), "forget ns1/plain\n");
}

/// `addPVC` and `updatePVC`.
#[test]
fn claims_that_become_bound_enqueue_their_pods() {
    let caches = caches(&[
        with_claim(pod("web", "s0", None), "pvc1"),
        with_claim(pod("other", "s0", None), "pvc2"),
    ]);
    let bound = claim("pvc1", "pv1");
    let unbound = with(bound.clone(), json!({"spec": {"volumeName": null}, "status": null}));
    let named = with(bound.clone(), json!({"status": {"phase": "Pending"}}));
    for (name, change, expected) in [
        ("new", added(&bound), "now ns1/web\n"),
        ("new, not bound", added(&unbound), ""),
        ("just bound", updated(&unbound, &bound), "now ns1/web\n"),
        ("bound later", updated(&named, &bound), "now ns1/web\n"),
        ("the same", updated(&bound, &bound), ""),
        ("gone", Change::Deleted(decode(&bound)), ""),
    ] {
        assert_eq!(heard::<PersistentVolumeClaim>(&caches, &change), expected, "{name}");
    }
}

/// `addPV` and `updatePV`.
#[test]
fn volumes_that_become_bound_enqueue_the_pods_of_their_claims() {
    let caches = caches(&[with_claim(pod("web", "s0", None), "pvc1")]);
    let bound = volume("pv1", "pvc1");
    let free = with(bound.clone(), json!({"spec": {"claimRef": null}}));
    let kept = with(bound.clone(), json!({"spec": {"claimRef": {"uid": null}}}));
    let moved = with(bound.clone(), json!({"spec": {"claimRef": {"uid": "other"}}}));
    for (name, change, expected) in [
        ("new", added(&bound), "now ns1/web\n"),
        ("new, not bound", added(&free), ""),
        ("new, kept for a claim", added(&kept), ""),
        ("just bound", updated(&free, &bound), "now ns1/web\n"),
        ("bound to the claim it is kept for", updated(&kept, &bound), "now ns1/web\n"),
        ("bound to another claim of that name", updated(&bound, &moved), "now ns1/web\n"),
        ("the same", updated(&bound, &bound), ""),
        ("let go", updated(&bound, &free), ""),
        ("gone", Change::Deleted(decode(&bound)), ""),
    ] {
        assert_eq!(heard::<PersistentVolume>(&caches, &change), expected, "{name}");
    }
}

/// `addCSIDriver`, `updateCSIDriver` and `deleteCSIDriver`; TestVolumeCache_GetPodsForCSIDriver.
#[test]
fn drivers_enqueue_the_pods_of_their_volumes() {
    let foreign = with(
        volume("pv2", "pvc2"),
        json!({"spec": {"awsElasticBlockStore": null,
        "csi": {"driver": "other.example", "volumeHandle": "h"}}}),
    );
    let pods = [
        with_claim(pod("web", "s0", None), "pvc1"),
        with_claim(pod("other", "s0", None), "pvc2"),
        with_inline(pod("inline", "s0", None)),
    ];
    let caches = caches(&pods).holding::<PersistentVolume>(&[volume("pv1", "pvc1"), foreign]);
    let all = "now ns1/web\nnow ns1/inline\n";
    let (yes, no) = (driver(true), driver(false));
    let unset = with(no.clone(), json!({"spec": {"seLinuxMount": null}}));
    let gone = |driver| Change::Deleted(decode(driver));
    for (name, change, expected) in [
        ("new", added(&yes), all),
        ("new, without support, as if there were none", added(&no), ""),
        ("supports it now", updated(&no, &yes), all),
        ("supports it now, and said nothing", updated(&unset, &yes), all),
        ("supports it no more", updated(&yes, &no), all),
        ("the same", updated(&no, &unset), ""),
        ("gone", gone(&yes), all),
        ("gone, without support", gone(&no), ""),
    ] {
        assert_eq!(heard::<CsiDriver>(&caches, &change), expected, "{name}");
    }
    let other = with(yes, json!({"metadata": {"name": "other.example"}}));
    assert_eq!(heard::<CsiDriver>(&caches, &added(&other)), "now ns1/other\n");
    let unknown = with(other, json!({"metadata": {"name": "unknown.example"}}));
    assert_eq!(heard::<CsiDriver>(&caches, &added(&unknown)), "");
}
