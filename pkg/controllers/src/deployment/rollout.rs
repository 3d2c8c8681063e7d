//! Rolling updates and Recreate, and the sets that are deleted after them. As upstream's
//! `rolling.go`, `recreate.go` and `cleanupDeployment` in `pkg/controller/deployment`.

use api::{Deployment, DeploymentStatus};
use mutant::Mutant;

use super::changes::Changes;
use super::limits;
use super::revision;
use super::snapshot::{Set, Snapshot};

/// Whether all pods that are asked for are updated and available, and there are no others. As
/// `DeploymentComplete`.
pub(super) fn is_complete(deployment: &Deployment, status: &DeploymentStatus) -> bool {
    let counts = [status.updated_replicas, status.replicas, status.available_replicas];
    counts == [deployment.replicas; 3] && status.observed_generation >= deployment.meta.generation
}

/// Scales the new set, up as far as the surge allows. As `reconcileNewReplicaSet`.
pub(super) fn scale_new(changes: &mut Changes<'_>, new: &Set) -> Result<(), String> {
    let s = changes.s;
    let (size, replicas) = (new.replicas(), s.deployment.replicas);
    let to =
        if size >= replicas { replicas } else { limits::new_size(&s.deployment, s.size(), size)? };
    changes.scale(new, size, to);
    Ok(())
}

/// Scales old sets down, as far as enough pods stay available: pods that are not available first.
/// As `reconcileOldReplicaSets`.
pub(super) fn scale_old(changes: &mut Changes<'_>, new: &Set) {
    let s = changes.s;
    let old: Vec<&Set> = s.old.iter().filter(|set| set.is_active()).collect();
    let spare = i32::from(mutant::is(Mutant::OldTooFar));
    let least = s.deployment.replicas - limits::max_unavailable(&s.deployment) - spare;
    let coming = new.replicas() - new.available();
    let most_down = s.size() - least - coming;
    if old.is_empty() || most_down <= 0 {
        return;
    }
    let mut sizes: Vec<i32> = old.iter().map(|set| set.replicas()).collect();
    let mut left = most_down;
    for (set, size) in old.iter().zip(&mut sizes) {
        if left <= 0 {
            break;
        }
        // It still counts pods that it is about to delete. So does the count of all, which must not
        // be trusted then.
        if set.available() > *size {
            return;
        }
        let down = left.min(*size - set.available());
        changes.scale(set, *size, *size - down);
        (left, *size) = (left - down, *size - down);
    }
    let available: i32 = old.iter().map(|set| set.available()).sum::<i32>() + new.available();
    let mut left = available - least;
    for (set, size) in old.iter().zip(&mut sizes) {
        if left <= 0 {
            break;
        }
        let down = left.min(*size);
        changes.scale(set, *size, *size - down);
        left -= down;
    }
}

/// Scales all old sets to nothing. As `scaleDownOldReplicaSetsForRecreate`.
pub(super) fn scale_old_to_zero(changes: &mut Changes<'_>) {
    for old in changes.s.old.iter().filter(|old| old.is_active()) {
        changes.scale(old, old.replicas(), 0);
    }
}

/// Whether an old pod may still run. As `oldPodsRunning`.
pub(super) fn is_old_running(s: &Snapshot) -> bool {
    if mutant::is(Mutant::RecreateOverlaps) {
        return false;
    }
    s.old_pods || s.old.iter().map(|set| set.view.status.replicas).sum::<i32>() > 0
}

/// Deletes old sets that are more than `revisionHistoryLimit`, the lowest revisions first. One that
/// has pods is left out and replaced by no other. As `cleanupDeployment`.
pub(super) fn clean_up(changes: &mut Changes<'_>) {
    let s = changes.s;
    let limit = s.deployment.revision_history_limit.filter(|limit| *limit != i32::MAX);
    let Some(limit) = limit.and_then(|limit| usize::try_from(limit).ok()) else { return };
    let mut old: Vec<&Set> = s.old.iter().filter(|set| !set.view.meta.is_terminating()).collect();
    let surplus = old.len().saturating_sub(limit);
    // Stable: of equal revisions the older set comes first. One without a number is as good as 0.
    old.sort_by_key(|set| revision::revision(&set.annotations).unwrap_or(0));
    for set in old.into_iter().take(surplus).filter(|set| is_deletable(set)) {
        changes.delete(set);
    }
}

fn is_deletable(set: &Set) -> bool {
    let status = &set.view.status;
    let is_current = set.view.meta.generation <= status.observed_generation;
    let is_empty = status.replicas == 0 && set.replicas() == 0;
    (is_empty || mutant::is(Mutant::HistoryWithPods)) && is_current
}
