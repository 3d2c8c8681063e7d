//! The history of a workload: its present and former templates as ControllerRevisions. From
//! upstream's `pkg/controller/history`, and from `getPatch` in `pkg/controller/daemon/update.go`
//! and `pkg/controller/statefulset/stateful_set_utils.go`.
//!
//! The present revision is the one whose data equals, byte by byte, the result of [`data`] for the
//! present template. A byte that differs from upstream's would restart every pod of the workload
//! when one manager replaces the other.

use std::collections::BTreeMap;
use std::sync::Arc;

use api::{ControllerRevision, Edit, Kind, Meta, Raw, Resource, Text};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::{Action, Answer, ControllerRef, Lister, ObjectRef, Write, candidates, controller_ref};

#[cfg(test)]
mod tests;

/// How much of an owner's name is part of the names of its revisions.
const PREFIX_LENGTH_MAX: usize = 223;

/// The format of numbers in a template.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Numbers {
    /// Integers as they are: DaemonSets.
    Whole,
    /// All as `float64`, which holds integers up to 2^53: StatefulSets.
    Float,
}

/// A revision to create.
#[derive(Clone, Copy, Debug)]
pub struct NewRevision<'a> {
    /// The owner's kind.
    pub resource: &'a Resource,
    /// The owner.
    pub owner: &'a Meta,
    /// From [`name`].
    pub name: &'a str,
    /// Its labels.
    pub labels: &'a BTreeMap<&'a str, &'a str>,
    /// Its annotations.
    pub annotations: &'a BTreeMap<String, String>,
    /// From [`data`].
    pub data: &'a str,
    /// Its number.
    pub revision: i64,
}

/// The revision that has the name of a new revision.
#[derive(Clone, Debug)]
pub enum Taken<'a> {
    /// None.
    Free,
    /// A revision with the same data.
    Same(&'a Meta),
    /// A revision with other data.
    Other,
    /// It could not be read; the error's text.
    Unknown(&'a str),
}

#[derive(Deserialize)]
struct Spec {
    template: Value,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Body<'a> {
    api_version: String,
    kind: &'a str,
    metadata: BodyMeta<'a>,
    data: &'a RawValue,
    revision: i64,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct BodyMeta<'a> {
    name: &'a str,
    namespace: &'a str,
    labels: &'a BTreeMap<&'a str, &'a str>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    annotations: &'a BTreeMap<String, String>,
    owner_references: [ControllerRef<'a>; 1],
}

// === Data ===

/// The data of a revision with the template of the owner's `spec`: a strategic merge patch that
/// restores it. Exactly upstream's bytes, if `spec` is as the API server writes it. An error if
/// there is no template.
pub fn data(spec: Option<&RawValue>, numbers: Numbers) -> Result<String, String> {
    let spec = spec.map_or("null", RawValue::get);
    let Spec { mut template } = serde_json::from_str(spec).map_err(|error| error.to_string())?;
    let Some(fields) = template.as_object_mut() else {
        return Err("spec.template is not an object".to_owned());
    };
    fields.insert("$patch".to_owned(), Value::from("replace"));
    let mut text = String::with_capacity(spec.len());
    write(&mut text, &json!({ "spec": { "template": template } }), numbers);
    Ok(text)
}

/// Whether a revision has this data. The API server returns the bytes that were written.
pub fn holds(revision: &ControllerRevision, data: &str) -> bool {
    revision.data().is_some_and(|found| found.get() == data)
}

/// The hash of a revision's data, as letters and digits. As `HashControllerRevision`: FNV-1 of the
/// data and, if there is one, of the number of collisions.
pub fn hash(data: &str, collision_count: Option<i32>) -> String {
    let probe = collision_count.map(|count| count.to_string()).unwrap_or_default();
    let bytes = data.bytes().chain(probe.bytes());
    let sum =
        bytes.fold(0x811c_9dc5_u32, |sum, byte| sum.wrapping_mul(0x0100_0193) ^ u32::from(byte));
    safe_encode(&sum.to_string())
}

/// The name of a revision. As `ControllerRevisionName`.
pub fn name(owner: &str, hash: &str) -> String {
    let prefix = owner.get(..PREFIX_LENGTH_MAX).unwrap_or(owner);
    format!("{prefix}-{hash}")
}

/// As `rand.SafeEncodeString`: without vowels, so that it spells no words.
pub fn safe_encode(text: &str) -> String {
    const LETTERS: &[u8] = b"bcdfghjklmnpqrstvwxz2456789";
    let letter = |byte: u8| LETTERS.get(usize::from(byte) % LETTERS.len()).copied();
    text.bytes().filter_map(letter).map(char::from).collect()
}

// === Finding ===

/// The revisions that an owner manages and, in its namespace, those without a controller.
pub fn revisions_of(
    revisions: Lister<'_, ControllerRevision>,
    owner: &Meta,
) -> Vec<Arc<ControllerRevision>> {
    let by_controller = ControllerRevision::BY_CONTROLLER;
    candidates(revisions, by_controller, ControllerRevision::ORPHANS_BY_NAMESPACE, owner)
}

/// The highest number of some revisions; 0 if there are none.
pub fn highest(revisions: &[Arc<ControllerRevision>]) -> i64 {
    revisions.iter().map(|revision| revision.revision).max().unwrap_or(0).max(0)
}

/// Sorts from the lowest number to the highest; of equal ones the older first. As
/// `SortControllerRevisions`.
pub fn sort(revisions: &mut [Arc<ControllerRevision>]) {
    revisions.sort_by(|a, b| {
        let rank = |it: &ControllerRevision| {
            (it.revision, it.meta.creation_timestamp, it.meta.key.clone())
        };
        rank(a).cmp(&rank(b))
    });
}

/// The result of a live read of a new revision's name.
pub fn taken<'a>(answer: &'a Answer, data: &str) -> Taken<'a> {
    match answer.object() {
        Ok(None) => Taken::Free,
        Ok(Some((meta, raw))) if raw_data(raw) == Some(data) => Taken::Same(meta),
        Ok(Some(_)) => Taken::Other,
        Err(error) => Taken::Unknown(&error.text),
    }
}

fn raw_data(raw: &Raw) -> Option<&str> {
    raw.field("data").map(RawValue::get)
}

// === Writing ===

/// Creates a revision. An error if its data is not JSON.
pub fn create(new: &NewRevision<'_>) -> Result<Action, String> {
    let resource = ControllerRevision::RESOURCE;
    let data: &RawValue = serde_json::from_str(new.data).map_err(|error| error.to_string())?;
    let body = Body {
        api_version: resource.api_version(),
        kind: &resource.kind,
        metadata: BodyMeta {
            name: new.name,
            namespace: &new.owner.key.namespace,
            labels: new.labels,
            annotations: new.annotations,
            owner_references: [controller_ref(new.resource, new.owner)],
        },
        data,
        revision: new.revision,
    };
    let body = serde_json::to_string(&body).map_err(|error| error.to_string())?;
    let namespace: Text = new.owner.key.namespace.clone();
    Ok(Write::create(resource, namespace, body).into())
}

/// A new number for a revision.
pub fn renumbered(number: i64) -> Edit {
    Edit::new(["revision"], Value::from(number))
}

/// A label for a revision.
pub fn relabelled(label: &str, value: &str) -> Edit {
    Edit::new(["metadata", "labels", label], Value::from(value))
}

/// Changes a revision, in one write.
pub fn update(revision: &ControllerRevision, edits: Vec<Edit>) -> Action {
    let object = ObjectRef::new(&ControllerRevision::RESOURCE, &revision.meta);
    Write::update(object, revision.raw.clone(), edits).into()
}

/// Deletes a revision.
pub fn delete(revision: &ControllerRevision) -> Action {
    let object = ObjectRef::new(&ControllerRevision::RESOURCE, &revision.meta);
    Write::delete(object).into()
}

// === JSON as Go writes it ===

/// Compact, with sorted keys. A null `creationTimestamp`, which API servers before 1.34 write, is
/// left out, as in upstream's types.
fn write(out: &mut String, value: &Value, numbers: Numbers) {
    match value {
        Value::Null => out.push_str("null"),
        Value::Bool(true) => out.push_str("true"),
        Value::Bool(false) => out.push_str("false"),
        Value::Number(number) => write_number(out, number, numbers),
        Value::String(text) => write_text(out, text),
        Value::Array(items) => {
            write_list(out, ('[', ']'), items, |out, item| write(out, item, numbers));
        }
        Value::Object(fields) => {
            let mut fields: Vec<_> =
                fields.iter().filter(|(key, value)| is_kept(key, value)).collect();
            fields.sort_unstable_by_key(|(key, _)| *key);
            write_list(out, ('{', '}'), fields, |out, (key, value)| {
                write_text(out, key);
                out.push(':');
                write(out, value, numbers);
            });
        }
    }
}

fn is_kept(key: &str, value: &Value) -> bool {
    key != "creationTimestamp" || !value.is_null()
}

fn write_list<T>(
    out: &mut String,
    (open, close): (char, char),
    items: impl IntoIterator<Item = T>,
    mut write: impl FnMut(&mut String, T),
) {
    out.push(open);
    for (at, item) in items.into_iter().enumerate() {
        if at > 0 {
            out.push(',');
        }
        write(out, item);
    }
    out.push(close);
}

fn write_number(out: &mut String, number: &serde_json::Number, numbers: Numbers) {
    match (numbers, number.as_i64()) {
        (Numbers::Whole, Some(whole)) => out.push_str(&whole.to_string()),
        (Numbers::Whole, None) | (Numbers::Float, _) => {
            out.push_str(&float(number.as_f64().unwrap_or(0.0)));
        }
    }
}

/// As Go's `encoding/json` writes a `float64`: the fewest digits that identify it, with an exponent
/// below 1e-6 and from 1e21 on.
fn float(number: f64) -> String {
    let text = format!("{number:e}");
    let parts = text.split_once('e');
    let parts = parts.and_then(|(digits, exponent)| Some((digits, exponent.parse::<i32>().ok()?)));
    match parts {
        Some((digits, exponent)) if !(-6..21).contains(&exponent) => {
            format!("{digits}e{exponent:+}")
        }
        Some(_) | None => number.to_string(),
    }
}

/// As Go's `encoding/json` writes a string, safe for HTML.
fn write_text(out: &mut String, text: &str) {
    out.push('"');
    for letter in text.chars() {
        match letter {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\0'..='\u{1f}' | '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => {
                out.push_str("\\u");
                let digit = |shift: u32| char::from_digit((u32::from(letter) >> shift) & 0xf, 16);
                out.extend([12, 8, 4, 0].into_iter().filter_map(digit));
            }
            _ => out.push(letter),
        }
    }
    out.push('"');
}
