//! The roles and bindings that an API server makes when it starts.

use std::sync::LazyLock;

use api::Key;
use serde_json::{Map, Value, json};

use super::index::{Index, TABLES};
use super::rule::Rule;
use crate::write::fields::{items, text};

/// What they are; the first lines say how to read it.
const POLICY: &str = include_str!("policy.txt");
const GROUP: &str = "rbac.authorization.k8s.io";
/// Those that `sums-up` leads to hold a label with this and their name.
const PART_OF: &str = "rbac.authorization.k8s.io/aggregate-to-";

static OBJECTS: LazyLock<Vec<(&'static str, Value)>> = LazyLock::new(read);
static HIDDEN: LazyLock<Index> = LazyLock::new(|| {
    let mut index = Index::default();
    for (table, object) in OBJECTS.iter().filter(|(_, object)| !is_basic(object)) {
        index.set(table, &key(object), Some(object));
    }
    index
});
static NODE: LazyLock<Vec<Rule>> = LazyLock::new(|| {
    let is_it = |(_, object): &&(&str, Value)| text(object, "/metadata/name") == "system:node";
    let role = OBJECTS.iter().find(|it| is_it(it) && it.1.get("rules").is_some());
    role.into_iter().flat_map(|(_, role)| items(role, "/rules")).map(Rule::read).collect()
});

/// The objects, with their tables. They lack apiVersion, kind and what is new in each cluster.
pub(crate) fn objects() -> &'static [(&'static str, Value)] {
    &OBJECTS
}

/// Whether an object is needed for roles that are the sum of others, or for administrators.
pub(crate) fn is_basic(object: &Value) -> bool {
    let name = text(object, "/metadata/name");
    object.get("aggregationRule").is_some()
        || name.starts_with("system:aggregate-to-")
        || name == "cluster-admin"
}

/// Those that hold where only the basic ones are objects.
pub(super) fn hidden() -> Index {
    HIDDEN.clone()
}

/// What kubelets may do (the NodeRules of upstream's node authorizer).
pub(super) fn node_rules() -> &'static [Rule] {
    &NODE
}

pub(super) fn key(object: &Value) -> Key {
    Key::new(text(object, "/metadata/namespace"), text(object, "/metadata/name"))
}

fn read() -> Vec<(&'static str, Value)> {
    let mut objects: Vec<(&'static str, Value)> = Vec::new();
    for line in POLICY.lines().filter(|line| !line.starts_with('#')) {
        let words: Vec<_> = line.split_whitespace().collect();
        match words.as_slice() {
            ["role", name, marks @ ..] => objects.push(role(name, marks)),
            ["binding", name, role] => objects.push(binding(name, role)),
            words => {
                let (field, item) = match words {
                    ["user", name] => ("subjects", subject("User", name)),
                    ["group", name] => ("subjects", subject("Group", name)),
                    ["account", name] => ("subjects", account(name)),
                    words => ("rules", rule(words)),
                };
                if let Some((_, last)) = objects.last_mut() {
                    crate::write::fields::list(last, &[], field).push(item);
                }
            }
        }
    }
    objects
}

fn role(name: &str, marks: &[&str]) -> (&'static str, Value) {
    let [cluster_roles, roles, ..] = TABLES;
    let mut role = json!({"metadata": metadata(name), "rules": null});
    for mark in marks {
        if let Some(whole) = mark.strip_prefix("part-of=") {
            role["metadata"]["labels"][format!("{PART_OF}{whole}")] = "true".into();
        } else if *mark == "sums-up" {
            let selector = json!({"matchLabels": {format!("{PART_OF}{name}"): "true"}});
            role["aggregationRule"] = json!({"clusterRoleSelectors": [selector]});
        }
    }
    (if name.contains('/') { roles } else { cluster_roles }, role)
}

fn binding(name: &str, role: &str) -> (&'static str, Value) {
    let [_, _, cluster_bindings, bindings] = TABLES;
    let (table, kind) =
        if name.contains('/') { (bindings, "Role") } else { (cluster_bindings, "ClusterRole") };
    let role_ref = json!({"apiGroup": GROUP, "kind": kind, "name": role});
    (table, json!({"metadata": metadata(name), "roleRef": role_ref}))
}

/// The marks of what the API server makes, and renews when it starts.
fn metadata(name: &str) -> Value {
    let (namespace, name) = name.split_once('/').unwrap_or(("", name));
    let mut metadata = json!({
        "name": name,
        "labels": {"kubernetes.io/bootstrapping": "rbac-defaults"},
        "annotations": {"rbac.authorization.kubernetes.io/autoupdate": "true"},
    });
    if !namespace.is_empty() {
        metadata["namespace"] = namespace.into();
    }
    metadata
}

fn subject(kind: &str, name: &str) -> Value {
    json!({"apiGroup": GROUP, "kind": kind, "name": name})
}

fn account(name: &str) -> Value {
    let (namespace, name) = name.split_once('/').unwrap_or(("", name));
    json!({"kind": "ServiceAccount", "name": name, "namespace": namespace})
}

/// `get,list of apps: deployments named web`, or `get /healthz`.
fn rule(words: &[&str]) -> Value {
    let list = |words: &str| -> Value {
        words.split(',').map(|it| if it == "-" { "" } else { it }).collect::<Vec<_>>().into()
    };
    let mut rule = Map::new();
    let mut say = |field: &str, words: &str| drop(rule.insert(field.to_owned(), list(words)));
    match words {
        [verbs, "of", groups, resources, names @ ..] => {
            say("verbs", verbs);
            say("apiGroups", groups.trim_end_matches(':'));
            say("resources", resources);
            if let ["named", names] = names {
                say("resourceNames", names);
            }
        }
        [verbs, paths] => {
            say("verbs", verbs);
            say("nonResourceURLs", paths);
        }
        _ => {}
    }
    rule.into()
}
