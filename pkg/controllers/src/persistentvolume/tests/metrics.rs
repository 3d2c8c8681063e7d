//! What is counted. As upstream's `metrics/metrics_test.go`, and the card.

use std::time::Duration;

use api::{Key, PersistentVolume, PersistentVolumeClaim};
use controller::fixture::{decode, remembered};
use controller::{
    Amount, Change, Controller as _, Count, Ended, Enqueue, News, Outcome, Step, When,
};
use serde_json::json;

use super::notation;
use super::world::{Which, World};
use crate::persistentvolume::Started;

/// Name, labels, value.
fn shown(counts: &[Count]) -> Vec<String> {
    let one = |count: &Count| {
        let Amount::Of(value) = count.value else { return format!("{} since", count.family.name) };
        format!("{} {} {value}", count.family.name, count.labels.join(","))
    };
    let mut shown: Vec<_> = counts.iter().map(one).collect();
    shown.sort();
    shown
}

/// `TestPVAndPVCCountCollector`: by class, plugin, mode, namespace.
#[test]
fn gauges_count_what_the_caches_hold() {
    let world = World::new(
        &[
            "a 1Gi Bound of=c class=gold source=nfs",
            "b 1Gi Available source=hostPath",
            "d 1Gi Released source=csi block",
            "f 1Gi Bound of=g class=new beta-class=old source=nfs",
        ],
        &["c u 1Gi Bound class=gold", "e u 1Gi Pending vac=silver"],
    );
    let fixture = world.fixture();
    let view = fixture.view();
    let volumes = world.volumes.gauges(&view, &world.volume_memory.read());
    assert_eq!(
        shown(&volumes),
        [
            "pv_collector_bound_pv_count gold 1",
            "pv_collector_bound_pv_count new 1",
            "pv_collector_total_pv_count N/A,Block 1",
            "pv_collector_total_pv_count kubernetes.io/host-path,Filesystem 1",
            "pv_collector_total_pv_count kubernetes.io/nfs,Filesystem 1",
            "pv_collector_total_pv_count kubernetes.io/nfs,Filesystem 1",
            "pv_collector_unbound_pv_count  1",
            "pv_collector_unbound_pv_count  1",
        ]
    );
    let claims = world.claims.gauges(&view, &world.claim_memory.read());
    assert_eq!(
        shown(&claims),
        [
            "pv_collector_bound_pvc_count default,gold, 1",
            "pv_collector_unbound_pvc_count default,,silver 1",
        ]
    );
}

/// From the first request to a provisioner to the bound claim.
#[test]
fn provisioning_is_timed() {
    let mut world = World::new(&[], &["c u 1Gi Pending class=external"]);
    world.class("external", "vendor.com/my-volume", &json!({}));
    world.run(Which::Claim, "c");
    let key = Key::new("default", "c");
    let started = Started { plugin: "vendor.com/my-volume".into(), at: world.now };
    assert_eq!(world.claim_memory.read().started.get(&key), Some(&started));
    let made = "pvc-u 1Gi Bound of=c uid=u class=external source=csi";
    world.hold::<PersistentVolume>(notation::volume(made));
    world.run(Which::Claim, "c");
    let plan = world.plan(Which::Claim, "c");
    assert!(plan.is_rest(), "bound: {plan}");
    assert_eq!(world.claim_memory.read().started.get(&key), None, "it has ended");
    // The count itself is on the last write.
    let mut memory = crate::persistentvolume::Memory::default();
    memory.started.insert(key.clone(), started);
    let claim = "c u 1Gi Pending volume=pvc-u class=external completed";
    world.hold::<PersistentVolumeClaim>(notation::claim(claim));
    let fixture = world.fixture();
    let snapshot = world.claims.observe(&key, &fixture.view(), &memory).unwrap();
    let (plan, _) = world.claims.decide(&snapshot, &controller::Facts::default());
    let [Step::InOrder(actions)] = plan.steps.as_slice() else { panic!("{plan}") };
    let counts = &actions[0].write().unwrap().counts;
    assert_eq!(
        shown(counts),
        [
            "volume_operation_errors_total vendor.com/my-volume,provision 1",
            "volume_operation_total_errors vendor.com/my-volume,provision 1",
            "volume_operation_total_seconds since",
        ]
    );
    assert_eq!(counts.iter().filter(|count| count.when == When::Failed).count(), 2);
}

/// Each try to have a volume made by the plugin that is not built in fails, the first one, too.
#[test]
fn failed_provisioning_is_counted() {
    let mut world = World::new(&[], &["c u 1Gi Pending class=folders"]);
    world.class("folders", "kubernetes.io/host-path", &json!({}));
    world.run(Which::Claim, "c");
    let key = Key::new("default", "c");
    let fixture = world.fixture();
    let memory = world.claim_memory.read();
    let snapshot = world.claims.observe(&key, &fixture.view(), &memory).unwrap();
    let (_, verdict) = world.claims.decide(&snapshot, &controller::Facts::default());
    let ended = Ended { took: Duration::ZERO, unsettled: false, error: None, code: None };
    let counts = world.claims.counts(Some(&snapshot), Some(&verdict), &ended);
    assert_eq!(
        shown(&counts),
        [
            "volume_operation_errors_total kubernetes.io/host-path,provision 1",
            "volume_operation_total_errors kubernetes.io/host-path,provision 1",
        ]
    );
}

/// A claim that is deleted first ends it without a count.
#[test]
fn an_operation_of_a_deleted_claim_is_forgotten() {
    let mut world = World::new(&[], &["c u 1Gi Pending class=external"]);
    world.class("external", "vendor.com/my-volume", &json!({}));
    world.run(Which::Claim, "c");
    world.delete::<PersistentVolumeClaim>(&Key::new("default", "c"));
    assert!(world.claim_memory.read().started.is_empty());
}

/// From the end of the claim to the end of the volume, which the external provisioner deletes.
#[test]
fn deletion_is_timed() {
    let line = "v 1Gi Bound of=c uid=u class=external policy=Delete source=csi";
    let mut world = World::new(&[line], &[]);
    world.class("external", "vendor.com/my-volume", &json!({}));
    world.run(Which::Volume, "v");
    let plugin = world.volume_memory.read().deleting.get("v").map(|it| it.plugin.clone());
    assert_eq!(plugin.as_deref(), Some("vendor.com/my-volume"));
    let volume = decode::<PersistentVolume>(&notation::volume(line));
    let change = Change::Deleted(volume);
    let queue = remembered(&world.volumes, &world.volume_memory, &change, &world.fixture());
    assert_eq!(shown(&queue.counts), ["volume_operation_total_seconds since"]);
    let again = remembered(&world.volumes, &world.volume_memory, &change, &world.fixture());
    assert_eq!(again.counts, [], "once");
}

/// `retroactive_storageclass_*`: each assignment, and each that failed.
#[test]
fn assignments_are_counted() {
    let mut world = World::new(&[], &["c u 1Gi Pending"]);
    let annotations = json!({"storageclass.kubernetes.io/is-default-class": "true"});
    world.class("gold", "vendor.com/a", &json!({"metadata": {"annotations": annotations}}));
    let key = Key::new("default", "c");
    let fixture = world.fixture();
    let memory = world.claim_memory.read();
    let snapshot = world.claims.observe(&key, &fixture.view(), &memory).unwrap();
    let (plan, _) = world.claims.decide(&snapshot, &controller::Facts::default());
    let [Step::InOrder(actions)] = plan.steps.as_slice() else { panic!("{plan}") };
    let counts = &actions[0].write().unwrap().counts;
    let counted: Vec<_> = counts.iter().map(|it| (it.family.name, it.when)).collect();
    assert_eq!(
        counted,
        [
            ("retroactive_storageclass_total", When::Always),
            ("retroactive_storageclass_errors_total", When::Failed),
        ]
    );
}

/// A volume counts as taken unless its own write failed.
#[test]
fn a_volume_is_taken_once_it_is_written() {
    for (step, is_taken) in [(None, true), (Some(0), false), (Some(1), true)] {
        let world = World::new(&["v 1Gi Available"], &["c u 1Gi Pending"]);
        let key = Key::new("default", "c");
        let fixture = world.fixture();
        let mut memory = crate::persistentvolume::Memory::default();
        let snapshot = world.claims.observe(&key, &fixture.view(), &memory).unwrap();
        let (_, verdict) = world.claims.decide(&snapshot, &controller::Facts::default());
        let error = step.map(|_| "Conflict".to_owned());
        let outcome = Outcome { step, error, ..Outcome::default() };
        let news = News::Acted { snapshot: &snapshot, verdict: &verdict, outcome: &outcome };
        world.claims.remember(&mut memory, news, &mut Enqueue::default());
        assert_eq!(memory.taken.contains_key("v"), is_taken, "{step:?}");
    }
}
