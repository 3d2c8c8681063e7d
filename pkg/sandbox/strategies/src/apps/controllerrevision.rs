//! ControllerRevisions. Upstream: pkg/apis/apps, pkg/registry/apps/controllerrevision.

use api::Time;
use serde_json::{Value, json};

use crate::table::{NAME, age, heading, name};
use crate::value::{fill, get, items, or_null, text};
use crate::workload::{immutable, not_negative};
use crate::{Cell, Column, Invalid, Path, Strategy};

/// ControllerRevisions.
pub struct ControllerRevision;

impl Strategy for ControllerRevision {
    fn default(&self, object: &mut Value) {
        fill(object, "revision", 0);
    }

    fn validate_create(&self, object: &Value) -> Vec<Invalid> {
        let mut faults = not_negative(object, &["revision"], &Path::default());
        match get(object, "/data") {
            None => faults.push(Path::new("data").required("data is mandatory")),
            Some(Value::Object(_)) => {}
            Some(_) => {
                let detail = "data must be a valid JSON object";
                faults.push(Path::new("data").required(detail));
            }
        }
        faults
    }

    fn validate_update(&self, new: &Value, old: &Value) -> Vec<Invalid> {
        let mut faults = not_negative(new, &["revision"], &Path::default());
        faults.extend(immutable(new, old, "data", &Path::default()));
        faults
    }

    fn columns(&self) -> &'static [Column] {
        const COLUMNS: &[Column] =
            &[NAME, heading("Controller"), heading("Revision"), heading("Age")];
        COLUMNS
    }

    fn row(&self, object: &Value, now: Time) -> Vec<Cell> {
        let revision = or_null(object, "/revision");
        vec![name(object), json!(controller(object)), revision, age(object, now)]
    }
}

/// `daemonset.apps/web`.
fn controller(object: &Value) -> String {
    let mut owners = items(object, "/metadata/ownerReferences").iter();
    let owner = owners.find(|owner| owner.get("controller") == Some(&Value::Bool(true)));
    let Some(owner) = owner else {
        return "<none>".to_owned();
    };
    let kind = text(owner, "/kind");
    let kind = match text(owner, "/apiVersion").split_once('/') {
        Some((group, _)) => format!("{kind}.{group}"),
        None => kind.to_owned(),
    };
    format!("{}/{}", kind.to_lowercase(), text(owner, "/name"))
}
