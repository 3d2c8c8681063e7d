//! ResourceClaim, ResourceClaimTemplate and DeviceClass: what is claimed of devices.

use std::collections::BTreeMap;

use prost::Message;
use serde::Deserialize;

use crate::wire::{self, from_optional_text, from_text, lossy_text, null_is_empty, text};
use crate::{
    Codec, DecodeError, Index, Kind, Meta, Object, OwnerRef, Raw, Resource, ResourceSlice, Text,
    Toleration, intern,
};

/// The most devices of a request, which one for all devices may get. Upstream's
/// `AllocationResultsMaxSize`.
const ALL: i64 = 32;

/// What controllers read of a ResourceClaim, and the whole of it.
#[derive(Clone, Debug)]
pub struct ResourceClaim {
    /// Name, owners and so on.
    pub meta: Meta,
    /// How many devices of each class it may get at most, sorted by class.
    pub devices: Box<[(Text, i64)]>,
    /// The uid of the pod that it was made for, if it stands for the extended resources of a pod.
    pub extended_for: Option<Text>,
    /// Whether it stands for extended resources, whoever owns it.
    pub is_extended: bool,
    /// The entry of the pod that it was made for from a template, as an annotation says.
    pub pod_claim: Option<Text>,
    /// Whether it asks for access to devices that are in use.
    pub admin_access: bool,
    /// The devices that it has got; none: it is not allocated.
    pub allocation: Option<Box<[AllocatedDevice]>>,
    /// What it is reserved for, in the order of the status.
    pub reserved_for: Box<[Consumer]>,
    /// The whole object.
    pub raw: Raw,
    /// Why the object could not be read; a controller leaves such an object alone.
    pub unreadable: Option<DecodeError>,
}

/// A device that a claim has got.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AllocatedDevice {
    /// The driver that serves it.
    pub driver: Text,
    /// The pool of the driver that it is in.
    pub pool: Text,
    /// Its name there.
    pub device: Text,
    /// Which taints of it do not matter.
    pub tolerations: Box<[Toleration]>,
}

/// What a claim is reserved for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Consumer {
    /// The API group; empty for pods.
    pub group: Text,
    /// Such as `pods`.
    pub resource: Text,
    /// Its name, in the namespace of the claim.
    pub name: Text,
    /// Its uid.
    pub uid: Text,
}

/// What claims are made of, for pods.
#[derive(Clone, Debug)]
pub struct ResourceClaimTemplate {
    /// Its name and so on.
    pub meta: Meta,
    /// Whether its claims ask for access to devices that are in use.
    pub admin_access: bool,
    /// Whether its claims list alternatives.
    pub has_alternatives: bool,
    /// The whole object.
    pub raw: Raw,
    /// Why the object could not be read.
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
    /// Upstream's `claimPodOwner`: the claims by the uid of the pod that manages them.
    pub const BY_POD: &'static str = "claimPodOwner";
    /// The claims by the pools of the devices that they have got, as [`ResourceSlice::pool_key`].
    pub const BY_POOL: &'static str = "pool";
    /// The annotation that names the entry of the pod that a claim was made for.
    pub const POD_CLAIM: &'static str = "resource.kubernetes.io/pod-claim-name";
    /// The finalizer of claims that may be allocated.
    pub const FINALIZER: &'static str = "resource.kubernetes.io/delete-protection";
    /// The annotation of claims for the extended resources of a pod.
    const EXTENDED: &'static str = "resource.kubernetes.io/extended-resource-claim";

    /// The pod that manages it.
    pub fn pod(&self) -> Option<&OwnerRef> {
        self.meta.controller().filter(|it| &*it.kind == "Pod" && &*it.api_version == "v1")
    }

    /// Whether it is reserved for the object with this uid.
    pub fn is_reserved_for(&self, uid: &str) -> bool {
        self.reserved_for.iter().any(|it| &*it.uid == uid)
    }
}

impl Consumer {
    /// Whether it is a pod.
    pub fn is_pod(&self) -> bool {
        self.group.is_empty() && &*self.resource == "pods"
    }
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
    const CODEC: Codec = Codec::Json;
    const INDEXES: &'static [Index<Self>] = &[
        Index::by_namespace(Self::BY_NAMESPACE),
        Index::one(Self::BY_EXTENDED_POD, |claim| claim.extended_for.clone()),
        Index::one(Self::BY_POD, |claim| claim.pod().map(|pod| pod.uid.clone())),
        Index::several(Self::BY_POOL, |claim| {
            let devices = claim.allocation.iter().flatten();
            devices.map(|it| ResourceSlice::pool_key(&it.driver, &it.pool)).collect()
        }),
    ];

    fn meta(&self) -> &Meta {
        &self.meta
    }

    fn decode(codec: Codec, bytes: &[u8]) -> Result<Self, DecodeError> {
        let (wire, raw) = wire::decode_whole::<Self, WireClaim>(codec, bytes)?;
        let meta = wire.metadata.meta()?;
        Ok(wire.view(meta, raw))
    }

    fn unreadable(meta: Meta, error: &DecodeError) -> Self {
        let claim = WireClaim::default().view(meta, Raw::default());
        Self { unreadable: Some(error.clone()), ..claim }
    }
}

impl Kind for ResourceClaimTemplate {
    const RESOURCE: Resource = Resource::namespaced(
        "resource.k8s.io",
        "v1",
        "resourceclaimtemplates",
        "ResourceClaimTemplate",
    );
}

impl Object for ResourceClaimTemplate {
    const CODEC: Codec = Codec::Json;
    const INDEXES: &'static [Index<Self>] = &[];

    fn meta(&self) -> &Meta {
        &self.meta
    }

    fn decode(codec: Codec, bytes: &[u8]) -> Result<Self, DecodeError> {
        let (wire, raw) = wire::decode_whole::<Self, WireTemplate>(codec, bytes)?;
        let devices = &wire.spec.spec.devices;
        Ok(Self {
            meta: wire.metadata.meta()?,
            admin_access: devices.admin_access(),
            has_alternatives: devices.requests.iter().any(|it| !it.first_available.is_empty()),
            raw,
            unreadable: None,
        })
    }

    fn unreadable(meta: Meta, error: &DecodeError) -> Self {
        Self {
            meta,
            admin_access: false,
            has_alternatives: false,
            raw: Raw::default(),
            unreadable: Some(error.clone()),
        }
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

#[derive(Default, Deserialize)]
#[serde(default)]
struct WireClaim {
    metadata: wire::ObjectMeta,
    spec: WireSpec,
    #[serde(deserialize_with = "null_is_empty")]
    status: WireStatus,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct WireTemplate {
    metadata: wire::ObjectMeta,
    spec: WireTemplateSpec,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct WireTemplateSpec {
    spec: WireSpec,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct WireSpec {
    devices: WireDevices,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct WireDevices {
    #[serde(deserialize_with = "null_is_empty")]
    requests: Vec<WireRequest>,
}

/// `v1.DeviceRequest`.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct WireRequest {
    exactly: Option<WireExactly>,
    #[serde(deserialize_with = "null_is_empty")]
    first_available: Vec<WireAlternative>,
}

/// `v1.ExactDeviceRequest`.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct WireExactly {
    #[serde(deserialize_with = "from_text")]
    device_class_name: Vec<u8>,
    #[serde(deserialize_with = "from_text")]
    allocation_mode: Vec<u8>,
    count: i64,
    #[serde(deserialize_with = "null_is_empty")]
    admin_access: bool,
}

/// `v1.DeviceSubRequest`.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct WireAlternative {
    #[serde(deserialize_with = "from_text")]
    device_class_name: Vec<u8>,
    #[serde(deserialize_with = "from_text")]
    allocation_mode: Vec<u8>,
    count: i64,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct WireStatus {
    allocation: Option<WireAllocation>,
    #[serde(deserialize_with = "null_is_empty")]
    reserved_for: Vec<WireConsumer>,
}

/// `v1.AllocationResult`.
#[derive(Default, Deserialize)]
#[serde(default)]
struct WireAllocation {
    devices: WireResults,
}

/// `v1.DeviceAllocationResult`.
#[derive(Default, Deserialize)]
#[serde(default)]
struct WireResults {
    #[serde(deserialize_with = "null_is_empty")]
    results: Vec<WireResult>,
}

/// `v1.DeviceRequestAllocationResult`.
#[derive(Default, Deserialize)]
#[serde(default)]
struct WireResult {
    #[serde(deserialize_with = "lossy_text")]
    driver: String,
    #[serde(deserialize_with = "lossy_text")]
    pool: String,
    #[serde(deserialize_with = "lossy_text")]
    device: String,
    #[serde(deserialize_with = "null_is_empty")]
    tolerations: Vec<Toleration>,
}

/// `v1.ResourceClaimConsumerReference`.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct WireConsumer {
    #[serde(deserialize_with = "lossy_text")]
    api_group: String,
    #[serde(deserialize_with = "lossy_text")]
    resource: String,
    #[serde(deserialize_with = "lossy_text")]
    name: String,
    #[serde(deserialize_with = "lossy_text")]
    uid: String,
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
    fn view(&self, meta: Meta, raw: Raw) -> ResourceClaim {
        let mut devices = BTreeMap::<Text, i64>::new();
        for request in &self.spec.devices.requests {
            for (class, count) in request.devices() {
                let sum = devices.entry(class).or_default();
                *sum = sum.saturating_add(count);
            }
        }
        let annotation = |name| self.metadata.annotation(name);
        let is_extended = annotation(ResourceClaim::EXTENDED).is_some_and(|value| value == "true");
        let allocation = self.status.allocation.as_ref();
        let claim = ResourceClaim {
            meta,
            devices: devices.into_iter().collect(),
            extended_for: None,
            is_extended,
            pod_claim: annotation(ResourceClaim::POD_CLAIM).map(|name| intern(&name)),
            admin_access: self.spec.devices.admin_access(),
            allocation: allocation
                .map(|it| it.devices.results.iter().map(WireResult::view).collect()),
            reserved_for: self.status.reserved_for.iter().map(WireConsumer::view).collect(),
            raw,
            unreadable: None,
        };
        let owner = claim.pod().filter(|_| is_extended);
        ResourceClaim { extended_for: owner.map(|owner| owner.uid.clone()), ..claim }
    }
}

impl WireDevices {
    /// Alternatives cannot ask for it. As `getAdminAccessMetricLabel`.
    fn admin_access(&self) -> bool {
        let mut exactly = self.requests.iter().filter_map(|request| request.exactly.as_ref());
        exactly.any(|request| request.admin_access)
    }
}

impl WireResult {
    fn view(&self) -> AllocatedDevice {
        AllocatedDevice {
            driver: intern(&self.driver),
            pool: intern(&self.pool),
            device: intern(&self.device),
            tolerations: self.tolerations.iter().cloned().collect(),
        }
    }
}

impl WireConsumer {
    fn view(&self) -> Consumer {
        Consumer {
            group: intern(&self.api_group),
            resource: intern(&self.resource),
            name: self.name.as_str().into(),
            uid: self.uid.as_str().into(),
        }
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
