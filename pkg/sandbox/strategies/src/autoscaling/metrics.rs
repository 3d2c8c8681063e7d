//! What a HorizontalPodAutoscaler looks at. Upstream: validateMetricSpec.

use serde_json::Value;

use super::{Version, validate_reference, version_error};
use crate::formats::{dns_label, path_segment};
use crate::value::{get, number, or_null, text};
use crate::{Invalid, Path, Quantity};

/// The types of sources and their fields, in the order in which they are checked.
const SOURCES: [(&str, &str); 5] = [
    ("Object", "object"),
    ("External", "external"),
    ("Pods", "pods"),
    ("Resource", "resource"),
    ("ContainerResource", "containerResource"),
];
const TYPES: [&str; 5] = ["ContainerResource", "External", "Object", "Pods", "Resource"];

/// What is wrong with an item of `spec.metrics`.
pub(super) fn validate(metric: &Value, objects: Version, path: &Path) -> Vec<Invalid> {
    let mut faults = Vec::new();
    let kind = text(metric, "/type");
    let kind_path = path.child("type");
    if kind.is_empty() {
        faults.push(kind_path.required("must specify a metric source type"));
    }
    let expected = SOURCES.iter().find(|(name, _)| *name == kind).map(|(_, field)| *field);
    if expected.is_none() {
        faults.push(kind_path.not_supported(kind, &TYPES));
    }
    let has = |name: &str| metric.get(name).is_some_and(|it| !it.is_null());
    let present: Vec<&str> =
        SOURCES.iter().map(|(_, name)| *name).filter(|name| has(name)).collect();
    // Of several sources the first is looked at.
    if let Some(first) = present.first() {
        let source = metric.get(*first).unwrap_or(&Value::Null);
        faults.extend(validate_source(first, source, objects, &path.child(first)));
    }
    match expected {
        None => faults.push(kind_path.not_supported(kind, &TYPES)),
        Some(expected) if !has(expected) => {
            let detail = "must populate information for the given metric source";
            faults.push(path.child(expected).required(detail));
        }
        Some(_) => {}
    }
    if present.len() != 1 {
        let others = present.iter().filter(|name| Some(**name) != expected);
        let detail = "must populate the given metric source only";
        faults.extend(others.map(|name| path.child(name).forbidden(detail)));
    }
    faults
}

/// Whether it looks at an object whose `apiVersion` is wrong.
pub(super) fn has_bad_version(metric: &Value) -> bool {
    let object = get(metric, "/object/describedObject");
    let version = |object: &Value| version_error(text(object, "/apiVersion"), Version::WellFormed);
    text(metric, "/type") == "Object" && object.is_some_and(|object| version(object).is_some())
}

/// A quantity as text.
pub(super) fn quantity(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

fn validate_source(name: &str, source: &Value, objects: Version, path: &Path) -> Vec<Invalid> {
    let mut faults = Vec::new();
    match name {
        "object" => {
            let object = or_null(source, "/describedObject");
            faults.extend(validate_reference(&object, objects, &path.child("describedObject")));
            faults.extend(validate_metric(source, path));
        }
        "resource" => {
            if text(source, "/name").is_empty() {
                faults.push(path.child("name").required("must specify a resource name"));
            }
        }
        "containerResource" => faults.extend(validate_container(source, path)),
        _ => faults.extend(validate_metric(source, path)),
    }
    let target = or_null(source, "/target");
    let path = path.child("target");
    faults.extend(validate_target(&target, &path));
    faults.extend(validate_choice(name, &target, &path));
    faults
}

/// Which of the targets must be there, and which not together.
fn validate_choice(source: &str, target: &Value, path: &Path) -> Vec<Invalid> {
    let has = |name: &str| target.get(name).is_some_and(|it| !it.is_null());
    let [value, average, utilization] = ["value", "averageValue", "averageUtilization"].map(has);
    let average_path = path.child("averageValue");
    let mut faults = Vec::new();
    match source {
        "object" if !value && !average => {
            let detail = "must set either a target value or averageValue";
            faults.push(average_path.required(detail));
        }
        "external" if !value && !average => {
            let detail = "must set either a target value for metric or a per-pod target";
            faults.push(average_path.required(detail));
        }
        "external" if value && average => {
            let detail = "may not set both a target value for metric and a per-pod target";
            faults.push(path.child("value").forbidden(detail));
        }
        "pods" if !average => {
            faults.push(average_path.required("must specify a positive target averageValue"));
        }
        "resource" | "containerResource" if !utilization && !average => {
            let detail = "must set either a target raw value or a target utilization";
            faults.push(path.child("averageUtilization").required(detail));
        }
        "resource" | "containerResource" if utilization && average => {
            let detail = "may not set both a target raw value and a target utilization";
            faults.push(average_path.forbidden(detail));
        }
        _ => {}
    }
    faults
}

fn validate_container(source: &Value, path: &Path) -> Vec<Invalid> {
    let mut faults = Vec::new();
    if text(source, "/name").is_empty() {
        faults.push(path.child("name").required("must specify a resource name"));
    }
    let container = text(source, "/container");
    let path = path.child("container");
    if container.is_empty() {
        faults.push(path.required("must specify a container"));
    } else {
        faults.extend(path.refuse(container, dns_label(container)));
    }
    faults
}

fn validate_metric(source: &Value, path: &Path) -> Vec<Invalid> {
    let name = text(source, "/metric/name");
    let path = path.child("metric").child("name");
    if name.is_empty() {
        return vec![path.required("must specify a metric name")];
    }
    path.refuse(name, path_segment(name))
}

fn validate_target(target: &Value, path: &Path) -> Vec<Invalid> {
    let mut faults = Vec::new();
    let kind = text(target, "/type");
    let kind_path = path.child("type");
    if kind.is_empty() {
        faults.push(kind_path.required("must specify a metric target type"));
    }
    if !matches!(kind, "Utilization" | "Value" | "AverageValue") {
        let detail = "must be either Utilization, Value, or AverageValue";
        faults.push(kind_path.invalid(kind, detail));
    }
    for name in ["value", "averageValue"] {
        let value = target.get(name).filter(|it| {
            !it.is_null() && Quantity::from_json(it).is_none_or(|it| it <= Quantity::ZERO)
        });
        let path = path.child(name);
        faults.extend(value.map(|value| path.invalid(quantity(value), "must be positive")));
    }
    if let Some(share) = number(target, "/averageUtilization").filter(|share| *share < 1) {
        faults.push(path.child("averageUtilization").invalid(share, "must be greater than 0"));
    }
    faults
}
