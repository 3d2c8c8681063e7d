//! Namespace: the view that controllers share.

use prost::Message;
use serde::Deserialize;

use crate::wire::{self, null_is_empty};
use crate::{
    Codec, Condition, DecodeError, Index, Kind, Meta, Object, Resource, Status, Text, intern,
};

/// What controllers read of a namespace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Namespace {
    /// Name, labels and so on.
    pub meta: Meta,
    /// `spec.finalizers`: the finalizers that must be removed before the namespace is removed.
    pub finalizers: Box<[Text]>,
    /// `status.phase`.
    pub phase: NamespacePhase,
    /// `status.conditions`; only one that is being deleted has some.
    pub conditions: Box<[Condition]>,
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
}

impl Object for Namespace {
    const CODEC: Codec = Codec::Protobuf;
    const INDEXES: &'static [Index<Self>] = &[];

    fn meta(&self) -> &Meta {
        &self.meta
    }

    fn decode(codec: Codec, bytes: &[u8]) -> Result<Self, DecodeError> {
        let wire = wire::decode::<WireNamespace>(codec, bytes)?;
        Ok(Self {
            meta: wire.metadata.meta()?,
            finalizers: wire.spec.finalizers.iter().map(|name| intern(name)).collect(),
            phase: NamespacePhase::parse(&wire.status.phase),
            conditions: wire.status.conditions.into_iter().map(WireCondition::view).collect(),
        })
    }

    fn unreadable(meta: Meta, _: &DecodeError) -> Self {
        let phase = NamespacePhase::Unknown;
        Self { meta, finalizers: Box::default(), phase, conditions: Box::default() }
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
    #[prost(message, required, tag = "2")]
    spec: WireSpec,
    #[prost(message, required, tag = "3")]
    status: WireStatus,
}

#[derive(Clone, PartialEq, Message, Deserialize)]
#[serde(default)]
struct WireSpec {
    #[prost(string, repeated, tag = "1")]
    #[serde(deserialize_with = "null_is_empty")]
    finalizers: Vec<String>,
}

#[derive(Clone, PartialEq, Message, Deserialize)]
#[serde(default)]
struct WireStatus {
    #[prost(string, tag = "1")]
    phase: String,
    #[prost(message, repeated, tag = "2")]
    #[serde(deserialize_with = "null_is_empty")]
    conditions: Vec<WireCondition>,
}

#[derive(Clone, PartialEq, Message, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct WireCondition {
    #[prost(string, tag = "1")]
    r#type: String,
    #[prost(string, tag = "2")]
    status: String,
    #[prost(message, optional, tag = "4")]
    last_transition_time: Option<wire::Time>,
    #[prost(string, tag = "5")]
    reason: String,
    #[prost(string, tag = "6")]
    message: String,
}

impl WireCondition {
    fn view(self) -> Condition {
        Condition {
            r#type: self.r#type,
            status: Status::parse(&self.status),
            last_update_time: None,
            last_transition_time: self.last_transition_time.and_then(wire::Time::view),
            reason: self.reason,
            message: self.message,
        }
    }
}
