//! Reading JSON by pointers. What is absent, or of another type, is empty.

use api::{Labels, Requirement, Time};
use serde_json::Value;

/// A text.
pub(crate) fn text<'a>(value: &'a Value, pointer: &str) -> &'a str {
    value.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

/// A number.
pub(crate) fn number(value: &Value, pointer: &str) -> Option<i64> {
    value.pointer(pointer).and_then(Value::as_i64)
}

/// A number, 0 if it is absent: statuses leave zeros out.
pub(crate) fn count(value: &Value, pointer: &str) -> i64 {
    number(value, pointer).unwrap_or(0)
}

/// A flag.
pub(crate) fn flag(value: &Value, pointer: &str) -> bool {
    value.pointer(pointer).and_then(Value::as_bool).unwrap_or(false)
}

/// A list.
pub(crate) fn list<'a>(value: &'a Value, pointer: &str) -> &'a [Value] {
    value.pointer(pointer).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// A moment.
pub(crate) fn time(value: &Value, pointer: &str) -> Option<Time> {
    Time::parse(text(value, pointer)).ok()
}

/// The condition of this type.
pub(crate) fn condition<'a>(value: &'a Value, kind: &str) -> Option<&'a Value> {
    list(value, "/status/conditions").iter().find(|it| text(it, "/type") == kind)
}

/// The condition of this type, if it has this status.
pub(crate) fn condition_is<'a>(value: &'a Value, kind: &str, status: &str) -> Option<&'a Value> {
    condition(value, kind).filter(|it| text(it, "/status") == status)
}

/// Since when a condition is as it is.
pub(crate) fn since(condition: &Value) -> Option<Time> {
    time(condition, "/lastTransitionTime").or_else(|| time(condition, "/lastProbeTime"))
}

/// The reason and the message of a condition, of a container's state or of an Event.
pub(crate) fn said(value: &Value) -> String {
    match (text(value, "/reason"), text(value, "/message").trim()) {
        ("", message) => message.to_owned(),
        (reason, "") => reason.to_owned(),
        (reason, message) if message.contains(reason) => message.to_owned(),
        (reason, message) => format!("{reason}: {message}"),
    }
}

/// The labels of an object, or those at another place.
pub(crate) fn labels(value: &Value, pointer: &str) -> Labels {
    let map = value.pointer(pointer).and_then(Value::as_object);
    let pairs = map.into_iter().flatten();
    Labels::new(pairs.map(|(key, value)| (key, value.as_str().unwrap_or_default())))
}

/// Whether a LabelSelector selects these labels. None selects nothing, an empty one everything, and
/// one that cannot be read nothing.
pub(crate) fn selects(selector: Option<&Value>, labels: &Labels) -> bool {
    let Some(selector) = selector.filter(|it| it.is_object()) else { return false };
    let wanted = self::labels(selector, "/matchLabels");
    let holds = |expression: &Value| {
        let values = list(expression, "/values").iter().filter_map(Value::as_str);
        let values = values.map(str::to_owned).collect();
        let (key, operator) = (text(expression, "/key"), text(expression, "/operator"));
        let requirement = Requirement::read(key, operator, values);
        requirement.is_ok_and(|it| it.holds(labels.get(key)))
    };
    labels.contains_all(&wanted) && list(selector, "/matchExpressions").iter().all(holds)
}

/// The uid of the owner that manages an object.
pub(crate) fn controller(value: &Value) -> Option<&Value> {
    let mut owners = list(value, "/metadata/ownerReferences").iter();
    owners.find(|owner| flag(owner, "/controller"))
}
