//! What is said of a policy. As `reconcile` in upstream's
//! `pkg/controller/validatingadmissionpolicystatus/controller.go`.

use api::{Kind, ValidatingAdmissionPolicy};
use controller::{ObjectRef, PatchKind, Plan, Step, Write};
use mutant::Mutant;
use serde_json::json;

use super::snapshot::Snapshot;

/// Owns what is applied; upstream's name.
const FIELD_MANAGER: &str = "validatingadmissionpolicy-status";

pub(super) fn decide(s: &Snapshot) -> Plan {
    let policy = &s.policy;
    if let Some(error) = &policy.unreadable {
        return Plan::failed("the policy cannot be read", error.to_string());
    }
    let generation = policy.meta.generation;
    if generation <= policy.observed_generation {
        return Plan::rest(format!("generation {generation} was looked at"));
    }
    let is_checked = !s.has_something_to_check() || mutant::is(Mutant::AnythingIsChecked);
    let why = if is_checked {
        format!("generation {generation} is new, and has nothing to check")
    } else {
        format!("generation {generation} is new; its expressions are not checked")
    };
    Plan::one(why, Step::InOrder(vec![apply(policy, is_checked).into()]))
}

/// The generation, and whether its expressions are checked. All other fields stay with their
/// managers.
fn apply(policy: &ValidatingAdmissionPolicy, is_checked: bool) -> Write {
    let resource = &ValidatingAdmissionPolicy::RESOURCE;
    let mut body = json!({
        "apiVersion": resource.api_version(),
        "kind": resource.kind,
        "metadata": { "name": &*policy.meta.key.name, "uid": &*policy.meta.uid },
        "status": { "observedGeneration": policy.meta.generation },
    });
    if is_checked {
        body["status"]["typeChecking"] = json!({});
    }
    let kind = PatchKind::Apply { field_manager: FIELD_MANAGER, force: true };
    Write::patch(ObjectRef::new(resource, &policy.meta), kind, body.to_string()).at("status")
}
