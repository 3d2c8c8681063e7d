//! PersistentVolumeClaim: a view beside the whole object.

use serde::Deserialize;

use crate::wire::{self, null_is_empty};
use crate::{Codec, DecodeError, Index, Kind, Meta, Object, Raw, Resource, Status};

/// What controllers read of a claim for storage, and the whole of it.
#[derive(Clone, Debug)]
pub struct PersistentVolumeClaim {
    /// Name, owners, finalizers and so on.
    pub meta: Meta,
    /// The status of the `Unused` condition; none: there is no such condition.
    pub unused: Option<Status>,
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

    /// Whether it has the finalizer that protects it.
    pub fn is_protected(&self) -> bool {
        self.meta.finalizers.iter().any(|name| &**name == Self::PROTECTION)
    }

    /// Whether it is being deleted and waits until no pod uses it. As upstream's
    /// `IsDeletionCandidate` in pkg/controller/util/protectionutil.
    pub fn is_held(&self) -> bool {
        self.meta.is_terminating() && self.is_protected()
    }
}

impl Kind for PersistentVolumeClaim {
    const RESOURCE: Resource =
        Resource::namespaced("", "v1", "persistentvolumeclaims", "PersistentVolumeClaim");
}

impl Object for PersistentVolumeClaim {
    const CODEC: Codec = Codec::Json;
    const INDEXES: &'static [Index<Self>] = &[Index::one(Self::HELD_BY_NAMESPACE, |claim| {
        claim.is_held().then(|| claim.meta.key.namespace.clone())
    })];

    fn meta(&self) -> &Meta {
        &self.meta
    }

    fn decode(codec: Codec, bytes: &[u8]) -> Result<Self, DecodeError> {
        let (wire, raw) = wire::decode_whole::<Self, WireClaim>(codec, bytes)?;
        let unused = wire.status.conditions.iter().find(|condition| condition.r#type == "Unused");
        Ok(Self {
            meta: wire.metadata.meta()?,
            unused: unused.map(|condition| Status::parse(&condition.status)),
            raw,
            unreadable: None,
        })
    }

    fn unreadable(meta: Meta, error: &DecodeError) -> Self {
        Self { meta, unused: None, raw: Raw::default(), unreadable: Some(error.clone()) }
    }
}

// === Wire ===

#[derive(Deserialize)]
struct WireClaim {
    metadata: wire::ObjectMeta,
    #[serde(default)]
    status: WireStatus,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct WireStatus {
    #[serde(deserialize_with = "null_is_empty")]
    conditions: Vec<WireCondition>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct WireCondition {
    r#type: String,
    status: String,
}
