//! ServiceAccount: the view that controllers share.

use prost::Message;
use serde::Deserialize;

use crate::wire::{self, from_text, null_is_empty, text};
use crate::{Codec, DecodeError, Index, Kind, Meta, Object, Resource, Text};

/// What controllers read of a service account.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServiceAccount {
    /// Name, labels and so on.
    pub meta: Meta,
    /// The names in `secrets`, in their order; an old kind of account has one for its token.
    pub secrets: Box<[Text]>,
}

impl ServiceAccount {
    /// Whether `secrets` has this name.
    pub fn lists(&self, secret: &str) -> bool {
        self.secrets.iter().any(|name| &**name == secret)
    }
}

impl Kind for ServiceAccount {
    const RESOURCE: Resource = Resource::namespaced("", "v1", "serviceaccounts", "ServiceAccount");
}

impl Object for ServiceAccount {
    const CODEC: Codec = Codec::Protobuf;
    const INDEXES: &'static [Index<Self>] = &[];

    fn meta(&self) -> &Meta {
        &self.meta
    }

    fn decode(codec: Codec, bytes: &[u8]) -> Result<Self, DecodeError> {
        let wire = wire::decode::<WireAccount>(codec, bytes)?;
        let secrets = wire.secrets.iter().map(|secret| Text::from(text(&secret.name)));
        Ok(Self { meta: wire.metadata.meta()?, secrets: secrets.collect() })
    }

    fn unreadable(meta: Meta, _: &DecodeError) -> Self {
        Self { meta, secrets: Box::default() }
    }
}

// === Wire ===

#[derive(Clone, PartialEq, Message, Deserialize)]
#[serde(default)]
struct WireAccount {
    #[prost(message, required, tag = "1")]
    metadata: wire::ObjectMeta,
    #[prost(message, repeated, tag = "2")]
    #[serde(deserialize_with = "null_is_empty")]
    secrets: Vec<WireReference>,
}

/// `v1.ObjectReference`.
#[derive(Clone, PartialEq, Message, Deserialize)]
#[serde(default)]
struct WireReference {
    // Nobody checks it.
    #[prost(bytes = "vec", tag = "3")]
    #[serde(deserialize_with = "from_text")]
    name: Vec<u8>,
}
