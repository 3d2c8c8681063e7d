//! What kinds with pod templates have in common: status and generation, amounts that are numbers
//! or percentages, templates, and cells of tables.

use serde_json::Value;

use crate::formats::dns_label;
use crate::generation;
use crate::selector::{self, LabelSelector, Values};
use crate::semantic::same_at;
use crate::value::{fields, fill, get, items, keep, or_null, pairs, section, text};
use crate::{Fault, Invalid, Path, formats, pod};

/// What a fault says of a number below zero.
pub(crate) const NEGATIVE: &str = "must be greater than or equal to 0";

/// Sets the numbers of a status that are always written, 0 or not.
pub(crate) fn fill_status(object: &mut Value, numbers: &[&str]) {
    let status = section(object, "status");
    fields(status);
    for name in numbers {
        fill(status, name, 0);
    }
}

/// A new object: its status is empty, its generation the first.
pub(crate) fn created(object: &mut Value, numbers: &[&str]) {
    clear_status(object, numbers);
    generation::start(object);
}

/// The object gets an empty status.
pub(crate) fn clear_status(object: &mut Value, numbers: &[&str]) {
    fields(object).remove("status");
    fill_status(object, numbers);
}

/// An update: the status stays, and a new spec is a new generation.
pub(crate) fn updated(new: &mut Value, old: &Value) {
    keep(new, old, "status");
    generation::count(new, old, &["/spec"]);
}

/// An update of the status: all but that stays.
pub(crate) fn status_updated(new: &mut Value, old: &Value) {
    keep(new, old, "spec");
    generation::keep(new, old);
}

/// Numbers of an object that must not be below zero, in this order.
pub(crate) fn not_negative(object: &Value, names: &[&str], path: &Path) -> Vec<Invalid> {
    let numbers = names.iter().map(|name| (name, object.get(*name).and_then(Value::as_i64)));
    let negative = numbers.filter_map(|(name, number)| Some((name, number?)));
    let negative = negative.filter(|(_, number)| *number < 0);
    negative.map(|(name, number)| path.child(name).invalid(number, NEGATIVE)).collect()
}

/// What a fault says of a field whose value would be too long to say (field.OmitValueType).
pub(crate) fn omitted(path: &Path, detail: &str) -> Invalid {
    path.is(Fault::Omitted(detail.to_owned()))
}

/// Numbers of a status that must not exceed another one.
pub(crate) fn not_above(status: &Value, names: &[&str], of: &str, detail: &str) -> Vec<Invalid> {
    let number = |name: &str| status.get(name).and_then(Value::as_i64).unwrap_or(0);
    let above = names.iter().filter(|name| number(name) > number(of));
    above.map(|name| Path::new("status").child(name).invalid(number(name), detail)).collect()
}

/// A field that must not change.
pub(crate) fn immutable(new: &Value, old: &Value, name: &str, path: &Path) -> Vec<Invalid> {
    let pointer = format!("/{name}");
    if same_at(new, old, &pointer) {
        return Vec::new();
    }
    vec![path.child(name).invalid(or_null(new, &pointer), "field is immutable")]
}

/// `status.collisionCount`, which only grows (IsDecremented).
pub(crate) fn collisions(new: &Value, old: &Value) -> Vec<Invalid> {
    let [new, old] = [new, old].map(|it| get(it, "/status/collisionCount")?.as_i64());
    let path = Path::new("status").child("collisionCount");
    match (new, old) {
        (None, Some(_)) => vec![path.invalid(0, "cannot be decremented")],
        (Some(new), Some(old)) if new < old => vec![path.invalid(new, "cannot be decremented")],
        _ => Vec::new(),
    }
}

/// A number or a percentage, neither below zero (ValidatePositiveIntOrPercent).
pub(crate) fn amount(value: &Value, path: &Path) -> Vec<Invalid> {
    match (value.as_str(), value.as_i64()) {
        (Some(share), _) => path.refuse(share, formats::percent(share)),
        (None, Some(number)) if number < 0 => vec![path.invalid(number, NEGATIVE)],
        (None, _) => Vec::new(),
    }
}

/// A percentage must not be above 100 (IsNotMoreThan100Percent).
pub(crate) fn at_most_all(value: &Value, path: &Path) -> Vec<Invalid> {
    if percent(value).is_some_and(|percent| percent > 100) {
        return vec![path.invalid(value.clone(), "must not be greater than 100%")];
    }
    Vec::new()
}

/// The number in it, percent or not (getIntOrPercentValue).
pub(crate) fn amount_number(value: &Value) -> i64 {
    let text = || value.as_str().and_then(|text| text.parse().ok());
    percent(value).or_else(|| value.as_i64()).or_else(text).unwrap_or(0)
}

fn percent(value: &Value) -> Option<i64> {
    let share = value.as_str()?;
    if !formats::percent(share).is_empty() {
        return None;
    }
    Some(share.strip_suffix('%')?.parse().unwrap_or(i64::MAX))
}

/// A selector that must be there, ask for something, and match the template.
/// `owner`: as the fault of an empty one calls it.
pub(crate) fn required_selector(spec: &Value, owner: &str, path: &Path) -> Vec<Invalid> {
    let path = path.child("selector");
    let Some(selector) = get(spec, "/selector") else {
        return vec![path.required("")];
    };
    let mut faults = selector::validate(selector, Values::Checked, &path);
    faults.extend(empty_selector(selector, owner, &path));
    faults
}

/// A selector must ask for something.
pub(crate) fn empty_selector(selector: &Value, owner: &str, path: &Path) -> Option<Invalid> {
    let labels = pairs(selector, "/matchLabels").len();
    let empty = labels + items(selector, "/matchExpressions").len() == 0;
    let detail = format!("empty selector is invalid for {owner}");
    empty.then(|| path.invalid(selector.clone(), &detail))
}

/// The labels of a template must be those that are selected.
pub(crate) fn mismatch(selector: &LabelSelector, template: &Value, path: &Path) -> Option<Invalid> {
    let labels = or_null(template, "/metadata/labels");
    if selector.matches(&labels) {
        return None;
    }
    let path = path.child("metadata").child("labels");
    Some(path.invalid(labels, "`selector` does not match template `labels`"))
}

/// Pods of this template run until they are deleted.
pub(crate) fn endless(template: &Value, owner: &str, path: &Path) -> Vec<Invalid> {
    let path = path.child("spec");
    let mut faults = Vec::new();
    let policy = text(template, "/spec/restartPolicy");
    if policy != "Always" {
        faults.push(path.child("restartPolicy").not_supported(policy, &["Always"]));
    }
    if get(template, "/spec/activeDeadlineSeconds").is_some() {
        let detail = format!("activeDeadlineSeconds in {owner} is not Supported");
        faults.push(path.child("activeDeadlineSeconds").forbidden(&detail));
    }
    faults
}

/// The selector and the template of Deployments and ReplicaSets, which share upstream's code.
pub(crate) fn selected_template(spec: &Value, path: &Path) -> Vec<Invalid> {
    let mut faults = required_selector(spec, "deployment", path);
    let (selector, template) = (or_null(spec, "/selector"), or_null(spec, "/template"));
    let Some(read) = LabelSelector::read(&selector) else {
        faults.push(path.child("selector").invalid(selector, "invalid label selector"));
        return faults;
    };
    let path = path.child("template");
    faults.extend(mismatch(&read, &template, &path));
    faults.extend(pod::validate_template(&template, &path));
    faults.extend(endless(&template, "ReplicaSet", &path));
    faults
}

/// Fills in the defaults of the template below a spec, which is made if it is absent.
pub(crate) fn default_template(spec: &mut Value) {
    let template = section(spec, "template");
    fields(template);
    pod::default_template(template);
}

/// What a client is warned of whose new object has a name that hosts cannot have.
pub(crate) fn name_warning(object: &Value) -> Vec<String> {
    let faults = dns_label(text(object, "/metadata/name"));
    if faults.is_empty() {
        return Vec::new();
    }
    vec![format!(
        "metadata.name: this is used in Pod names and hostnames, which can result in surprising \
         behavior; a DNS label is recommended: [{}]",
        faults.join(" ")
    )]
}

/// What a client is warned of the template at `spec.template`, if that is new or may have changed.
pub(crate) fn template_warnings(object: &Value, old: Option<&Value>) -> Vec<String> {
    if !generation::is_new(object, old) {
        return Vec::new();
    }
    let path = Path::new("spec").child("template");
    pod::template_warnings(&or_null(object, "/spec/template"), &path)
}

/// The same, and of the name of a new object.
pub(crate) fn warnings(object: &Value, old: Option<&Value>) -> Vec<String> {
    let mut warnings = if old.is_none() { name_warning(object) } else { Vec::new() };
    warnings.extend(template_warnings(object, old));
    warnings
}
