//! How pods spread (validateTopologySpreadConstraints).

use serde_json::Value;

use super::affinity::{label_keys, label_selector};
use super::duplicate;
use crate::value::{count, get, items, number, text};
use crate::{Invalid, Path};

/// All constraints.
pub(super) fn validate(spec: &Value, path: &Path) -> Vec<Invalid> {
    let constraints = items(spec, "topologySpreadConstraints");
    let mut faults = Vec::new();
    for (index, constraint) in constraints.iter().enumerate() {
        let path = path.index(index);
        faults.extend(positive(count(constraint, "maxSkew"), &path.child("maxSkew")));
        let (key, action) =
            (text(constraint, "topologyKey"), text(constraint, "whenUnsatisfiable"));
        if key.is_empty() {
            faults.push(path.child("topologyKey").required("can not be empty"));
        }
        if !matches!(action, "DoNotSchedule" | "ScheduleAnyway") {
            let known = ["DoNotSchedule", "ScheduleAnyway"];
            faults.push(path.child("whenUnsatisfiable").not_supported(action, &known));
        }
        let is_same = |other: &Value| {
            text(other, "topologyKey") == key && text(other, "whenUnsatisfiable") == action
        };
        if constraints.iter().skip(index + 1).any(is_same) {
            let path = path.child("{topologyKey, whenUnsatisfiable}");
            faults.push(duplicate(&path, &format!("{{{key}, {action}}}")));
        }
        if let Some(domains) = number(constraint, "minDomains") {
            let path = path.child("minDomains");
            faults.extend(positive(domains, &path));
            if action != "DoNotSchedule" {
                let fault = "can only use minDomains if whenUnsatisfiable=DoNotSchedule, not";
                faults.push(path.invalid(domains, &format!("{fault} {action}")));
            }
        }
        for field in ["nodeAffinityPolicy", "nodeTaintsPolicy"] {
            let policy = get(constraint, field).and_then(Value::as_str);
            if let Some(policy) = policy.filter(|it| !matches!(*it, "Honor" | "Ignore")) {
                faults.push(path.child(field).not_supported(policy, &["Honor", "Ignore"]));
            }
        }
        faults.extend(label_keys(constraint, &path));
        faults
            .extend(label_selector(constraint.get("labelSelector"), &path.child("labelSelector")));
    }
    faults
}

/// ValidatePositiveField.
fn positive(number: i64, path: &Path) -> Option<Invalid> {
    (number <= 0).then(|| path.invalid(number, "must be greater than zero"))
}
