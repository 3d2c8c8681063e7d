//! What the containers of a pod ask for together, and what follows from it.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::Quantity;
use crate::value::{entries, get, items, section, set, text};

/// Amounts by the name of their resource.
pub(crate) type Amounts = BTreeMap<String, Quantity>;

/// The amounts of a map; what cannot be read is left out.
pub(crate) fn amounts(value: &Value, field: &str) -> Amounts {
    let read = |(name, amount): (&str, &Value)| {
        Quantity::from_json(amount).map(|amount| (name.to_owned(), amount))
    };
    entries(value, field).into_iter().filter_map(read).collect()
}

/// What the containers need together of `requests` or `limits` (AggregateContainerRequests): those
/// that run at once add up, and those that run before them count if they need more.
pub(crate) fn aggregate(spec: &Value, field: &str) -> Amounts {
    let of = |container: &Value| {
        get(container, "resources").map(|it| amounts(it, field)).unwrap_or_default()
    };
    let mut total = Amounts::new();
    for container in items(spec, "containers") {
        add(&mut total, &of(container));
    }
    let (mut sidecars, mut before) = (Amounts::new(), Amounts::new());
    for container in items(spec, "initContainers") {
        let mut needs = of(container);
        if is_sidecar(container) {
            add(&mut total, &needs);
            add(&mut sidecars, &needs);
        } else {
            add(&mut needs, &sidecars);
            raise(&mut before, &needs);
        }
    }
    raise(&mut total, &before);
    total
}

/// Whether an init container runs on beside the others (a sidecar).
pub(crate) fn is_sidecar(container: &Value) -> bool {
    text(container, "restartPolicy") == "Always"
}

/// Whether pods can ask for it as a whole.
pub(crate) fn is_pod_level(name: &str) -> bool {
    matches!(name, "cpu" | "memory") || is_huge_page(name)
}

/// Whether it is called `hugepages-…`.
pub(crate) fn is_huge_page(name: &str) -> bool {
    name.starts_with("hugepages-")
}

/// defaultHugePagePodLimits and defaultPodRequests, which fill in the resources of the pod as a
/// whole if it says any.
pub(crate) fn default_pod_level(spec: &mut Value) {
    let Some(resources) = get(spec, "resources") else { return };
    let (mut limits, mut requests) = (amounts(resources, "limits"), amounts(resources, "requests"));
    if limits.is_empty() && requests.is_empty() {
        return;
    }
    for (name, limit) in aggregate(spec, "limits") {
        if is_huge_page(&name) && !requests.contains_key(&name) {
            limits.entry(name).or_insert(limit);
        }
    }
    if !limits.is_empty() {
        for (name, request) in aggregate(spec, "requests") {
            if is_pod_level(&name) && !is_huge_page(&name) {
                requests.entry(name).or_insert(request);
            }
        }
        for (name, limit) in &limits {
            if is_pod_level(name) {
                requests.entry(name.clone()).or_insert(*limit);
            }
        }
    }
    let resources = section(spec, "resources");
    for (field, amounts) in [("limits", limits), ("requests", requests)] {
        if amounts.is_empty() {
            continue;
        }
        let map = section(resources, field);
        for (name, amount) in &amounts {
            set(map, name, amount.to_string());
        }
    }
}

fn add(sum: &mut Amounts, more: &Amounts) {
    for (name, amount) in more {
        let entry = sum.entry(name.clone()).or_default();
        *entry = entry.plus(*amount);
    }
}

fn raise(least: &mut Amounts, other: &Amounts) {
    for (name, amount) in other {
        let entry = least.entry(name.clone()).or_insert(*amount);
        *entry = (*entry).max(*amount);
    }
}
