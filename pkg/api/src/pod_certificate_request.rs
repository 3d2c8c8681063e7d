//! PodCertificateRequest: its metadata alone.

use crate::{Codec, DecodeError, Index, Kind, Meta, Object, Resource};

/// What controllers read of a pod's wish for a certificate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PodCertificateRequest {
    /// Name, age and so on.
    pub meta: Meta,
}

impl Kind for PodCertificateRequest {
    const RESOURCE: Resource = Resource::namespaced(
        "certificates.k8s.io",
        "v1beta1",
        "podcertificaterequests",
        "PodCertificateRequest",
    );
}

impl Object for PodCertificateRequest {
    const CODEC: Codec = Codec::Protobuf;
    const METADATA_ONLY: bool = true;
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
