//! An object as JSON, kept whole, so that writing it back loses no field.

use std::collections::BTreeMap;

use serde_json::value::{RawValue, to_raw_value};

use crate::{DecodeError, Resource, wire};

/// The JSON of an object without `metadata.managedFields` (the API server keeps those when they
/// are left out of an update). Fields that our types do not know stay as they came, byte by byte.
#[derive(Clone, Debug, Default)]
pub struct Raw {
    /// The top-level fields except `apiVersion`, `kind` and `metadata`.
    fields: BTreeMap<Box<str>, Box<RawValue>>,
    /// The fields of `metadata`.
    metadata: BTreeMap<Box<str>, Box<RawValue>>,
}

impl Raw {
    /// Reads an object.
    pub fn parse(json: &[u8]) -> Result<Self, DecodeError> {
        let mut fields: BTreeMap<Box<str>, Box<RawValue>> = wire::decode_json(json)?;
        let metadata = fields.remove("metadata");
        let mut metadata: BTreeMap<Box<str>, Box<RawValue>> = match &metadata {
            Some(metadata) => wire::decode_json(metadata.get().as_bytes())?,
            None => BTreeMap::new(),
        };
        metadata.remove("managedFields");
        fields.remove("apiVersion");
        fields.remove("kind");
        Ok(Self { fields, metadata })
    }

    /// A top-level field as JSON.
    pub fn field(&self, name: &str) -> Option<&RawValue> {
        self.fields.get(name).map(|value| &**value)
    }

    /// The object as a JSON body for an update, with the given fields of `status` replaced and the
    /// others kept; a `null` removes a field.
    pub fn with_status(
        &self,
        resource: &Resource,
        status: &serde_json::Map<String, serde_json::Value>,
    ) -> Result<String, serde_json::Error> {
        let known = self.field("status").map_or("null", RawValue::get);
        let known: Option<BTreeMap<Box<str>, Box<RawValue>>> = serde_json::from_str(known)?;
        let mut merged = known.unwrap_or_default();
        for (name, value) in status {
            if value.is_null() {
                merged.remove(name.as_str());
            } else {
                merged.insert(name.as_str().into(), to_raw_value(value)?);
            }
        }
        let replaced = [
            ("apiVersion", to_raw_value(&resource.api_version())?),
            ("kind", to_raw_value(&resource.kind)?),
            ("metadata", to_raw_value(&self.metadata)?),
            ("status", to_raw_value(&merged)?),
        ];
        let mut object: BTreeMap<&str, &RawValue> =
            self.fields.iter().map(|(name, value)| (&**name, &**value)).collect();
        object.extend(replaced.iter().map(|(name, value)| (*name, &**value)));
        serde_json::to_string(&object)
    }
}
