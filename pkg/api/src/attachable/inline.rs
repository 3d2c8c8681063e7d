//! The volumes that pods name themselves, as far as they are attached. As
//! `TranslateInTreeInlineVolumeToCSI` of k8s.io/csi-translation-lib (v0.36.3).

use serde_json::{Map, Value, json};

use super::sources::{
    AwsDisk, AzureDisk, AzureFile, CinderVolume, FibreChannel, GceDisk, PortworxVolume, VsphereDisk,
};
use super::{FC, ISCSI, UNSPECIFIED, csi_name};
use crate::pod::{WireVolume, WireVolumeSource};
use crate::wire::text;
use crate::{Text, intern};

/// A volume that a pod names without a claim.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct InlineVolume {
    /// The name that nodes have for it.
    pub volume: Text,
    /// What messages call it: the PersistentVolume that it is translated to, or its name in the
    /// pod.
    pub name: Text,
    /// The spec of the PersistentVolume that it is translated to, as JSON; none: it is not.
    pub spec: Option<Text>,
    /// Whether it may be attached to several nodes.
    pub is_shared: bool,
}

/// A PersistentVolume that stands for an inline volume.
struct Translated {
    name: String,
    driver: &'static str,
    handle: String,
    /// `ReadWriteOnce` and so on.
    mode: &'static str,
    read_only: bool,
    fs_type: String,
    attributes: Map<String, Value>,
    /// Name and namespace of the Secret for mounting.
    secret: Option<(String, String)>,
}

const ONCE: &str = "ReadWriteOnce";

/// Those of a pod in this namespace, in the order of the spec. One that cannot be translated is
/// left out, as upstream leaves it out.
pub(crate) fn of_pod(volumes: &[WireVolume], namespace: &str) -> Box<[InlineVolume]> {
    // Most pods have none, and then this takes no memory.
    volumes.iter().filter_map(|volume| of_volume(volume, namespace)).collect()
}

/// One of them.
pub(crate) fn of_volume(volume: &WireVolume, namespace: &str) -> Option<InlineVolume> {
    let source = &volume.volume_source;
    if let Some(translated) = translate(source, &volume.name, namespace) {
        return Some(translated.volume());
    }
    let fc = source.fc.as_ref().and_then(FibreChannel::name).map(|name| format!("{FC}{name}"));
    let by_node = fc.or_else(|| source.iscsi.as_ref().map(|it| format!("{ISCSI}{}", it.name())))?;
    Some(InlineVolume {
        volume: intern(&by_node),
        name: intern(&volume.name),
        spec: None,
        is_shared: true,
    })
}

fn translate(source: &WireVolumeSource, name: &str, namespace: &str) -> Option<Translated> {
    if let Some(it) = &source.gce_persistent_disk {
        return Some(gce(it));
    }
    if let Some(it) = &source.aws_elastic_block_store {
        return aws(it);
    }
    if let Some(it) = &source.cinder {
        return Some(cinder(it));
    }
    if let Some(it) = &source.azure_disk {
        return azure_disk(it);
    }
    if let Some(it) = &source.azure_file {
        return Some(azure_file(it, name, namespace));
    }
    if let Some(it) = &source.vsphere_volume {
        return Some(vsphere(it));
    }
    source.portworx_volume.as_ref().map(portworx)
}

fn gce(disk: &GceDisk) -> Translated {
    let name = text(&disk.pd_name);
    let partition = Some(disk.partition).filter(|it| *it != 0);
    let partition = partition.map(|it| it.to_string()).unwrap_or_default();
    Translated {
        name: format!("{}-{name}", GceDisk::DRIVER),
        driver: GceDisk::DRIVER,
        handle: format!("projects/{UNSPECIFIED}/zones/{UNSPECIFIED}/disks/{name}"),
        mode: if disk.read_only { "ReadOnlyMany" } else { ONCE },
        read_only: disk.read_only,
        fs_type: text(&disk.fs_type).into_owned(),
        attributes: attributes([("partition", &*partition)]),
        secret: None,
    }
}

fn aws(disk: &AwsDisk) -> Option<Translated> {
    let handle = disk.handle().ok()?;
    Some(Translated {
        name: format!("{}-{handle}", AwsDisk::DRIVER),
        driver: AwsDisk::DRIVER,
        handle,
        mode: ONCE,
        read_only: disk.read_only,
        fs_type: text(&disk.fs_type).into_owned(),
        attributes: attributes([("partition", &*disk.partition.to_string())]),
        secret: None,
    })
}

fn cinder(volume: &CinderVolume) -> Translated {
    let handle = text(&volume.volume_id).into_owned();
    Translated {
        name: format!("{}-{handle}", CinderVolume::DRIVER),
        driver: CinderVolume::DRIVER,
        handle,
        mode: ONCE,
        read_only: volume.read_only,
        fs_type: text(&volume.fs_type).into_owned(),
        attributes: Map::new(),
        secret: None,
    }
}

fn azure_disk(disk: &AzureDisk) -> Option<Translated> {
    let handle = disk.handle().ok()?.into_owned();
    let mut attributes = attributes([("kind", "Managed")]);
    if let Some(mode) = disk.caching_mode.as_deref().filter(|mode| !mode.is_empty()) {
        attributes.insert("cachingmode".to_owned(), text(mode).into());
    }
    if let Some(fs_type) = disk.fs_type.as_deref() {
        attributes.insert("fstype".to_owned(), text(fs_type).into());
    }
    Some(Translated {
        name: handle.clone(),
        driver: AzureDisk::DRIVER,
        handle,
        mode: ONCE,
        read_only: disk.read_only.unwrap_or(false),
        fs_type: disk.fs_type.as_deref().map(text).unwrap_or_default().into_owned(),
        attributes,
        secret: None,
    })
}

fn azure_file(file: &AzureFile, name: &str, namespace: &str) -> Translated {
    let namespace = if namespace.is_empty() { "default" } else { namespace };
    let handle = file.handle("", name, namespace);
    Translated {
        name: handle.clone(),
        driver: AzureFile::DRIVER,
        handle,
        mode: "ReadWriteMany",
        read_only: file.read_only,
        fs_type: String::new(),
        attributes: attributes([("sharename", &*text(&file.share_name))]),
        secret: Some((text(&file.secret_name).into_owned(), namespace.to_owned())),
    }
}

fn vsphere(disk: &VsphereDisk) -> Translated {
    let handle = text(&disk.volume_path).into_owned();
    let policy = text(&disk.storage_policy_name);
    // Upstream's reads the policy of another, absent, source, and panics.
    let policy = (!policy.is_empty()).then(|| ("storagepolicyname", &*policy));
    Translated {
        name: format!("{}-{handle}", VsphereDisk::DRIVER),
        driver: VsphereDisk::DRIVER,
        handle,
        mode: ONCE,
        read_only: false,
        fs_type: text(&disk.fs_type).into_owned(),
        attributes: attributes(policy),
        secret: None,
    }
}

fn portworx(volume: &PortworxVolume) -> Translated {
    let handle = text(&volume.volume_id).into_owned();
    Translated {
        name: format!("{}-{handle}", PortworxVolume::DRIVER),
        driver: PortworxVolume::DRIVER,
        handle,
        mode: if volume.read_only { "ReadOnlyMany" } else { ONCE },
        read_only: false,
        fs_type: text(&volume.fs_type).into_owned(),
        attributes: Map::new(),
        secret: None,
    }
}

fn attributes<'a>(of: impl IntoIterator<Item = (&'a str, &'a str)>) -> Map<String, Value> {
    of.into_iter().map(|(name, value)| (name.to_owned(), value.into())).collect()
}

// === impl Translated ===

impl Translated {
    fn volume(self) -> InlineVolume {
        InlineVolume {
            volume: intern(&csi_name(self.driver, &self.handle)),
            name: intern(&self.name),
            is_shared: self.mode != ONCE,
            spec: Some(intern(&self.spec().to_string())),
        }
    }

    /// As Go writes it: empty fields are left out.
    fn spec(self) -> Value {
        let mut csi = json!({"driver": self.driver, "volumeHandle": self.handle});
        if let Some(csi) = csi.as_object_mut() {
            if self.read_only {
                csi.insert("readOnly".to_owned(), true.into());
            }
            if !self.fs_type.is_empty() {
                csi.insert("fsType".to_owned(), self.fs_type.into());
            }
            if !self.attributes.is_empty() {
                csi.insert("volumeAttributes".to_owned(), self.attributes.into());
            }
            if let Some((name, namespace)) = self.secret {
                let secret = json!({"name": name, "namespace": namespace});
                csi.insert("nodeStageSecretRef".to_owned(), secret);
            }
        }
        json!({"accessModes": [self.mode], "csi": csi, "volumeMode": "Filesystem"})
    }
}
