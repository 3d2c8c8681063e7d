//! The ConfigMap `cluster-info`: a view beside the object. No other ConfigMap is read for it.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::wire::{self, null_is_empty};
use crate::{Codec, DecodeError, Index, Kind, Meta, Object, Raw, Resource, Text};

/// How nodes that join find the cluster, and who vouches for it.
#[derive(Clone, Debug)]
pub struct ClusterInfo {
    /// Name and so on.
    pub meta: Meta,
    /// `kubeconfig` of its data; it may be empty.
    pub kubeconfig: Option<Text>,
    /// Its signatures, by the ids of the tokens that made them.
    pub signatures: BTreeMap<Text, Text>,
    /// The whole object.
    pub raw: Raw,
    /// Why the object could not be read; a controller leaves such an object alone.
    pub unreadable: Option<DecodeError>,
}

impl ClusterInfo {
    /// Where it is.
    pub const NAMESPACE: &'static str = "kube-public";
    /// Its name.
    pub const NAME: &'static str = "cluster-info";
    /// The key of the kubeconfig in the data.
    pub const KUBECONFIG: &'static str = "kubeconfig";
    /// What the keys of signatures begin with; the id of a token follows.
    pub const SIGNATURE_PREFIX: &'static str = "jws-kubeconfig-";
}

impl Kind for ClusterInfo {
    const RESOURCE: Resource = Resource::namespaced("", "v1", "configmaps", "ConfigMap");
    const FIELD_SELECTOR: &'static str =
        "metadata.name=cluster-info,metadata.namespace=kube-public";
}

impl Object for ClusterInfo {
    const CODEC: Codec = Codec::Json;
    const INDEXES: &'static [Index<Self>] = &[];

    fn meta(&self) -> &Meta {
        &self.meta
    }

    fn decode(codec: Codec, bytes: &[u8]) -> Result<Self, DecodeError> {
        let (wire, raw) = wire::decode_whole::<Self, Wire>(codec, bytes)?;
        let signatures = wire.data.iter().filter_map(|(key, value)| {
            let id = key.strip_prefix(Self::SIGNATURE_PREFIX)?;
            Some((id.into(), value.as_str().into()))
        });
        Ok(Self {
            meta: wire.metadata.meta()?,
            kubeconfig: wire.data.get(Self::KUBECONFIG).map(|text| text.as_str().into()),
            signatures: signatures.collect(),
            raw,
            unreadable: None,
        })
    }

    fn unreadable(meta: Meta, error: &DecodeError) -> Self {
        let (raw, unreadable) = (Raw::default(), Some(error.clone()));
        Self { meta, kubeconfig: None, signatures: BTreeMap::new(), raw, unreadable }
    }
}

// === Wire ===

#[derive(Deserialize)]
struct Wire {
    metadata: wire::ObjectMeta,
    #[serde(default, deserialize_with = "null_is_empty")]
    data: BTreeMap<String, String>,
}
