//! How many pods there may be more or less than asked for. From upstream's
//! `pkg/controller/deployment/util/deployment_util.go`.

use api::{Amount, Deployment, DeploymentStrategy, Rounding};
use mutant::Mutant;

/// As `ResolveFenceposts`: how many pods more and how many less than `desired`. An error if one of
/// them is no percentage.
pub(super) fn fenceposts(
    surge: Option<&Amount>,
    unavailable: Option<&Amount>,
    desired: i32,
) -> Result<(i32, i32), String> {
    let up = if mutant::is(Mutant::SurgeRoundedDown) { Rounding::Down } else { Rounding::Up };
    let surge = surge.map_or(Ok(0), |amount| amount.of(desired, up))?;
    let down = if mutant::is(Mutant::MissingRoundedUp) { Rounding::Up } else { Rounding::Down };
    let unavailable = unavailable.map_or(Ok(0), |amount| amount.of(desired, down))?;
    // Or nothing could move.
    Ok(if (surge, unavailable) == (0, 0) { (0, 1) } else { (surge, unavailable) })
}

/// Both of a rolling update; nothing if they cannot be read, as upstream.
fn of(deployment: &Deployment) -> (i32, i32) {
    match &deployment.strategy {
        DeploymentStrategy::RollingUpdate { max_unavailable, max_surge } => {
            let posts =
                fenceposts(max_surge.as_ref(), max_unavailable.as_ref(), deployment.replicas);
            posts.unwrap_or((0, 0))
        }
        DeploymentStrategy::Recreate | DeploymentStrategy::Other(_) => (0, 0),
    }
}

/// As `MaxSurge`.
pub(super) fn max_surge(deployment: &Deployment) -> i32 {
    of(deployment).0
}

/// As `MaxUnavailable`: never more than there are.
pub(super) fn max_unavailable(deployment: &Deployment) -> i32 {
    if deployment.replicas == 0 { 0 } else { of(deployment).1.min(deployment.replicas) }
}

/// The most pods that there may be: `deployment.kubernetes.io/max-replicas`.
pub(super) fn max_replicas(deployment: &Deployment) -> i32 {
    deployment.replicas.saturating_add(max_surge(deployment))
}

/// How many pods the new set should have that has `size` now, where all sets together have `total`.
/// As `NewRSNewReplicas`; an error if the surge is no percentage.
pub(super) fn new_size(deployment: &Deployment, total: i32, size: i32) -> Result<i32, String> {
    let replicas = deployment.replicas;
    if mutant::is(Mutant::NoRoomNeeded) {
        return Ok(replicas);
    }
    match &deployment.strategy {
        DeploymentStrategy::RollingUpdate { max_surge, .. } => {
            let Some(surge) = max_surge else {
                return Err("nil value for IntOrString".to_owned());
            };
            let most = replicas.saturating_add(surge.of(replicas, Rounding::Up)?);
            if total >= most {
                return Ok(size);
            }
            Ok(size + (most - total).min(replicas - size))
        }
        DeploymentStrategy::Recreate => Ok(replicas),
        DeploymentStrategy::Other(word) => Err(format!("deployment type {word} isn't supported")),
    }
}
