//! ControllerRevision: a view beside the whole object.

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::wire;
use crate::{Codec, DecodeError, Index, Kind, Meta, Object, Raw, Resource};

/// A template that a DaemonSet or StatefulSet has or had.
#[derive(Clone, Debug)]
pub struct ControllerRevision {
    /// Name, labels, owners and so on.
    pub meta: Meta,
    /// Its number: the present template has the highest one.
    pub revision: i64,
    /// The whole object.
    pub raw: Raw,
    /// Why the object could not be read.
    pub unreadable: Option<DecodeError>,
}

impl ControllerRevision {
    /// Revisions by the uid of the owner that manages them.
    pub const BY_CONTROLLER: &'static str = "controllerUID";
    /// Revisions without a controller, by namespace.
    pub const ORPHANS_BY_NAMESPACE: &'static str = "orphans";

    /// `data` as JSON, byte by byte as the API server sent it.
    pub fn data(&self) -> Option<&RawValue> {
        self.raw.field("data")
    }
}

impl Kind for ControllerRevision {
    const RESOURCE: Resource =
        Resource::namespaced("apps", "v1", "controllerrevisions", "ControllerRevision");
}

impl Object for ControllerRevision {
    const CODEC: Codec = Codec::Json;
    const INDEXES: &'static [Index<Self>] = &[
        Index::by_controller(Self::BY_CONTROLLER),
        Index::orphans_by_namespace(Self::ORPHANS_BY_NAMESPACE),
    ];

    fn meta(&self) -> &Meta {
        &self.meta
    }

    fn decode(codec: Codec, bytes: &[u8]) -> Result<Self, DecodeError> {
        let (wire, raw) = wire::decode_whole::<Self, Wire>(codec, bytes)?;
        Ok(Self { meta: wire.metadata.meta()?, revision: wire.revision, raw, unreadable: None })
    }

    fn unreadable(meta: Meta, error: &DecodeError) -> Self {
        Self { meta, revision: 0, raw: Raw::default(), unreadable: Some(error.clone()) }
    }
}

// === Wire ===

#[derive(Deserialize)]
struct Wire {
    metadata: wire::ObjectMeta,
    #[serde(default)]
    revision: i64,
}
