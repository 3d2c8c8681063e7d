//! Lease: what says that a node lives.

use prost::Message;
use serde::Deserialize;

use crate::wire;
use crate::{Codec, DecodeError, Index, Kind, Meta, Object, Resource, Time};

/// What controllers read of a Lease.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lease {
    /// Name and so on.
    pub meta: Meta,
    /// When its holder last renewed it, by the holder's clock.
    pub renewed: Option<Time>,
}

impl Lease {
    /// The namespace of the Leases of nodes, which have the nodes' names.
    pub const OF_NODES: &'static str = "kube-node-lease";
}

impl Kind for Lease {
    const RESOURCE: Resource = Resource::namespaced("coordination.k8s.io", "v1", "leases", "Lease");
}

impl Object for Lease {
    const CODEC: Codec = Codec::Protobuf;
    const INDEXES: &'static [Index<Self>] = &[];

    fn meta(&self) -> &Meta {
        &self.meta
    }

    fn decode(codec: Codec, bytes: &[u8]) -> Result<Self, DecodeError> {
        let wire = wire::decode::<WireLease>(codec, bytes)?;
        let renewed = wire.spec.renew_time.and_then(wire::Time::view);
        Ok(Self { meta: wire.metadata.meta()?, renewed })
    }

    fn unreadable(meta: Meta, _: &DecodeError) -> Self {
        Self { meta, renewed: None }
    }
}

// === Wire ===

#[derive(Clone, PartialEq, Message, Deserialize)]
#[serde(default)]
struct WireLease {
    #[prost(message, required, tag = "1")]
    metadata: wire::ObjectMeta,
    #[prost(message, required, tag = "2")]
    spec: WireSpec,
}

#[derive(Clone, PartialEq, Message, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct WireSpec {
    /// `metav1.MicroTime`, in protobuf the same as `metav1.Time`.
    #[prost(message, optional, tag = "4")]
    renew_time: Option<wire::Time>,
}
