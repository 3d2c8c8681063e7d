//! What becomes of the claims of a pod: which are made, named and reserved. As `syncPod` and
//! `handleClaim` in upstream's `pkg/controller/resourceclaim/controller.go`.

use std::collections::BTreeSet;
use std::sync::Arc;

use api::{
    ClaimName, Edit, Key, Kind, Pod, PodResourceClaim, ResourceClaim, ResourceClaimTemplate, Text,
};
use controller::{
    Action, Announce, Count, Event, EventType, Family, ObjectRef, PatchKind, Plan, Retry, Step,
    When, Why, Write,
};
use serde_json::{Value, json};

use super::pods::needs_reservation;
use super::snapshot::{Found, PodSnapshot};
use super::{is_done, is_for, names};

/// Upstream's pkg/controller/resourceclaim/metrics.
pub(super) const CREATES_TOTAL: Family = Family::counter(
    "resourceclaim_controller_creates_total",
    "[ALPHA] Number of ResourceClaims creation requests, categorized by creation status and admin \
     access",
)
.labels(&["status", "admin_access"]);
/// Owns the entries of the status; upstream's name.
const FIELD_MANAGER: &str = "ResourceClaimController";
/// The reason of its Events.
const FAILED: &str = "FailedResourceClaimCreation";

/// What an entry needs.
enum Need {
    /// Nothing: its claim is there, or somebody else makes it, or there need not be one.
    Nothing,
    /// The status must name this claim.
    Name(Text),
    /// A claim of this template.
    Make(Arc<ResourceClaimTemplate>),
    /// A person.
    Blocked(String),
}

pub(super) fn decide(s: &PodSnapshot) -> Plan {
    let pod = &*s.pod;
    if pod.meta.is_terminating() {
        return Plan::rest("the pod is being deleted");
    }
    if is_done(pod) {
        return Plan::rest("the pod is over, and needs no claim any more");
    }
    let about = Arc::new(ObjectRef::new(&Pod::RESOURCE, &pod.meta));
    let (mut missing, mut names) = (Vec::new(), Vec::new());
    for (entry, found) in s.entries() {
        match need(s, entry, found) {
            Need::Nothing => names.push((entry, None)),
            Need::Name(name) => names.push((entry, Some(name))),
            Need::Make(template) => missing.push(create(pod, &about, entry, &template)),
            Need::Blocked(error) => return blocked(pod, (about, missing), entry, &error),
        }
    }
    if !missing.is_empty() {
        // In order, as upstream's. The status follows once the cache shows them with their names.
        return Plan::one("claims of templates are missing", Step::InOrder(missing));
    }
    if names.iter().any(|(_, new)| new.is_some()) {
        let why = "the status does not name the claims that were made";
        return Plan::one(why, Step::InOrder(vec![name(pod, &names)]));
    }
    reserve(s)
}

/// As `handleClaim`.
fn need(s: &PodSnapshot, entry: &PodResourceClaim, found: &Found) -> Need {
    match (&entry.claim, &found.named) {
        (ClaimName::NotNeeded | ClaimName::Given(_), _) => return Need::Nothing,
        (ClaimName::Unsupported, _) => return Need::Blocked(unsupported(&s.pod, entry)),
        (ClaimName::Made(_), Some(claim)) if is_for(claim, &s.pod) => return Need::Nothing,
        // What the status names is not there, or is not the pod's.
        (ClaimName::NotMade | ClaimName::Made(_), _) => {}
    }
    if let Some(claim) = &found.made {
        return Need::Name(claim.meta.key.name.clone());
    }
    let name = entry.template.as_deref().unwrap_or_default();
    match &found.template {
        None => Need::Blocked(format!(
            "resource claim template {name:?}: resourceclaimtemplate.resource.k8s.io {name:?} not \
             found"
        )),
        Some(template) => match &template.unreadable {
            Some(error) => Need::Blocked(format!("resource claim template {name:?}: {error}")),
            None if template.has_alternatives && !s.controller.allows_alternatives => {
                let error = "template includes a prioritized list of subrequests, but the feature \
                             is disabled";
                Need::Blocked(error.to_owned())
            }
            None => Need::Make(template.clone()),
        },
    }
}

fn unsupported(pod: &Pod, entry: &PodResourceClaim) -> String {
    let (key, name) = (&pod.meta.key, &entry.name);
    format!(
        "checking for claim before creating it: pod \"{key}\", spec.resourceClaim {name:?}: none \
         of the supported fields are set"
    )
}

/// Something keeps one entry from its claim: what comes before it is made, and what comes after it
/// is not.
fn blocked(
    pod: &Pod,
    (about, mut actions): (Arc<ObjectRef>, Vec<Action>),
    entry: &PodResourceClaim,
    error: &str,
) -> Plan {
    let message = format!("PodResourceClaim {}: {error}", entry.name);
    let error = Some(format!("pod {}, {message}", pod.meta.key));
    let why: Why = format!("a claim cannot be made: {message}").into();
    let (r#type, reason) = (EventType::Warning, FAILED.into());
    actions.push(Action::Event(Event { about, r#type, reason, message }));
    Plan { error, ..Plan::one(why, Step::InOrder(actions)) }
}

fn create(
    pod: &Pod,
    about: &Arc<ObjectRef>,
    entry: &PodResourceClaim,
    template: &ResourceClaimTemplate,
) -> Action {
    let resource = ResourceClaim::RESOURCE;
    let Key { namespace, name } = &pod.meta.key;
    let of_template = template.raw.field("spec").map(|spec| serde_json::from_str(spec.get()));
    let mut of_template: Value = of_template.and_then(Result::ok).unwrap_or_default();
    let mut metadata = json!({
        "generateName": names::prefix(name, &entry.name),
        "namespace": **namespace,
        "ownerReferences": [{
            "apiVersion": Pod::RESOURCE.api_version(),
            "kind": Pod::RESOURCE.kind,
            "name": **name,
            "uid": *pod.meta.uid,
            "controller": true,
        }],
        "annotations": of_template["metadata"]["annotations"].take(),
    });
    metadata["annotations"][ResourceClaim::POD_CLAIM] = (*entry.name).into();
    if let Value::Object(labels) = of_template["metadata"]["labels"].take() {
        metadata["labels"] = labels.into();
    }
    let body = json!({
        "apiVersion": resource.api_version(),
        "kind": resource.kind,
        "metadata": metadata,
        "spec": of_template["spec"].take(),
    });
    let start = format!("PodResourceClaim {}: create ResourceClaim : ", entry.name);
    let announce =
        Announce { about: about.clone(), done: None, failed: (FAILED, start.into()), silent: &[] };
    let count = |status: &str, when| {
        let labels = [status.to_owned(), template.admin_access.to_string()];
        Count::one(&CREATES_TOTAL).labels(labels).when(when)
    };
    let counts = vec![count("success", When::Done), count("failure", When::Failed)];
    let create = Write::create(resource, namespace.clone(), body.to_string());
    create.announced(announce).counted(counts).into()
}

/// Writes the names of all claims that were made into the status: an apply takes away what it does
/// not send.
fn name(pod: &Pod, names: &[(&PodResourceClaim, Option<Text>)]) -> Action {
    let entry = |(entry, new): &(&PodResourceClaim, Option<Text>)| {
        let name = match (new, &entry.claim) {
            (Some(name), _) | (None, ClaimName::Made(name)) => Some(name),
            (None, ClaimName::NotNeeded) => None,
            (None, ClaimName::Given(_) | ClaimName::NotMade | ClaimName::Unsupported) => {
                return None;
            }
        };
        let mut status = json!({"name": *entry.name});
        if let Some(name) = name {
            status["resourceClaimName"] = (**name).into();
        }
        Some(status)
    };
    let statuses: Vec<Value> = names.iter().filter_map(entry).collect();
    let Key { namespace, name } = &pod.meta.key;
    let body = json!({
        "apiVersion": Pod::RESOURCE.api_version(),
        "kind": Pod::RESOURCE.kind,
        "metadata": {"name": **name, "namespace": **namespace, "uid": *pod.meta.uid},
        "status": {"resourceClaimStatuses": statuses},
    });
    let kind = PatchKind::Apply { field_manager: FIELD_MANAGER, force: true };
    let object = ObjectRef::new(&Pod::RESOURCE, &pod.meta);
    Write::patch(object, kind, body.to_string()).at("status").into()
}

/// Reserves the claims of a pod that has its node. As the second half of `syncPod`.
fn reserve(s: &PodSnapshot) -> Plan {
    let pod = &*s.pod;
    if pod.node_name.is_none() {
        return Plan::rest("the claims are there; the scheduler reserves them");
    }
    let (mut writes, mut known) = (Vec::new(), BTreeSet::new());
    for (entry, found) in s.entries() {
        let Some(name) = entry.claim_name() else { continue };
        let Some(claim) = &found.named else {
            let why = format!("waits for claim {name}, which does not exist");
            return if writes.is_empty() { Plan::rest(why) } else { reserving(writes) };
        };
        if needs_reservation(claim, pod) && claim.unreadable.is_none() && known.insert(name) {
            writes.push(reservation(claim, pod).into());
        }
    }
    if writes.is_empty() {
        return Plan::rest("the claims are there, and reserved once they are allocated");
    }
    reserving(writes)
}

fn reserving(writes: Vec<Action>) -> Plan {
    let why = "the pod has a node, and allocated claims are not reserved for it";
    Plan::one(why, Step::InOrder(writes))
}

/// As `reserveFor`.
fn reservation(claim: &ResourceClaim, pod: &Pod) -> Write {
    let mut consumers = consumers(claim);
    let (name, uid) = (&*pod.meta.key.name, &*pod.meta.uid);
    consumers.push(json!({"resource": Pod::RESOURCE.plural, "name": name, "uid": uid}));
    let edit = Edit::new(["status", "reservedFor"], consumers.into());
    let object = ObjectRef::new(&ResourceClaim::RESOURCE, &claim.meta);
    Write::status(object, claim.raw.clone(), vec![edit], Retry::Never)
}

/// What the claim is reserved for, as it came.
pub(super) fn consumers(claim: &ResourceClaim) -> Vec<Value> {
    let status = claim.raw.field("status").map(|status| serde_json::from_str(status.get()));
    let mut status: Value = status.and_then(Result::ok).unwrap_or_default();
    match status["reservedFor"].take() {
        Value::Array(consumers) => consumers,
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Object(_) => {
            Vec::new()
        }
    }
}
