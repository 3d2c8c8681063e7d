//! Whether a claim is protected, or let go. As `processPVC` in upstream's
//! `pkg/controller/volume/pvcprotection/pvc_protection_controller.go`.

use api::{Edit, Key, Kind, PersistentVolumeClaim, Pod};
use controller::{Facts, ObjectRef, Plan, Query, Selector, Step, Why, Write};
use mutant::Mutant;
use serde_json::Value;

use super::snapshot::Snapshot;
use super::unused;
use super::usage::keeps;

/// What the API server knows of the users of a claim.
pub(super) enum Live {
    /// This must be asked first.
    Ask(Query),
    /// This pod.
    Pod(Key),
    /// Nobody.
    Nobody,
    /// It is not known; why, and the error.
    Unknown(&'static str, String),
}

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

/// Lets a claim go that is being deleted, if nobody uses it.
fn release(s: &Snapshot, facts: &Facts) -> Plan {
    let claim = &*s.claim;
    let keeper = match &s.keeper {
        Some(pod) => Live::Pod(pod.clone()),
        None if s.known_unused || mutant::is(Mutant::PodsNotListed) => Live::Nobody,
        None => live(s, facts, |pod| keeps(pod, claim)),
    };
    match keeper {
        Live::Ask(query) => Plan::fetch("does a pod use it that the cache lacks?", vec![query]),
        Live::Pod(pod) => Plan::rest(format!("pod {pod} uses it")),
        Live::Unknown(why, error) => Plan::failed(why, error),
        Live::Nobody => {
            let names = claim.meta.finalizers.iter().map(|name| &**name);
            let rest = names.filter(|name| *name != PersistentVolumeClaim::PROTECTION).collect();
            update_finalizers(claim, "no pod uses it", rest)
        }
    }
}

/// As `askAPIServer`.
pub(super) fn live(s: &Snapshot, facts: &Facts, uses: impl Fn(&Pod) -> bool) -> Live {
    let namespace = s.claim.meta.key.namespace.clone();
    let query = Query::views::<Pod>(namespace, Selector::default());
    let Some(answer) = facts.get(&query) else { return Live::Ask(query) };
    let pods = match answer.views::<Pod>() {
        Ok(Some(pods)) => pods,
        Ok(None) => return unlisted("there are none to be listed"),
        Err(error) => return unlisted(&error.text),
    };
    if let Some(pod) = pods.iter().find(|pod| uses(pod)) {
        return Live::Pod(pod.meta.key.clone());
    }
    match pods.iter().find(|pod| pod.unreadable) {
        Some(pod) => {
            let error = format!("pod {} cannot be read, and may use the claim", pod.meta.key);
            Live::Unknown("a pod may use it", error)
        }
        None => Live::Nobody,
    }
}

fn unlisted(error: &str) -> Live {
    Live::Unknown("the pods are not known", format!("live list of pods failed: {error}"))
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
