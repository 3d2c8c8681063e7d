//! Fields of objects.

use apimachinery::fields;
use serde_json::Value;

use crate::corruption::UNKNOWN;

/// A field by its path; null: there is none.
pub(super) fn at<'a>(object: &'a Value, path: &str) -> &'a Value {
    fields::at(object, path).unwrap_or(&Value::Null)
}

pub(super) fn text<'a>(object: &'a Value, path: &str) -> &'a str {
    at(object, path).as_str().unwrap_or_default()
}

pub(super) fn number(object: &Value, path: &str) -> i64 {
    at(object, path).as_i64().unwrap_or(0)
}

pub(super) fn list<'a>(object: &'a Value, path: &str) -> &'a [Value] {
    at(object, path).as_array().map_or(&[], Vec::as_slice)
}

pub(super) fn uid(object: &Value) -> &str {
    text(object, "/metadata/uid")
}

pub(super) fn count(length: usize) -> i64 {
    i64::try_from(length).unwrap_or(i64::MAX)
}

/// The owner that controls an object: its uid. A reference to a kind that does not exist names no
/// owner: upstream looks pods up by kind and uid.
pub(super) fn controller(object: &Value) -> Option<&str> {
    let owner = controlling(object)?;
    (text(owner, "/kind") != UNKNOWN).then(|| text(owner, "/uid"))
}

/// The reference to what controls an object, whatever it says.
pub(super) fn controlling(object: &Value) -> Option<&Value> {
    let mut owners = list(object, "/metadata/ownerReferences").iter();
    owners.find(|it| it.get("controller") == Some(&Value::Bool(true)))
}

pub(super) fn is_ending(object: &Value) -> bool {
    !at(object, "/metadata/deletionTimestamp").is_null()
}

pub(super) fn has_ended(pod: &Value) -> bool {
    ["Failed", "Succeeded"].contains(&text(pod, "/status/phase"))
}

pub(super) fn is_live(pod: &Value) -> bool {
    !is_ending(pod) && !has_ended(pod)
}

pub(super) fn is_ready(object: &Value) -> bool {
    let is = |it: &Value| text(it, "/type") == "Ready" && text(it, "/status") == "True";
    list(object, "/status/conditions").iter().any(is)
}

/// A number, or a part of `of`.
pub(super) fn part(value: &Value, of: i64, up: bool) -> i64 {
    let percent = value.as_str().and_then(|it| it.strip_suffix('%')?.parse::<i64>().ok());
    match percent {
        Some(percent) if up => (of * percent + 99) / 100,
        Some(percent) => of * percent / 100,
        None => value.as_i64().unwrap_or(0),
    }
}

/// How many pods a Deployment may have beyond its replicas, and how many may be missing.
pub(super) fn slack(deployment: &Value) -> (i64, i64) {
    let replicas = number(deployment, "/spec/replicas");
    if text(deployment, "/spec/strategy/type") == "Recreate" {
        return (0, replicas);
    }
    let rolling = at(deployment, "/spec/strategy/rollingUpdate");
    let surge = part(at(rolling, "/maxSurge"), replicas, true);
    let missing = part(at(rolling, "/maxUnavailable"), replicas, false);
    (surge, if surge == 0 && missing == 0 { 1 } else { missing })
}

/// The node that a pod of a DaemonSet is for.
pub(super) fn node_of(pod: &Value) -> &str {
    let required = "/spec/affinity/nodeAffinity/requiredDuringSchedulingIgnoredDuringExecution";
    let terms = "/nodeSelectorTerms/0/matchFields/0/values/0";
    let affine = text(at(pod, required), terms);
    if affine.is_empty() { text(pod, "/spec/nodeName") } else { affine }
}

/// The labels that an owner selects by.
pub(super) fn selector(owner: &Value) -> &Value {
    let is_map = text(owner, "/kind") == "ReplicationController";
    at(owner, if is_map { "/spec/selector" } else { "/spec/selector/matchLabels" })
}

/// Whether labels have all of these pairs.
pub(super) fn matches(object: &Value, pairs: &Value) -> bool {
    let labels = at(object, "/metadata/labels");
    let Some(pairs) = pairs.as_object() else { return true };
    pairs.iter().all(|(key, value)| labels.get(key) == Some(value))
}

/// Whether a part of a spec is kept back from a node by a taint.
pub(super) fn tolerates(spec: &Value, taint: &Value) -> bool {
    list(spec, "/tolerations").iter().any(|it| {
        let is_effect = [text(taint, "/effect"), ""].contains(&text(it, "/effect"));
        let is_key = [text(taint, "/key"), ""].contains(&text(it, "/key"));
        let is_value =
            text(it, "/operator") == "Exists" || text(it, "/value") == text(taint, "/value");
        is_effect && is_key && is_value
    })
}
