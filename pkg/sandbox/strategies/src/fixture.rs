//! What tests share.

use api::Time;
use serde_json::{Map, Value, json};

use crate::{Cell, Environment, Fault, Invalid, Strategy};

/// 2024-05-01T12:00:00Z.
pub(crate) const NOW: &str = "2024-05-01T12:00:00Z";

pub(crate) fn now() -> Time {
    Time::parse(NOW).unwrap()
}

/// A value with the fields of a patch; null drops one (RFC 7386).
pub(crate) fn merged(base: &Value, patch: &Value) -> Value {
    let Value::Object(patch) = patch else { return patch.clone() };
    let mut fields: Map<String, Value> = base.as_object().cloned().unwrap_or_default();
    for (name, value) in patch {
        if value.is_null() {
            fields.remove(name);
        } else {
            let field = fields.entry(name.clone()).or_insert(Value::Null);
            *field = merged(field, value);
        }
    }
    Value::Object(fields)
}

/// Faults, a line each: field, what, detail.
pub(crate) fn lines(faults: &[Invalid]) -> Vec<String> {
    faults.iter().map(line).collect()
}

fn line(invalid: &Invalid) -> String {
    let field = &invalid.field;
    match &invalid.fault {
        Fault::Required(detail) => format!("{field} required: {detail}"),
        Fault::Invalid(value, detail) => format!("{field} invalid {value}: {detail}"),
        Fault::Omitted(detail) => format!("{field} invalid: {detail}"),
        Fault::NotSupported(value, known) => {
            format!("{field} unsupported {value}: {}", known.join(" "))
        }
        Fault::Duplicate(value) => format!("{field} duplicate {value}"),
        Fault::Forbidden(detail) => format!("{field} forbidden: {detail}"),
        Fault::NotFound(value) => format!("{field} not found {value}"),
        Fault::TooLong(most) => format!("{field} too long: {most}"),
        Fault::TooMany(found, most) => format!("{field} too many: {found} of {most}"),
    }
}

/// With its defaults.
pub(crate) fn defaulted(strategy: &dyn Strategy, object: &Value) -> Value {
    let mut object = object.clone();
    strategy.default(&mut object);
    object
}

/// As a request creates it.
pub(crate) fn created(strategy: &dyn Strategy, object: &Value) -> Value {
    let mut object = defaulted(strategy, object);
    strategy.prepare_create(&mut object, &environment());
    object
}

/// As a request updates it.
pub(crate) fn updated(strategy: &dyn Strategy, new: &Value, old: &Value) -> Value {
    let mut new = defaulted(strategy, new);
    strategy.prepare_update(&mut new, old, &environment());
    new
}

/// As a request updates its status.
pub(crate) fn status_updated(strategy: &dyn Strategy, new: &Value, old: &Value) -> Value {
    let mut new = defaulted(strategy, new);
    strategy.prepare_status(&mut new, old, &environment());
    new
}

/// What an update is refused for.
pub(crate) fn refused(strategy: &dyn Strategy, new: &Value, old: &Value) -> Vec<String> {
    lines(&strategy.validate_update(&updated(strategy, new, old), old))
}

/// A row of its table, which has a cell per column.
pub(crate) fn row(strategy: &dyn Strategy, object: &Value) -> Vec<Cell> {
    let row = strategy.row(object, now());
    assert_eq!(row.len(), strategy.columns().len(), "a cell per column");
    row
}

/// A template with one container and these labels.
pub(crate) fn template(labels: &Value) -> Value {
    let container = json!({ "name": "main", "image": "web:1" });
    json!({ "metadata": { "labels": labels }, "spec": { "containers": [container] } })
}

pub(crate) fn environment() -> Environment<'static> {
    Environment { now: now(), random: &|| 4 }
}
