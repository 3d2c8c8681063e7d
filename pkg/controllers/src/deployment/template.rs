//! When two pod templates are the same, and what the ReplicaSet of one is called. As
//! `EqualIgnoreHash` in upstream's `pkg/controller/deployment/util/deployment_util.go`,
//! `ComputeHash` in `pkg/controller/controller_utils.go` and `generateReplicaSetName` in
//! `pkg/controller/deployment/sync.go`.

use std::collections::BTreeMap;

use api::Labels;
use apimachinery::Quantity;
use controller::history::safe_encode;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

/// The label that distinguishes the sets of a Deployment.
pub(super) const HASH_LABEL: &str = "pod-template-hash";

const NAME_CHARS_MAX: usize = 253;

/// Fields whose empty object says no more than their absence: maps, and structs that Go always
/// writes. Elsewhere an empty object is a choice, such as `emptyDir: {}`.
const NOTHING_IF_EMPTY: [&str; 11] = [
    "annotations",
    "labels",
    "limits",
    "matchLabels",
    "metadata",
    "nodeSelector",
    "options",
    "overhead",
    "requests",
    "resources",
    "volumeAttributes",
];

/// Fields whose values are quantities.
const MAPS_OF_QUANTITIES: [&str; 3] = ["limits", "overhead", "requests"];
const QUANTITIES: [&str; 2] = ["divisor", "sizeLimit"];

/// A pod template in a form that is equal for templates that mean the same: without the hash label,
/// and with `null`, empty and absent being one.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Template(Value);

/// The labels of a template as they are compared.
pub(super) fn without_hash(labels: &Labels) -> Vec<(&str, &str)> {
    labels.iter().filter(|(key, _)| *key != HASH_LABEL).collect()
}

/// A template as it is written, without the hash label.
pub(super) fn raw_without_hash(spec: Option<&RawValue>) -> Value {
    let mut template = template_of(spec);
    if let Some(labels) = template.pointer_mut("/metadata/labels").and_then(Value::as_object_mut) {
        labels.remove(HASH_LABEL);
    }
    template
}

/// `<deployment>-<hash>`, the first part cut to what a name may have.
pub(super) fn set_name(deployment: &str, hash: &str) -> String {
    let room = NAME_CHARS_MAX.checked_sub(1 + hash.len()).filter(|room| *room > 0);
    let cut = room.and_then(|room| deployment.get(..room));
    format!("{}-{hash}", cut.unwrap_or(deployment))
}

fn template_of(spec: Option<&RawValue>) -> Value {
    let spec: Option<BTreeMap<String, &RawValue>> =
        spec.and_then(|spec| serde_json::from_str(spec.get()).ok());
    let template = spec.as_ref().and_then(|spec| spec.get("template"));
    template.and_then(|template| serde_json::from_str(template.get()).ok()).unwrap_or_default()
}

// === impl Template ===

impl Template {
    /// The template in a `spec`.
    pub(super) fn of(spec: Option<&RawValue>) -> Self {
        Self(plain("", raw_without_hash(spec)))
    }

    /// The hash of a template, which is another one for each collision. Other than upstream's,
    /// which depends on how Go prints its types, it is the same in every release.
    pub(super) fn hash(&self, collisions: Option<i32>) -> String {
        let mut bytes = self.0.to_string().into_bytes();
        if let Some(collisions) = collisions {
            bytes.extend(i64::from(collisions).to_le_bytes());
        }
        let hash = bytes.iter().fold(0x811c_9dc5_u32, |hash, byte| {
            (hash ^ u32::from(*byte)).wrapping_mul(0x0100_0193)
        });
        safe_encode(&hash.to_string())
    }
}

/// A value as it is compared; `null` if it says no more than its absence.
fn plain(name: &str, value: Value) -> Value {
    match value {
        Value::Object(fields) => plain_fields(name, fields),
        Value::Array(items) if items.is_empty() => Value::Null,
        Value::Array(items) => items.into_iter().map(|item| plain("", item)).collect(),
        Value::Number(number) => whole(&number).unwrap_or(Value::Number(number)),
        Value::String(text) if QUANTITIES.contains(&name) => quantity(text),
        Value::String(_) | Value::Bool(_) | Value::Null => value,
    }
}

fn plain_fields(name: &str, fields: Map<String, Value>) -> Value {
    // What is in a map of quantities has any name.
    let is_quantities = MAPS_OF_QUANTITIES.contains(&name);
    let fields = fields.into_iter().map(|(name, value)| {
        let value = plain(if is_quantities { QUANTITIES[0] } else { &name }, value);
        (name, value)
    });
    // Sorted, for the hash.
    let fields: BTreeMap<String, Value> = fields.filter(|(_, value)| !value.is_null()).collect();
    if fields.is_empty() && NOTHING_IF_EMPTY.contains(&name) {
        return Value::Null;
    }
    Value::Object(fields.into_iter().collect())
}

/// 1.0 is 1.
fn whole(number: &serde_json::Number) -> Option<Value> {
    let float = number.as_f64().filter(|float| number.is_f64() && float.fract() == 0.0)?;
    format!("{float:.0}").parse::<i64>().ok().map(Value::from)
}

/// A quantity by its value, such as `1Ki` and `1024`; the text itself if it cannot be read.
fn quantity(text: String) -> Value {
    let nanos = Quantity::parse(&text).ok().and_then(Quantity::nanos);
    nanos.map_or(Value::String(text), |nanos| Value::String(nanos.to_string()))
}
