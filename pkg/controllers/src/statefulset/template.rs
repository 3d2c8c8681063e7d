//! The pods that a set makes, and what makes a pod what it should be. As
//! `newVersionedStatefulSetPod`, `updateIdentity` and `updateStorage` in upstream's
//! `stateful_set_utils.go`.

use std::collections::BTreeSet;

use api::{ClaimSource, Edit, Kind, Meta, Pod, Raw, StatefulSet};
use controller::{Action, Write, pods};
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::revisions::Revision;
use super::snapshot::Snapshot;
use super::{INDEX_LABEL, NAME_LABEL, REVISION_LABEL, ordinal};

/// Makes the pod with this number from a revision.
pub(super) fn create(s: &Snapshot, at: i32, revision: &Revision) -> Result<Write, String> {
    let text = |error: serde_json::Error| error.to_string();
    let set = &s.set;
    let spec = RawValue::from_string(spec(&revision.data)?).map_err(text)?;
    let creates = pods::creates(&StatefulSet::RESOURCE, &set.meta, Some(&spec), 1)?;
    let body = creates.iter().find_map(Action::write).and_then(Write::created);
    let pod = Raw::parse(body.ok_or("no pod was made")?.as_bytes()).map_err(|error| error.0)?;
    let namespace = set.meta.key.namespace.clone();
    let name = ordinal::pod_name(set, at);
    let mut edits = identity(&name, at);
    edits.extend([
        Edit::new(["metadata", "name"], name.as_str().into()),
        Edit::new(["metadata", "namespace"], Value::from(&*namespace)),
        Edit::new(["metadata", "labels", REVISION_LABEL], revision.name.as_str().into()),
        Edit::new(["spec", "hostname"], name.as_str().into()),
        storage(s, at, &pod),
    ]);
    let service = service(set);
    if !service.is_empty() {
        edits.push(Edit::new(["spec", "subdomain"], service.into()));
    }
    let body = pod.edited(&Pod::RESOURCE, &edits).map_err(text)?;
    Ok(Write::create(Pod::RESOURCE, namespace, body))
}

/// The part of a set's spec that a revision puts back, as JSON.
fn spec(data: &str) -> Result<String, String> {
    let mut data: Value = serde_json::from_str(data).map_err(|error| error.to_string())?;
    let template = data.pointer_mut("/spec/template").map(Value::take);
    let mut template = template.ok_or("the revision has no template")?;
    if let Some(fields) = template.as_object_mut() {
        fields.remove("$patch");
    }
    Ok(json!({ "template": template }).to_string())
}

fn service(set: &StatefulSet) -> String {
    let spec = set.raw.field("spec").map_or("null", RawValue::get);
    let spec: Value = serde_json::from_str(spec).unwrap_or_default();
    spec.get("serviceName").and_then(Value::as_str).unwrap_or_default().to_owned()
}

/// The labels that say which pod it is.
pub(super) fn identity(name: &str, at: i32) -> Vec<Edit> {
    vec![
        Edit::new(["metadata", "labels", NAME_LABEL], name.into()),
        Edit::new(["metadata", "labels", INDEX_LABEL], at.to_string().into()),
    ]
}

/// Whether a pod says that it is the one that its name says. As `identityMatches`.
pub(super) fn is_identified(pod: &Meta) -> bool {
    pod.labels.get(NAME_LABEL) == Some(&*pod.key.name)
}

/// The volumes of the claims, and then those of `pod` with other names.
pub(super) fn storage(s: &Snapshot, at: i32, pod: &Raw) -> Edit {
    let names: BTreeSet<&str> = s.set.claims.iter().map(|name| &**name).collect();
    let claims = s.claim_names(at).map(|(volume, claim)| {
        json!({ "name": &**volume, "persistentVolumeClaim": { "claimName": &*claim } })
    });
    let spec = pod.field("spec").map_or("null", RawValue::get);
    let spec: Value = serde_json::from_str(spec).unwrap_or_default();
    let others = spec.get("volumes").and_then(Value::as_array).into_iter().flatten();
    let others = others.filter(|volume| {
        let name = volume.get("name").and_then(Value::as_str);
        name.is_none_or(|name| !names.contains(name))
    });
    let volumes: Vec<Value> = claims.chain(others.cloned()).collect();
    let volumes = if volumes.is_empty() { Value::Null } else { volumes.into() };
    Edit::new(["spec", "volumes"], volumes)
}

/// The same, if `pod` has others than it should.
pub(super) fn differing_storage(s: &Snapshot, at: i32, pod: &Raw) -> Option<Edit> {
    let wanted = storage(s, at, pod);
    let spec = pod.field("spec").map_or("null", RawValue::get);
    let spec: Value = serde_json::from_str(spec).unwrap_or_default();
    let has = |volume: &Value| {
        let of = |volume: &Value, place| volume.pointer(place).cloned();
        let places = ["/name", "/persistentVolumeClaim/claimName"];
        let known = spec.get("volumes").and_then(Value::as_array);
        let mut known = known.into_iter().flatten();
        known.any(|known| places.iter().all(|place| of(known, place) == of(volume, place)))
    };
    let is_same = wanted.value.as_array().is_none_or(|volumes| volumes.iter().all(has));
    (!is_same).then_some(wanted)
}

/// Whether a pod uses the claims that it should. As `storageMatches`; a claim stands in the volume
/// of its template's name, since its own name begins with that.
pub(super) fn has_claims(s: &Snapshot, at: i32, pod: &Pod) -> bool {
    let mut wanted = s.claim_names(at);
    wanted.all(|(_, name)| pod.claims.contains(&(name, ClaimSource::Named)))
}
