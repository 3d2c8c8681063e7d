//! What only the API server says of a new pod (PrepareForCreate).

use api::Time;
use serde_json::{Value, json};

use super::defaults::sync_service_account;
use super::qos;
use super::spec;
use super::status::set_condition;
use crate::value::{get, get_mut, items, items_mut, section, set, texts};

/// A new pod has no status but its class, and waits at its gates.
pub(crate) fn prepare(pod: &mut Value, now: Time) {
    let metadata = section(pod, "metadata");

    set(metadata, "generation", 1);

    let class = qos::class(spec(pod));
    set(pod, "status", json!({"phase": "Pending", "qosClass": class}));
    if !items(spec(pod), "schedulingGates").is_empty() {
        let gated = json!({
            "type": "PodScheduled",
            "status": "False",
            "reason": "SchedulingGated",
            "message": "Scheduling is blocked due to non-empty scheduling gates",
        });
        set_condition(pod, gated, now);
    }
    let labels = pod.pointer("/metadata/labels").cloned().unwrap_or_default();
    if let Some(spec) = get_mut(pod, "spec") {
        sync_service_account(spec);
        merge_label_keys(spec, &labels);
    }
}

/// `matchLabelKeys` and `mismatchLabelKeys` become expressions of their selector.
fn merge_label_keys(spec: &mut Value, labels: &Value) {
    for constraint in items_mut(spec, "topologySpreadConstraints") {
        merge(constraint, labels);
    }
    let Some(affinity) = get_mut(spec, "affinity") else { return };
    for kind in ["podAffinity", "podAntiAffinity"] {
        let Some(affinity) = get_mut(affinity, kind) else { continue };
        for term in items_mut(affinity, "preferredDuringSchedulingIgnoredDuringExecution") {
            if let Some(term) = get_mut(term, "podAffinityTerm") {
                merge(term, labels);
            }
        }
        for term in items_mut(affinity, "requiredDuringSchedulingIgnoredDuringExecution") {
            merge(term, labels);
        }
    }
}

fn merge(term: &mut Value, labels: &Value) {
    if get(term, "labelSelector").is_none() {
        return;
    }
    let mut expressions = Vec::new();
    for (keys, operator) in [("matchLabelKeys", "In"), ("mismatchLabelKeys", "NotIn")] {
        for key in texts(term, keys) {
            if let Some(value) = labels.get(key) {
                expressions.push(json!({"key": key, "operator": operator, "values": [value]}));
            }
        }
    }
    if expressions.is_empty() {
        return;
    }
    let Some(selector) = get_mut(term, "labelSelector") else { return };
    match selector.get_mut("matchExpressions").and_then(Value::as_array_mut) {
        Some(known) => known.extend(expressions),
        None => set(selector, "matchExpressions", expressions),
    }
}
