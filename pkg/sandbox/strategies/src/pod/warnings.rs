//! What clients are warned of (pkg/api/pod/warnings.go): what is probably not meant.

use std::collections::{BTreeMap, BTreeSet};

use api::go::quote;
use serde_json::Value;

use super::spec;
use crate::formats::dns_label;
use crate::value::{annotation, count, entries, get, items, number, text};
use crate::{Path, Quantity};

const NO_SELECTOR: &str = "a null labelSelector results in matching no pod";
const NODE_LABELS: [(&str, &str); 8] = [
    ("app.kubernetes.io/created-by", "deprecated since v1.9"),
    ("beta.kubernetes.io/arch", r#"deprecated since v1.14; use "kubernetes.io/arch" instead"#),
    (
        "beta.kubernetes.io/instance-type",
        r#"deprecated since v1.17; use "node.kubernetes.io/instance-type" instead"#,
    ),
    ("beta.kubernetes.io/os", r#"deprecated since v1.14; use "kubernetes.io/os" instead"#),
    (
        "failure-domain.beta.kubernetes.io/region",
        r#"deprecated since v1.17; use "topology.kubernetes.io/region" instead"#,
    ),
    (
        "failure-domain.beta.kubernetes.io/zone",
        r#"deprecated since v1.17; use "topology.kubernetes.io/zone" instead"#,
    ),
    ("node-role.kubernetes.io/master", r#"use "node-role.kubernetes.io/control-plane" instead"#),
    (
        "scheduler.alpha.kubernetes.io/preferAvoidPods",
        "deprecated since v1.22; use Taints and Tolerations instead",
    ),
];
const ANNOTATIONS: [(&str, &str); 3] = [
    (
        "scheduler.alpha.kubernetes.io/critical-pod",
        r#"non-functional in v1.16+; use the "priorityClassName" field instead"#,
    ),
    (
        "security.alpha.kubernetes.io/sysctls",
        r#"non-functional in v1.11+; use the "sysctls" field instead"#,
    ),
    (
        "security.alpha.kubernetes.io/unsafe-sysctls",
        r#"non-functional in v1.11+; use the "sysctls" field instead"#,
    ),
];
/// The field, its name in the warning, and the warning.
const VOLUMES: [(&str, &str, &str); 9] = [
    (
        "photonPersistentDisk",
        "photonPersistentDisk",
        "deprecated in v1.11, non-functional in v1.16+",
    ),
    ("gitRepo", "gitRepo", "deprecated in v1.11, and disabled by default in v1.33+"),
    ("scaleIO", "scaleIO", "deprecated in v1.16, non-functional in v1.22+"),
    ("flocker", "flocker", "deprecated in v1.22, non-functional in v1.25+"),
    ("storageos", "storageOS", "deprecated in v1.22, non-functional in v1.25+"),
    ("quobyte", "quobyte", "deprecated in v1.22, non-functional in v1.25+"),
    ("glusterfs", "glusterfs", "deprecated in v1.25, non-functional in v1.26+"),
    ("cephfs", "cephfs", "deprecated in v1.28, non-functional in v1.31+"),
    ("rbd", "rbd", "deprecated in v1.28, non-functional in v1.31+"),
];

/// Warnings of a new pod.
pub(crate) fn pod_warnings(pod: &Value) -> Vec<String> {
    let name = get(pod, "metadata").map(|it| text(it, "name")).unwrap_or_default();
    let wrong = dns_label(name);
    let mut warnings = Vec::new();
    if !wrong.is_empty() {
        let warning = "metadata.name: this is used in the Pod's hostname, which can result in \
                       surprising behavior; a DNS label is recommended";
        // As Go prints a list.
        warnings.push(format!("{warning}: [{}]", wrong.join(" ")));
    }
    warnings.extend(template_warnings(pod, &Path::default()));
    warnings
}

/// Warnings of the template of a workload (GetWarningsForPodTemplate), `path` being that of the
/// template.
pub fn template_warnings(template: &Value, path: &Path) -> Vec<String> {
    let spec = spec(template);
    let on_spec = path.child("spec");
    let mut warnings = placement(spec, &on_spec);
    let annotations = path.child("metadata").child("annotations");
    for (key, warning) in ANNOTATIONS {
        if annotation(template, key).is_some() {
            warnings.push(format!("{}: {warning}", annotations.key(key)));
        }
    }
    for (index, volume) in items(spec, "volumes").iter().enumerate() {
        for (field, shown, warning) in VOLUMES {
            if get(volume, field).is_some() {
                let path = on_spec.child("volumes").index(index).child(shown);
                warnings.push(format!("{path}: {warning}"));
            }
        }
    }
    warnings.extend(repeated(spec, &on_spec));
    warnings.extend(fractions(spec, "overhead", &on_spec));
    for (container, path) in containers(spec, &on_spec) {
        let resources = get(container, "resources").unwrap_or(&Value::Null);
        for field in ["limits", "requests"] {
            warnings.extend(fractions(resources, field, &path.child("resources")));
        }
        warnings.extend(hidden_variables(container, &path));
    }
    warnings.extend(ports(spec, &on_spec));
    if number(spec, "terminationGracePeriodSeconds").is_some_and(|it| it < 0) {
        let path = on_spec.child("terminationGracePeriodSeconds");
        let warning = "must be >= 0; negative values are invalid and will be treated as 1";
        warnings.push(format!("{path}: {warning}"));
    }
    warnings.extend(affinity(spec, &on_spec.child("affinity")));
    warnings
}

/// All containers with their paths, in upstream's order (VisitContainersWithPath).
fn containers<'a>(spec: &'a Value, path: &Path) -> Vec<(&'a Value, Path)> {
    let mut all = Vec::new();
    for field in ["initContainers", "containers", "ephemeralContainers"] {
        for (index, container) in items(spec, field).iter().enumerate() {
            all.push((container, path.child(field).index(index)));
        }
    }
    all
}

fn node_label(key: &str) -> Option<&'static str> {
    NODE_LABELS.iter().find(|(label, _)| *label == key).map(|(_, warning)| *warning)
}

/// Labels of nodes that have new names, and constraints that hold for no pod.
fn placement(spec: &Value, path: &Path) -> Vec<String> {
    let mut warnings = Vec::new();
    for (key, _) in entries(spec, "nodeSelector") {
        if let Some(warning) = node_label(key) {
            warnings.push(format!("{}: {warning}", path.child("nodeSelector").key(key)));
        }
    }
    for (index, constraint) in items(spec, "topologySpreadConstraints").iter().enumerate() {
        let path = path.child("topologySpreadConstraints").index(index);
        let key = text(constraint, "topologyKey");
        if let Some(warning) = node_label(key) {
            warnings.push(format!("{}: {key} is {warning}", path.child("topologyKey")));
        }
        if get(constraint, "labelSelector").is_none() {
            warnings.push(format!("{}: {NO_SELECTOR}", path.child("labelSelector")));
        }
    }
    warnings
}

/// Items of lists that should be there once.
fn repeated(spec: &Value, path: &Path) -> Vec<String> {
    let mut warnings = Vec::new();
    for (field, key) in [("hostAliases", "ip"), ("imagePullSecrets", "name")] {
        let mut seen = BTreeSet::new();
        for (index, item) in items(spec, field).iter().enumerate() {
            let (path, value) = (path.child(field).index(index).child(key), text(item, key));
            if !seen.insert(value) {
                warnings.push(format!("{path}: duplicate {key} {}", quote(value)));
            }
        }
    }
    for (index, secret) in items(spec, "imagePullSecrets").iter().enumerate() {
        if text(secret, "name").is_empty() {
            let path = path.child("imagePullSecrets").index(index).child("name");
            warnings.push(format!(r#"{path}: invalid empty name """#));
        }
    }
    warnings
}

fn fractions(value: &Value, field: &str, path: &Path) -> Vec<String> {
    let mut warnings = Vec::new();
    for (name, amount) in entries(value, field) {
        let is_bytes = matches!(name, "memory" | "ephemeral-storage");
        let Some(amount) = Quantity::from_json(amount).filter(|_| is_bytes) else { continue };
        if amount.milli_value() % 1000 != 0 {
            let (path, amount) = (path.child(field).key(name), quote(amount.to_string()));
            warnings.push(format!(
                "{path}: fractional byte value {amount} is invalid, must be an integer"
            ));
        }
    }
    warnings
}

fn hidden_variables(container: &Value, path: &Path) -> Vec<String> {
    let (mut warnings, mut seen) = (Vec::new(), BTreeSet::new());
    for (index, variable) in items(container, "env").iter().enumerate() {
        let (name, value) = (text(variable, "name"), text(variable, "value"));
        if seen.insert(name) {
            continue;
        }
        // A value that adds to the one before is meant.
        let before = format!("$({name})");
        let replaces = get(variable, "valueFrom").is_some();
        if replaces || value == before || !value.contains(&before) {
            let path = path.child("env").index(index);
            let warning = "which may be dropped when using apply";
            let name = quote(name);
            warnings.push(format!("{path}: hides previous definition of {name}, {warning}"));
        }
    }
    warnings
}

/// Ports that are there twice.
fn ports(spec: &Value, path: &Path) -> Vec<String> {
    let mut warnings = Vec::new();
    let mut by_number: BTreeMap<String, Vec<(Path, &Value)>> = BTreeMap::new();
    let mut by_name: BTreeMap<&str, Path> = BTreeMap::new();
    let mut names = Vec::new();
    for (container, path) in containers(spec, path) {
        for (index, port) in items(container, "ports").iter().enumerate() {
            let path = path.child("ports").index(index);
            let key = format!("{}/{}", count(port, "containerPort"), text(port, "protocol"));
            let others = by_number.entry(key).or_default();
            for (other_path, other) in others.iter() {
                if let Some(how) = overlap(port, other) {
                    warnings.push(format!("{path}: {how} port definition with {other_path}"));
                }
            }
            others.push((path.clone(), port));
            let name = text(port, "name");
            match by_name.get(name) {
                _ if name.is_empty() => {}
                Some(other) => names.push(format!(
                    "{path}: duplicate port name {} with {other}, services and probes that \
                     select ports by name will use {other}",
                    quote(name),
                )),
                None => {
                    by_name.insert(name, path);
                }
            }
        }
    }
    warnings.extend(names);
    warnings
}

fn overlap(port: &Value, other: &Value) -> Option<&'static str> {
    let (host, other_host) = (count(port, "hostPort"), count(other, "hostPort"));
    let (ip, other_ip) = (text(port, "hostIP"), text(other, "hostIP"));
    if (host, ip) == (other_host, other_ip) {
        Some("duplicate")
    } else if host == 0 || other_host == 0 {
        Some("overlapping")
    } else if host == other_host && ip.is_empty() != other_ip.is_empty() {
        Some("dangerously ambiguous")
    } else {
        None
    }
}

fn affinity(spec: &Value, path: &Path) -> Vec<String> {
    let mut warnings = Vec::new();
    for kind in ["podAffinity", "podAntiAffinity"] {
        let Some(affinity) = get(spec, &format!("/affinity/{kind}")) else { continue };
        let field = "requiredDuringSchedulingIgnoredDuringExecution";
        for (index, term) in items(affinity, field).iter().enumerate() {
            if get(term, "labelSelector").is_none() {
                let path = path.child(kind).child(field).index(index).child("labelSelector");
                warnings.push(format!("{path}: {NO_SELECTOR}"));
            }
        }
        let field = "preferredDuringSchedulingIgnoredDuringExecution";
        for (index, term) in items(affinity, field).iter().enumerate() {
            if get(term, "/podAffinityTerm/labelSelector").is_none() {
                let path = path.child(kind).child(field).index(index);
                let path = path.child("podAffinityTerm").child("labelSelector");
                warnings.push(format!("{path}: {NO_SELECTOR}"));
            }
        }
    }
    warnings
}
