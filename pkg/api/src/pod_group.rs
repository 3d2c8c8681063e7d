//! PodGroup: pods that are scheduled together. Its metadata beside the whole object.

use serde::Deserialize;

use crate::{Codec, DecodeError, Index, Kind, Meta, Object, Raw, Resource, wire};

/// Pods that are scheduled together: the scheduler's business, of which controllers read nothing.
#[derive(Clone, Debug)]
pub struct PodGroup {
    /// Name, finalizers and so on.
    pub meta: Meta,
    /// The whole object.
    pub raw: Raw,
    /// Why the object could not be read; a controller leaves such an object alone.
    pub unreadable: Option<DecodeError>,
}

impl PodGroup {
    /// The finalizer that a group has for as long as a pod of it may run.
    pub const PROTECTION: &'static str = "scheduling.k8s.io/podgroup-protection";
}

impl Kind for PodGroup {
    const RESOURCE: Resource =
        Resource::namespaced("scheduling.k8s.io", "v1alpha2", "podgroups", "PodGroup");
}

impl Object for PodGroup {
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
