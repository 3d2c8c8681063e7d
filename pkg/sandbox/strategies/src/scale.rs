//! The documents of `/scale`: autoscaling/v1 Scale of Deployments, ReplicaSets, StatefulSets and
//! ReplicationControllers. Upstream: the ScaleREST of their storages in pkg/registry.

use api::Time;
use serde_json::{Value, json};

use crate::selector::LabelSelector;
use crate::value::{count, get, or_null, section, set, text};
use crate::workload::NEGATIVE;
use crate::{Cell, Column, Invalid, Path, Plain, Strategy as _};

#[cfg(test)]
mod tests;

/// The Scale of an object; none: its selector cannot be read.
pub fn read(object: &Value) -> Option<Value> {
    let selector = selector(object)?;
    let mut metadata = json!({});
    for name in ["name", "namespace", "uid", "resourceVersion", "creationTimestamp"] {
        let value = object.get("metadata").and_then(|it| it.get(name)).cloned();
        set(&mut metadata, name, value.unwrap_or_default());
    }
    let mut status = json!({ "replicas": count(object, "/status/replicas") });
    if !selector.is_empty() {
        set(&mut status, "selector", json!(selector));
    }
    let spec = match count(object, "/spec/replicas") {
        0 => json!({}),
        replicas => json!({ "replicas": replicas }),
    };
    Some(json!({
        "kind": "Scale",
        "apiVersion": "autoscaling/v1",
        "metadata": metadata,
        "spec": spec,
        "status": status,
    }))
}

/// The columns of a Scale.
pub fn columns() -> &'static [Column] {
    const COLUMNS: [Column; 4] = [
        Column { name: "Name", kind: "string", format: "name", wide: false },
        Column { name: "Desired", kind: "integer", format: "", wide: false },
        Column { name: "Available", kind: "integer", format: "", wide: false },
        Column { name: "Age", kind: "string", format: "", wide: false },
    ];
    &COLUMNS
}

/// The cells of a Scale.
pub fn row(scale: &Value, now: Time) -> Vec<Cell> {
    let mut cells = Plain.row(scale, now);
    let age = cells.pop().unwrap_or_default();
    let replicas = |path| json!(count(scale, path));
    let name = json!(text(scale, "/metadata/name"));
    vec![name, replicas("/spec/replicas"), replicas("/status/replicas"), age]
}

/// Gives an object the replicas that a Scale asks for, none if it names no number. The version and
/// the uid that the Scale is for are looked after elsewhere.
pub fn write(object: &mut Value, scale: &Value) -> Vec<Invalid> {
    let replicas = count(scale, "/spec/replicas");
    if replicas < 0 {
        return vec![Path::new("spec").child("replicas").invalid(replicas, NEGATIVE)];
    }
    set(section(object, "spec"), "replicas", replicas);
    Vec::new()
}

/// `status.selector` of the Scale: what its pods are selected by, as text.
pub(crate) fn selector(object: &Value) -> Option<String> {
    let selector = get(object, "/spec/selector");
    if text(object, "/kind") == "ReplicationController" {
        let labels = selector.unwrap_or(&Value::Null);
        return Some(LabelSelector::of_labels(labels).to_string());
    }
    LabelSelector::read(&or_null(object, "/spec/selector")).map(|selector| selector.to_string())
}
