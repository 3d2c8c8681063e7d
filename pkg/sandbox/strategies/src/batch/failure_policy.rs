//! Pod failure policies. Upstream: validatePodFailurePolicy.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::formats::label_key;
use crate::value::{get, items, or_null, text};
use crate::workload::omitted;
use crate::{Fault, Invalid, Path};

const RULES_MAX: usize = 20;
const EXIT_CODES_MAX: usize = 255;
const CONDITIONS_MAX: usize = 20;

/// What is wrong with a policy of a Job of this spec.
pub(super) fn validate(policy: &Value, spec: &Value, path: &Path) -> Vec<Invalid> {
    let path = path.child("rules");
    let rules = items(policy, "/rules");
    let mut faults = Vec::new();
    if rules.len() > RULES_MAX {
        faults.push(path.is(Fault::TooMany(rules.len(), RULES_MAX)));
    }
    for (at, rule) in rules.iter().enumerate() {
        faults.extend(validate_rule(rule, spec, &path.index(at)));
    }
    faults
}

fn validate_rule(rule: &Value, spec: &Value, path: &Path) -> Vec<Invalid> {
    let mut faults = Vec::new();
    let action_path = path.child("action");
    match text(rule, "/action") {
        "FailIndex" if get(spec, "/backoffLimitPerIndex").is_none() => {
            let detail = "requires the backoffLimitPerIndex to be set";
            faults.push(action_path.invalid("FailIndex", detail));
        }
        action => {
            let known = ["Count", "FailIndex", "FailJob", "Ignore"];
            faults.extend(one_of(action, &known, &action_path));
        }
    }
    let codes = get(rule, "/onExitCodes");
    let conditions = items(rule, "/onPodConditions");
    if let Some(codes) = codes {
        faults.extend(validate_codes(codes, spec, &path.child("onExitCodes")));
    }
    if !conditions.is_empty() {
        faults.extend(validate_conditions(conditions, &path.child("onPodConditions")));
    }
    match (codes.is_some(), conditions.is_empty()) {
        (true, false) => {
            let detail = "specifying both OnExitCodes and OnPodConditions is not supported";
            faults.push(omitted(path, detail));
        }
        (false, true) => {
            let detail = "specifying one of OnExitCodes and OnPodConditions is required";
            faults.push(omitted(path, detail));
        }
        (true, true) | (false, false) => {}
    }
    faults
}

fn validate_conditions(patterns: &[Value], path: &Path) -> Vec<Invalid> {
    let mut faults = Vec::new();
    if patterns.len() > CONDITIONS_MAX {
        faults.push(path.is(Fault::TooMany(patterns.len(), CONDITIONS_MAX)));
    }
    for (at, pattern) in patterns.iter().enumerate() {
        let path = path.index(at);
        let kind = text(pattern, "/type");
        let kind_path = path.child("type");
        faults.extend(kind_path.refuse(kind, label_key(kind)));
        let known = ["False", "True", "Unknown"];
        faults.extend(one_of(text(pattern, "/status"), &known, &path.child("status")));
    }
    faults
}

fn validate_codes(codes: &Value, spec: &Value, path: &Path) -> Vec<Invalid> {
    let operator = text(codes, "/operator");
    let mut faults: Vec<Invalid> =
        one_of(operator, &["In", "NotIn"], &path.child("operator")).into_iter().collect();
    if let Some(container) = get(codes, "/containerName").and_then(Value::as_str) {
        let lists = ["/template/spec/containers", "/template/spec/initContainers"];
        let mut containers = lists.iter().flat_map(|list| items(spec, list));
        if !containers.any(|it| text(it, "/name") == container) {
            let detail = "must be one of the container or initContainer names in the pod template";
            faults.push(path.child("containerName").invalid(container, detail));
        }
    }
    let path = path.child("values");
    let values = items(codes, "/values");
    if values.is_empty() {
        faults.push(path.invalid(or_null(codes, "/values"), "at least one value is required"));
    } else if values.len() > EXIT_CODES_MAX {
        faults.push(path.is(Fault::TooMany(values.len(), EXIT_CODES_MAX)));
    }
    let numbers: Vec<i64> = values.iter().filter_map(Value::as_i64).collect();
    let mut seen = BTreeSet::new();
    for (at, number) in numbers.iter().enumerate() {
        let path = path.index(at);
        if operator == "In" && *number == 0 {
            faults.push(path.invalid(*number, "must not be 0 for the In operator"));
        }
        if !seen.insert(*number) {
            faults.push(path.is(Fault::Duplicate((*number).into())));
        }
    }
    if !numbers.is_sorted() {
        faults.push(path.invalid(or_null(codes, "/values"), "must be ordered"));
    }
    faults
}

/// A text that must be there and be one of these.
fn one_of(value: &str, known: &[&str], path: &Path) -> Option<Invalid> {
    if value.is_empty() {
        let known: Vec<String> = known.iter().map(|it| format!("\"{it}\"")).collect();
        return Some(path.required(&format!("valid values: [{}]", known.join(" "))));
    }
    (!known.contains(&value)).then(|| path.not_supported(value, known))
}
