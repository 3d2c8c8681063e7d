//! Which taints a node must have. As `doNoScheduleTaintingPass`, `processTaintBaseEviction` and
//! `doNoExecuteTaintingPass` in upstream's `node_lifecycle_controller.go`.

use api::{Effect, Node, Status, Taint};

use super::snapshot::Snapshot;

const NOT_READY: &str = "node.kubernetes.io/not-ready";
const UNREACHABLE: &str = "node.kubernetes.io/unreachable";
const UNSCHEDULABLE: &str = "node.kubernetes.io/unschedulable";

/// Of each condition, the status that keeps new pods away, and the key of the taint.
const OF_CONDITIONS: [(&str, Status, &str); 6] = [
    ("Ready", Status::False, NOT_READY),
    ("Ready", Status::Unknown, UNREACHABLE),
    ("MemoryPressure", Status::True, "node.kubernetes.io/memory-pressure"),
    ("DiskPressure", Status::True, "node.kubernetes.io/disk-pressure"),
    ("NetworkUnavailable", Status::True, "node.kubernetes.io/network-unavailable"),
    ("PIDPressure", Status::True, "node.kubernetes.io/pid-pressure"),
];

/// The taints of a node, as they must be.
pub(super) struct Wanted {
    pub(super) taints: Vec<Taint>,
    /// Whether it waits for its turn to get one that evicts.
    pub(super) waits: bool,
    /// Whether it gets one that evicts, in its turn.
    pub(super) evicts: bool,
}

pub(super) fn wanted(s: &Snapshot, node: &Node) -> Wanted {
    let mut taints = node.taints.to_vec();
    no_schedule(s, node, &mut taints);
    let has = |key| node.taints.iter().any(|it| is(it, key, Effect::NoExecute));
    if node.ready.is_none() {
        // A kubelet that has never reported is no reason.
        return Wanted { taints, waits: false, evicts: false };
    }
    let pair = match node.ready.filter(|_| !s.master_disruption) {
        Some(Status::False) => Some((NOT_READY, UNREACHABLE)),
        Some(Status::Unknown) => Some((UNREACHABLE, NOT_READY)),
        Some(Status::True) | None => None,
    };
    let Some((right, opposite)) = pair else {
        taints.retain(|it| !is_one_of(it, &[NOT_READY, UNREACHABLE], Effect::NoExecute));
        // Those that are not ready wait on, for the end of the disruption.
        let waits = !matches!(node.ready, Some(Status::True));
        return Wanted { taints, waits, evicts: false };
    };
    if has(right) && !has(opposite) {
        return Wanted { taints, waits: false, evicts: false };
    }
    let has_turn = s.health.as_ref().is_some_and(|health| health.turn);
    if !has(opposite) && !has_turn {
        return Wanted { taints, waits: true, evicts: false };
    }
    taints.retain(|it| !is(it, opposite, Effect::NoExecute));
    if !has(right) {
        taints.push(Taint { added: Some(s.now), ..Taint::new(right, "", Effect::NoExecute) });
    }
    Wanted { taints, waits: false, evicts: !has(opposite) }
}

fn no_schedule(s: &Snapshot, node: &Node, taints: &mut Vec<Taint>) {
    let of_conditions = OF_CONDITIONS.iter().filter(|(name, status, _)| {
        node.condition(name).is_some_and(|condition| condition.status == *status)
    });
    let mut keys: Vec<_> = of_conditions.map(|(_, _, key)| *key).collect();
    keys.extend(node.unschedulable.then_some(UNSCHEDULABLE));
    taints.retain(|it| {
        let is_ours = it.effect == Effect::NoSchedule
            && (*it.key == *UNSCHEDULABLE
                || OF_CONDITIONS.iter().any(|(_, _, key)| *it.key == **key));
        !is_ours || keys.contains(&&*it.key)
    });
    for key in keys {
        if !taints.iter().any(|it| is(it, key, Effect::NoSchedule)) {
            taints.push(Taint { added: Some(s.now), ..Taint::new(key, "", Effect::NoSchedule) });
        }
    }
}

fn is(taint: &Taint, key: &str, effect: Effect) -> bool {
    *taint.key == *key && taint.effect == effect
}

fn is_one_of(taint: &Taint, keys: &[&str], effect: Effect) -> bool {
    keys.iter().any(|key| is(taint, key, effect))
}
