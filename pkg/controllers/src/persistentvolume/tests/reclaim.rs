//! Upstream's `delete_test.go`, `recycle_test.go`, and the finalizers and annotations of volumes in
//! its `pv_controller_test.go`.

use api::{Key, PersistentVolume, PersistentVolumeClaim, Pod};
use serde_json::{Value, json};

use super::world::{PERIOD, Which, World};
use Which::Volume;

fn synced(volumes: &[&str], claims: &[&str]) -> World {
    let mut world = World::new(volumes, claims);
    world.class("external", "vendor.com/my-volume", &json!({}));
    world.run(Volume, volumes[0].split(' ').next().unwrap());
    world
}

/// Set 8: what cannot be deleted fails.
#[test]
fn a_volume_that_nobody_can_delete_fails() {
    let of = "of=c uid=u policy=Delete";
    for (name, more, message) in [
        (
            "8-3, 4-10",
            "",
            "error getting deleter volume plugin for volume \"v\": no volume plugin matched",
        ),
        (
            "nfs",
            " source=nfs",
            "error getting deleter volume plugin for volume \"v\": no deletable volume plugin \
             matched",
        ),
        (
            "host path",
            " source=hostPath",
            "host_path deleter only supports /tmp/.+ but received provided /data",
        ),
        (
            "an old plugin",
            " finalizers=kubernetes.io/pv-controller made-by=kubernetes.io/rbd",
            "no volume plugin matched name: kubernetes.io/rbd",
        ),
    ] {
        let (before, after) = more.split_once(" made-by").map_or_else(
            || (more.trim().to_owned(), String::new()),
            |(a, b)| (a.trim().to_owned(), format!(" made-by{b}")),
        );
        let options = [of, &before].join(" ");
        let options = options.trim();
        let world = synced(&[&format!("v 1Gi Bound {options}{after}")], &[]);
        let text = message.replace(' ', "-");
        assert_eq!(
            world.shown_volumes(),
            [format!("v 1Gi Failed {options} message={text}{after}")],
            "{name}"
        );
        let event = ("Warning VolumeFailedDelete".to_owned(), message.to_owned());
        assert_eq!(world.events, [event], "{name}");
    }
}

/// 8-10, 8-12: an external provisioner deletes what it made; here it is only released.
#[test]
fn an_external_provisioner_deletes() {
    let of = "of=c uid=u policy=Delete";
    for options in [
        format!("{of} source=csi by-controller made-by=external.io/test"),
        format!("{of} source=csi by-controller"),
        format!("{of} made-by=kubernetes.io/gce-pd migrated=pd.csi.storage.gke.io"),
        format!("{of} made-by=external.io/test"),
    ] {
        let mut world = synced(&[&format!("v 1Gi Bound {options}")], &[]);
        let released = format!("v 1Gi Released {options}");
        assert_eq!(world.shown_volumes(), [released]);
        assert_eq!(world.shown_events(), [""; 0]);
        world.writes.clear();
        world.run(Volume, "v");
        assert_eq!(world.writes, [""; 0], "not even a read");
    }
    let made = "policy=Delete source=csi made-by=external.io/test";
    let world = synced(
        &[&format!("v1 1Gi Bound of=c uid=u {made}"), &format!("v2 1Gi Bound of=c uid=u {made}")],
        &["c u 1Gi Bound volume=v2 completed"],
    );
    assert_eq!(
        world.shown_volumes(),
        [format!("v1 1Gi Released of=c uid=u {made}"), format!("v2 1Gi Bound of=c uid=u {made}"),]
    );
}

/// Policies: one that keeps the volume, and one that nobody knows (6-10).
#[test]
fn a_policy_says_what_becomes_of_a_volume() {
    let world = synced(&["v 1Gi Bound of=c uid=u"], &[]);
    assert_eq!(world.shown_volumes(), ["v 1Gi Released of=c uid=u"]);
    assert!(world.plan(Volume, "v").why.ends_with("it is retained for a person to reclaim"));
    let mut world = synced(&["v 1Gi Bound of=c uid=u policy=Unknown"], &[]);
    let message = "Volume has unrecognized PersistentVolumeReclaimPolicy";
    let event = ("Warning VolumeUnknownReclaimPolicy".to_owned(), message.to_owned());
    assert_eq!(world.events, [event]);
    world.run(Volume, "v");
    assert_eq!(world.events.len(), 1, "said once");
}

// === Recycling ===

const POD: &str = "recycler-for-v";

fn pod_key() -> Key {
    Key::new("default", POD)
}

fn pod(world: &World) -> Option<&Value> {
    world.objects.get(&("pods".to_owned(), pod_key()))
}

fn end(world: &mut World, status: &Value) {
    world.change::<Pod>(&pod_key(), json!({"status": status}));
}

/// 6-1: the volume is emptied, and free again.
#[test]
fn a_volume_is_emptied_and_free_again() {
    let mut world =
        synced(&["v 3Gi Bound of=c uid=u policy=Recycle source=nfs by-controller"], &[]);
    assert_eq!(
        world.shown_volumes(),
        ["v 3Gi Released of=c uid=u policy=Recycle source=nfs by-controller"]
    );
    let made = pod(&world).expect("a pod").clone();
    let spec = &made["spec"];
    assert_eq!(
        spec["volumes"],
        json!([{"name": "vol", "nfs": {"server": "nfs", "path": "/share"}}])
    );
    assert_eq!(spec["activeDeadlineSeconds"], 300, "at least");
    assert_eq!(
        spec["containers"][0]["image"],
        "registry.k8s.io/build-image/debian-base:bookworm-v1.0.6"
    );
    let claim = "persistentvolumeclaims default/c";
    let reads = [&format!("read {claim}"), "read persistentvolumes v"];
    assert!(reads.iter().all(|read| world.writes.contains(&(*read).to_owned())), "live first");
    end(&mut world, &json!({"phase": "Running"}));
    assert_eq!(world.events, [], "it waits");
    end(&mut world, &json!({"phase": "Succeeded"}));
    assert_eq!(world.shown_volumes(), ["v 3Gi Available policy=Recycle source=nfs"]);
    let event = ("Normal VolumeRecycled".to_owned(), "Volume recycled".to_owned());
    assert_eq!(world.events, [event]);
    assert!(pod(&world).is_none());
}

/// 6-2, 6-9: one that a person kept for a claim stays kept.
#[test]
fn a_kept_volume_stays_kept() {
    let mut world =
        synced(&["v 20Gi Bound of=c uid=u policy=Recycle source=hostPath"], &["c x 40Gi Pending"]);
    let made = pod(&world).expect("a pod");
    assert_eq!(made["spec"]["activeDeadlineSeconds"], 600, "30 seconds for each GiB");
    assert_eq!(made["spec"]["volumes"], json!([{"name": "vol", "hostPath": {"path": "/data"}}]));
    end(&mut world, &json!({"phase": "Succeeded"}));
    assert_eq!(world.shown_volumes(), ["v 20Gi Available of=c policy=Recycle source=hostPath"]);
}

/// 6-3: no plugin.
#[test]
fn a_volume_that_nobody_can_empty_fails() {
    let world = synced(&["v 1Gi Bound of=c uid=u policy=Recycle"], &[]);
    let message = "No recycler plugin found for the volume!";
    let event = ("Warning VolumeFailedRecycle".to_owned(), message.to_owned());
    assert_eq!(world.events, [event]);
    let text = message.replace(' ', "-");
    assert_eq!(
        world.shown_volumes(),
        [format!("v 1Gi Failed of=c uid=u policy=Recycle message={text}")]
    );
}

/// 6-5, 7-1: a recycling that fails is tried again after a period.
#[test]
fn a_failed_recycling_is_tried_again() {
    let mut world = synced(&["v 1Gi Bound of=c uid=u policy=Recycle source=nfs"], &[]);
    end(&mut world, &json!({"phase": "Failed", "message": "disk on fire"}));
    let message = "Recycle failed: failed to recycle volume: disk on fire";
    let event = ("Warning VolumeFailedRecycle".to_owned(), message.to_owned());
    assert_eq!(world.events, [event]);
    assert!(pod(&world).is_none(), "not at once");
    let text = message.replace(' ', "-");
    assert_eq!(
        world.shown_volumes(),
        [format!("v 1Gi Failed of=c uid=u policy=Recycle source=nfs message={text}")]
    );
    assert_eq!(world.plan(Volume, "v").again, Some(PERIOD));
    world.now = world.now + PERIOD;
    world.run(Volume, "v");
    end(&mut world, &json!({"phase": "Succeeded"}));
    assert_eq!(world.shown_volumes(), ["v 1Gi Available of=c policy=Recycle source=nfs"]);
}

/// Upstream's `waitForPod` and `internalRecycleVolumeByWatchingPodUntilCompletion`: the words.
#[test]
fn an_event_says_why_a_recycling_failed() {
    let recycled = "v 1Gi Bound of=c uid=u policy=Recycle source=nfs";
    let mut world = synced(&[recycled], &[]);
    end(&mut world, &json!({"phase": "Failed"}));
    let said = |world: &World| world.events[0].1.clone();
    assert_eq!(
        said(&world),
        "Recycle failed: failed to recycle volume: pod failed, pod.Status.Message unknown"
    );
    let mut world = synced(&[recycled], &[]);
    world.delete::<Pod>(&pod_key());
    assert_eq!(said(&world), "Recycle failed: failed to recycle volume: recycler pod was deleted");
}

/// `internalRecycleVolumeByWatchingPodUntilCompletion`: a pod that cannot be created fails the
/// recycling, and the next one begins after a period.
#[test]
fn a_pod_that_cannot_be_created_fails_the_recycling() {
    let line = "v 1Gi Released of=c uid=u policy=Recycle source=nfs";
    let mut world = World::new(&[line], &[]);
    world.refused = Some(("create pods", "Forbidden", "exceeded quota: few"));
    world.run(Volume, "v");
    // The engine retries the key.
    world.run(Volume, "v");
    let message = "Recycle failed: unexpected error creating recycler pod:  exceeded quota: few";
    assert_eq!(world.events, [("Warning VolumeFailedRecycle".to_owned(), message.to_owned())]);
    let text = message.replace(' ', "-");
    let failed = line.replace("Released", "Failed");
    assert_eq!(world.shown_volumes(), [format!("{failed} message={text}")]);
    assert!(pod(&world).is_none(), "not at once");
    world.now = world.now + PERIOD;
    world.run(Volume, "v");
    assert!(pod(&world).is_some(), "the next try");
}

/// A pod of its name that the cache does not show yet is no such failure: it will be seen, and
/// deleted, as upstream deletes it.
#[test]
fn a_pod_that_is_there_already_is_awaited() {
    let line = "v 1Gi Released of=c uid=u policy=Recycle source=nfs";
    let mut world = World::new(&[line], &[]);
    world.refused = Some(("create pods", "AlreadyExists", "it exists"));
    world.run(Volume, "v");
    assert_eq!(world.events, []);
    world.run(Volume, "v");
    assert!(pod(&world).is_some(), "the world holds none, so the next try makes it");
}

/// `recycleVolumeOperation`: where the empty volume cannot be saved because it has another version,
/// it is emptied again. Its recycling did not fail.
#[test]
fn a_conflict_after_recycling_is_no_failure() {
    let mut world = synced(&["v 1Gi Bound of=c uid=u policy=Recycle source=nfs"], &[]);
    world.refused = Some(("update persistentvolumes", "Conflict", "it has another version"));
    end(&mut world, &json!({"phase": "Succeeded"}));
    assert_eq!(world.refused, None, "the volume was to be saved");
    assert_eq!(world.events, []);
    assert!(pod(&world).is_some(), "it is emptied again");
}

/// 6-11, 6-12, 6-13: pods that use the volume.
#[test]
fn a_volume_that_is_used_is_not_emptied() {
    let user = |phase: &str| {
        json!({
            "metadata": {"name": "user", "namespace": "default", "uid": "p",
                "resourceVersion": "1"},
            "spec": {"volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": "c"}}]},
            "status": {"phase": phase},
        })
    };
    for (phase, is_used) in [("Running", true), ("Pending", true), ("Succeeded", false)] {
        let line = "v 1Gi Bound of=c uid=u policy=Recycle source=nfs by-controller";
        let mut world = World::new(&[line], &[]);
        world.hold::<Pod>(user(phase));
        world.run(Volume, "v");
        assert_eq!(pod(&world).is_none(), is_used, "{phase}");
        if is_used {
            let message = "Volume is used by pods: default/user";
            let event = ("Normal VolumeFailedRecycle".to_owned(), message.to_owned());
            assert_eq!(world.events, [event]);
            assert_eq!(world.plan(Volume, "v").again, Some(PERIOD));
        }
    }
    // 6-14: a pod of another claim of the same name.
    let line = "v 1Gi Bound of=c uid=u policy=Recycle source=nfs by-controller";
    let mut world = World::new(&[line], &["c x 1Gi Bound"]);
    world.hold::<Pod>(user("Running"));
    world.run(Volume, "v");
    assert!(pod(&world).is_some());
}

/// 6-7, 6-8: the volume has another version by now.
#[test]
fn a_volume_that_has_changed_is_not_emptied() {
    let line = "v 1Gi Released of=c uid=u policy=Recycle source=nfs";
    for now in ["v 1Gi Available policy=Recycle source=nfs", ""] {
        let mut world = World::new(&[line], &[]);
        let mut live = super::notation::volume(if now.is_empty() { line } else { now });
        if now.is_empty() {
            live["metadata"]["uid"] = "another".into();
        } else {
            live["metadata"]["resourceVersion"] = "2".into();
        }
        world.hide::<PersistentVolume>(live);
        world.run(Volume, "v");
        assert!(pod(&world).is_none());
        assert_eq!(world.plan(Volume, "v").again, Some(PERIOD));
    }
}

// === Finalizers and annotations ===

/// `TestModifyDeletionFinalizers`.
#[test]
fn finalizers_say_who_deletes() {
    const OURS: &str = "kubernetes.io/pv-controller";
    const EXTERNAL: &str = "external-provisioner.volume.kubernetes.io/finalizer";
    let rbd = "made-by=kubernetes.io/rbd";
    let gce = "made-by=kubernetes.io/gce-pd migrated=pd.csi.storage.gke.io";
    let both = format!("{EXTERNAL},{OURS}");
    for (name, policy, before, made, after) in [
        ("13-1", "Delete", EXTERNAL, "made-by=rbd.csi.ceph.com", EXTERNAL),
        ("13-2", "Delete", "", "made-by=rbd.csi.ceph.com", ""),
        ("13-3", "Delete", "custom", rbd, "custom,kubernetes.io/pv-controller"),
        ("13-4", "Delete", "", rbd, OURS),
        ("13-5", "Delete", EXTERNAL, rbd, OURS),
        ("13-7", "Delete", &*both, gce, EXTERNAL),
        ("13-10", "Delete", EXTERNAL, "", EXTERNAL),
        ("13-11", "Delete", "", "", ""),
        ("13-12", "Retain", "", rbd, ""),
        ("13-13", "Recycle", "", rbd, ""),
        ("13-14", "Retain", OURS, rbd, ""),
    ] {
        let policy = if policy == "Retain" { String::new() } else { format!(" policy={policy}") };
        let of = |list: &str| {
            if list.is_empty() { String::new() } else { format!(" finalizers={list}") }
        };
        let made = if made.is_empty() { String::new() } else { format!(" {made}") };
        let line = |list| format!("v 1Gi Bound of=c uid=u{policy}{}{made}", of(list));
        let world = synced(&[&line(before)], &["c u 1Gi Bound volume=v completed"]);
        assert_eq!(world.shown_volumes(), [line(after)], "{name}");
        assert_eq!(world.writes.len(), usize::from(before != after), "{name}");
    }
    let two = format!("{EXTERNAL},custom");
    let line = |list: &str| format!("v 1Gi Bound of=c uid=u policy=Delete finalizers={list} {rbd}");
    let world = synced(&[&line(&two)], &["c u 1Gi Bound volume=v completed"]);
    assert_eq!(world.shown_volumes(), [line(&format!("custom,{OURS}"))], "13-6, 13-9");
}

/// `TestAnnealMigrationAnnotations`, of volumes.
#[test]
fn a_volume_says_which_driver_does_the_work() {
    let (on, off) = ("made-by=kubernetes.io/gce-pd", "made-by=other/rbd");
    for (before, after) in [
        (on.to_owned(), format!("{on} migrated=pd.csi.storage.gke.io")),
        (off.to_owned(), off.to_owned()),
        (format!("{off} migrated=rbd.csi.ceph.com"), off.to_owned()),
        ("migrated=x".to_owned(), "migrated=x".to_owned()),
    ] {
        let world = synced(&[&format!("v 1Gi Available {before}")], &[]);
        assert_eq!(world.shown_volumes(), [format!("v 1Gi Available {after}")]);
    }
}

/// A claim that is deleted releases its volume, and a volume that is deleted loses its claim.
#[test]
fn each_end_hears_of_the_other() {
    let (volume, claim) = ("v 1Gi Bound of=c uid=u", "c u 1Gi Bound volume=v completed");
    let mut world = World::new(&[volume], &[claim]);
    world.delete::<PersistentVolumeClaim>(&Key::new("default", "c"));
    assert_eq!(world.shown_volumes(), ["v 1Gi Released of=c uid=u"]);
    let mut world = World::new(&[volume], &[claim]);
    world.delete::<PersistentVolume>(&Key::new("", "v"));
    assert_eq!(world.shown_claims(), ["c u 1Gi Lost volume=v completed"]);
}
