//! Whether a node should have a pod of a set. As `NodeShouldRunDaemonPod` in upstream's
//! `daemon_controller.go`.

use api::{DaemonSet, Effect, Node, Taint};

/// The tolerations that all pods of DaemonSets get: a node in trouble keeps them.
const TOLERATED: [(&str, Effect); 6] = [
    ("node.kubernetes.io/not-ready", Effect::NoExecute),
    ("node.kubernetes.io/unreachable", Effect::NoExecute),
    ("node.kubernetes.io/disk-pressure", Effect::NoSchedule),
    ("node.kubernetes.io/memory-pressure", Effect::NoSchedule),
    ("node.kubernetes.io/pid-pressure", Effect::NoSchedule),
    ("node.kubernetes.io/unschedulable", Effect::NoSchedule),
];
/// Those with the network of the host get this too.
const NETWORK: (&str, Effect) = ("node.kubernetes.io/network-unavailable", Effect::NoSchedule);

/// Whether a node should have a pod.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fit {
    /// It should have one.
    Run,
    /// It gets none, but one that is there may stay.
    Stay,
    /// None may be there.
    Leave,
}

/// Resources, ports, readiness and the like are the scheduler's. `compares`: whether tolerations
/// may compare numbers.
pub(super) fn fit(set: &DaemonSet, node: &Node, compares: bool) -> Fit {
    let (placement, name) = (&set.placement, &*node.meta.key.name);
    let elsewhere = placement.node_name.as_deref().is_some_and(|wanted| wanted != name);
    if elsewhere || !placement.matches(name, &node.meta.labels) {
        return Fit::Leave;
    }
    let is_tolerated = |taint: &Taint| {
        let mut added = added(set);
        placement
            .tolerations
            .iter()
            .any(|it| it.tolerates(taint) || compares && it.tolerates_by_number(taint))
            || added.any(|(key, effect)| *taint.key == *key && taint.effect == effect)
    };
    let mut fit = Fit::Run;
    for taint in &node.taints {
        match taint.effect {
            Effect::PreferNoSchedule => {}
            Effect::NoSchedule | Effect::NoExecute if is_tolerated(taint) => {}
            Effect::NoSchedule => fit = Fit::Stay,
            Effect::NoExecute => return Fit::Leave,
        }
    }
    fit
}

/// The tolerations that pods of the set get beside those of its template, all of them for any value
/// and for as long as it takes. As `AddOrUpdateDaemonPodTolerations`.
pub(super) fn added(set: &DaemonSet) -> impl Iterator<Item = (&'static str, Effect)> {
    TOLERATED.into_iter().chain(set.placement.host_network.then_some(NETWORK))
}
