//! Limits and requests (validateResourceRequirements).

use serde_json::{Map, Value};

use super::super::resources::{aggregate, amounts, is_huge_page, is_pod_level};
use crate::amounts::{is_extended, is_native, is_standard, of_resource};
use crate::formats::label_key;
use crate::value::{entries, get, items};
use crate::{Invalid, Path, Quantity};

type NameCheck = fn(&str, &Path) -> Vec<Invalid>;

/// `resources` of a container (ValidateContainerResourceRequirements).
pub(super) fn of_container(resources: &Value, path: &Path) -> Vec<Invalid> {
    validate(resources, container_name, path)
}

/// `resources` of a pod (validatePodResourceRequirements).
pub(super) fn of_pod(resources: &Value, path: &Path) -> Vec<Invalid> {
    validate(resources, pod_name, path)
}

/// Containers fit into what their pod has as a whole (validatePodResourceConsistency).
pub(super) fn fit(spec: &Value, resources: &Value, path: &Path) -> Vec<Invalid> {
    let mut faults = Vec::new();
    let limits = amounts(resources, "limits");
    for (field, amounts) in [("requests", &amounts(resources, "requests")), ("limits", &limits)] {
        for (name, sum) in aggregate(spec, field) {
            let is_summed = field == "requests" || is_huge_page(&name);
            if let Some(amount) = amounts.get(&name).filter(|it| is_summed && sum > **it) {
                let fault = "must be greater than or equal to aggregate container";
                let path = path.child(field).key(&name);
                faults.push(path.invalid(amount.to_string(), &format!("{fault} {field} of {sum}")));
            }
        }
    }
    for (index, container) in items(spec, "containers").iter().enumerate() {
        let own = get(container, "resources").map(|it| amounts(it, "limits"));
        for (name, own) in own.unwrap_or_default() {
            if let Some(limit) = limits.get(&name).filter(|limit| own > **limit) {
                // Upstream's path.
                let path = path.child("containers").index(index).key(&name).child("limits");
                let fault = format!("must be less than or equal to pod limits of {limit}");
                faults.push(path.invalid(own.to_string(), &fault));
            }
        }
    }
    faults
}

/// `overhead`, which upstream takes for limits.
pub(super) fn of_overhead(spec: &Value, path: &Path) -> Vec<Invalid> {
    let limits = spec.get("overhead").cloned().unwrap_or_default();
    let limits = Map::from_iter([("limits".to_owned(), limits)]);
    validate(&Value::Object(limits), container_name, path)
}

fn validate(resources: &Value, name_faults: NameCheck, path: &Path) -> Vec<Invalid> {
    let mut faults = Vec::new();
    let (mut has_compute, mut has_huge_pages) = (false, false);
    let on_limits = path.child("limits");
    let on_requests = path.child("requests");
    for (field, on_field) in [("limits", &on_limits), ("requests", &on_requests)] {
        for (name, amount) in entries(resources, field) {
            let path = on_field.key(name);
            faults.extend(name_faults(name, &path));
            has_compute |= matches!(name, "cpu" | "memory");
            has_huge_pages |= is_huge_page(name);
            faults.extend(of_resource(name, amount, &path));
            let Some(amount) = Quantity::from_json(amount) else { continue };
            if field == "requests" {
                let limit = resources.get("limits").and_then(|limits| limits.get(name));
                let limit = limit.and_then(Quantity::from_json);
                faults.extend(request(name, amount, limit, (&on_limits, &on_requests)));
            }
            if is_huge_page(name) && !is_multiple_of_page(name, amount) {
                let fault = format!("{amount} is not positive integer multiple of {name}");
                faults.push(path.invalid(amount.to_string(), &fault));
            }
        }
    }
    if has_huge_pages && !has_compute {
        faults.push(path.forbidden("HugePages require cpu or memory"));
    }
    faults
}

/// A request fits its limit. Upstream names all requests, not the one.
fn request(
    name: &str,
    amount: Quantity,
    limit: Option<Quantity>,
    (limits, requests): (&Path, &Path),
) -> Option<Invalid> {
    let can_overcommit = is_native(name) && !is_huge_page(name);
    let invalid = |fault: String| Some(requests.invalid(amount.to_string(), &fault));
    match limit {
        Some(limit) if amount != limit && !can_overcommit => {
            invalid(format!("must be equal to {name} limit of {limit}"))
        }
        Some(limit) if amount > limit => {
            invalid(format!("must be less than or equal to {name} limit of {limit}"))
        }
        None if !can_overcommit => {
            Some(limits.required("Limit must be set for non overcommitable resources"))
        }
        Some(_) | None => None,
    }
}

fn is_multiple_of_page(name: &str, amount: Quantity) -> bool {
    let page = name.strip_prefix("hugepages-").map(Quantity::parse);
    page.and_then(Result::ok).is_some_and(|page| {
        page > Quantity::ZERO && page.is_whole() && amount.value() % page.value() == 0
    })
}

/// validateContainerResourceName.
fn container_name(name: &str, path: &Path) -> Vec<Invalid> {
    let mut faults = resource_name(name, path);
    if !name.contains('/') {
        let is_known = matches!(name, "cpu" | "memory" | "ephemeral-storage");
        if !is_known && !is_huge_page(name) {
            faults.push(path.invalid(name, "must be a standard resource for containers"));
        }
    } else if !is_native(name) && !is_extended(name) {
        faults.push(path.invalid(name, "doesn't follow extended resource name standard"));
    }
    faults
}

/// validatePodResourceName.
fn pod_name(name: &str, path: &Path) -> Vec<Invalid> {
    let mut faults = resource_name(name, path);
    if faults.is_empty() && !is_pod_level(name) {
        faults.push(path.not_supported(name, &["cpu", "hugepages-", "memory"]));
    }
    faults
}

/// validateResourceName.
fn resource_name(name: &str, path: &Path) -> Vec<Invalid> {
    let mut faults = path.refuse(name, label_key(name));
    if faults.is_empty() && !name.contains('/') && !is_standard(name) {
        faults.push(path.invalid(name, "must be a standard resource type or fully qualified"));
    }
    faults
}
