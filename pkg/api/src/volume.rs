//! PersistentVolume: a view beside the whole object.

use serde::Deserialize;
use serde::de::IgnoredAny;

use crate::wire::{self, from_optional_text, from_text, text};
use crate::{
    Codec, DecodeError, Index, Key, Kind, Meta, Object, Raw, Resource, Text, VolumeAttributesClass,
    intern,
};

/// What controllers read of a piece of storage, and the whole of it.
#[derive(Clone, Debug)]
pub struct PersistentVolume {
    /// Name, finalizers and so on.
    pub meta: Meta,
    /// Whether its phase is `Bound`.
    pub bound: bool,
    /// The claim that it is bound to, or kept for.
    pub claim: Option<Key>,
    /// The uid of that claim.
    pub claim_uid: Option<Text>,
    /// The plugin of Kubernetes that it was of, before a CSI driver replaced that.
    pub plugin: Option<&'static InTreePlugin>,
    /// Whether it is a FlexVolume.
    pub is_flex: bool,
    /// Whether an expansion that its node is to end has begun, as an annotation says.
    pub is_being_resized: bool,
    /// The name of its VolumeAttributesClass.
    pub attributes_class: Option<Text>,
    /// The whole object.
    pub raw: Raw,
    /// Why the object could not be read; a controller leaves such an object alone.
    pub unreadable: Option<DecodeError>,
}

/// A volume plugin that was a part of Kubernetes and is a CSI driver today. As
/// k8s.io/csi-translation-lib's plugins.
#[derive(Debug, PartialEq, Eq)]
pub struct InTreePlugin {
    /// The name that it had.
    pub name: &'static str,
    /// The name of the driver.
    pub driver: &'static str,
}

impl PersistentVolume {
    /// The annotation of a volume whose expansion its node is to end.
    pub const PRE_RESIZE: &'static str = "volume.alpha.kubernetes.io/pre-resize-capacity";
    /// The finalizer that a volume has for as long as it is bound.
    pub const PROTECTION: &'static str = "kubernetes.io/pv-protection";
    /// Upstream's `volumeAttributesClassName`: the volumes by their VolumeAttributesClass; under
    /// [`VolumeAttributesClass::UNKNOWN`] those that cannot be read.
    pub const BY_ATTRIBUTES_CLASS: &'static str = "volumeAttributesClassName";
}

impl Kind for PersistentVolume {
    const RESOURCE: Resource =
        Resource::cluster_scoped("", "v1", "persistentvolumes", "PersistentVolume");
}

impl Object for PersistentVolume {
    const CODEC: Codec = Codec::Json;
    const INDEXES: &'static [Index<Self>] =
        &[Index::one(Self::BY_ATTRIBUTES_CLASS, |volume| volume.attributes_class.clone())];

    fn meta(&self) -> &Meta {
        &self.meta
    }

    fn decode(codec: Codec, bytes: &[u8]) -> Result<Self, DecodeError> {
        let (wire, raw) = wire::decode_whole::<Self, WireVolume>(codec, bytes)?;
        let class = wire.spec.volume_attributes_class_name.as_ref();
        let class = class.filter(|name| !name.is_empty());
        let claim = |claim: &WireClaim| Key::new(&text(&claim.namespace), &text(&claim.name));
        let spec = &wire.spec;
        Ok(Self {
            meta: wire.metadata.meta()?,
            bound: wire.status.phase == b"Bound",
            claim: spec.claim_ref.as_ref().map(claim),
            claim_uid: spec.claim_ref.as_ref().map(|claim| text(&claim.uid).into()),
            plugin: spec.plugin(),
            is_flex: spec.flex_volume.is_some(),
            is_being_resized: wire.metadata.annotation(Self::PRE_RESIZE).is_some(),
            attributes_class: class.map(|name| intern(&text(name))),
            raw,
            unreadable: None,
        })
    }

    fn unreadable(meta: Meta, error: &DecodeError) -> Self {
        let attributes_class = Some(intern(VolumeAttributesClass::UNKNOWN));
        Self {
            meta,
            bound: false,
            claim: None,
            claim_uid: None,
            plugin: None,
            is_flex: false,
            is_being_resized: false,
            attributes_class,
            raw: Raw::default(),
            unreadable: Some(error.clone()),
        }
    }
}

// === Wire ===

#[derive(Deserialize)]
struct WireVolume {
    metadata: wire::ObjectMeta,
    #[serde(default)]
    spec: WireSpec,
    #[serde(default)]
    status: WireStatus,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct WireSpec {
    claim_ref: Option<WireClaim>,
    #[serde(deserialize_with = "from_optional_text")]
    volume_attributes_class_name: Option<Vec<u8>>,
    gce_persistent_disk: Option<IgnoredAny>,
    aws_elastic_block_store: Option<IgnoredAny>,
    cinder: Option<IgnoredAny>,
    azure_disk: Option<IgnoredAny>,
    azure_file: Option<IgnoredAny>,
    vsphere_volume: Option<IgnoredAny>,
    portworx_volume: Option<IgnoredAny>,
    flex_volume: Option<IgnoredAny>,
}

/// `v1.ObjectReference`.
#[derive(Default, Deserialize)]
#[serde(default)]
struct WireClaim {
    #[serde(deserialize_with = "from_text")]
    namespace: Vec<u8>,
    #[serde(deserialize_with = "from_text")]
    name: Vec<u8>,
    #[serde(deserialize_with = "from_text")]
    uid: Vec<u8>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct WireStatus {
    #[serde(deserialize_with = "from_text")]
    phase: Vec<u8>,
}

// === impl WireSpec ===

impl WireSpec {
    /// The first that is there, of those that a CSI driver has replaced.
    fn plugin(&self) -> Option<&'static InTreePlugin> {
        const fn was(name: &'static str, driver: &'static str) -> InTreePlugin {
            InTreePlugin { name, driver }
        }
        static PLUGINS: [InTreePlugin; 7] = [
            was("kubernetes.io/gce-pd", "pd.csi.storage.gke.io"),
            was("kubernetes.io/aws-ebs", "ebs.csi.aws.com"),
            was("kubernetes.io/cinder", "cinder.csi.openstack.org"),
            was("kubernetes.io/azure-disk", "disk.csi.azure.com"),
            was("kubernetes.io/azure-file", "file.csi.azure.com"),
            was("kubernetes.io/vsphere-volume", "csi.vsphere.vmware.com"),
            was("kubernetes.io/portworx-volume", "pxd.portworx.com"),
        ];
        let there = [
            &self.gce_persistent_disk,
            &self.aws_elastic_block_store,
            &self.cinder,
            &self.azure_disk,
            &self.azure_file,
            &self.vsphere_volume,
            &self.portworx_volume,
        ];
        let mut plugins = PLUGINS.iter().zip(there);
        plugins.find(|(_, there)| there.is_some()).map(|(plugin, _)| plugin)
    }
}
