//! The kinds of apiextensions.k8s.io. Of schemas only the root is looked at.

use api::Time;
use serde_json::{Value, json};

use crate::formats::{dns_label_1035, dns_subdomain};
use crate::generation;
use crate::metadata::immutable;
use crate::table::{CREATED, created_row};
use crate::value::{
    annotation, fill, fill_zero, flag, get, get_mut, items, keep, or_null, section, set, text,
    texts,
};
use crate::webhooks::{client, default_port};
use crate::{Cell, Column, Environment, Invalid, Path, Strategy};

const APPROVED: &str = "api-approved.kubernetes.io";
const PULL: &str = "see https://github.com/kubernetes/enhancements/pull/1111";
const SCOPES: [&str; 2] = ["Cluster", "Namespaced"];
const STRATEGIES: [&str; 2] = ["None", "Webhook"];

/// A custom kind.
pub struct CustomResourceDefinition;

impl Strategy for CustomResourceDefinition {
    fn default(&self, object: &mut Value) {
        let spec = section(object, "spec");
        let names = section(spec, "names");
        let kind = text(names, "/kind").to_owned();
        fill_zero(names, "singular", kind.to_lowercase());
        if !kind.is_empty() {
            fill_zero(names, "listKind", format!("{kind}List"));
        }
        fill(spec, "conversion", json!({ "strategy": "None" }));
        if let Some(client) = get_mut(spec, "/conversion/webhook/clientConfig") {
            default_port(client);
        }
        let stored = storage_version(object);
        let status = section(object, "status");
        fill(status, "acceptedNames", json!({ "kind": "", "plural": "" }));
        fill(status, "conditions", Value::Null);
        let stored: Vec<_> = stored.into_iter().collect();
        fill(status, "storedVersions", stored);
    }

    fn prepare_create(&self, object: &mut Value, _env: &Environment<'_>) {
        let stored: Vec<_> = storage_version(object).into_iter().collect();
        let status = json!({
            "acceptedNames": { "kind": "", "plural": "" },
            "conditions": null,
            "storedVersions": stored,
        });
        set(object, "status", status);
        generation::start(object);
    }

    fn validate_create(&self, object: &Value) -> Vec<Invalid> {
        let mut wrongs = definition_wrongs(object);
        wrongs.extend(approval(object));
        wrongs
    }

    fn prepare_update(&self, new: &mut Value, old: &Value, _env: &Environment<'_>) {
        keep(new, old, "status");
        generation::count(new, old, &["/spec"]);
        let Some(version) = storage_version(new) else { return };
        let mut stored = items(new, "/status/storedVersions").to_vec();
        if !stored.contains(&version.as_str().into()) {
            stored.push(version.into());
            set(section(new, "status"), "storedVersions", stored);
        }
    }

    fn validate_update(&self, new: &Value, old: &Value) -> Vec<Invalid> {
        let mut wrongs = definition_wrongs(new);
        let mut conditions = items(old, "/status/conditions").iter();
        let established = conditions
            .any(|it| text(it, "/type") == "Established" && text(it, "/status") == "True");
        let path = Path::new("spec");
        let mut fixed = |pointer: &str, path: &Path| {
            wrongs.extend(immutable(new, old, pointer, path));
        };
        let names = path.child("names");
        if established {
            fixed("/spec/scope", &path.child("scope"));
            fixed("/spec/names/kind", &names.child("kind"));
        }
        fixed("/spec/group", &path.child("group"));
        fixed("/spec/names/plural", &names.child("plural"));
        if annotation(new, APPROVED) != annotation(old, APPROVED) {
            wrongs.extend(approval(new));
        }
        wrongs.extend(stored_wrongs(new));
        wrongs
    }

    fn prepare_status(&self, new: &mut Value, old: &Value, _env: &Environment<'_>) {
        keep(new, old, "spec");
    }

    fn validate_status(&self, new: &Value, _old: &Value) -> Vec<Invalid> {
        let path = Path::new("status").child("acceptedNames");
        name_wrongs(&or_null(new, "/status/acceptedNames"), &path)
    }

    fn needs_version_on_update(&self) -> bool {
        true
    }

    fn columns(&self) -> &'static [Column] {
        CREATED
    }

    fn row(&self, object: &Value, _now: Time) -> Vec<Cell> {
        created_row(object)
    }
}

fn storage_version(object: &Value) -> Option<String> {
    let mut versions = items(object, "/spec/versions").iter();
    let stored = versions.find(|version| flag(version, "/storage"))?;
    Some(text(stored, "/name").to_owned())
}

/// validateCustomResourceDefinitionSpec, and the rule of its name.
fn definition_wrongs(object: &Value) -> Vec<Invalid> {
    let path = Path::new("spec");
    let (group, plural) = (text(object, "/spec/group"), text(object, "/spec/names/plural"));
    let name = text(object, "/metadata/name");
    let mut wrongs = Vec::new();
    if name != format!("{plural}.{group}") {
        let wrong = "must be spec.names.plural+\".\"+spec.group";
        wrongs.push(Path::new("metadata").child("name").invalid(name, wrong));
    }
    let bad = dns_subdomain(group);
    let field = path.child("group");
    if group.is_empty() {
        wrongs.push(field.required(""));
    } else if !bad.is_empty() {
        wrongs.push(field.invalid(group, &bad.join(",")));
    } else if !group.contains('.') {
        wrongs.push(field.invalid(group, "should be a domain with at least one dot"));
    }
    wrongs.extend(one_of(&path.child("scope"), text(object, "/spec/scope"), &SCOPES));
    wrongs.extend(version_wrongs(object, &path.child("versions")));
    let names = path.child("names");
    for name in ["plural", "singular", "kind", "listKind"] {
        if text(object, &format!("/spec/names/{name}")).is_empty() {
            wrongs.push(names.child(name).required(""));
        }
    }
    wrongs.extend(name_wrongs(&or_null(object, "/spec/names"), &names));
    wrongs.extend(conversion_wrongs(object, &path.child("conversion")));
    if flag(object, "/spec/preserveUnknownFields") {
        let wrong = "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in \
                     spec.versions[*].schema instead";
        wrongs.push(path.child("preserveUnknownFields").invalid(true, wrong));
    }
    wrongs
}

fn one_of(path: &Path, value: &str, known: &[&str]) -> Option<Invalid> {
    match value {
        "" => Some(path.required("")),
        _ if known.contains(&value) => None,
        _ => Some(path.not_supported(value, known)),
    }
}

fn version_wrongs(object: &Value, path: &Path) -> Vec<Invalid> {
    const SCHEMA: &str = "/schema/openAPIV3Schema";
    let versions = items(object, "/spec/versions");
    let mut wrongs = Vec::new();
    for (index, _) in versions.iter().enumerate().filter(|(_, it)| get(it, SCHEMA).is_none()) {
        let path = path.index(index).child("schema").child("openAPIV3Schema");
        wrongs.push(path.required(""));
    }
    // A schema that all versions have is one of the definition, upstream.
    let first = versions.first().and_then(|version| get(version, SCHEMA));
    let shared = versions.iter().all(|version| get(version, SCHEMA) == first);
    for (index, version) in versions.iter().enumerate() {
        let name = text(version, "/name");
        let bad = dns_label_1035(name);
        if !bad.is_empty() {
            wrongs.push(path.index(index).child("name").invalid(name, &bad.join(",")));
        }
        if let Some(schema) = get(version, SCHEMA).filter(|_| !shared) {
            wrongs.extend(root_wrongs(schema, &path.index(index).child("schema")));
        }
    }
    if let Some(schema) = first.filter(|_| shared) {
        wrongs.extend(root_wrongs(schema, &Path::new("spec").child("validation")));
    }
    let names = texts_of(versions);
    let said = or_null(object, "/spec/versions");
    if names.iter().enumerate().any(|(index, name)| names[..index].contains(name)) {
        wrongs.push(path.invalid(said.clone(), "must contain unique version names"));
    }
    if versions.iter().filter(|version| flag(version, "/storage")).count() != 1 {
        let wrong = "must have exactly one version marked as storage version";
        wrongs.push(path.invalid(said, wrong));
    }
    wrongs
}

fn texts_of(versions: &[Value]) -> Vec<&str> {
    versions.iter().map(|version| text(version, "/name")).collect()
}

/// The root of a structural schema.
fn root_wrongs(schema: &Value, path: &Path) -> Vec<Invalid> {
    let path = path.child("openAPIV3Schema").child("type");
    let open = flag(schema, "/x-kubernetes-preserve-unknown-fields");
    match text(schema, "/type") {
        "" if open => Vec::new(),
        "" => vec![path.required("must not be empty at the root")],
        "object" => Vec::new(),
        kind => vec![path.invalid(kind, "must be object at the root")],
    }
}

/// ValidateCustomResourceDefinitionNames.
fn name_wrongs(names: &Value, path: &Path) -> Vec<Invalid> {
    let mut wrongs = Vec::new();
    for name in ["plural", "singular"] {
        let said = text(names, &format!("/{name}"));
        let bad = dns_label_1035(said);
        if !said.is_empty() && !bad.is_empty() {
            wrongs.push(path.child(name).invalid(said, &bad.join(",")));
        }
    }
    for name in ["kind", "listKind"] {
        let said = text(names, &format!("/{name}"));
        let bad = dns_label_1035(&said.to_lowercase());
        if !said.is_empty() && !bad.is_empty() {
            let wrong =
                format!("may have mixed case, but should otherwise match: {}", bad.join(","));
            wrongs.push(path.child(name).invalid(said, &wrong));
        }
    }
    let (kind, list) = (text(names, "/kind"), text(names, "/listKind"));
    if !kind.is_empty() && kind == list {
        let wrong = "kind and listKind may not be the same";
        wrongs.push(path.child("listKind").invalid(list, wrong));
    }
    for name in ["shortNames", "categories"] {
        for (index, said) in texts(names, &format!("/{name}")).into_iter().enumerate() {
            let bad = dns_label_1035(said);
            if !bad.is_empty() {
                wrongs.push(path.child(name).index(index).invalid(said, &bad.join(",")));
            }
        }
    }
    wrongs
}

fn conversion_wrongs(object: &Value, path: &Path) -> Vec<Invalid> {
    let Some(conversion) = get(object, "/spec/conversion") else { return Vec::new() };
    let strategy = text(conversion, "/strategy");
    let mut wrongs: Vec<_> =
        one_of(&path.child("strategy"), strategy, &STRATEGIES).into_iter().collect();
    // Upstream checks another version, in which these are no fields of `webhook`.
    let (config, versions) =
        (path.child("webhookClientConfig"), path.child("conversionReviewVersions"));
    let known = items(conversion, "/webhook/conversionReviewVersions");
    match (strategy, get(conversion, "/webhook/clientConfig")) {
        ("Webhook", None) => {
            wrongs.push(config.required("required when strategy is set to Webhook"));
        }
        ("Webhook", Some(said)) => wrongs.extend(client(said, &config)),
        (_, Some(_)) => {
            wrongs.push(config.forbidden("should not be set when strategy is not set to Webhook"));
        }
        (_, None) => {}
    }
    if strategy != "Webhook" && !known.is_empty() {
        wrongs.push(versions.forbidden("should not be set when strategy is not set to Webhook"));
    }
    wrongs
}

/// Groups of the project need a word of its own (validateAPIApproval).
fn approval(object: &Value) -> Option<Invalid> {
    let group = text(object, "/spec/group");
    let owned = ["k8s.io", "kubernetes.io"];
    if !owned.iter().any(|own| group == *own || group.ends_with(&format!(".{own}"))) {
        return None;
    }
    let path = Path::new("metadata").child("annotations").key(APPROVED);
    let said = annotation(object, APPROVED).unwrap_or_default();
    let has_host = said.split_once("://").is_some_and(|(scheme, rest)| {
        !scheme.is_empty() && !rest.starts_with('/') && !rest.is_empty()
    });
    let needed = format!("protected groups must have approval annotation \"{APPROVED}\"");
    if said.is_empty() {
        Some(path.required(&format!("{needed}, {PULL}")))
    } else if said.starts_with("unapproved") || has_host {
        None
    } else {
        let reason = "with either a URL or a reason starting with \"unapproved\"";
        Some(path.invalid(said, &format!("{needed} {reason}, {PULL}")))
    }
}

/// ValidateCustomResourceDefinitionStoredVersions.
fn stored_wrongs(object: &Value) -> Vec<Invalid> {
    let path = Path::new("status").child("storedVersions");
    let stored = texts(object, "/status/storedVersions");
    let said = or_null(object, "/status/storedVersions");
    if stored.is_empty() {
        return vec![path.invalid(said, "must have at least one stored version")];
    }
    let names = texts_of(items(object, "/spec/versions"));
    let gone = stored.iter().enumerate().filter(|(_, version)| !names.contains(version));
    gone.map(|(index, version)| {
        let wrong = format!(
            "missing from spec.versions; {version} was previously a storage version, and must \
             remain in spec.versions until a storage migration ensures no data remains persisted \
             in {version} and removes {version} from status.storedVersions"
        );
        path.index(index).invalid(*version, &wrong)
    })
    .collect()
}
