//! Which requests are meant.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::selector::{self, Values};
use crate::value::{fill, get, items_mut, maybe, or_null, section, text, texts};
use crate::{Invalid, Path};

const MATCHES: [&str; 2] = ["Equivalent", "Exact"];
const OPERATIONS: [&str; 5] = ["*", "CONNECT", "CREATE", "DELETE", "UPDATE"];
const SCOPES: [&str; 3] = ["*", "Cluster", "Namespaced"];

/// What webhooks and policies have in common: SetDefaults_MatchResources.
pub(super) fn default_matches(of: &mut Value, rules: &[&str]) {
    fill(of, "matchPolicy", "Equivalent");
    section(of, "namespaceSelector");
    section(of, "objectSelector");
    for name in rules {
        for rule in items_mut(of, name) {
            fill(rule, "scope", "*");
        }
    }
}

/// How what matches is found.
pub(super) fn match_wrongs(of: &Value, path: &Path) -> Vec<Invalid> {
    let mut wrongs: Vec<_> = one_of(of, "matchPolicy", &MATCHES, path).into_iter().collect();
    for name in ["namespaceSelector", "objectSelector"] {
        if let Some(labels) = get(of, &format!("/{name}")) {
            wrongs.extend(selector::validate(labels, Values::Checked, &path.child(name)));
        }
    }
    wrongs
}

/// A field that need not be there, but can only be one of these.
pub(super) fn one_of(of: &Value, name: &str, known: &[&str], path: &Path) -> Option<Invalid> {
    let said = maybe(of, &format!("/{name}")).filter(|said| !known.contains(said))?;
    Some(path.child(name).not_supported(said, known))
}

/// validateRuleWithOperations.
pub(super) fn rule_wrongs(rule: &Value, path: &Path) -> Vec<Invalid> {
    let mut wrongs = Vec::new();
    for (name, others) in
        [("operations", "operations"), ("apiGroups", "API groups"), ("apiVersions", "API versions")]
    {
        let (said, path) = (texts(rule, &format!("/{name}")), path.child(name));
        if said.is_empty() {
            wrongs.push(path.required(""));
        }
        if said.len() > 1 && said.contains(&"*") {
            let wrong = format!("if '*' is present, must not specify other {others}");
            wrongs.push(path.invalid(or_null(rule, &format!("/{name}")), &wrong));
        }
        for (index, said) in said.into_iter().enumerate() {
            let path = path.index(index);
            match name {
                "operations" if !OPERATIONS.contains(&said) => {
                    wrongs.push(path.not_supported(said, &OPERATIONS));
                }
                "apiVersions" if said.is_empty() => wrongs.push(path.required("")),
                _ => {}
            }
        }
    }
    wrongs.extend(resource_wrongs(rule, &path.child("resources")));
    wrongs.extend(one_of(rule, "scope", &SCOPES, path));
    wrongs
}

/// validateResources.
fn resource_wrongs(rule: &Value, path: &Path) -> Vec<Invalid> {
    let resources = texts(rule, "/resources");
    let mut wrongs = Vec::new();
    if resources.is_empty() {
        wrongs.push(path.required(""));
    }
    let (mut whole, mut parts) = (BTreeSet::new(), BTreeSet::new());
    let mut bare = false;
    for (index, both) in resources.iter().enumerate() {
        let path = path.index(index);
        if both.is_empty() {
            wrongs.push(path.required(""));
            continue;
        }
        let Some((resource, part)) = both.split_once('/') else {
            bare = *both != "*";
            continue;
        };
        for (is_in, pattern) in [
            (whole.contains(resource), format!("{resource}/*")),
            (parts.contains(part), format!("*/{part}")),
        ] {
            if is_in {
                let wrong = format!("if '{pattern}' is present, must not specify {both}");
                wrongs.push(path.invalid(*both, &wrong));
            }
        }
        if part == "*" {
            whole.insert(resource);
        }
        if resource == "*" {
            parts.insert(part);
        }
    }
    let all = || or_null(rule, "/resources");
    if resources.len() > 1 && resources.contains(&"*/*") {
        wrongs.push(path.invalid(all(), "if '*/*' is present, must not specify other resources"));
    }
    if resources.contains(&"*") && bare {
        let wrong = "if '*' is present, must not specify other resources without subresources";
        wrongs.push(path.invalid(all(), wrong));
    }
    wrongs
}

/// Whether a text says nothing.
pub(super) fn is_blank(of: &Value, pointer: &str) -> bool {
    text(of, pointer).trim().is_empty()
}
