//! The component config: the content of `/configz`, and the fields of a `--config` file.
//!
//! One table ties fields to flags, so a field means what its flag means.

mod file;
mod table;
#[cfg(test)]
mod tests;

use std::fmt::Write as _;

use api::go;
pub(crate) use file::{apply, read_text};
use table::{API_VERSION, FIELDS, KIND, Source};

use crate::flags::{Flags, Value};
use crate::registry::REGISTRY;
use crate::selection::canonical;

/// The name of the component config in `/configz`.
pub const GROUP: &str = "kubecontrollermanager.config.k8s.io";

/// The effective component config as compact JSON, in upstream's order of fields.
pub fn configz(flags: &Flags) -> String {
    let (kind, version) = (json_text(KIND), json_text(API_VERSION));
    let mut json = format!("{{\"kind\":{kind},\"apiVersion\":{version}");
    let mut open: Vec<&str> = Vec::new();
    for field in FIELDS {
        let mut names: Vec<_> = field.path.split('.').collect();
        let name = names.pop().unwrap_or_default();
        let shared = open.iter().zip(&names).take_while(|(have, want)| have == want).count();
        json.extend(open.drain(shared..).map(|_| '}'));
        if !json.ends_with('{') {
            json.push(',');
        }
        for parent in &names[shared..] {
            let _ = write!(json, "{}:{{", json_text(parent));
        }
        let _ = write!(json, "{}:{}", json_text(name), value(field.source, flags));
        open = names;
    }
    json.extend(open.iter().map(|_| '}'));
    json.push('}');
    json
}

/// A field as JSON.
fn value(source: Source, flags: &Flags) -> String {
    match source {
        Source::Fixed(json) => json.to_owned(),
        Source::Part(flag, index) => {
            json_text(flags.value(flag).text().split(',').nth(index).unwrap_or_default())
        }
        // Aliases are shown as canonical names.
        Source::Flag("controllers") => {
            let words = flags.value("controllers").list().iter();
            let words: Vec<_> = words.map(|word| json_text(&canonical(word, REGISTRY))).collect();
            format!("[{}]", words.join(","))
        }
        Source::Flag(flag) => json(flags.value(flag)),
    }
}

fn json(value: &Value) -> String {
    match value {
        Value::Bool(value) => value.to_string(),
        Value::Int(value) => value.to_string(),
        Value::Text(value) => json_text(value),
        Value::Duration(value) => json_text(&value.to_string()),
        Value::Float32(value) if value.is_finite() => value.to_string(),
        Value::Float64(value) if value.is_finite() => value.to_string(),
        // JSON cannot represent infinities and NaN.
        Value::Float32(_) | Value::Float64(_) => "null".to_owned(),
        Value::List(values) => {
            let values: Vec<_> = values.iter().map(|value| json_text(value)).collect();
            format!("[{}]", values.join(","))
        }
    }
}

/// A string as Go's encoding/json writes it: safe inside HTML.
fn json_text(text: &str) -> String {
    go::escape_html(serde_json::Value::from(text).to_string())
}
