//! Which pods are deleted first when there are too many. As `ActivePodsWithRanks` in upstream's
//! `pkg/controller/controller_utils.go` and `getPodsToDelete` in
//! `pkg/controller/replicaset/replica_set.go`. The gate `LogarithmicScaleDown` is on in each
//! release that can be emulated.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::Arc;

use api::{Phase, Pod, Time};
use mutant::Mutant;

#[cfg(test)]
mod tests;

/// Whether pods' deletion costs count: the gate `PodDeletionCost`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Costs {
    /// The pod with the lower cost is deleted first.
    Count,
    /// The annotations are ignored.
    Ignored,
}

/// The rank of a pod in the order of deletion; the smallest is deleted first. The numbers are those
/// of upstream's criteria.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Rank<'a> {
    urgency: Urgency,
    /// 6: ready for a shorter time. Not decided by the time alone, see [`victims`].
    ready_for: Option<Age>,
    ready_group: &'a str,
    /// 7: more restarts, of containers first, then of sidecars.
    restarts_max: Reverse<i32>,
    sidecar_restarts_max: Reverse<i32>,
    /// 8: younger.
    created: Option<Age>,
    uid: &'a str,
}

/// Criteria 1 to 5.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Urgency {
    /// 1: not bound to a node.
    is_bound: bool,
    /// 2: pending, then unknown, then running.
    phase: u8,
    /// 3: not ready.
    is_ready: bool,
    /// 4: lower deletion cost.
    deletion_cost: i32,
    /// 5: more related pods on its node.
    neighbours: Reverse<usize>,
}

/// The age on a logarithmic scale: floor(log2(nanoseconds)); none if the time is in the future. On
/// this scale pods of similar age are equal, and their uids decide, which is as good as random.
type Age = Option<u32>;

/// The `count` pods to delete first, in that order; all of them, in the order given, if `count` is
/// not smaller than their number. `related` are the pods whose nodes count as crowded.
///
/// Upstream compares two pods that became ready at different times of similar age by uid, and two
/// that became ready at the same time by their restarts and ages. That is not an order: three pods
/// can form a circle. Here pods that became ready at the same time stay together, at the position
/// of the least of their uids; of two pods the same one is deleted first as upstream.
pub fn victims(
    pods: &[Arc<Pod>],
    related: &[Arc<Pod>],
    count: usize,
    costs: Costs,
    now: Time,
) -> Vec<Arc<Pod>> {
    if count >= pods.len() {
        return pods.to_vec();
    }
    let Some(last) = count.checked_sub(1) else { return Vec::new() };
    let urgencies = urgencies(pods, related, costs);
    let groups = ready_groups(pods, &urgencies);
    let mut ranks: Vec<(Rank<'_>, &Arc<Pod>)> = pods
        .iter()
        .zip(urgencies)
        .map(|(pod, urgency)| {
            let since = pod.ready_since();
            let rank = Rank {
                urgency,
                ready_for: since.map(|since| age(since, now)),
                ready_group: since.and_then(|since| groups.get(&(urgency, since))).unwrap_or(&""),
                restarts_max: Reverse(pod.restarts_max),
                sidecar_restarts_max: Reverse(pod.sidecar_restarts_max),
                created: pod.meta.creation_timestamp.map(|created| age(created, now)),
                uid: &pod.meta.uid,
            };
            (rank, pod)
        })
        .collect();
    // Only the chosen ones need to be sorted.
    ranks.select_nth_unstable_by_key(last, |(rank, _)| *rank);
    ranks.truncate(count);
    ranks.sort_by_key(|(rank, _)| *rank);
    ranks.into_iter().map(|(_, pod)| Arc::clone(pod)).collect()
}

fn urgencies(pods: &[Arc<Pod>], related: &[Arc<Pod>], costs: Costs) -> Vec<Urgency> {
    let mut active_on: BTreeMap<Option<&str>, usize> = BTreeMap::new();
    for pod in related.iter().filter(|pod| pod.is_active()) {
        *active_on.entry(pod.node_name.as_deref()).or_default() += 1;
    }
    let urgency = |pod: &Arc<Pod>| Urgency {
        is_bound: pod.node_name.is_some(),
        phase: match pod.phase {
            Phase::Pending | Phase::Succeeded | Phase::Failed => 0,
            Phase::Unknown => 1,
            Phase::Running => 2,
        },
        is_ready: pod.is_ready() != mutant::is(Mutant::ReadyGoFirst),
        deletion_cost: match costs {
            Costs::Count => pod.deletion_cost,
            Costs::Ignored => 0,
        },
        neighbours: Reverse(active_on.get(&pod.node_name.as_deref()).copied().unwrap_or(0)),
    };
    pods.iter().map(urgency).collect()
}

/// The least uid of the pods that became ready at the same time and are otherwise equal.
fn ready_groups<'a>(
    pods: &'a [Arc<Pod>],
    urgencies: &[Urgency],
) -> BTreeMap<(Urgency, Time), &'a str> {
    let mut least: BTreeMap<(Urgency, Time), &str> = BTreeMap::new();
    for (pod, urgency) in pods.iter().zip(urgencies) {
        if let Some(since) = pod.ready_since() {
            let known = least.entry((*urgency, since)).or_insert(&pod.meta.uid);
            *known = (*known).min(&pod.meta.uid);
        }
    }
    least
}

fn age(since: Time, now: Time) -> Age {
    now.since(since).as_nanos().checked_ilog2()
}
