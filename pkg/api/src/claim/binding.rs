//! What only the binder reads of a claim: decoded when it looks at the claim, not held.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::PersistentVolumeClaim;
use crate::selector::WireSelector;
use crate::wire::null_is_empty;
use crate::{AccessModes, DecodeError, Selector, SelectorError, wire};

/// What a claim asks for, and its status.
#[derive(Clone, Debug, Default)]
pub struct ClaimBinding {
    /// The annotations.
    pub annotations: BTreeMap<String, String>,
    /// How it is to be used.
    pub modes: AccessModes,
    /// Whether it asks for a device without a filesystem.
    pub is_block: bool,
    /// Whether `spec.storageClassName` is there, be it empty.
    pub names_class: bool,
    /// Whether it is to be filled from something.
    pub has_data_source: bool,
    /// The volumes that it admits, by their labels; none: all.
    pub selector: Option<Result<Selector, SelectorError>>,
    /// `status.phase`.
    pub phase: String,
    /// `status.accessModes`; null if absent.
    pub status_modes: Value,
    /// `status.capacity`; null if absent.
    pub status_capacity: Value,
    /// `status.currentVolumeAttributesClassName`; null if absent.
    pub status_attributes_class: Value,
}

impl PersistentVolumeClaim {
    /// What only the binder reads of it.
    pub fn binding(&self) -> Result<ClaimBinding, DecodeError> {
        let part = |name| self.raw.field(name).map_or("null", RawValue::get).as_bytes();
        let spec: Option<WireSpec> = wire::decode_json(part("spec"))?;
        let status: Option<WireStatus> = wire::decode_json(part("status"))?;
        let (spec, status) = (spec.unwrap_or_default(), status.unwrap_or_default());
        Ok(ClaimBinding {
            annotations: self.raw.annotations(),
            modes: AccessModes::parse(spec.access_modes.iter().map(String::as_str)),
            is_block: spec.volume_mode.as_deref() == Some("Block"),
            names_class: spec.storage_class_name.is_some(),
            has_data_source: spec.data_source.is_some(),
            selector: spec.selector.map(WireSelector::parse),
            phase: status.phase,
            status_modes: status.access_modes,
            status_capacity: status.capacity,
            status_attributes_class: status.current_volume_attributes_class_name,
        })
    }
}

// === Wire ===

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct WireSpec {
    #[serde(deserialize_with = "null_is_empty")]
    access_modes: Vec<String>,
    volume_mode: Option<String>,
    storage_class_name: Option<String>,
    data_source: Option<Value>,
    selector: Option<WireSelector>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct WireStatus {
    #[serde(deserialize_with = "null_is_empty")]
    phase: String,
    access_modes: Value,
    capacity: Value,
    current_volume_attributes_class_name: Value,
}
