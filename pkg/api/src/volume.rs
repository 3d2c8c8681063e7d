//! PersistentVolume: a view beside the whole object.

mod plugin;

use std::collections::BTreeMap;

use apimachinery::Quantity;
use serde::Deserialize;
use serde::de::IgnoredAny;

use crate::attachable::{
    self, Around, AwsDisk, AzureDisk, AzureFile, CinderVolume, CsiVolume, FibreChannel, GceDisk,
    Iscsi, PortworxVolume, Sources, VsphereDisk,
};
use crate::wire::{self, WireQuantity, from_optional_text, from_text, null_is_empty, text};
use crate::{
    Codec, DecodeError, Index, Key, Kind, Meta, Object, PersistentVolumeClaim, Raw, Resource, Text,
    VolumeAttributesClass, intern,
};

pub use plugin::{InTreePlugin, VolumeSource};

/// What controllers read of a piece of storage, and the whole of it.
#[derive(Clone, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "facts that have nothing to do with each other")]
pub struct PersistentVolume {
    /// Name, finalizers and so on.
    pub meta: Meta,
    /// Its phase.
    pub phase: VolumePhase,
    /// How much it holds; none: it does not say.
    pub capacity: Option<Quantity>,
    /// The ways in which it can be used, each once.
    pub modes: AccessModes,
    /// Whether it is a device without a filesystem.
    pub is_block: bool,
    /// The name of its StorageClass; none: it has none, or an empty one.
    pub class: Option<Text>,
    /// What becomes of it once its claim is deleted.
    pub reclaim_policy: Text,
    /// Where its data is, as far as that matters here.
    pub source: VolumeSource,
    /// The claim that it is bound to, or kept for.
    pub claim: Option<Key>,
    /// The uid of that claim.
    pub claim_uid: Option<Text>,
    /// The plugin of Kubernetes that it was of, before a CSI driver replaced that.
    pub plugin: Option<&'static InTreePlugin>,
    /// The name that nodes have for it, if it is attached to nodes: of the volume that it is
    /// translated to if a driver replaced its plugin. Upstream's `UniqueVolumeName`.
    pub attached_as: Option<Text>,
    /// Whether it may be attached to several nodes.
    pub is_shared: bool,
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

/// `status.phase` of a volume.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum VolumePhase {
    /// None yet, or an unknown one.
    #[default]
    Pending,
    /// No claim is bound to it.
    Available,
    /// A claim is bound to it.
    Bound,
    /// Its claim was deleted.
    Released,
    /// It could not be reclaimed.
    Failed,
}

/// A set of access modes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct AccessModes(u8);

impl PersistentVolume {
    /// The annotation of a volume whose expansion its node is to end.
    pub const PRE_RESIZE: &'static str = "volume.alpha.kubernetes.io/pre-resize-capacity";
    /// The finalizer that a volume has for as long as it is bound.
    pub const PROTECTION: &'static str = "kubernetes.io/pv-protection";
    /// Upstream's `volumeAttributesClassName`: the volumes by their VolumeAttributesClass; under
    /// [`VolumeAttributesClass::UNKNOWN`] those that cannot be read.
    pub const BY_ATTRIBUTES_CLASS: &'static str = "volumeAttributesClassName";
    /// The volumes by [`PersistentVolume::attached_as`].
    pub const BY_ATTACHED: &'static str = "attached";
    /// The volumes by the claim that they are bound to or kept for, as `namespace/name`.
    pub const BY_CLAIM: &'static str = "claim";
    /// The volumes that a claim may be bound to, by the name of their StorageClass, which may be
    /// empty.
    pub const FREE_BY_CLASS: &'static str = "free";

    /// Whether its phase is `Bound`.
    pub fn is_bound(&self) -> bool {
        self.phase == VolumePhase::Bound
    }

    /// Whether it waits for any claim.
    pub fn is_free(&self) -> bool {
        self.claim.is_none()
            && self.phase == VolumePhase::Available
            && !self.meta.is_terminating()
            && self.unreadable.is_none()
    }

    /// Whether it is bound to this claim, or kept for one of its name. As `IsVolumeBoundToClaim` in
    /// component-helpers.
    pub fn is_of(&self, claim: &PersistentVolumeClaim) -> bool {
        let uid = self.claim_uid.as_deref().unwrap_or_default();
        self.claim.as_ref() == Some(&claim.meta.key) && (uid.is_empty() || *uid == *claim.meta.uid)
    }
}

impl Kind for PersistentVolume {
    const RESOURCE: Resource =
        Resource::cluster_scoped("", "v1", "persistentvolumes", "PersistentVolume");
}

impl Object for PersistentVolume {
    const CODEC: Codec = Codec::Json;
    const INDEXES: &'static [Index<Self>] = &[
        Index::one(Self::BY_ATTRIBUTES_CLASS, |volume| volume.attributes_class.clone()),
        Index::one(Self::BY_CLAIM, |volume| {
            volume.claim.as_ref().map(|claim| claim.to_string().into())
        }),
        Index::one(Self::FREE_BY_CLASS, |volume| {
            volume.is_free().then(|| volume.class.clone().unwrap_or_default())
        }),
        Index::one(Self::BY_ATTACHED, |volume| volume.attached_as.clone()),
    ];

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
            phase: VolumePhase::parse(&wire.status.phase),
            capacity: spec.capacity.get("storage").map(WireQuantity::view),
            modes: AccessModes::parse(spec.access_modes.iter().map(String::as_str)),
            is_block: spec.volume_mode.as_deref() == Some("Block"),
            class: class_of(&wire),
            reclaim_policy: intern(&spec.persistent_volume_reclaim_policy),
            source: spec.source(),
            claim: spec.claim_ref.as_ref().map(claim),
            claim_uid: spec.claim_ref.as_ref().map(|claim| text(&claim.uid).into()),
            plugin: spec.plugin(),
            attached_as: attached_as(&wire),
            is_shared: spec.sources().is_shared(spec.access_modes.iter().map(String::as_str)),
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
            phase: VolumePhase::Pending,
            capacity: None,
            modes: AccessModes::default(),
            is_block: false,
            class: None,
            reclaim_policy: Text::default(),
            source: VolumeSource::Other,
            claim: None,
            claim_uid: None,
            plugin: None,
            attached_as: None,
            is_shared: false,
            is_flex: false,
            is_being_resized: false,
            attributes_class,
            raw: Raw::default(),
            unreadable: Some(error.clone()),
        }
    }
}

/// As `GetPersistentVolumeClass` in component-helpers: the older annotation counts first.
fn class_of(volume: &WireVolume) -> Option<Text> {
    let annotated = volume.metadata.annotation(PersistentVolumeClaim::BETA_CLASS);
    let class = annotated.or_else(|| volume.spec.storage_class_name.as_deref().map(Into::into));
    class.filter(|class| !class.is_empty()).map(|class| intern(&class))
}

/// None also if it cannot be translated.
fn attached_as(volume: &WireVolume) -> Option<Text> {
    let (metadata, spec) = (&volume.metadata, &volume.spec);
    let name = metadata.name();
    let zones = attachable::ZONES.map(|label| metadata.label(label));
    let zones = zones.into_iter().flatten().find(|zones| !zones.is_empty());
    let around = Around {
        name: &name,
        claim_namespace: spec.claim_ref.as_ref().map(|claim| text(&claim.namespace)),
        zones: zones.as_deref().unwrap_or_default(),
        resource_group: metadata.annotation(attachable::RESOURCE_GROUP).unwrap_or_default(),
    };
    spec.sources().volume(&around).ok().flatten().map(|name| intern(&name))
}

// === impl VolumePhase ===

impl VolumePhase {
    fn parse(phase: &[u8]) -> Self {
        match phase {
            b"Available" => Self::Available,
            b"Bound" => Self::Bound,
            b"Released" => Self::Released,
            b"Failed" => Self::Failed,
            _ => Self::Pending,
        }
    }

    /// The word of the API.
    pub fn word(self) -> &'static str {
        match self {
            Self::Pending => "Pending",
            Self::Available => "Available",
            Self::Bound => "Bound",
            Self::Released => "Released",
            Self::Failed => "Failed",
        }
    }
}

// === impl AccessModes ===

impl AccessModes {
    /// Reads words of the API; unknown ones are left out, as in upstream's
    /// `GetAccessModesAsString`.
    pub fn parse<'a>(words: impl IntoIterator<Item = &'a str>) -> Self {
        let bit = |word| match word {
            "ReadWriteOnce" => 1,
            "ReadOnlyMany" => 2,
            "ReadWriteMany" => 4,
            "ReadWriteOncePod" => 8,
            _ => 0,
        };
        Self(words.into_iter().map(bit).fold(0, |all, bit| all | bit))
    }

    /// How many there are.
    pub fn count(self) -> u32 {
        self.0.count_ones()
    }

    /// Whether all of these are among them.
    pub fn contain(self, others: Self) -> bool {
        self.0 & others.0 == others.0
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
    #[serde(deserialize_with = "null_is_empty")]
    capacity: BTreeMap<String, WireQuantity>,
    #[serde(deserialize_with = "null_is_empty")]
    access_modes: Vec<String>,
    volume_mode: Option<String>,
    storage_class_name: Option<String>,
    #[serde(deserialize_with = "null_is_empty")]
    persistent_volume_reclaim_policy: String,
    claim_ref: Option<WireClaim>,
    host_path: Option<IgnoredAny>,
    nfs: Option<IgnoredAny>,
    #[serde(deserialize_with = "from_optional_text")]
    volume_attributes_class_name: Option<Vec<u8>>,
    gce_persistent_disk: Option<GceDisk>,
    aws_elastic_block_store: Option<AwsDisk>,
    cinder: Option<CinderVolume>,
    azure_disk: Option<AzureDisk>,
    azure_file: Option<AzureFile>,
    vsphere_volume: Option<VsphereDisk>,
    portworx_volume: Option<PortworxVolume>,
    csi: Option<CsiVolume>,
    fc: Option<FibreChannel>,
    iscsi: Option<Iscsi>,
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
        let there = [
            self.gce_persistent_disk.is_some(),
            self.aws_elastic_block_store.is_some(),
            self.cinder.is_some(),
            self.azure_disk.is_some(),
            self.azure_file.is_some(),
            self.vsphere_volume.is_some(),
            self.portworx_volume.is_some(),
        ];
        let mut plugins = InTreePlugin::ALL.iter().zip(there);
        plugins.find(|(_, there)| *there).map(|(plugin, _)| plugin)
    }

    fn sources(&self) -> Sources<'_> {
        Sources {
            csi: self.csi.as_ref(),
            gce: self.gce_persistent_disk.as_ref(),
            aws: self.aws_elastic_block_store.as_ref(),
            cinder: self.cinder.as_ref(),
            azure_disk: self.azure_disk.as_ref(),
            azure_file: self.azure_file.as_ref(),
            vsphere: self.vsphere_volume.as_ref(),
            portworx: self.portworx_volume.as_ref(),
            fc: self.fc.as_ref(),
            iscsi: self.iscsi.as_ref(),
        }
    }

    fn source(&self) -> VolumeSource {
        if self.csi.is_some() {
            VolumeSource::Csi
        } else if self.host_path.is_some() {
            VolumeSource::HostPath
        } else if self.nfs.is_some() {
            VolumeSource::Nfs
        } else {
            VolumeSource::Other
        }
    }
}
