//! Errors of JSON name the field, as a deserializer that follows each type would.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::{Value, json};

use crate::Time;
use crate::wire::{decode_json, from_text};

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Whole {
    name: String,
    is_there: bool,
    count: Option<u8>,
    labels: BTreeMap<String, String>,
    items: Vec<Part>,
    lists: Vec<Vec<i32>>,
    size: Size,
    since: Option<Time>,
    #[serde(deserialize_with = "from_text")]
    text: Vec<u8>,
}

#[derive(Debug, Deserialize)]
#[expect(dead_code, reason = "it is only decoded")]
struct Part {
    key: String,
    inner: Option<Box<Whole>>,
}

#[derive(Debug, Default, Deserialize)]
enum Size {
    #[default]
    Small,
    Large,
}

fn sample() -> Value {
    let inner =
        json!({"name": "a\"b", "count": 3, "lists": [[1, 2], [], [-3]], "labels": {"e": "é"}});
    json!({
        "name": "x", "isThere": true, "count": 200, "size": "Large", "text": "t",
        "since": "2026-01-02T03:04:05Z", "unknown": [{"a": [1]}],
        "labels": {"k8s.io/app": "a,b", "z": "}]"},
        "items": [{"key": "k", "inner": null}, {"key": "l\\", "inner": inner}],
        "lists": [[100, 200], [300]],
    })
}

/// The reported place in `json`, and the one found by following the types.
fn said(json: &str) -> [Option<String>; 2] {
    let ours = decode_json::<Whole>(json.as_bytes()).err().map(|error| error.to_string());
    let mut reader = serde_json::Deserializer::from_str(json);
    let theirs = serde_path_to_error::deserialize::<_, Whole>(&mut reader).err();
    [ours, theirs.map(|error| error.to_string())]
}

/// Each value of `at`, replaced by `new`, and each field of a map left out.
fn changed(root: &Value, at: &str, new: &Value, seen: &mut Vec<Value>) {
    let mut one = root.clone();
    *one.pointer_mut(at).unwrap() = new.clone();
    seen.push(one);
    let names: Vec<String> = match root.pointer(at).unwrap() {
        Value::Object(fields) => fields.keys().cloned().collect(),
        Value::Array(items) => (0..items.len()).map(|index| index.to_string()).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => return,
    };
    for name in names {
        if let Some(fields) = root.clone().pointer_mut(at).unwrap().as_object_mut() {
            fields.remove(&name);
            let mut one = root.clone();
            *one.pointer_mut(at).unwrap() = Value::Object(fields.clone());
            seen.push(one);
        }
        changed(root, &format!("{at}/{}", name.replace('/', "~1")), new, seen);
    }
}

#[test]
fn errors_name_the_field() {
    let mut failed = 0;
    let news = [
        json!(7),
        json!(-12.5e3),
        json!("no"),
        json!(true),
        json!(null),
        json!({}),
        json!([]),
        json!({"a": [1, {"b": "c"}]}),
        json!([["x", 1], 100_000]),
    ];
    for new in news {
        let mut seen = Vec::new();
        changed(&sample(), "", &new, &mut seen);
        for json in seen {
            for text in [json.to_string(), serde_json::to_string_pretty(&json).unwrap()] {
                let [ours, theirs] = said(&text);
                assert_eq!(ours, theirs, "{text}");
                failed += usize::from(ours.is_some());
            }
        }
    }
    assert!(failed > 200, "{failed}");
}

#[test]
fn broken_texts_name_where_they_break() {
    for (json, path) in [
        (r#"{"items": [{"key": "k", "inner": {"name": "x"#, "items[0].inner.name: "),
        (r#"{"lists": [[1], [2, x"#, "lists[1][1]: "),
        (r#"{"labels": {"a": "\x"}}"#, "labels.a: "),
        ("{\"labels\":\n{\"a\":\n\"b\",\n\"c\": 5\n}}", "labels.c: "),
        (r#"{"name": }"#, "name: expected value"),
        ("7", "invalid type"),
        ("", "EOF"),
    ] {
        let error = decode_json::<Whole>(json.as_bytes()).unwrap_err().to_string();
        assert!(error.starts_with(path), "{json}: {error}");
    }
    // Any cut of any text gives an error, and no panic.
    let text = sample().to_string();
    for end in 0..text.len() {
        assert!(decode_json::<Whole>(&text.as_bytes()[..end]).is_err(), "{end}");
        drop(decode_json::<IgnoredAny>(&text.as_bytes()[end..]));
    }
}
