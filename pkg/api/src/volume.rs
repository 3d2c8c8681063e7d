//! PersistentVolume: a view beside the whole object.

use serde::Deserialize;

use crate::wire::{self, from_optional_text, from_text, text};
use crate::{
    Codec, DecodeError, Index, Key, Kind, Meta, Object, Raw, Resource, Text, VolumeAttributesClass,
    intern,
};

/// What controllers read of a piece of storage, and the whole of it.
#[derive(Clone, Debug)]
pub struct PersistentVolume {
    /// Name, finalizers and so on.
    pub meta: Meta,
    /// Whether its phase is `Bound`.
    pub bound: bool,
    /// The claim that it is bound to, or kept for.
    pub claim: Option<Key>,
    /// The name of its VolumeAttributesClass.
    pub attributes_class: Option<Text>,
    /// The whole object.
    pub raw: Raw,
    /// Why the object could not be read; a controller leaves such an object alone.
    pub unreadable: Option<DecodeError>,
}

impl PersistentVolume {
    /// The finalizer that a volume has for as long as it is bound.
    pub const PROTECTION: &'static str = "kubernetes.io/pv-protection";
    /// Upstream's `volumeAttributesClassName`: the volumes by their VolumeAttributesClass; under
    /// [`VolumeAttributesClass::UNKNOWN`] those that cannot be read.
    pub const BY_ATTRIBUTES_CLASS: &'static str = "volumeAttributesClassName";
}

impl Kind for PersistentVolume {
    const RESOURCE: Resource =
        Resource::cluster_scoped("", "v1", "persistentvolumes", "PersistentVolume");
}

impl Object for PersistentVolume {
    const CODEC: Codec = Codec::Json;
    const INDEXES: &'static [Index<Self>] =
        &[Index::one(Self::BY_ATTRIBUTES_CLASS, |volume| volume.attributes_class.clone())];

    fn meta(&self) -> &Meta {
        &self.meta
    }

    fn decode(codec: Codec, bytes: &[u8]) -> Result<Self, DecodeError> {
        let (wire, raw) = wire::decode_whole::<Self, WireVolume>(codec, bytes)?;
        let class = wire.spec.volume_attributes_class_name.filter(|name| !name.is_empty());
        let claim = |claim: WireClaim| Key::new(&text(&claim.namespace), &text(&claim.name));
        Ok(Self {
            meta: wire.metadata.meta()?,
            bound: wire.status.phase == b"Bound",
            claim: wire.spec.claim_ref.map(claim),
            attributes_class: class.map(|name| intern(&text(&name))),
            raw,
            unreadable: None,
        })
    }

    fn unreadable(meta: Meta, error: &DecodeError) -> Self {
        let attributes_class = Some(intern(VolumeAttributesClass::UNKNOWN));
        let (raw, unreadable) = (Raw::default(), Some(error.clone()));
        Self { meta, bound: false, claim: None, attributes_class, raw, unreadable }
    }
}

// === Wire ===

#[derive(Deserialize)]
struct WireVolume {
    metadata: wire::ObjectMeta,
    #[serde(default)]
    spec: WireSpec,
    #[serde(default)]
    status: WireStatus,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct WireSpec {
    claim_ref: Option<WireClaim>,
    #[serde(deserialize_with = "from_optional_text")]
    volume_attributes_class_name: Option<Vec<u8>>,
}

/// `v1.ObjectReference`.
#[derive(Default, Deserialize)]
#[serde(default)]
struct WireClaim {
    #[serde(deserialize_with = "from_text")]
    namespace: Vec<u8>,
    #[serde(deserialize_with = "from_text")]
    name: Vec<u8>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct WireStatus {
    #[serde(deserialize_with = "from_text")]
    phase: Vec<u8>,
}
