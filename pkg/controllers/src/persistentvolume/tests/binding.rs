//! `TestSync`, `TestSyncBlockVolume` and `TestMultiSync` of upstream's `binder_test.go`.

use serde_json::json;

use super::world::{Row, Which, World};
use Which::{Claim, Volume};

/// A volume of another claim.
const OTHER: &str = "v 1Gi Bound of=c2 uid=u2";
/// A device that is bound to a claim for a filesystem.
const MISMATCHED: &str = "v 1Gi Available of=c uid=u block by-controller";

fn prepare(world: &mut World) {
    world.class(
        "wait",
        "kubernetes.io/no-provisioner",
        &json!({
            "volumeBindingMode": "WaitForFirstConsumer",
        }),
    );
}

fn play(rows: &[Row<'_>]) {
    for row in rows {
        row.play(prepare);
    }
}

/// A claim that is synced: volumes and claim before, volumes and claim after, events.
fn claim<'a>(
    name: &'a str,
    (volumes, claims): (&'a [&'a str], &'a [&'a str]),
    (to_volumes, to_claims): (&'a [&'a str], &'a [&'a str]),
    events: &'a [&'a str],
) -> Row<'a> {
    Row { name, which: Claim, volumes, claims, to_volumes, to_claims, events }
}

/// The same of a volume.
fn volume<'a>(
    name: &'a str,
    before: (&'a [&'a str], &'a [&'a str]),
    after: (&'a [&'a str], &'a [&'a str]),
    events: &'a [&'a str],
) -> Row<'a> {
    Row { which: Volume, ..claim(name, before, after, events) }
}

/// Set 1: the claim names no volume.
#[test]
fn a_claim_without_a_volume_gets_the_best() {
    let none = "Normal FailedBinding";
    play(&[
        claim(
            "1-1",
            (&["v 1Gi Available"], &["c u 1Gi Pending"]),
            (
                &["v 1Gi Bound of=c uid=u by-controller"],
                &["c u 1Gi Bound volume=v by-controller completed"],
            ),
            &[],
        ),
        claim(
            "1-2",
            (&["v 1Gi Available"], &["c u 10Gi Pending"]),
            (&["v 1Gi Available"], &["c u 10Gi Pending"]),
            &[none],
        ),
        claim(
            "1-3",
            (&["v 1Gi Available"], &["c u 10Gi Bound"]),
            (&["v 1Gi Available"], &["c u 10Gi Pending"]),
            &[none],
        ),
        claim(
            "1-4",
            (&["v1 10Gi Available", "v2 1Gi Available"], &["c u 1Gi Pending"]),
            (
                &["v1 10Gi Available", "v2 1Gi Bound of=c uid=u by-controller"],
                &["c u 1Gi Bound volume=v2 by-controller completed"],
            ),
            &[],
        ),
        claim(
            "1-5",
            (&["v1 10Gi Available of=c", "v2 1Gi Available"], &["c u 1Gi Pending"]),
            (
                &["v1 10Gi Bound of=c uid=u", "v2 1Gi Available"],
                &["c u 1Gi Bound volume=v1 has=10Gi by-controller completed"],
            ),
            &[],
        ),
        claim(
            "1-6",
            (&["v1 10Gi Available of=c uid=u", "v2 1Gi Available"], &["c u 1Gi Pending"]),
            (
                &["v1 10Gi Bound of=c uid=u", "v2 1Gi Available"],
                &["c u 1Gi Bound volume=v1 has=10Gi by-controller completed"],
            ),
            &[],
        ),
        claim(
            "1-7",
            (&["v 10Gi Available of=c uid=u777"], &["c u 1Gi Pending"]),
            (&["v 10Gi Available of=c uid=u777"], &["c u 1Gi Pending"]),
            &[none],
        ),
    ]);
}

/// Set 1: the labels and phases of volumes count.
#[test]
fn a_claim_without_a_volume_looks_at_labels_and_phases() {
    let none = "Normal FailedBinding";
    play(&[
        claim(
            "1-12",
            (&["v 1Gi Available"], &["c u 1Gi Pending labeled"]),
            (&["v 1Gi Available"], &["c u 1Gi Pending labeled"]),
            &[none],
        ),
        claim(
            "1-11",
            (&["v 1Gi Available labeled"], &["c u 1Gi Pending labeled"]),
            (
                &["v 1Gi Bound of=c uid=u labeled by-controller"],
                &["c u 1Gi Bound volume=v labeled by-controller completed"],
            ),
            &[],
        ),
        claim(
            "1-17",
            (
                &["v1 1Gi Pending", "v2 1Gi Failed", "v3 1Gi Released", "v4 1Gi "],
                &["c u 1Gi Pending"],
            ),
            (
                &["v1 1Gi Pending", "v2 1Gi Failed", "v3 1Gi Released", "v4 1Gi "],
                &["c u 1Gi Pending"],
            ),
            &[none],
        ),
    ]);
}

/// Set 1: the binding was cut short.
#[test]
fn a_binding_is_completed_after_a_crash() {
    let bound = &["c u 1Gi Bound volume=v by-controller completed"];
    let volume = &["v 1Gi Bound of=c uid=u by-controller"];
    for (name, volume_line, claim_line) in [
        ("1-8", "v 1Gi Available of=c uid=u by-controller", "c u 1Gi Pending"),
        ("1-9", "v 1Gi Bound of=c uid=u by-controller", "c u 1Gi Pending"),
        (
            "1-10",
            "v 1Gi Bound of=c uid=u by-controller",
            "c u 1Gi Pending volume=v by-controller completed",
        ),
    ] {
        play(&[claim(name, (&[volume_line], &[claim_line]), (volume, bound), &[])]);
    }
}

/// Set 1: the class says that a consumer comes first.
#[test]
fn a_claim_waits_for_its_consumer() {
    play(&[
        claim(
            "1-13",
            (&["v 1Gi Available class=wait"], &["c u 1Gi Pending class=wait"]),
            (&["v 1Gi Available class=wait"], &["c u 1Gi Pending class=wait"]),
            &["Normal WaitForFirstConsumer"],
        ),
        claim(
            "1-14",
            (&["v 1Gi Available of=c class=wait"], &["c u 1Gi Pending class=wait"]),
            (
                &["v 1Gi Bound of=c uid=u class=wait"],
                &["c u 1Gi Bound volume=v class=wait by-controller completed"],
            ),
            &[],
        ),
        claim(
            "1-18",
            (&["v 1Gi Available of=c uid=u class=wait"], &["c u 1Gi Pending class=wait node=n1"]),
            (
                &["v 1Gi Bound of=c uid=u class=wait"],
                &["c u 1Gi Bound volume=v class=wait by-controller completed node=n1"],
            ),
            &[],
        ),
    ]);
}

/// Set 2 and the rest of set 1: the claim names a volume.
#[test]
fn a_claim_may_name_its_volume() {
    play(&[
        claim(
            "1-15",
            (&["v1 10Gi Available", "v2 1Gi Available"], &["c u 1Gi Pending volume=v1"]),
            (
                &["v1 10Gi Bound of=c uid=u by-controller", "v2 1Gi Available"],
                &["c u 1Gi Bound volume=v1 has=10Gi completed"],
            ),
            &[],
        ),
        claim(
            "1-16",
            (&["v 1Gi Available"], &["c u 1Gi Pending volume=v modes=ReadWriteMany"]),
            (&["v 1Gi Available"], &["c u 1Gi Pending volume=v modes=ReadWriteMany"]),
            &["Warning VolumeMismatch"],
        ),
        claim(
            "2-1",
            (&[], &["c u 1Gi Pending volume=v"]),
            (&[], &["c u 1Gi Pending volume=v"]),
            &[],
        ),
        claim("2-2", (&[], &["c u 1Gi Bound volume=v"]), (&[], &["c u 1Gi Pending volume=v"]), &[]),
        claim(
            "2-3",
            (&["v 1Gi Available"], &["c u 1Gi Pending volume=v"]),
            (&["v 1Gi Bound of=c uid=u by-controller"], &["c u 1Gi Bound volume=v completed"]),
            &[],
        ),
        claim(
            "2-4",
            (&["v 1Gi Available of=c"], &["c u 1Gi Pending volume=v"]),
            (&["v 1Gi Bound of=c uid=u"], &["c u 1Gi Bound volume=v completed"]),
            &[],
        ),
        claim(
            "2-5",
            (&["v 1Gi Available of=c uid=u"], &["c u 1Gi Pending volume=v"]),
            (&["v 1Gi Bound of=c uid=u"], &["c u 1Gi Bound volume=v completed"]),
            &[],
        ),
        claim(
            "2-8",
            (&["v 1Gi Available"], &["c u 1Gi Pending volume=v labeled"]),
            (
                &["v 1Gi Bound of=c uid=u by-controller"],
                &["c u 1Gi Bound volume=v labeled completed"],
            ),
            &[],
        ),
    ]);
}

/// Set 2: the volume that the claim names cannot be its.
#[test]
fn a_claim_may_name_a_volume_that_does_not_fit() {
    let mismatch = &["Warning VolumeMismatch"];
    for (name, volume_line, before, after) in [
        ("2-9", "v 1Gi Available", "c u 2Gi Bound volume=v", "c u 2Gi Pending volume=v"),
        (
            "2-10",
            "v 1Gi Available class=gold",
            "c u 1Gi Bound volume=v",
            "c u 1Gi Pending volume=v",
        ),
        ("2-11", "v 1Gi Available vac=gold", "c u 1Gi Bound volume=v", "c u 1Gi Pending volume=v"),
        (
            "14-5-2",
            "v 1Gi Available class=gold",
            "c u 1Gi Pending volume=v class=silver",
            "c u 1Gi Pending volume=v class=silver",
        ),
        ("14-8", "v 1Gi Available block", "c u 1Gi Pending volume=v", "c u 1Gi Pending volume=v"),
    ] {
        play(&[claim(name, (&[volume_line], &[before]), (&[volume_line], &[after]), mismatch)]);
    }
    let its_claim = "c2 u2 1Gi Bound volume=v completed";
    play(&[claim(
        "2-6",
        (&[OTHER], &["c u 1Gi Bound volume=v", its_claim]),
        (&[OTHER], &["c u 1Gi Pending volume=v", its_claim]),
        &["Warning FailedBinding"],
    )]);
    let row = claim(
        "2-7",
        (&[OTHER], &["c u 1Gi Bound volume=v by-controller"]),
        (&[OTHER], &["c u 1Gi Bound volume=v by-controller"]),
        &["Warning FailedBinding"],
    );
    let error = "invalid binding of claim \"default/c\" to volume \"v\": volume already claimed by \
                 \"default/c2\"";
    assert_eq!(row.play(prepare).errors, [error]);
    play(&[claim(
        "2-12",
        (&["v 1Gi Available vac=gold"], &["c u 1Gi Pending volume=v vac=gold"]),
        (
            &["v 1Gi Bound of=c uid=u vac=gold by-controller"],
            &["c u 1Gi Bound volume=v vac=gold completed"],
        ),
        &[],
    )]);
}

/// Why a volume does not fit, in upstream's words and order.
#[test]
fn an_event_says_why_a_volume_does_not_fit() {
    for (volume, claim, why) in [
        (
            "v 1Gi Available ending",
            "c u 2Gi Pending volume=v",
            "the volume is marked for deletion \"v\"",
        ),
        ("v 1Gi Available class=gold", "c u 2Gi Pending volume=v", "requested PV is too small"),
        (
            "v 1Gi Available class=gold vac=a",
            "c u 1Gi Pending volume=v",
            "storageClassName does not match",
        ),
        (
            "v 1Gi Available vac=a block",
            "c u 1Gi Pending volume=v",
            "volumeAttributesClassName does not match",
        ),
        (
            "v 1Gi Available block",
            "c u 1Gi Pending volume=v modes=ReadWriteMany",
            "incompatible volumeMode",
        ),
        (
            "v 1Gi Available",
            "c u 1Gi Pending volume=v modes=ReadWriteMany",
            "incompatible accessMode",
        ),
    ] {
        let mut world = World::new(&[volume], &[claim]);
        world.run(Claim, "c");
        let message = format!("Cannot bind to requested volume \"v\": {why}");
        assert_eq!(world.events, [("Warning VolumeMismatch".to_owned(), message)]);
    }
}

/// Set 3: the claim was bound before.
#[test]
fn a_bound_claim_is_repaired_or_lost() {
    let lost = "c u 1Gi Lost volume=v by-controller completed";
    let bound = "c u 1Gi Bound volume=v by-controller completed";
    let pending = "c u 1Gi Pending volume=v by-controller completed";
    play(&[
        claim(
            "3-1",
            (&[], &["c u 1Gi Bound by-controller completed"]),
            (&[], &["c u 1Gi Lost by-controller completed"]),
            &["Warning ClaimLost"],
        ),
        claim("3-2", (&[], &[bound]), (&[], &[lost]), &["Warning ClaimLost"]),
        claim(
            "3-3",
            (&["v 1Gi Available"], &[pending]),
            (&["v 1Gi Bound of=c uid=u by-controller"], &[bound]),
            &[],
        ),
        claim(
            "3-4",
            (&["v 1Gi Available of=c uid=x"], &[pending]),
            (&["v 1Gi Released of=c uid=x"], &[lost]),
            &["Warning ClaimMisbound"],
        ),
        claim(
            "3-4, without a uid",
            (&["v 1Gi Available of=c"], &[pending]),
            (&["v 1Gi Available of=c"], &[lost]),
            &["Warning ClaimMisbound"],
        ),
        claim(
            "3-5",
            (&["v 1Gi Available of=c uid=u"], &["c u 1Gi Pending volume=v completed"]),
            // Here the volume's own sync makes it Bound, and then the claim's.
            (&["v 1Gi Available of=c uid=u"], &["c u 1Gi Pending volume=v completed"]),
            &[],
        ),
        volume(
            "3-5, from the volume",
            (&["v 1Gi Available of=c uid=u"], &["c u 1Gi Pending volume=v completed"]),
            (&["v 1Gi Bound of=c uid=u"], &["c u 1Gi Bound volume=v completed"]),
            &[],
        ),
        claim(
            "3-7",
            (&["v 1Gi Available"], &["c u 1Gi Pending volume=v labeled completed"]),
            (
                &["v 1Gi Bound of=c uid=u by-controller"],
                &["c u 1Gi Bound volume=v labeled completed"],
            ),
            &[],
        ),
    ]);
}

/// Set 3: a claim is lost once.
#[test]
fn a_loss_is_said_once() {
    let mut world = World::new(&[], &["c u 1Gi Bound volume=v by-controller completed"]);
    world.run(Claim, "c");
    world.run(Claim, "c");
    assert_eq!(world.events.len(), 1);
    assert_eq!(world.plan(Claim, "c").again, None, "lost for good");
}

/// Set 4: volumes.
#[test]
fn a_volume_follows_its_claim() {
    let of = "v 1Gi Bound of=c uid=u by-controller";
    let other = "x 1Gi Bound of=c uid=u";
    play(&[
        volume("4-1", (&["v 1Gi Pending"], &[]), (&["v 1Gi Available"], &[]), &[]),
        volume("4-2", (&["v 1Gi Pending of=c"], &[]), (&["v 1Gi Available of=c"], &[]), &[]),
        volume(
            "4-3",
            (&["v 1Gi Bound of=c uid=u"], &[]),
            (&["v 1Gi Released of=c uid=u"], &[]),
            &[],
        ),
        volume("4-5", (&[of], &["c u 1Gi Pending"]), (&[of], &["c u 1Gi Pending"]), &[]),
        volume(
            "4-6",
            (&["v 1Gi Available of=c uid=u"], &["c u 1Gi Bound volume=v completed"]),
            (&["v 1Gi Bound of=c uid=u"], &["c u 1Gi Bound volume=v completed"]),
            &[],
        ),
        volume(
            "4-7",
            (&[of, other], &["c u 1Gi Bound volume=x by-controller completed"]),
            (&["v 1Gi Available", other], &["c u 1Gi Bound volume=x by-controller completed"]),
            &[],
        ),
        volume(
            "4-8",
            (&["v 1Gi Bound of=c uid=u", other], &["c u 1Gi Bound volume=x completed"]),
            (&["v 1Gi Available of=c", other], &["c u 1Gi Bound volume=x completed"]),
            &[],
        ),
        volume(
            "4-9",
            (&["v 1Gi Available of=c uid=u policy=Delete"], &["c u 1Gi Bound volume=v completed"]),
            (&["v 1Gi Bound of=c uid=u policy=Delete"], &["c u 1Gi Bound volume=v completed"]),
            &[],
        ),
    ]);
}

/// Set 4: a claim of the same name with another uid is another claim.
#[test]
fn a_volume_of_another_uid_is_released() {
    let row = volume(
        "4-4",
        (&["v 1Gi Bound of=c uid=u"], &["c x 1Gi Pending"]),
        (&["v 1Gi Released of=c uid=u"], &["c x 1Gi Pending"]),
        &["Normal FailedBinding"],
    );
    let world = row.play(prepare);
    assert_eq!(world.writes[0], "read persistentvolumeclaims default/c", "by uid, live");
}

/// Set 13: classes.
#[test]
fn a_volume_has_the_class_of_its_claim() {
    play(&[
        claim(
            "13-1",
            (
                &["v1 1Gi Available", "v2 10Gi Available class=gold"],
                &["c u 1Gi Pending class=gold"],
            ),
            (
                &["v1 1Gi Available", "v2 10Gi Bound of=c uid=u class=gold by-controller"],
                &["c u 1Gi Bound volume=v2 class=gold has=10Gi by-controller completed"],
            ),
            &[],
        ),
        claim(
            "13-2",
            (&["v1 1Gi Available class=gold", "v2 10Gi Available"], &["c u 1Gi Pending"]),
            (
                &["v1 1Gi Available class=gold", "v2 10Gi Bound of=c uid=u by-controller"],
                &["c u 1Gi Bound volume=v2 has=10Gi by-controller completed"],
            ),
            &[],
        ),
        claim(
            "13-3",
            (
                &["v1 1Gi Available class=silver", "v2 10Gi Available class=gold"],
                &["c u 1Gi Pending class=gold"],
            ),
            (
                &[
                    "v1 1Gi Available class=silver",
                    "v2 10Gi Bound of=c uid=u class=gold by-controller",
                ],
                &["c u 1Gi Bound volume=v2 class=gold has=10Gi by-controller completed"],
            ),
            &[],
        ),
        claim(
            "13-4",
            (&["v 1Gi Available class="], &["c u 1Gi Pending class="]),
            (
                &["v 1Gi Bound of=c uid=u class= by-controller"],
                &["c u 1Gi Bound volume=v class= by-controller completed"],
            ),
            &[],
        ),
    ]);
}

/// Set 14: devices and filesystems.
#[test]
fn a_volume_has_the_mode_of_its_claim() {
    let none = &["Normal FailedBinding"];
    let failed = &["Warning ProvisioningFailed"];
    let bound = ["c u 1Gi Bound volume=v block by-controller completed"];
    play(&[
        claim(
            "14-1",
            (&["v 1Gi Available block"], &["c u 1Gi Pending block"]),
            (&["v 1Gi Bound of=c uid=u block by-controller"], &bound),
            &[],
        ),
        claim(
            "14-3",
            (&["v 1Gi Available"], &["c u 1Gi Pending block"]),
            (&["v 1Gi Available"], &["c u 1Gi Pending block"]),
            none,
        ),
        claim(
            "14-4",
            (&["v 1Gi Available block"], &["c u 1Gi Pending"]),
            (&["v 1Gi Available block"], &["c u 1Gi Pending"]),
            none,
        ),
        claim(
            "14-5",
            (&["v 1Gi Available class=gold"], &["c u 1Gi Pending class=gold block"]),
            (&["v 1Gi Available class=gold"], &["c u 1Gi Pending class=gold block"]),
            failed,
        ),
        claim(
            "14-5-1",
            (&["v 1Gi Available class=gold"], &["c u 1Gi Pending class=silver"]),
            (&["v 1Gi Available class=gold"], &["c u 1Gi Pending class=silver"]),
            failed,
        ),
    ]);
}

/// Set 14: the same of volumes that are kept, or named.
#[test]
fn a_kept_volume_has_the_mode_of_its_claim() {
    let none = &["Normal FailedBinding"];
    let bound = ["c u 1Gi Bound volume=v block by-controller completed"];
    play(&[
        claim(
            "14-7, 14-10",
            (&["v 1Gi Available of=c block"], &["c u 1Gi Pending block"]),
            (&["v 1Gi Bound of=c uid=u block"], &bound),
            &[],
        ),
        claim(
            "14-8-1",
            (&["v 1Gi Available of=c block"], &["c u 1Gi Pending"]),
            (&["v 1Gi Available of=c block"], &["c u 1Gi Pending"]),
            none,
        ),
        claim(
            "14-9",
            (&["v 1Gi Available block"], &["c u 1Gi Pending volume=v block"]),
            (
                &["v 1Gi Bound of=c uid=u block by-controller"],
                &["c u 1Gi Bound volume=v block completed"],
            ),
            &[],
        ),
        volume(
            "14-14",
            (&["v 1Gi Available of=c uid=u block by-controller"], &["c u 1Gi Pending block"]),
            (&["v 1Gi Available of=c uid=u block by-controller"], &["c u 1Gi Pending block"]),
            &[],
        ),
    ]);
    let row = volume(
        "14-13",
        (&[MISMATCHED], &["c u 1Gi Pending"]),
        (&[MISMATCHED], &["c u 1Gi Pending"]),
        &["Warning VolumeMismatch"],
    );
    let messages = row.play(prepare).events.into_iter().map(|(_, message)| message);
    let messages: Vec<_> = messages.collect();
    assert_eq!(
        messages,
        [
            "Cannot bind PersistentVolume to requested PersistentVolumeClaim \"c\" due to \
         incompatible volumeMode.",
            "Cannot bind PersistentVolume \"v\" to requested PersistentVolumeClaim due to \
         incompatible volumeMode.",
        ]
    );
}

/// Set 10: two volumes were bound to one claim; one wins, and the other is rolled back.
#[test]
fn the_second_volume_of_a_claim_is_rolled_back() {
    let before = ["v1 1Gi Bound of=c uid=u by-controller", "v2 1Gi Bound of=c uid=u by-controller"];
    let claim = ["c u 1Gi Bound volume=v1 by-controller completed"];
    let mut world = World::new(&before, &claim);
    world.run(Volume, "v1");
    world.run(Volume, "v2");
    assert_eq!(world.shown_volumes(), [before[0], "v2 1Gi Available"]);
    assert_eq!(world.shown_claims(), claim);
}

/// Set 10: from a new volume to a bound claim.
#[test]
fn a_new_volume_is_bound() {
    let mut world = World::new(&["v 1Gi Pending"], &["c u 1Gi Pending"]);
    world.run(Volume, "v");
    assert_eq!(world.shown_volumes(), ["v 1Gi Bound of=c uid=u by-controller"]);
    assert_eq!(world.shown_claims(), ["c u 1Gi Bound volume=v by-controller completed"]);
    assert_eq!(
        world.writes,
        [
            "update persistentvolumes v status status.phase=\"Available\" status.message=null",
            "update persistentvolumes v spec.claimRef={\"apiVersion\":\"v1\",\"kind\":\
         \"PersistentVolumeClaim\",\"name\":\"c\",\"namespace\":\"default\",\"resourceVersion\":\
         \"1\",\"uid\":\"u\"} metadata.annotations.pv.kubernetes.io/bound-by-controller=\"yes\"",
            "update persistentvolumeclaims default/c spec.volumeName=\"v\" \
         metadata.annotations.pv.kubernetes.io/bound-by-controller=\"yes\" \
         metadata.annotations.pv.kubernetes.io/bind-completed=\"yes\"",
            "update persistentvolumes v status status.phase=\"Bound\" status.message=null",
            "update persistentvolumeclaims default/c status status.phase=\"Bound\" \
         status.accessModes=[\"ReadWriteOnce\",\"ReadOnlyMany\"] \
         status.capacity={\"storage\":\"1Gi\"}",
        ]
    );
}
