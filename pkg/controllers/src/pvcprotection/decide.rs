//! Whether a claim is protected, or let go. As `processPVC` in upstream's
//! `pkg/controller/volume/pvcprotection/pvc_protection_controller.go`.

use api::PersistentVolumeClaim;
use controller::{Facts, Plan, Step, finalizers};
use mutant::Mutant;

use super::snapshot::Snapshot;
use super::unused;
use super::usage::{Live, keeps, live};

pub(super) fn decide(s: &Snapshot, facts: &Facts, tracks_unused: bool) -> Plan {
    let claim = &*s.claim;
    if let Some(error) = &claim.unreadable {
        return Plan::rest(format!("the claim cannot be read: {error}"));
    }
    if claim.is_held() {
        return release(s, facts);
    }
    if claim.meta.is_terminating() {
        return Plan::rest("it is being deleted, and waits for no pod");
    }
    if tracks_unused && let Some(plan) = unused::update(s, facts) {
        return plan;
    }
    if claim.is_protected() {
        return Plan::rest("it is protected");
    }
    let name = PersistentVolumeClaim::PROTECTION;
    let update = finalizers::added::<PersistentVolumeClaim>(&claim.meta, &claim.raw, name);
    Plan::one("it lacks the finalizer", Step::InOrder(vec![update.into()]))
}

/// Removes the finalizer of a claim that is being deleted, if no pod uses it.
fn release(s: &Snapshot, facts: &Facts) -> Plan {
    let claim = &*s.claim;
    let keeper = match &s.keeper {
        Some(pod) => Live::Pod(pod.clone()),
        None if s.known_unused || mutant::is(Mutant::PodsNotListed) => Live::Unused,
        None => live(claim, facts, |pod| keeps(pod, claim)),
    };
    match keeper {
        Live::Ask(query) => Plan::fetch("does a pod use it that the cache lacks?", vec![query]),
        Live::Pod(pod) => Plan::rest(format!("pod {pod} uses it")),
        Live::Unknown(why, error) => Plan::failed(why, error),
        Live::Unused => {
            let name = PersistentVolumeClaim::PROTECTION;
            let update =
                finalizers::removed::<PersistentVolumeClaim>(&claim.meta, &claim.raw, name);
            Plan::one("no pod uses it", Step::InOrder(vec![update.into()]))
        }
    }
}
