//! The status of an autoscaler. As `setStatus` and `updateStatusIfNeeded` in upstream's
//! horizontal.go.

use std::borrow::Cow;
use std::sync::Arc;

use api::{Edit, HorizontalPodAutoscaler as Autoscaler, Kind, Status, Time};
use controller::{Announce, ObjectRef, Outcome, Retry, Write};
use serde_json::{Map, Value, json};

use super::decide::{ConditionChange, Decision, has_outside_metric, is_tried_again};
use super::snapshot::Snapshot;

/// The fields of a status.
const FIELDS: [&str; 6] = [
    "conditions",
    "currentMetrics",
    "currentReplicas",
    "desiredReplicas",
    "lastScaleTime",
    "observedGeneration",
];

/// None if the status is right already.
pub(super) fn report(s: &Snapshot, decision: &Decision, outcome: &Outcome) -> Option<Write> {
    if outcome.unsettled || is_tried_again(s, outcome) {
        return None;
    }
    let old = written(s);
    let new = status(s, decision, outcome, &old);
    let differs = |name: &&&str| weigh(old.get(**name)) != weigh(new.get(**name));
    let edits = FIELDS
        .iter()
        .filter(differs)
        .map(|name| Edit::new(["status", *name], new.get(*name).cloned().unwrap_or_default()));
    let edits: Vec<_> = edits.collect();
    if edits.is_empty() {
        return None;
    }
    let object = ObjectRef::new(&Autoscaler::RESOURCE, &s.autoscaler.meta);
    let failed = ("FailedUpdateStatus", Cow::Borrowed(""));
    let about = Arc::new(object.clone());
    let write = Write::status(object, s.autoscaler.raw.clone(), edits, Retry::Never);
    Some(write.announced(Announce { about, done: None, failed, silent: &[] }))
}

/// The status as it was written last.
fn written(s: &Snapshot) -> Map<String, Value> {
    let status = s.autoscaler.raw.field("status").map(|status| serde_json::from_str(status.get()));
    status.and_then(Result::ok).unwrap_or_default()
}

/// The status as it should be.
fn status(
    s: &Snapshot,
    decision: &Decision,
    outcome: &Outcome,
    old: &Map<String, Value>,
) -> Map<String, Value> {
    let mut status = old.clone();
    let failure = outcome.step.and(outcome.error.as_ref());
    let changes = decision.conditions.iter().cloned();
    let changes = changes.chain(after_write(s, decision, failure));
    let conditions = status.get("conditions").and_then(Value::as_array).cloned();
    let mut conditions = conditions.unwrap_or_default();
    changes.for_each(|change| apply(&mut conditions, change, s.now));
    status.insert("conditions".to_owned(), Value::Array(conditions));
    let Some(numbers) = &decision.numbers else { return status };
    // Upstream makes the status anew, without the generation that it speaks of.
    status.remove("observedGeneration");
    status.insert("currentReplicas".to_owned(), numbers.current.into());
    let desired = numbers.desired.filter(|_| failure.is_none());
    let desired = desired.unwrap_or(s.autoscaler.status.desired_replicas);
    status.insert("desiredReplicas".to_owned(), desired.into());
    status.insert("currentMetrics".to_owned(), Value::Array(numbers.metrics.clone()));
    if decision.rescale.is_some() && failure.is_none() {
        status.insert("lastScaleTime".to_owned(), json!(s.now));
    }
    status
}

/// What the write of the new size says.
fn after_write(
    s: &Snapshot,
    decision: &Decision,
    failure: Option<&String>,
) -> Vec<ConditionChange> {
    let Some(rescale) = &decision.rescale else { return Vec::new() };
    let set =
        |r#type, status, reason, message| ConditionChange::Set { r#type, status, reason, message };
    if let Some(error) = failure {
        let message = format!("the HPA controller was unable to update the target scale: {error}");
        let able = Autoscaler::ABLE_TO_SCALE;
        return vec![set(able, Status::False, "FailedUpdateScale", message)];
    }
    let message =
        format!("the HPA controller was able to update the target scale to {}", rescale.to);
    let able = set(Autoscaler::ABLE_TO_SCALE, Status::True, "SucceededRescale", message);
    let zero = Autoscaler::SCALED_TO_ZERO;
    if !s.options.scales_to_zero {
        return vec![able, ConditionChange::Remove(zero)];
    }
    let is_its_doing = rescale.from > 0
        && rescale.to == 0
        && s.autoscaler.min_replicas == 0
        && has_outside_metric(&s.autoscaler);
    let (status, reason, message) = if is_its_doing {
        (Status::True, "ScaledToZero", "the HPA controller scaled the workload to zero")
    } else {
        let message = "the HPA controller did not scale the workload to zero";
        (Status::False, "NotScaledToZero", message)
    };
    vec![able, set(zero, status, reason, message.to_owned())]
}

/// As `setConditionInList`: the time changes with the status alone.
fn apply(conditions: &mut Vec<Value>, change: ConditionChange, now: Time) {
    match change {
        ConditionChange::Remove(name) => {
            conditions.retain(|it| it.get("type") != Some(&json!(name)));
        }
        ConditionChange::Set { r#type, status, reason, message } => {
            let known = conditions.iter().position(|it| it.get("type") == Some(&json!(r#type)));
            let at = known.unwrap_or_else(|| {
                conditions.push(json!({ "type": r#type }));
                conditions.len() - 1
            });
            let Some(condition) = conditions.get_mut(at).and_then(Value::as_object_mut) else {
                return;
            };
            let status = json!(status);
            if condition.get("status") != Some(&status) {
                condition.insert("lastTransitionTime".to_owned(), json!(now));
            }
            condition.insert("status".to_owned(), status);
            condition.insert("reason".to_owned(), json!(reason));
            condition.insert("message".to_owned(), json!(message));
        }
    }
}

/// A field as it is compared: what is empty is absent, also within.
fn weigh(value: Option<&Value>) -> Value {
    match value {
        None => Value::Null,
        Some(Value::Array(items)) if items.is_empty() => Value::Null,
        Some(Value::Array(items)) => items.iter().map(|item| weigh(Some(item))).collect(),
        Some(Value::Object(fields)) => {
            let fields = fields.iter().map(|(name, value)| (name.clone(), weigh(Some(value))));
            fields.filter(|(_, value)| !value.is_null()).collect()
        }
        Some(value) if *value == json!(0) || *value == json!("") => Value::Null,
        Some(value) => value.clone(),
    }
}

/// Why it does not scale, or not as far as its metrics ask for: the first condition that says so.
fn held_back(s: &Snapshot) -> Option<String> {
    let status = written(s);
    let conditions = status.get("conditions").and_then(Value::as_array)?;
    let of = |it: &Value, field: &str| {
        it.get(field).and_then(Value::as_str).unwrap_or_default().to_owned()
    };
    let holds_back = |it: &&Value| {
        let [name, status, reason] = ["type", "status", "reason"].map(|field| of(it, field));
        match name.as_str() {
            Autoscaler::ABLE_TO_SCALE => status != "True" || reason.ends_with("Stabilized"),
            Autoscaler::SCALING_ACTIVE => status != "True",
            Autoscaler::SCALING_LIMITED => status == "True",
            _ => false,
        }
    };
    let found = conditions.iter().find(holds_back)?;
    Some(format!("{}: {}", of(found, "reason"), of(found, "message")))
}

/// The autoscaler in short facts.
pub(super) fn summary(s: &Snapshot) -> Vec<(&'static str, String)> {
    let Autoscaler { meta, target, min_replicas, max_replicas, status, .. } = &*s.autoscaler;
    let ago = |at: std::time::Duration| s.uptime.saturating_sub(at).as_secs();
    let held_back = held_back(s).map(|by| ("held back, as its status has it", by));
    let mut facts: Vec<_> = held_back.into_iter().collect();
    facts.extend([
        ("target", format!("{} {}", target.kind, target.name)),
        ("min replicas", min_replicas.to_string()),
        ("max replicas", max_replicas.to_string()),
        ("metrics", s.autoscaler.metrics.len().to_string()),
        ("current replicas so far", status.current_replicas.to_string()),
        ("desired replicas so far", status.desired_replicas.to_string()),
    ]);
    let recommendations = s.past.recommendations.iter().flatten();
    let recommendations: Vec<_> =
        recommendations.map(|it| format!("{} ({}s ago)", it.replicas, ago(it.at))).collect();
    if !recommendations.is_empty() {
        facts.push(("recommendations", recommendations.join(", ")));
    }
    for (name, events) in [("scaled up", &s.past.ups), ("scaled down", &s.past.downs)] {
        let events: Vec<_> =
            events.iter().map(|it| format!("by {} ({}s ago)", it.change, ago(it.at))).collect();
        if !events.is_empty() {
            facts.push((name, events.join(", ")));
        }
    }
    facts.push(("resource version", meta.resource_version.to_string()));
    facts
}
