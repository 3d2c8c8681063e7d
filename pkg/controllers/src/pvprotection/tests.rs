//! Tables, mirroring upstream's
//! `pkg/controller/volume/pvprotection/pv_protection_controller_test.go`, and
//! `pkg/controller/util/protectionutil`.

use std::sync::Arc;

use controller::Controller as _;
use controller::fixture::{Fixture, NOW, decode, enqueued, with};
use serde_json::{Value, json};

use super::*;

const PROTECTED: &str = "why: it is protected\n";
const ADDED: &str = "why: it lacks the finalizer
in order: update persistentvolumes pv metadata.finalizers=[\"kubernetes.io/pv-protection\"]\n";
const RELEASED: &str = "why: it is not bound
in order: update persistentvolumes pv metadata.finalizers=null\n";

/// As upstream's `pv`.
fn volume() -> Value {
    json!({"metadata": {"name": "pv", "uid": "uid-pv", "resourceVersion": "1"}})
}

/// As upstream's `boundPV`, and its claim.
fn bound() -> Value {
    let claim = json!({"namespace": "shop", "name": "data"});
    with(volume(), json!({"spec": {"claimRef": claim}, "status": {"phase": "Bound"}}))
}

/// As upstream's `withProtectionFinalizer`.
fn protected(volume: Value) -> Value {
    with(volume, json!({"metadata": {"finalizers": [PersistentVolume::PROTECTION]}}))
}

fn deleted(volume: Value) -> Value {
    with(volume, json!({"metadata": {"deletionTimestamp": NOW}}))
}

fn snapshot(fixture: &Fixture) -> Snapshot {
    Controller.observe(&Key::new("", "pv"), &fixture.view(), &()).unwrap()
}

fn plan(volume: &Value) -> String {
    let fixture = Fixture::default().holding::<PersistentVolume>(std::slice::from_ref(volume));
    Controller.decide(&snapshot(&fixture), &Facts::default()).0.to_string()
}

/// TestPVProtectionController. That updates are tried again after a failure is the engine's.
#[test]
fn volumes_are_protected_and_let_go_as_upstream() {
    let kept = "why: claim shop/data is bound to it\n";
    let phase = |phase: &str| with(bound(), json!({"status": {"phase": phase}}));
    for (name, volume, enqueues, expected) in [
        ("PV without finalizer -> finalizer is added", volume(), true, ADDED),
        ("PVC with finalizer -> no action", protected(volume()), false, PROTECTED),
        ("deleted PV with finalizer", deleted(protected(volume())), true, RELEASED),
        ("deleted PVC with finalizer + PV is bound", deleted(protected(bound())), true, kept),
        // More than upstream's rows.
        (
            "bound, without a claim",
            { deleted(protected(with(volume(), json!({"status": {"phase": "Bound"}})))) },
            true,
            "why: its phase is Bound\n",
        ),
        ("released", deleted(protected(phase("Released"))), true, RELEASED),
        ("no phase yet, with a claim", deleted(protected(phase(""))), true, RELEASED),
        ("bound, not deleted, without finalizer", bound(), true, ADDED),
        (
            "deleted without finalizer",
            deleted(volume()),
            false,
            "why: it is being deleted, and waits for no claim\n",
        ),
    ] {
        assert_eq!(plan(&volume), expected, "{name}");
        let change = Change::Added(decode::<PersistentVolume>(&volume));
        let queued = enqueued(&Controller, &change, &Fixture::default());
        assert_eq!(queued, if enqueues { "now pv\n" } else { "" }, "{name}");
    }
}

/// `IsDeletionCandidate` and `NeedToAddFinalizer`, the rows of both tests.
#[test]
fn other_finalizers_are_left_alone() {
    let two = json!({"metadata": {"finalizers": ["a/b", "kubernetes.io/pv-protection", "c/d"]}});
    let text = plan(&deleted(with(volume(), two)));
    assert!(text.ends_with("metadata.finalizers=[\"a/b\",\"c/d\"]\n"), "{text}");
    let one = json!({"metadata": {"finalizers": ["a/b"]}});
    let text = plan(&with(volume(), one));
    let expected = "metadata.finalizers=[\"a/b\",\"kubernetes.io/pv-protection\"]\n";
    assert!(text.ends_with(expected), "{text}");
}

/// `pvAddedUpdated`: the status may be what lets it go, so each update is looked at.
#[test]
fn changes_enqueue_what_is_to_be_written() {
    let read = decode::<PersistentVolume>;
    let (old, new) = (read(&deleted(protected(bound()))), read(&deleted(protected(volume()))));
    let change = Change::Updated { old, new: Arc::clone(&new) };
    assert_eq!(enqueued(&Controller, &change, &Fixture::default()), "now pv\n");
    let gone = Change::Deleted(new);
    assert_eq!(enqueued(&Controller, &gone, &Fixture::default()), "forget pv\n");
}

/// What cannot be read may be bound, and cannot be written whole.
#[test]
fn a_volume_that_cannot_be_read_is_left_alone() {
    let volume = deleted(protected(volume()));
    let fixture = Fixture::default().holding_unreadable::<PersistentVolume>(&volume, "spec: no");
    let (plan, ()) = Controller.decide(&snapshot(&fixture), &Facts::default());
    assert_eq!(plan.to_string(), "why: the volume cannot be read: spec: no\n");
}

#[test]
fn a_summary_says_what_keeps_a_volume() {
    let fixture = Fixture::default().holding::<PersistentVolume>(&[deleted(protected(bound()))]);
    let lines = Controller.summary(&snapshot(&fixture)).into_iter();
    let lines: Vec<_> = lines.map(|(name, value)| format!("{name}: {value}")).collect();
    let expected = [
        "being deleted: true",
        "finalizers: kubernetes.io/pv-protection",
        "bound: true",
        "claim: shop/data",
    ];
    assert_eq!(lines, expected);
    assert!(Controller.observe(&Key::new("", "gone"), &fixture.view(), &()).is_none());
}
