//! PersistentVolume.

use std::borrow::Cow;

use api::Time;
use serde_json::{Map, Value, json};

use crate::amounts::positive;
use crate::formats::dns_subdomain;
use crate::metadata::immutable;
use crate::semantic::{same, same_at};
use crate::table::{AGE, NAME, access_modes, age, cell, cell_or, heading, name, wide};
use crate::value::{
    annotation, entries, fill, fill_zero, get, get_mut, keep, maybe, or_null, remove, section, set,
    text, texts,
};
use crate::{Cell, Column, Environment, Invalid, Path, Strategy};

const COLUMNS: &[Column] = &[
    NAME,
    heading("Capacity"),
    heading("Access Modes"),
    heading("Reclaim Policy"),
    heading("Status"),
    heading("Claim"),
    heading("StorageClass"),
    heading("VolumeAttributesClass"),
    heading("Reason"),
    AGE,
    wide("VolumeMode"),
];
const CLASS: &str = "volume.beta.kubernetes.io/storage-class";
const MODES: [&str; 4] = ["ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod"];
const POLICIES: [&str; 3] = ["Delete", "Recycle", "Retain"];
const VOLUME_MODES: [&str; 2] = ["Block", "Filesystem"];
/// What a volume is, in upstream's order.
const SOURCES: [&str; 22] = [
    "hostPath",
    "gcePersistentDisk",
    "awsElasticBlockStore",
    "glusterfs",
    "flocker",
    "nfs",
    "rbd",
    "quobyte",
    "cephfs",
    "iscsi",
    "cinder",
    "fc",
    "flexVolume",
    "azureFile",
    "vsphereVolume",
    "photonPersistentDisk",
    "portworxVolume",
    "azureDisk",
    "scaleIO",
    "local",
    "storageos",
    "csi",
];

/// A volume.
pub struct PersistentVolume;

impl Strategy for PersistentVolume {
    fn default(&self, object: &mut Value) {
        let spec = section(object, "spec");
        fill_zero(spec, "persistentVolumeReclaimPolicy", "Retain");
        fill(spec, "volumeMode", "Filesystem");
        if let Some(path) = get_mut(spec, "hostPath") {
            fill(path, "type", "");
        }
        fill_zero(section(object, "status"), "phase", "Pending");
    }

    fn prepare_create(&self, object: &mut Value, env: &Environment<'_>) {
        let status = json!({
            "phase": "Pending",
            "lastPhaseTransitionTime": env.now.to_string(),
        });
        set(object, "status", status);
    }

    fn validate_create(&self, object: &Value) -> Vec<Invalid> {
        let path = Path::new("spec");
        let mut wrongs = access_mode_wrongs(object, &path, "");
        wrongs.extend(capacity_wrongs(object, &path.child("capacity")));
        let policy = text(object, "/spec/persistentVolumeReclaimPolicy");
        if !policy.is_empty() && !POLICIES.contains(&policy) {
            wrongs
                .push(path.child("persistentVolumeReclaimPolicy").not_supported(policy, &POLICIES));
        }
        wrongs.extend(source_wrongs(object, &path));
        let class = text(object, "/spec/storageClassName");
        if !class.is_empty() {
            wrongs.extend(path.child("storageClassName").refuse(class, dns_subdomain(class)));
        }
        wrongs.extend(volume_mode_wrongs(object, &path));
        let field = path.child("volumeAttributesClassName");
        match maybe(object, "/spec/volumeAttributesClassName") {
            None => return wrongs,
            Some("") => wrongs.push(field.required("an empty string is disallowed")),
            Some(class) => wrongs.extend(field.refuse(class, dns_subdomain(class))),
        }
        if get(object, "/spec/csi").is_none() {
            let wrong = "has to be specified when using volumeAttributesClassName";
            wrongs.push(path.child("csi").required(wrong));
        }
        wrongs
    }

    fn prepare_update(&self, new: &mut Value, old: &Value, _env: &Environment<'_>) {
        keep(new, old, "status");
    }

    fn validate_update(&self, new: &Value, old: &Value) -> Vec<Invalid> {
        let mut wrongs = self.validate_create(new);
        let (mut is, was) = (source(new), source(old));
        // A secret for growing may be added.
        let secret = "/csi/controllerExpandSecretRef";
        let sources = Value::Object(was);
        let mut changed = Value::Object(std::mem::take(&mut is));
        let had = get(&sources, secret).is_some();
        if let (false, Some(csi)) = (had, get_mut(&mut changed, "csi")) {
            remove(csi, "controllerExpandSecretRef");
        }
        if !same(&sources, &changed) {
            let wrong = "spec.persistentvolumesource is immutable after creation";
            wrongs.push(Path::new("spec").child("persistentvolumesource").forbidden(wrong));
        }
        wrongs.extend(immutable(new, old, "/spec/volumeMode", &Path::new("volumeMode")));
        let class = "/spec/volumeAttributesClassName";
        if maybe(old, class).is_some() && maybe(new, class).is_none() {
            let wrong = "update from non-nil value to nil is forbidden";
            wrongs.push(Path::new("spec").child("volumeAttributesClassName").forbidden(wrong));
        }
        wrongs
    }

    fn prepare_status(&self, new: &mut Value, old: &Value, env: &Environment<'_>) {
        keep(new, old, "spec");
        let time = "/status/lastPhaseTransitionTime";
        let said = get(new, time).is_some();
        let moved = text(new, "/status/phase") != text(old, "/status/phase");
        let now = if moved && (!said || same_at(new, old, time)) {
            env.now.to_string().into()
        } else if !moved && !said {
            or_null(old, time)
        } else {
            return;
        };
        if !now.is_null() {
            set(section(new, "status"), "lastPhaseTransitionTime", now);
        }
    }

    fn selectable(&self, object: &Value, field: &str) -> Option<Cow<'static, str>> {
        (field == "name").then(|| text(object, "/metadata/name").to_owned().into())
    }

    fn selectable_fields(&self) -> &'static [&'static str] {
        &["name"]
    }

    fn columns(&self) -> &'static [Column] {
        COLUMNS
    }

    fn row(&self, object: &Value, now: Time) -> Vec<Cell> {
        let claim = get(object, "/spec/claimRef").map_or_else(String::new, |claim| {
            format!("{}/{}", text(claim, "/namespace"), text(claim, "/name"))
        });
        vec![
            name(object),
            cell_or(object, "/spec/capacity/storage", "0"),
            access_modes(object, "/spec/accessModes").into(),
            cell(object, "/spec/persistentVolumeReclaimPolicy"),
            phase(object),
            claim.into(),
            class(object),
            maybe(object, "/spec/volumeAttributesClassName").unwrap_or("<unset>").into(),
            cell(object, "/status/reason"),
            age(object, now),
            maybe(object, "/spec/volumeMode").unwrap_or("<unset>").into(),
        ]
    }
}

/// The class of a volume or a claim.
pub(super) fn class(object: &Value) -> Cell {
    annotation(object, CLASS).unwrap_or(text(object, "/spec/storageClassName")).into()
}

/// What it shows as its status.
pub(super) fn phase(object: &Value) -> Cell {
    match get(object, "/metadata/deletionTimestamp") {
        Some(_) => "Terminating".into(),
        None => cell(object, "/status/phase"),
    }
}

/// Of `spec.accessModes`.
pub(super) fn access_mode_wrongs(object: &Value, spec: &Path, required: &str) -> Vec<Invalid> {
    let path = spec.child("accessModes");
    let modes = texts(object, "/spec/accessModes");
    let mut wrongs = Vec::new();
    if modes.is_empty() {
        wrongs.push(path.required(required));
    }
    let unknown = modes.iter().filter(|mode| !MODES.contains(mode));
    wrongs.extend(unknown.map(|mode| path.not_supported(*mode, &MODES)));
    let alone = "ReadWriteOncePod";
    let others = modes.iter().any(|mode| *mode != alone && MODES.contains(mode));
    if modes.contains(&alone) && others {
        wrongs.push(path.forbidden("may not use ReadWriteOncePod with other access modes"));
    }
    wrongs
}

/// Of `spec.volumeMode`.
pub(super) fn volume_mode_wrongs(object: &Value, spec: &Path) -> Option<Invalid> {
    let mode = maybe(object, "/spec/volumeMode").filter(|mode| !VOLUME_MODES.contains(mode))?;
    Some(spec.child("volumeMode").not_supported(mode, &VOLUME_MODES))
}

fn capacity_wrongs(object: &Value, path: &Path) -> Vec<Invalid> {
    let capacity = entries(object, "/spec/capacity");
    let mut wrongs = Vec::new();
    if capacity.is_empty() {
        wrongs.push(path.required(""));
    }
    if capacity.len() > 1 || !capacity.iter().any(|(name, _)| *name == "storage") {
        wrongs.push(path.not_supported(or_null(object, "/spec/capacity"), &["storage"]));
    }
    wrongs.extend(capacity.iter().filter_map(|(name, amount)| positive(amount, &path.key(name))));
    wrongs
}

fn source(object: &Value) -> Map<String, Value> {
    let spec = entries(object, "/spec").into_iter();
    let sources = spec.filter(|(name, value)| SOURCES.contains(name) && !value.is_null());
    sources.map(|(name, value)| (name.to_owned(), value.clone())).collect()
}

fn source_wrongs(object: &Value, path: &Path) -> Vec<Invalid> {
    let sources: Vec<_> = SOURCES
        .into_iter()
        .filter(|name| get(object, &format!("/spec/{name}")).is_some())
        .collect();
    let mut wrongs = Vec::new();
    for (index, name) in sources.iter().enumerate() {
        let shown = if *name == "cephfs" { "cephFS" } else { name };
        if index > 0 && *name != "flexVolume" {
            let wrong = "may not specify more than 1 volume type";
            wrongs.push(path.child(shown).forbidden(wrong));
        }
    }
    let local = get(object, "/spec/local").is_some();
    if local && get(object, "/spec/nodeAffinity/required").is_none() {
        let wrong = "Local volume requires node affinity";
        wrongs.push(path.child("nodeAffinity").required(wrong));
    }
    for (pointer, field, name) in [
        ("/spec/hostPath", "hostPath", "path"),
        ("/spec/local", "local", "path"),
        ("/spec/nfs", "nfs", "server"),
        ("/spec/nfs", "nfs", "path"),
        ("/spec/csi", "csi", "driver"),
        ("/spec/csi", "csi", "volumeHandle"),
    ] {
        let source = get(object, pointer);
        if source.is_some_and(|source| text(source, &format!("/{name}")).is_empty()) {
            wrongs.push(path.child(field).child(name).required(""));
        }
    }
    if sources.is_empty() {
        wrongs.push(path.required("must specify a volume type"));
    }
    wrongs
}
