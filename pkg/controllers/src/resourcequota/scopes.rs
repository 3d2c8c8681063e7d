//! Which objects a quota with scopes counts. As `podMatchesScopeFunc` and `pvcMatchesScopeFunc` in
//! upstream's `pkg/quota/v1/evaluator/core`.

use api::{PersistentVolumeClaim, Pod, QuotaScope, SelectorError};
use mutant::Mutant;

/// The scope of pods with some PriorityClass.
const PRIORITY_CLASS: &str = "PriorityClass";
/// The scope of volume claims with some VolumeAttributesClass.
const ATTRIBUTES_CLASS: &str = "VolumeAttributesClass";

/// The pods that are in all scopes; none at all if a scope cannot be read.
pub(super) fn pods<'a>(
    scopes: &'a [QuotaScope],
    pods: impl Iterator<Item = &'a Pod> + 'a,
) -> impl Iterator<Item = &'a Pod> + 'a {
    pods.filter(|pod| {
        mutant::is(Mutant::ScopesIgnored)
            || scopes.iter().all(|scope| holds_pod(scope, pod) == Ok(true))
    })
}

/// The same of volume claims.
pub(super) fn claims<'a>(
    scopes: &'a [QuotaScope],
    claims: impl Iterator<Item = &'a PersistentVolumeClaim> + 'a,
) -> impl Iterator<Item = &'a PersistentVolumeClaim> + 'a {
    claims.filter(|claim| scopes.iter().all(|scope| holds_claim(scope, claim) == Ok(true)))
}

fn holds_pod<'a>(scope: &'a QuotaScope, pod: &Pod) -> Result<bool, &'a SelectorError> {
    let quota = &pod.quota;
    Ok(match scope.name.as_str() {
        "Terminating" => quota.has_deadline,
        "NotTerminating" => !quota.has_deadline,
        "BestEffort" => quota.is_best_effort,
        "NotBestEffort" => !quota.is_best_effort,
        "CrossNamespacePodAffinity" => quota.crosses_namespaces,
        PRIORITY_CLASS => scope.requirement.as_ref()?.holds(quota.priority_class.as_deref()),
        _ => false,
    })
}

fn holds_claim<'a>(
    scope: &'a QuotaScope,
    claim: &PersistentVolumeClaim,
) -> Result<bool, &'a SelectorError> {
    if scope.name != ATTRIBUTES_CLASS {
        return Ok(false);
    }
    let requirement = scope.requirement.as_ref()?;
    let classes = &claim.attributes_classes;
    let holds_one = || classes.iter().any(|class| requirement.holds(Some(class)));
    Ok(if classes.is_empty() { requirement.holds(None) } else { holds_one() })
}
