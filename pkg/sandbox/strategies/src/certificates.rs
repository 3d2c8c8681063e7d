//! The kinds of certificates.k8s.io.

use std::borrow::Cow;

use api::{Time, go};
use serde_json::{Value, json};

use crate::formats::{dns_label, dns_subdomain};
use crate::semantic::same_at;
use crate::table::{AGE, NAME, age, cell, cell_or, heading, human, name};
use crate::value::{
    fill, items, items_mut, keep, number, or_null, remove, section, set, text, texts,
};
use crate::{Cell, Column, Environment, Fault, Invalid, NameRule, Path, Strategy};

const COLUMNS: &[Column] = &[
    NAME,
    AGE,
    heading("SignerName"),
    heading("Requestor"),
    heading("RequestedDuration"),
    heading("Condition"),
];
const USAGES: [&str; 23] = [
    "any",
    "cert sign",
    "client auth",
    "code signing",
    "content commitment",
    "crl sign",
    "data encipherment",
    "decipher only",
    "digital signature",
    "email protection",
    "encipher only",
    "ipsec end system",
    "ipsec tunnel",
    "ipsec user",
    "key agreement",
    "key encipherment",
    "microsoft sgc",
    "netscape sgc",
    "ocsp signing",
    "s/mime",
    "server auth",
    "signing",
    "timestamping",
];

/// A certificate request. Its author ([`Strategy::prepare_create`] removes what a client says of
/// that) and whether the request can be parsed are checked elsewhere.
pub struct CertificateSigningRequest;

/// What an update may touch of a status.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Touch {
    Approval,
    Certificate,
}

impl CertificateSigningRequest {
    /// The same as [`Strategy::prepare_status`] of an update of `/approval`: only conditions
    /// change.
    pub fn prepare_approval(new: &mut Value, old: &Value, env: &Environment<'_>) {
        date_conditions(new, old, env);
        let conditions = or_null(new, "/status/conditions");
        keep(new, old, "spec");
        keep(new, old, "status");
        set(section(new, "status"), "conditions", conditions);
    }

    /// What an update of `/approval` may not say.
    pub fn validate_approval(new: &Value, old: &Value) -> Vec<Invalid> {
        let mut wrongs = conditions(new);
        wrongs.extend(changes(new, old, Touch::Approval));
        wrongs
    }
}

impl Strategy for CertificateSigningRequest {
    fn name_rule(&self) -> NameRule {
        NameRule::PathSegment
    }

    fn default(&self, object: &mut Value) {
        section(object, "status");
    }

    fn prepare_create(&self, object: &mut Value, _env: &Environment<'_>) {
        let spec = section(object, "spec");
        for name in ["username", "uid", "groups", "extra"] {
            remove(spec, name);
        }
        set(object, "status", json!({}));
    }

    fn validate_create(&self, object: &Value) -> Vec<Invalid> {
        let path = Path::new("spec");
        let usages = texts(object, "/spec/usages");
        let mut wrongs = Vec::new();
        if text(object, "/spec/request").is_empty() {
            let wrong = "PEM block type must be CERTIFICATE REQUEST";
            wrongs.push(path.child("request").invalid("", wrong));
        }
        if usages.is_empty() {
            wrongs.push(path.child("usages").required(""));
        }
        for (index, usage) in usages.iter().enumerate() {
            let path = path.child("usages").index(index);
            if !USAGES.contains(usage) {
                wrongs.push(path.not_supported(*usage, &USAGES));
            }
            if usages[..index].contains(usage) {
                wrongs.push(path.is(Fault::Duplicate((*usage).into())));
            }
        }
        wrongs.extend(signer(text(object, "/spec/signerName"), &path.child("signerName")));
        let seconds = number(object, "/spec/expirationSeconds");
        if let Some(seconds) = seconds.filter(|seconds| *seconds < 600) {
            let wrong = "may not specify a duration less than 600 seconds (10 minutes)";
            wrongs.push(path.child("expirationSeconds").invalid(seconds, wrong));
        }
        wrongs
    }

    fn prepare_update(&self, new: &mut Value, old: &Value, _env: &Environment<'_>) {
        keep(new, old, "spec");
        keep(new, old, "status");
    }

    fn prepare_status(&self, new: &mut Value, old: &Value, env: &Environment<'_>) {
        keep(new, old, "spec");
        for kind in ["Approved", "Denied"] {
            keep_conditions(new, old, kind);
        }
        date_conditions(new, old, env);
    }

    fn validate_status(&self, new: &Value, old: &Value) -> Vec<Invalid> {
        let mut wrongs = conditions(new);
        wrongs.extend(changes(new, old, Touch::Certificate));
        wrongs
    }

    fn selectable(&self, object: &Value, field: &str) -> Option<Cow<'static, str>> {
        let signer = || text(object, "/spec/signerName").to_owned().into();
        (field == "spec.signerName").then(signer)
    }

    fn selectable_fields(&self) -> &'static [&'static str] {
        &["spec.signerName"]
    }

    fn columns(&self) -> &'static [Column] {
        COLUMNS
    }

    fn row(&self, object: &Value, now: Time) -> Vec<Cell> {
        vec![
            name(object),
            age(object, now),
            cell_or(object, "/spec/signerName", "<none>"),
            cell(object, "/spec/username"),
            number(object, "/spec/expirationSeconds").map_or("<none>".to_owned(), human).into(),
            status(object).into(),
        ]
    }
}

/// ValidateSignerName.
fn signer(name: &str, path: &Path) -> Vec<Invalid> {
    if name.is_empty() {
        return vec![path.required("")];
    }
    if name == "kubernetes.io/legacy-unknown" {
        let wrong = "the legacy signerName is not allowed via this API version";
        return vec![path.invalid(name, wrong)];
    }
    let Some((domain, rest)) = name.split_once('/').filter(|(_, rest)| !rest.contains('/')) else {
        let wrong =
            "must be a fully qualified domain and path of the form 'example.com/signer-name'";
        return vec![path.invalid(name, wrong)];
    };
    let mut wrongs = Vec::new();
    if domain.len() > 253 {
        wrongs.push(path.is(Fault::TooLong(253)));
    }
    let bad = |part: &str, whole: &str, rule: fn(&str) -> Vec<String>| -> Vec<Invalid> {
        let wrongs = rule(part).into_iter();
        let wrongs = wrongs.map(|wrong| format!("validating label {}: {wrong}", go::quote(part)));
        wrongs.map(|wrong| path.invalid(whole, &wrong)).collect()
    };
    let first = |whole: &str, rule: fn(&str) -> Vec<String>| {
        let parts = whole.split('.').map(|part| bad(part, whole, rule));
        parts.into_iter().find(|wrongs| !wrongs.is_empty()).unwrap_or_default()
    };
    wrongs.extend(first(domain, dns_label));
    if !domain.contains('.') {
        let wrong = "should be a domain with at least two segments separated by dots";
        wrongs.push(path.invalid(domain, wrong));
    }
    wrongs.extend(first(rest, dns_subdomain));
    wrongs
}

fn of_kind<'a>(object: &'a Value, kind: &str) -> Vec<&'a Value> {
    let conditions = items(object, "/status/conditions").iter();
    conditions.filter(|condition| text(condition, "/type") == kind).collect()
}

/// validateConditions.
fn conditions(object: &Value) -> Vec<Invalid> {
    let path = Path::new("status").child("conditions");
    let conditions = items(object, "/status/conditions");
    let mut wrongs = Vec::new();
    for (index, condition) in conditions.iter().enumerate() {
        let item = path.index(index);
        let (kind, status) = (text(condition, "/type"), text(condition, "/status"));
        if kind.is_empty() {
            wrongs.push(item.child("type").required(""));
        }
        let final_kind = ["Approved", "Denied", "Failed"].contains(&kind);
        let known: &[&str] = if final_kind { &["True"] } else { &["False", "True", "Unknown"] };
        if status.is_empty() {
            wrongs.push(item.child("status").required(""));
        } else if !known.contains(&status) {
            wrongs.push(item.child("status").not_supported(status, known));
        }
        let before = |kind: &str| conditions[..index].iter().any(|it| text(it, "/type") == kind);
        let against = match kind {
            "Approved" => before("Denied"),
            "Denied" => before("Approved"),
            _ => false,
        };
        if against {
            let wrong = "Approved and Denied conditions are mutually exclusive";
            wrongs.push(path.invalid(kind, wrong));
        }
        if before(kind) {
            wrongs.push(item.child("type").is(Fault::Duplicate(kind.into())));
        }
    }
    wrongs
}

/// What an update may not do to the status.
fn changes(new: &Value, old: &Value, touch: Touch) -> Vec<Invalid> {
    let path = Path::new("status").child("conditions");
    let mut wrongs = Vec::new();
    let count = |object, kind| of_kind(object, kind).len();
    for kind in ["Approved", "Denied", "Failed"] {
        if count(new, kind) < count(old, kind) {
            let wrong = format!("updates may not remove a condition of type \"{kind}\"");
            wrongs.push(path.forbidden(&wrong));
        }
    }
    for kind in ["Approved", "Denied"] {
        if touch == Touch::Approval || count(new, kind) < count(old, kind) {
            continue;
        }
        let what = if count(new, kind) > count(old, kind) {
            "add"
        } else if of_kind(new, kind) == of_kind(old, kind) {
            continue;
        } else {
            "modify"
        };
        let wrong = format!("updates may not {what} a condition of type \"{kind}\"");
        wrongs.push(path.forbidden(&wrong));
    }
    if !same_at(new, old, "/status/certificate") {
        let path = Path::new("status").child("certificate");
        if touch == Touch::Approval {
            wrongs.push(path.forbidden("updates may not set certificate content"));
        } else if !text(old, "/status/certificate").is_empty() {
            wrongs.push(path.forbidden("updates may not modify existing certificate content"));
        }
    }
    wrongs
}

/// As many conditions of a kind as there were stay as they were.
fn keep_conditions(new: &mut Value, old: &Value, kind: &str) {
    let mut was = of_kind(old, kind).into_iter();
    if was.len() != of_kind(new, kind).len() {
        return;
    }
    let status = section(new, "status");
    for condition in items_mut(status, "conditions") {
        if text(condition, "/type") == kind {
            *condition = was.next().cloned().unwrap_or_default();
        }
    }
}

/// populateConditionTimestamps.
fn date_conditions(new: &mut Value, old: &Value, env: &Environment<'_>) {
    let now = env.now.to_string();
    let status = section(new, "status");
    for condition in items_mut(status, "conditions") {
        fill(condition, "lastUpdateTime", now.clone());
        let (kind, said) = (text(condition, "/type"), text(condition, "/status"));
        let was = of_kind(old, kind).into_iter();
        let time = was
            .filter(|it| text(it, "/status") == said)
            .map(|it| text(it, "/lastTransitionTime"))
            .find(|time| !time.is_empty());
        let time = time.unwrap_or(&now).to_owned();
        fill(condition, "lastTransitionTime", time);
    }
}

/// As extractCSRStatus.
fn status(object: &Value) -> String {
    let has = |kind: &str| !of_kind(object, kind).is_empty();
    let mut status = match (has("Denied"), has("Approved")) {
        (true, _) => "Denied",
        (false, true) => "Approved",
        (false, false) => "Pending",
    }
    .to_owned();
    if has("Failed") {
        status.push_str(",Failed");
    }
    if !text(object, "/status/certificate").is_empty() {
        status.push_str(",Issued");
    }
    status
}
