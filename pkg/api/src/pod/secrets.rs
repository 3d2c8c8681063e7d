//! The Secrets that a pod names.

use std::collections::BTreeSet;

use prost::Message;
use serde::Deserialize;

use super::{WireContainer, WireSpec};
use crate::attachable::{
    AwsDisk, AzureDisk, AzureFile, CinderVolume, FibreChannel, GceDisk, Iscsi, PortworxVolume,
    VsphereDisk,
};
use crate::wire::{from_text, null_is_empty, text};
use crate::{Text, intern};

/// The names of all Secrets in a pod's spec, sorted, each once. As `VisitPodSecretNames` in
/// upstream's pkg/api/v1/pod/util.go; what volume claims lead to is not looked at.
pub(super) fn names(spec: &WireSpec) -> Box<[Text]> {
    let pull = spec.image_pull_secrets.iter().map(|reference| reference.name.as_slice());
    let ephemeral = spec.ephemeral_containers.iter().map(WireEphemeral::common);
    let containers = spec.containers.iter().chain(&spec.init_containers).chain(ephemeral);
    let volumes = spec.volumes.iter().flat_map(|volume| volume.volume_source.secret_names());
    let names = pull.chain(containers.flat_map(from_environment)).chain(volumes);
    let names: BTreeSet<&[u8]> = names.filter(|name| !name.is_empty()).collect();
    names.into_iter().map(|name| intern(&text(name))).collect()
}

fn from_environment(container: &WireContainer) -> impl Iterator<Item = &[u8]> {
    let whole = container.env_from.iter().filter_map(|from| from.secret_ref.as_ref());
    let one =
        container.env.iter().filter_map(|env| env.value_from.as_ref()?.secret_key_ref.as_ref());
    whole.chain(one).map(|reference| reference.local_object_reference.name.as_slice())
}

// === Wire: what names Secrets ===

/// `v1.LocalObjectReference`.
#[derive(Clone, PartialEq, Message, Deserialize)]
#[serde(default)]
pub(super) struct WireReference {
    // That there is one is all that the API server asks, where it asks at all.
    #[prost(bytes = "vec", tag = "1")]
    #[serde(deserialize_with = "from_text")]
    name: Vec<u8>,
}

/// `v1.EphemeralContainer`.
#[derive(Clone, PartialEq, Message, Deserialize)]
#[serde(default)]
pub(super) struct WireEphemeral {
    #[prost(message, required, tag = "1")]
    #[serde(flatten)]
    ephemeral_container_common: WireContainer,
}

/// `v1.EnvVar`.
#[derive(Clone, PartialEq, Message, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct WireEnv {
    #[prost(message, optional, tag = "3")]
    value_from: Option<WireEnvSource>,
}

/// `v1.EnvVarSource`.
#[derive(Clone, PartialEq, Message, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct WireEnvSource {
    #[prost(message, optional, tag = "4")]
    secret_key_ref: Option<WireSelector>,
}

/// `v1.EnvFromSource`.
#[derive(Clone, PartialEq, Message, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct WireEnvFrom {
    #[prost(message, optional, tag = "3")]
    secret_ref: Option<WireSelector>,
}

/// `v1.SecretKeySelector`, `v1.SecretEnvSource` and `v1.SecretProjection`, which begin alike.
#[derive(Clone, PartialEq, Message, Deserialize)]
#[serde(default)]
pub(super) struct WireSelector {
    #[prost(message, required, tag = "1")]
    #[serde(flatten)]
    local_object_reference: WireReference,
}

// === Wire: volumes ===

/// `v1.Volume`.
#[derive(Clone, PartialEq, Message, Deserialize)]
#[serde(default)]
pub(crate) struct WireVolume {
    #[prost(string, tag = "1")]
    pub(crate) name: String,
    #[prost(message, required, tag = "2")]
    #[serde(flatten)]
    pub(crate) volume_source: WireVolumeSource,
}

/// `v1.VolumeSource`, of which one field is set.
#[derive(Clone, PartialEq, Message, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct WireVolumeSource {
    #[prost(message, optional, tag = "3")]
    pub(crate) gce_persistent_disk: Option<GceDisk>,
    #[prost(message, optional, tag = "4")]
    pub(crate) aws_elastic_block_store: Option<AwsDisk>,
    #[prost(message, optional, tag = "6")]
    secret: Option<WireSecretName>,
    #[prost(message, optional, tag = "8")]
    pub(crate) iscsi: Option<Iscsi>,
    #[prost(message, optional, tag = "10")]
    pub(super) persistent_volume_claim: Option<super::claims::WireClaim>,
    #[prost(message, optional, tag = "11")]
    rbd: Option<WireRbd>,
    #[prost(message, optional, tag = "12")]
    flex_volume: Option<WireThird>,
    #[prost(message, optional, tag = "13")]
    pub(crate) cinder: Option<CinderVolume>,
    #[prost(message, optional, tag = "14")]
    cephfs: Option<WireFifth>,
    #[prost(message, optional, tag = "17")]
    pub(crate) fc: Option<FibreChannel>,
    #[prost(message, optional, tag = "18")]
    pub(crate) azure_file: Option<AzureFile>,
    #[prost(message, optional, tag = "20")]
    pub(crate) vsphere_volume: Option<VsphereDisk>,
    #[prost(message, optional, tag = "22")]
    pub(crate) azure_disk: Option<AzureDisk>,
    #[prost(message, optional, tag = "24")]
    pub(crate) portworx_volume: Option<PortworxVolume>,
    #[prost(message, optional, tag = "25")]
    #[serde(rename = "scaleIO")]
    scale_io: Option<WireThird>,
    #[prost(message, optional, tag = "26")]
    projected: Option<WireProjected>,
    #[prost(message, optional, tag = "27")]
    storageos: Option<WireFifth>,
    #[prost(message, optional, tag = "28")]
    csi: Option<WireCsi>,
    #[prost(message, optional, tag = "29")]
    pub(super) ephemeral: Option<super::ephemeral::WireSource>,
}

/// `v1.SecretVolumeSource`.
#[derive(Clone, PartialEq, Message, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct WireSecretName {
    #[prost(bytes = "vec", tag = "1")]
    #[serde(deserialize_with = "from_text")]
    secret_name: Vec<u8>,
}

/// `v1.FlexVolumeSource` and `v1.ScaleIOVolumeSource`.
#[derive(Clone, PartialEq, Message, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct WireThird {
    #[prost(message, optional, tag = "3")]
    secret_ref: Option<WireReference>,
}

/// `v1.CephFSVolumeSource` and `v1.StorageOSVolumeSource`.
#[derive(Clone, PartialEq, Message, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct WireFifth {
    #[prost(message, optional, tag = "5")]
    secret_ref: Option<WireReference>,
}

/// `v1.CSIVolumeSource`.
#[derive(Clone, PartialEq, Message, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct WireCsi {
    #[prost(message, optional, tag = "5")]
    node_publish_secret_ref: Option<WireReference>,
}

/// `v1.RBDVolumeSource`.
#[derive(Clone, PartialEq, Message, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct WireRbd {
    #[prost(message, optional, tag = "7")]
    secret_ref: Option<WireReference>,
}

/// `v1.ProjectedVolumeSource`.
#[derive(Clone, PartialEq, Message, Deserialize)]
#[serde(default)]
struct WireProjected {
    #[prost(message, repeated, tag = "1")]
    #[serde(deserialize_with = "null_is_empty")]
    sources: Vec<WireProjection>,
}

/// `v1.VolumeProjection`.
#[derive(Clone, PartialEq, Message, Deserialize)]
#[serde(default)]
struct WireProjection {
    #[prost(message, optional, tag = "1")]
    secret: Option<WireSelector>,
}

impl WireEphemeral {
    pub(super) fn common(&self) -> &WireContainer {
        &self.ephemeral_container_common
    }
}

impl WireVolumeSource {
    fn secret_names(&self) -> impl Iterator<Item = &[u8]> {
        let named = [
            self.secret.as_ref().map(|it| &it.secret_name),
            self.azure_file.as_ref().map(|it| &it.secret_name),
            self.iscsi.as_ref().and_then(|it| it.secret_ref.as_ref()).map(|it| &it.name),
            self.cinder.as_ref().and_then(|it| it.secret_ref.as_ref()).map(|it| &it.name),
        ];
        let named = named.into_iter().flatten().map(Vec::as_slice);
        let references = [
            self.rbd.as_ref().and_then(|it| it.secret_ref.as_ref()),
            self.flex_volume.as_ref().and_then(|it| it.secret_ref.as_ref()),
            self.cephfs.as_ref().and_then(|it| it.secret_ref.as_ref()),
            self.scale_io.as_ref().and_then(|it| it.secret_ref.as_ref()),
            self.storageos.as_ref().and_then(|it| it.secret_ref.as_ref()),
            self.csi.as_ref().and_then(|it| it.node_publish_secret_ref.as_ref()),
        ];
        let projections = self.projected.iter().flat_map(|projected| &projected.sources);
        let projected = projections.filter_map(|it| it.secret.as_ref());
        let projected = projected.map(|selector| &selector.local_object_reference);
        let references = references.into_iter().flatten().chain(projected);
        named.chain(references.map(|reference| reference.name.as_slice()))
    }
}
