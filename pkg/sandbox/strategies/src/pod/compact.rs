//! Fields that say nothing, and that Go does not write (`omitempty` of fields that are no
//! pointers): templates are compared byte by byte, so one that was sent with `env: []` has to come
//! back without.

use serde_json::Value;

use crate::semantic::{is_map, says_nothing};

/// Lists that are written even if they are empty.
const WRITTEN: [&str; 4] = ["containers", "nodeSelectorTerms", "sources", "monitors"];

/// Removes them from a value that stands in the field of this name.
pub(crate) fn compact(value: &mut Value, inside: &str) {
    match value {
        Value::Object(fields) => {
            if is_map(inside) {
                return;
            }
            fields.iter_mut().for_each(|(field, value)| compact(value, field));
            fields.retain(|field, value| {
                let is_written = match value {
                    Value::Array(_) => WRITTEN.contains(&field.as_str()),
                    Value::Object(_) => !is_map(field),
                    Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
                };
                is_written || !says_nothing(value, field, inside)
            });
        }
        Value::Array(items) => items.iter_mut().for_each(|item| compact(item, inside)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}
