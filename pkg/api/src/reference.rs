//! References between objects, as they stand in endpoints.

use serde::{Deserialize, Deserializer, Serialize};

use crate::{Text, intern};

/// `v1.ObjectReference`. A text that is empty is none.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ObjectReference {
    /// Its kind.
    #[serde(deserialize_with = "filled", skip_serializing_if = "Option::is_none")]
    pub kind: Option<Text>,
    /// Its namespace.
    #[serde(deserialize_with = "filled", skip_serializing_if = "Option::is_none")]
    pub namespace: Option<Text>,
    /// Its name.
    #[serde(deserialize_with = "filled", skip_serializing_if = "Option::is_none")]
    pub name: Option<Text>,
    /// Its uid.
    #[serde(deserialize_with = "filled", skip_serializing_if = "Option::is_none")]
    pub uid: Option<Text>,
    /// The group and version of its kind.
    #[serde(deserialize_with = "filled", skip_serializing_if = "Option::is_none")]
    pub api_version: Option<Text>,
    /// The version that was looked at.
    #[serde(deserialize_with = "filled", skip_serializing_if = "Option::is_none")]
    pub resource_version: Option<Text>,
    /// A part of it.
    #[serde(deserialize_with = "filled", skip_serializing_if = "Option::is_none")]
    pub field_path: Option<Text>,
}

impl ObjectReference {
    /// Whether both are the same but for the version that was looked at. As upstream's
    /// `semanticIgnoreResourceVersion`.
    pub fn is_alike(&self, other: &Self) -> bool {
        let Self { kind, namespace, name, uid, api_version, resource_version: _, field_path } =
            self;
        (kind, namespace, name, uid, api_version, field_path)
            == (
                &other.kind,
                &other.namespace,
                &other.name,
                &other.uid,
                &other.api_version,
                &other.field_path,
            )
    }
}

/// A text that is absent if it is empty.
pub(crate) fn filled<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Text>, D::Error> {
    Ok(shared(deserializer)?.filter(|text| !text.is_empty()))
}

/// A text that repeats in many objects.
pub(crate) fn shared<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Text>, D::Error> {
    let text: Option<String> = Option::deserialize(deserializer)?;
    Ok(text.map(|text| intern(&text)))
}
