//! LimitRange.

use std::collections::BTreeSet;

use api::Time;
use serde_json::Value;

use crate::amounts::{is_extended, is_standard};
use crate::formats::label_key;
use crate::table::{CREATED, created_row};
use crate::value::{entries, fill, get, items, items_mut, section, text};
use crate::{Cell, Column, Fault, Invalid, Path, Quantity, Strategy};

/// The bounds of what pods, containers and claims may ask for.
pub struct LimitRange;

impl Strategy for LimitRange {
    fn default(&self, object: &mut Value) {
        let spec = section(object, "spec");
        for limit in items_mut(spec, "limits") {
            if text(limit, "/type") == "Container" {
                default_container(limit);
            }
        }
    }

    fn validate_create(&self, object: &Value) -> Vec<Invalid> {
        let path = Path::new("spec").child("limits");
        let mut seen = BTreeSet::new();
        let mut wrongs = Vec::new();
        for (index, limit) in items(object, "/spec/limits").iter().enumerate() {
            let (path, kind) = (path.index(index), text(limit, "/type"));
            wrongs.extend(kind_wrongs(kind, &path.child("type")));
            if !seen.insert(kind) {
                wrongs.push(path.child("type").is(Fault::Duplicate(kind.into())));
            }
            wrongs.extend(limit_wrongs(limit, kind, &path));
        }
        wrongs
    }

    fn validate_update(&self, new: &Value, _old: &Value) -> Vec<Invalid> {
        self.validate_create(new)
    }

    fn allows_create_on_update(&self) -> bool {
        true
    }

    fn columns(&self) -> &'static [Column] {
        CREATED
    }

    fn row(&self, object: &Value, _now: Time) -> Vec<Cell> {
        created_row(object)
    }
}

/// The largest is the default limit, that the default request, or else the smallest.
fn default_container(limit: &mut Value) {
    for (name, from) in [("default", "/max"), ("defaultRequest", "/default")] {
        copy_missing(limit, name, from);
    }
    copy_missing(limit, "defaultRequest", "/min");
}

fn copy_missing(limit: &mut Value, name: &str, from: &str) {
    let Some(Value::Object(amounts)) = get(limit, from).cloned() else { return };
    if amounts.is_empty() {
        return;
    }
    let defaults = section(limit, name);
    amounts.into_iter().for_each(|(key, amount)| fill(defaults, &key, amount));
}

fn kind_wrongs(kind: &str, path: &Path) -> Vec<Invalid> {
    let wrongs = path.refuse(kind, label_key(kind));
    let standard = ["Pod", "Container", "PersistentVolumeClaim"].contains(&kind);
    if !wrongs.is_empty() || kind.contains('/') || standard {
        return wrongs;
    }
    vec![path.invalid(kind, "must be a standard limit type or fully qualified")]
}

fn limit_wrongs(limit: &Value, kind: &str, path: &Path) -> Vec<Invalid> {
    let mut wrongs = Vec::new();
    let mut keys = BTreeSet::new();
    for name in ["max", "min", "default", "defaultRequest", "maxLimitRequestRatio"] {
        let amounts = entries(limit, &format!("/{name}"));
        if kind == "Pod" && name.starts_with("default") {
            if !amounts.is_empty() {
                let wrong = "may not be specified when `type` is 'Pod'";
                wrongs.push(path.child(name).forbidden(wrong));
            }
            continue;
        }
        for (key, _) in amounts {
            wrongs.extend(resource_wrongs(kind, key, &path.child(name).key(key)));
            keys.insert(key);
        }
    }
    let has_storage = |name: &str| get(limit, &format!("/{name}/storage")).is_some();
    if kind == "PersistentVolumeClaim" && !has_storage("min") && !has_storage("max") {
        let wrong = "either minimum or maximum storage value is required, but neither was provided";
        wrongs.push(path.child("limits").required(wrong));
    }
    for key in keys {
        wrongs.extend(order_wrongs(limit, key, path));
    }
    wrongs
}

fn resource_wrongs(kind: &str, name: &str, path: &Path) -> Vec<Invalid> {
    let mut wrongs = path.refuse(name, label_key(name));
    let (standard, bare) = (is_standard(name), !name.contains('/'));
    if wrongs.is_empty() && bare && !standard {
        wrongs.push(path.invalid(name, "must be a standard resource type or fully qualified"));
    }
    if !["Pod", "Container"].contains(&kind) {
        return wrongs;
    }
    let of_containers = ["cpu", "memory", "ephemeral-storage"].contains(&name);
    if bare {
        if !of_containers && !name.starts_with("hugepages-") {
            wrongs.push(path.invalid(name, "must be a standard resource for containers"));
        }
    } else if !name.contains("kubernetes.io/") && !is_extended(name) {
        wrongs.push(path.invalid(name, "doesn't follow extended resource name standard"));
    }
    wrongs
}

/// Smallest ≤ default request ≤ default limit ≤ largest, of one resource.
fn order_wrongs(limit: &Value, key: &str, path: &Path) -> Vec<Invalid> {
    const RULES: [(&str, &str, &str, &str, &str, &str); 6] = [
        ("min", "max", "min", "min", "min value", "max value"),
        (
            "min",
            "defaultRequest",
            "defaultRequest",
            "defaultRequest",
            "min value",
            "default request value",
        ),
        (
            "defaultRequest",
            "max",
            "defaultRequest",
            "defaultRequest",
            "default request value",
            "max value",
        ),
        (
            "defaultRequest",
            "default",
            "defaultRequest",
            "defaultRequest",
            "default request value",
            "default limit value",
        ),
        ("min", "default", "default", "min", "min value", "default value"),
        ("default", "max", "default", "max", "default value", "max value"),
    ];
    let raw = |name: &str| limit.get(name).and_then(|amounts| amounts.get(key));
    let read = |name: &str| raw(name).and_then(Quantity::from_json);
    let shown = |name: &str| raw(name).map(written).unwrap_or_default();
    let mut wrongs = Vec::new();
    for (small, large, field, bad, small_words, large_words) in RULES {
        if matches!((read(small), read(large)), (Some(small), Some(large)) if small > large) {
            let (low, high) = (shown(small), shown(large));
            let wrong = format!("{small_words} {low} is greater than {large_words} {high}");
            wrongs.push(path.child(field).key(key).invalid(shown(bad), &wrong));
        }
    }
    if read("maxLimitRequestRatio").is_some_and(|ratio| ratio < Quantity::ONE) {
        let ratio = shown("maxLimitRequestRatio");
        let wrong = format!("ratio {ratio} is less than 1");
        wrongs.push(path.child("maxLimitRequestRatio").key(key).invalid(ratio, &wrong));
    }
    let overcommits = !is_extended(key) && !key.starts_with("hugepages-");
    if let (false, Some(limits), Some(requests)) =
        (overcommits, read("default"), read("defaultRequest"))
        && limits != requests
    {
        let (limits, requests) = (shown("default"), shown("defaultRequest"));
        let wrong = format!(
            "default value {limits} must equal to defaultRequest value {requests} in {key}"
        );
        wrongs.push(path.child("defaultRequest").key(key).invalid(requests, &wrong));
    }
    wrongs
}

fn written(amount: &Value) -> String {
    amount.as_str().map_or_else(|| amount.to_string(), str::to_owned)
}
