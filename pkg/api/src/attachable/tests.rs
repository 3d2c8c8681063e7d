//! Handles and specs as the tables of k8s.io/csi-translation-lib (v0.36.3), and the views with
//! volumes from upstream's bytes.

use serde_json::{Value, json};

use crate::*;

/// The name that nodes have for a PersistentVolume with this source.
fn attached(fields: &Value) -> Option<String> {
    let mut volume =
        json!({"metadata": {"name": "pv"}, "spec": {"accessModes": ["ReadWriteOnce"]}});
    for part in ["metadata", "spec"] {
        let fields = fields[part].as_object().into_iter().flatten();
        let fields = fields.map(|(name, value)| (name.clone(), value.clone()));
        volume[part].as_object_mut()?.extend(fields);
    }
    let read = PersistentVolume::decode(Codec::Json, volume.to_string().as_bytes());
    read.ok()?.attached_as.map(|name| name.to_string())
}

fn of_source(source: &Value) -> Option<String> {
    attached(&json!({"spec": source}))
}

#[expect(clippy::unnecessary_wraps, reason = "what is expected of [`attached`]")]
fn csi(name: &str) -> Option<String> {
    Some(format!("kubernetes.io/csi/{name}"))
}

/// TestTranslateInTreePVToCSI and TestBackwardCompatibleAccessModes of gce_pd_test.go.
#[test]
fn a_gce_disk_has_a_zone_or_a_region() {
    let disk = json!({"gcePersistentDisk": {"pdName": "d"}});
    let zoned = |label: &str, zones: &str| {
        attached(&json!({"metadata": {"labels": {(label): zones}}, "spec": disk}))
    };
    let zonal = |zone: &str| {
        csi(&format!("pd.csi.storage.gke.io^projects/UNSPECIFIED/zones/{zone}/disks/d"))
    };
    let regional = |region: &str| {
        csi(&format!("pd.csi.storage.gke.io^projects/UNSPECIFIED/regions/{region}/disks/d"))
    };
    assert_eq!(of_source(&disk), zonal("UNSPECIFIED"));
    let (old, new) = ("failure-domain.beta.kubernetes.io/zone", "topology.kubernetes.io/zone");
    assert_eq!(zoned(old, "us-east1-a"), zonal("us-east1-a"));
    assert_eq!(zoned(new, "us-east1-a"), zonal("us-east1-a"));
    assert_eq!(zoned(new, "us-east1-a__us-east1-c"), regional("us-east1"));
    assert_eq!(zoned(new, "us-east1-a__us-west1-c"), None);
    assert_eq!(zoned(new, "useast1a__useast1c"), None);
    let (once, many, read) = ("ReadWriteOnce", "ReadWriteMany", "ReadOnlyMany");
    for (modes, is_shared) in [
        (vec![], true),
        (vec![once], false),
        (vec![many], false),
        (vec![read], true),
        (vec![read, once], false),
        (vec![read, many], false),
        (vec!["ReadWriteOncePod"], false),
    ] {
        let json = json!({"metadata": {}, "spec": {"gcePersistentDisk": {"pdName": "d"},
            "accessModes": modes}});
        let volume = PersistentVolume::decode(Codec::Json, json.to_string().as_bytes()).unwrap();
        assert_eq!(volume.is_shared, is_shared, "{modes:?}");
    }
}

/// `IsMultiAttachAllowed` of pkg/volume/util.
#[test]
fn a_volume_is_shared_if_a_mode_says_so_or_none_says_anything() {
    for (modes, is_shared) in [
        (json!(null), true),
        (json!([]), true),
        (json!(["ReadWriteOnce"]), false),
        (json!(["ReadWriteOncePod"]), false),
        (json!(["ReadWriteOnce", "ReadOnlyMany"]), true),
        (json!(["ReadWriteMany"]), true),
    ] {
        let json = json!({"metadata": {}, "spec": {"csi": {"driver": "d", "volumeHandle": "h"},
            "accessModes": modes}});
        let volume = PersistentVolume::decode(Codec::Json, json.to_string().as_bytes()).unwrap();
        assert_eq!(volume.is_shared, is_shared, "{modes}");
    }
}

/// TestKubernetesVolumeIDToEBSVolumeID.
#[test]
fn an_aws_disk_is_known_by_its_own_id() {
    let disk = |id: &str| of_source(&json!({"awsElasticBlockStore": {"volumeID": id}}));
    for (id, handle) in [
        ("vol-02399794d890f9375", Some("vol-02399794d890f9375")),
        ("aws:///vol-02399794d890f9375", Some("vol-02399794d890f9375")),
        ("aws://us-west-2/vol-02399794d890f9375", Some("vol-02399794d890f9375")),
        ("aws://us-west-2", None),
        ("aws://us-west-2/v1", None),
        ("aws://us-west-2/vol-1/more", None),
    ] {
        let expected = handle.and_then(|handle| csi(&format!("ebs.csi.aws.com^{handle}")));
        assert_eq!(disk(id), expected, "{id}");
    }
}

/// TestTranslateInTreePVToCSI of azure_disk_test.go.
#[test]
fn an_azure_disk_must_be_managed() {
    let disk = |kind: Value| {
        of_source(
            &json!({"azureDisk": {"diskName": "d", "diskURI": "/subscriptions/1/d", "kind": kind}}),
        )
    };
    let handle = csi("disk.csi.azure.com^/subscriptions/1/d");
    assert_eq!(disk(json!("Managed")), handle);
    assert_eq!(disk(json!("managed")), handle);
    assert_eq!(disk(Value::Null), handle);
    assert_eq!(disk(json!("Dedicated")), None);
}

/// TestTranslateInTreePVToCSI and TestGetStorageAccount of azure_file_test.go.
#[test]
fn an_azure_file_share_is_known_by_five_parts() {
    let share = |secret: &str, namespace: Value, claim: Value, group: Value| {
        attached(&json!({
            "metadata": {"annotations": {"kubernetes.io/azure-file-resource-group": group}},
            "spec": {"azureFile": {"secretName": secret, "shareName": "s",
                "secretNamespace": namespace}, "claimRef": claim},
        }))
    };
    let name = |parts: &str| csi(&format!("file.csi.azure.com^{parts}"));
    let claim = || json!({"namespace": "shop", "name": "data"});
    let found = share("azure-storage-account-acct-secret", json!("ns"), claim(), json!("rg"));
    assert_eq!(found, name("rg#acct#s#pv#ns"));
    assert_eq!(share("other", Value::Null, claim(), json!("")), name("#other#s#pv#shop"));
    let found = share("azure-storage-account--secret", json!("ns"), claim(), json!(""));
    assert_eq!(found, name("#azure-storage-account--secret#s#pv#ns"));
    assert_eq!(share("other", json!(""), claim(), json!("")), None);
    assert_eq!(share("other", Value::Null, Value::Null, json!("")), None);
}

/// The other plugins, and those whose attachments are no objects.
#[test]
fn other_volumes_are_known_by_what_they_are_called() {
    let rows = [
        (json!({"csi": {"driver": "d", "volumeHandle": "h"}}), csi("d^h")),
        (json!({"cinder": {"volumeID": "c"}}), csi("cinder.csi.openstack.org^c")),
        (json!({"vsphereVolume": {"volumePath": "[ds] a"}}), csi("csi.vsphere.vmware.com^[ds] a")),
        (json!({"portworxVolume": {"volumeID": "p"}}), csi("pxd.portworx.com^p")),
        (
            json!({"fc": {"targetWWNs": ["a", "b"], "lun": 0}}),
            Some("kubernetes.io/fc/[a b]:0".into()),
        ),
        (json!({"fc": {"wwids": ["w"]}}), Some("kubernetes.io/fc/[w]".into())),
        (json!({"fc": {}}), None),
        (
            json!({"iscsi": {"targetPortal": "1.2.3.4:3260", "iqn": "i", "lun": 7}}),
            Some("kubernetes.io/iscsi/1.2.3.4:3260:i:7".into()),
        ),
        (json!({"nfs": {"server": "s", "path": "/"}}), None),
        (json!({"flexVolume": {"driver": "d"}}), None),
    ];
    for (source, expected) in rows {
        assert_eq!(of_source(&source), expected, "{source}");
    }
}

#[test]
fn a_name_says_which_plugin_attaches_the_volume() {
    let csi = AttachPlugin::Csi { driver: "d".into(), handle: "a/b^c".into() };
    let rows = [
        ("kubernetes.io/csi/d^a/b^c", Some(csi), "kubernetes.io/csi:d"),
        ("kubernetes.io/fc/[a]:0", Some(AttachPlugin::ByNode), "kubernetes.io/fc"),
        ("kubernetes.io/iscsi/a:b:0", Some(AttachPlugin::ByNode), "kubernetes.io/iscsi"),
        ("kubernetes.io/csi/d", None, "N/A"),
        ("flexvolume-vendor/driver/x", None, "N/A"),
    ];
    for (volume, plugin, name) in rows {
        assert_eq!(AttachPlugin::of(volume), plugin, "{volume}");
        assert_eq!(AttachPlugin::name_of(volume), name, "{volume}");
    }
}

/// TestTranslateInTreeInlineVolumeToCSI of all plugins: from both codecs, in all their fields.
#[test]
fn the_volumes_that_a_pod_names_itself_are_translated() {
    let pod: Pod = read(
        include_bytes!("../../testdata/inline-pod.pb"),
        include_bytes!("../../testdata/inline-pod.json"),
    );
    let rows = translated();
    for (inline, (handle, name, csi, mode)) in pod.inline_volumes().iter().zip(&rows) {
        let volume = format!("kubernetes.io/csi/{}^{handle}", csi["driver"].as_str().unwrap());
        assert_eq!(*inline.volume, *volume);
        assert_eq!((&*inline.name, inline.is_shared), (*name, *mode != "ReadWriteOnce"));
        let spec: Value = serde_json::from_str(inline.spec.as_deref().unwrap()).unwrap();
        let mut csi = csi.clone();
        csi["volumeHandle"] = json!(handle);
        assert_eq!(spec, json!({"accessModes": [mode], "csi": csi, "volumeMode": "Filesystem"}));
    }
    let by_node = pod.inline_volumes().iter().skip(rows.len());
    let by_node = by_node.map(|it| (&*it.volume, &*it.name, it.is_shared));
    assert_eq!(
        by_node.collect::<Vec<_>>(),
        [
            ("kubernetes.io/fc/[a b]:3", "fc", true),
            ("kubernetes.io/iscsi/10.0.0.1:3260:iqn.2001-04.com.example:disk:7", "iscsi", true),
        ],
    );
    let secrets: Vec<&str> = pod.secrets.iter().map(|name| &**name).collect();
    assert_eq!(secrets, ["azure-storage-account-acct-secret", "s"]);
}

/// What the volumes of `inline-pod` become: handle, name, source without handle, access mode.
fn translated() -> [(&'static str, &'static str, Value, &'static str); 7] {
    let (once, read, many) = ("ReadWriteOnce", "ReadOnlyMany", "ReadWriteMany");
    let partition = json!({"partition": "1"});
    [
        (
            "projects/UNSPECIFIED/zones/UNSPECIFIED/disks/disk",
            "pd.csi.storage.gke.io-disk",
            json!({"driver": "pd.csi.storage.gke.io", "readOnly": true, "fsType": "ext4",
                "volumeAttributes": partition}),
            read,
        ),
        (
            "vol-1",
            "ebs.csi.aws.com-vol-1",
            json!({"driver": "ebs.csi.aws.com", "readOnly": true, "fsType": "ext4",
                "volumeAttributes": partition}),
            once,
        ),
        (
            "c1",
            "cinder.csi.openstack.org-c1",
            json!({"driver": "cinder.csi.openstack.org", "readOnly": true, "fsType": "ext4"}),
            once,
        ),
        (
            "/disks/d",
            "/disks/d",
            json!({"driver": "disk.csi.azure.com", "readOnly": true, "fsType": "ext4",
                "volumeAttributes": {"kind": "Managed", "cachingmode": "ReadOnly",
                    "fstype": "ext4"}}),
            once,
        ),
        (
            "#acct#share#file#shop",
            "#acct#share#file#shop",
            json!({"driver": "file.csi.azure.com", "readOnly": true,
                "volumeAttributes": {"sharename": "share"},
                "nodeStageSecretRef": {"name": "azure-storage-account-acct-secret",
                    "namespace": "shop"}}),
            many,
        ),
        (
            "[ds] a.vmdk",
            "csi.vsphere.vmware.com-[ds] a.vmdk",
            json!({"driver": "csi.vsphere.vmware.com", "fsType": "ext4",
                "volumeAttributes": {"storagepolicyname": "gold"}}),
            once,
        ),
        (
            "p1",
            "pxd.portworx.com-p1",
            json!({"driver": "pxd.portworx.com", "fsType": "ext4"}),
            read,
        ),
    ]
}

#[test]
fn upstreams_bytes_of_attachments_and_drivers_are_read_from_both_codecs() {
    let attachment: VolumeAttachment = read(
        include_bytes!("../../testdata/attachment.pb"),
        include_bytes!("../../testdata/attachment.json"),
    );
    let time = Time::parse("2024-05-01T12:00:00Z").ok();
    let error = |message: &str| Some(VolumeError { time, message: message.into() });
    assert_eq!(attachment.node.as_deref(), Some("node-1"));
    assert_eq!(attachment.source.as_deref(), Some("pv-1"));
    assert!(attachment.attached);
    assert_eq!(attachment.attach_error, error("no"));
    assert_eq!(attachment.detach_error, error("nor that"));
    let inline: VolumeAttachment = read(
        include_bytes!("../../testdata/attachment-inline.pb"),
        include_bytes!("../../testdata/attachment-inline.json"),
    );
    assert_eq!(inline.source.as_deref(), Some("kubernetes.io/csi/d.example^h^1"));
    assert!(!inline.attached && inline.attach_error.is_none());
    let driver: CsiDriver = read(
        include_bytes!("../../testdata/csi-driver.pb"),
        include_bytes!("../../testdata/csi-driver.json"),
    );
    assert!(!driver.attach_required);
    let bare = CsiDriver::decode(Codec::Json, br#"{"metadata":{},"spec":{}}"#).unwrap();
    assert!(bare.attach_required);
    let broken = CsiDriver::unreadable(driver.meta, &DecodeError("no".to_owned()));
    assert!(broken.attach_required);
    let broken = VolumeAttachment::unreadable(attachment.meta, &DecodeError("no".to_owned()));
    assert!(broken.node.is_none() && broken.source.is_none() && !broken.attached);
}

#[test]
fn upstreams_bytes_of_a_node_with_volumes_are_read_from_both_codecs() {
    let node: Node = read(
        include_bytes!("../../testdata/attached-node.pb"),
        include_bytes!("../../testdata/attached-node.json"),
    );
    assert!(node.is_attached_for && !node.is_out_of_service());
    assert!(node.uses("kubernetes.io/csi/d^1") && !node.uses("kubernetes.io/fc/[a]:0"));
    assert!(node.lists("kubernetes.io/csi/d^1") && node.lists("kubernetes.io/fc/[a]:0"));
    let attached = node.volumes_attached.iter().map(|(name, path)| (&**name, &**path));
    let expected = [("kubernetes.io/csi/d^1", ""), ("kubernetes.io/fc/[a]:0", "/dev/x")];
    assert_eq!(attached.collect::<Vec<_>>(), expected);
    let bare = Node::decode(Codec::Json, br#"{"metadata":{},"status":{}}"#).unwrap();
    assert!(!bare.is_attached_for && bare.volumes_attached.is_empty());
}

/// The view of upstream's bytes; both codecs show the same.
fn read<T: Kind + PartialEq + std::fmt::Debug>(protobuf: &[u8], json: &[u8]) -> T {
    let view = T::decode(Codec::Protobuf, protobuf).unwrap();
    assert_eq!(T::decode(Codec::Json, json).as_ref(), Ok(&view));
    view
}
