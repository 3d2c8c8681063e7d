//! Containers of each sort (validateContainers, validateInitContainers,
//! validateEphemeralContainers).

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::super::resources::is_sidecar;
use super::{duplicate, environment, handlers, mounts, not_found, one_of, requirements};
use crate::formats::{dns_label, port_name, port_number};
use crate::value::{count, get, items, text};
use crate::{Fault, Invalid, Path};

/// Rules of restarts that a container may have, and exit codes that a rule may name.
const RULES_MAX: usize = 20;
const CODES_MAX: usize = 255;
/// What ephemeral containers do without.
const NOT_EPHEMERAL: [&str; 7] = [
    "ports",
    "resources",
    "resizePolicy",
    "livenessProbe",
    "readinessProbe",
    "startupProbe",
    "lifecycle",
];

/// What the rules of containers look at beside the container.
pub(super) struct Context<'a> {
    pub(super) spec: &'a Value,
    /// The volumes without faults, by their name.
    pub(super) volumes: &'a BTreeMap<&'a str, &'a Value>,
}

/// All containers of a pod.
pub(super) fn validate(context: &Context<'_>, path: &Path) -> Vec<Invalid> {
    let mut faults = main_containers(context, &path.child("containers"));
    faults.extend(init_containers(context, &path.child("initContainers")));
    faults.extend(ephemeral_containers(context, &path.child("ephemeralContainers")));
    faults
}

/// Rules for pods alone, since old templates break them (validateContainerOnlyForPod).
pub(super) fn image_of_pod(container: &Value, path: &Path) -> Option<Invalid> {
    let image = text(container, "image");
    (image.trim() != image)
        .then(|| path.child("image").invalid(image, "must not have leading or trailing whitespace"))
}

fn main_containers(context: &Context<'_>, path: &Path) -> Vec<Invalid> {
    let containers = items(context.spec, "containers");
    if containers.is_empty() {
        return vec![path.required("")];
    }
    let (mut faults, mut names) = (Vec::new(), BTreeSet::new());
    for (index, container) in containers.iter().enumerate() {
        let path = path.index(index);
        faults.extend(any_container(container, context, &path));
        let name = text(container, "name");
        if !names.insert(name) {
            faults.push(duplicate(&path.child("name"), name));
        }
        faults.extend(handlers::of_container(container, context.spec, &path));
        faults.extend(restart_policy(container, &path));
    }
    faults.extend(host_ports(containers, path));
    faults
}

fn init_containers(context: &Context<'_>, path: &Path) -> Vec<Invalid> {
    let mut faults = Vec::new();
    let mut names: BTreeSet<_> =
        items(context.spec, "containers").iter().map(|it| text(it, "name")).collect();
    for (index, container) in items(context.spec, "initContainers").iter().enumerate() {
        let all = path;
        let path = path.index(index);
        faults.extend(any_container(container, context, &path));
        faults.extend(restart_policy(container, &path));
        let name = text(container, "name");
        if names.contains(name) {
            faults.push(duplicate(&path.child("name"), name));
        } else if !name.is_empty() {
            names.insert(name);
        }
        faults.extend(host_ports(std::slice::from_ref(container), all));
        if is_sidecar(container) {
            faults.extend(handlers::of_container(container, context.spec, &path));
            continue;
        }
        for field in ["lifecycle", "livenessProbe", "readinessProbe", "startupProbe"] {
            if get(container, field).is_some() {
                let fault = "may not be set for init containers without restartPolicy=Always";
                faults.push(path.child(field).forbidden(fault));
            }
        }
    }
    faults
}

fn ephemeral_containers(context: &Context<'_>, path: &Path) -> Vec<Invalid> {
    let mut faults = Vec::new();
    let others: BTreeSet<_> = ["containers", "initContainers"]
        .iter()
        .flat_map(|field| items(context.spec, field))
        .map(|container| text(container, "name"))
        .collect();
    let mut names = others.clone();
    for (index, container) in items(context.spec, "ephemeralContainers").iter().enumerate() {
        let path = path.index(index);
        faults.extend(any_container(container, context, &path));
        faults.extend(image_of_pod(container, &path));
        let name = text(container, "name");
        if !names.insert(name) {
            faults.push(duplicate(&path.child("name"), name));
        }
        let target = text(container, "targetContainerName");
        if !target.is_empty() && !others.contains(target) {
            faults.push(not_found(&path.child("targetContainerName"), target));
        }
        for field in NOT_EPHEMERAL {
            if get(container, field).is_some_and(|it| says_something(field, it)) {
                let fault = "cannot be set for an Ephemeral Container";
                faults.push(path.child(field).forbidden(fault));
            }
        }
        for (index, mount) in items(container, "volumeMounts").iter().enumerate() {
            for field in ["subPath", "subPathExpr"] {
                if !text(mount, field).is_empty() {
                    let path = path.child("volumeMounts").index(index).child(field);
                    faults.push(path.forbidden("cannot be set for an Ephemeral Container"));
                }
            }
        }
    }
    faults
}

/// `resources` is always there, and lists can be empty.
fn says_something(field: &str, value: &Value) -> bool {
    match value {
        Value::Object(fields) => !fields.is_empty() || field != "resources",
        Value::Array(items) => !items.is_empty(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => true,
    }
}

/// validateContainerCommon.
fn any_container(container: &Value, context: &Context<'_>, path: &Path) -> Vec<Invalid> {
    let mut faults = Vec::new();
    let name = text(container, "name");
    if name.is_empty() {
        faults.push(path.child("name").required(""));
    } else {
        faults.extend(path.child("name").refuse(name, dns_label(name)));
    }
    if text(container, "image").is_empty() {
        faults.push(path.child("image").required(""));
    }
    let enumeration =
        |field: &str, known: &[&str]| one_of(text(container, field), known, &path.child(field));
    faults.extend(enumeration("terminationMessagePolicy", &["File", "FallbackToLogsOnError"]));
    faults.extend(ports(container, &path.child("ports")));
    faults.extend(environment::validate(container, path));
    faults.extend(mounts::validate(container, context.volumes, path));
    faults.extend(enumeration("imagePullPolicy", &["Always", "IfNotPresent", "Never"]));
    if let Some(resources) = get(container, "resources") {
        faults.extend(requirements::of_container(resources, &path.child("resources")));
    }
    let policy = text(context.spec, "restartPolicy");
    faults.extend(resize_policy(container, policy, &path.child("resizePolicy")));
    faults
}

/// validateContainerPorts.
fn ports(container: &Value, path: &Path) -> Vec<Invalid> {
    let (mut faults, mut seen) = (Vec::new(), BTreeSet::new());
    for (index, port) in items(container, "ports").iter().enumerate() {
        let path = path.index(index);
        let name = text(port, "name");
        if !name.is_empty() {
            let path = path.child("name");
            let wrong = path.refuse(name, port_name(name));
            if wrong.is_empty() && !seen.insert(name) {
                faults.push(duplicate(&path, name));
            }
            faults.extend(wrong);
        }
        for (field, required) in [("containerPort", true), ("hostPort", false)] {
            let (path, number) = (path.child(field), count(port, field));
            if number == 0 && required {
                faults.push(path.required(""));
            } else if number != 0 {
                let wrong = port_number(number);
                faults.extend(wrong.iter().map(|fault| path.invalid(number, fault)));
            }
        }
        let protocol = text(port, "protocol");
        faults.extend(one_of(protocol, &["SCTP", "TCP", "UDP"], &path.child("protocol")));
    }
    faults
}

/// A port of the host is there once (checkHostPortConflicts).
fn host_ports(containers: &[Value], path: &Path) -> Vec<Invalid> {
    let (mut faults, mut seen) = (Vec::new(), BTreeSet::new());
    for (index, container) in containers.iter().enumerate() {
        let path = path.index(index).child("ports");
        for (index, port) in items(container, "ports").iter().enumerate() {
            let number = count(port, "hostPort");
            if number == 0 {
                continue;
            }
            let port = format!("{}/{}/{number}", text(port, "protocol"), text(port, "hostIP"));
            if !seen.insert(port.clone()) {
                faults.push(duplicate(&path.index(index).child("hostPort"), &port));
            }
        }
    }
    faults
}

/// validateResizePolicy. Upstream names the list, not the item.
fn resize_policy(container: &Value, pod_policy: &str, path: &Path) -> Vec<Invalid> {
    let (mut faults, mut seen) = (Vec::new(), BTreeSet::new());
    for (index, item) in items(container, "resizePolicy").iter().enumerate() {
        let (resource, policy) = (text(item, "resourceName"), text(item, "restartPolicy"));
        if !seen.insert(resource) {
            faults.push(duplicate(&path.index(index), resource));
        }
        faults.extend(one_of(resource, &["cpu", "memory"], path));
        faults.extend(one_of(policy, &["NotRequired", "RestartContainer"], path));
        if pod_policy == "Never" && policy != "NotRequired" {
            let fault = "must be 'NotRequired' when pod `restartPolicy` is 'Never'";
            faults.push(path.invalid(policy, fault));
        }
    }
    faults
}

/// validateContainerRestartPolicy, and that of init containers.
fn restart_policy(container: &Value, path: &Path) -> Vec<Invalid> {
    let rules = items(container, "restartPolicyRules");
    let mut faults = Vec::new();
    match get(container, "restartPolicy").and_then(Value::as_str) {
        None if rules.is_empty() => return faults,
        None => {
            let fault = "must specify restartPolicy when restart rules are used";
            faults.push(path.child("restartPolicy").required(fault));
        }
        Some("Always" | "Never" | "OnFailure") => {}
        Some(policy) => {
            let known = ["Always", "Never", "OnFailure"];
            faults.push(path.child("restartPolicy").not_supported(policy, &known));
        }
    }
    let path = path.child("restartPolicyRules");
    if rules.len() > RULES_MAX {
        faults.push(path.is(Fault::TooMany(rules.len(), RULES_MAX)));
    }
    for (index, rule) in rules.iter().enumerate() {
        let path = path.index(index);
        let action = text(rule, "action");
        if !matches!(action, "Restart" | "RestartAllContainers") {
            let known = ["Restart", "RestartAllContainers"];
            faults.push(path.child("action").not_supported(action, &known));
        }
        let path = path.child("exitCodes");
        let Some(codes) = get(rule, "exitCodes") else {
            faults.push(path.required("must be specified"));
            continue;
        };
        let operator = text(codes, "operator");
        if !matches!(operator, "In" | "NotIn") {
            faults.push(path.child("operator").not_supported(operator, &["In", "NotIn"]));
        }
        let values = items(codes, "values").len();
        if values > CODES_MAX {
            faults.push(path.child("values").is(Fault::TooMany(values, CODES_MAX)));
        }
    }
    faults
}
