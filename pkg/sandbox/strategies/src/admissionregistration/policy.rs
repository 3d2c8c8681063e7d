//! Expressions that requests pass.

use api::Time;
use serde_json::{Value, json};

use crate::formats::{dns_label_1035, dns_subdomain, path_segment};
use crate::generation;
use crate::selector::{self, Values};
use crate::table::{AGE, NAME, age, cell, heading, integer, name};
use crate::value::{
    entries, fill, get, get_mut, items, keep, maybe, or_null, section, set, text, texts,
};
use crate::{Cell, Column, Environment, Fault, Invalid, Path, Strategy};

use super::rules::{default_matches, is_blank, match_wrongs, one_of, rule_wrongs};

const ACTIONS: [&str; 3] = ["Audit", "Deny", "Warn"];
const BINDING: &[Column] = &[NAME, heading("PolicyName"), heading("ParamRef"), AGE];
const FAILURES: [&str; 2] = ["Fail", "Ignore"];
const MATCHED: [&str; 2] = ["resourceRules", "excludeResourceRules"];
const MISSING: [&str; 2] = ["Deny", "Allow"];
const POLICY: &[Column] = &[NAME, integer("Validations"), heading("ParamKind"), AGE];
const REASONS: [&str; 3] = ["Forbidden", "Invalid", "RequestEntityTooLarge"];

/// What objects must be like.
pub struct ValidatingAdmissionPolicy;

/// Where a policy holds.
pub struct ValidatingAdmissionPolicyBinding;

impl Strategy for ValidatingAdmissionPolicy {
    fn default(&self, object: &mut Value) {
        let spec = section(object, "spec");
        fill(spec, "failurePolicy", "Fail");
        if let Some(matches) = get_mut(spec, "matchConstraints") {
            default_matches(matches, &MATCHED);
        }
        section(object, "status");
    }

    fn prepare_create(&self, object: &mut Value, _env: &Environment<'_>) {
        set(object, "status", json!({}));
        generation::start(object);
    }

    fn validate_create(&self, object: &Value) -> Vec<Invalid> {
        let path = Path::new("spec");
        let spec = or_null(object, "/spec");
        let mut wrongs: Vec<_> =
            one_of(&spec, "failurePolicy", &FAILURES, &path).into_iter().collect();
        if let Some(kind) = get(&spec, "/paramKind") {
            wrongs.extend(param_kind(kind, &path.child("paramKind")));
        }
        let field = path.child("matchConstraints");
        match get(&spec, "/matchConstraints") {
            None => wrongs.push(field.required("")),
            Some(matches) => {
                wrongs.extend(resources(matches, &field));
                if items(matches, "/resourceRules").is_empty() {
                    wrongs.push(field.child("resourceRules").required(""));
                }
            }
        }
        for (index, variable) in items(&spec, "/variables").iter().enumerate() {
            for name in ["name", "expression"] {
                if is_blank(variable, &format!("/{name}")) {
                    let path = path.child("variables").index(index).child(name);
                    wrongs.push(path.required(&format!("{name} is not specified")));
                }
            }
        }
        let (checks, audits) = (items(&spec, "/validations"), items(&spec, "/auditAnnotations"));
        if checks.is_empty() && audits.is_empty() {
            let wrong = "validations or auditAnnotations must contain at least one item";
            wrongs.push(path.child("validations").required(wrong));
            wrongs.push(path.child("auditAnnotations").required(wrong));
        }
        for (index, check) in checks.iter().enumerate() {
            wrongs.extend(check_wrongs(check, &path.child("validations").index(index)));
        }
        wrongs
    }

    fn prepare_update(&self, new: &mut Value, old: &Value, _env: &Environment<'_>) {
        keep(new, old, "status");
        generation::count(new, old, &["/spec"]);
    }

    fn validate_update(&self, new: &Value, _old: &Value) -> Vec<Invalid> {
        self.validate_create(new)
    }

    fn prepare_status(&self, new: &mut Value, old: &Value, _env: &Environment<'_>) {
        keep(new, old, "spec");
    }

    fn needs_version_on_update(&self) -> bool {
        true
    }

    fn columns(&self) -> &'static [Column] {
        POLICY
    }

    fn row(&self, object: &Value, now: Time) -> Vec<Cell> {
        let kind = get(object, "/spec/paramKind").map_or("<unset>".to_owned(), |kind| {
            format!("{}/{}", text(kind, "/apiVersion"), text(kind, "/kind"))
        });
        let checks = items(object, "/spec/validations").len();
        vec![name(object), checks.into(), kind.into(), age(object, now)]
    }
}

impl Strategy for ValidatingAdmissionPolicyBinding {
    fn default(&self, object: &mut Value) {
        let spec = section(object, "spec");
        if let Some(matches) = get_mut(spec, "matchResources") {
            default_matches(matches, &MATCHED);
        }
    }

    fn prepare_create(&self, object: &mut Value, _env: &Environment<'_>) {
        generation::start(object);
    }

    fn validate_create(&self, object: &Value) -> Vec<Invalid> {
        let path = Path::new("spec");
        let field = path.child("policyName");
        let mut wrongs = match text(object, "/spec/policyName") {
            "" => vec![field.required("")],
            policy => field.refuse(policy, dns_subdomain(policy)),
        };
        if let Some(reference) = get(object, "/spec/paramRef") {
            wrongs.extend(param_wrongs(reference, &path.child("paramRef")));
        }
        if let Some(matches) = get(object, "/spec/matchResources") {
            wrongs.extend(resources(matches, &path.child("matchResources")));
        }
        wrongs.extend(action_wrongs(object, &path.child("validationActions")));
        wrongs
    }

    fn prepare_update(&self, new: &mut Value, old: &Value, _env: &Environment<'_>) {
        generation::count(new, old, &["/spec"]);
    }

    fn validate_update(&self, new: &Value, _old: &Value) -> Vec<Invalid> {
        self.validate_create(new)
    }

    fn needs_version_on_update(&self) -> bool {
        true
    }

    fn columns(&self) -> &'static [Column] {
        BINDING
    }

    fn row(&self, object: &Value, now: Time) -> Vec<Cell> {
        let reference = get(object, "/spec/paramRef").map_or("<unset>".to_owned(), param);
        vec![name(object), cell(object, "/spec/policyName"), reference.into(), age(object, now)]
    }
}

fn resources(matches: &Value, path: &Path) -> Vec<Invalid> {
    let mut wrongs = match_wrongs(matches, path);
    for list in MATCHED {
        for (index, rule) in items(matches, &format!("/{list}")).iter().enumerate() {
            let path = path.child(list).index(index);
            let names = texts(rule, "/resourceNames");
            for (index, name) in names.iter().enumerate() {
                let path = path.child("resourceNames").index(index);
                wrongs.extend(path.refuse(name, path_segment(name)));
                if names[..index].contains(name) {
                    wrongs.push(path.is(Fault::Duplicate((*name).into())));
                }
            }
            wrongs.extend(rule_wrongs(rule, &path));
        }
    }
    wrongs
}

/// validateParamKind.
fn param_kind(of: &Value, path: &Path) -> Vec<Invalid> {
    let (said, kind) = (text(of, "/apiVersion"), text(of, "/kind"));
    let field = path.child("apiVersion");
    let (group, version) = said.split_once('/').unwrap_or(("", said));
    let mut wrongs = Vec::new();
    if said.is_empty() {
        wrongs.push(field.required(""));
    } else {
        let bad = if group.is_empty() { Vec::new() } else { dns_subdomain(group) };
        if !bad.is_empty() {
            wrongs.push(field.invalid(group, &bad.join(",")));
        }
        let bad = dns_label_1035(version);
        if version.is_empty() {
            wrongs.push(field.invalid(said, "version must be specified"));
        } else if !bad.is_empty() {
            wrongs.push(field.invalid(version, &bad.join(",")));
        }
    }
    let (field, bad) = (path.child("kind"), dns_label_1035(&kind.to_lowercase()));
    if kind.is_empty() {
        wrongs.push(field.required(""));
    } else if !bad.is_empty() {
        let wrong = format!("may have mixed case, but should otherwise match: {}", bad.join(","));
        wrongs.push(field.invalid(kind, &wrong));
    }
    wrongs
}

/// validateValidation, but for what its expressions say.
fn check_wrongs(check: &Value, path: &Path) -> Vec<Invalid> {
    let mut wrongs = Vec::new();
    if is_blank(check, "/expression") {
        wrongs.push(path.child("expression").required("expression is not specified"));
    }
    for name in ["messageExpression", "message"] {
        let said = text(check, &format!("/{name}"));
        let path = path.child(name);
        if !said.is_empty() && said.trim().is_empty() {
            wrongs.push(path.invalid(said, "must be non-empty if specified"));
        } else if name == "message" && said.trim().contains(['\n', '\r']) {
            wrongs.push(path.invalid(said, "must not contain line breaks"));
        }
    }
    wrongs.extend(one_of(check, "reason", &REASONS, path));
    wrongs
}

/// validateParamRef.
fn param_wrongs(reference: &Value, path: &Path) -> Vec<Invalid> {
    let (name, labels) = (text(reference, "/name"), get(reference, "/selector"));
    let both = "name and selector are mutually exclusive";
    let mut wrongs = Vec::new();
    if !name.is_empty() {
        wrongs.extend(path.child("name").refuse(name, path_segment(name)));
        wrongs.extend(labels.map(|_| path.child("name").forbidden(both)));
    }
    if let Some(labels) = labels {
        wrongs.extend(selector::validate(labels, Values::Checked, &path.child("selector")));
        wrongs.extend((!name.is_empty()).then(|| path.child("selector").forbidden(both)));
    } else if name.is_empty() {
        wrongs.push(path.required("one of name or selector must be specified"));
    }
    let field = path.child("parameterNotFoundAction");
    match maybe(reference, "/parameterNotFoundAction").unwrap_or_default() {
        "" => wrongs.push(field.required("")),
        action if MISSING.contains(&action) => {}
        action => wrongs.push(field.not_supported(action, &MISSING)),
    }
    wrongs
}

fn action_wrongs(object: &Value, path: &Path) -> Vec<Invalid> {
    let actions = texts(object, "/spec/validationActions");
    let mut wrongs = Vec::new();
    for (index, action) in actions.iter().enumerate() {
        if !ACTIONS.contains(action) {
            wrongs.push(path.index(index).not_supported(*action, &ACTIONS));
        }
        if actions[..index].contains(action) {
            wrongs.push(path.index(index).is(Fault::Duplicate((*action).into())));
        }
    }
    if actions.contains(&"Deny") && actions.contains(&"Warn") {
        let wrong = "must not contain both Deny and Warn (repeating the same validation failure \
                     information in the API response and headers serves no purpose)";
        wrongs.push(path.invalid(or_null(object, "/spec/validationActions"), wrong));
    }
    if actions.is_empty() {
        wrongs.push(path.required("at least one validation action is required"));
    }
    wrongs
}

/// By its name, in any namespace if none is named, or as Go prints a selector.
fn param(reference: &Value) -> String {
    let namespace = match text(reference, "/namespace") {
        "" => "*",
        namespace => namespace,
    };
    match (text(reference, "/name"), get(reference, "/selector")) {
        ("", None) => "<unset>".to_owned(),
        ("", Some(labels)) => {
            let pair = |(key, value): (&str, &Value)| {
                format!("{key}: {},", value.as_str().unwrap_or_default())
            };
            let pairs: String = entries(labels, "/matchLabels").into_iter().map(pair).collect();
            format!(
                "&LabelSelector{{MatchLabels:map[string]string{{{pairs}}},MatchExpressions:\
                 []LabelSelectorRequirement{{}},}}"
            )
        }
        (name, _) => format!("{namespace}/{name}"),
    }
}
