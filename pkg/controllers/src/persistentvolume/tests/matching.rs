//! Upstream's `index_test.go`: which of many volumes a claim gets.

use serde_json::json;

use super::world::{Which, World};

const RWO: &str = "modes=ReadWriteOnce";
const RWX: &str = "modes=ReadWriteOnce,ReadOnlyMany,ReadWriteMany";

/// As `createTestVolumes`, with upstream's uids as names.
fn volumes() -> Vec<String> {
    let of = |line: &str| line.replace("RWO", RWO).replace("RWX", RWX);
    [
        "gce-pd-10 10G Available",
        "gce-pd-20 20G Bound of=x uid=def456",
        "nfs-5 5G Available RWX",
        "gce-pd-1 1G Bound of=x uid=abc123",
        "nfs-10 10G Available RWX",
        "gce-pd-5 5G Available",
        "nfs-1 1G Available RWX",
        "gce-pd-2 20000G Available RWO labeled",
        "gce-pd-silver1 10000G Available class=silver RWO labeled",
        "gce-pd-silver2 100G Available class=silver RWO",
        "gce-pd-gold 50G Available class=gold RWO",
        "local-pd-very-large 200E Available class=large RWX",
        "local-pd-extremely-large 800E Available class=large RWX",
        "affinity-pv 100G Available class=wait",
        "affinity-prebound 100G Available of=c2 class=wait",
        "pending 200G Pending class=wait",
        "failed 200G Failed class=wait",
        "released 200G Released class=wait",
        "empty 200G  class=wait",
        "gce-pd-vac-silver1 100G Available vac=silver",
    ]
    .map(of)
    .into()
}

/// The volume that the claim gets of these, or nothing.
fn best(volumes: &[String], claim: &str) -> String {
    let volumes: Vec<&str> = volumes.iter().map(String::as_str).collect();
    let mut world = World::new(&volumes, &[&format!("c u {claim}")]);
    let wait = json!({"volumeBindingMode": "WaitForFirstConsumer"});
    world.class("wait", "kubernetes.io/no-provisioner", &wait);
    world.run(Which::Claim, "c");
    let claim = &world.shown_claims()[0];
    let volume = claim.split(' ').find_map(|word| word.strip_prefix("volume="));
    volume.unwrap_or_default().to_owned()
}

/// `TestMatchVolume`.
#[test]
fn the_smallest_that_fits_is_taken() {
    for (name, claim, expected) in [
        ("gce-10", "8G Pending", "gce-pd-10"),
        ("nfs-5", &format!("5G Pending {RWX}"), "nfs-5"),
        ("skip-1g-bound-volume", "1G Pending", "gce-pd-5"),
        ("no-match", "999G Pending", ""),
        ("due-to-size-with-label-selector", "20001G Pending labeled", ""),
        ("label-selector", &format!("20000G Pending labeled {RWO}"), "gce-pd-2"),
        ("empty-vac", "8G Pending vac=", "gce-pd-10"),
        ("vac", "1G Pending vac=silver", "gce-pd-vac-silver1"),
        ("vac-nonexisting", "1G Pending vac=none", ""),
        ("class", &format!("1G Pending labeled class=silver {RWO}"), "gce-pd-silver1"),
        ("class-and-labels", &format!("1G Pending class=silver {RWO}"), "gce-pd-silver2"),
        ("very-large", &format!("1E Pending class=large {RWO}"), "local-pd-very-large"),
        (
            "exact-extremely-large",
            &format!("800E Pending class=large {RWO}"),
            "local-pd-extremely-large",
        ),
        ("way-too-large", &format!("950E Pending class=large {RWO}"), ""),
    ] {
        assert_eq!(best(&volumes(), claim), expected, "{name}");
    }
}

/// `TestMatchingWithBoundVolumes`.
#[test]
fn a_bound_volume_is_not_taken() {
    let volumes = ["gce001 1G Bound of=x uid=abc123", "gce002 1G Available"].map(str::to_owned);
    assert_eq!(best(&volumes, "1G Pending"), "gce002");
}

/// `TestFindingVolumeWithDifferentAccessModes`, `TestAllPossibleAccessModes`,
/// `TestListByAccessModes`.
#[test]
fn the_volume_with_the_fewest_modes_is_taken() {
    let (gce, ebs, nfs) = ("gce 10G Available", "ebs 10G Available", "nfs 10G Available");
    let all = [gce.to_owned(), format!("{ebs} {RWO}"), format!("{nfs} {RWX}")];
    let any_order = "modes=ReadWriteMany,ReadWriteOnce,ReadOnlyMany";
    for (modes, expected) in [
        (RWO, "ebs"),
        ("modes=ReadWriteOnce,ReadOnlyMany", "gce"),
        (any_order, "nfs"),
        ("modes=ReadWriteMany", "nfs"),
        ("modes=ReadOnlyMany", "gce"),
        ("modes=ReadWriteOncePod", ""),
    ] {
        assert_eq!(best(&all, &format!("1G Pending {modes}")), expected, "{modes}");
    }
    let bound = |line: &str| line.replace("Available", "Available of=x");
    let ebs_bound = [all[0].clone(), bound(&all[1]), all[2].clone()];
    assert_eq!(best(&ebs_bound, &format!("1G Pending {RWO}")), "gce");
    let both_bound = [bound(&all[0]), bound(&all[1]), all[2].clone()];
    assert_eq!(best(&both_bound, &format!("1G Pending {RWO}")), "nfs");
}

/// `TestFilteringVolumeModes`, `TestVolumeModeCheck`: rows 14 of the binder's table, and no mode at
/// all.
#[test]
fn no_mode_is_a_filesystem() {
    let volumes = ["v 10G Available block".to_owned(), "w 20G Available".to_owned()];
    assert_eq!(best(&volumes, "1G Pending"), "w");
    assert_eq!(best(&volumes, "1G Pending block"), "v");
}

/// `TestStorageObjectInUseProtectionFiltering`.
#[test]
fn a_volume_that_is_being_deleted_is_not_taken() {
    for volume in [
        "v 1Gi Available ending",
        "v 1Gi Available ending finalizers=kubernetes.io/pv-protection",
        "v 1Gi Available of=c ending",
    ] {
        assert_eq!(best(&[volume.to_owned()], "1Gi Pending"), "", "{volume}");
    }
    assert_eq!(best(&["v 1Gi Available".to_owned()], "1Gi Pending"), "v");
}

/// `TestFindingPreboundVolumes`.
#[test]
fn a_volume_that_is_kept_comes_first() {
    let of = |lines: [&str; 5]| lines.map(|line| line.replace("RWO", RWO));
    let (five, eight) = ("pv5 5Gi Available RWO", "pv8 8Gi Available RWO");
    let (small, other) = ("small 1Mi Available RWO", "other 1Gi Available modes=ReadOnlyMany");
    let claim = format!("1Gi Pending {RWO}");
    for (one, eight, small, other, expected) in [
        ("pv1 1Gi Available RWO", eight, small, other, "pv1"),
        ("pv1 1Gi Available of=foo RWO", eight, small, other, "pv5"),
        ("pv1 1Gi Available RWO", "pv8 8Gi Available of=c uid=u RWO", small, other, "pv8"),
        ("pv1 1Gi Available RWO", eight, "small 1Mi Available of=c uid=u RWO", other, "pv1"),
        (
            "pv1 1Gi Available RWO",
            eight,
            small,
            "other 1Gi Available of=c uid=u modes=ReadOnlyMany",
            "pv1",
        ),
    ] {
        assert_eq!(best(&of([one, five, eight, small, other]), &claim), expected);
    }
    // The card: class, selector and phase of such a volume do not count.
    let kept = ["v 1Gi Failed of=c class=gold".to_owned()];
    assert_eq!(best(&kept, "1Gi Pending labeled"), "v");
}

/// `TestBestMatchDelayed`.
#[test]
fn with_a_consumer_to_wait_for_nothing_is_taken() {
    assert_eq!(best(&volumes(), "8G Pending class=wait"), "");
}
