//! StorageVersion: in which versions the API servers store a kind; and the Leases that say which
//! API servers there are.

use serde::Deserialize;
use serde_json::Value;

use crate::wire::{self, null_is_empty};
use crate::{Codec, DecodeError, Index, Kind, Meta, Object, Raw, Resource, Text, intern};

/// What controllers read of a StorageVersion, and the whole of it.
#[derive(Clone, Debug)]
pub struct StorageVersion {
    /// Name and so on.
    pub meta: Meta,
    /// `status.storageVersions`: what each API server says.
    pub servers: Box<[ServerVersion]>,
    /// `status.commonEncodingVersion`: the version in which all of them store the kind.
    pub common: Option<Text>,
    /// The whole object.
    pub raw: Raw,
    /// Why the object could not be read; a controller leaves such an object alone.
    pub unreadable: Option<DecodeError>,
}

/// What an API server says of a kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerVersion {
    /// The name of the server's identity Lease.
    pub server: Text,
    /// The version in which it stores the kind.
    pub encoding: Text,
}

/// A Lease in `kube-system`. That of an API server carries a label, and has the server's name.
#[derive(Clone, Debug)]
pub struct SystemLease {
    /// Name, labels and so on.
    pub meta: Meta,
}

impl StorageVersion {
    /// The entries of `status.storageVersions` whole, in the order of [`StorageVersion::servers`].
    pub fn entries(&self) -> Vec<Value> {
        self.status("storageVersions")
    }

    /// `status.conditions`, whole.
    pub fn conditions(&self) -> Vec<Value> {
        self.status("conditions")
    }

    fn status(&self, list: &str) -> Vec<Value> {
        let status = self.raw.field("status").map(|status| serde_json::from_str(status.get()));
        let mut status: Value = status.and_then(Result::ok).unwrap_or_default();
        match status.get_mut(list).map(Value::take) {
            Some(Value::Array(items)) => items,
            _ => Vec::new(),
        }
    }
}

impl SystemLease {
    /// The namespace of the identity Leases.
    pub const NAMESPACE: &'static str = "kube-system";
    const COMPONENT: &'static str = "apiserver.kubernetes.io/identity";
    const API_SERVER: &'static str = "kube-apiserver";

    /// Whether it is the identity of an API server.
    pub fn is_of_api_server(&self) -> bool {
        self.meta.labels.get(Self::COMPONENT) == Some(Self::API_SERVER)
    }
}

impl Kind for StorageVersion {
    const RESOURCE: Resource = Resource::cluster_scoped(
        "internal.apiserver.k8s.io",
        "v1alpha1",
        "storageversions",
        "StorageVersion",
    );
}

impl Object for StorageVersion {
    const CODEC: Codec = Codec::Json;
    const INDEXES: &'static [Index<Self>] = &[];

    fn meta(&self) -> &Meta {
        &self.meta
    }

    fn decode(codec: Codec, bytes: &[u8]) -> Result<Self, DecodeError> {
        let (wire, raw) = wire::decode_whole::<Self, Wire>(codec, bytes)?;
        let servers = wire.status.storage_versions.iter().map(|it| ServerVersion {
            server: intern(&it.api_server_id),
            encoding: intern(&it.encoding_version),
        });
        let common = wire.status.common_encoding_version.as_deref().map(intern);
        Ok(Self {
            meta: wire.metadata.meta()?,
            servers: servers.collect(),
            common,
            raw,
            unreadable: None,
        })
    }

    fn unreadable(meta: Meta, error: &DecodeError) -> Self {
        let (servers, raw, unreadable) = (Box::default(), Raw::default(), Some(error.clone()));
        Self { meta, servers, common: None, raw, unreadable }
    }
}

impl Kind for SystemLease {
    const RESOURCE: Resource = crate::Lease::RESOURCE;
    const FIELD_SELECTOR: &'static str = "metadata.namespace=kube-system";
}

impl Object for SystemLease {
    const CODEC: Codec = Codec::Protobuf;
    const METADATA_ONLY: bool = true;
    const INDEXES: &'static [Index<Self>] = &[];

    fn meta(&self) -> &Meta {
        &self.meta
    }

    fn decode(codec: Codec, bytes: &[u8]) -> Result<Self, DecodeError> {
        Ok(Self { meta: Meta::decode(codec, bytes)? })
    }

    fn unreadable(meta: Meta, _: &DecodeError) -> Self {
        Self { meta }
    }
}

// === Wire ===

#[derive(Deserialize)]
struct Wire {
    metadata: wire::ObjectMeta,
    #[serde(default)]
    status: WireStatus,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct WireStatus {
    #[serde(deserialize_with = "null_is_empty")]
    storage_versions: Vec<WireServer>,
    common_encoding_version: Option<String>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct WireServer {
    #[serde(rename = "apiServerID")]
    api_server_id: String,
    encoding_version: String,
}
