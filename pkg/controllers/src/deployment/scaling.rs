//! Sharing pods out when the Deployment is resized, or paused. As `scale` in upstream's
//! `pkg/controller/deployment/sync.go`.

use super::changes::Changes;
use super::limits;
use super::revision::{self, DESIRED, MOST};
use super::snapshot::{Set, Snapshot};
use api::DeploymentStrategy;

/// Whether the Deployment was resized since its sets were last scaled. As `isScalingEvent`.
pub(super) fn is_due(s: &Snapshot) -> bool {
    let desired = |set: &Set| revision::size(&set.annotations, DESIRED);
    let mut sizes = s.sets().filter(|set| set.is_active()).filter_map(desired);
    sizes.any(|desired| desired != s.deployment.replicas)
}

/// Gives the pods to the only set that has any (to the youngest if none has), or to the new set if
/// that has them all; else each set gets its share.
pub(super) fn scale(changes: &mut Changes<'_>) {
    let s = changes.s;
    let replicas = s.deployment.replicas;
    // Old ones youngest first, and then the new one.
    let active: Vec<&Set> =
        s.old.iter().rev().chain(&s.new).filter(|set| set.is_active()).collect();
    match active.as_slice() {
        [] => {
            if let Some(latest) = s.new.as_ref().or(s.old.last()) {
                changes.scale(latest, latest.replicas(), replicas);
            }
        }
        [only] => changes.scale(only, only.replicas(), replicas),
        _ if s.new.as_ref().is_some_and(|new| is_saturated(new, replicas)) => {
            for old in s.old.iter().rev().filter(|old| old.is_active()) {
                changes.scale(old, old.replicas(), 0);
            }
        }
        _ => match &s.deployment.strategy {
            DeploymentStrategy::RollingUpdate { .. } => share(changes, active),
            DeploymentStrategy::Recreate | DeploymentStrategy::Other(_) => {}
        },
    }
}

/// As `IsSaturated`.
pub(super) fn is_saturated(new: &Set, replicas: i32) -> bool {
    let desired = new.annotations.get(DESIRED).and_then(|text| text.parse().ok());
    desired == Some(replicas) && new.replicas() == replicas && new.available() == replicas
}

/// Shares the pods that are missing or too many out among sets that have pods, in proportion to
/// their sizes.
fn share(changes: &mut Changes<'_>, mut active: Vec<&Set>) {
    let s = changes.s;
    let size = active.iter().map(|set| set.replicas()).fold(0, i32::saturating_add);
    let allowed = if s.deployment.replicas > 0 { limits::max_replicas(&s.deployment) } else { 0 };
    let to_add = allowed - size;
    // The largest first; of equal ones the young ones win when pods are added or removed.
    if to_add > 0 {
        active.sort_by(|a, b| (b.replicas(), b.age()).cmp(&(a.replicas(), a.age())));
    } else if to_add < 0 {
        active.sort_by(|a, b| b.replicas().cmp(&a.replicas()).then(a.age().cmp(&b.age())));
    }
    let mut added = 0;
    let mut shares = Vec::with_capacity(active.len());
    for set in &active {
        let share = proportion(s, set, to_add, added);
        shares.push(share);
        added += share;
    }
    // What rounding leaves over.
    if let Some(first) = shares.first_mut() {
        *first += to_add - added;
    }
    for (set, share) in active.into_iter().zip(shares) {
        changes.scale(set, set.replicas(), (set.replicas() + share).max(0));
        changes.note_sizes(set);
    }
}

/// By how many pods a set grows (or shrinks, if negative), where `to_add` are to be shared out and
/// `added` are already. As `GetReplicaSetProportion`.
pub(super) fn proportion(s: &Snapshot, set: &Set, to_add: i32, added: i32) -> i32 {
    let left = to_add - added;
    if !set.is_active() || to_add == 0 || left == 0 {
        return 0;
    }
    let fraction = fraction(s, set);
    if to_add > 0 { fraction.min(left) } else { fraction.max(left) }
}

/// As `getReplicaSetFraction`: the difference to the size that keeps the set's share of the most
/// pods that there may be.
fn fraction(s: &Snapshot, set: &Set) -> i32 {
    let size = set.replicas();
    if s.deployment.replicas == 0 {
        return -size;
    }
    let before = revision::size(&set.annotations, MOST).filter(|most| *most != 0);
    let before = before.unwrap_or(s.deployment.status.replicas);
    if before <= 0 {
        return 0;
    }
    let (size_now, most) = (i64::from(size), i64::from(limits::max_replicas(&s.deployment)));
    // Half a pod is a pod.
    let doubled = 2 * i64::from(before);
    let wanted = (2 * size_now * most + i64::from(before)) / doubled;
    i32::try_from(wanted).unwrap_or(i32::MAX) - size
}
