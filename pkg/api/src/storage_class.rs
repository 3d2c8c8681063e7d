//! StorageClass: how volumes are made.

use prost::Message;
use serde::Deserialize;

use crate::wire::{self, null_is_empty};
use crate::{Codec, DecodeError, Index, Kind, Meta, Object, Resource, Text, Time, intern};

/// What controllers read of a class of storage.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StorageClass {
    /// Its name and so on.
    pub meta: Meta,
    /// Who makes its volumes.
    pub provisioner: Text,
    /// When its claims are bound; none: it does not say, which the API server does not admit.
    pub binding: Option<BindingMode>,
    /// The mount options of its volumes.
    pub mount_options: Box<[Text]>,
    /// Whether claims without a class get this one.
    pub is_default: bool,
    /// Why the object could not be read.
    pub unreadable: Option<DecodeError>,
}

/// When a claim gets its volume.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BindingMode {
    /// At once.
    Immediate,
    /// Once a pod uses it.
    WaitForFirstConsumer,
}

impl StorageClass {
    /// The annotations of a class that claims without one get, if they say `true`.
    pub const DEFAULT: [&'static str; 2] = [
        "storageclass.kubernetes.io/is-default-class",
        "storageclass.beta.kubernetes.io/is-default-class",
    ];

    /// The one of these that claims without a class get: the newest, then the first by name, of
    /// those that say so. As `GetDefaultClass` in upstream's pkg/volume/util.
    pub fn default_of<'a>(classes: impl IntoIterator<Item = &'a Self>) -> Option<&'a Self> {
        let made = |class: &Self| class.meta.creation_timestamp.unwrap_or(Time::EPOCH);
        let defaults = classes.into_iter().filter(|class| class.is_default);
        defaults.min_by(|a, b| {
            made(b).cmp(&made(a)).then_with(|| a.meta.key.name.cmp(&b.meta.key.name))
        })
    }
}

impl Kind for StorageClass {
    const RESOURCE: Resource =
        Resource::cluster_scoped("storage.k8s.io", "v1", "storageclasses", "StorageClass");
}

impl Object for StorageClass {
    const CODEC: Codec = Codec::Protobuf;
    const INDEXES: &'static [Index<Self>] = &[];

    fn meta(&self) -> &Meta {
        &self.meta
    }

    fn decode(codec: Codec, bytes: &[u8]) -> Result<Self, DecodeError> {
        let wire = wire::decode::<WireClass>(codec, bytes)?;
        let is_true = |name| wire.metadata.annotation(name).as_deref() == Some("true");
        Ok(Self {
            meta: wire.metadata.meta()?,
            provisioner: intern(&wire.provisioner),
            binding: wire.volume_binding_mode.as_deref().map(|mode| match mode {
                "WaitForFirstConsumer" => BindingMode::WaitForFirstConsumer,
                _ => BindingMode::Immediate,
            }),
            mount_options: wire.mount_options.iter().map(|option| intern(option)).collect(),
            is_default: Self::DEFAULT.into_iter().any(is_true),
            unreadable: None,
        })
    }

    fn unreadable(meta: Meta, error: &DecodeError) -> Self {
        Self {
            meta,
            provisioner: Text::default(),
            binding: None,
            mount_options: Box::default(),
            is_default: false,
            unreadable: Some(error.clone()),
        }
    }
}

// === Wire ===

#[derive(Clone, PartialEq, Message, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct WireClass {
    #[prost(message, required, tag = "1")]
    metadata: wire::ObjectMeta,
    #[prost(string, tag = "2")]
    provisioner: String,
    #[prost(string, repeated, tag = "5")]
    #[serde(deserialize_with = "null_is_empty")]
    mount_options: Vec<String>,
    #[prost(string, optional, tag = "7")]
    volume_binding_mode: Option<String>,
}
