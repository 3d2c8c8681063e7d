//! The metadata of an object of any kind, as `PartialObjectMetadata` travels.

use crate::wire::{self, MetadataOnly};
use crate::{Codec, DecodeError, Index, Labels, Meta, Object};

/// The cached part of an object whose kind is known only at run time: no labels, and never its
/// content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Metadata {
    /// Name, owners, finalizers and so on; the labels are left out.
    pub meta: Meta,
}

/// The same, read from a list that is not held for long, and what is left of the object's time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listed {
    /// As in [`Metadata`].
    pub meta: Meta,
    /// How long the object may take to end, once its deletion was asked for.
    pub deletion_grace_period_seconds: Option<i64>,
}

impl Metadata {
    /// What to accept of a read or watch, so that nothing but the metadata is sent; as client-go's
    /// metadata client.
    pub const ACCEPT: &str = "application/vnd.kubernetes.protobuf;\
        as=PartialObjectMetadata;g=meta.k8s.io;v=v1,\
        application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json";
    /// The same of a list.
    pub const ACCEPT_LIST: &str = "application/vnd.kubernetes.protobuf;\
        as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,\
        application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json";
}

impl Object for Metadata {
    const CODEC: Codec = Codec::Protobuf;
    const METADATA_ONLY: bool = true;
    const INDEXES: &'static [Index<Self>] = &[];

    fn meta(&self) -> &Meta {
        &self.meta
    }

    fn decode(codec: Codec, bytes: &[u8]) -> Result<Self, DecodeError> {
        Ok(Self { meta: Listed::decode(codec, bytes)?.meta })
    }

    fn unreadable(meta: Meta, _: &DecodeError) -> Self {
        Self { meta: Meta { labels: Labels::default(), ..meta } }
    }
}

// === impl Listed ===

impl Listed {
    /// Decodes one object.
    pub fn decode(codec: Codec, bytes: &[u8]) -> Result<Self, DecodeError> {
        let wire = wire::decode::<MetadataOnly>(codec, bytes)?.metadata;
        let meta = wire.without_labels()?;
        let deletion_grace_period_seconds = wire.deletion_grace_period_seconds;
        Ok(Self { meta, deletion_grace_period_seconds })
    }
}
