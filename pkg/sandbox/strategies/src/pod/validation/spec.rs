//! The spec as a whole (ValidatePodSpec).

use std::collections::BTreeSet;

use serde_json::Value;

use super::containers::{self, Context};
use super::{Owner, affinity, duplicate, known_if_set, one_of, requirements, spreading, volumes};
use crate::formats::{Wrongs, dns_label, dns_subdomain, in_range, label_key, label_value};
use crate::selector::validate_labels;
use crate::value::{count, flag, get, items, number, or_null, text};
use crate::{Fault, Invalid, Path};

/// What `activeDeadlineSeconds` can be at most.
const DEADLINE_SECONDS_MAX: i64 = i32::MAX as i64;
const HOSTNAME_LENGTH_MAX: usize = 64;

pub(super) fn validate(spec: &Value, path: &Path, owner: Owner) -> Vec<Invalid> {
    let mut faults = Vec::new();
    let (volumes, volume_faults) = volumes::validate(spec, &path.child("volumes"), owner);
    faults.extend(volume_faults);
    let context = Context { spec, volumes: &volumes };
    faults.extend(containers::validate(&context, path));
    if let Some(resources) = get(spec, "resources") {
        faults.extend(requirements::of_pod(resources, &path.child("resources")));
        faults.extend(requirements::fit(spec, resources, &path.child("resources")));
    }
    faults.extend(host_network_ports(spec, path, owner));
    let policies = ["Always", "OnFailure", "Never"];
    faults.extend(one_of(text(spec, "restartPolicy"), &policies, &path.child("restartPolicy")));
    let policies = ["ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"];
    faults.extend(one_of(text(spec, "dnsPolicy"), &policies, &path.child("dnsPolicy")));
    faults.extend(validate_labels(&or_null(spec, "nodeSelector"), &path.child("nodeSelector")));
    faults.extend(affinity::validate(spec, &path.child("affinity")));
    faults.extend(dns_config(spec, &path.child("dnsConfig")));
    for (index, gate) in items(spec, "readinessGates").iter().enumerate() {
        let path = path.child("readinessGates").index(index).child("conditionType");
        let kind = text(gate, "conditionType");
        faults.extend(path.refuse(kind, label_key(kind)));
    }
    faults.extend(scheduling_gates(spec, &path.child("schedulingGates")));
    faults.extend(spreading::validate(spec, &path.child("topologySpreadConstraints")));
    faults.extend(host_users(spec, path));
    faults.extend(hostname_override(spec, path));
    faults.extend(references(spec, path));
    faults.extend(tolerations(items(spec, "tolerations"), &path.child("tolerations")));
    faults.extend(priorities(spec, path));
    if get(spec, "overhead").is_some() {
        faults.extend(requirements::of_overhead(spec, &path.child("overhead")));
    }
    faults.extend(operating_system(spec, &path.child("os")));
    faults
}

/// validatePodHostNetworkDeps.
fn host_network_ports(spec: &Value, path: &Path, owner: Owner) -> Vec<Invalid> {
    let mut faults = Vec::new();
    if !flag(spec, "hostNetwork") {
        return faults;
    }
    for (index, container) in items(spec, "containers").iter().enumerate() {
        let path = path.child("containers").index(index).child("ports");
        for (index, port) in items(container, "ports").iter().enumerate() {
            let (host, inner) = (count(port, "hostPort"), count(port, "containerPort"));
            // A template's port is filled in once there is a pod.
            if host != inner && (owner == Owner::Pod || host != 0) {
                let fault = "must match `containerPort` when `hostNetwork` is true";
                faults.push(path.index(index).child("hostPort").invalid(host, fault));
            }
        }
    }
    faults
}

/// validatePodDNSConfig, but for addresses and search paths.
fn dns_config(spec: &Value, path: &Path) -> Vec<Invalid> {
    const SERVERS_MAX: usize = 3;
    const SEARCHES_MAX: usize = 32;
    let config = get(spec, "dnsConfig");
    let servers = config.map(|it| items(it, "nameservers")).unwrap_or_default();
    if text(spec, "dnsPolicy") == "None" && servers.is_empty() {
        let fault = match config {
            None => path.required("must provide `dnsConfig` when `dnsPolicy` is None"),
            Some(_) => path
                .child("nameservers")
                .required("must provide at least one DNS nameserver when `dnsPolicy` is None"),
        };
        return vec![fault];
    }
    let Some(config) = config else { return Vec::new() };
    let mut faults = Vec::new();
    let limits =
        [("nameservers", SERVERS_MAX, "nameservers"), ("searches", SEARCHES_MAX, "search paths")];
    for (field, max, noun) in limits {
        let values = items(config, field);
        if values.len() > max {
            let fault = format!("must not have more than {max} {noun}");
            faults.push(path.child(field).invalid(values.to_vec(), &fault));
        }
    }
    for (index, option) in items(config, "options").iter().enumerate() {
        if text(option, "name").is_empty() {
            faults.push(path.child("options").index(index).required("must not be empty"));
        }
    }
    faults
}

/// validateSchedulingGates.
fn scheduling_gates(spec: &Value, path: &Path) -> Vec<Invalid> {
    let (mut faults, mut seen) = (Vec::new(), BTreeSet::new());
    for (index, gate) in items(spec, "schedulingGates").iter().enumerate() {
        let (path, name) = (path.index(index), text(gate, "name"));
        faults.extend(path.refuse(name, label_key(name)));
        if !seen.insert(name) {
            faults.push(duplicate(&path, name));
        }
    }
    faults
}

/// validateHostUsers.
fn host_users(spec: &Value, path: &Path) -> Vec<Invalid> {
    let mut faults = Vec::new();
    if get(spec, "hostUsers").and_then(Value::as_bool) != Some(false) {
        return faults;
    }
    let fields = [("hostNetwork", "hostNetwork"), ("hostPID", "HostPID"), ("hostIPC", "HostIPC")];
    for (field, shown) in fields {
        if flag(spec, field) {
            faults.push(path.child(shown).forbidden("when `hostUsers` is false"));
        }
    }
    faults
}

/// validatePodHostName.
fn hostname_override(spec: &Value, path: &Path) -> Vec<Invalid> {
    let Some(name) = get(spec, "hostnameOverride").and_then(Value::as_str) else {
        return Vec::new();
    };
    let path = path.child("hostnameOverride");
    let mut faults = Vec::new();
    for field in ["setHostnameAsFQDN", "hostNetwork"] {
        if flag(spec, field) {
            let fault = format!("may not be specified when {field} is true");
            faults.push(path.forbidden(&fault));
        }
    }
    if name.len() > HOSTNAME_LENGTH_MAX {
        faults.push(path.is(Fault::TooLong(HOSTNAME_LENGTH_MAX)));
    }
    faults.extend(path.refuse(name, dns_subdomain(name)));
    faults
}

/// Names of other things, and of the pod's host.
fn references(spec: &Value, path: &Path) -> Vec<Invalid> {
    let check = |field: &str, check: fn(&str) -> Wrongs| match text(spec, field) {
        "" => Vec::new(),
        name => path.child(field).refuse(name, check(name)),
    };
    let mut faults = check("serviceAccountName", dns_subdomain);
    faults.extend(check("nodeName", dns_subdomain));
    if let Some(deadline) = number(spec, "activeDeadlineSeconds") {
        let path = path.child("activeDeadlineSeconds");
        let range = in_range(deadline, 1, DEADLINE_SECONDS_MAX);
        faults.extend(range.iter().map(|fault| path.invalid(deadline, fault)));
    }
    faults.extend(check("hostname", dns_label));
    faults.extend(check("subdomain", dns_label));
    faults
}

/// Priority, preemption, and names of classes.
fn priorities(spec: &Value, path: &Path) -> Vec<Invalid> {
    let mut faults = Vec::new();
    for field in ["priorityClassName", "runtimeClassName"] {
        let name = text(spec, field);
        if !name.is_empty() {
            faults.extend(path.child(field).refuse(name, dns_subdomain(name)));
        }
    }
    if let Some(policy) = get(spec, "preemptionPolicy").and_then(Value::as_str) {
        let path = path.child("preemptionPolicy");
        faults.extend(one_of(policy, &["PreemptLowerPriority", "Never"], &path));
    }
    faults
}

/// validateOS: what is missing is the name, what is wrong is all of it.
fn operating_system(spec: &Value, path: &Path) -> Option<Invalid> {
    let system = text(get(spec, "os")?, "name");
    if system.is_empty() {
        return Some(path.child("name").required(""));
    }
    known_if_set(system, &["linux", "windows"], path)
}

/// ValidateTolerations.
pub(crate) fn tolerations(tolerations: &[Value], path: &Path) -> Vec<Invalid> {
    let mut faults = Vec::new();
    for (index, toleration) in tolerations.iter().enumerate() {
        let path = path.index(index);
        let [key, operator, value, effect] =
            ["key", "operator", "value", "effect"].map(|field| text(toleration, field));
        if !key.is_empty() {
            faults.extend(path.child("key").refuse(key, label_key(key)));
        } else if operator != "Exists" {
            let fault = "operator must be Exists when `key` is empty, which means \"match all \
                         values and all keys\"";
            faults.push(path.child("operator").invalid(operator, fault));
        }
        if get(toleration, "tolerationSeconds").is_some() && effect != "NoExecute" {
            let fault = "effect must be 'NoExecute' when `tolerationSeconds` is set";
            faults.push(path.child("effect").invalid(effect, fault));
        }
        faults.extend(operator_fault(operator, value, &path.child("operator")));
        let effects = ["NoSchedule", "PreferNoSchedule", "NoExecute"];
        faults.extend(known_if_set(effect, &effects, &path.child("effect")));
    }
    faults
}

fn operator_fault(operator: &str, value: &str, path: &Path) -> Option<Invalid> {
    match operator {
        "" | "Equal" => {
            let faults = label_value(value);
            (!faults.is_empty()).then(|| path.invalid(value, &faults.join(";")))
        }
        "Exists" if value.is_empty() => None,
        "Exists" => Some(path.invalid(value, "value must be empty when `operator` is 'Exists'")),
        "Lt" | "Gt" => Some(path.not_supported(operator, &["Equal", "Exists", "Lt", "Gt"])),
        _ => Some(path.not_supported(operator, &["Equal", "Exists"])),
    }
}
