//! Endpoints: a view beside the whole object.

use serde::{Deserialize, Serialize};

use crate::reference::{filled, shared};
use crate::wire::{self, null_is_empty};
use crate::{Codec, DecodeError, Index, Kind, Meta, Object, ObjectReference, Raw, Resource, Text};

/// The endpoints of a Service, and the whole object.
#[derive(Clone, Debug)]
pub struct Endpoints {
    /// Name, labels and so on.
    pub meta: Meta,
    /// `subsets`.
    pub subsets: Vec<Subset>,
    /// Whether it has the annotation of a leader election of old.
    pub elects_leader: bool,
    /// Annotation `endpoints.kubernetes.io/over-capacity`.
    pub over_capacity: Option<Text>,
    /// The object without `subsets`, of which every field is known.
    pub raw: Raw,
    /// Why the object could not be read; a controller leaves such an object alone.
    pub unreadable: Option<DecodeError>,
}

/// `v1.EndpointSubset`: each of the addresses has each of the ports.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Subset {
    /// Those that are ready.
    #[serde(deserialize_with = "null_is_empty", skip_serializing_if = "Vec::is_empty")]
    pub addresses: Vec<EndpointAddress>,
    /// Those that are not.
    #[serde(deserialize_with = "null_is_empty", skip_serializing_if = "Vec::is_empty")]
    pub not_ready_addresses: Vec<EndpointAddress>,
    /// The ports.
    #[serde(deserialize_with = "null_is_empty", skip_serializing_if = "Vec::is_empty")]
    pub ports: Vec<EndpointPort>,
}

/// `v1.EndpointAddress`.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct EndpointAddress {
    /// The IP address.
    pub ip: Text,
    /// `hostname`.
    #[serde(deserialize_with = "filled", skip_serializing_if = "Option::is_none")]
    pub hostname: Option<Text>,
    /// `nodeName`, which may be there and empty.
    #[serde(deserialize_with = "shared", skip_serializing_if = "Option::is_none")]
    pub node_name: Option<Text>,
    /// `targetRef`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target_ref: Option<ObjectReference>,
}

/// `v1.EndpointPort`.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct EndpointPort {
    /// `name`.
    #[serde(deserialize_with = "filled", skip_serializing_if = "Option::is_none")]
    pub name: Option<Text>,
    /// `port`.
    pub port: i32,
    /// `protocol`.
    #[serde(deserialize_with = "filled", skip_serializing_if = "Option::is_none")]
    pub protocol: Option<Text>,
    /// `appProtocol`.
    #[serde(deserialize_with = "shared", skip_serializing_if = "Option::is_none")]
    pub app_protocol: Option<Text>,
}

impl Endpoints {
    /// The annotation of an object that a leader election of old is held on. Upstream's
    /// `LeaderElectionRecordAnnotationKey`.
    pub const LEADER: &'static str = "control-plane.alpha.kubernetes.io/leader";
    /// Upstream's `EndpointsLastChangeTriggerTime`, also of EndpointSlices.
    pub const TRIGGER_TIME: &'static str = "endpoints.kubernetes.io/last-change-trigger-time";
    /// Upstream's `EndpointsOverCapacity`.
    pub const OVER_CAPACITY: &'static str = "endpoints.kubernetes.io/over-capacity";
}

impl Kind for Endpoints {
    const RESOURCE: Resource = Resource::namespaced("", "v1", "endpoints", "Endpoints");
}

impl Object for Endpoints {
    const CODEC: Codec = Codec::Json;
    const INDEXES: &'static [Index<Self>] = &[];

    fn meta(&self) -> &Meta {
        &self.meta
    }

    fn decode(codec: Codec, bytes: &[u8]) -> Result<Self, DecodeError> {
        let (wire, raw) = wire::decode_whole::<Self, WireEndpoints>(codec, bytes)?;
        let over_capacity = wire.metadata.annotation(Self::OVER_CAPACITY);
        Ok(Self {
            meta: wire.metadata.meta()?,
            elects_leader: wire.metadata.annotation(Self::LEADER).is_some(),
            over_capacity: over_capacity.map(|text| crate::intern(&text)),
            subsets: wire.subsets,
            raw: raw.without("subsets"),
            unreadable: None,
        })
    }

    fn unreadable(meta: Meta, error: &DecodeError) -> Self {
        Self {
            meta,
            subsets: Vec::new(),
            elects_leader: false,
            over_capacity: None,
            raw: Raw::default(),
            unreadable: Some(error.clone()),
        }
    }
}

// === Wire ===

#[derive(Deserialize)]
struct WireEndpoints {
    metadata: wire::ObjectMeta,
    #[serde(default, deserialize_with = "null_is_empty")]
    subsets: Vec<Subset>,
}
