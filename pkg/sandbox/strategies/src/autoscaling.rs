//! The group autoscaling: HorizontalPodAutoscaler v2. Upstream: pkg/apis/autoscaling,
//! pkg/registry/autoscaling/horizontalpodautoscaler.

use api::Time;
use serde_json::{Value, json};

use crate::formats::path_segment;
use crate::generation;
use crate::table::{NAME, age, heading, name};
use crate::value::{count, fields, fill, get, items, keep, number, or_null, section, text};
use crate::workload::{self, not_negative};
use crate::{Cell, Column, Environment, Invalid, Path, Quantity, Strategy};

mod metrics;
mod targets;

#[cfg(test)]
mod tests;

/// HorizontalPodAutoscalers.
pub struct HorizontalPodAutoscaler;

/// Written also if it is 0.
const STATUS: [&str; 1] = ["desiredReplicas"];

const PERIOD_SECONDS_MAX: i64 = 1800;
const STABILIZATION_SECONDS_MAX: i64 = 3600;

/// How much of the `apiVersion` of a reference is checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Version {
    /// It must be well formed and have a group.
    WithGroup,
    /// It must be well formed.
    WellFormed,
    /// It was wrong before, and may stay so.
    Anything,
}

impl Strategy for HorizontalPodAutoscaler {
    fn default(&self, object: &mut Value) {
        workload::fill_status(object, &STATUS);
        fields(section(object, "status")).entry("currentMetrics").or_insert(Value::Null);
        let spec = section(object, "spec");
        fill(spec, "minReplicas", 1);
        if items(spec, "/metrics").is_empty() {
            let target = json!({ "type": "Utilization", "averageUtilization": 80 });
            let resource = json!({ "name": "cpu", "target": target });
            fields(spec).insert(
                "metrics".to_owned(),
                json!([{ "type": "Resource", "resource": resource }]),
            );
        }
        if get(spec, "/behavior").is_some() {
            let behavior = section(spec, "behavior");
            default_scale_up(section(behavior, "scaleUp"));
            default_scale_down(section(behavior, "scaleDown"));
        }
    }

    fn prepare_create(&self, object: &mut Value, _env: &Environment<'_>) {
        workload::clear_status(object, &STATUS);
        fields(section(object, "status")).insert("currentMetrics".to_owned(), Value::Null);
    }

    fn validate_create(&self, object: &Value) -> Vec<Invalid> {
        let reference = or_null(object, "/spec/scaleTargetRef");
        validate_spec(object, 1, target_version(&reference), Version::WellFormed)
    }

    fn prepare_update(&self, new: &mut Value, old: &Value, _env: &Environment<'_>) {
        keep(new, old, "status");
        generation::keep(new, old);
    }

    fn validate_update(&self, new: &Value, old: &Value) -> Vec<Invalid> {
        let replicas_min = i64::from(number(old, "/spec/minReplicas") != Some(0));
        let [target, old_target] = [new, old].map(|it| or_null(it, "/spec/scaleTargetRef"));
        let same = |pointer: &str| text(&target, pointer) == text(&old_target, pointer);
        let target = if same("/apiVersion") && same("/kind") {
            Version::Anything
        } else {
            target_version(&target)
        };
        let mut metrics = items(old, "/spec/metrics").iter();
        let objects = if metrics.any(metrics::has_bad_version) {
            Version::Anything
        } else {
            Version::WellFormed
        };
        validate_spec(new, replicas_min, target, objects)
    }

    fn prepare_status(&self, new: &mut Value, old: &Value, _env: &Environment<'_>) {
        workload::status_updated(new, old);
    }

    fn validate_status(&self, new: &Value, _old: &Value) -> Vec<Invalid> {
        let counts = ["currentReplicas", "desiredReplicas"];
        not_negative(&or_null(new, "/status"), &counts, &Path::new("status"))
    }

    fn columns(&self) -> &'static [Column] {
        const COLUMNS: &[Column] = &[
            NAME,
            heading("Reference"),
            heading("Targets"),
            heading("MinPods"),
            heading("MaxPods"),
            heading("Replicas"),
            heading("Age"),
        ];
        COLUMNS
    }

    fn row(&self, object: &Value, now: Time) -> Vec<Cell> {
        let [kind, target] =
            ["/spec/scaleTargetRef/kind", "/spec/scaleTargetRef/name"].map(|it| text(object, it));
        let min = number(object, "/spec/minReplicas");
        let specs = items(object, "/spec/metrics");
        vec![
            name(object),
            json!(format!("{kind}/{target}")),
            json!(targets::print(specs, items(object, "/status/currentMetrics"))),
            json!(min.map_or_else(|| "<unset>".to_owned(), |min| min.to_string())),
            count(object, "/spec/maxReplicas").into(),
            count(object, "/status/currentReplicas").into(),
            age(object, now),
        ]
    }
}

// === What the API server fills in ===

fn default_scale_up(rules: &mut Value) {
    fill(rules, "stabilizationWindowSeconds", 0);
    fill(rules, "selectPolicy", "Max");
    let pods = json!({ "type": "Pods", "value": 4, "periodSeconds": 15 });
    fill(rules, "policies", json!([pods, all_in_15_seconds()]));
}

fn default_scale_down(rules: &mut Value) {
    fill(rules, "selectPolicy", "Max");
    fill(rules, "policies", json!([all_in_15_seconds()]));
}

fn all_in_15_seconds() -> Value {
    json!({ "type": "Percent", "value": 100, "periodSeconds": 15 })
}

// === What it may not say ===

/// The one kind of the core group that scales may be named without a group.
fn target_version(reference: &Value) -> Version {
    match text(reference, "/kind") {
        "ReplicationController" => Version::WellFormed,
        _ => Version::WithGroup,
    }
}

fn validate_spec(
    object: &Value,
    replicas_min: i64,
    target: Version,
    objects: Version,
) -> Vec<Invalid> {
    let path = Path::new("spec");
    let spec = or_null(object, "/spec");
    let min = number(&spec, "/minReplicas");
    let max = count(&spec, "/maxReplicas");
    let mut faults = Vec::new();
    if let Some(min) = min.filter(|min| *min < replicas_min) {
        let detail = format!("must be greater than or equal to {replicas_min}");
        faults.push(path.child("minReplicas").invalid(min, &detail));
    }
    let max_path = path.child("maxReplicas");
    match max {
        0 => faults.push(max_path.required("must be set and greater than 0")),
        ..0 => faults.push(max_path.invalid(max, "must be greater than or equal to 1")),
        1.. => {}
    }
    if min.is_some_and(|min| max < min) {
        let detail = "must be greater than or equal to `minReplicas`";
        faults.push(max_path.invalid(max, detail));
    }
    let reference = or_null(&spec, "/scaleTargetRef");
    faults.extend(validate_reference(&reference, target, &path.child("scaleTargetRef")));
    let metrics_path = path.child("metrics");
    let specs = items(&spec, "/metrics");
    for (at, metric) in specs.iter().enumerate() {
        faults.extend(metrics::validate(metric, objects, &metrics_path.index(at)));
    }
    let from_outside = |metric: &Value| matches!(text(metric, "/type"), "Object" | "External");
    if min == Some(0) && !specs.iter().any(from_outside) {
        faults.push(metrics_path.forbidden(
            "must specify at least one Object or External metric to support scaling to zero \
             replicas",
        ));
    }
    for name in ["scaleUp", "scaleDown"] {
        if let Some(rules) = get(&spec, &format!("/behavior/{name}")) {
            faults.extend(validate_rules(rules, &path.child("behavior").child(name)));
        }
    }
    faults
}

/// As ValidateCrossVersionObjectReference.
fn validate_reference(reference: &Value, version: Version, path: &Path) -> Vec<Invalid> {
    let mut faults = Vec::new();
    for name in ["kind", "name"] {
        let value = reference.get(name).and_then(Value::as_str).unwrap_or_default();
        let path = path.child(name);
        if value.is_empty() {
            faults.push(path.required(""));
        }
        faults.extend(path.refuse(value, path_segment(value)));
    }
    let value = text(reference, "/apiVersion");
    if let Some(error) = version_error(value, version) {
        faults.push(path.child("apiVersion").invalid(value, &error));
    }
    faults
}

/// As ValidateAPIVersion.
fn version_error(value: &str, version: Version) -> Option<String> {
    let group = match value.matches('/').count() {
        0 => "",
        1 => value.split('/').next().unwrap_or_default(),
        _ if version == Version::Anything => return None,
        _ => return Some(format!("unexpected GroupVersion string: {value}")),
    };
    let lacks = version == Version::WithGroup && group.is_empty();
    lacks.then(|| "apiVersion must specify API group".to_owned())
}

fn validate_rules(rules: &Value, path: &Path) -> Vec<Invalid> {
    let mut faults = Vec::new();
    let window_path = path.child("stabilizationWindowSeconds");
    match number(rules, "/stabilizationWindowSeconds") {
        Some(window @ ..0) => {
            faults.push(window_path.invalid(window, "must be greater than or equal to zero"));
        }
        Some(window) if window > STABILIZATION_SECONDS_MAX => {
            let detail = format!("must be less than or equal to {STABILIZATION_SECONDS_MAX}");
            faults.push(window_path.invalid(window, &detail));
        }
        Some(_) | None => {}
    }
    let select = get(rules, "/selectPolicy").and_then(Value::as_str);
    let known = ["Disabled", "Max", "Min"];
    if let Some(select) = select.filter(|select| !known.contains(select)) {
        faults.push(path.child("selectPolicy").not_supported(select, &known));
    }
    let policies_path = path.child("policies");
    let policies = items(rules, "/policies");
    if policies.is_empty() {
        faults.push(policies_path.required("must specify at least one Policy"));
    }
    for (at, policy) in policies.iter().enumerate() {
        faults.extend(validate_policy(policy, &policies_path.index(at)));
    }
    let tolerance = get(rules, "/tolerance")
        .filter(|it| Quantity::from_json(it).is_some_and(|it| it < Quantity::ZERO));
    if let Some(tolerance) = tolerance.map(metrics::quantity) {
        faults.push(path.child("tolerance").invalid(tolerance, workload::NEGATIVE));
    }
    faults
}

fn validate_policy(policy: &Value, path: &Path) -> Vec<Invalid> {
    let mut faults = Vec::new();
    let (kind, known) = (text(policy, "/type"), ["Percent", "Pods"]);
    if !known.contains(&kind) {
        faults.push(path.child("type").not_supported(kind, &known));
    }
    for name in ["value", "periodSeconds"] {
        let number = policy.get(name).and_then(Value::as_i64).unwrap_or(0);
        if number <= 0 {
            faults.push(path.child(name).invalid(number, "must be greater than zero"));
        }
    }
    let period = count(policy, "/periodSeconds");
    if period > PERIOD_SECONDS_MAX {
        let detail = format!("must be less than or equal to {PERIOD_SECONDS_MAX}");
        faults.push(path.child("periodSeconds").invalid(period, &detail));
    }
    faults
}
