//! VolumeAttributesClass: its metadata beside the whole object.

use serde::Deserialize;

use crate::{Codec, DecodeError, Index, Kind, Meta, Object, Raw, Resource, wire};

/// How a volume is to behave: the driver's business, of which controllers read nothing.
#[derive(Clone, Debug)]
pub struct VolumeAttributesClass {
    /// Name, finalizers and so on.
    pub meta: Meta,
    /// The whole object.
    pub raw: Raw,
    /// Why the object could not be read; a controller leaves such an object alone.
    pub unreadable: Option<DecodeError>,
}

impl VolumeAttributesClass {
    /// The finalizer that a class has for as long as a volume or a claim may refer to it.
    pub const PROTECTION: &'static str = "kubernetes.io/vac-protection";
    /// Where indexes by class keep what may refer to any of them, since it cannot be read. No class
    /// is called so.
    pub const UNKNOWN: &'static str = "";
}

impl Kind for VolumeAttributesClass {
    const RESOURCE: Resource = Resource::cluster_scoped(
        "storage.k8s.io",
        "v1",
        "volumeattributesclasses",
        "VolumeAttributesClass",
    );
}

impl Object for VolumeAttributesClass {
    const CODEC: Codec = Codec::Json;
    const INDEXES: &'static [Index<Self>] = &[];

    fn meta(&self) -> &Meta {
        &self.meta
    }

    fn decode(codec: Codec, bytes: &[u8]) -> Result<Self, DecodeError> {
        let (wire, raw) = wire::decode_whole::<Self, Wire>(codec, bytes)?;
        Ok(Self { meta: wire.metadata.meta()?, raw, unreadable: None })
    }

    fn unreadable(meta: Meta, error: &DecodeError) -> Self {
        Self { meta, raw: Raw::default(), unreadable: Some(error.clone()) }
    }
}

// === Wire ===

#[derive(Deserialize)]
struct Wire {
    metadata: wire::ObjectMeta,
}
