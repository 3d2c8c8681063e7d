//! Reading fields of objects that may hold anything.

use api::{Key, Time};
use apimachinery::fields;
use serde_json::Value;

pub(crate) use apimachinery::fields::{at, flag, items, number, text};

/// A span of whole seconds.
pub(crate) fn seconds(object: &Value, pointer: &str) -> Option<std::time::Duration> {
    let seconds = u64::try_from(number(object, pointer)?).unwrap_or(0);
    Some(std::time::Duration::from_secs(seconds))
}

/// The texts in a list.
pub(crate) fn texts(object: &Value, pointer: &str) -> Vec<String> {
    fields::texts(object, pointer).map(str::to_owned).collect()
}

/// The entries of an object whose values are texts.
pub(crate) fn pairs<'a>(
    object: &'a Value,
    pointer: &str,
) -> impl Iterator<Item = (&'a str, &'a str)> + use<'a> {
    fields::pairs(object, pointer).filter_map(|(key, value)| Some((key, value.as_str()?)))
}

/// A moment.
pub(crate) fn time(object: &Value, pointer: &str) -> Option<Time> {
    Time::parse(text(object, pointer)).ok()
}

/// The object's name.
pub(crate) fn key(object: &Value) -> Key {
    Key::new(text(object, "/metadata/namespace"), text(object, "/metadata/name"))
}

/// The condition of this type.
pub(crate) fn condition<'a>(object: &'a Value, kind: &str) -> Option<&'a Value> {
    items(object, "/status/conditions").iter().find(|it| text(it, "/type") == kind)
}
