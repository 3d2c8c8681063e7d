//! The volume claims of a pod: which there are, and what is written to them. As
//! `createPersistentVolumeClaims` and `UpdatePodClaimForRetentionPolicy` in upstream's
//! `stateful_pod_control.go`.

use std::collections::BTreeMap;

use api::{Edit, Kind, PersistentVolumeClaim, Raw, StatefulSet, Text};
use controller::{Action, ObjectRef, Write};
use serde_json::Value;
use serde_json::value::RawValue;

use super::events::{self, Deed};
use super::retention::Couple;
use super::snapshot::Snapshot;

/// What a pod needs of its claims.
#[derive(Default)]
pub(super) struct Needs {
    /// Makes those that are not there.
    pub(super) creates: Vec<Action>,
    /// Why it cannot have them all.
    pub(super) error: Option<String>,
}

/// Makes the claims that are not there. `deed` fails with them, and an Event reports that too;
/// none: Events report the claims alone.
pub(super) fn missing(s: &Snapshot, couple: Couple<'_>, deed: Option<Deed>) -> Needs {
    let mut needs = Needs::default();
    let mut errors = Vec::new();
    for (template, name) in s.claim_names(couple.ordinal) {
        match s.claims.get(&name) {
            Some(claim) if claim.meta.is_terminating() => {
                errors.push(format!("pvc {name} is being deleted"));
            }
            Some(_) => {}
            None => match create(&s.set, template, &name) {
                Ok(create) => {
                    let of_claim = events::of_claim(&s.set, couple.name, &name);
                    let what = format!("failed to create PVC {name}: ");
                    let told = deed.map(|it| events::toward_pod(&s.set, it, couple.name, &what));
                    let told = std::iter::once(of_claim).chain(told);
                    needs.creates.push(told.fold(create, Write::announced).into());
                }
                Err(error) => errors.push(format!("failed to create PVC {name}: {error}")),
            },
        }
    }
    needs.error = match errors.as_slice() {
        [] => None,
        [error] => Some(error.clone()),
        errors => Some(format!("[{}]", errors.join(", "))),
    };
    needs
}

/// Gives the claims that are there the owners that the retention policy says. `deed` is what fails
/// if they cannot have them; none: no Event reports it.
pub(super) fn own(s: &Snapshot, couple: Couple<'_>, deed: Option<Deed>) -> Vec<Action> {
    let mut writes = Vec::new();
    let claims = s.claim_names(couple.ordinal).filter_map(|(_, name)| s.claims.get(&name));
    for claim in claims {
        let name = &claim.meta.key.name;
        if couple.has_other_manager(&claim.meta) {
            writes.push(events::conflicting(&s.set, name));
        }
        if !couple.is_up_to_date(&claim.meta) && claim.unreadable.is_none() {
            let object = ObjectRef::new(&PersistentVolumeClaim::RESOURCE, &claim.meta);
            let update = Write::update(object, claim.raw.clone(), vec![couple.update(claim)]);
            let what = format!("could not update claim {name} for delete policy ownerRefs: ");
            let told = deed.map(|deed| events::toward_pod(&s.set, deed, couple.name, &what));
            writes.push(told.into_iter().fold(update, Write::announced).into());
        }
    }
    writes
}

/// Whether all claims that are there have the owners that the retention policy says. As
/// `ClaimsMatchRetentionPolicy`.
pub(super) fn are_owned(s: &Snapshot, couple: Couple<'_>) -> bool {
    let mut claims = s.claim_names(couple.ordinal).filter_map(|(_, name)| s.claims.get(&name));
    claims.all(|claim| claim.unreadable.is_some() || couple.is_up_to_date(&claim.meta))
}

/// The claim that keeps a pod from being made, since it is of an earlier one.
pub(super) fn stale<'a>(s: &'a Snapshot, couple: Couple<'_>) -> Option<&'a Text> {
    let mut claims = s.claim_names(couple.ordinal).filter_map(|(_, name)| s.claims.get(&name));
    let stale = claims.find(|claim| couple.is_blocked_by(&claim.meta))?;
    Some(&stale.meta.key.name)
}

/// A claim from the template of this name. As `getPersistentVolumeClaims`.
fn create(set: &StatefulSet, template: &str, name: &str) -> Result<Write, String> {
    let text = |error: serde_json::Error| error.to_string();
    let spec = set.raw.field("spec").map_or("{}", RawValue::get);
    let spec: BTreeMap<&str, &RawValue> = serde_json::from_str(spec).map_err(text)?;
    let templates = spec.get("volumeClaimTemplates").map_or("[]", |list| list.get());
    let templates: Vec<&RawValue> = serde_json::from_str(templates).map_err(text)?;
    let at = set.claims.iter().position(|known| **known == *template);
    let template = at.and_then(|at| templates.get(at)).ok_or("the template is gone")?;
    let template = Raw::parse(template.get().as_bytes()).map_err(|error| error.0)?;
    let selector = spec.get("selector").map_or("{}", |selector| selector.get());
    let selector: Value = serde_json::from_str(selector).map_err(text)?;
    let labels = selector.get("matchLabels").and_then(Value::as_object);
    let labels = labels.into_iter().flatten();
    let namespace = &set.meta.key.namespace;
    let mut edits = vec![
        Edit::new(["metadata", "name"], Value::from(name)),
        Edit::new(["metadata", "namespace"], Value::from(&**namespace)),
    ];
    edits
        .extend(labels.map(|(label, value)| {
            Edit::new(["metadata", "labels", label.as_str()], value.clone())
        }));
    let body = template.edited(&PersistentVolumeClaim::RESOURCE, &edits).map_err(text)?;
    Ok(Write::create(PersistentVolumeClaim::RESOURCE, namespace.clone(), body))
}
