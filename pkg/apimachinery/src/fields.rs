//! Fields of objects that may lack any of them, or hold something else there, by JSON pointer
//! (RFC 6901): `/spec/replicas`.

use serde_json::Value;

/// The value at a JSON pointer. As [`Value::pointer`], which copies each name on its way twice.
pub fn at<'a>(value: &'a Value, pointer: &str) -> Option<&'a Value> {
    if pointer.contains('~') {
        return value.pointer(pointer);
    }
    if pointer.is_empty() {
        return Some(value);
    }
    pointer.strip_prefix('/')?.split('/').try_fold(value, |value, name| match value {
        Value::Object(fields) => fields.get(name),
        Value::Array(items) => items.get(index(name)?),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => None,
    })
}

/// The text at a pointer; empty: there is none.
pub fn text<'a>(object: &'a Value, pointer: &str) -> &'a str {
    at(object, pointer).and_then(Value::as_str).unwrap_or_default()
}

/// The whole number at a pointer.
pub fn number(object: &Value, pointer: &str) -> Option<i64> {
    at(object, pointer).and_then(Value::as_i64)
}

/// Whether there is `true` at a pointer.
pub fn flag(object: &Value, pointer: &str) -> bool {
    at(object, pointer).and_then(Value::as_bool).unwrap_or_default()
}

/// Whether there is anything but null at a pointer.
pub fn has(object: &Value, pointer: &str) -> bool {
    at(object, pointer).is_some_and(|value| !value.is_null())
}

/// The items of the list at a pointer; none: there is no list.
pub fn items<'a>(object: &'a Value, pointer: &str) -> &'a [Value] {
    at(object, pointer).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// The texts in the list at a pointer.
pub fn texts<'a>(object: &'a Value, pointer: &str) -> impl Iterator<Item = &'a str> + use<'a> {
    items(object, pointer).iter().filter_map(Value::as_str)
}

/// The names and values of the object at a pointer.
pub fn pairs<'a>(
    object: &'a Value,
    pointer: &str,
) -> impl Iterator<Item = (&'a str, &'a Value)> + use<'a> {
    let map = at(object, pointer).and_then(Value::as_object);
    map.into_iter().flatten().map(|(name, value)| (name.as_str(), value))
}

fn index(name: &str) -> Option<usize> {
    let is_odd = name.starts_with('+') || (name.starts_with('0') && name.len() > 1);
    name.parse().ok().filter(|_| !is_odd)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::at;

    #[test]
    fn it_finds_what_the_other_finds() {
        let value = json!({"a": {"": 1, "b": [2, {"c": 3}]}, "x/y": 4, "n": null});
        for pointer in [
            "",
            "/",
            "a",
            "/a",
            "/a/",
            "/a/b",
            "/a/b/0",
            "/a/b/00",
            "/a/b/+0",
            "/a/b/1/c",
            "/a/b/2",
            "/a/b/-",
            "/a/b/1/c/d",
            "/x~1y",
            "/x/y",
            "/n",
            "/n/a",
            "//",
            "/a//b",
        ] {
            assert_eq!(at(&value, pointer), value.pointer(pointer), "{pointer:?}");
        }
    }
}
