//! An object as JSON, kept whole, so that writing it back loses no field.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Value, json};

use crate::{DecodeError, Resource, wire};

/// The JSON of an object without `metadata.managedFields` (the API server keeps those when they
/// are left out of an update). Fields that our types do not know stay as they came, byte by byte.
#[derive(Clone, Debug, Default)]
pub struct Raw {
    /// The top-level fields except `apiVersion`, `kind` and `metadata`.
    fields: Fields,
    /// The fields of `metadata`.
    metadata: Fields,
}

type Fields = BTreeMap<Box<str>, Box<RawValue>>;

/// A change of one field of an object; what lies beside its path stays byte by byte.
#[derive(Clone, Debug, PartialEq)]
pub struct Edit {
    /// The names of the fields from the top down, such as `spec`, `replicas`. On the way objects
    /// that are absent or null are made.
    pub path: Vec<String>,
    /// The new value; `null` removes the field.
    pub value: Value,
}

impl Raw {
    /// Reads an object.
    pub fn parse(json: &[u8]) -> Result<Self, DecodeError> {
        let mut fields: Fields = wire::decode_json(json)?;
        let metadata = fields.remove("metadata");
        let mut metadata: Fields = match &metadata {
            Some(metadata) => wire::decode_json(metadata.get().as_bytes())?,
            None => BTreeMap::new(),
        };
        metadata.remove("managedFields");
        fields.remove("apiVersion");
        fields.remove("kind");
        Ok(Self { fields, metadata })
    }

    /// This object without a top-level field, for one that is held otherwise or never kept.
    pub fn without(mut self, name: &str) -> Self {
        self.fields.remove(name);
        self
    }

    /// A top-level field as JSON.
    pub fn field(&self, name: &str) -> Option<&RawValue> {
        self.fields.get(name).map(|value| &**value)
    }

    /// A field of `metadata` as JSON.
    pub fn metadata_field(&self, name: &str) -> Option<&RawValue> {
        self.metadata.get(name).map(|value| &**value)
    }

    /// The annotations; the API server admits none that are no texts.
    pub fn annotations(&self) -> BTreeMap<String, String> {
        let annotations = self.metadata_field("annotations").map_or("null", RawValue::get);
        let annotations: Option<_> = serde_json::from_str(annotations).unwrap_or_default();
        annotations.unwrap_or_default()
    }

    /// What makes `conditions` of the conditions `known` from here; none if they are the same.
    /// Those that stay are as they came, with the fields that we do not know.
    pub fn conditions<T: PartialEq + Serialize>(
        &self,
        known: &[T],
        conditions: &[T],
    ) -> Option<Edit> {
        if conditions == known {
            return None;
        }
        let status = self.field("status").map(|status| serde_json::from_str(status.get()));
        let status: Value = status.and_then(Result::ok).unwrap_or_default();
        let json = |condition: &T| {
            let at = known.iter().position(|known| known == condition);
            let as_it_came = at.and_then(|at| status.get("conditions")?.get(at)).cloned();
            as_it_came.unwrap_or_else(|| json!(condition))
        };
        let value = match conditions {
            [] => Value::Null,
            conditions => conditions.iter().map(json).collect(),
        };
        Some(Edit::new(["status", "conditions"], value))
    }

    /// The object as a JSON body for an update, with some fields changed.
    pub fn edited(&self, resource: &Resource, edits: &[Edit]) -> Result<String, serde_json::Error> {
        let mut object = self.fields.clone();
        object.insert("apiVersion".into(), to_raw_value(&resource.api_version())?);
        object.insert("kind".into(), to_raw_value(&resource.kind)?);
        object.insert("metadata".into(), to_raw_value(&self.metadata)?);
        for edit in edits {
            set(&mut object, &edit.path, &edit.value)?;
        }
        serde_json::to_string(&object)
    }
}

fn set(fields: &mut Fields, path: &[String], value: &Value) -> Result<(), serde_json::Error> {
    match path {
        [] => {}
        [name] if value.is_null() => drop(fields.remove(name.as_str())),
        [name] => drop(fields.insert(name.as_str().into(), to_raw_value(value)?)),
        [name, rest @ ..] => {
            let known = fields.get(name.as_str()).map_or("null", |known| known.get());
            let known: Option<Fields> = serde_json::from_str(known)?;
            let mut inner = known.unwrap_or_default();
            set(&mut inner, rest, value)?;
            fields.insert(name.as_str().into(), to_raw_value(&inner)?);
        }
    }
    Ok(())
}

// === impl Edit ===

impl Edit {
    /// Sets the field at `path`.
    pub fn new<S: AsRef<str>>(path: impl IntoIterator<Item = S>, value: Value) -> Self {
        Self { path: path.into_iter().map(|name| name.as_ref().to_owned()).collect(), value }
    }
}
