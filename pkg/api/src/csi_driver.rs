//! CSIDriver: what Kubernetes must know of a driver.

use prost::Message;
use serde::Deserialize;

use crate::{Codec, DecodeError, Index, Kind, Meta, Object, Resource, wire};

/// What controllers read of a CSI driver.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CsiDriver {
    /// Name and so on.
    pub meta: Meta,
    /// Whether its volumes must be attached before they are mounted.
    pub attach_required: bool,
    /// Whether its volumes can be mounted with an SELinux label.
    pub se_linux_mount: bool,
}

impl Kind for CsiDriver {
    const RESOURCE: Resource =
        Resource::cluster_scoped("storage.k8s.io", "v1", "csidrivers", "CSIDriver");
}

impl Object for CsiDriver {
    const CODEC: Codec = Codec::Protobuf;
    const INDEXES: &'static [Index<Self>] = &[];

    fn meta(&self) -> &Meta {
        &self.meta
    }

    fn decode(codec: Codec, bytes: &[u8]) -> Result<Self, DecodeError> {
        let wire = wire::decode::<WireDriver>(codec, bytes)?;
        let attach_required = wire.spec.attach_required.unwrap_or(true);
        let se_linux_mount = wire.spec.se_linux_mount.unwrap_or(false);
        Ok(Self { meta: wire.metadata.meta()?, attach_required, se_linux_mount })
    }

    fn unreadable(meta: Meta, _: &DecodeError) -> Self {
        // As of a driver without such an object: its volumes are attached, and none is detached
        // because of it.
        Self { meta, attach_required: true, se_linux_mount: false }
    }
}

// === Wire ===

#[derive(Clone, PartialEq, Message, Deserialize)]
#[serde(default)]
struct WireDriver {
    #[prost(message, required, tag = "1")]
    metadata: wire::ObjectMeta,
    #[prost(message, required, tag = "2")]
    spec: WireSpec,
}

#[derive(Clone, PartialEq, Message, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct WireSpec {
    #[prost(bool, optional, tag = "1")]
    attach_required: Option<bool>,
    #[prost(bool, optional, tag = "8")]
    se_linux_mount: Option<bool>,
}
