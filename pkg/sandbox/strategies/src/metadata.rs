//! What `metadata` may say (apimachinery's api/validation/objectmeta.go).

use std::collections::BTreeSet;

use api::go;
use serde_json::Value;

use crate::formats::{
    Wrongs, dns_label, dns_subdomain, ip, label_key, path_segment, path_segment_prefix,
};
use crate::selector::validate_labels;
use crate::semantic::same_at;
use crate::value::{count, entries, flag, get, items, number, or_null, text, texts};
use crate::{Fault, Invalid, Path};

const ANNOTATIONS_BYTES_MAX: usize = 256 * 1024;
const IMMUTABLE: &str = "field is immutable";

/// What the names of a kind look like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NameRule {
    /// `my-name.example`, at most 253 characters: most kinds.
    Subdomain,
    /// `my-name`, at most 63 characters.
    Label,
    /// An IP address in canonical form.
    IpAddress,
    /// Anything that fits into a path: `system:node`.
    PathSegment,
}

/// ValidateObjectMeta: the `metadata` of an object that is new or has been changed. The name has
/// been generated already.
pub fn validate_metadata(
    object: &Value,
    namespaced: bool,
    name_rule: NameRule,
    path: &Path,
) -> Vec<Invalid> {
    let metadata = get(object, "/metadata").unwrap_or(&Value::Null);
    let mut wrongs = names(metadata, name_rule, path);
    wrongs.extend(namespace(metadata, namespaced, path));
    if let Some(generation) = number(metadata, "/generation").filter(|it| *it < 0) {
        let wrong = "must be greater than or equal to 0";
        wrongs.push(path.child("generation").invalid(generation, wrong));
    }
    wrongs.extend(validate_labels(labels(metadata), &path.child("labels")));
    wrongs.extend(annotations(metadata, &path.child("annotations")));
    wrongs.extend(owners(metadata, &path.child("ownerReferences")));
    wrongs.extend(finalizers(metadata, &path.child("finalizers")));
    wrongs
}

/// ValidateObjectMetaUpdate: what an update may not do to `metadata`.
pub fn validate_metadata_update(new: &Value, old: &Value) -> Vec<Invalid> {
    let path = Path::new("metadata");
    let [new, old] = [new, old].map(|it| get(it, "/metadata").unwrap_or(&Value::Null));
    let mut wrongs = Vec::new();
    if get(old, "/deletionTimestamp").is_some() {
        wrongs.extend(new_finalizers(new, old, &path.child("finalizers")));
    }
    if text(new, "/resourceVersion").is_empty() {
        let wrong = "must be specified for an update";
        wrongs.push(path.child("resourceVersion").invalid("", wrong));
    }
    let generation = count(new, "/generation");
    if generation < count(old, "/generation") {
        wrongs.push(path.child("generation").invalid(generation, "must not be decremented"));
    }
    for name in ["name", "namespace", "uid"] {
        let pointer = format!("/{name}");
        let said = text(new, &pointer);
        if said != text(old, &pointer) {
            wrongs.push(path.child(name).invalid(said, IMMUTABLE));
        }
    }
    for name in ["creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds"] {
        if !same_at(new, old, &format!("/{name}")) {
            wrongs.push(path.child(name).invalid(or_null(new, &format!("/{name}")), IMMUTABLE));
        }
    }
    wrongs.extend(validate_labels(labels(new), &path.child("labels")));
    wrongs.extend(annotations(new, &path.child("annotations")));
    wrongs.extend(owners(new, &path.child("ownerReferences")));
    wrongs
}

/// The fault of a field that an update changed.
pub(crate) fn immutable(new: &Value, old: &Value, pointer: &str, path: &Path) -> Option<Invalid> {
    let changed = !same_at(new, old, pointer);
    changed.then(|| path.invalid(or_null(new, pointer), IMMUTABLE))
}

impl NameRule {
    /// What is wrong with a name.
    pub(crate) fn check(self, name: &str) -> Wrongs {
        match self {
            Self::Subdomain => dns_subdomain(name),
            Self::Label => dns_label(name),
            Self::IpAddress => ip(name),
            Self::PathSegment => path_segment(name),
        }
    }

    /// What is wrong with the start of a name.
    fn check_prefix(self, name: &str) -> Wrongs {
        match self {
            Self::Subdomain | Self::Label => self.check(&masked(name)),
            Self::IpAddress => self.check(name),
            Self::PathSegment => path_segment_prefix(name),
        }
    }
}

/// A dash at the end will not be the end. Upstream takes away one character more than it says.
fn masked(name: &str) -> String {
    match name.strip_suffix('-') {
        Some(rest) if !rest.is_empty() => {
            let mut kept = rest.to_owned();
            kept.pop();
            kept + "a"
        }
        _ => name.to_owned(),
    }
}

fn labels(metadata: &Value) -> &Value {
    get(metadata, "/labels").unwrap_or(&Value::Null)
}

fn names(metadata: &Value, rule: NameRule, path: &Path) -> Vec<Invalid> {
    let (name, prefix) = (text(metadata, "/name"), text(metadata, "/generateName"));
    let mut wrongs = Vec::new();
    if !prefix.is_empty() {
        wrongs.extend(path.child("generateName").refuse(prefix, rule.check_prefix(prefix)));
    }
    let path = path.child("name");
    if name.is_empty() {
        wrongs.push(path.required("name or generateName is required"));
    } else {
        wrongs.extend(path.refuse(name, rule.check(name)));
    }
    wrongs
}

fn namespace(metadata: &Value, namespaced: bool, path: &Path) -> Vec<Invalid> {
    let path = path.child("namespace");
    match (namespaced, text(metadata, "/namespace")) {
        (true, "") => vec![path.required("")],
        (true, namespace) => path.refuse(namespace, dns_label(namespace)),
        (false, "") => Vec::new(),
        (false, _) => vec![path.forbidden("not allowed on this type")],
    }
}

fn annotations(metadata: &Value, path: &Path) -> Vec<Invalid> {
    let annotations = entries(metadata, "/annotations");
    let mut wrongs: Vec<_> = annotations
        .iter()
        .flat_map(|(key, _)| path.refuse(key, label_key(&key.to_lowercase())))
        .collect();
    let size = |(key, value): &(&str, &Value)| key.len() + value.as_str().map_or(0, str::len);
    if annotations.iter().map(size).sum::<usize>() > ANNOTATIONS_BYTES_MAX {
        wrongs.push(path.is(Fault::TooLong(ANNOTATIONS_BYTES_MAX)));
    }
    wrongs
}

fn owners(metadata: &Value, path: &Path) -> Vec<Invalid> {
    let owners = items(metadata, "/ownerReferences");
    let mut wrongs = Vec::new();
    let mut controller: Option<String> = None;
    for owner in owners {
        wrongs.extend(owner_wrongs(owner, path));
        if !flag(owner, "/controller") {
            continue;
        }
        let this = format!("{}/{}", text(owner, "/kind"), text(owner, "/name"));
        match &controller {
            None => controller = Some(this),
            Some(first) => {
                let wrong = format!(
                    "Only one reference can have Controller set to true. Found \"true\" in \
                     references for {first} and {this}"
                );
                wrongs.push(path.invalid(owners.to_vec(), &wrong));
            }
        }
    }
    wrongs
}

fn owner_wrongs(owner: &Value, path: &Path) -> Vec<Invalid> {
    let api_version = text(owner, "/apiVersion");
    let parts: Vec<_> = api_version.split('/').collect();
    let (group, version) = match parts.as_slice() {
        [version] => ("", *version),
        [group, version] => (*group, *version),
        _ => ("", ""),
    };
    let mut wrongs = Vec::new();
    let mut empty = |name: &str, value: &str, said: &str, wrong: &str| {
        if value.is_empty() {
            wrongs.push(path.child(name).invalid(said, wrong));
        }
    };
    empty("apiVersion", version, api_version, "version must not be empty");
    for name in ["kind", "name", "uid"] {
        let value = text(owner, &format!("/{name}"));
        empty(name, value, value, "must not be empty");
    }
    if (group, version, text(owner, "/kind")) == ("", "v1", "Event") {
        let wrong = "/v1, Kind=Event is disallowed from being an owner";
        wrongs.push(path.invalid(owner.clone(), wrong));
    }
    wrongs
}

fn finalizers(metadata: &Value, path: &Path) -> Vec<Invalid> {
    let finalizers = texts(metadata, "/finalizers");
    let mut wrongs: Vec<_> =
        finalizers.iter().flat_map(|name| path.refuse(name, label_key(name))).collect();
    if finalizers.contains(&"orphan") && finalizers.contains(&"foregroundDeletion") {
        let wrong = "finalizer orphan and foregroundDeletion cannot be both set";
        wrongs.push(path.invalid(or_null(metadata, "/finalizers"), wrong));
    }
    wrongs
}

fn new_finalizers(new: &Value, old: &Value, path: &Path) -> Option<Invalid> {
    let old = texts(old, "/finalizers");
    let new: BTreeSet<_> = texts(new, "/finalizers").into_iter().collect();
    let extra: Vec<_> = new.into_iter().filter(|name| !old.contains(name)).collect();
    if extra.is_empty() {
        return None;
    }
    let extra = extra.into_iter().map(go::quote).collect::<Vec<_>>().join(", ");
    Some(path.forbidden(&format!(
        "no new finalizers can be added if the object is being deleted, found new finalizers \
         []string{{{extra}}}"
    )))
}
