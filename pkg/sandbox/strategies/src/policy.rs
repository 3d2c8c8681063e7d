//! The group policy: PodDisruptionBudget. Upstream: pkg/apis/policy,
//! pkg/registry/policy/poddisruptionbudget.

use std::collections::BTreeSet;

use api::Time;
use serde_json::{Value, json};

use crate::formats::{label_key, regex_error};
use crate::selector::{self, Values};
use crate::table::{NAME, age, heading, integer, name};
use crate::value::{count, fields, get, items, or_null, section, text};
use crate::workload::{self, amount, at_most_all, not_negative};
use crate::{Cell, Column, Environment, Fault, Invalid, Path, Strategy};

#[cfg(test)]
mod tests;

/// PodDisruptionBudgets.
pub struct PodDisruptionBudget;

/// Written also if they are 0.
const STATUS: [&str; 4] =
    ["disruptionsAllowed", "currentHealthy", "desiredHealthy", "expectedPods"];

const REASON_BYTES_MAX: usize = 1024;
const MESSAGE_BYTES_MAX: usize = 32 * 1024;

impl Strategy for PodDisruptionBudget {
    fn default(&self, object: &mut Value) {
        workload::fill_status(object, &STATUS);
        fields(section(object, "spec"));
    }

    fn prepare_create(&self, object: &mut Value, _env: &Environment<'_>) {
        workload::created(object, &STATUS);
    }

    fn validate_create(&self, object: &Value) -> Vec<Invalid> {
        validate_spec(&or_null(object, "/spec"), Values::Checked)
    }

    fn prepare_update(&self, new: &mut Value, old: &Value, _env: &Environment<'_>) {
        workload::updated(new, old);
    }

    fn validate_update(&self, new: &Value, old: &Value) -> Vec<Invalid> {
        let selector = or_null(old, "/spec/selector");
        let was_valid = selector::validate(&selector, Values::Checked, &Path::default()).is_empty();
        let values = if was_valid { Values::Checked } else { Values::Kept };
        validate_spec(&or_null(new, "/spec"), values)
    }

    fn prepare_status(&self, new: &mut Value, old: &Value, _env: &Environment<'_>) {
        workload::status_updated(new, old);
    }

    fn validate_status(&self, new: &Value, _old: &Value) -> Vec<Invalid> {
        let path = Path::new("status");
        let mut faults =
            validate_conditions(items(new, "/status/conditions"), &path.child("conditions"));
        faults.extend(not_negative(&or_null(new, "/status"), &STATUS, &path));
        faults
    }

    fn needs_version_on_update(&self) -> bool {
        true
    }

    fn columns(&self) -> &'static [Column] {
        const COLUMNS: &[Column] = &[
            NAME,
            heading("Min Available"),
            heading("Max Unavailable"),
            integer("Allowed Disruptions"),
            heading("Age"),
        ];
        COLUMNS
    }

    fn row(&self, object: &Value, now: Time) -> Vec<Cell> {
        let amount = |pointer: &str| match get(object, pointer) {
            None => json!("N/A"),
            Some(Value::String(share)) => json!(share),
            Some(number) => json!(number.to_string()),
        };
        vec![
            name(object),
            amount("/spec/minAvailable"),
            amount("/spec/maxUnavailable"),
            count(object, "/status/disruptionsAllowed").into(),
            age(object, now),
        ]
    }
}

fn validate_spec(spec: &Value, values: Values) -> Vec<Invalid> {
    let path = Path::new("spec");
    let amounts = ["minAvailable", "maxUnavailable"]
        .map(|name| (spec.get(name).filter(|it| !it.is_null()), path.child(name)));
    let mut faults = Vec::new();
    if amounts.iter().all(|(amount, _)| amount.is_some()) {
        let detail = "minAvailable and maxUnavailable cannot be both set";
        faults.push(path.invalid(spec.clone(), detail));
    }
    for (value, path) in amounts {
        let Some(value) = value else { continue };
        faults.extend(amount(value, &path));
        faults.extend(at_most_all(value, &path));
    }
    let selector = or_null(spec, "/selector");
    faults.extend(selector::validate(&selector, values, &path.child("selector")));
    let policy = get(spec, "/unhealthyPodEvictionPolicy").and_then(Value::as_str);
    let known = ["AlwaysAllow", "IfHealthyBudget"];
    if let Some(policy) = policy.filter(|policy| !known.contains(policy)) {
        faults.push(path.child("unhealthyPodEvictionPolicy").not_supported(policy, &known));
    }
    faults
}

/// As ValidateConditions of apimachinery.
fn validate_conditions(conditions: &[Value], path: &Path) -> Vec<Invalid> {
    let mut faults = Vec::new();
    let mut seen = BTreeSet::new();
    for (at, condition) in conditions.iter().enumerate() {
        let path = path.index(at);
        let kind = text(condition, "/type");
        let kind_path = path.child("type");
        if !seen.insert(kind) {
            faults.push(kind_path.is(Fault::Duplicate(kind.into())));
        }
        faults.extend(kind_path.refuse(kind, label_key(kind)));
        let (status, known) = (text(condition, "/status"), ["False", "True", "Unknown"]);
        if !known.contains(&status) {
            faults.push(path.child("status").not_supported(status, &known));
        }
        let generation = count(condition, "/observedGeneration");
        if generation < 0 {
            let detail = "must be greater than or equal to zero";
            faults.push(path.child("observedGeneration").invalid(generation, detail));
        }
        if get(condition, "/lastTransitionTime").is_none() {
            faults.push(path.child("lastTransitionTime").required(""));
        }
        faults.extend(validate_reason(text(condition, "/reason"), &path.child("reason")));
        if text(condition, "/message").len() > MESSAGE_BYTES_MAX {
            faults.push(path.child("message").is(Fault::TooLong(MESSAGE_BYTES_MAX)));
        }
    }
    faults
}

fn validate_reason(reason: &str, path: &Path) -> Vec<Invalid> {
    const RULE: &str = "a condition reason must start with alphabetic character, optionally \
                        followed by a string of alphanumeric characters or '_,:', and must end \
                        with an alphanumeric character or '_'";
    const REGEX: &str = "[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?";
    const EXAMPLES: [&str; 5] =
        ["my_name", "MY_NAME", "MyName", "ReasonA,ReasonB", "ReasonA:ReasonB"];
    if reason.is_empty() {
        return vec![path.required("")];
    }
    let mut faults = Vec::new();
    let inner = |byte: u8| byte.is_ascii_alphanumeric() || b"_,:".contains(&byte);
    let valid = reason.starts_with(|char: char| char.is_ascii_alphabetic())
        && !reason.ends_with([',', ':'])
        && reason.bytes().all(inner);
    if !valid {
        faults.push(path.invalid(reason, &regex_error(RULE, REGEX, &EXAMPLES)));
    }
    if reason.len() > REASON_BYTES_MAX {
        faults.push(path.is(Fault::TooLong(REASON_BYTES_MAX)));
    }
    faults
}
