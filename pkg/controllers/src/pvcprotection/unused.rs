//! The condition that says since when a claim is unused. As `updateUnusedCondition`.

use api::{Edit, Kind, PersistentVolumeClaim, Status};
use controller::{Facts, ObjectRef, Plan, Step, Write};
use serde_json::{Value, json};

use super::snapshot::Snapshot;
use super::usage::{Live, live, refers};

/// What is to be done first; none: the condition is right.
pub(super) fn update(s: &Snapshot, facts: &Facts) -> Option<Plan> {
    let says_unused = s.claim.unused == Some(Status::True);
    let referrer = match &s.referrer {
        Some(pod) => Live::Pod(pod.clone()),
        // If that is wrong by now, the pod enqueues the claim once the cache shows it.
        None if says_unused => return None,
        None => live(&s.claim, facts, |pod| refers(pod, &s.claim)),
    };
    match referrer {
        Live::Ask(query) => {
            Some(Plan::fetch("does a pod refer to it that the cache lacks?", vec![query]))
        }
        Live::Unknown(why, error) => Some(Plan::failed(why, error)),
        Live::Pod(pod) if says_unused || s.claim.unused.is_none() => {
            let message = "A pod is currently referencing this PVC";
            let why = format!("pod {pod} refers to it, and its condition does not say so");
            Some(set(s, why, ("False", "PodUsingPVC", message)))
        }
        Live::Pod(_) => None,
        Live::Unused => {
            let why = "no pod refers to it, and its condition does not say so".to_owned();
            let message = "No pods are currently referencing this PVC";
            Some(set(s, why, ("True", "NoPodsUsingPVC", message)))
        }
    }
}

/// As `setUnusedCondition`.
fn set(s: &Snapshot, why: String, (status, reason, message): (&str, &str, &str)) -> Plan {
    let claim = &s.claim;
    let known = claim.raw.field("status").map(|status| serde_json::from_str(status.get()));
    let known: Value = known.and_then(Result::ok).unwrap_or_default();
    let mut conditions = match known.get("conditions") {
        Some(Value::Array(conditions)) => conditions.clone(),
        _ => Vec::new(),
    };
    let condition = json!({
        "type": "Unused",
        "status": status,
        "lastTransitionTime": s.now.to_string(),
        "reason": reason,
        "message": message,
    });
    match conditions.iter_mut().find(|known| known["type"] == "Unused") {
        Some(known) => *known = condition,
        None => conditions.push(condition),
    }
    let object = ObjectRef::new(&PersistentVolumeClaim::RESOURCE, &claim.meta);
    let edits = vec![Edit::new(["status", "conditions"], conditions.into())];
    let update = Write::update(object, claim.raw.clone(), edits).at("status");
    Plan::one(why, Step::InOrder(vec![update.into()]))
}
