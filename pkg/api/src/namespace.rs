//! Namespace: the view that controllers share.

use prost::Message;
use serde::Deserialize;

use crate::wire;
use crate::{Codec, DecodeError, Index, Kind, Meta, Resource};

/// What controllers read of a namespace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Namespace {
    /// Name, labels and so on.
    pub meta: Meta,
    /// `status.phase`.
    pub phase: NamespacePhase,
}

/// The part of its life that a namespace is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NamespacePhase {
    /// In use.
    Active,
    /// Being emptied; nothing can be made in it.
    Terminating,
    /// None, or one that we do not know.
    Unknown,
}

impl Kind for Namespace {
    const RESOURCE: Resource = Resource::cluster_scoped("", "v1", "namespaces", "Namespace");
    const CODEC: Codec = Codec::Protobuf;
    const INDEXES: &'static [Index<Self>] = &[];

    fn meta(&self) -> &Meta {
        &self.meta
    }

    fn decode(codec: Codec, bytes: &[u8]) -> Result<Self, DecodeError> {
        let wire = wire::decode::<WireNamespace>(codec, bytes)?;
        let phase = NamespacePhase::parse(&wire.status.phase);
        Ok(Self { meta: wire.metadata.meta()?, phase })
    }

    fn unreadable(meta: Meta, _: &DecodeError) -> Self {
        Self { meta, phase: NamespacePhase::Unknown }
    }
}

impl NamespacePhase {
    fn parse(text: &str) -> Self {
        match text {
            "Active" => Self::Active,
            "Terminating" => Self::Terminating,
            _ => Self::Unknown,
        }
    }
}

// === Wire ===

#[derive(Clone, PartialEq, Message, Deserialize)]
#[serde(default)]
struct WireNamespace {
    #[prost(message, required, tag = "1")]
    metadata: wire::ObjectMeta,
    #[prost(message, required, tag = "3")]
    status: WireStatus,
}

#[derive(Clone, PartialEq, Message, Deserialize)]
#[serde(default)]
struct WireStatus {
    #[prost(string, tag = "1")]
    phase: String,
}
