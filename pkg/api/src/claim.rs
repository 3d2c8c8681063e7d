//! PersistentVolumeClaim: a view beside the whole object.

mod binding;

use std::collections::{BTreeMap, BTreeSet};

use apimachinery::Quantity;
use serde::Deserialize;

use crate::wire::{self, WireQuantity, from_optional_text, from_text, null_is_empty, text};
use crate::{
    Codec, DecodeError, Index, Kind, Meta, Object, Raw, Resource, Status, Text,
    VolumeAttributesClass, intern,
};

pub use binding::ClaimBinding;

/// What controllers read of a claim for storage, and the whole of it.
#[derive(Clone, Debug)]
pub struct PersistentVolumeClaim {
    /// Name, owners, finalizers and so on.
    pub meta: Meta,
    /// The status of the `Unused` condition; none: there is no such condition.
    pub unused: Option<Status>,
    /// The names of the VolumeAttributesClasses that it asks for, has, or is about to get, sorted.
    pub attributes_classes: Box<[Text]>,
    /// The name of its StorageClass; none: it has none, or an empty one.
    pub class: Option<Text>,
    /// The storage that quotas count: what it asks for in whole bytes, or what it has if that is
    /// more; none: it asks for none.
    pub storage: Option<Quantity>,
    /// The name of the VolumeAttributesClass that it asks for.
    pub attributes_class: Option<Text>,
    /// Whether its phase is `Bound`.
    pub is_bound: bool,
    /// Whether its binding was completed once, as an annotation says.
    pub is_bind_completed: bool,
    /// The name of the volume that it is bound to, or asks for.
    pub volume: Option<Text>,
    /// The storage that it asks for.
    pub request: Quantity,
    /// The storage that it has.
    pub capacity: Quantity,
    /// The CSI driver whose resizer expands it, as its annotation says.
    pub resizer: Option<Text>,
    /// The whole object.
    pub raw: Raw,
    /// Why the object could not be read; a controller leaves such an object alone.
    pub unreadable: Option<DecodeError>,
}

impl PersistentVolumeClaim {
    /// The finalizer that a claim has for as long as a pod may use it.
    pub const PROTECTION: &'static str = "kubernetes.io/pvc-protection";
    /// The annotation that named the StorageClass before there was a field for it.
    pub const BETA_CLASS: &'static str = "volume.beta.kubernetes.io/storage-class";
    /// The annotation of a claim whose binding was completed, whatever it says.
    pub const BIND_COMPLETED: &'static str = "pv.kubernetes.io/bind-completed";
    /// The annotation that names the CSI driver whose resizer expands the claim.
    pub const RESIZER: &'static str = "volume.kubernetes.io/storage-resizer";
    /// Upstream's `namespace`: all claims of a namespace.
    pub const BY_NAMESPACE: &'static str = "namespace";
    /// The claims that are being deleted and have this finalizer, by namespace.
    pub const HELD_BY_NAMESPACE: &'static str = "held";
    /// Upstream's `volumeAttributesClassName`: the claims by the VolumeAttributesClasses that they
    /// refer to; under [`VolumeAttributesClass::UNKNOWN`] those that cannot be read.
    pub const BY_ATTRIBUTES_CLASS: &'static str = "volumeAttributesClassName";
    /// The claims by the name of the volume that they are bound to, or ask for.
    pub const BY_VOLUME: &'static str = "volume";
    /// The claims for which any volume may be found, by the name of their StorageClass, which may
    /// be empty.
    pub const PENDING_BY_CLASS: &'static str = "pending";

    /// Whether any volume may be found for it.
    pub fn is_pending(&self) -> bool {
        self.volume.is_none() && !self.is_bind_completed && self.unreadable.is_none()
    }

    /// Whether it has the finalizer that protects it.
    pub fn is_protected(&self) -> bool {
        self.meta.has_finalizer(Self::PROTECTION)
    }

    /// Whether it is being deleted and waits until no pod uses it.
    pub fn is_held(&self) -> bool {
        self.meta.is_held_by(Self::PROTECTION)
    }
}

impl Kind for PersistentVolumeClaim {
    const RESOURCE: Resource =
        Resource::namespaced("", "v1", "persistentvolumeclaims", "PersistentVolumeClaim");
}

impl Object for PersistentVolumeClaim {
    const CODEC: Codec = Codec::Json;
    const INDEXES: &'static [Index<Self>] = &[
        Index::one(Self::HELD_BY_NAMESPACE, |claim| {
            claim.is_held().then(|| claim.meta.key.namespace.clone())
        }),
        Index::by_namespace(Self::BY_NAMESPACE),
        Index::several(Self::BY_ATTRIBUTES_CLASS, |claim| claim.attributes_classes.to_vec()),
        Index::one(Self::BY_VOLUME, |claim| claim.volume.clone()),
        Index::one(Self::PENDING_BY_CLASS, |claim| {
            claim.is_pending().then(|| claim.class.clone().unwrap_or_default())
        }),
    ];

    fn meta(&self) -> &Meta {
        &self.meta
    }

    fn decode(codec: Codec, bytes: &[u8]) -> Result<Self, DecodeError> {
        let (wire, raw) = wire::decode_whole::<Self, WireClaim>(codec, bytes)?;
        let unused = wire.status.conditions.iter().find(|condition| condition.r#type == "Unused");
        Ok(Self {
            meta: wire.metadata.meta()?,
            unused: unused.map(|condition| Status::parse(&condition.status)),
            attributes_classes: attributes_classes(&wire),
            class: class(&wire),
            storage: storage(&wire),
            attributes_class: attributes_class(&wire),
            is_bound: wire.status.phase == "Bound",
            is_bind_completed: wire.metadata.annotation(Self::BIND_COMPLETED).is_some(),
            volume: wire.spec.volume_name.as_deref().filter(|it| !it.is_empty()).map(Text::from),
            request: amount(&wire.spec.resources.requests),
            capacity: amount(&wire.status.capacity),
            resizer: wire.metadata.annotation(Self::RESIZER).map(|it| intern(&it)),
            raw,
            unreadable: None,
        })
    }

    fn unreadable(meta: Meta, error: &DecodeError) -> Self {
        Self {
            meta,
            unused: None,
            attributes_classes: [intern(VolumeAttributesClass::UNKNOWN)].into(),
            class: None,
            storage: None,
            attributes_class: None,
            is_bound: false,
            is_bind_completed: false,
            volume: None,
            request: Quantity::default(),
            capacity: Quantity::default(),
            resizer: None,
            raw: Raw::default(),
            unreadable: Some(error.clone()),
        }
    }
}

/// As `getPVCReferencedVACNames` in upstream's pkg/controller/volume/vacprotection.
fn attributes_classes(claim: &WireClaim) -> Box<[Text]> {
    let (spec, status) = (&claim.spec, &claim.status);
    let target = status.modify_volume_status.as_ref();
    let names = [
        spec.volume_attributes_class_name.as_deref(),
        status.current_volume_attributes_class_name.as_deref(),
        target.map(|it| it.target_volume_attributes_class_name.as_slice()),
    ];
    let names: BTreeSet<_> = names.into_iter().flatten().filter(|name| !name.is_empty()).collect();
    // Most claims have none, and then this takes no memory.
    names.into_iter().map(|name| intern(&text(name))).collect()
}

fn attributes_class(claim: &WireClaim) -> Option<Text> {
    let class = claim.spec.volume_attributes_class_name.as_deref();
    class.filter(|name| !name.is_empty()).map(|name| intern(&text(name)))
}

/// As `GetPersistentVolumeClaimClass` in component-helpers: the older annotation counts first.
fn class(claim: &WireClaim) -> Option<Text> {
    let annotated = claim.metadata.annotation(PersistentVolumeClaim::BETA_CLASS);
    let class = annotated.or_else(|| claim.spec.storage_class_name.as_deref().map(Into::into));
    class.filter(|class| !class.is_empty()).map(|class| intern(&class))
}

/// As `getStorageUsage` in upstream's pkg/quota/v1/evaluator/core.
fn storage(claim: &WireClaim) -> Option<Quantity> {
    let asked = claim.spec.resources.requests.get("storage")?.view();
    let allocated = claim.status.allocated_resources.get("storage").map(WireQuantity::view);
    Some(allocated.filter(|allocated| *allocated > asked.rounded()).unwrap_or(asked).rounded())
}

fn amount(of: &BTreeMap<String, WireQuantity>) -> Quantity {
    of.get("storage").map(WireQuantity::view).unwrap_or_default()
}

// === Wire ===

#[derive(Deserialize)]
struct WireClaim {
    metadata: wire::ObjectMeta,
    #[serde(default)]
    spec: WireSpec,
    #[serde(default)]
    status: WireStatus,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct WireSpec {
    #[serde(deserialize_with = "from_optional_text")]
    volume_attributes_class_name: Option<Vec<u8>>,
    storage_class_name: Option<String>,
    volume_name: Option<String>,
    #[serde(deserialize_with = "null_is_empty")]
    resources: wire::ResourceRequirements,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct WireStatus {
    #[serde(deserialize_with = "null_is_empty")]
    conditions: Vec<WireCondition>,
    #[serde(deserialize_with = "from_optional_text")]
    current_volume_attributes_class_name: Option<Vec<u8>>,
    modify_volume_status: Option<WireModification>,
    #[serde(deserialize_with = "null_is_empty")]
    allocated_resources: BTreeMap<String, WireQuantity>,
    #[serde(deserialize_with = "null_is_empty")]
    capacity: BTreeMap<String, WireQuantity>,
    #[serde(deserialize_with = "null_is_empty")]
    phase: String,
}

/// `v1.ModifyVolumeStatus`.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct WireModification {
    #[serde(deserialize_with = "from_text")]
    target_volume_attributes_class_name: Vec<u8>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct WireCondition {
    r#type: String,
    status: String,
}
