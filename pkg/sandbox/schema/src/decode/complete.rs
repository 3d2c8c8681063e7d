//! What is written of an object: which empty fields Go leaves out, and which it writes.

use serde_json::{Map, Value};

use crate::{Presence, Scalar, Schema, Shape, TypeId};

/// Makes an object of type `id` as Go writes it: empty fields are there or not as `omitempty` and
/// pointers say, null only where a null is written. [`crate::decode`] has done it to what it read;
/// code that changes an object afterwards does it again.
pub fn complete(schema: &Schema, id: TypeId, object: &mut Value) {
    if let Value::Object(fields) = object {
        complete_fields(schema, id, fields);
    }
}

/// Walks over what the object holds: that is much less than what its type may hold.
fn complete_fields(schema: &Schema, id: TypeId, fields: &mut Map<String, Value>) {
    let ty = schema.get(id);
    fields.retain(|name, value| {
        let Some(field) = ty.field(name) else { return true };
        if value.is_null() {
            return matches!(field.presence, Presence::Always | Presence::Nullable);
        }
        complete_shape(schema, &field.shape, value);
        field.presence != Presence::Filled || !is_empty(value)
    });
    for field in ty.present() {
        if fields.get(field.name).is_none_or(Value::is_null) {
            let value = match field.presence {
                Presence::Always => zero(schema, &field.shape),
                Presence::Given | Presence::Filled | Presence::Nullable => Value::Null,
            };
            fields.insert(field.name.to_owned(), value);
        }
    }
}

fn complete_shape(schema: &Schema, shape: &Shape, value: &mut Value) {
    match (shape, value) {
        (Shape::Object(id), value) => complete(schema, *id, value),
        (Shape::List { item, .. }, Value::Array(items)) => {
            for it in items {
                complete_item(schema, item, it);
            }
        }
        (Shape::Map { value: item, .. }, Value::Object(items)) => {
            for it in items.values_mut() {
                complete_item(schema, item, it);
            }
        }
        _ => {}
    }
}

/// An item has no field that could be left out.
fn complete_item(schema: &Schema, shape: &Shape, value: &mut Value) {
    match value {
        Value::Null => *value = zero(schema, shape),
        _ => complete_shape(schema, shape, value),
    }
}

/// What Go's `omitempty` leaves out.
fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Bool(it) => !it,
        Value::Number(it) => it.as_f64() == Some(0.0),
        Value::String(it) => it.is_empty(),
        Value::Array(it) => it.is_empty(),
        Value::Object(it) => it.is_empty(),
    }
}

/// Go's zero value.
fn zero(schema: &Schema, shape: &Shape) -> Value {
    match shape {
        Shape::Object(id) => {
            let mut fields = Map::new();
            complete_fields(schema, *id, &mut fields);
            fields.into()
        }
        Shape::Map { .. } | Shape::List { .. } | Shape::Any => Value::Null,
        Shape::Scalar(scalar) => match scalar {
            Scalar::String => "".into(),
            Scalar::Quantity => "0".into(),
            Scalar::Bytes | Scalar::Time | Scalar::MicroTime => Value::Null,
            Scalar::IntOrString | Scalar::Int32 | Scalar::Int64 | Scalar::Double => 0.into(),
            Scalar::Bool => false.into(),
        },
    }
}
