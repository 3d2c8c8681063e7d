//! Priority: pods have the number that stands behind the name of their class.

use api::Key;
use serde_json::{Value, json};

use super::{Attributes, Operation};
use crate::server::State;
use crate::status::Status;
use crate::write::fields::{has, keep, map, number, text};

const CLASSES: &str = "priorityclasses.scheduling.k8s.io";

pub(super) fn admit(
    state: &State,
    attributes: &Attributes<'_>,
    pod: &mut Value,
    old: Option<&Value>,
) -> Result<(), Status> {
    if !attributes.is("pods") {
        return Ok(());
    }
    if attributes.operation == Operation::Update {
        for field in ["priority", "preemptionPolicy"] {
            if let Some(old) = old.filter(|_| !has(pod, &format!("/spec/{field}"))) {
                keep(pod, old, &["spec"], field);
            }
        }
        return Ok(());
    }
    let class = class_of(state, attributes, pod)?;
    let value = number(&class, "/value").unwrap_or(0);
    if let Some(said) = number(pod, "/spec/priority").filter(|said| *said != value) {
        let why = format!(
            "the integer value of priority ({said}) must not be provided in pod spec; priority \
             admission controller computed {value} from the given PriorityClass name"
        );
        return Err(attributes.forbidden(pod, &why));
    }
    let policy = text(&class, "/preemptionPolicy");
    let said = text(pod, "/spec/preemptionPolicy");
    if !policy.is_empty() && !said.is_empty() && said != policy {
        let why = format!(
            "the string value of PreemptionPolicy ({said}) must not be provided in pod spec; \
             priority admission controller computed {policy} from the given PriorityClass name"
        );
        return Err(attributes.forbidden(pod, &why));
    }
    let name = text(&class, "/metadata/name");
    let spec = map(pod, &["spec"]);
    if !name.is_empty() {
        spec.insert("priorityClassName".to_owned(), name.into());
    }
    spec.insert("priority".to_owned(), value.into());
    if !policy.is_empty() {
        spec.insert("preemptionPolicy".to_owned(), policy.into());
    }
    Ok(())
}

/// There is one default at most.
pub(super) fn validate(
    state: &State,
    attributes: &Attributes<'_>,
    class: &Value,
) -> Result<(), Status> {
    let default = class.get("globalDefault").and_then(Value::as_bool) == Some(true);
    if !attributes.is(CLASSES) || !default {
        return Ok(());
    }
    let Some(known) = default_class(state) else { return Ok(()) };
    let known = text(&known, "/metadata/name");
    let same = known == text(class, "/metadata/name");
    if attributes.operation == Operation::Update && same {
        return Ok(());
    }
    let why =
        format!("PriorityClass {known} is already marked as default. Only one default can exist");
    Err(attributes.forbidden(class, &why))
}

/// The class that a pod names, or the default.
fn class_of(state: &State, attributes: &Attributes<'_>, pod: &Value) -> Result<Value, Status> {
    let name = text(pod, "/spec/priorityClassName");
    if name.is_empty() {
        let none = || json!({"value": 0, "preemptionPolicy": "PreemptLowerPriority"});
        return Ok(default_class(state).unwrap_or_else(none));
    }
    let stored = state.store.get(CLASSES, &Key::new("", name));
    stored.map(|stored| serde_json::Value::clone(&stored.object)).ok_or_else(|| {
        let why = format!("no PriorityClass with name {name} was found");
        attributes.forbidden(pod, &why)
    })
}

/// Of several defaults that with the lowest value.
fn default_class(state: &State) -> Option<Value> {
    let classes = state.store.list(CLASSES, None);
    let is_default = |it: &Value| it.get("globalDefault").and_then(Value::as_bool) == Some(true);
    let defaults = classes.iter().filter(|it| is_default(&it.object));
    let lowest = defaults.min_by_key(|it| number(&it.object, "/value").unwrap_or(0));
    lowest.map(|stored| serde_json::Value::clone(&stored.object))
}
