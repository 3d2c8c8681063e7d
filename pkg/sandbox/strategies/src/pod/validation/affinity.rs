//! Where a pod wants to be (validateAffinity), and label selectors.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::formats::{dns_label, dns_subdomain, label_key, label_value};
use crate::selector;
use crate::value::{count, entries, get, items, text, texts};
use crate::{Invalid, Path};

const REQUIRED: &str = "requiredDuringSchedulingIgnoredDuringExecution";
const PREFERRED: &str = "preferredDuringSchedulingIgnoredDuringExecution";

/// Whether values have to be such as labels can have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Values {
    Checked,
    Any,
}

/// All of `affinity`.
pub(super) fn validate(spec: &Value, path: &Path) -> Vec<Invalid> {
    let mut faults = Vec::new();
    if let Some(affinity) = get(spec, "/affinity/nodeAffinity") {
        faults.extend(of_nodes(affinity, &path.child("nodeAffinity")));
    }
    for kind in ["podAffinity", "podAntiAffinity"] {
        if let Some(affinity) = get(spec, &format!("/affinity/{kind}")) {
            faults.extend(of_pods(affinity, &path.child(kind)));
        }
    }
    faults
}

/// ValidateLabelSelector; without a selector nothing is wrong.
pub(super) fn label_selector(selector: Option<&Value>, path: &Path) -> Vec<Invalid> {
    selector.map_or_else(Vec::new, |it| selector::validate(it, selector::Values::Checked, path))
}

/// ValidateMatchLabelKeysAndMismatchLabelKeys.
pub(super) fn label_keys(term: &Value, path: &Path) -> Vec<Invalid> {
    let mut faults = Vec::new();
    let selector = get(term, "labelSelector");
    for field in ["matchLabelKeys", "mismatchLabelKeys"] {
        let path = path.child(field);
        if selector.is_none() && !items(term, field).is_empty() {
            faults.push(path.forbidden("must not be specified when labelSelector is not set"));
            continue;
        }
        for (index, key) in texts(term, field).into_iter().enumerate() {
            faults.extend(path.index(index).refuse(key, label_key(key)));
        }
    }
    let matched: BTreeMap<_, _> = texts(term, "matchLabelKeys")
        .into_iter()
        .enumerate()
        .map(|(index, key)| (key, index))
        .collect();
    if let Some(selector) = selector {
        let mut seen: Vec<_> =
            entries(selector, "matchLabels").into_iter().map(|(key, _)| key).collect();
        for expression in items(selector, "matchExpressions") {
            let key = text(expression, "key");
            if let Some(index) = matched.get(key).filter(|_| seen.contains(&key)) {
                let fault = "exists in both matchLabelKeys and labelSelector";
                faults.push(path.index(*index).invalid(key, fault));
            }
            seen.push(key);
        }
    }
    for (index, key) in texts(term, "matchLabelKeys").into_iter().enumerate() {
        if texts(term, "mismatchLabelKeys").contains(&key) {
            let path = path.child("matchLabelKeys").index(index);
            let fault = "exists in both matchLabelKeys and mismatchLabelKeys";
            faults.push(path.invalid(key, fault));
        }
    }
    faults
}

fn of_nodes(affinity: &Value, path: &Path) -> Vec<Invalid> {
    let mut faults = Vec::new();
    if let Some(required) = get(affinity, REQUIRED) {
        let path = path.child(REQUIRED).child("nodeSelectorTerms");
        let terms = items(required, "nodeSelectorTerms");
        if terms.is_empty() {
            faults.push(path.required("must have at least one node selector term"));
        }
        for (index, term) in terms.iter().enumerate() {
            faults.extend(node_term(term, Values::Checked, &path.index(index)));
        }
    }
    for (index, term) in items(affinity, PREFERRED).iter().enumerate() {
        let path = path.child(PREFERRED).index(index);
        faults.extend(weight(term, &path));
        let preference = term.get("preference").unwrap_or(&Value::Null);
        faults.extend(node_term(preference, Values::Any, &path.child("preference")));
    }
    faults
}

fn node_term(term: &Value, values: Values, path: &Path) -> Vec<Invalid> {
    let mut faults = Vec::new();
    for (index, requirement) in items(term, "matchExpressions").iter().enumerate() {
        let path = path.child("matchExpressions").index(index);
        let count = items(requirement, "values").len();
        match text(requirement, "operator") {
            "Gt" | "Lt" if count != 1 => {
                let fault = "must be specified single value when `operator` is 'Lt' or 'Gt'";
                faults.push(path.child("values").required(fault));
            }
            "Gt" | "Lt" => {}
            known => faults.extend(operator(known, count > 0, &path)),
        }
        let key = text(requirement, "key");
        faults.extend(path.child("key").refuse(key, label_key(key)));
        if values == Values::Checked {
            faults.extend(label_values(requirement, &path));
        }
    }
    for (index, requirement) in items(term, "matchFields").iter().enumerate() {
        faults.extend(node_field(requirement, &path.child("matchFields").index(index)));
    }
    faults
}

/// ValidateNodeFieldSelectorRequirement.
fn node_field(requirement: &Value, path: &Path) -> Vec<Invalid> {
    let mut faults = Vec::new();
    match text(requirement, "operator") {
        "In" | "NotIn" if items(requirement, "values").len() != 1 => {
            let fault = "must be only one value when `operator` is 'In' or 'NotIn' for node field \
                         selector";
            faults.push(path.child("values").required(fault));
        }
        "In" | "NotIn" => {}
        other => {
            faults.push(path.child("operator").invalid(other, "not a valid selector operator"));
        }
    }
    match text(requirement, "key") {
        "metadata.name" => {
            for (index, name) in texts(requirement, "values").into_iter().enumerate() {
                let path = path.child("values").index(index);
                faults.extend(path.refuse(name, dns_subdomain(name)));
            }
        }
        other => {
            faults.push(path.child("key").invalid(other, "not a valid field selector key"));
        }
    }
    faults
}

fn of_pods(affinity: &Value, path: &Path) -> Vec<Invalid> {
    let mut faults = Vec::new();
    for (index, term) in items(affinity, REQUIRED).iter().enumerate() {
        faults.extend(pod_term(term, &path.child(REQUIRED).index(index)));
    }
    for (index, term) in items(affinity, PREFERRED).iter().enumerate() {
        let path = path.child(PREFERRED).index(index);
        faults.extend(weight(term, &path));
        let term = term.get("podAffinityTerm").unwrap_or(&Value::Null);
        faults.extend(pod_term(term, &path.child("podAffinityTerm")));
    }
    faults
}

/// validatePodAffinityTerm.
fn pod_term(term: &Value, path: &Path) -> Vec<Invalid> {
    let mut faults = Vec::new();
    for field in ["labelSelector", "namespaceSelector"] {
        faults.extend(label_selector(term.get(field), &path.child(field)));
    }
    for namespace in texts(term, "namespaces") {
        faults.extend(path.child("namespace").refuse(namespace, dns_label(namespace)));
    }
    faults.extend(label_keys(term, path));
    let (path, key) = (path.child("topologyKey"), text(term, "topologyKey"));
    if key.is_empty() {
        faults.push(path.required("can not be empty"));
    }
    faults.extend(path.refuse(key, label_key(key)));
    faults
}

fn weight(term: &Value, path: &Path) -> Option<Invalid> {
    let weight = count(term, "weight");
    let is_valid = (1..=100).contains(&weight);
    (!is_valid).then(|| path.child("weight").invalid(weight, "must be in the range 1-100"))
}

/// Whether values are there as the operator needs them.
fn operator(operator: &str, has_values: bool, path: &Path) -> Option<Invalid> {
    match operator {
        "In" | "NotIn" => (!has_values).then(|| {
            let fault = "must be specified when `operator` is 'In' or 'NotIn'";
            path.child("values").required(fault)
        }),
        "Exists" | "DoesNotExist" => has_values.then(|| {
            let fault = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'";
            path.child("values").forbidden(fault)
        }),
        other => Some(path.child("operator").invalid(other, "not a valid selector operator")),
    }
}

fn label_values(requirement: &Value, path: &Path) -> Vec<Invalid> {
    let values = texts(requirement, "values").into_iter().enumerate();
    values
        .flat_map(|(index, value)| {
            path.child("values").index(index).refuse(value, label_value(value))
        })
        .collect()
}
