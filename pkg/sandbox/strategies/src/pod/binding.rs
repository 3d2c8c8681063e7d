//! Pods that get their node (BindingREST of pkg/registry/core/pod/storage).

use api::Time;
use api::go::quote;
use serde_json::{Value, json};

use super::spec;
use super::status::set_condition;
use crate::value::{entries, get, items, remove, section, set, text};
use crate::{Fault, Invalid, Path};

/// Gives a pod to a node. Err: why it cannot have it, for a 409 of `pods/binding`.
pub fn bind(pod: &mut Value, node: &str, now: Time) -> Result<(), String> {
    let name = get(pod, "/metadata/name").and_then(Value::as_str).unwrap_or_default();
    if get(pod, "/metadata/deletionTimestamp").is_some() {
        return Err(format!("pod {name} is being deleted, cannot be assigned to a host"));
    }
    let has = text(spec(pod), "nodeName");
    if !has.is_empty() {
        return Err(format!("pod {name} is already assigned to node {}", quote(has)));
    }
    if !items(spec(pod), "schedulingGates").is_empty() {
        return Err(format!("pod {name} has non-empty .spec.schedulingGates"));
    }
    let spec = section(pod, "spec");

    set(spec, "nodeName", node);

    let status = section(pod, "status");

    remove(status, "nominatedNodeName");

    set_condition(pod, json!({"type": "PodScheduled", "status": "True"}), now);
    Ok(())
}

/// Copies the annotations and labels of a Binding to its pod.
pub fn copy_metadata(pod: &mut Value, binding: &Value) {
    let Some(source) = get(binding, "metadata") else { return };
    let metadata = section(pod, "metadata");
    for field in ["annotations", "labels"] {
        for (key, value) in entries(source, field) {
            set(section(metadata, field), key, value.clone());
        }
    }
}

/// What a Binding may not say (ValidatePodBinding).
pub fn validate_binding(binding: &Value) -> Vec<Invalid> {
    let path = Path::new("target");
    let target = binding.get("target").unwrap_or(&Value::Null);
    let mut faults = Vec::new();
    let kind = text(target, "kind");
    if !matches!(kind, "" | "Node") {
        let known = vec!["Node".to_owned(), "<empty>".to_owned()];
        faults.push(path.child("kind").is(Fault::NotSupported(kind.into(), known)));
    }
    if text(target, "name").is_empty() {
        faults.push(path.child("name").required(""));
    }
    faults
}
