//! Reading and changing fields of objects that may lack any of them.

use serde_json::{Map, Value, json};

pub(crate) use apimachinery::fields::{has, items, number, pairs, text};

/// The texts at a JSON pointer.
pub(crate) fn texts(object: &Value, pointer: &str) -> Vec<String> {
    apimachinery::fields::texts(object, pointer).map(ToOwned::to_owned).collect()
}

/// The map below some fields, which is made if there is none.
pub(crate) fn map<'a>(object: &'a mut Value, path: &[&str]) -> &'a mut Map<String, Value> {
    let mut at = as_map(object);
    for field in path {
        at = as_map(at.entry(*field).or_insert(Value::Null));
    }
    at
}

/// The list below some fields, which is made if there is none.
pub(crate) fn list<'a>(object: &'a mut Value, path: &[&str], field: &str) -> &'a mut Vec<Value> {
    let value = map(object, path).entry(field).or_insert(Value::Null);
    if !value.is_array() {
        *value = json!([]);
    }
    value.as_array_mut().expect("it was just made one")
}

/// `metadata`.
pub(crate) fn metadata(object: &mut Value) -> &mut Map<String, Value> {
    map(object, &["metadata"])
}

/// Sets a field, or removes it if `value` is null.
pub(crate) fn set(map: &mut Map<String, Value>, field: &str, value: Value) {
    if value.is_null() {
        map.remove(field);
    } else {
        map.insert(field.to_owned(), value);
    }
}

/// Makes a field of `new` what it is in `old`.
pub(crate) fn keep(new: &mut Value, old: &Value, path: &[&str], field: &str) {
    let mut pointer: String = path.iter().flat_map(|part| ["/", part]).collect();
    pointer.push('/');
    pointer.push_str(field);
    let value = apimachinery::fields::at(old, &pointer).cloned().unwrap_or_default();
    if value.is_null() && path.iter().any(|part| !has(new, &format!("/{part}"))) {
        return;
    }
    set(map(new, path), field, value);
}

/// Sets a condition: the transition time only changes with its status.
pub(crate) fn set_condition(object: &mut Value, mut condition: Value, now: &str) {
    let kind = text(&condition, "/type").to_owned();
    let conditions = list(object, &["status"], "conditions");
    let known = conditions.iter_mut().find(|it| text(it, "/type") == kind);
    let same = known.as_ref().is_some_and(|it| text(it, "/status") == text(&condition, "/status"));
    let since = match &known {
        Some(known) if same => known.get("lastTransitionTime").cloned().unwrap_or_default(),
        _ => now.into(),
    };
    let map = as_map(&mut condition);
    map.insert("lastTransitionTime".to_owned(), since);
    match known {
        Some(known) => {
            for (field, value) in std::mem::take(map) {
                as_map(known).insert(field, value);
            }
        }
        None => conditions.push(condition),
    }
}

/// As an object, which it is made if it is none.
fn as_map(value: &mut Value) -> &mut Map<String, Value> {
    if !value.is_object() {
        *value = json!({});
    }
    value.as_object_mut().expect("it was just made one")
}
