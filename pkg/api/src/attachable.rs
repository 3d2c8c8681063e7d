//! What is attached to nodes: volumes of CSI drivers, those that are translated to one, and those
//! of fibre channel and iSCSI.
//!
//! The plugins that were a part of Kubernetes are CSI drivers today. A volume that names one of
//! them is translated: it gets the handle that the driver knows it by. As
//! k8s.io/csi-translation-lib does, as far as volumes are attached: handles, drivers, access modes,
//! and the whole spec of a volume that a pod names itself. The node affinity of a translated
//! PersistentVolume is left out: its attachment names the PersistentVolume.

mod inline;
mod sources;

#[cfg(test)]
mod tests;

use std::borrow::Cow;

use crate::Text;
use crate::wire::text;

pub use inline::InlineVolume;
pub(crate) use inline::{of_pod, of_volume};
pub(crate) use sources::{
    AwsDisk, AzureDisk, AzureFile, CinderVolume, CsiVolume, FibreChannel, GceDisk, Iscsi,
    PortworxVolume, VsphereDisk,
};

/// A plugin whose volumes are attached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AttachPlugin {
    /// A CSI driver; its attacher attaches what a VolumeAttachment asks for.
    Csi {
        /// The name of the driver.
        driver: Text,
        /// What the driver calls the volume.
        handle: Text,
    },
    /// Fibre channel or iSCSI: the node does all, nothing has to be done before it.
    ByNode,
}

/// The source of a PersistentVolume, as far as it is attached; at most one is set.
#[derive(Default)]
pub(crate) struct Sources<'a> {
    pub(crate) csi: Option<&'a CsiVolume>,
    pub(crate) gce: Option<&'a GceDisk>,
    pub(crate) aws: Option<&'a AwsDisk>,
    pub(crate) cinder: Option<&'a CinderVolume>,
    pub(crate) azure_disk: Option<&'a AzureDisk>,
    pub(crate) azure_file: Option<&'a AzureFile>,
    pub(crate) vsphere: Option<&'a VsphereDisk>,
    pub(crate) portworx: Option<&'a PortworxVolume>,
    pub(crate) fc: Option<&'a FibreChannel>,
    pub(crate) iscsi: Option<&'a Iscsi>,
}

/// What a translation reads of a PersistentVolume besides its source.
pub(crate) struct Around<'a> {
    /// Its name.
    pub(crate) name: &'a str,
    /// The namespace of its claim.
    pub(crate) claim_namespace: Option<Cow<'a, str>>,
    /// Its zones: the value of the older label, or of the newer one.
    pub(crate) zones: &'a str,
    /// The annotation [`RESOURCE_GROUP`].
    pub(crate) resource_group: Cow<'a, str>,
}

/// The annotation that names the resource group of an Azure file share.
pub(crate) const RESOURCE_GROUP: &str = "kubernetes.io/azure-file-resource-group";
/// The labels that name the zones of a volume.
pub(crate) const ZONES: [&str; 2] =
    ["failure-domain.beta.kubernetes.io/zone", "topology.kubernetes.io/zone"];

const CSI: &str = "kubernetes.io/csi/";
const FC: &str = "kubernetes.io/fc/";
const ISCSI: &str = "kubernetes.io/iscsi/";
/// Between the zones of a volume that is in several. As upstream's `labelMultiZoneDelimiter`.
const ZONE_DELIMITER: &str = "__";
const UNSPECIFIED: &str = "UNSPECIFIED";

// === impl AttachPlugin ===

impl AttachPlugin {
    /// The plugin of a volume, from the name that nodes have for it (upstream's
    /// `UniqueVolumeName`); none: no plugin that attaches volumes here.
    pub fn of(volume: &str) -> Option<Self> {
        if let Some(name) = volume.strip_prefix(CSI) {
            // Upstream detaches no volume whose handle has this sign, too.
            let (driver, handle) = name.split_once('^')?;
            return Some(Self::Csi { driver: driver.into(), handle: handle.into() });
        }
        (volume.starts_with(FC) || volume.starts_with(ISCSI)).then_some(Self::ByNode)
    }

    /// The name of the plugin of this volume, as metrics have it. As
    /// `GetFullQualifiedPluginNameForVolume` in upstream's pkg/volume/util.
    pub fn name_of(volume: &str) -> String {
        match Self::of(volume) {
            Some(Self::Csi { driver, .. }) => format!("kubernetes.io/csi:{driver}"),
            Some(Self::ByNode) if volume.starts_with(FC) => "kubernetes.io/fc".to_owned(),
            Some(Self::ByNode) => "kubernetes.io/iscsi".to_owned(),
            None => "N/A".to_owned(),
        }
    }
}

/// The name that nodes have for a volume of a CSI driver.
pub(crate) fn csi_name(driver: &str, handle: &str) -> String {
    format!("{CSI}{driver}^{handle}")
}

// === impl Sources ===

impl Sources<'_> {
    /// The name that nodes have for the volume; an error: why it cannot be translated; none: it is
    /// not attached. As `TranslateInTreePVToCSI` and `GetUniqueVolumeNameFromSpec`.
    pub(crate) fn volume(&self, around: &Around<'_>) -> Result<Option<String>, String> {
        let csi = |driver: &str, handle: &str| Ok(Some(csi_name(driver, handle)));
        if let Some(it) = self.csi {
            return csi(&text(&it.driver), &text(&it.volume_handle));
        }
        if let Some(it) = self.gce {
            return csi(GceDisk::DRIVER, &it.handle(around.zones)?);
        }
        if let Some(it) = self.aws {
            return csi(AwsDisk::DRIVER, &it.handle()?);
        }
        if let Some(it) = self.cinder {
            return csi(CinderVolume::DRIVER, &text(&it.volume_id));
        }
        if let Some(it) = self.azure_disk {
            return csi(AzureDisk::DRIVER, it.handle()?.as_ref());
        }
        if let Some(it) = self.azure_file {
            return csi(AzureFile::DRIVER, &it.handle_of(around)?);
        }
        if let Some(it) = self.vsphere {
            return csi(VsphereDisk::DRIVER, &text(&it.volume_path));
        }
        if let Some(it) = self.portworx {
            return csi(PortworxVolume::DRIVER, &text(&it.volume_id));
        }
        if let Some(it) = self.fc {
            return Ok(it.name().map(|name| format!("{FC}{name}")));
        }
        Ok(self.iscsi.map(|it| format!("{ISCSI}{}", it.name())))
    }

    /// Whether a volume with these access modes may be attached to several nodes. As
    /// `IsMultiAttachAllowed` in upstream's pkg/volume/util, of the translated volume.
    pub(crate) fn is_shared<'m>(&self, modes: impl Iterator<Item = &'m str> + Clone) -> bool {
        if self.gce.is_some() {
            return sources::gce_modes_are_shared(modes);
        }
        let mut all = modes.clone();
        all.next().is_none()
            || modes.clone().any(|it| it == "ReadWriteMany" || it == "ReadOnlyMany")
    }
}
