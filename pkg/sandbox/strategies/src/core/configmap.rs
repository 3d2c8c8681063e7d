//! ConfigMap.

use api::Time;
use serde_json::Value;

use crate::formats::config_key;
use crate::semantic::same_at;
use crate::table::{AGE, NAME, age, heading, name};
use crate::value::{entries, flag, get};
use crate::{Cell, Column, Fault, Invalid, Path, Strategy};

use super::secret::{BYTES_MAX, decoded_length};

const COLUMNS: &[Column] = &[NAME, heading("Data"), AGE];

/// A config map.
pub struct ConfigMap;

impl Strategy for ConfigMap {
    // Upstream defaults `data` to an empty map, which it then does not write.

    fn validate_create(&self, object: &Value) -> Vec<Invalid> {
        let mut wrongs = Vec::new();
        let mut bytes = 0;
        let binary = get(object, "/binaryData");
        for (key, value) in entries(object, "/data") {
            let path = Path::new("data").key(key);
            wrongs.extend(path.refuse(key, config_key(key)));
            if binary.is_some_and(|binary| binary.get(key).is_some()) {
                wrongs.push(path.invalid(key, "duplicate of key present in binaryData"));
            }
            bytes += value.as_str().map_or(0, str::len);
        }
        for (key, value) in entries(object, "/binaryData") {
            wrongs.extend(Path::new("binaryData").key(key).refuse(key, config_key(key)));
            bytes += decoded_length(value);
        }
        if bytes > BYTES_MAX {
            wrongs.push(Path::new("").is(Fault::TooLong(BYTES_MAX)));
        }
        wrongs
    }

    fn validate_update(&self, new: &Value, old: &Value) -> Vec<Invalid> {
        let mut wrongs = frozen(new, old, &["data", "binaryData"]);
        wrongs.extend(self.validate_create(new));
        wrongs
    }

    fn columns(&self) -> &'static [Column] {
        COLUMNS
    }

    fn row(&self, object: &Value, now: Time) -> Vec<Cell> {
        let keys = entries(object, "/data").len() + entries(object, "/binaryData").len();
        vec![name(object), keys.into(), age(object, now)]
    }
}

/// What cannot change once `immutable` is set.
pub(super) fn frozen(new: &Value, old: &Value, fields: &[&str]) -> Vec<Invalid> {
    if !flag(old, "/immutable") {
        return Vec::new();
    }
    let wrong = "field is immutable when `immutable` is set";
    let thawed = (!flag(new, "/immutable")).then_some("immutable");
    let changed = fields.iter().copied().filter(|field| !same_at(new, old, &format!("/{field}")));
    thawed.into_iter().chain(changed).map(|field| Path::new(field).forbidden(wrong)).collect()
}
