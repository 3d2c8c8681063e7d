//! The status of a claim. Upstream's `updateClaimStatus`.

use api::{Key, PersistentVolume};
use serde_json::json;

use super::world::{Which, World};
use Which::Claim;

/// Card, PVC status: what a claim has follows the volume only while its phase changes.
#[test]
fn what_a_claim_has_is_not_overwritten() {
    let volume = ["v 2Gi Bound of=c uid=u"];
    let mut world = World::new(&volume, &["c u 1Gi Bound volume=v completed"]);
    world.run(Claim, "c");
    assert_eq!(world.writes, [""; 0], "the filesystem has not grown yet");
    let volume = ["v 2Gi Bound of=c uid=u resized-from=1Gi"];
    let mut world = World::new(&volume, &["c u 2Gi Pending volume=v completed"]);
    world.run(Claim, "c");
    assert_eq!(world.shown_claims(), ["c u 2Gi Bound volume=v has=1Gi completed"]);
}

/// Upstream's `updateClaimStatus`: a volume without a capacity is an error.
#[test]
fn a_volume_without_a_capacity_is_an_error() {
    let mut world =
        World::new(&["v 1Gi Bound of=c uid=u"], &["c u 1Gi Pending volume=v completed"]);
    world.change::<PersistentVolume>(&Key::new("", "v"), json!({"spec": {"capacity": null}}));
    assert_eq!(world.errors, ["PersistentVolume \"v\" is without a storage capacity"]);
}
