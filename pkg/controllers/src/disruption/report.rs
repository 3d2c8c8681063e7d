//! The status of a budget. As `updatePdbStatus` and `failSafe` in upstream's
//! `pkg/controller/disruption/disruption.go`.

use api::{Amount, BudgetCondition, Edit, Kind, PodDisruptionBudget, Status, Time, go};
use controller::{ObjectRef, Retry, Write};
use serde_json::{Map, Value, json};

use super::decide::{Counts, Verdict};
use super::snapshot::Snapshot;

/// None if the status is right already.
pub(super) fn report(s: &Snapshot, verdict: &Verdict) -> Option<Write> {
    let edits = match verdict {
        Verdict::Nothing => return None,
        Verdict::Counted(counts) => counted(s, counts)?,
        Verdict::Failed(error) => fail_safe(s, error)?,
    };
    let object = ObjectRef::new(&PodDisruptionBudget::RESOURCE, &s.budget.meta);
    Some(Write::status(object, s.budget.raw.clone(), edits, Retry::Never))
}

/// The budget and its pods in a few numbers.
pub(super) fn summary(s: &Snapshot) -> Vec<(&'static str, String)> {
    let PodDisruptionBudget { meta, status, .. } = &*s.budget;
    let count =
        |what: fn(&api::Pod) -> bool| s.pods.iter().filter(|pod| what(pod)).count().to_string();
    let mut facts = Vec::new();
    if let Some(error) = &s.budget.unreadable {
        facts.push(("left alone", format!("the budget cannot be read: {error}")));
    }
    let amount = |amount: &Amount| match amount {
        Amount::Count(count) => count.to_string(),
        Amount::Share(share) => share.clone(),
    };
    facts.extend(s.budget.min_available.as_ref().map(|it| ("min available", amount(it))));
    facts.extend(s.budget.max_unavailable.as_ref().map(|it| ("max unavailable", amount(it))));
    facts.extend([
        ("pods", s.pods.len().to_string()),
        ("ready", count(api::Pod::is_ready)),
        ("terminating", count(|pod| pod.meta.is_terminating())),
        ("managed by nothing", count(|pod| pod.meta.controller().is_none())),
        ("disrupted", status.disrupted_pods.len().to_string()),
        ("disruptions allowed so far", status.disruptions_allowed.to_string()),
        ("generation", meta.generation.to_string()),
        ("observed generation", status.observed_generation.to_string()),
        ("resource version", meta.resource_version.to_string()),
    ]);
    facts
}

/// The selector as Go prints it.
pub(super) fn selector(budget: &PodDisruptionBudget) -> String {
    let spec = budget.raw.field("spec").map(|spec| serde_json::from_str(spec.get()));
    let spec: Value = spec.and_then(Result::ok).unwrap_or_default();
    go::label_selector(spec.get("selector").unwrap_or(&Value::Null))
}

/// The fields to write: all numbers; none if they are right.
fn counted(s: &Snapshot, counts: &Counts) -> Option<Vec<Edit>> {
    let PodDisruptionBudget { meta, status, .. } = &*s.budget;
    let is_right = status.current_healthy == counts.current
        && status.desired_healthy == counts.desired
        && status.expected_pods == counts.expected
        && status.disruptions_allowed == counts.allowed
        && status.disrupted_pods == counts.disrupted
        && status.observed_generation == meta.generation
        && is_up_to_date(status.allowed.as_ref(), counts.allowed);
    if is_right {
        return None;
    }
    let (holds, reason) = condition_of(counts.allowed);
    let condition = BudgetCondition {
        status: holds,
        reason: reason.to_owned(),
        message: String::new(),
        observed_generation: meta.generation,
    };
    let disrupted = if counts.disrupted.is_empty() { Value::Null } else { json!(counts.disrupted) };
    Some(vec![
        Edit::new(["status", "currentHealthy"], json!(counts.current)),
        Edit::new(["status", "desiredHealthy"], json!(counts.desired)),
        Edit::new(["status", "expectedPods"], json!(counts.expected)),
        Edit::new(["status", "disruptionsAllowed"], json!(counts.allowed)),
        Edit::new(["status", "disruptedPods"], disrupted),
        Edit::new(["status", "observedGeneration"], json!(meta.generation)),
        conditions(s, &condition),
    ])
}

/// As `ConditionsAreUpToDate` in component-helpers, which looks at neither message nor generation.
fn is_up_to_date(condition: Option<&BudgetCondition>, allowed: i32) -> bool {
    let (holds, reason) = condition_of(allowed);
    condition.is_some_and(|condition| condition.status == holds && condition.reason == reason)
}

/// Status and reason. As `UpdateDisruptionAllowedCondition`.
fn condition_of(allowed: i32) -> (Status, &'static str) {
    if allowed > 0 { (Status::True, "SufficientPods") } else { (Status::False, "InsufficientPods") }
}

/// Nothing may be evicted; the other numbers stay, and so does the generation they speak of.
fn fail_safe(s: &Snapshot, error: &str) -> Option<Vec<Edit>> {
    let status = &s.budget.status;
    let condition = BudgetCondition {
        status: Status::False,
        reason: "SyncFailed".to_owned(),
        message: error.to_owned(),
        observed_generation: status.observed_generation,
    };
    if status.disruptions_allowed == 0 && status.allowed.as_ref() == Some(&condition) {
        return None;
    }
    let allowed = Edit::new(["status", "disruptionsAllowed"], json!(0));
    Some(vec![allowed, conditions(s, &condition)])
}

/// All conditions, with this one among them. As `SetStatusCondition`: its time changes with its
/// status alone.
fn conditions(s: &Snapshot, condition: &BudgetCondition) -> Edit {
    let status = s.budget.raw.field("status").map(|status| serde_json::from_str(status.get()));
    let mut status: Value = status.and_then(Result::ok).unwrap_or_default();
    let known = status.get_mut("conditions").map(Value::take);
    let Value::Array(mut all) = known.unwrap_or_default() else {
        return conditions_edit(vec![set(json!({}), condition, s.now)]);
    };
    let is_it =
        |it: &Value| it.get("type") == Some(&json!(PodDisruptionBudget::DISRUPTION_ALLOWED));
    match all.iter_mut().find(|it| is_it(it)) {
        Some(known) => *known = set(known.take(), condition, s.now),
        None => all.push(set(json!({}), condition, s.now)),
    }
    conditions_edit(all)
}

fn conditions_edit(all: Vec<Value>) -> Edit {
    Edit::new(["status", "conditions"], Value::Array(all))
}

fn set(known: Value, condition: &BudgetCondition, now: Time) -> Value {
    let mut fields = match known {
        Value::Object(fields) => fields,
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
            Map::new()
        }
    };
    let BudgetCondition { status, reason, message, observed_generation } = condition;
    let holds = json!(status);
    if fields.get("status") != Some(&holds) {
        fields.insert("lastTransitionTime".to_owned(), json!(now));
    }
    let values = [
        ("type", json!(PodDisruptionBudget::DISRUPTION_ALLOWED)),
        ("status", holds),
        ("reason", json!(reason)),
        ("message", json!(message)),
        ("observedGeneration", json!(observed_generation)),
    ];
    for (name, value) in values {
        fields.insert(name.to_owned(), value);
    }
    Value::Object(fields)
}
