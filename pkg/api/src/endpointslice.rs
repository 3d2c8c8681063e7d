//! EndpointSlice: a view beside the whole object.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::reference::shared;
use crate::wire::{self, null_is_empty};
use crate::{
    Codec, DecodeError, Family, Index, Kind, Meta, Object, ObjectReference, Raw, Resource, Text,
};

/// A part of the endpoints of a Service, and the whole object.
#[derive(Clone, Debug)]
pub struct EndpointSlice {
    /// Name, labels and so on.
    pub meta: Meta,
    /// `addressType`; none: names, or what is not known.
    pub family: Option<Family>,
    /// `ports`, sorted.
    pub ports: Vec<SlicePort>,
    /// `endpoints`.
    pub endpoints: Vec<Endpoint>,
    /// The object without `endpoints`, of which every field is known.
    pub raw: Raw,
    /// Why the object could not be read; a controller leaves such an object alone.
    pub unreadable: Option<DecodeError>,
}

/// `discovery.EndpointPort`.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct SlicePort {
    /// `name`.
    #[serde(deserialize_with = "shared", skip_serializing_if = "Option::is_none")]
    pub name: Option<Text>,
    /// `protocol`.
    #[serde(deserialize_with = "shared", skip_serializing_if = "Option::is_none")]
    pub protocol: Option<Text>,
    /// `port`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub port: Option<i32>,
    /// `appProtocol`.
    #[serde(deserialize_with = "shared", skip_serializing_if = "Option::is_none")]
    pub app_protocol: Option<Text>,
}

/// `discovery.Endpoint`.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Endpoint {
    /// `addresses`.
    #[serde(deserialize_with = "null_is_empty")]
    pub addresses: Vec<Text>,
    /// `conditions`.
    #[serde(deserialize_with = "null_is_empty")]
    pub conditions: Conditions,
    /// `hostname`.
    #[serde(deserialize_with = "shared", skip_serializing_if = "Option::is_none")]
    pub hostname: Option<Text>,
    /// `targetRef`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target_ref: Option<ObjectReference>,
    /// `deprecatedTopology`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deprecated_topology: Option<BTreeMap<String, String>>,
    /// `nodeName`.
    #[serde(deserialize_with = "shared", skip_serializing_if = "Option::is_none")]
    pub node_name: Option<Text>,
    /// `zone`.
    #[serde(deserialize_with = "shared", skip_serializing_if = "Option::is_none")]
    pub zone: Option<Text>,
    /// `hints`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hints: Option<Hints>,
}

/// `discovery.EndpointConditions`; none: not known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(default)]
pub struct Conditions {
    /// `ready`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ready: Option<bool>,
    /// `serving`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub serving: Option<bool>,
    /// `terminating`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub terminating: Option<bool>,
}

/// `discovery.EndpointHints`: whose traffic an endpoint should get.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Hints {
    /// Zones.
    #[serde(deserialize_with = "null_is_empty", skip_serializing_if = "Vec::is_empty")]
    pub for_zones: Vec<Hinted>,
    /// Nodes.
    #[serde(deserialize_with = "null_is_empty", skip_serializing_if = "Vec::is_empty")]
    pub for_nodes: Vec<Hinted>,
}

/// A zone or a node.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(default)]
pub struct Hinted {
    /// Its name.
    pub name: Text,
}

impl EndpointSlice {
    /// The label that names the Service. Upstream's `LabelServiceName`.
    pub const SERVICE_NAME: &'static str = "kubernetes.io/service-name";
    /// The label that names who manages the slice. Upstream's `LabelManagedBy`.
    pub const MANAGED_BY: &'static str = "endpointslice.kubernetes.io/managed-by";
    /// The label of Endpoints that nobody mirrors. Upstream's `LabelSkipMirror`.
    pub const SKIP_MIRROR: &'static str = "endpointslice.kubernetes.io/skip-mirror";
    /// Slices by the Service that their label names, as `namespace/name`.
    pub const BY_SERVICE: &'static str = "service";

    /// The key of the Service that its label names; none: it names none. As upstream's
    /// `ServiceControllerKey`.
    pub fn service(meta: &Meta) -> Option<crate::Key> {
        let name = meta.labels.get(Self::SERVICE_NAME).filter(|name| !name.is_empty())?;
        Some(crate::Key { namespace: meta.key.namespace.clone(), name: name.into() })
    }

    /// Who manages it.
    pub fn manager(&self) -> &str {
        self.meta.labels.get(Self::MANAGED_BY).unwrap_or_default()
    }
}

impl Endpoint {
    /// Whether it is known to be ready.
    pub fn is_ready(&self) -> bool {
        self.conditions.ready == Some(true)
    }
}

impl Kind for EndpointSlice {
    const RESOURCE: Resource =
        Resource::namespaced("discovery.k8s.io", "v1", "endpointslices", "EndpointSlice");
}

impl Object for EndpointSlice {
    const CODEC: Codec = Codec::Json;
    const INDEXES: &'static [Index<Self>] = &[Index::one(Self::BY_SERVICE, |slice| {
        Self::service(&slice.meta).map(|service| service.to_string().into())
    })];

    fn meta(&self) -> &Meta {
        &self.meta
    }

    fn decode(codec: Codec, bytes: &[u8]) -> Result<Self, DecodeError> {
        let (mut wire, raw) = wire::decode_whole::<Self, WireSlice>(codec, bytes)?;
        wire.ports.sort();
        Ok(Self {
            meta: wire.metadata.meta()?,
            family: Family::parse(&wire.address_type),
            ports: wire.ports,
            endpoints: wire.endpoints,
            raw: raw.without("endpoints"),
            unreadable: None,
        })
    }

    fn unreadable(meta: Meta, error: &DecodeError) -> Self {
        Self {
            meta,
            family: None,
            ports: Vec::new(),
            endpoints: Vec::new(),
            raw: Raw::default(),
            unreadable: Some(error.clone()),
        }
    }
}

// === Wire ===

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WireSlice {
    metadata: wire::ObjectMeta,
    #[serde(default)]
    address_type: String,
    #[serde(default, deserialize_with = "null_is_empty")]
    ports: Vec<SlicePort>,
    #[serde(default, deserialize_with = "null_is_empty")]
    endpoints: Vec<Endpoint>,
}
