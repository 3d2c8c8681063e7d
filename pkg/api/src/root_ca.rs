//! The ConfigMap `kube-root-ca.crt` of a namespace: a view beside the object. No other ConfigMap is
//! read for it.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::wire::{self, null_is_empty};
use crate::{Codec, DecodeError, Index, Kind, Meta, Object, Raw, Resource, Text, intern};

/// What pods trust the API server by.
#[derive(Clone, Debug)]
pub struct RootCa {
    /// Name, labels and so on.
    pub meta: Meta,
    /// `data`. Equal texts share their memory, and those of most namespaces are equal.
    pub data: BTreeMap<Text, Text>,
    /// Whether the annotation [`RootCa::DESCRIPTION`] is there and not empty.
    pub described: bool,
    /// The object without its `data`.
    pub raw: Raw,
    /// Why the object could not be read.
    pub unreadable: Option<DecodeError>,
}

impl RootCa {
    /// The name of each of these ConfigMaps.
    pub const NAME: &'static str = "kube-root-ca.crt";
    /// The annotation with the purpose of the ConfigMap.
    pub const DESCRIPTION: &'static str = "kubernetes.io/description";
}

impl Kind for RootCa {
    const RESOURCE: Resource = Resource::namespaced("", "v1", "configmaps", "ConfigMap");
    const FIELD_SELECTOR: &'static str = "metadata.name=kube-root-ca.crt";
}

impl Object for RootCa {
    const CODEC: Codec = Codec::Json;
    const INDEXES: &'static [Index<Self>] = &[];

    fn meta(&self) -> &Meta {
        &self.meta
    }

    fn decode(codec: Codec, bytes: &[u8]) -> Result<Self, DecodeError> {
        let (wire, raw) = wire::decode_whole::<Self, Wire>(codec, bytes)?;
        let description = wire.metadata.annotation(Self::DESCRIPTION);
        let data = wire.data.iter().map(|(key, value)| (intern(key), intern(value)));
        Ok(Self {
            meta: wire.metadata.meta()?,
            data: data.collect(),
            described: description.is_some_and(|text| !text.is_empty()),
            raw: raw.without("data"),
            unreadable: None,
        })
    }

    fn unreadable(meta: Meta, error: &DecodeError) -> Self {
        let (data, raw, unreadable) = (BTreeMap::new(), Raw::default(), Some(error.clone()));
        Self { meta, data, described: false, raw, unreadable }
    }
}

// === Wire ===

#[derive(Deserialize)]
struct Wire {
    metadata: wire::ObjectMeta,
    #[serde(default, deserialize_with = "null_is_empty")]
    data: BTreeMap<String, String>,
}
