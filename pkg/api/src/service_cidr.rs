//! ServiceCIDR and IPAddress: which addresses Services may have, and which they have.

use core::net::IpAddr;

use prost::Message;
use serde::Deserialize;

use crate::wire::{self, from_text, null_is_empty, text};
use crate::{Codec, DecodeError, Index, Kind, Meta, Object, Prefix, Resource, Status};

/// What controllers read of a ServiceCIDR.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServiceCidr {
    /// Its name, finalizers and so on.
    pub meta: Meta,
    /// `spec.cidrs`; what is none is left out.
    pub prefixes: Box<[Prefix]>,
    /// The condition `Ready`.
    pub ready: Option<ReadyCidr>,
    /// Why the object could not be read; a controller leaves such an object alone.
    pub unreadable: Option<DecodeError>,
}

/// The condition `Ready` of a ServiceCIDR.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadyCidr {
    /// Whether it holds.
    pub status: Status,
    /// One word for programs.
    pub reason: String,
    /// A sentence for people.
    pub message: String,
}

/// What controllers read of an IPAddress.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IpAddress {
    /// Its labels and so on; its name is the address.
    pub meta: Meta,
}

impl ServiceCidr {
    /// The finalizer of those that are still used.
    pub const FINALIZER: &'static str = "networking.k8s.io/service-cidr-finalizer";
}

impl IpAddress {
    /// The label that says who manages it.
    const MANAGED_BY: &'static str = "ipaddress.kubernetes.io/managed-by";
    /// The API server's allocator of the addresses of Services.
    const ALLOCATOR: &'static str = "ipallocator.k8s.io";

    /// The address; none if it is no address of a Service.
    pub fn of_service(&self) -> Option<IpAddr> {
        let is_managed = self.meta.labels.get(Self::MANAGED_BY) == Some(Self::ALLOCATOR);
        self.meta.key.name.parse().ok().filter(|_| is_managed)
    }
}

impl Kind for ServiceCidr {
    const RESOURCE: Resource =
        Resource::cluster_scoped("networking.k8s.io", "v1", "servicecidrs", "ServiceCIDR");
}

impl Object for ServiceCidr {
    const CODEC: Codec = Codec::Protobuf;
    const INDEXES: &'static [Index<Self>] = &[];

    fn meta(&self) -> &Meta {
        &self.meta
    }

    fn decode(codec: Codec, bytes: &[u8]) -> Result<Self, DecodeError> {
        let wire = wire::decode::<WireCidr>(codec, bytes)?;
        let meta = wire.metadata.meta()?;
        Ok(wire.view(meta))
    }

    fn unreadable(meta: Meta, error: &DecodeError) -> Self {
        Self { unreadable: Some(error.clone()), ..WireCidr::default().view(meta) }
    }
}

impl Kind for IpAddress {
    const RESOURCE: Resource =
        Resource::cluster_scoped("networking.k8s.io", "v1", "ipaddresses", "IPAddress");
}

impl Object for IpAddress {
    const CODEC: Codec = Codec::Protobuf;
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

#[derive(Clone, PartialEq, Message, Deserialize)]
#[serde(default)]
struct WireCidr {
    #[prost(message, required, tag = "1")]
    metadata: wire::ObjectMeta,
    #[prost(message, required, tag = "2")]
    spec: WireSpec,
    #[prost(message, required, tag = "3")]
    status: WireStatus,
}

#[derive(Clone, PartialEq, Message, Deserialize)]
#[serde(default)]
struct WireSpec {
    #[prost(string, repeated, tag = "1")]
    #[serde(deserialize_with = "null_is_empty")]
    cidrs: Vec<String>,
}

#[derive(Clone, PartialEq, Message, Deserialize)]
#[serde(default)]
struct WireStatus {
    #[prost(message, repeated, tag = "1")]
    #[serde(deserialize_with = "null_is_empty")]
    conditions: Vec<WireCondition>,
}

/// `metav1.Condition`.
#[derive(Clone, PartialEq, Message, Deserialize)]
#[serde(default)]
struct WireCondition {
    #[prost(bytes = "vec", tag = "1")]
    #[serde(deserialize_with = "from_text")]
    r#type: Vec<u8>,
    #[prost(bytes = "vec", tag = "2")]
    #[serde(deserialize_with = "from_text")]
    status: Vec<u8>,
    #[prost(bytes = "vec", tag = "5")]
    #[serde(deserialize_with = "from_text")]
    reason: Vec<u8>,
    #[prost(bytes = "vec", tag = "6")]
    #[serde(deserialize_with = "from_text")]
    message: Vec<u8>,
}

impl WireCidr {
    fn view(&self, meta: Meta) -> ServiceCidr {
        let ready = self.status.conditions.iter().find(|condition| condition.r#type == b"Ready");
        ServiceCidr {
            meta,
            prefixes: self.spec.cidrs.iter().filter_map(|cidr| Prefix::parse(cidr)).collect(),
            ready: ready.map(|condition| ReadyCidr {
                status: Status::parse(&text(&condition.status)),
                reason: text(&condition.reason).into_owned(),
                message: text(&condition.message).into_owned(),
            }),
            unreadable: None,
        }
    }
}
