//! VolumeAttachment: that a volume of a CSI driver is to be attached to a node, and whether it is.

use prost::Message;
use serde::Deserialize;

use crate::attachable::{CsiVolume, csi_name};
use crate::wire::{self, from_optional_text, from_text, text};
use crate::{Codec, DecodeError, Index, Kind, Meta, Object, Resource, Text, Time, intern};

/// What controllers read of an attachment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VolumeAttachment {
    /// Name and so on.
    pub meta: Meta,
    /// The node; none: nothing but the metadata could be read.
    pub node: Option<Text>,
    /// What is attached: the name of a PersistentVolume; or the name that nodes have for a volume,
    /// of one that a pod names itself.
    pub source: Option<Text>,
    /// Whether it is attached, as the attacher says.
    pub attached: bool,
    /// Why it could not be attached at the last try.
    pub attach_error: Option<VolumeError>,
    /// Why it could not be detached at the last try.
    pub detach_error: Option<VolumeError>,
}

/// `storagev1.VolumeError`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VolumeError {
    /// When it happened.
    pub time: Option<Time>,
    /// What the driver says.
    pub message: Text,
}

impl VolumeAttachment {
    /// By the node.
    pub const BY_NODE: &'static str = "spec.nodeName";
    /// By [`VolumeAttachment::source`].
    pub const BY_SOURCE: &'static str = "spec.source";
}

impl Kind for VolumeAttachment {
    const RESOURCE: Resource =
        Resource::cluster_scoped("storage.k8s.io", "v1", "volumeattachments", "VolumeAttachment");
}

impl Object for VolumeAttachment {
    const CODEC: Codec = Codec::Protobuf;
    const INDEXES: &'static [Index<Self>] = &[
        Index::one(Self::BY_NODE, |it| it.node.clone()),
        Index::one(Self::BY_SOURCE, |it| it.source.clone()),
    ];

    fn meta(&self) -> &Meta {
        &self.meta
    }

    fn decode(codec: Codec, bytes: &[u8]) -> Result<Self, DecodeError> {
        let WireAttachment { metadata, spec, status } = wire::decode(codec, bytes)?;
        let inline = spec.source.inline_volume_spec.as_ref();
        let inline = inline.and_then(|it| it.persistent_volume_source.csi.as_ref());
        let inline = inline.map(|it| csi_name(&text(&it.driver), &text(&it.volume_handle)));
        let named = spec.source.persistent_volume_name.as_deref().map(text);
        let source = named.or_else(|| inline.map(Into::into));
        Ok(Self {
            meta: metadata.meta()?,
            node: Some(intern(&text(&spec.node_name))),
            source: source.map(|it| intern(&it)),
            attached: status.attached,
            attach_error: status.attach_error.map(WireError::view),
            detach_error: status.detach_error.map(WireError::view),
        })
    }

    fn unreadable(meta: Meta, _: &DecodeError) -> Self {
        let (attach_error, detach_error) = (None, None);
        Self { meta, node: None, source: None, attached: false, attach_error, detach_error }
    }
}

// === Wire ===

#[derive(Clone, PartialEq, Message, Deserialize)]
#[serde(default)]
struct WireAttachment {
    #[prost(message, required, tag = "1")]
    metadata: wire::ObjectMeta,
    #[prost(message, required, tag = "2")]
    spec: WireSpec,
    #[prost(message, required, tag = "3")]
    status: WireStatus,
}

#[derive(Clone, PartialEq, Message, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct WireSpec {
    #[prost(message, required, tag = "2")]
    source: WireSource,
    #[prost(bytes = "vec", tag = "3")]
    #[serde(deserialize_with = "from_text")]
    node_name: Vec<u8>,
}

#[derive(Clone, PartialEq, Message, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct WireSource {
    #[prost(bytes = "vec", optional, tag = "1")]
    #[serde(deserialize_with = "from_optional_text")]
    persistent_volume_name: Option<Vec<u8>>,
    #[prost(message, optional, tag = "2")]
    inline_volume_spec: Option<WireVolumeSpec>,
}

/// `v1.PersistentVolumeSpec`.
#[derive(Clone, PartialEq, Message, Deserialize)]
#[serde(default)]
struct WireVolumeSpec {
    #[prost(message, required, tag = "2")]
    #[serde(flatten)]
    persistent_volume_source: WireVolumeSource,
}

/// `v1.PersistentVolumeSource`; the API server admits no other one here.
#[derive(Clone, PartialEq, Message, Deserialize)]
#[serde(default)]
struct WireVolumeSource {
    #[prost(message, optional, tag = "22")]
    csi: Option<CsiVolume>,
}

#[derive(Clone, PartialEq, Message, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct WireStatus {
    #[prost(bool, tag = "1")]
    attached: bool,
    #[prost(message, optional, tag = "3")]
    attach_error: Option<WireError>,
    #[prost(message, optional, tag = "4")]
    detach_error: Option<WireError>,
}

#[derive(Clone, PartialEq, Message, Deserialize)]
#[serde(default)]
struct WireError {
    #[prost(message, optional, tag = "1")]
    time: Option<wire::Time>,
    #[prost(bytes = "vec", tag = "2")]
    #[serde(deserialize_with = "from_text")]
    message: Vec<u8>,
}

// === impl WireError ===

impl WireError {
    fn view(self) -> VolumeError {
        let time = self.time.and_then(wire::Time::view);
        VolumeError { time, message: text(&self.message).into() }
    }
}
