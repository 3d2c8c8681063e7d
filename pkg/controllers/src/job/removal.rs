//! Which pods are deleted when there are too many. As `activePodsForRemoval` in upstream's
//! `job_controller.go`, and its `ActivePods` in `pkg/controller/controller_utils.go`.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::Arc;

use api::{Phase, Pod, Text, Time};

use super::standing::Standing;

/// The place of a pod in the order of deletion; the smallest comes first.
type Rank = (
    // Bound to a node; phase; ready.
    (bool, u8, bool),
    // Ready for longer.
    (bool, Reverse<Option<Time>>),
    Reverse<(i32, i32)>,
    // Older.
    (bool, Reverse<Option<Time>>),
    Text,
);

/// At least so many pods; more if some have no index, a wrong one, or one that another pod has.
pub(super) fn victims(standing: &Standing<'_>, at_least: usize) -> Vec<Arc<Pod>> {
    let (mut doomed, mut left) = if standing.job.is_indexed() {
        superfluous(standing)
    } else {
        (Vec::new(), standing.active.clone())
    };
    let missing = at_least.saturating_sub(doomed.len());
    if missing > 0 {
        left.sort_by_cached_key(|pod| rank(pod));
        doomed.extend(left.into_iter().take(missing));
    }
    doomed
}

/// Pods that no index needs, and those that are left. As `appendDuplicatedIndexPodsForRemoval`.
fn superfluous(standing: &Standing<'_>) -> (Vec<Arc<Pod>>, Vec<Arc<Pod>>) {
    let mut by_index: BTreeMap<i64, Vec<Arc<Pod>>> = BTreeMap::new();
    let (mut doomed, mut left, mut beyond) = (Vec::new(), Vec::new(), Vec::new());
    for pod in &standing.active {
        match (standing.valid_index(pod), super::pods::index(pod)) {
            (Some(index), _) => by_index.entry(index).or_default().push(Arc::clone(pod)),
            (None, Some(_)) => beyond.push(Arc::clone(pod)),
            (None, None) => doomed.push(Arc::clone(pod)),
        }
    }
    for mut same in by_index.into_values() {
        same.sort_by_cached_key(|pod| rank(pod));
        left.extend(same.pop());
        doomed.append(&mut same);
    }
    doomed.append(&mut beyond);
    (doomed, left)
}

fn rank(pod: &Pod) -> Rank {
    let phase = match pod.phase {
        Phase::Pending | Phase::Succeeded | Phase::Failed => 0,
        Phase::Unknown => 1,
        Phase::Running => 2,
    };
    let (ready, created) = (pod.ready_since(), pod.meta.creation_timestamp);
    (
        (pod.node_name.is_some(), phase, pod.is_ready()),
        (ready.is_some(), Reverse(ready)),
        Reverse((pod.restarts_max, pod.sidecar_restarts_max)),
        (created.is_some(), Reverse(created)),
        pod.meta.uid.clone(),
    )
}
