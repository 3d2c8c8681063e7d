//! What must never happen to data, whatever the caches show.

use api::{Key, PersistentVolumeClaim, Pod};
use controller::{Controller as _, Facts, Query, Step};
use serde_json::json;

use super::notation;
use super::world::{Which, World};
use Which::{Claim, Volume};

/// 4-11: the cache lacks the claim, and a live read finds it.
#[test]
fn a_claim_that_the_cache_lacks_is_read() {
    for phase in ["Available", "Bound"] {
        let line = format!("v 1Gi {phase} of=c uid=u policy=Delete");
        let mut world = World::new(&[&line], &[]);
        world.hide::<PersistentVolumeClaim>(notation::claim("c u 1Gi Bound volume=v completed"));
        world.run(Volume, "v");
        assert_eq!(world.shown_volumes(), ["v 1Gi Bound of=c uid=u policy=Delete"]);
    }
}

/// 4-12: the cache has an older claim of the same name.
#[test]
fn a_newer_claim_of_the_same_name_is_read() {
    let line = "v 1Gi Available of=c uid=new policy=Delete";
    let mut world = World::new(&[line], &["c old 1Gi Bound volume=v completed"]);
    world.hide::<PersistentVolumeClaim>(notation::claim("c new 1Gi Bound volume=v completed"));
    world.run(Volume, "v");
    assert_eq!(world.shown_volumes(), ["v 1Gi Bound of=c uid=new policy=Delete"]);
}

/// A released volume, too, is not reclaimed without a live read: its claim may be back from a
/// backup.
#[test]
fn nothing_is_reclaimed_unread() {
    for (phase, policy) in [
        ("Bound", "Retain"),
        ("Bound", "Delete"),
        ("Available", "Recycle"),
        ("Released", "Recycle"),
        ("Released", "Delete"),
        ("Failed", "Recycle"),
        ("Released", "Unknown"),
    ] {
        let line = format!("v 1Gi {phase} of=c uid=u policy={policy} source=hostPath");
        let world = World::new(&[&line], &[]);
        let fixture = world.fixture();
        let memory = world.volume_memory.read();
        let snapshot = world.volumes.observe(&Key::new("", "v"), &fixture.view(), &memory).unwrap();
        let (plan, _) = world.volumes.decide(&snapshot, &Facts::default());
        let query = Query::view::<PersistentVolumeClaim>(Key::new("default", "c"));
        let [Step::Fetch(queries)] = plan.steps.as_slice() else { panic!("{line}: {plan}") };
        assert_eq!(*queries, [query], "{line}");
    }
}

/// If the claim cannot be read, nothing is done.
#[test]
fn an_unread_claim_is_not_absent() {
    let world = World::new(&["v 1Gi Bound of=c uid=u policy=Recycle source=nfs"], &[]);
    let fixture = world.fixture();
    let memory = world.volume_memory.read();
    let snapshot = world.volumes.observe(&Key::new("", "v"), &fixture.view(), &memory).unwrap();
    let query = Query::view::<PersistentVolumeClaim>(Key::new("default", "c"));
    let refused =
        controller::Refused { code: Some(500), text: "etcd is gone".to_owned(), bare: false };
    let facts = Facts::from([(query, controller::Answer::Failed(refused))]);
    let (plan, _) = world.volumes.decide(&snapshot, &facts);
    assert_eq!(plan.to_string(), "why: claim default/c cannot be read\nerror: etcd is gone\n");
}

/// A pod of an earlier process, or of an earlier claim, proves nothing: what was written since is
/// still there.
#[test]
fn an_old_recycler_pod_proves_nothing() {
    let line = "v 1Gi Released of=c uid=u policy=Recycle source=nfs";
    let mut world = World::new(&[line], &[]);
    world.hold::<Pod>(json!({
        "metadata": {"name": "recycler-for-v", "namespace": "default", "uid": "old",
            "resourceVersion": "1"},
        "status": {"phase": "Succeeded"},
    }));
    world.run(Volume, "v");
    let message = "Recycle failed: old recycler pod found, will retry later";
    assert_eq!(world.events, [("Warning VolumeFailedRecycle".to_owned(), message.to_owned())]);
    assert!(world.shown_volumes()[0].starts_with("v 1Gi Failed of=c uid=u"), "not free");
}

/// The same, if meanwhile another claim had the volume.
#[test]
fn a_recycling_counts_only_for_its_claim() {
    let mut world = World::new(&["v 1Gi Bound of=c uid=u policy=Recycle source=nfs"], &[]);
    world.run(Volume, "v");
    let volume = Key::new("", "v");
    let other = json!({"spec": {"claimRef": {"uid": "other"}}});
    world.change::<api::PersistentVolume>(&volume, other);
    let pod = Key::new("default", "recycler-for-v");
    if world.objects.contains_key(&("pods".to_owned(), pod.clone())) {
        world.change::<Pod>(&pod, json!({"status": {"phase": "Succeeded"}}));
    }
    assert!(!world.shown_volumes()[0].contains("Available"), "{:?}", world.shown_volumes());
}

/// Two claims at once: the second does not take what the first just got, although the cache still
/// shows it as free.
#[test]
fn a_volume_that_was_just_taken_is_not_taken_again() {
    let mut world = World::new(&["v1 1Gi Available", "v2 2Gi Available"], &["a ua 1Gi Pending"]);
    let before = world.objects.clone();
    world.run(Claim, "a");
    // The cache as it was before.
    world.objects = before;
    world.hold::<PersistentVolumeClaim>(notation::claim("b ub 1Gi Pending"));
    let key = Key::new("default", "b");
    let fixture = world.fixture();
    let mut memory = crate::persistentvolume::Memory::default();
    memory.taken.insert("v1".into(), 1);
    let snapshot = world.claims.observe(&key, &fixture.view(), &memory).unwrap();
    let (plan, _) = world.claims.decide(&snapshot, &Facts::default());
    assert!(plan.why.ends_with("volume v2"), "{plan}");
    memory.taken.insert("v1".into(), 0);
    let snapshot = world.claims.observe(&key, &fixture.view(), &memory).unwrap();
    let (plan, _) = world.claims.decide(&snapshot, &Facts::default());
    assert!(plan.why.ends_with("volume v1"), "a newer version is free again: {plan}");
}

/// What cannot be read is left alone.
#[test]
fn what_cannot_be_read_is_left_alone() {
    let world = World::new(&["v 1Gi Bound of=c uid=u"], &["c u 1Gi Bound volume=v completed"]);
    let (volume, claim) =
        (notation::volume("v 1Gi Bound of=c uid=u"), notation::claim("c u 1Gi Bound"));
    let fixture = world.fixture();
    let fixture = fixture.holding_unreadable::<api::PersistentVolume>(&volume, "spec: no");
    let key = Key::new("default", "c");
    let snapshot = world.claims.observe(&key, &fixture.view(), &world.claim_memory.read()).unwrap();
    let (plan, _) = world.claims.decide(&snapshot, &Facts::default());
    assert_eq!(plan.to_string(), "why: volume v cannot be read: spec: no\n");
    let key = Key::new("", "v");
    let observed = world.volumes.observe(&key, &fixture.view(), &world.volume_memory.read());
    let (plan, _) = world.volumes.decide(&observed.unwrap(), &Facts::default());
    assert_eq!(plan.to_string(), "why: the volume cannot be read: spec: no\n");
    let fixture = world.fixture();
    let fixture = fixture.holding_unreadable::<PersistentVolumeClaim>(&claim, "spec: no");
    let observed = world.volumes.observe(&key, &fixture.view(), &world.volume_memory.read());
    let (plan, _) = world.volumes.decide(&observed.unwrap(), &Facts::default());
    assert_eq!(plan.to_string(), "why: its claim default/c cannot be read: spec: no\n");
}
