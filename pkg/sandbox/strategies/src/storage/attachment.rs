//! VolumeAttachment.

use api::Time;
use serde_json::{Value, json};

use crate::formats::dns_subdomain;
use crate::metadata::immutable;
use crate::table::{AGE, NAME, age, boolean, cell, heading, name};
use crate::value::{fill, flag, get, keep, maybe, section, set, text};
use crate::{Cell, Column, Environment, Invalid, Path, Strategy};

use super::csi::driver_name;

const COLUMNS: &[Column] = &[
    NAME,
    Column { format: "name", ..heading("Attacher") },
    heading("PV"),
    heading("Node"),
    boolean("Attached"),
    AGE,
];
const VOLUME: &str = "/spec/source/persistentVolumeName";

/// A volume at a node.
pub struct VolumeAttachment;

impl Strategy for VolumeAttachment {
    fn default(&self, object: &mut Value) {
        let spec = section(object, "spec");
        section(spec, "source");
        fill(section(object, "status"), "attached", false);
    }

    fn prepare_create(&self, object: &mut Value, _env: &Environment<'_>) {
        set(object, "status", json!({ "attached": false }));
    }

    fn validate_create(&self, object: &Value) -> Vec<Invalid> {
        let path = Path::new("spec");
        let mut wrongs = driver_name(text(object, "/spec/attacher"), &path.child("attacher"));
        let source = path.child("source");
        let both = "must specify exactly one of inlineVolumeSpec and persistentVolumeName";
        match (maybe(object, VOLUME), get(object, "/spec/source/inlineVolumeSpec")) {
            (None, None) => wrongs.push(source.required(both)),
            (Some(_), Some(_)) => wrongs.push(source.forbidden(both)),
            (Some(""), None) => {
                let wrong = "must specify non empty persistentVolumeName";
                wrongs.push(source.child("persistentVolumeName").required(wrong));
            }
            (Some(_), None) | (None, Some(_)) => {}
        }
        let node = text(object, "/spec/nodeName");
        wrongs.extend(path.child("nodeName").refuse(node, dns_subdomain(node)));
        if let Some(volume) = maybe(object, VOLUME) {
            let path = Path::new("spec.source.persistentVolumeName");
            wrongs.extend(path.refuse(volume, dns_subdomain(volume)));
        }
        wrongs
    }

    fn prepare_update(&self, new: &mut Value, old: &Value, _env: &Environment<'_>) {
        keep(new, old, "status");
    }

    fn validate_update(&self, new: &Value, old: &Value) -> Vec<Invalid> {
        let mut wrongs = self.validate_create(new);
        wrongs.extend(immutable(new, old, "/spec", &Path::new("spec")));
        wrongs
    }

    fn prepare_status(&self, new: &mut Value, old: &Value, _env: &Environment<'_>) {
        keep(new, old, "spec");
    }

    fn needs_version_on_update(&self) -> bool {
        true
    }

    fn columns(&self) -> &'static [Column] {
        COLUMNS
    }

    fn row(&self, object: &Value, now: Time) -> Vec<Cell> {
        vec![
            name(object),
            cell(object, "/spec/attacher"),
            cell(object, VOLUME),
            cell(object, "/spec/nodeName"),
            flag(object, "/status/attached").into(),
            age(object, now),
        ]
    }
}
