//! Values as Go prints them: error texts hold them.

use std::fmt::Write;

use serde_json::{Number, Value};

/// `%v` of what `encoding/json` made of a value.
pub(crate) fn plain(value: &Value) -> String {
    match value {
        Value::Null => "<nil>".to_owned(),
        Value::Bool(it) => it.to_string(),
        Value::Number(it) => number(it),
        Value::String(it) => it.clone(),
        Value::Array(items) => list(items),
        Value::Object(fields) => {
            let fields: Vec<_> =
                fields.iter().map(|(key, value)| format!("{key}:{}", plain(value))).collect();
            format!("map[{}]", fields.join(" "))
        }
    }
}

/// `%v` of an array.
pub(super) fn list(items: &[Value]) -> String {
    format!("[{}]", items.iter().map(plain).collect::<Vec<_>>().join(" "))
}

/// `%#v`.
pub(crate) fn syntax(value: &Value) -> String {
    match value {
        Value::Null => "interface {}(nil)".to_owned(),
        Value::String(it) => format!("{it:?}"),
        Value::Bool(_) | Value::Number(_) => plain(value),
        Value::Array(items) => {
            let items: Vec<_> = items.iter().map(syntax).collect();
            format!("[]interface {{}}{{{}}}", items.join(", "))
        }
        Value::Object(fields) => {
            let fields: Vec<_> =
                fields.iter().map(|(key, value)| format!("{key:?}:{}", syntax(value))).collect();
            format!("map[string]interface {{}}{{{}}}", fields.join(", "))
        }
    }
}

/// The type of what `encoding/json` makes of a value, as `%s` of its `reflect.Type`.
pub(crate) fn type_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "%!s(<nil>)",
        Value::Bool(_) => "bool",
        Value::Number(it) if it.is_f64() => "float64",
        Value::Number(_) => "int64",
        Value::String(_) => "string",
        Value::Array(_) => "[]interface {}",
        Value::Object(_) => "map[string]interface {}",
    }
}

/// `%v` of a float64 is `%g`: exponents below -4 and from 21 on.
fn number(it: &Number) -> String {
    let Some(float) = it.as_f64().filter(|_| it.is_f64()) else { return it.to_string() };
    let scientific = format!("{float:e}");
    let (digits, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or_default();
    if (-4..21).contains(&exponent) {
        return float.to_string();
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    let mut text = format!("{digits}e{sign}");
    // Writing to a string cannot fail.
    let _ = write!(text, "{:02}", exponent.unsigned_abs());
    text
}
