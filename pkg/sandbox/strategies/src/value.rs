//! Reading and writing the fields of objects as Go sees them: what is null is absent, and what is
//! absent is the zero value.
//!
//! What is read is named by a JSON pointer, or by the name of a field if it is right below.

use apimachinery::fields;
use serde_json::{Map, Value};

/// The value there; none if it is absent or null.
pub(crate) fn get<'a>(object: &'a Value, at: &str) -> Option<&'a Value> {
    let found = if is_pointer(at) { fields::at(object, at) } else { object.get(at) };
    found.filter(|value| !value.is_null())
}

/// A copy of the value there, or null.
pub(crate) fn or_null(object: &Value, at: &str) -> Value {
    get(object, at).cloned().unwrap_or_default()
}

/// A text; absent is empty.
pub(crate) fn text<'a>(object: &'a Value, at: &str) -> &'a str {
    maybe(object, at).unwrap_or_default()
}

/// A text that may be absent.
pub(crate) fn maybe<'a>(object: &'a Value, at: &str) -> Option<&'a str> {
    get(object, at)?.as_str()
}

/// A whole number that may be absent.
pub(crate) fn number(object: &Value, at: &str) -> Option<i64> {
    get(object, at)?.as_i64()
}

/// A whole number; absent is 0.
pub(crate) fn count(object: &Value, at: &str) -> i64 {
    number(object, at).unwrap_or_default()
}

/// A truth; absent is false.
pub(crate) fn flag(object: &Value, at: &str) -> bool {
    get(object, at).and_then(Value::as_bool).unwrap_or_default()
}

/// The items of a list.
pub(crate) fn items<'a>(object: &'a Value, at: &str) -> &'a [Value] {
    get(object, at).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}

/// The texts of a list.
pub(crate) fn texts<'a>(object: &'a Value, at: &str) -> Vec<&'a str> {
    items(object, at).iter().map(|item| item.as_str().unwrap_or_default()).collect()
}

/// The entries of a map, sorted by key.
pub(crate) fn entries<'a>(object: &'a Value, at: &str) -> Vec<(&'a str, &'a Value)> {
    let map = get(object, at).and_then(Value::as_object);
    map.into_iter().flatten().map(|(key, value)| (key.as_str(), value)).collect()
}

/// The entries of a map of texts, sorted by key.
pub(crate) fn pairs<'a>(object: &'a Value, at: &str) -> Vec<(&'a str, &'a str)> {
    let entries = entries(object, at).into_iter();
    entries.map(|(key, value)| (key, value.as_str().unwrap_or_default())).collect()
}

/// An annotation of an object; its key may hold slashes.
pub(crate) fn annotation<'a>(object: &'a Value, key: &str) -> Option<&'a str> {
    fields::at(object, "/metadata/annotations")?.get(key)?.as_str()
}

/// The fields of a value, which is made an object if it is none.
pub(crate) fn fields(value: &mut Value) -> &mut Map<String, Value> {
    if !value.is_object() {
        *value = Value::Object(Map::new());
    }
    value.as_object_mut().expect("it has just been made an object")
}

/// The object in a field, made if there is none.
pub(crate) fn section<'a>(value: &'a mut Value, name: &str) -> &'a mut Value {
    let field = fields(value).entry(name).or_insert(Value::Null);
    fields(field);
    field
}

/// The value there, to change it; none if it is absent or null.
pub(crate) fn get_mut<'a>(object: &'a mut Value, at: &str) -> Option<&'a mut Value> {
    let found = if is_pointer(at) { object.pointer_mut(at) } else { object.get_mut(at) };
    found.filter(|value| !value.is_null())
}

/// The items of a list, to change them.
pub(crate) fn items_mut<'a>(
    value: &'a mut Value,
    name: &str,
) -> impl Iterator<Item = &'a mut Value> + use<'a> {
    value.get_mut(name).and_then(Value::as_array_mut).into_iter().flatten()
}

/// Sets a field, or drops it if it is null.
pub(crate) fn set(value: &mut Value, name: &str, to: impl Into<Value>) {
    match to.into() {
        Value::Null => drop(fields(value).remove(name)),
        to => drop(fields(value).insert(name.to_owned(), to)),
    }
}

/// Drops a field, and returns it.
pub(crate) fn remove(value: &mut Value, name: &str) -> Option<Value> {
    value.as_object_mut()?.remove(name)
}

/// Sets a field that is absent: a pointer in Go.
pub(crate) fn fill(value: &mut Value, name: &str, with: impl Into<Value>) {
    let field = fields(value).entry(name).or_insert(Value::Null);
    if field.is_null() {
        *field = with.into();
    }
}

/// Sets a field that is absent, empty or 0: a plain value in Go.
pub(crate) fn fill_zero(value: &mut Value, name: &str, with: impl Into<Value>) {
    let field = fields(value).entry(name).or_insert(Value::Null);
    let is_zero = match field {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Number(number) => number.as_i64() == Some(0),
        Value::Bool(_) | Value::Array(_) | Value::Object(_) => false,
    };
    if is_zero {
        *field = with.into();
    }
}

/// A field stays as it was.
pub(crate) fn keep(new: &mut Value, old: &Value, name: &str) {
    set(new, name, old.get(name).cloned());
}

fn is_pointer(at: &str) -> bool {
    at.is_empty() || at.starts_with('/')
}
