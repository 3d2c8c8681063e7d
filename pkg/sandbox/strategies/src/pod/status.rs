//! The status of a pod: what it looks like, what an update of it keeps, and what that may not say.

use std::collections::BTreeMap;

use api::Time;
use serde_json::{Value, json};

use super::{spec, status};
use super::{transition, update};
use crate::formats::{dns_subdomain, label_key};
use crate::value::{
    count, fill, flag, get, get_mut, items, items_mut, number, remove, section, set, text,
};
use crate::{Invalid, Path};

/// The lists of container statuses.
pub(crate) const CONTAINER_STATUSES: [&str; 3] =
    ["initContainerStatuses", "containerStatuses", "ephemeralContainerStatuses"];

/// What Go writes of a status that was sent: `podIP` is the first of `podIPs`, and fields whose
/// types cannot be absent are there.
pub(crate) fn normalize(pod: &mut Value) {
    let Some(status) = get_mut(pod, "status") else { return };
    let ip = text(status, "podIP").to_owned();
    let first = items(status, "podIPs").first().map(|it| text(it, "ip").to_owned());
    match first {
        // The old field wins, since old kubelets know no other.
        Some(first) if !ip.is_empty() && ip != first => set(status, "podIPs", json!([{"ip": ip}])),
        Some(first) => set(status, "podIP", first),
        None if !ip.is_empty() => set(status, "podIPs", json!([{"ip": ip}])),
        None => {}
    }
    for condition in items_mut(status, "conditions") {
        fill(condition, "lastProbeTime", Value::Null);
        fill(condition, "lastTransitionTime", Value::Null);
    }
    for containers in CONTAINER_STATUSES {
        for container in items_mut(status, containers) {
            section(container, "state");
            section(container, "lastState");
        }
    }
}

/// Sets a condition by its type; its time of transition stays if its status does
/// (UpdatePodCondition).
pub(crate) fn set_condition(pod: &mut Value, mut condition: Value, now: Time) {
    fill(&mut condition, "lastProbeTime", Value::Null);
    set(&mut condition, "lastTransitionTime", now.to_string());
    let status = section(pod, "status");
    let kind = text(&condition, "type").to_owned();
    if let Some(old) = items_mut(status, "conditions").find(|old| text(old, "type") == kind) {
        if text(old, "status") == text(&condition, "status") {
            let since = old.get("lastTransitionTime").cloned().unwrap_or_default();
            set(&mut condition, "lastTransitionTime", since);
        }
        *old = condition;
        return;
    }
    match status.get_mut("conditions").and_then(Value::as_array_mut) {
        Some(conditions) => conditions.push(condition),
        None => set(status, "conditions", json!([condition])),
    }
}

/// PrepareForUpdate of the status strategy.
pub(crate) fn prepare(new: &mut Value, old: &Value) {
    set(new, "spec", get(old, "spec").cloned());
    let owners = get(old, "/metadata/ownerReferences").cloned();
    let metadata = section(new, "metadata");

    // What ends a pod is DELETE alone. Upstream clears this and puts the old one back later.
    let ends = get(old, "/metadata/deletionTimestamp").cloned();
    set(metadata, "deletionTimestamp", ends);
    set(metadata, "ownerReferences", owners);

    let old = status(old);
    let status = section(new, "status");
    if text(status, "qosClass").is_empty() && !text(old, "qosClass").is_empty() {
        set(status, "qosClass", text(old, "qosClass"));
    }
    keep_generations(status, old);
}

/// An observed generation is not taken back (preserveOldObservedGeneration).
fn keep_generations(status: &mut Value, old: &Value) {
    keep_generation(status, count(old, "observedGeneration"));
    let mut known: BTreeMap<&str, Vec<i64>> = BTreeMap::new();
    for condition in items(old, "conditions").iter().rev() {
        let generation = count(condition, "observedGeneration");
        known.entry(text(condition, "type")).or_default().push(generation);
    }
    for condition in items_mut(status, "conditions") {
        let of_type = known.get_mut(text(condition, "type"));
        keep_generation(condition, of_type.and_then(Vec::pop).unwrap_or_default());
    }
}

fn keep_generation(value: &mut Value, old: i64) {
    if count(value, "observedGeneration") != 0 {
        return;
    }
    match old {
        0 => drop(remove(value, "observedGeneration")),
        old => set(value, "observedGeneration", old),
    }
}

/// ValidatePodStatusUpdate.
pub(crate) fn validate(new: &Value, old: &Value) -> Vec<Invalid> {
    let path = Path::new("status");
    let (new_status, old_status) = (status(new), status(old));
    let mut faults = update::annotations(new, old);
    faults.extend(conditions(new_status, &path.child("conditions")));
    faults.extend(nominated_node(new_status, old, &path.child("nominatedNodeName")));
    faults.extend(observed_generation(new_status, &path));
    if text(new_status, "qosClass") != text(old_status, "qosClass") {
        let class = text(new_status, "qosClass");
        faults.push(path.child("qosClass").invalid(class, "field is immutable"));
    }
    faults.extend(transition::validate(new_status, old_status, spec(old), &path));
    faults.extend(addresses(new_status, &path));
    faults
}

fn conditions(status: &Value, path: &Path) -> Vec<Invalid> {
    let mut faults = Vec::new();
    for (index, condition) in items(status, "conditions").iter().enumerate() {
        let path = path.index(index);
        faults.extend(observed_generation(condition, &path));
        let kind = text(condition, "type");
        if !matches!(kind, "PodScheduled" | "Ready" | "Initialized") {
            faults.extend(path.child("Type").refuse(kind, label_key(kind)));
        }
    }
    faults
}

fn observed_generation(value: &Value, path: &Path) -> Option<Invalid> {
    let generation = number(value, "observedGeneration").filter(|it| *it < 0)?;
    let path = path.child("observedGeneration");
    Some(path.invalid(generation, "must be a non-negative integer"))
}

fn nominated_node(new: &Value, old: &Value, path: &Path) -> Vec<Invalid> {
    let nominated = text(new, "nominatedNodeName");
    if nominated.is_empty() || nominated == text(status(old), "nominatedNodeName") {
        return Vec::new();
    }
    let mut faults = path.refuse(nominated, dns_subdomain(nominated));
    if !text(spec(old), "nodeName").is_empty() {
        faults.push(path.forbidden("may not be set on pods that are already bound to a node"));
    }
    faults
}

/// `hostIP` is the first of `hostIPs` (validateHostIPs).
fn addresses(status: &Value, path: &Path) -> Option<Invalid> {
    let first = text(items(status, "hostIPs").first()?, "ip");
    (first != text(status, "hostIP")).then(|| {
        let path = path.child("hostIPs").index(0).child("ip");
        path.invalid(first, "must be equal to `hostIP`")
    })
}

/// Whether the pod is ready.
pub(crate) fn has_condition(status: &Value, kind: &str) -> bool {
    items(status, "conditions")
        .iter()
        .any(|it| text(it, "type") == kind && text(it, "status") == "True")
}

/// Whether a container has started, as far as that is known.
pub(crate) fn has_started(container: &Value) -> bool {
    flag(container, "started")
}
