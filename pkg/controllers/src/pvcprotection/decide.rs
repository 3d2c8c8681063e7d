//! Whether a claim is protected, or let go. As `processPVC` in upstream's
//! `pkg/controller/volume/pvcprotection/pvc_protection_controller.go`.

use api::{Edit, Kind, PersistentVolumeClaim};
use controller::{Facts, ObjectRef, Plan, Step, Why, Write};
use mutant::Mutant;
use serde_json::Value;

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
    let names = claim.meta.finalizers.iter().map(|name| &**name);
    let finalizers = names.chain([PersistentVolumeClaim::PROTECTION]).collect();
    update_finalizers(claim, "it lacks the finalizer", finalizers)
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
            let names = claim.meta.finalizers.iter().map(|name| &**name);
            let rest = names.filter(|name| *name != PersistentVolumeClaim::PROTECTION).collect();
            update_finalizers(claim, "no pod uses it", rest)
        }
    }
}

fn update_finalizers(
    claim: &PersistentVolumeClaim,
    why: impl Into<Why>,
    finalizers: Vec<&str>,
) -> Plan {
    let value = if finalizers.is_empty() { Value::Null } else { finalizers.into() };
    let object = ObjectRef::new(&PersistentVolumeClaim::RESOURCE, &claim.meta);
    let edits = vec![Edit::new(["metadata", "finalizers"], value)];
    let update = Write::update(object, claim.raw.clone(), edits);
    Plan::one(why, Step::InOrder(vec![update.into()]))
}
