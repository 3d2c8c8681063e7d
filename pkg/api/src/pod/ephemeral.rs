//! The ephemeral volumes of a pod, with the claims that are to be made for them.

use std::collections::BTreeMap;

use prost::Message;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::WireSpec;
use crate::wire::{
    from_optional_text, from_text, from_texts, from_texts_by_key, null_is_empty, text,
};
use crate::{Text, intern};

/// A volume for which a claim is made that lives as long as its pod.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EphemeralVolume {
    /// Its name in the pod.
    pub name: Text,
    /// Its `volumeClaimTemplate` as JSON: `spec`, and of `metadata` labels and annotations. Equal
    /// ones share their memory, and those of all pods of a template are equal. As upstream, fields
    /// that Kubernetes 1.36 does not know are left out.
    pub template: Text,
}

/// In the order of the spec.
pub(super) fn of(spec: &WireSpec) -> Box<[EphemeralVolume]> {
    let volumes = spec.volumes.iter().filter_map(|volume| {
        let source = volume.volume_source.ephemeral.as_ref()?;
        let template = source.volume_claim_template.clone().unwrap_or_default();
        let template = intern(&template.json().to_string());
        Some(EphemeralVolume { name: intern(&volume.name), template })
    });
    // Most pods have none, and then this takes no memory.
    volumes.collect()
}

// === Wire ===

/// `v1.EphemeralVolumeSource`.
#[derive(Clone, PartialEq, Message, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct WireSource {
    #[prost(message, optional, tag = "1")]
    volume_claim_template: Option<WireTemplate>,
}

/// `v1.PersistentVolumeClaimTemplate`.
#[derive(Clone, PartialEq, Message, Deserialize)]
#[serde(default)]
struct WireTemplate {
    #[prost(message, required, tag = "1")]
    #[serde(deserialize_with = "null_is_empty")]
    metadata: WireMeta,
    #[prost(message, required, tag = "2")]
    #[serde(deserialize_with = "null_is_empty")]
    spec: WireClaimSpec,
}

/// What is copied of `metav1.ObjectMeta`; the API server admits nothing else there.
#[derive(Clone, PartialEq, Message, Deserialize)]
#[serde(default)]
struct WireMeta {
    #[prost(btree_map = "string, bytes", tag = "11")]
    #[serde(deserialize_with = "from_texts_by_key")]
    labels: BTreeMap<String, Vec<u8>>,
    #[prost(btree_map = "string, bytes", tag = "12")]
    #[serde(deserialize_with = "from_texts_by_key")]
    annotations: BTreeMap<String, Vec<u8>>,
}

/// `v1.PersistentVolumeClaimSpec`.
#[derive(Clone, PartialEq, Message, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct WireClaimSpec {
    #[prost(bytes = "vec", repeated, tag = "1")]
    #[serde(deserialize_with = "from_texts")]
    access_modes: Vec<Vec<u8>>,
    #[prost(message, required, tag = "2")]
    #[serde(deserialize_with = "null_is_empty")]
    resources: WireResources,
    #[prost(bytes = "vec", tag = "3")]
    #[serde(deserialize_with = "from_text")]
    volume_name: Vec<u8>,
    #[prost(message, optional, tag = "4")]
    selector: Option<WireSelector>,
    #[prost(bytes = "vec", optional, tag = "5")]
    #[serde(deserialize_with = "from_optional_text")]
    storage_class_name: Option<Vec<u8>>,
    #[prost(bytes = "vec", optional, tag = "6")]
    #[serde(deserialize_with = "from_optional_text")]
    volume_mode: Option<Vec<u8>>,
    #[prost(message, optional, tag = "7")]
    data_source: Option<WireReference>,
    #[prost(message, optional, tag = "8")]
    data_source_ref: Option<WireReference>,
    #[prost(bytes = "vec", optional, tag = "9")]
    #[serde(deserialize_with = "from_optional_text")]
    volume_attributes_class_name: Option<Vec<u8>>,
}

/// `v1.VolumeResourceRequirements`.
#[derive(Clone, PartialEq, Message, Deserialize)]
#[serde(default)]
struct WireResources {
    #[prost(btree_map = "string, message", tag = "1")]
    #[serde(deserialize_with = "null_is_empty")]
    limits: BTreeMap<String, WireQuantity>,
    #[prost(btree_map = "string, message", tag = "2")]
    #[serde(deserialize_with = "null_is_empty")]
    requests: BTreeMap<String, WireQuantity>,
}

/// `resource.Quantity`, which is a text in JSON.
#[derive(Clone, PartialEq, Message, Deserialize)]
#[serde(transparent)]
struct WireQuantity {
    #[prost(bytes = "vec", tag = "1")]
    #[serde(deserialize_with = "from_text")]
    string: Vec<u8>,
}

/// `metav1.LabelSelector`.
#[derive(Clone, PartialEq, Message, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct WireSelector {
    #[prost(btree_map = "string, bytes", tag = "1")]
    #[serde(deserialize_with = "from_texts_by_key")]
    match_labels: BTreeMap<String, Vec<u8>>,
    #[prost(message, repeated, tag = "2")]
    #[serde(deserialize_with = "null_is_empty")]
    match_expressions: Vec<WireRequirement>,
}

/// `metav1.LabelSelectorRequirement`.
#[derive(Clone, PartialEq, Message, Deserialize)]
#[serde(default)]
struct WireRequirement {
    #[prost(bytes = "vec", tag = "1")]
    #[serde(deserialize_with = "from_text")]
    key: Vec<u8>,
    #[prost(bytes = "vec", tag = "2")]
    #[serde(deserialize_with = "from_text")]
    operator: Vec<u8>,
    #[prost(bytes = "vec", repeated, tag = "3")]
    #[serde(deserialize_with = "from_texts")]
    values: Vec<Vec<u8>>,
}

/// `v1.TypedObjectReference`, and `v1.TypedLocalObjectReference`, which has no namespace.
#[derive(Clone, PartialEq, Message, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct WireReference {
    #[prost(bytes = "vec", optional, tag = "1")]
    #[serde(deserialize_with = "from_optional_text")]
    api_group: Option<Vec<u8>>,
    #[prost(bytes = "vec", tag = "2")]
    #[serde(deserialize_with = "from_text")]
    kind: Vec<u8>,
    #[prost(bytes = "vec", tag = "3")]
    #[serde(deserialize_with = "from_text")]
    name: Vec<u8>,
    #[prost(bytes = "vec", optional, tag = "4")]
    #[serde(deserialize_with = "from_optional_text")]
    namespace: Option<Vec<u8>>,
}

// === To JSON: what is empty is left out, what may be there and empty is not ===

impl WireTemplate {
    fn json(&self) -> Value {
        object([("metadata", full(self.metadata.json())), ("spec", Some(self.spec.json()))])
    }
}

impl WireMeta {
    fn json(&self) -> Value {
        object([
            ("labels", full(by_key(&self.labels, |value| string(value)))),
            ("annotations", full(by_key(&self.annotations, |value| string(value)))),
        ])
    }
}

impl WireClaimSpec {
    fn json(&self) -> Value {
        let optional = |text: &Option<Vec<u8>>| text.as_deref().map(string);
        object([
            ("accessModes", full(strings(&self.access_modes))),
            ("resources", full(self.resources.json())),
            ("volumeName", full(string(&self.volume_name))),
            ("selector", self.selector.as_ref().map(WireSelector::json)),
            ("storageClassName", optional(&self.storage_class_name)),
            ("volumeMode", optional(&self.volume_mode)),
            ("dataSource", self.data_source.as_ref().map(WireReference::json)),
            ("dataSourceRef", self.data_source_ref.as_ref().map(WireReference::json)),
            ("volumeAttributesClassName", optional(&self.volume_attributes_class_name)),
        ])
    }
}

impl WireResources {
    fn json(&self) -> Value {
        let quantities = |them| full(by_key(them, |it: &WireQuantity| string(&it.string)));
        object([("limits", quantities(&self.limits)), ("requests", quantities(&self.requests))])
    }
}

impl WireSelector {
    fn json(&self) -> Value {
        let expressions = self.match_expressions.iter().map(WireRequirement::json);
        object([
            ("matchLabels", full(by_key(&self.match_labels, |value| string(value)))),
            ("matchExpressions", full(expressions.collect())),
        ])
    }
}

impl WireRequirement {
    fn json(&self) -> Value {
        object([
            ("key", Some(string(&self.key))),
            ("operator", Some(string(&self.operator))),
            ("values", full(strings(&self.values))),
        ])
    }
}

impl WireReference {
    fn json(&self) -> Value {
        object([
            ("apiGroup", self.api_group.as_deref().map(string)),
            ("kind", Some(string(&self.kind))),
            ("name", Some(string(&self.name))),
            ("namespace", self.namespace.as_deref().map(string)),
        ])
    }
}

fn object<const N: usize>(fields: [(&str, Option<Value>); N]) -> Value {
    let fields = fields.into_iter();
    let there = fields.filter_map(|(name, value)| Some((name.to_owned(), value?)));
    Value::Object(there.collect())
}

/// The value, unless there is nothing in it.
fn full(value: Value) -> Option<Value> {
    let is_empty = match &value {
        Value::Object(fields) => fields.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::String(text) => text.is_empty(),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    };
    (!is_empty).then_some(value)
}

fn by_key<T>(map: &BTreeMap<String, T>, value: impl Fn(&T) -> Value) -> Value {
    let fields = map.iter().map(|(key, it)| (key.clone(), value(it)));
    Value::Object(fields.collect::<Map<_, _>>())
}

fn strings(texts: &[Vec<u8>]) -> Value {
    texts.iter().map(|text| string(text)).collect()
}

fn string(bytes: &[u8]) -> Value {
    Value::from(text(bytes))
}
