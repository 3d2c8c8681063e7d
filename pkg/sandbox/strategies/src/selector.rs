//! Label selectors as they stand in objects: read, checked, and as text.

use std::collections::BTreeSet;

use api::{Requirement, is_label_value};
use serde_json::Value;

use crate::formats::{label_key, label_value};
use crate::value::{items, pairs, text};
use crate::{Invalid, Path};

#[cfg(test)]
mod tests;

/// A `metav1.LabelSelector` that was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LabelSelector {
    /// None: it was absent, and selects nothing.
    terms: Option<Vec<Term>>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Term {
    key: String,
    requirement: Requirement,
    /// Whether it came from `matchLabels`, which are written `a=b`.
    is_label: bool,
}

/// What to make of values that no label can have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Values {
    /// They are faults.
    Checked,
    /// They were there before, and may stay.
    Kept,
}

impl LabelSelector {
    /// Reads a selector as upstream's LabelSelectorAsSelector: one that is absent selects nothing,
    /// one that is empty selects everything; none: it is invalid.
    pub fn read(selector: &Value) -> Option<Self> {
        if selector.is_null() {
            return Some(Self { terms: None });
        }
        let labels = pairs(selector, "/matchLabels").into_iter().map(|(key, value)| {
            let requirement = Requirement::In(BTreeSet::from([value.to_owned()]));
            Term { key: key.to_owned(), requirement, is_label: true }.checked()
        });
        let expressions = items(selector, "/matchExpressions").iter().map(Term::read);
        let mut terms: Vec<Term> = labels.chain(expressions).collect::<Option<_>>()?;
        terms.sort_by(|left, right| left.key.cmp(&right.key));
        Some(Self { terms: Some(terms) })
    }

    /// Reads a map of labels that must all be there, as ReplicationControllers have it; one that is
    /// absent or empty selects everything.
    pub fn of_labels(labels: &Value) -> Self {
        let terms = pairs(labels, "").into_iter().map(|(key, value)| {
            let requirement = Requirement::In(BTreeSet::from([value.to_owned()]));
            Term { key: key.to_owned(), requirement, is_label: true }
        });
        Self { terms: Some(terms.collect()) }
    }

    /// Whether it selects everything.
    pub fn is_everything(&self) -> bool {
        self.terms.as_ref().is_some_and(Vec::is_empty)
    }

    /// Whether an object with these labels (null or a map) is selected.
    pub fn matches(&self, labels: &Value) -> bool {
        let value = |key: &str| labels.get(key).and_then(Value::as_str);
        let terms = self.terms.as_ref();
        terms.is_some_and(|terms| terms.iter().all(|it| it.requirement.holds(value(&it.key))))
    }
}

/// As `labels.Selector.String`: `app=web,tier in (a,b)`.
impl std::fmt::Display for LabelSelector {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (at, term) in self.terms.iter().flatten().enumerate() {
            let comma = if at == 0 { "" } else { "," };
            write!(f, "{comma}{term}")?;
        }
        Ok(())
    }
}

impl std::fmt::Display for Term {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let key = &self.key;
        let list = |values: &BTreeSet<String>| {
            values.iter().map(String::as_str).collect::<Vec<_>>().join(",")
        };
        match &self.requirement {
            Requirement::In(values) if self.is_label => write!(f, "{key}={}", list(values)),
            Requirement::In(values) => write!(f, "{key} in ({})", list(values)),
            Requirement::NotIn(values) => write!(f, "{key} notin ({})", list(values)),
            Requirement::Exists => write!(f, "{key}"),
            Requirement::DoesNotExist => write!(f, "!{key}"),
        }
    }
}

impl Term {
    fn read(expression: &Value) -> Option<Self> {
        let values = items(expression, "/values").iter();
        let values: BTreeSet<String> =
            values.map(|value| value.as_str().unwrap_or_default().to_owned()).collect();
        let key = text(expression, "/key");
        let requirement = Requirement::read(key, text(expression, "/operator"), values).ok()?;
        Self { key: key.to_owned(), requirement, is_label: false }.checked()
    }

    fn checked(self) -> Option<Self> {
        api::check_requirement(&self.key, &self.requirement).is_ok().then_some(self)
    }
}

/// A `metav1.LabelSelector` as tables print it (metav1.FormatLabelSelector): `<none>` if it asks
/// for nothing, `<error>` if it cannot be read.
pub fn print(selector: &Value) -> String {
    match LabelSelector::read(selector).map(|selector| selector.to_string()) {
        None => "<error>".to_owned(),
        Some(text) if text.is_empty() => "<none>".to_owned(),
        Some(text) => text,
    }
}

/// A map of labels as tables print it (labels.FormatLabels): `a=b,c=d`, or `<none>`.
pub fn print_labels(labels: &Value) -> String {
    let pairs: Vec<String> =
        pairs(labels, "").into_iter().map(|(key, value)| format!("{key}={value}")).collect();
    if pairs.is_empty() { "<none>".to_owned() } else { pairs.join(",") }
}

/// What is wrong with a `metav1.LabelSelector` (ValidateLabelSelector of apimachinery).
pub fn validate(selector: &Value, values: Values, path: &Path) -> Vec<Invalid> {
    let labels = selector.get("matchLabels").unwrap_or(&Value::Null);
    let mut faults = validate_labels(labels, &path.child("matchLabels"));
    for (at, expression) in items(selector, "/matchExpressions").iter().enumerate() {
        let path = path.child("matchExpressions").index(at);
        faults.extend(validate_expression(expression, values, &path));
    }
    faults
}

/// What is wrong with a map of labels (ValidateLabels of apimachinery).
pub fn validate_labels(labels: &Value, path: &Path) -> Vec<Invalid> {
    let mut faults = Vec::new();
    for (key, value) in pairs(labels, "") {
        faults.extend(path.refuse(key, label_key(key)));
        faults.extend(path.refuse(value, label_value(value)));
    }
    faults
}

/// What an update must not complain of, as the object had it before: [`Values::Kept`] if one of
/// its selector's expressions has a value that no label can have
/// (LabelSelectorHasInvalidLabelValue).
pub(crate) fn values_of_update(old: &Value) -> Values {
    let expressions = items(old, "/matchExpressions").iter();
    let mut values = expressions.flat_map(|expression| items(expression, "/values"));
    let invalid = values.any(|value| value.as_str().is_some_and(|value| !is_label_value(value)));
    if invalid { Values::Kept } else { Values::Checked }
}

fn validate_expression(expression: &Value, checked: Values, path: &Path) -> Vec<Invalid> {
    let mut faults = Vec::new();
    let values = items(expression, "/values");
    let operator = text(expression, "/operator");
    match operator {
        "In" | "NotIn" if values.is_empty() => {
            let detail = "must be specified when `operator` is 'In' or 'NotIn'";
            faults.push(path.child("values").required(detail));
        }
        "Exists" | "DoesNotExist" if !values.is_empty() => {
            let detail = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'";
            faults.push(path.child("values").forbidden(detail));
        }
        "In" | "NotIn" | "Exists" | "DoesNotExist" => {}
        _ => {
            let path = path.child("operator");
            faults.push(path.invalid(operator, "not a valid selector operator"));
        }
    }
    let key = text(expression, "/key");
    let key_path = path.child("key");
    faults.extend(key_path.refuse(key, label_key(key)));
    if checked == Values::Checked {
        for (at, value) in values.iter().enumerate() {
            let value = value.as_str().unwrap_or_default();
            let path = path.child("values").index(at);
            faults.extend(path.refuse(value, label_value(value)));
        }
    }
    faults
}
