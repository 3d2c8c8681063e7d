//! JSON merge patch (RFC 7386).

use serde_json::{Map, Value};

pub(super) fn merge(object: &mut Value, patch: &Value) {
    let (Some(fields), Some(patch)) = (object.as_object_mut(), patch.as_object()) else {
        // What was an object and is to be none is taken as it comes.
        *object = if object.is_object() { patch.clone() } else { pruned(patch) };
        return;
    };
    for (key, value) in patch {
        match (value, fields.get_mut(key)) {
            (Value::Null, _) => drop(fields.remove(key)),
            (_, None | Some(Value::Null)) => drop(fields.insert(key.clone(), pruned(value))),
            (_, Some(old)) => merge(old, value),
        }
    }
}

/// Without the nulls of objects at any depth.
fn pruned(value: &Value) -> Value {
    match value {
        Value::Object(fields) => {
            let fields = fields.iter().filter(|(_, value)| !value.is_null());
            let fields = fields.map(|(key, value)| (key.clone(), pruned(value)));
            Value::Object(fields.collect::<Map<_, _>>())
        }
        Value::Array(items) => Value::Array(items.iter().map(pruned).collect()),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value.clone(),
    }
}
