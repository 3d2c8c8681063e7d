//! Webhooks that requests pass.

use api::Time;
use serde_json::Value;

use crate::formats::{dns_label_1035, dns_subdomain};
use crate::generation;
use crate::table::{AGE, NAME, age, integer, name};
use crate::value::{fill, get, get_mut, items, items_mut, number, or_null, text, texts};
use crate::webhooks::{client, default_port};
use crate::{Cell, Column, Environment, Fault, Invalid, Path, Strategy};

use super::rules::{default_matches, match_wrongs, one_of, rule_wrongs};

const COLUMNS: &[Column] = &[NAME, integer("Webhooks"), AGE];
const FAILURES: [&str; 2] = ["Fail", "Ignore"];
const REINVOCATIONS: [&str; 2] = ["IfNeeded", "Never"];
const SIDE_EFFECTS: [&str; 2] = ["None", "NoneOnDryRun"];

/// Webhooks.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum WebhookConfiguration {
    /// They change objects.
    Mutating,
    /// They refuse objects.
    Validating,
}

impl Strategy for WebhookConfiguration {
    fn default(&self, object: &mut Value) {
        default_hooks(object);
        if *self == Self::Mutating {
            for hook in items_mut(object, "webhooks") {
                fill(hook, "reinvocationPolicy", "Never");
            }
        }
    }

    fn prepare_create(&self, object: &mut Value, _env: &Environment<'_>) {
        generation::start(object);
    }

    fn validate_create(&self, object: &Value) -> Vec<Invalid> {
        hooks(object)
    }

    fn prepare_update(&self, new: &mut Value, old: &Value, _env: &Environment<'_>) {
        generation::count(new, old, &["/webhooks"]);
    }

    fn validate_update(&self, new: &Value, _old: &Value) -> Vec<Invalid> {
        hooks(new)
    }

    fn needs_version_on_update(&self) -> bool {
        true
    }

    fn columns(&self) -> &'static [Column] {
        COLUMNS
    }

    fn row(&self, object: &Value, now: Time) -> Vec<Cell> {
        vec![name(object), items(object, "/webhooks").len().into(), age(object, now)]
    }
}

fn default_hooks(object: &mut Value) {
    for hook in items_mut(object, "webhooks") {
        fill(hook, "failurePolicy", "Fail");
        fill(hook, "timeoutSeconds", 10);
        default_matches(hook, &["rules"]);
        if let Some(found) = get_mut(hook, "clientConfig") {
            default_port(found);
        }
    }
}

fn hooks(object: &Value) -> Vec<Invalid> {
    let mut wrongs = Vec::new();
    let hooks = items(object, "/webhooks");
    for (index, hook) in hooks.iter().enumerate() {
        let path = Path::new("webhooks").index(index);
        let name = text(hook, "/name");
        wrongs.extend(hook_wrongs(hook, &path));
        wrongs.extend(version_wrongs(hook, &path.child("admissionReviewVersions")));
        if !name.is_empty() && hooks[..index].iter().any(|it| text(it, "/name") == name) {
            wrongs.push(path.child("name").is(Fault::Duplicate(name.into())));
        }
    }
    wrongs
}

fn hook_wrongs(hook: &Value, path: &Path) -> Vec<Invalid> {
    let mut wrongs = full_name(text(hook, "/name"), &path.child("name"));
    for (index, rule) in items(hook, "/rules").iter().enumerate() {
        wrongs.extend(rule_wrongs(rule, &path.child("rules").index(index)));
    }
    wrongs.extend(one_of(hook, "failurePolicy", &FAILURES, path));
    if get(hook, "/sideEffects").is_none() {
        let wrong = format!("must specify one of {}", SIDE_EFFECTS.join(", "));
        wrongs.push(path.child("sideEffects").required(&wrong));
    }
    wrongs.extend(one_of(hook, "sideEffects", &SIDE_EFFECTS, path));
    let seconds = number(hook, "/timeoutSeconds");
    if let Some(seconds) = seconds.filter(|seconds| !(1..=30).contains(seconds)) {
        let wrong = "the timeout value must be between 1 and 30 seconds";
        wrongs.push(path.child("timeoutSeconds").invalid(seconds, wrong));
    }
    wrongs.extend(match_wrongs(hook, path));
    wrongs.extend(one_of(hook, "reinvocationPolicy", &REINVOCATIONS, path));
    wrongs.extend(client(&or_null(hook, "/clientConfig"), &path.child("clientConfig")));
    wrongs
}

/// IsFullyQualifiedName.
fn full_name(name: &str, path: &Path) -> Vec<Invalid> {
    let bad = dns_subdomain(name);
    if name.is_empty() {
        return vec![path.required("")];
    }
    if !bad.is_empty() {
        return vec![path.invalid(name, &bad.join(","))];
    }
    if name.split('.').count() < 3 {
        let wrong = "should be a domain with at least three segments separated by dots";
        return vec![path.invalid(name, wrong)];
    }
    Vec::new()
}

/// validateAdmissionReviewVersions.
fn version_wrongs(hook: &Value, path: &Path) -> Vec<Invalid> {
    let versions = texts(hook, "/admissionReviewVersions");
    if versions.is_empty() {
        return vec![path.required("must specify one of v1, v1beta1")];
    }
    let mut wrongs = Vec::new();
    for (index, version) in versions.iter().enumerate() {
        let path = path.index(index);
        if versions[..index].contains(version) {
            wrongs.push(path.invalid(*version, "duplicate version"));
        } else {
            wrongs.extend(path.refuse(version, dns_label_1035(version)));
        }
    }
    if !["v1", "v1beta1"].iter().any(|known| versions.contains(known)) {
        let wrong = "must include at least one of v1, v1beta1";
        wrongs.push(path.invalid(or_null(hook, "/admissionReviewVersions"), wrong));
    }
    wrongs
}
