//! Secret.

use std::borrow::Cow;

use api::Time;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

use crate::formats::config_key;
use crate::metadata::immutable;
use crate::table::{AGE, NAME, age, cell, heading, name};
use crate::value::{annotation, entries, fill_zero, get, remove, section, set, text};
use crate::{Cell, Column, Environment, Fault, Invalid, Path, Strategy};

use super::configmap::frozen;

const COLUMNS: &[Column] = &[NAME, heading("Type"), heading("Data"), AGE];
const ACCOUNT: &str = "kubernetes.io/service-account.name";

/// What secrets and config maps may hold.
pub(super) const BYTES_MAX: usize = 1024 * 1024;

/// A secret.
pub struct Secret;

impl Strategy for Secret {
    fn default(&self, object: &mut Value) {
        fill_zero(object, "type", "Opaque");
        fold_string_data(object);
    }

    fn validate_create(&self, object: &Value) -> Vec<Invalid> {
        let path = Path::new("data");
        let mut wrongs = Vec::new();
        let mut bytes = 0;
        for (key, value) in entries(object, "/data") {
            wrongs.extend(path.key(key).refuse(key, config_key(key)));
            bytes += decoded_length(value);
        }
        if bytes > BYTES_MAX {
            wrongs.push(path.is(Fault::TooLong(BYTES_MAX)));
        }
        wrongs.extend(missing(object).into_iter().map(|path| path.required("")));
        wrongs
    }

    fn prepare_update(&self, new: &mut Value, old: &Value, _env: &Environment<'_>) {
        fill_zero(new, "type", text(old, "/type"));
    }

    fn validate_update(&self, new: &Value, old: &Value) -> Vec<Invalid> {
        let mut wrongs: Vec<_> =
            immutable(new, old, "/type", &Path::new("type")).into_iter().collect();
        wrongs.extend(frozen(new, old, &["data"]));
        wrongs.extend(self.validate_create(new));
        wrongs
    }

    fn selectable(&self, object: &Value, field: &str) -> Option<Cow<'static, str>> {
        (field == "type").then(|| text(object, "/type").to_owned().into())
    }

    fn selectable_fields(&self) -> &'static [&'static str] {
        &["type"]
    }

    fn columns(&self) -> &'static [Column] {
        COLUMNS
    }

    fn row(&self, object: &Value, now: Time) -> Vec<Cell> {
        let keys = entries(object, "/data").len();
        vec![name(object), cell(object, "/type"), keys.into(), age(object, now)]
    }
}

/// The length of what base64 stands for.
pub(super) fn decoded_length(value: &Value) -> usize {
    let encoded = value.as_str().unwrap_or_default().bytes();
    let letters = encoded.filter(|byte| !matches!(byte, b'=' | b'\n' | b'\r')).count();
    letters * 3 / 4
}

/// `stringData` is written, never read: it is merged into `data`
/// (Convert_v1_Secret_To_core_Secret).
fn fold_string_data(object: &mut Value) {
    let Some(Value::Object(plain)) = remove(object, "stringData") else { return };
    let data = section(object, "data");
    for (key, value) in plain {
        let value = STANDARD.encode(value.as_str().unwrap_or_default());
        set(data, &key, value);
    }
}

/// The keys that a type asks for.
fn missing(object: &Value) -> Vec<Path> {
    let data = Path::new("data");
    let has = |key: &str| get(object, "/data").is_some_and(|data| data.get(key).is_some());
    let need = |keys: &[&str]| -> Vec<Path> {
        keys.iter().filter(|key| !has(key)).map(|key| data.key(key)).collect()
    };
    match text(object, "/type") {
        "kubernetes.io/service-account-token" => {
            let named = annotation(object, ACCOUNT).is_some_and(|name| !name.is_empty());
            let path = Path::new("metadata").child("annotations").key(ACCOUNT);
            if named { Vec::new() } else { vec![path] }
        }
        "kubernetes.io/dockercfg" => need(&[".dockercfg"]),
        "kubernetes.io/dockerconfigjson" => need(&[".dockerconfigjson"]),
        "kubernetes.io/basic-auth" if has("username") || has("password") => Vec::new(),
        "kubernetes.io/basic-auth" => need(&["username", "password"]),
        "kubernetes.io/ssh-auth" => {
            let key = object.pointer("/data/ssh-privatekey").map_or(0, decoded_length);
            if key == 0 { vec![data.key("ssh-privatekey")] } else { Vec::new() }
        }
        "kubernetes.io/tls" => need(&["tls.crt", "tls.key"]),
        _ => Vec::new(),
    }
}
