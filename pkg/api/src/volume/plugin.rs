//! The volume plugins that are or were a part of Kubernetes.

/// A volume plugin that was a part of Kubernetes and is a CSI driver today. As
/// k8s.io/csi-translation-lib's plugins.
#[derive(Debug, PartialEq, Eq)]
pub struct InTreePlugin {
    /// The name that it had.
    pub name: &'static str,
    /// The name of the driver.
    pub driver: &'static str,
}

/// Where the data of a volume is, as far as the plugins of the controllers distinguish it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VolumeSource {
    /// A folder of a node.
    HostPath,
    /// An NFS share.
    Nfs,
    /// What a CSI driver has.
    Csi,
    /// Anything else.
    Other,
}

impl InTreePlugin {
    /// All of them.
    pub const ALL: &'static [Self] = &[
        Self::was("kubernetes.io/gce-pd", "pd.csi.storage.gke.io"),
        Self::was("kubernetes.io/aws-ebs", "ebs.csi.aws.com"),
        Self::was("kubernetes.io/cinder", "cinder.csi.openstack.org"),
        Self::was("kubernetes.io/azure-disk", "disk.csi.azure.com"),
        Self::was("kubernetes.io/azure-file", "file.csi.azure.com"),
        Self::was("kubernetes.io/vsphere-volume", "csi.vsphere.vmware.com"),
        Self::was("kubernetes.io/portworx-volume", "pxd.portworx.com"),
    ];

    /// The one that had this name.
    pub fn named(name: &str) -> Option<&'static Self> {
        Self::ALL.iter().find(|plugin| plugin.name == name)
    }

    const fn was(name: &'static str, driver: &'static str) -> Self {
        Self { name, driver }
    }
}

impl VolumeSource {
    /// The plugin for it that upstream's binder has; none: there is none.
    pub fn plugin(self) -> Option<&'static str> {
        match self {
            Self::HostPath => Some("kubernetes.io/host-path"),
            Self::Nfs => Some("kubernetes.io/nfs"),
            Self::Csi | Self::Other => None,
        }
    }
}
