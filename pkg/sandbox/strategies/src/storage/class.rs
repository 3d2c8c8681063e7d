//! What volumes are like.

use api::Time;
use serde_json::Value;

use crate::formats::label_key;
use crate::metadata::immutable;
use crate::semantic::same_at;
use crate::table::{AGE, NAME, age, cell, heading, name};
use crate::value::{annotation, entries, fill, flag, maybe, text};
use crate::{Cell, Column, Fault, Invalid, Path, Strategy};

const COLUMNS: &[Column] = &[
    NAME,
    heading("Provisioner"),
    heading("ReclaimPolicy"),
    heading("VolumeBindingMode"),
    heading("AllowVolumeExpansion"),
    AGE,
];
const ATTRIBUTES_COLUMNS: &[Column] = &[NAME, heading("DriverName"), AGE];
const BINDINGS: [&str; 2] = ["Immediate", "WaitForFirstConsumer"];
const DEFAULT: [&str; 2] = [
    "storageclass.kubernetes.io/is-default-class",
    "storageclass.beta.kubernetes.io/is-default-class",
];
const PARAMETERS_MAX: usize = 512;
const PARAMETERS_BYTES_MAX: usize = 256 * 1024;
const POLICIES: [&str; 2] = ["Delete", "Retain"];

/// How volumes are made.
pub struct StorageClass;

/// How volumes are changed.
pub struct VolumeAttributesClass;

impl Strategy for StorageClass {
    fn default(&self, object: &mut Value) {
        fill(object, "reclaimPolicy", "Delete");
        fill(object, "volumeBindingMode", "Immediate");
    }

    fn validate_create(&self, object: &Value) -> Vec<Invalid> {
        let mut wrongs = provisioner(object, "provisioner");
        wrongs.extend(parameters(object));
        let policy = text(object, "/reclaimPolicy");
        if !policy.is_empty() && !POLICIES.contains(&policy) {
            wrongs.push(Path::new("reclaimPolicy").not_supported(policy, &POLICIES));
        }
        let path = Path::new("volumeBindingMode");
        match maybe(object, "/volumeBindingMode") {
            None => wrongs.push(path.required("")),
            Some(mode) if BINDINGS.contains(&mode) => {}
            Some(mode) => wrongs.push(path.not_supported(mode, &BINDINGS)),
        }
        wrongs
    }

    fn validate_update(&self, new: &Value, old: &Value) -> Vec<Invalid> {
        let mut wrongs = self.validate_create(new);
        let fixed = ["parameters", "provisioner", "reclaimPolicy", "volumeBindingMode"];
        let changed = fixed
            .iter()
            .filter_map(|name| immutable(new, old, &format!("/{name}"), &Path::new(name)));
        wrongs.extend(changed);
        wrongs
    }

    fn columns(&self) -> &'static [Column] {
        COLUMNS
    }

    fn row(&self, object: &Value, now: Time) -> Vec<Cell> {
        let mut shown = text(object, "/metadata/name").to_owned();
        if DEFAULT.iter().any(|key| annotation(object, key) == Some("true")) {
            shown.push_str(" (default)");
        }
        vec![
            shown.into(),
            cell(object, "/provisioner"),
            maybe(object, "/reclaimPolicy").unwrap_or("Delete").into(),
            maybe(object, "/volumeBindingMode").unwrap_or("Immediate").into(),
            flag(object, "/allowVolumeExpansion").into(),
            age(object, now),
        ]
    }
}

impl Strategy for VolumeAttributesClass {
    fn validate_create(&self, object: &Value) -> Vec<Invalid> {
        let mut wrongs = provisioner(object, "driverName");
        wrongs.extend(parameters(object));
        if entries(object, "/parameters").is_empty() {
            let wrong = "must contain at least one key/value pair";
            wrongs.push(Path::new("parameters").required(wrong));
        }
        wrongs
    }

    fn validate_update(&self, new: &Value, old: &Value) -> Vec<Invalid> {
        let changed = ["driverName", "parameters"]
            .into_iter()
            .filter(|name| !same_at(new, old, &format!("/{name}")));
        let mut wrongs: Vec<_> = changed
            .map(|name| Path::new(name).forbidden(&format!("updates to {name} are forbidden.")))
            .collect();
        wrongs.extend(self.validate_create(new));
        wrongs
    }

    fn columns(&self) -> &'static [Column] {
        ATTRIBUTES_COLUMNS
    }

    fn row(&self, object: &Value, now: Time) -> Vec<Cell> {
        vec![name(object), cell(object, "/driverName"), age(object, now)]
    }
}

fn provisioner(object: &Value, name: &str) -> Vec<Invalid> {
    let path = Path::new(name);
    match text(object, &format!("/{name}")).to_lowercase().as_str() {
        "" => vec![path.required("")],
        value => path.refuse(value, label_key(value)),
    }
}

fn parameters(object: &Value) -> Vec<Invalid> {
    let path = Path::new("parameters");
    let parameters = entries(object, "/parameters");
    if parameters.len() > PARAMETERS_MAX {
        return vec![path.is(Fault::TooLong(PARAMETERS_MAX))];
    }
    let nameless = parameters.iter().filter(|(key, _)| key.is_empty());
    let mut wrongs: Vec<_> =
        nameless.map(|(key, _)| path.invalid(*key, "field can not be empty.")).collect();
    let size = |(key, value): &(&str, &Value)| key.len() + value.as_str().map_or(0, str::len);
    if parameters.iter().map(size).sum::<usize>() > PARAMETERS_BYTES_MAX {
        wrongs.push(path.is(Fault::TooLong(PARAMETERS_BYTES_MAX)));
    }
    wrongs
}
