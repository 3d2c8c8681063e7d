//! The wire shapes of what views are made from: only the fields that we read, once for both codecs.
//!
//! Field numbers are those of `generated.proto` in k8s.io/api and k8s.io/apimachinery; JSON names
//! are the camel case of the field names.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

use apimachinery::Quantity;
use prost::Message;
use serde::de::{DeserializeOwned, Error, IgnoredAny, SeqAccess, Unexpected, Visitor};
use serde::{Deserialize, Deserializer};

use crate::meta::{Key, Labels, Meta, OwnerRef};
use crate::{Codec, DecodeError, Kind, Raw, fault, intern};

/// What protobuf objects start with, before a `runtime.Unknown` message.
pub const PROTOBUF_MAGIC: &[u8; 4] = b"k8s\0";

/// `runtime.Unknown`, which wraps every object in protobuf.
#[derive(Clone, PartialEq, Message)]
pub struct Unknown {
    /// The object's own message.
    #[prost(bytes = "vec", tag = "2")]
    pub raw: Vec<u8>,
}

/// `metav1.WatchEvent`.
#[derive(Clone, PartialEq, Message)]
pub struct WatchEvent {
    /// `ADDED`, `MODIFIED`, `DELETED`, `BOOKMARK` or `ERROR`.
    #[prost(string, tag = "1")]
    pub r#type: String,
    /// `runtime.RawExtension`.
    #[prost(message, optional, tag = "2")]
    pub object: Option<RawExtension>,
}

/// `runtime.RawExtension`.
#[derive(Clone, PartialEq, Message)]
pub struct RawExtension {
    /// An enveloped object.
    #[prost(bytes = "vec", tag = "1")]
    pub raw: Vec<u8>,
}

/// `metav1.ListMeta`.
#[derive(Clone, PartialEq, Message, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ListMeta {
    /// The version of the list.
    #[prost(string, tag = "2")]
    pub resource_version: String,
    /// Where the next page starts; empty on the last one.
    #[prost(string, tag = "3")]
    pub r#continue: String,
}

/// `metav1.ObjectMeta`. Its texts are bytes, see `text`.
#[derive(Clone, PartialEq, Message, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ObjectMeta {
    #[prost(bytes = "vec", tag = "1")]
    #[serde(deserialize_with = "from_text")]
    name: Vec<u8>,
    #[prost(bytes = "vec", tag = "3")]
    #[serde(deserialize_with = "from_text")]
    namespace: Vec<u8>,
    #[prost(bytes = "vec", tag = "5")]
    #[serde(deserialize_with = "from_text")]
    uid: Vec<u8>,
    #[prost(bytes = "vec", tag = "6")]
    #[serde(deserialize_with = "from_text")]
    resource_version: Vec<u8>,
    #[prost(int64, tag = "7")]
    generation: i64,
    #[prost(message, optional, tag = "8")]
    creation_timestamp: Option<Time>,
    #[prost(message, optional, tag = "9")]
    deletion_timestamp: Option<Time>,
    /// How long the object may take to end; views keep what they read of it.
    #[prost(int64, optional, tag = "10")]
    pub deletion_grace_period_seconds: Option<i64>,
    #[prost(btree_map = "string, bytes", tag = "11")]
    #[serde(deserialize_with = "from_texts_by_key")]
    labels: BTreeMap<String, Vec<u8>>,
    #[prost(btree_map = "string, bytes", tag = "12")]
    #[serde(deserialize_with = "from_texts_by_key")]
    annotations: BTreeMap<String, Vec<u8>>,
    #[prost(message, repeated, tag = "13")]
    #[serde(deserialize_with = "null_is_empty")]
    owner_references: Vec<OwnerReference>,
    #[prost(bytes = "vec", repeated, tag = "14")]
    #[serde(deserialize_with = "from_texts")]
    finalizers: Vec<Vec<u8>>,
}

/// `metav1.OwnerReference`. Its texts are bytes: the API server asks of most that they are there.
#[derive(Clone, PartialEq, Message, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct OwnerReference {
    #[prost(bytes = "vec", tag = "1")]
    #[serde(deserialize_with = "from_text")]
    kind: Vec<u8>,
    #[prost(bytes = "vec", tag = "3")]
    #[serde(deserialize_with = "from_text")]
    name: Vec<u8>,
    #[prost(bytes = "vec", tag = "4")]
    #[serde(deserialize_with = "from_text")]
    uid: Vec<u8>,
    #[prost(bytes = "vec", tag = "5")]
    #[serde(deserialize_with = "from_text")]
    api_version: Vec<u8>,
    #[prost(bool, optional, tag = "6")]
    controller: Option<bool>,
    #[prost(bool, optional, tag = "7")]
    block_owner_deletion: Option<bool>,
}

/// `metav1.Time`: two numbers in protobuf, RFC 3339 in JSON. Go's zero time is no time; it travels
/// as an empty message, or as the first second of year 1.
#[derive(Clone, Copy, PartialEq, Message)]
pub struct Time {
    #[prost(int64, optional, tag = "1")]
    seconds: Option<i64>,
    #[prost(int32, tag = "2")]
    nanos: i32,
}

/// `resource.Quantity`: a text in protobuf, a text or a number in JSON.
#[derive(Clone, PartialEq, Message)]
pub struct WireQuantity {
    #[prost(string, tag = "1")]
    text: String,
}

/// `v1.ResourceRequirements`.
#[derive(Clone, PartialEq, Message, Deserialize)]
#[serde(default)]
pub struct ResourceRequirements {
    /// `limits`.
    #[prost(btree_map = "string, message", tag = "1")]
    #[serde(deserialize_with = "null_is_empty")]
    pub limits: BTreeMap<String, WireQuantity>,
    /// `requests`.
    #[prost(btree_map = "string, message", tag = "2")]
    #[serde(deserialize_with = "null_is_empty")]
    pub requests: BTreeMap<String, WireQuantity>,
}

/// An object of which only the metadata is read.
#[derive(Clone, PartialEq, Message, Deserialize)]
pub struct MetadataOnly {
    /// `metadata` is field 1 of every kind.
    #[prost(message, required, tag = "1")]
    pub metadata: ObjectMeta,
}

/// What an object is called, whatever is wrong with the rest of it.
#[derive(Clone, PartialEq, Message, Deserialize)]
pub struct NameOnly {
    #[prost(message, required, tag = "1")]
    metadata: NameMeta,
}

/// The fields of `metav1.ObjectMeta` that name an object.
#[derive(Clone, PartialEq, Message, Deserialize)]
#[serde(default)]
struct NameMeta {
    #[prost(bytes = "vec", tag = "1")]
    #[serde(deserialize_with = "from_text")]
    name: Vec<u8>,
    #[prost(bytes = "vec", tag = "3")]
    #[serde(deserialize_with = "from_text")]
    namespace: Vec<u8>,
}

/// The labels of a `PodTemplateSpec`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct TemplateLabels {
    #[serde(deserialize_with = "null_is_empty")]
    metadata: TemplateMeta,
}

/// The metadata of a `PodTemplateSpec`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct TemplateMeta {
    #[serde(deserialize_with = "null_is_empty")]
    labels: BTreeMap<String, String>,
}

impl TemplateLabels {
    pub(crate) fn labels(&self) -> Labels {
        self.metadata.labels()
    }
}

impl TemplateMeta {
    pub(crate) fn labels(&self) -> Labels {
        Labels::new(&self.labels)
    }
}

/// Decodes one object; a JSON error names the field.
pub fn decode<T: Message + Default + DeserializeOwned>(
    codec: Codec,
    bytes: &[u8],
) -> Result<T, DecodeError> {
    match codec {
        Codec::Protobuf => T::decode(&*unwrap_unknown(bytes)?).map_err(error),
        Codec::Json => decode_json(bytes),
    }
}

/// Decodes an object of kind `K` that is kept whole, which only JSON allows: the fields that are
/// read, and all of it.
pub(crate) fn decode_whole<K: Kind, T: DeserializeOwned>(
    codec: Codec,
    bytes: &[u8],
) -> Result<(T, Raw), DecodeError> {
    match codec {
        Codec::Json => Ok((decode_json(bytes)?, Raw::parse(bytes)?)),
        Codec::Protobuf => {
            Err(DecodeError(format!("a {} must be JSON, to be kept whole", K::RESOURCE.kind)))
        }
    }
}

/// Decodes JSON; an error names the field.
pub fn decode_json<'de, T: Deserialize<'de>>(bytes: &'de [u8]) -> Result<T, DecodeError> {
    serde_json::from_slice(bytes).map_err(|error| match &*fault::path(bytes, &error) {
        "" => DecodeError(error.to_string()),
        path => DecodeError(format!("{path}: {error}")),
    })
}

/// The object inside the `k8s\0` envelope.
pub fn unwrap_unknown(bytes: &[u8]) -> Result<Vec<u8>, DecodeError> {
    let body = bytes
        .strip_prefix(PROTOBUF_MAGIC)
        .ok_or_else(|| DecodeError("a protobuf object without the k8s envelope".to_owned()))?;
    Ok(Unknown::decode(body).map_err(error)?.raw)
}

fn error(error: impl std::fmt::Display) -> DecodeError {
    DecodeError(error.to_string())
}

/// Go writes empty maps and lists as `null` here and there.
pub fn null_is_empty<'de, D: Deserializer<'de>, T: Deserialize<'de> + Default>(
    deserializer: D,
) -> Result<T, D::Error> {
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}

/// What bytes of a wire type say. What is no UTF-8 becomes U+FFFD: the API server does not look at
/// the bytes of most texts, such as the values of annotations or the names of owners, and in
/// protobuf any may come. One such text must not hide an object.
pub(crate) fn text(bytes: &[u8]) -> Cow<'_, str> {
    String::from_utf8_lossy(bytes)
}

/// The bytes of a text in JSON, also if it escapes half of a character.
pub(crate) fn from_text<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<u8>, D::Error> {
    TextBytes::deserialize(deserializer).map(|text| text.0)
}

/// A text in JSON, half characters of which become U+FFFD; `null` is an empty one.
pub(crate) fn lossy_text<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    let bytes: Option<TextBytes> = Option::deserialize(deserializer)?;
    Ok(bytes.map(|bytes| text(&bytes.0).into_owned()).unwrap_or_default())
}

/// A moment in JSON; none for `null` and for Go's zero time.
pub(crate) fn moment<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<crate::Time>, D::Error> {
    Ok(Option::<Time>::deserialize(deserializer)?.and_then(Time::view))
}

/// The same of a text that need not be there.
pub(crate) fn from_optional_text<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<Vec<u8>>, D::Error> {
    Option::<TextBytes>::deserialize(deserializer).map(|text| text.map(|text| text.0))
}

pub(crate) fn from_texts<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Vec<Vec<u8>>, D::Error> {
    let texts: Vec<TextBytes> = null_is_empty(deserializer)?;
    Ok(texts.into_iter().map(|text| text.0).collect())
}

pub(crate) fn from_texts_by_key<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<BTreeMap<String, Vec<u8>>, D::Error> {
    let texts: BTreeMap<String, TextBytes> = null_is_empty(deserializer)?;
    Ok(texts.into_iter().map(|(key, text)| (key, text.0)).collect())
}

struct TextBytes(Vec<u8>);

impl<'de> Deserialize<'de> for TextBytes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_byte_buf(TextVisitor).map(Self)
    }
}

struct TextVisitor;

impl<'de> Visitor<'de> for TextVisitor {
    type Value = Vec<u8>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Vec<u8>, E> {
        Ok(text.as_bytes().to_vec())
    }

    fn visit_bytes<E: Error>(self, text: &[u8]) -> Result<Vec<u8>, E> {
        Ok(text.to_vec())
    }

    fn visit_byte_buf<E: Error>(self, text: Vec<u8>) -> Result<Vec<u8>, E> {
        Ok(text)
    }

    /// A list is no text; read to its end, it is the list that is wrong, not its first item.
    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Vec<u8>, A::Error> {
        while list.next_element::<IgnoredAny>()?.is_some() {}
        Err(A::Error::invalid_type(Unexpected::Seq, &self))
    }
}

// === impl ObjectMeta ===

impl ObjectMeta {
    /// The view of it. An error if the resource version is not a number.
    pub fn meta(&self) -> Result<Meta, DecodeError> {
        let labels = self.labels.iter().map(|(key, value)| (key, text(value)));
        Ok(Meta { labels: Labels::new(labels), ..self.without_labels()? })
    }

    /// Its name.
    pub(crate) fn name(&self) -> Cow<'_, str> {
        text(&self.name)
    }

    /// The value of a label.
    pub(crate) fn label(&self, key: &str) -> Option<Cow<'_, str>> {
        self.labels.get(key).map(|value| text(value))
    }

    /// The value of an annotation.
    pub fn annotation(&self, key: &str) -> Option<Cow<'_, str>> {
        self.annotations.get(key).map(|value| text(value))
    }

    /// All annotations, by key.
    pub(crate) fn annotations(&self) -> impl Iterator<Item = (&str, Cow<'_, str>)> {
        self.annotations.iter().map(|(key, value)| (key.as_str(), text(value)))
    }

    /// The view without labels, for kinds whose labels are not read: labels take time to intern.
    pub(crate) fn without_labels(&self) -> Result<Meta, DecodeError> {
        let resource_version = match &*text(&self.resource_version) {
            "" => 0,
            text => text.parse().map_err(|_| {
                DecodeError(format!("metadata.resourceVersion: {text:?} is not a number"))
            })?,
        };
        let owners: Vec<OwnerRef> =
            self.owner_references.iter().map(OwnerReference::view).collect();
        Ok(Meta {
            key: Key::new(&text(&self.namespace), &text(&self.name)),
            uid: text(&self.uid).into(),
            resource_version,
            generation: self.generation,
            creation_timestamp: self.creation_timestamp.and_then(Time::view),
            deletion_timestamp: self.deletion_timestamp.and_then(Time::view),
            labels: Labels::default(),
            owners: OwnerRef::shared(&owners),
            finalizers: self.finalizers.iter().map(|name| intern(&text(name))).collect(),
        })
    }
}

// === impl NameOnly ===

impl NameOnly {
    /// Namespace and name; none without a name.
    pub fn key(&self) -> Option<Key> {
        let NameMeta { name, namespace } = &self.metadata;
        (!name.is_empty()).then(|| Key::new(&text(namespace), &text(name)))
    }
}

// === Keys and metadata alone ===

impl Key {
    /// Decodes what an object is called, as far as nothing else of it has to be well formed for
    /// that. None if it does not say.
    pub fn decode(codec: Codec, bytes: &[u8]) -> Option<Self> {
        decode::<NameOnly>(codec, bytes).ok()?.key()
    }
}

impl Meta {
    /// Decodes the metadata of an object and nothing else.
    pub fn decode(codec: Codec, bytes: &[u8]) -> Result<Self, DecodeError> {
        decode::<MetadataOnly>(codec, bytes)?.metadata.meta()
    }
}

// === impl OwnerReference ===

impl OwnerReference {
    fn view(&self) -> OwnerRef {
        OwnerRef {
            api_version: intern(&text(&self.api_version)),
            kind: intern(&text(&self.kind)),
            name: intern(&text(&self.name)),
            uid: intern(&text(&self.uid)),
            controller: self.controller.unwrap_or(false),
            block_owner_deletion: self.block_owner_deletion.unwrap_or(false),
        }
    }
}

// === impl WireQuantity ===

impl WireQuantity {
    /// As it was written down.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The amount; nothing if it cannot be read, which the API server does not admit.
    pub fn view(&self) -> Quantity {
        Quantity::parse(self.text.trim()).unwrap_or_default()
    }
}

impl<'de> Deserialize<'de> for WireQuantity {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Either {
            Text(String),
            Number(serde_json::Number),
            Nothing(()),
        }
        Ok(match Either::deserialize(deserializer)? {
            Either::Text(text) => Self { text },
            Either::Number(number) => Self { text: number.to_string() },
            Either::Nothing(()) => Self { text: "0".to_owned() },
        })
    }
}

// === impl Time ===

impl Time {
    /// The view of it; none for Go's zero time.
    pub fn view(self) -> Option<crate::Time> {
        self.seconds.map(|seconds| crate::Time::from_unix(seconds, self.nanos))
    }
}

impl<'de> Deserialize<'de> for Time {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let nanos = crate::Time::deserialize(deserializer)?.unix_nanos();
        if nanos == i64::MIN {
            return Ok(Self::default());
        }
        Ok(Self {
            seconds: Some(nanos.div_euclid(1_000_000_000)),
            nanos: i32::try_from(nanos.rem_euclid(1_000_000_000)).unwrap_or(0),
        })
    }
}
