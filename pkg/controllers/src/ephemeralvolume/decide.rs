//! Which claims are missing. As `syncHandler` and `handleVolume` in upstream's
//! `pkg/controller/volume/ephemeral/controller.go`.

use std::sync::Arc;

use api::{EphemeralVolume, Key, Kind, PersistentVolumeClaim, Pod};
use controller::{
    Action, Announce, Count, Event, EventType, Family, ObjectRef, Plan, Step, When, Write,
};
use serde_json::{Value, json};

use super::snapshot::{Snapshot, claim_key, is_for};

/// Upstream's pkg/controller/volume/ephemeral/metrics.
pub(super) const CREATE_TOTAL: Family = Family::counter(
    "ephemeral_volume_controller_create_total",
    "[ALPHA] Number of PersistentVolumeClaim creation requests",
);
/// As [`CREATE_TOTAL`]; upstream says the same of both.
pub(super) const CREATE_FAILURES_TOTAL: Family = Family::counter(
    "ephemeral_volume_controller_create_failures_total",
    "[ALPHA] Number of PersistentVolumeClaim creation requests",
);
/// The reason of its Events.
const FAILED_BINDING: &str = "FailedBinding";

pub(super) fn decide(s: &Snapshot) -> Plan {
    let pod = &*s.pod;
    if pod.meta.is_terminating() {
        return Plan::rest("the pod is being deleted");
    }
    let about = Arc::new(ObjectRef::new(&Pod::RESOURCE, &pod.meta));
    let mut missing = Vec::new();
    for (volume, claim) in s.volumes() {
        match claim {
            Some(claim) if is_for(claim, pod) => {}
            Some(claim) => return blocked(pod, (&about, missing), volume, &claim.meta.key),
            None => missing.push(create(pod, &about, volume)),
        }
    }
    if missing.is_empty() {
        return Plan::rest("each ephemeral volume has its claim");
    }
    // In order: what stands behind a failure waits for it, as upstream's.
    Plan::one("claims of ephemeral volumes are missing", Step::InOrder(missing))
}

/// There is a claim in the way: what comes before it is made, and what comes after it is not.
fn blocked(
    pod: &Pod,
    (about, mut actions): (&Arc<ObjectRef>, Vec<Action>),
    volume: &EphemeralVolume,
    claim: &Key,
) -> Plan {
    let key = &pod.meta.key;
    let error = format!("PVC {claim} was not created for pod {key} (pod is not owner)");
    let error = format!("ephemeral volume {}: {error}", volume.name);
    actions.push(Action::Event(Event {
        about: about.clone(),
        r#type: EventType::Warning,
        reason: FAILED_BINDING.into(),
        message: error.clone(),
    }));
    let why = format!("waits until claim {claim} is deleted, which is not of this pod");
    let error = Some(format!("pod {key}, {error}"));
    Plan { error, ..Plan::one(why, Step::InOrder(actions)) }
}

fn create(pod: &Pod, about: &Arc<ObjectRef>, volume: &EphemeralVolume) -> Action {
    let resource = PersistentVolumeClaim::RESOURCE;
    let claim = claim_key(pod, volume);
    let mut body: Value = serde_json::from_str(&volume.template).unwrap_or_else(|_| json!({}));
    let owner = json!({
        "apiVersion": Pod::RESOURCE.api_version(),
        "kind": Pod::RESOURCE.kind,
        "name": *pod.meta.key.name,
        "uid": *pod.meta.uid,
        "controller": true,
        "blockOwnerDeletion": true,
    });
    body["apiVersion"] = resource.api_version().into();
    body["kind"] = (*resource.kind).into();
    let metadata = &mut body["metadata"];
    metadata["name"] = (*claim.name).into();
    metadata["namespace"] = (*claim.namespace).into();
    metadata["ownerReferences"] = json!([owner]);
    let start = format!("ephemeral volume {}: create PVC {}: ", volume.name, claim.name);
    let announce = Announce {
        about: about.clone(),
        done: None,
        failed: (FAILED_BINDING, start.into()),
        silent: &[],
    };
    let counts =
        vec![Count::one(&CREATE_TOTAL), Count::one(&CREATE_FAILURES_TOTAL).when(When::Failed)];
    let create = Write::create(resource, claim.namespace, body.to_string());
    create.announced(announce).counted(counts).into()
}
