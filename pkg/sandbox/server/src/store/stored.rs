//! An object at one version.

use std::io::Write;
use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use serde_json::Value;

/// What an entry of a map or a list takes besides its text, roughly.
const ENTRY_BYTES: usize = 64;

/// An object at one version.
#[derive(Debug)]
pub(crate) struct Stored {
    /// The version.
    pub(crate) revision: u64,
    /// With `metadata.resourceVersion`.
    pub(crate) object: Arc<Value>,
    /// What it takes in memory, its JSON included, roughly.
    pub(crate) bytes: usize,
    /// The JSON, made once, and how long its start is up to the type's end.
    json: OnceLock<(Bytes, usize)>,
}

/// How an object says its type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TypeMeta<'a> {
    /// `apiVersion` and `kind` as they are stored.
    Stored,
    /// Another version of the same kind.
    Version(&'a str),
    /// Not at all, as items of a list of built-in objects.
    Absent,
}

impl Stored {
    /// An object that says its version.
    pub(crate) fn new(revision: u64, object: Value) -> Self {
        let bytes = weigh(&object);
        Self { revision, object: Arc::new(object), bytes, json: OnceLock::new() }
    }

    /// Its JSON.
    pub(crate) fn json(&self) -> &Bytes {
        &self.encoded().0
    }

    /// Writes its JSON with another type, or none.
    pub(crate) fn write(&self, out: &mut Vec<u8>, ty: TypeMeta<'_>) {
        if ty == TypeMeta::Stored {
            return out.extend_from_slice(self.json());
        }
        let (json, start) = self.encoded();
        splice(out, json, *start, (ty, &self.object));
    }

    fn encoded(&self) -> &(Bytes, usize) {
        self.json.get_or_init(|| encode(&self.object))
    }
}

/// The JSON of an object as upstream orders it, the type first; and where that ends. Everything
/// else of an object is the same in all the ways in which it is shown.
pub(crate) fn encode(object: &Value) -> (Bytes, usize) {
    let mut out = Vec::with_capacity(1024);
    let start = write_type(&mut out, object, None);
    let fields = object.as_object().into_iter().flatten();
    let mut first = start == 1;
    for (name, value) in fields.filter(|(name, _)| !matches!(name.as_str(), "apiVersion" | "kind"))
    {
        if !first {
            out.push(b',');
        }
        first = false;
        // Writing to memory does not fail, and keys are text.
        let _ = serde_json::to_writer(&mut out, name);
        out.push(b':');
        let _ = serde_json::to_writer(&mut out, value);
    }
    out.push(b'}');
    (out.into(), start)
}

/// Writes JSON that [`encode`] made with another type.
pub(crate) fn splice(
    out: &mut Vec<u8>,
    json: &[u8],
    start: usize,
    (ty, object): (TypeMeta<'_>, &Value),
) {
    match ty {
        TypeMeta::Stored => return out.extend_from_slice(json),
        TypeMeta::Version(version) => {
            write_type(out, object, Some(version));
        }
        TypeMeta::Absent => out.push(b'{'),
    }
    let rest = json.get(start..).unwrap_or_default();
    let rest = rest.strip_prefix(b",").unwrap_or(rest);
    if out.last() != Some(&b'{') && rest != b"}" {
        out.push(b',');
    }
    out.extend_from_slice(rest);
}

/// `{"kind":"Pod","apiVersion":"v1"`, and how long that is.
fn write_type(out: &mut Vec<u8>, object: &Value, version: Option<&str>) -> usize {
    let start = out.len();
    let text = |field| object.get(field).and_then(Value::as_str);
    out.push(b'{');
    if let Some(kind) = text("kind") {
        let _ = write!(out, "\"kind\":{}", Value::from(kind));
    }
    if let Some(version) = version.or_else(|| text("apiVersion")) {
        if out.len() > start + 1 {
            out.push(b',');
        }
        let _ = write!(out, "\"apiVersion\":{}", Value::from(version));
    }
    out.len() - start
}

/// What a value takes in memory, roughly, once as a tree and once as text.
fn weigh(value: &Value) -> usize {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => 8,
        Value::String(text) => 2 * text.len() + 24,
        Value::Array(items) => items.iter().map(|item| ENTRY_BYTES + weigh(item)).sum(),
        Value::Object(fields) => {
            let weights = fields.iter().map(|(key, it)| ENTRY_BYTES + 2 * key.len() + weigh(it));
            weights.sum()
        }
    }
}
