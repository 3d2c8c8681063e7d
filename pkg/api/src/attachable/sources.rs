//! The sources of volumes on the wire, with the handles that they are translated to. As
//! k8s.io/csi-translation-lib/plugins (v0.36.3).

use std::borrow::Cow;
use std::collections::BTreeSet;

use prost::Message;
use serde::Deserialize;

use super::{Around, UNSPECIFIED, ZONE_DELIMITER};
use crate::wire::{from_optional_text, from_text, from_texts, text};

/// `v1.CSIPersistentVolumeSource`, as far as it names a volume.
#[derive(Clone, PartialEq, Message, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct CsiVolume {
    #[prost(bytes = "vec", tag = "1")]
    #[serde(deserialize_with = "from_text")]
    pub(crate) driver: Vec<u8>,
    #[prost(bytes = "vec", tag = "2")]
    #[serde(deserialize_with = "from_text")]
    pub(crate) volume_handle: Vec<u8>,
}

/// `v1.GCEPersistentDiskVolumeSource`.
#[derive(Clone, PartialEq, Message, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct GceDisk {
    #[prost(bytes = "vec", tag = "1")]
    #[serde(deserialize_with = "from_text")]
    pub(crate) pd_name: Vec<u8>,
    #[prost(bytes = "vec", tag = "2")]
    #[serde(deserialize_with = "from_text")]
    pub(crate) fs_type: Vec<u8>,
    #[prost(int32, tag = "3")]
    pub(crate) partition: i32,
    #[prost(bool, tag = "4")]
    pub(crate) read_only: bool,
}

/// `v1.AWSElasticBlockStoreVolumeSource`.
#[derive(Clone, PartialEq, Message, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct AwsDisk {
    #[prost(bytes = "vec", tag = "1")]
    #[serde(rename = "volumeID", deserialize_with = "from_text")]
    pub(crate) volume_id: Vec<u8>,
    #[prost(bytes = "vec", tag = "2")]
    #[serde(deserialize_with = "from_text")]
    pub(crate) fs_type: Vec<u8>,
    #[prost(int32, tag = "3")]
    pub(crate) partition: i32,
    #[prost(bool, tag = "4")]
    pub(crate) read_only: bool,
}

/// `v1.CinderVolumeSource`.
#[derive(Clone, PartialEq, Message, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct CinderVolume {
    #[prost(bytes = "vec", tag = "1")]
    #[serde(rename = "volumeID", deserialize_with = "from_text")]
    pub(crate) volume_id: Vec<u8>,
    #[prost(bytes = "vec", tag = "2")]
    #[serde(deserialize_with = "from_text")]
    pub(crate) fs_type: Vec<u8>,
    #[prost(bool, tag = "3")]
    pub(crate) read_only: bool,
    #[prost(message, optional, tag = "4")]
    pub(crate) secret_ref: Option<SecretName>,
}

/// `v1.AzureDiskVolumeSource`.
#[derive(Clone, PartialEq, Message, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct AzureDisk {
    #[prost(bytes = "vec", tag = "2")]
    #[serde(rename = "diskURI", deserialize_with = "from_text")]
    pub(crate) disk_uri: Vec<u8>,
    #[prost(bytes = "vec", optional, tag = "3")]
    #[serde(deserialize_with = "from_optional_text")]
    pub(crate) caching_mode: Option<Vec<u8>>,
    #[prost(bytes = "vec", optional, tag = "4")]
    #[serde(deserialize_with = "from_optional_text")]
    pub(crate) fs_type: Option<Vec<u8>>,
    #[prost(bool, optional, tag = "5")]
    pub(crate) read_only: Option<bool>,
    #[prost(bytes = "vec", optional, tag = "6")]
    #[serde(deserialize_with = "from_optional_text")]
    pub(crate) kind: Option<Vec<u8>>,
}

/// `v1.AzureFileVolumeSource` and `v1.AzureFilePersistentVolumeSource`.
#[derive(Clone, PartialEq, Message, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct AzureFile {
    #[prost(bytes = "vec", tag = "1")]
    #[serde(deserialize_with = "from_text")]
    pub(crate) secret_name: Vec<u8>,
    #[prost(bytes = "vec", tag = "2")]
    #[serde(deserialize_with = "from_text")]
    pub(crate) share_name: Vec<u8>,
    #[prost(bool, tag = "3")]
    pub(crate) read_only: bool,
    #[prost(bytes = "vec", optional, tag = "4")]
    #[serde(deserialize_with = "from_optional_text")]
    pub(crate) secret_namespace: Option<Vec<u8>>,
}

/// `v1.VsphereVirtualDiskVolumeSource`.
#[derive(Clone, PartialEq, Message, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct VsphereDisk {
    #[prost(bytes = "vec", tag = "1")]
    #[serde(deserialize_with = "from_text")]
    pub(crate) volume_path: Vec<u8>,
    #[prost(bytes = "vec", tag = "2")]
    #[serde(deserialize_with = "from_text")]
    pub(crate) fs_type: Vec<u8>,
    #[prost(bytes = "vec", tag = "3")]
    #[serde(deserialize_with = "from_text")]
    pub(crate) storage_policy_name: Vec<u8>,
}

/// `v1.PortworxVolumeSource`.
#[derive(Clone, PartialEq, Message, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct PortworxVolume {
    #[prost(bytes = "vec", tag = "1")]
    #[serde(rename = "volumeID", deserialize_with = "from_text")]
    pub(crate) volume_id: Vec<u8>,
    #[prost(bytes = "vec", tag = "2")]
    #[serde(deserialize_with = "from_text")]
    pub(crate) fs_type: Vec<u8>,
    #[prost(bool, tag = "3")]
    pub(crate) read_only: bool,
}

/// `v1.FCVolumeSource`.
#[derive(Clone, PartialEq, Message, Deserialize)]
#[serde(default)]
pub(crate) struct FibreChannel {
    #[prost(bytes = "vec", repeated, tag = "1")]
    #[serde(rename = "targetWWNs", deserialize_with = "from_texts")]
    target_wwns: Vec<Vec<u8>>,
    #[prost(int32, optional, tag = "2")]
    lun: Option<i32>,
    #[prost(bytes = "vec", repeated, tag = "5")]
    #[serde(deserialize_with = "from_texts")]
    wwids: Vec<Vec<u8>>,
}

/// `v1.ISCSIVolumeSource` and `v1.ISCSIPersistentVolumeSource`.
#[derive(Clone, PartialEq, Message, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Iscsi {
    #[prost(bytes = "vec", tag = "1")]
    #[serde(deserialize_with = "from_text")]
    target_portal: Vec<u8>,
    #[prost(bytes = "vec", tag = "2")]
    #[serde(deserialize_with = "from_text")]
    iqn: Vec<u8>,
    #[prost(int32, tag = "3")]
    lun: i32,
    #[prost(message, optional, tag = "10")]
    pub(crate) secret_ref: Option<SecretName>,
}

/// `v1.LocalObjectReference`, and the same part of `v1.SecretReference`.
#[derive(Clone, PartialEq, Message, Deserialize)]
#[serde(default)]
pub(crate) struct SecretName {
    #[prost(bytes = "vec", tag = "1")]
    #[serde(deserialize_with = "from_text")]
    pub(crate) name: Vec<u8>,
}

// === impl GceDisk ===

impl GceDisk {
    pub(super) const DRIVER: &'static str = "pd.csi.storage.gke.io";

    /// The handle of a disk in these zones, which stand in one text.
    pub(super) fn handle(&self, zones: &str) -> Result<String, String> {
        let name = text(&self.pd_name);
        let zonal = |zone: &str| format!("projects/{UNSPECIFIED}/zones/{zone}/disks/{name}");
        if zones.is_empty() {
            return Ok(zonal(UNSPECIFIED));
        }
        let all: Vec<&str> = zones.split(ZONE_DELIMITER).collect();
        if let [zone] = *all {
            return Ok(zonal(zone));
        }
        let region = gce_region(&all)
            .map_err(|error| format!("failed to get region from zones: {error}"))?;
        Ok(format!("projects/{UNSPECIFIED}/regions/{region}/disks/{name}"))
    }
}

/// As `gceGetRegionFromZones`.
fn gce_region(zones: &[&str]) -> Result<String, String> {
    let mut regions = BTreeSet::new();
    for zone in zones {
        let parts: Vec<&str> = zone.split('-').collect();
        let [locale, region, _] = *parts else {
            let expected = "zone in unexpected format, expected: {locale}-{region}-{zone}, got:";
            return Err(format!("{expected} {zone}"));
        };
        regions.insert(format!("{locale}-{region}"));
    }
    match regions.pop_first() {
        Some(region) if regions.is_empty() => Ok(region),
        Some(_) | None => Err("multiple or no regions gotten from zones".to_owned()),
    }
}

/// As `backwardCompatibleAccessModes`: the plugin never had ReadWriteMany, nor both of the others.
pub(super) fn gce_modes_are_shared<'a>(modes: impl Iterator<Item = &'a str>) -> bool {
    let modes: BTreeSet<&str> = modes.collect();
    let is_once = modes.contains("ReadWriteMany") || modes.contains("ReadWriteOnce");
    modes.is_empty() || !is_once && modes.contains("ReadOnlyMany")
}

// === impl AwsDisk ===

impl AwsDisk {
    pub(super) const DRIVER: &'static str = "ebs.csi.aws.com";

    /// As `KubernetesVolumeIDToEBSVolumeID`: `aws://zone/vol-1`, or the volume's own id.
    pub(super) fn handle(&self) -> Result<String, String> {
        let id = text(&self.volume_id);
        let Some(rest) = id.strip_prefix("aws://") else { return Ok(id.into_owned()) };
        let path = rest.split(['?', '#']).next().unwrap_or_default();
        let path = path.split_once('/').map_or("", |(_, path)| path).trim_matches('/');
        if !path.starts_with("vol-") || path.contains('/') {
            let error = format!("Invalid format for AWS volume ({id})");
            return Err(format!("failed to translate Kubernetes ID to EBS Volume ID {error}"));
        }
        Ok(path.to_owned())
    }
}

// === impl CinderVolume ===

impl CinderVolume {
    pub(super) const DRIVER: &'static str = "cinder.csi.openstack.org";
}

// === impl AzureDisk ===

impl AzureDisk {
    pub(super) const DRIVER: &'static str = "disk.csi.azure.com";

    /// Its URI, if the driver knows its kind.
    pub(super) fn handle(&self) -> Result<Cow<'_, str>, String> {
        let kind = self.kind.as_deref().map(text);
        match kind {
            Some(kind) if !kind.eq_ignore_ascii_case("managed") => {
                Err(format!("kind({kind}) is not supported in csi migration"))
            }
            Some(_) | None => Ok(text(&self.disk_uri)),
        }
    }
}

// === impl AzureFile ===

impl AzureFile {
    pub(super) const DRIVER: &'static str = "file.csi.azure.com";

    /// The handle of a PersistentVolume.
    pub(super) fn handle_of(&self, around: &Around<'_>) -> Result<String, String> {
        let named = self.secret_namespace.as_deref().map(text);
        let namespace = named.or_else(|| around.claim_namespace.clone()).unwrap_or_default();
        if namespace.is_empty() {
            let error = "could not find a secret namespace in PersistentVolumeSource or ClaimRef";
            return Err(error.to_owned());
        }
        Ok(self.handle(&around.resource_group, around.name, &namespace))
    }

    pub(super) fn handle(&self, group: &str, volume: &str, namespace: &str) -> String {
        let (secret, share) = (text(&self.secret_name), text(&self.share_name));
        let account = storage_account(&secret).unwrap_or(&secret);
        format!("{group}#{account}#{share}#{volume}#{namespace}")
    }
}

/// As `getStorageAccountName`: the part of the name of a Secret between these.
fn storage_account(secret: &str) -> Option<&str> {
    const START: &str = "azure-storage-account-";
    let start = secret.find(START)? + START.len();
    let rest = secret.get(start..)?;
    let end = rest.rfind("-secret")?;
    rest.get(..end).filter(|account| !account.is_empty())
}

// === impl VsphereDisk ===

impl VsphereDisk {
    pub(super) const DRIVER: &'static str = "csi.vsphere.vmware.com";
}

// === impl PortworxVolume ===

impl PortworxVolume {
    pub(super) const DRIVER: &'static str = "pxd.portworx.com";
}

// === impl FibreChannel ===

impl FibreChannel {
    /// As `GetVolumeName` in upstream's pkg/volume/fc; none: it names nothing.
    pub(super) fn name(&self) -> Option<String> {
        let list = |names: &[Vec<u8>]| {
            let names: Vec<_> = names.iter().map(|name| text(name)).collect();
            format!("[{}]", names.join(" "))
        };
        match self.lun {
            Some(lun) if !self.target_wwns.is_empty() => {
                Some(format!("{}:{lun}", list(&self.target_wwns)))
            }
            Some(_) | None => (!self.wwids.is_empty()).then(|| list(&self.wwids)),
        }
    }
}

// === impl Iscsi ===

impl Iscsi {
    /// As `GetVolumeName` in upstream's pkg/volume/iscsi.
    pub(super) fn name(&self) -> String {
        format!("{}:{}:{}", text(&self.target_portal), text(&self.iqn), self.lun)
    }
}
