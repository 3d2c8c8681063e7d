//! What is filled in of volumes.

use serde_json::{Value, json};

use super::defaults::{canonical, field_ref, round_resources};
use super::image::pull_policy;
use crate::value::{fill, fill_zero, get_mut, items_mut, section, text};

/// Files of volumes are readable by all: octal 644.
const FILE_MODE: i64 = 0o644;

/// SetDefaults_Volume and what is below it.
pub(crate) fn volume(volume: &mut Value) {
    let has_source = volume.as_object().is_some_and(|fields| {
        fields.iter().any(|(name, source)| name != "name" && !source.is_null())
    });
    if !has_source {
        fill(volume, "emptyDir", json!({}));
    }
    for source in ["secret", "configMap", "downwardAPI", "projected"] {
        if let Some(source) = get_mut(volume, source) {
            fill(source, "defaultMode", FILE_MODE);
        }
    }
    if let Some(source) = get_mut(volume, "emptyDir") {
        canonical(source, "sizeLimit");
    }
    if let Some(source) = get_mut(volume, "hostPath") {
        fill(source, "type", "");
    }
    if let Some(source) = get_mut(volume, "downwardAPI") {
        items_mut(source, "items").for_each(field_ref);
    }
    if let Some(source) = get_mut(volume, "projected") {
        items_mut(source, "sources").for_each(projection);
    }
    if let Some(source) = get_mut(volume, "image") {
        let policy = pull_policy(text(source, "reference"));
        fill_zero(source, "pullPolicy", policy);
    }
    if let Some(source) = get_mut(volume, "ephemeral") {
        ephemeral(source);
    }
    legacy(volume);
}

fn projection(source: &mut Value) {
    if let Some(source) = get_mut(source, "downwardAPI") {
        items_mut(source, "items").for_each(field_ref);
    }
    if let Some(token) = get_mut(source, "serviceAccountToken") {
        fill(token, "expirationSeconds", 3600);
    }
}

fn ephemeral(source: &mut Value) {
    if let Some(template) = get_mut(source, "volumeClaimTemplate") {
        section(template, "metadata");
        let spec = section(template, "spec");

        fill(spec, "volumeMode", "Filesystem");
        let resources = section(spec, "resources");

        round_resources(resources);
    }
}

/// Sources that clusters hardly know any more.
fn legacy(volume: &mut Value) {
    let texts = [
        ("iscsi", "iscsiInterface", "default"),
        ("rbd", "pool", "rbd"),
        ("rbd", "user", "admin"),
        ("rbd", "keyring", "/etc/ceph/keyring"),
        ("scaleIO", "storageMode", "ThinProvisioned"),
        ("scaleIO", "fsType", "xfs"),
    ];
    for (source, field, default) in texts {
        if let Some(source) = get_mut(volume, source) {
            fill_zero(source, field, default);
        }
    }
    let azure = [
        ("cachingMode", json!("ReadWrite")),
        ("fsType", json!("ext4")),
        ("readOnly", json!(false)),
        ("kind", json!("Shared")),
    ];
    if let Some(disk) = get_mut(volume, "azureDisk") {
        for (field, default) in azure {
            fill(disk, field, default);
        }
    }
}
