//! Reading fields of objects that may hold anything.

use api::{Key, Time};
use serde_json::Value;

/// The field at `path`, whose names are joined by dots.
pub(crate) fn find<'a>(object: &'a Value, path: &str) -> Option<&'a Value> {
    path.split('.').try_fold(object, |value, name| value.get(name))
}

/// A text; empty if there is none.
pub(crate) fn text<'a>(object: &'a Value, path: &str) -> &'a str {
    find(object, path).and_then(Value::as_str).unwrap_or_default()
}

/// A number.
pub(crate) fn int(object: &Value, path: &str) -> Option<i64> {
    find(object, path).and_then(Value::as_i64)
}

/// A span of whole seconds.
pub(crate) fn seconds(object: &Value, path: &str) -> Option<std::time::Duration> {
    let seconds = u64::try_from(int(object, path)?).unwrap_or(0);
    Some(std::time::Duration::from_secs(seconds))
}

/// Whether a field is true.
pub(crate) fn flag(object: &Value, path: &str) -> bool {
    find(object, path).and_then(Value::as_bool).unwrap_or_default()
}

/// The entries of a list; none if there is no list.
pub(crate) fn list<'a>(object: &'a Value, path: &str) -> &'a [Value] {
    find(object, path).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// The texts of a list.
pub(crate) fn texts(object: &Value, path: &str) -> Vec<String> {
    list(object, path).iter().filter_map(Value::as_str).map(str::to_owned).collect()
}

/// The entries of an object whose values are texts.
pub(crate) fn pairs<'a>(
    object: &'a Value,
    path: &str,
) -> impl Iterator<Item = (&'a str, &'a str)> + use<'a> {
    let entries = find(object, path).and_then(Value::as_object).into_iter().flatten();
    entries.filter_map(|(key, value)| Some((key.as_str(), value.as_str()?)))
}

/// A moment.
pub(crate) fn time(object: &Value, path: &str) -> Option<Time> {
    Time::parse(text(object, path)).ok()
}

/// The object's name.
pub(crate) fn key(object: &Value) -> Key {
    Key::new(text(object, "metadata.namespace"), text(object, "metadata.name"))
}

/// The condition of this type.
pub(crate) fn condition<'a>(object: &'a Value, kind: &str) -> Option<&'a Value> {
    list(object, "status.conditions").iter().find(|it| text(it, "type") == kind)
}
