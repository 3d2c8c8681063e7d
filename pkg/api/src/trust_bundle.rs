//! The ClusterTrustBundles of the API server's own certificates: a view beside the object. No other
//! ClusterTrustBundle is read for it.

use serde::Deserialize;

use crate::wire;
use crate::{Codec, DecodeError, Index, Kind, Meta, Object, Raw, Resource, Text, intern};

/// By which clients verify the API server.
#[derive(Clone, Debug)]
pub struct ServingTrustBundle {
    /// Name and so on.
    pub meta: Meta,
    /// `spec.trustBundle`, PEM.
    pub trust_bundle: Text,
    /// The whole object.
    pub raw: Raw,
    /// Why the object could not be read.
    pub unreadable: Option<DecodeError>,
}

impl ServingTrustBundle {
    /// `spec.signerName` of each of them.
    pub const SIGNER: &'static str = "kubernetes.io/kube-apiserver-serving";
}

impl Kind for ServingTrustBundle {
    const RESOURCE: Resource = Resource::cluster_scoped(
        "certificates.k8s.io",
        "v1beta1",
        "clustertrustbundles",
        "ClusterTrustBundle",
    );
    const FIELD_SELECTOR: &'static str = "spec.signerName=kubernetes.io/kube-apiserver-serving";
}

impl Object for ServingTrustBundle {
    const CODEC: Codec = Codec::Json;
    const INDEXES: &'static [Index<Self>] = &[];

    fn meta(&self) -> &Meta {
        &self.meta
    }

    fn decode(codec: Codec, bytes: &[u8]) -> Result<Self, DecodeError> {
        let (wire, raw) = wire::decode_whole::<Self, Wire>(codec, bytes)?;
        let trust_bundle = intern(&wire.spec.trust_bundle);
        Ok(Self { meta: wire.metadata.meta()?, trust_bundle, raw, unreadable: None })
    }

    fn unreadable(meta: Meta, error: &DecodeError) -> Self {
        let (raw, unreadable) = (Raw::default(), Some(error.clone()));
        Self { meta, trust_bundle: intern(""), raw, unreadable }
    }
}

// === Wire ===

#[derive(Deserialize)]
struct Wire {
    metadata: wire::ObjectMeta,
    #[serde(default)]
    spec: WireSpec,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct WireSpec {
    trust_bundle: String,
}
