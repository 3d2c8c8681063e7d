//! ServiceAccount: the view that controllers share.

use crate::{Codec, DecodeError, Index, Kind, Meta, Resource};

/// What controllers read of a service account.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServiceAccount {
    /// Name, labels and so on.
    pub meta: Meta,
}

impl Kind for ServiceAccount {
    const RESOURCE: Resource = Resource::namespaced("", "v1", "serviceaccounts", "ServiceAccount");
    const CODEC: Codec = Codec::Protobuf;
    const INDEXES: &'static [Index<Self>] = &[];

    fn meta(&self) -> &Meta {
        &self.meta
    }

    fn decode(codec: Codec, bytes: &[u8]) -> Result<Self, DecodeError> {
        Ok(Self { meta: Meta::decode(codec, bytes)? })
    }

    fn unreadable(meta: Meta, _: &DecodeError) -> Self {
        Self { meta }
    }
}
