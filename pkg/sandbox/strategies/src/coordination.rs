//! The kinds of coordination.k8s.io.

use api::Time;
use serde_json::Value;

use crate::table::{AGE, NAME, age, cell, heading, name};
use crate::value::{get, get_mut, number, remove, section};
use crate::{Cell, Column, Environment, Invalid, Path, Strategy};

const COLUMNS: &[Column] = &[NAME, heading("Holder"), AGE];

/// The holder of a task, and until when.
pub struct Lease;

impl Strategy for Lease {
    fn default(&self, object: &mut Value) {
        section(object, "spec");
    }

    // Coordinated leader election is off by default.
    fn prepare_create(&self, object: &mut Value, _env: &Environment<'_>) {
        drop_coordination(object, None);
    }

    fn validate_create(&self, object: &Value) -> Vec<Invalid> {
        let path = Path::new("spec");
        let mut wrongs = Vec::new();
        if let Some(seconds) = number(object, "/spec/leaseDurationSeconds").filter(|it| *it <= 0) {
            wrongs.push(
                path.child("leaseDurationSeconds").invalid(seconds, "must be greater than 0"),
            );
        }
        if let Some(count) = number(object, "/spec/leaseTransitions").filter(|it| *it < 0) {
            let wrong = "must be greater than or equal to 0";
            wrongs.push(path.child("leaseTransitions").invalid(count, wrong));
        }
        wrongs
    }

    fn prepare_update(&self, new: &mut Value, old: &Value, _env: &Environment<'_>) {
        drop_coordination(new, Some(old));
    }

    fn validate_update(&self, new: &Value, _old: &Value) -> Vec<Invalid> {
        self.validate_create(new)
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
        vec![name(object), cell(object, "/spec/holderIdentity"), age(object, now)]
    }
}

fn drop_coordination(object: &mut Value, old: Option<&Value>) {
    for field in ["strategy", "preferredHolder"] {
        let had = old.is_some_and(|old| get(old, &format!("/spec/{field}")).is_some());
        if let (false, Some(spec)) = (had, get_mut(object, "spec")) {
            remove(spec, field);
        }
    }
}
