//! PersistentVolumeClaim: a view beside the whole object.

use std::collections::BTreeSet;

use serde::Deserialize;

use crate::wire::{self, from_optional_text, from_text, null_is_empty, text};
use crate::{
    Codec, DecodeError, Index, Kind, Meta, Object, Raw, Resource, Status, Text,
    VolumeAttributesClass, intern,
};

/// What controllers read of a claim for storage, and the whole of it.
#[derive(Clone, Debug)]
pub struct PersistentVolumeClaim {
    /// Name, owners, finalizers and so on.
    pub meta: Meta,
    /// The status of the `Unused` condition; none: there is no such condition.
    pub unused: Option<Status>,
    /// The names of the VolumeAttributesClasses that it asks for, has, or is about to get, sorted.
    pub attributes_classes: Box<[Text]>,
    /// The whole object.
    pub raw: Raw,
    /// Why the object could not be read; a controller leaves such an object alone.
    pub unreadable: Option<DecodeError>,
}

impl PersistentVolumeClaim {
    /// The finalizer that a claim has for as long as a pod may use it.
    pub const PROTECTION: &'static str = "kubernetes.io/pvc-protection";
    /// The claims that are being deleted and have this finalizer, by namespace.
    pub const HELD_BY_NAMESPACE: &'static str = "held";
    /// Upstream's `volumeAttributesClassName`: the claims by the VolumeAttributesClasses that they
    /// refer to; under [`VolumeAttributesClass::UNKNOWN`] those that cannot be read.
    pub const BY_ATTRIBUTES_CLASS: &'static str = "volumeAttributesClassName";

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
        Index::several(Self::BY_ATTRIBUTES_CLASS, |claim| claim.attributes_classes.to_vec()),
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
            raw,
            unreadable: None,
        })
    }

    fn unreadable(meta: Meta, error: &DecodeError) -> Self {
        let attributes_classes = [intern(VolumeAttributesClass::UNKNOWN)].into();
        let (raw, unreadable) = (Raw::default(), Some(error.clone()));
        Self { meta, unused: None, attributes_classes, raw, unreadable }
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
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct WireStatus {
    #[serde(deserialize_with = "null_is_empty")]
    conditions: Vec<WireCondition>,
    #[serde(deserialize_with = "from_optional_text")]
    current_volume_attributes_class_name: Option<Vec<u8>>,
    modify_volume_status: Option<WireModification>,
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
