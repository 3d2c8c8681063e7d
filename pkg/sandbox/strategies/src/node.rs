//! The kinds of node.k8s.io.

use api::Time;
use serde_json::Value;

use crate::formats::dns_label;
use crate::metadata::immutable;
use crate::selector::validate_labels;
use crate::table::{AGE, NAME, age, cell, heading, name};
use crate::value::{or_null, text};
use crate::{Cell, Column, Invalid, Path, Strategy};

const COLUMNS: &[Column] = &[NAME, heading("Handler"), AGE];

/// What runs containers.
pub struct RuntimeClass;

impl Strategy for RuntimeClass {
    fn validate_create(&self, object: &Value) -> Vec<Invalid> {
        let path = Path::new("handler");
        let mut wrongs = match text(object, "/handler") {
            "" => vec![path.required("")],
            handler => path.refuse(handler, dns_label(handler)),
        };
        let path = Path::new("scheduling").child("nodeSelector");
        wrongs.extend(validate_labels(&or_null(object, "/scheduling/nodeSelector"), &path));
        wrongs
    }

    fn validate_update(&self, new: &Value, old: &Value) -> Vec<Invalid> {
        let mut wrongs = self.validate_create(new);
        wrongs.extend(immutable(new, old, "/handler", &Path::new("handler")));
        wrongs
    }

    fn allows_create_on_update(&self) -> bool {
        true
    }

    fn needs_version_on_update(&self) -> bool {
        true
    }

    fn columns(&self) -> &'static [Column] {
        COLUMNS
    }

    fn row(&self, object: &Value, now: Time) -> Vec<Cell> {
        vec![name(object), cell(object, "/handler"), age(object, now)]
    }
}
