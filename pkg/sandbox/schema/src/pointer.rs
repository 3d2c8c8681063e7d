//! Looking into values.

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
