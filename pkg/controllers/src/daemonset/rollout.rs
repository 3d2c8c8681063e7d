//! The rolling update: which old pods are deleted, and which nodes get a second pod. As
//! `rollingUpdate` in upstream's `update.go`. Nodes are taken in the order of their names, after a
//! failure from another place on.

use std::sync::Arc;

use api::{Amount, DaemonSetStrategy, Pod, Rounding};
use mutant::Mutant;

use super::fit::Fit;
use super::snapshot::{ByNode, Snapshot};
use super::work::Work;

/// The pods of one node that are not being deleted.
enum Pair<'a> {
    /// At most one of the present template and one older.
    Of { new: Option<&'a Arc<Pod>>, old: Option<&'a Arc<Pod>> },
    /// More than that; they are not the rolling update's.
    TooMany,
}

/// What the strategy allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Allowed {
    /// How many nodes may have two pods.
    pub(super) surge: usize,
    /// How many nodes may lack an available pod.
    pub(super) unavailable: usize,
    /// How many nodes should have a pod.
    pub(super) desired: usize,
}

/// The next part of the update; nothing if the strategy is another one. An error if the strategy
/// cannot be read.
pub(super) fn roll(s: &Snapshot, hash: &str) -> Result<Work, String> {
    match &s.set.strategy {
        DaemonSetStrategy::OnDelete | DaemonSetStrategy::Other(_) => return Ok(Work::default()),
        DaemonSetStrategy::RollingUpdate { .. } => {}
    }
    let allowed =
        allowed(s).map_err(|error| format!("couldn't get unavailable numbers: {error}"))?;
    let nodes = with_empty_nodes(s);
    Ok(if allowed.surge == 0 || mutant::is(Mutant::DaemonNeverSurges) {
        replace(s, hash, &nodes, allowed)
    } else {
        surge(s, hash, &nodes, allowed)
    })
}

/// Whether a node may have two pods for a while. As `AllowsSurge`.
pub(super) fn allows_surge(s: &Snapshot) -> bool {
    let (surge, _) = amounts(s);
    mutant::is(Mutant::DaemonAlwaysSurges) || count(surge, 1).is_ok_and(|surge| surge > 0)
}

/// As `updatedDesiredNodeCounts`.
pub(super) fn allowed(s: &Snapshot) -> Result<Allowed, String> {
    let desired = s.nodes.values().filter(|fit| **fit == Fit::Run).count();
    let (surge, unavailable) = amounts(s);
    let unavailable = count(unavailable, desired)
        .map_err(|error| format!("invalid value for MaxUnavailable: {error}"))?;
    let surge =
        count(surge, desired).map_err(|error| format!("invalid value for MaxSurge: {error}"))?;
    let stuck = desired > 0 && unavailable == 0 && surge == 0;
    Ok(Allowed { surge, unavailable: if stuck { 1 } else { unavailable }, desired })
}

/// `maxSurge` and `maxUnavailable`.
fn amounts(s: &Snapshot) -> (Option<&Amount>, Option<&Amount>) {
    match &s.set.strategy {
        DaemonSetStrategy::RollingUpdate { max_surge, max_unavailable } => {
            (max_surge.as_ref(), max_unavailable.as_ref())
        }
        DaemonSetStrategy::OnDelete | DaemonSetStrategy::Other(_) => (None, None),
    }
}

/// How many of `total` nodes an amount is; 0 if there is none.
fn count(amount: Option<&Amount>, total: usize) -> Result<usize, String> {
    let Some(amount) = amount else { return Ok(0) };
    let total = i32::try_from(total).unwrap_or(i32::MAX);
    Ok(usize::try_from(amount.of(total, Rounding::Up)?).unwrap_or(0))
}

/// The pods by node, and the nodes that should have one and have none.
fn with_empty_nodes(s: &Snapshot) -> ByNode<'_> {
    let mut nodes = s.by_node();
    for (node, fit) in &s.nodes {
        match fit {
            Fit::Run => drop(nodes.entry(node).or_default()),
            Fit::Stay | Fit::Leave => {}
        }
    }
    nodes
}

/// Deletes old pods; their successors are created once they are deleted. Unavailable ones are
/// deleted at any time, the others while few enough nodes lack an available pod.
fn replace(s: &Snapshot, hash: &str, nodes: &ByNode<'_>, allowed: Allowed) -> Work {
    let most =
        if mutant::is(Mutant::DaemonAllAtOnce) { allowed.desired } else { allowed.unavailable };
    let mut lacking = 0;
    let (mut doomed, mut candidates) = (Vec::new(), Vec::new());
    for pods in nodes.values() {
        match pair(s, hash, pods) {
            Pair::Of { new: Some(new), old: None } if s.is_available(new) => {}
            Pair::Of { new: None, old: Some(old) } if s.is_available(old) => candidates.push(old),
            Pair::Of { new: None, old: Some(old) } => {
                doomed.push(old);
                lacking += 1;
            }
            Pair::Of { .. } | Pair::TooMany => lacking += 1,
        }
    }
    s.begin_elsewhere(&mut candidates);
    doomed.extend(candidates.into_iter().take(most.saturating_sub(lacking)));
    Work::new(Vec::new(), doomed.into_iter().cloned().collect())
}

/// Creates new pods beside old ones; an old one is deleted once its successor is available. Where
/// the old one is not available its successor is created at any time, elsewhere while few enough
/// nodes wait for theirs.
fn surge(s: &Snapshot, hash: &str, nodes: &ByNode<'_>, allowed: Allowed) -> Work {
    let (mut surging, mut available) = (0, 0);
    let (mut wanted, mut candidates) = (Vec::new(), Vec::new());
    let (mut doomed, mut misplaced) = (Vec::new(), Vec::new());
    for (node, pods) in nodes {
        let Pair::Of { new, old } = pair(s, hash, pods) else {
            surging += 1;
            continue;
        };
        available += usize::from(old.or(new).is_some_and(|pod| s.is_available(pod)));
        match (new, old) {
            (Some(_), Some(old)) if mutant::is(Mutant::DaemonOldGoesFirst) => doomed.push(old),
            (Some(new), Some(old)) if s.is_available(new) => doomed.push(old),
            (Some(_), Some(_)) => surging += 1,
            (None, Some(old)) => match (s.nodes.get_key_value(*node), s.is_available(old)) {
                (Some((node, Fit::Run)), true) => candidates.push(node),
                (Some((node, Fit::Run)), false) => wanted.push(node),
                (Some((_, Fit::Stay | Fit::Leave)), true) => misplaced.push(old),
                (Some((_, Fit::Stay | Fit::Leave)), false) => doomed.push(old),
                // The node is deleted, and so will be its pods.
                (None, _) => {}
            },
            (_, None) => {}
        }
    }
    s.begin_elsewhere(&mut misplaced);
    s.begin_elsewhere(&mut candidates);
    // They give service where they should not be, until enough others do.
    doomed.extend(misplaced.into_iter().take(available.saturating_sub(allowed.desired)));
    wanted.extend(candidates.into_iter().take(allowed.surge.saturating_sub(surging)));
    Work::new(wanted.into_iter().cloned().collect(), doomed.into_iter().cloned().collect())
}

/// As `findUpdatedPodsOnNode`.
fn pair<'a>(s: &Snapshot, hash: &str, pods: &[&'a Arc<Pod>]) -> Pair<'a> {
    let staying = pods.iter().filter(|pod| !pod.meta.is_terminating());
    let (new, old): (Vec<_>, Vec<_>) = staying.partition(|pod| s.is_updated(pod, hash));
    match (new.as_slice(), old.as_slice()) {
        ([] | [_], [] | [_]) => Pair::Of { new: new.first().copied(), old: old.first().copied() },
        _ => Pair::TooMany,
    }
}
