//! Where two values differ for upstream's types (apimachinery's equality.Semantic): what is empty
//! is as good as absent wherever Go does not distinguish the two, and amounts count by what they
//! amount to.

use std::collections::BTreeSet;
use std::fmt;
use std::ops::ControlFlow;

use apimachinery::fields;
use serde_json::{Map, Value};

use crate::Quantity;

#[cfg(test)]
mod tests;

/// A path, what was there, and what is there.
pub(crate) type Change<'a> = (String, &'a Value, &'a Value);

/// Fields of texts, numbers and truths that are no pointers in any type of Kubernetes and not
/// written if they are zero.
const PLAIN: [&str; 61] = [
    "certificateChainPath",
    "chapAuthDiscovery",
    "chapAuthSession",
    "clusterIP",
    "clusterScope",
    "concurrencyPolicy",
    "credentialBundlePath",
    "directory",
    "dnsPolicy",
    "externalID",
    "externalName",
    "externalTrafficPolicy",
    "failureThreshold",
    "globalDefault",
    "healthCheckNodePort",
    "host",
    "hostIP",
    "hostIPC",
    "hostNetwork",
    "hostPID",
    "hostPort",
    "imagePullPolicy",
    "initialDelaySeconds",
    "iscsiInterface",
    "keyPath",
    "keyType",
    "keyring",
    "loadBalancerIP",
    "medium",
    "messageExpression",
    "minReadySeconds",
    "nodePort",
    "paused",
    "persistentVolumeReclaimPolicy",
    "podCIDR",
    "policyName",
    "prefix",
    "priorityClassName",
    "protectionDomain",
    "providerID",
    "publishNotReadyAddresses",
    "pullPolicy",
    "schedulerName",
    "scheme",
    "secretFile",
    "serviceAccountName",
    "sessionAffinity",
    "sslEnabled",
    "stdin",
    "stdinOnce",
    "storagePolicyID",
    "storagePolicyName",
    "subPath",
    "subPathExpr",
    "subdomain",
    "successThreshold",
    "targetContainerName",
    "tty",
    "unschedulable",
    "username",
    "workingDir",
];
/// Those that are so only inside of one field.
const PLAIN_IN: [(&str, &str); 13] = [
    ("env", "value"),
    ("httpGet", "path"),
    ("ports", "name"),
    ("resourceFieldRef", "containerName"),
    ("spec", "hostname"),
    ("spec", "nodeName"),
    ("spec", "serviceAccount"),
    ("tolerations", "effect"),
    ("tolerations", "key"),
    ("tolerations", "operator"),
    ("tolerations", "value"),
    ("validations", "message"),
    ("volumeMounts", "readOnly"),
];
/// Maps whose keys users choose, and parts of schemas: no name in them says what is there.
const MAPS: [&str; 20] = [
    "annotations",
    "attributes",
    "binaryData",
    "capacity",
    "data",
    "default",
    "definitions",
    "example",
    "hard",
    "labels",
    "limits",
    "matchLabels",
    "nodeSelector",
    "overhead",
    "parameters",
    "patternProperties",
    "properties",
    "requests",
    "stringData",
    "volumeAttributes",
];
/// Objects that are no pointers: an empty one says nothing.
const STRUCTS: [&str; 7] =
    ["jobTemplate", "metadata", "resources", "spec", "strategy", "template", "updateStrategy"];
/// Maps of amounts.
const AMOUNTS: [&str; 5] = ["capacity", "hard", "limits", "overhead", "requests"];

/// Whether two values say the same.
pub(crate) fn same(one: &Value, other: &Value) -> bool {
    is_same(one, other, &Place::ROOT)
}

/// Whether two objects say the same at a JSON pointer.
pub(crate) fn same_at(one: &Value, other: &Value, pointer: &str) -> bool {
    let mut names = pointer.rsplit('/');
    let (name, inside) = (names.next().unwrap_or_default(), names.next().unwrap_or_default());
    let above = Place::ROOT.field(inside);
    let [one, other] = [one, other].map(|it| fields::at(it, pointer).unwrap_or(&Value::Null));
    is_same(one, other, &above.field(name))
}

/// Where two values differ.
pub(crate) fn changes<'a>(old: &'a Value, new: &'a Value) -> Vec<Change<'a>> {
    let mut all = Vec::new();
    let end = walk(old, new, &Place::ROOT, &mut |place, old, new| {
        all.push((place.to_string(), old, new));
        ControlFlow::Continue(())
    });
    debug_assert!(end.is_continue(), "nothing stops it");
    all
}

/// Whether what stands in a field, inside of another, may as well be absent.
pub(crate) fn says_nothing(value: &Value, field: &str, inside: &str) -> bool {
    if MAPS.contains(&inside) {
        return value.is_null();
    }
    let is_plain = || PLAIN.contains(&field) || PLAIN_IN.contains(&(inside, field));
    match value {
        Value::Null => true,
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) if STRUCTS.contains(&field) => {
            fields.iter().all(|(name, value)| says_nothing(value, name, field))
        }
        Value::Object(fields) => fields.is_empty() && MAPS.contains(&field),
        Value::Bool(flag) => !flag && is_plain(),
        Value::Number(number) => number.as_i64() == Some(0) && is_plain(),
        Value::String(text) => text.is_empty() && is_plain(),
    }
}

/// Whether users choose the keys of what stands in a field.
pub(crate) fn is_map(field: &str) -> bool {
    MAPS.contains(&field)
}

/// Where a value stands: a step down from another place.
struct Place<'p> {
    above: Option<&'p Place<'p>>,
    step: Step<'p>,
}

enum Step<'p> {
    Field(&'p str),
    Item(usize),
}

impl<'p> Place<'p> {
    const ROOT: Place<'static> = Place { above: None, step: Step::Field("") };

    fn field<'q>(&'q self, name: &'q str) -> Place<'q>
    where
        'p: 'q,
    {
        Place { above: Some(self), step: Step::Field(name) }
    }

    fn item<'q>(&'q self, index: usize) -> Place<'q>
    where
        'p: 'q,
    {
        Place { above: Some(self), step: Step::Item(index) }
    }

    /// The field that it is, or an item of.
    fn name(&self) -> &str {
        match (&self.step, self.above) {
            (Step::Item(_), Some(above)) => above.name(),
            (Step::Field(name), _) => name,
            (Step::Item(_), None) => "",
        }
    }

    /// The field that this field is in.
    fn inside(&self) -> &str {
        match (&self.step, self.above) {
            (Step::Item(_), Some(above)) => above.inside(),
            (Step::Field(_), Some(above)) => above.name(),
            (_, None) => "",
        }
    }

    fn has_amount(&self) -> bool {
        AMOUNTS.contains(&self.inside())
            || matches!(self.name(), "divisor" | "sizeLimit" | "averageValue")
    }

    fn says_nothing(&self, value: &Value) -> bool {
        match self.step {
            Step::Field(name) => says_nothing(value, name, self.inside()),
            Step::Item(_) => value.is_null(),
        }
    }
}

/// As upstream writes paths: `containers[0].name`.
impl fmt::Display for Place<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(above) = self.above else { return Ok(()) };
        write!(f, "{above}")?;
        match self.step {
            Step::Field(name) if above.above.is_none() => write!(f, "{name}"),
            Step::Field(name) => write!(f, ".{name}"),
            Step::Item(index) => write!(f, "[{index}]"),
        }
    }
}

fn is_same(one: &Value, other: &Value, place: &Place<'_>) -> bool {
    walk(one, other, place, &mut |_, _, _| ControlFlow::Break(())).is_continue()
}

/// What is done at each difference, and whether to look further.
type Found<'f, 'a> = dyn FnMut(&Place<'_>, &'a Value, &'a Value) -> ControlFlow<()> + 'f;

fn walk<'a>(
    old: &'a Value,
    new: &'a Value,
    place: &Place<'_>,
    found: &mut Found<'_, 'a>,
) -> ControlFlow<()> {
    match (old, new) {
        _ if old == new => ControlFlow::Continue(()),
        (Value::Object(old), Value::Object(new)) => walk_fields(old, new, place, found),
        (Value::Array(old), Value::Array(new)) if old.len() == new.len() => {
            let mut pairs = old.iter().zip(new).enumerate();
            pairs.try_for_each(|(at, (old, new))| walk(old, new, &place.item(at), found))
        }
        _ if place.says_nothing(old) && place.says_nothing(new) => ControlFlow::Continue(()),
        _ if place.has_amount() && is_same_amount(old, new) => ControlFlow::Continue(()),
        _ => found(place, old, new),
    }
}

fn walk_fields<'a>(
    old: &'a Map<String, Value>,
    new: &'a Map<String, Value>,
    place: &Place<'_>,
    found: &mut Found<'_, 'a>,
) -> ControlFlow<()> {
    let names: BTreeSet<_> = old.keys().chain(new.keys()).collect();
    names.into_iter().try_for_each(|name| {
        let [old, new] = [old, new].map(|fields| fields.get(name).unwrap_or(&Value::Null));
        walk(old, new, &place.field(name), found)
    })
}

/// `1Gi` and `1073741824` are written differently even in canonical form.
fn is_same_amount(one: &Value, other: &Value) -> bool {
    let amounts = Quantity::from_json(one).zip(Quantity::from_json(other));
    amounts.is_some_and(|(one, other)| one == other)
}
