//! Tables, mirroring upstream's `reconciler_test.go`, `attach_detach_controller_test.go`,
//! `desired_state_of_world_populator_test.go`, `node_status_updater_test.go`, `metrics_test.go` and
//! `csi_attacher_test.go`.

mod enqueues;
mod listing;
mod safety;
mod upstream;
mod world;

use controller::fixture::with;
use serde_json::json;

use super::*;
use world::{World, claim, node, pod, volume};

/// The volume of most rows.
const VOLUME: &str = "kubernetes.io/csi/d.example^h1";

/// Two nodes, a PersistentVolume `pv-1` with these access modes, and its claim.
fn world(modes: &[&str]) -> World {
    let volume = with(volume("pv-1", "h1", "data"), json!({"spec": {"accessModes": modes}}));
    World::of(&[node("node-1"), node("node-2")], &[volume], &[claim("data", "pv-1")])
}
