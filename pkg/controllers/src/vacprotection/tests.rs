//! Tables, mirroring upstream's
//! `pkg/controller/volume/vacprotection/vac_protection_controller_test.go`.

use std::sync::Arc;

use api::{DecodeError, Kind, Object as _};
use controller::Controller as _;
use controller::fixture::{Fixture, NOW, decode, enqueued, with};
use serde_json::{Value, json};

use super::*;

const ADDED: &str = "why: it lacks the finalizer
in order: update volumeattributesclasses.storage.k8s.io vac1 \
                     metadata.finalizers=[\"kubernetes.io/vac-protection\"]\n";
const RELEASED: &str = "why: nothing refers to it
in order: update volumeattributesclasses.storage.k8s.io vac1 metadata.finalizers=null\n";

fn class() -> Value {
    json!({"metadata": {"name": "vac1", "uid": "uid-vac1", "resourceVersion": "1"}})
}

fn protected() -> Value {
    with(class(), json!({"metadata": {"finalizers": [VolumeAttributesClass::PROTECTION]}}))
}

/// As upstream's `vac1TerminatingWithFinalizer`.
fn held() -> Value {
    with(protected(), json!({"metadata": {"deletionTimestamp": NOW}}))
}

fn volume(name: &str, class: &str) -> Value {
    json!({"metadata": {"name": name, "uid": name}, "spec": {"volumeAttributesClassName": class}})
}

/// A claim that asks for a class, has one, and is about to get one.
fn claim(name: &str, [asked, current, target]: [&str; 3]) -> Value {
    json!({
        "metadata": {"name": name, "namespace": "shop", "uid": name},
        "spec": {"volumeAttributesClassName": asked},
        "status": {"currentVolumeAttributesClassName": current,
            "modifyVolumeStatus": {"targetVolumeAttributesClassName": target}},
    })
}

fn caches(class: Value, volumes: &[Value], claims: &[Value]) -> Fixture {
    let caches = Fixture::default().holding::<VolumeAttributesClass>(&[class]);
    caches.holding::<PersistentVolume>(volumes).holding::<PersistentVolumeClaim>(claims)
}

fn observe(fixture: &Fixture) -> Snapshot {
    Controller.observe(&Key::new("", "vac1"), &fixture.view(), &()).unwrap()
}

fn plan(fixture: &Fixture) -> String {
    Controller.decide(&observe(fixture), &Facts::default()).0.to_string()
}

/// The plan of the class, if a change enqueues it.
fn after<T: Kind>(change: &Change<T>, fixture: &Fixture) -> String {
    match &*enqueued(&Controller, change, fixture) {
        "" => String::new(),
        "now vac1\n" => plan(fixture),
        other => panic!("enqueues {other}"),
    }
}

fn kept(user: &str) -> String {
    format!("why: {user} refers to it\n")
}

/// TestVACProtectionController, "VAC events". That updates are tried again after a failure is the
/// engine's.
#[test]
fn classes_are_protected_and_let_go_as_upstream() {
    let pv = || volume("pv1", "vac1");
    let pvc = || claim("pvc1", ["vac1", "", ""]);
    let ending = with(class(), json!({"metadata": {"deletionTimestamp": NOW}}));
    for (name, class, volumes, claims, expected) in [
        ("VAC without finalizer -> finalizer is added", class(), vec![], vec![], ADDED.to_owned()),
        ("VAC with finalizer -> no action", protected(), vec![], vec![], String::new()),
        ("deleted VAC with finalizer", held(), vec![], vec![], RELEASED.to_owned()),
        ("referenced by a PV", held(), vec![pv()], vec![], kept("volume pv1")),
        ("referenced by a PVC", held(), vec![], vec![pvc()], kept("claim shop/pvc1")),
        // More than upstream's rows.
        ("without finalizer, and used", self::class(), vec![pv()], vec![pvc()], ADDED.to_owned()),
        ("deleted VAC without finalizer", ending, vec![], vec![], String::new()),
        (
            "others are used",
            held(),
            vec![volume("pv1", "vac2")],
            vec![claim("pvc1", ["vac2", "vac10", "vac"])],
            RELEASED.to_owned(),
        ),
    ] {
        let change = Change::Added(decode::<VolumeAttributesClass>(&class));
        assert_eq!(after(&change, &caches(class, &volumes, &claims)), expected, "{name}");
    }
}

/// TestVACProtectionController, "PV events" and "PVC events".
#[test]
fn whoever_no_longer_refers_to_a_class_enqueues_it() {
    let pv = |class| decode::<PersistentVolume>(&volume("pv1", class));
    let pvc = |classes| decode::<PersistentVolumeClaim>(&claim("pvc1", classes));
    let other = || claim("pvc2", ["vac1", "", ""]);
    let vac1 = ["vac1", "", ""];
    let moved = Change::Updated { old: pv("vac1"), new: pv("vac2") };
    assert_eq!(after(&moved, &caches(held(), &[volume("pv1", "vac2")], &[])), RELEASED);
    let gone = Change::Deleted(pv("vac1"));
    assert_eq!(after(&gone, &caches(held(), &[], &[])), RELEASED);
    let volumes = [volume("pv2", "vac1")];
    assert_eq!(after(&gone, &caches(held(), &volumes, &[])), kept("volume pv2"));
    assert_eq!(after(&gone, &caches(held(), &[], &[other()])), kept("claim shop/pvc2"));

    for (name, new, expected) in [
        ("pvc changes vac", ["vac2", "", ""], RELEASED),
        // Then it is not even enqueued.
        ("its status still holds it", ["vac2", "vac1", ""], ""),
        ("its target status still holds it", ["vac2", "", "vac1"], ""),
    ] {
        let moved = Change::Updated { old: pvc(vac1), new: pvc(new) };
        let caches = caches(held(), &[], &[claim("pvc1", new)]);
        assert_eq!(after(&moved, &caches), expected, "{name}");
        assert_eq!(plan(&caches) == RELEASED, expected == RELEASED, "{name}");
    }
    let gone = Change::Deleted(pvc(vac1));
    assert_eq!(after(&gone, &caches(held(), &[], &[other()])), kept("claim shop/pvc2"));
    assert_eq!(after(&gone, &caches(held(), &volumes, &[])), kept("volume pv2"));

    let fixture = caches(held(), &[], &[]);
    let gone = Change::Deleted(pvc(["b", "c", "a"]));
    assert_eq!(enqueued(&Controller, &gone, &fixture), "now a\nnow b\nnow c\n");
    let new = Change::Added(pvc(vac1));
    assert_eq!(enqueued(&Controller, &new, &fixture), "", "that keeps it at most");
    let gone = Change::Deleted(decode::<VolumeAttributesClass>(&held()));
    assert_eq!(enqueued(&Controller, &gone, &fixture), "forget vac1\n");
}

/// What cannot be read may refer to any class, until it can be read or is gone.
#[test]
fn what_cannot_be_read_keeps_all_classes() {
    let pv = volume("pv1", "vac2");
    let fixture = caches(held(), &[], &[]).holding_unreadable::<PersistentVolume>(&pv, "no");
    let expected = "why: volume pv1 cannot be read, and may refer to it\n";
    assert_eq!(plan(&fixture), expected);
    let pvc = claim("pvc1", ["vac2", "", ""]);
    let fixture = caches(held(), &[], &[]).holding_unreadable::<PersistentVolumeClaim>(&pvc, "no");
    let expected = "why: claim shop/pvc1 cannot be read, and may refer to it\n";
    assert_eq!(plan(&fixture), expected);

    let readable = decode::<PersistentVolumeClaim>(&pvc);
    let error = DecodeError("no".to_owned());
    let old = Arc::new(PersistentVolumeClaim::unreadable(readable.meta.clone(), &error));
    let change = Change::Updated { old, new: readable };
    assert_eq!(after(&change, &caches(held(), &[], &[pvc])), RELEASED);
    let stays = caches(protected(), &[], &[]);
    assert_eq!(after(&change, &stays), "", "only those that wait");
}

/// It cannot be written whole.
#[test]
fn a_class_that_cannot_be_read_is_left_alone() {
    let fixture = caches(class(), &[], &[]);
    let fixture = fixture.holding_unreadable::<VolumeAttributesClass>(&held(), "parameters: no");
    assert_eq!(plan(&fixture), "why: the class cannot be read: parameters: no\n");
}

#[test]
fn a_summary_says_what_keeps_a_class() {
    let summary = |fixture: &Fixture| {
        let lines = Controller.summary(&observe(fixture)).into_iter();
        lines.map(|(name, value)| format!("{name}: {value}")).collect::<Vec<_>>()
    };
    let claims = [claim("pvc1", ["vac2", "", "vac1"])];
    let expected = [
        "being deleted: true",
        "finalizers: kubernetes.io/vac-protection",
        "kept by: claim shop/pvc1 refers to it",
    ];
    assert_eq!(summary(&caches(held(), &[], &claims)), expected);
    assert_eq!(
        summary(&caches(class(), &[], &claims)),
        ["being deleted: false", "finalizers: none"]
    );
    let fixture = caches(held(), &[], &[]);
    assert!(Controller.observe(&Key::new("", "gone"), &fixture.view(), &()).is_none());
}
