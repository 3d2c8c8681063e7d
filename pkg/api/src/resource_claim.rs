//! ResourceClaim and DeviceClass: what is claimed of devices.

use std::collections::BTreeMap;

use prost::Message;
use serde::Deserialize;

use crate::wire::{self, from_optional_text, from_text, null_is_empty, text};
use crate::{Codec, DecodeError, Index, Kind, Meta, Object, Resource, Text, intern};

/// The most devices of a request, which one for all devices may get. Upstream's
/// `AllocationResultsMaxSize`.
const ALL: i64 = 32;

/// What controllers read of a ResourceClaim.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResourceClaim {
    /// Name, owners and so on.
    pub meta: Meta,
    /// How many devices of each class it may get at most, sorted by class.
    pub devices: Box<[(Text, i64)]>,
    /// The uid of the pod that it was made for, if it stands for the extended resources of a pod.
    pub extended_for: Option<Text>,
    /// Why the object could not be read; a controller leaves such an object alone.
    pub unreadable: Option<DecodeError>,
}

/// What controllers read of a DeviceClass.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeviceClass {
    /// Its name and so on.
    pub meta: Meta,
    /// The extended resource that its devices are, too.
    pub extended_resource: Option<Text>,
}

impl ResourceClaim {
    /// Upstream's `namespace`: all claims of a namespace.
    pub const BY_NAMESPACE: &'static str = "namespace";
    /// Upstream's `extendedResourceClaimPodUIDOwner`: the claims for extended resources by the uid
    /// of their pod.
    pub const BY_EXTENDED_POD: &'static str = "extendedResourceClaimPodUIDOwner";
    /// The annotation of claims for the extended resources of a pod.
    const EXTENDED: &'static str = "resource.kubernetes.io/extended-resource-claim";
}

impl DeviceClass {
    /// The classes by the extended resource that they name.
    pub const BY_EXTENDED_RESOURCE: &'static str = "extendedResource";
}

impl Kind for ResourceClaim {
    const RESOURCE: Resource =
        Resource::namespaced("resource.k8s.io", "v1", "resourceclaims", "ResourceClaim");
}

impl Object for ResourceClaim {
    const CODEC: Codec = Codec::Protobuf;
    const INDEXES: &'static [Index<Self>] = &[
        Index::by_namespace(Self::BY_NAMESPACE),
        Index::one(Self::BY_EXTENDED_POD, |claim| claim.extended_for.clone()),
    ];

    fn meta(&self) -> &Meta {
        &self.meta
    }

    fn decode(codec: Codec, bytes: &[u8]) -> Result<Self, DecodeError> {
        let wire = wire::decode::<WireClaim>(codec, bytes)?;
        let meta = wire.metadata.meta()?;
        Ok(wire.view(meta))
    }

    fn unreadable(meta: Meta, error: &DecodeError) -> Self {
        Self { unreadable: Some(error.clone()), ..WireClaim::default().view(meta) }
    }
}

impl Kind for DeviceClass {
    const RESOURCE: Resource =
        Resource::cluster_scoped("resource.k8s.io", "v1", "deviceclasses", "DeviceClass");
}

impl Object for DeviceClass {
    const CODEC: Codec = Codec::Protobuf;
    const INDEXES: &'static [Index<Self>] =
        &[Index::one(Self::BY_EXTENDED_RESOURCE, |class| class.extended_resource.clone())];

    fn meta(&self) -> &Meta {
        &self.meta
    }

    fn decode(codec: Codec, bytes: &[u8]) -> Result<Self, DecodeError> {
        let wire = wire::decode::<WireClass>(codec, bytes)?;
        let name = wire.spec.extended_resource_name.as_deref().map(|name| intern(&text(name)));
        Ok(Self { meta: wire.metadata.meta()?, extended_resource: name })
    }

    fn unreadable(meta: Meta, _: &DecodeError) -> Self {
        Self { meta, extended_resource: None }
    }
}

// === Wire ===

#[derive(Clone, PartialEq, Message, Deserialize)]
#[serde(default)]
struct WireClaim {
    #[prost(message, required, tag = "1")]
    metadata: wire::ObjectMeta,
    #[prost(message, required, tag = "2")]
    spec: WireSpec,
}

#[derive(Clone, PartialEq, Message, Deserialize)]
#[serde(default)]
struct WireSpec {
    #[prost(message, required, tag = "1")]
    devices: WireDevices,
}

#[derive(Clone, PartialEq, Message, Deserialize)]
#[serde(default)]
struct WireDevices {
    #[prost(message, repeated, tag = "1")]
    #[serde(deserialize_with = "null_is_empty")]
    requests: Vec<WireRequest>,
}

/// `v1.DeviceRequest`.
#[derive(Clone, PartialEq, Message, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct WireRequest {
    #[prost(message, optional, tag = "2")]
    exactly: Option<WireExactly>,
    #[prost(message, repeated, tag = "3")]
    #[serde(deserialize_with = "null_is_empty")]
    first_available: Vec<WireAlternative>,
}

/// `v1.ExactDeviceRequest`.
#[derive(Clone, PartialEq, Message, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct WireExactly {
    #[prost(bytes = "vec", tag = "1")]
    #[serde(deserialize_with = "from_text")]
    device_class_name: Vec<u8>,
    #[prost(bytes = "vec", tag = "3")]
    #[serde(deserialize_with = "from_text")]
    allocation_mode: Vec<u8>,
    #[prost(int64, tag = "4")]
    count: i64,
}

/// `v1.DeviceSubRequest`.
#[derive(Clone, PartialEq, Message, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct WireAlternative {
    #[prost(bytes = "vec", tag = "2")]
    #[serde(deserialize_with = "from_text")]
    device_class_name: Vec<u8>,
    #[prost(bytes = "vec", tag = "4")]
    #[serde(deserialize_with = "from_text")]
    allocation_mode: Vec<u8>,
    #[prost(int64, tag = "5")]
    count: i64,
}

#[derive(Clone, PartialEq, Message, Deserialize)]
#[serde(default)]
struct WireClass {
    #[prost(message, required, tag = "1")]
    metadata: wire::ObjectMeta,
    #[prost(message, required, tag = "2")]
    spec: WireClassSpec,
}

#[derive(Clone, PartialEq, Message, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct WireClassSpec {
    #[prost(bytes = "vec", optional, tag = "4")]
    #[serde(deserialize_with = "from_optional_text")]
    extended_resource_name: Option<Vec<u8>>,
}

impl WireClaim {
    fn view(&self, meta: Meta) -> ResourceClaim {
        let mut devices = BTreeMap::<Text, i64>::new();
        for request in &self.spec.devices.requests {
            for (class, count) in request.devices() {
                let sum = devices.entry(class).or_default();
                *sum = sum.saturating_add(count);
            }
        }
        let is_extended =
            self.metadata.annotation(ResourceClaim::EXTENDED).is_some_and(|value| value == "true");
        let owner = meta.controller().filter(|it| &*it.kind == "Pod" && &*it.api_version == "v1");
        let extended_for = owner.filter(|_| is_extended).map(|owner| owner.uid.clone());
        let devices = devices.into_iter().collect();
        ResourceClaim { meta, devices, extended_for, unreadable: None }
    }
}

impl WireRequest {
    /// The most that it may get of each class. As `Usage` of the claim evaluator in upstream's
    /// pkg/quota/v1/evaluator/core.
    fn devices(&self) -> BTreeMap<Text, i64> {
        let mut most = BTreeMap::new();
        for it in &self.first_available {
            let count = devices(&it.allocation_mode, it.count);
            let known = most.entry(intern(&text(&it.device_class_name))).or_insert(0);
            *known = count.max(*known);
        }
        if let (true, Some(it)) = (most.is_empty(), &self.exactly) {
            let class = intern(&text(&it.device_class_name));
            most.insert(class, devices(&it.allocation_mode, it.count));
        }
        most
    }
}

/// An unknown mode counts for nothing.
fn devices(mode: &[u8], count: i64) -> i64 {
    match mode {
        b"ExactCount" => count,
        b"All" => ALL,
        _ => 0,
    }
}
