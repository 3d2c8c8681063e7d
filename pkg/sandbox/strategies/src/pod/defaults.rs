//! What is filled in (pkg/apis/core/v1/defaults.go and zz_generated.defaults.go). Go also writes
//! some fields that no client set, since their types cannot be absent; those are filled in here as
//! well: `resources: {}`, a template's `metadata: {}`, `divisor: "0"`.

use serde_json::{Value, json};

use super::compact::compact;
use super::image::pull_policy;
use super::{resources, status, volume_defaults};
use crate::Quantity;
use crate::value::{
    count, entries, fill, fill_zero, flag, get, get_mut, items_mut, number, section, set, text,
};

/// The lists of containers of a pod.
const CONTAINERS: [&str; 3] = ["initContainers", "containers", "ephemeralContainers"];
/// Those that pods run on their own.
const MAIN_CONTAINERS: [&str; 2] = ["containers", "initContainers"];

/// Fills in a pod: what a template gets, and more.
pub(crate) fn default_pod(pod: &mut Value) {
    let spec = section(pod, "spec");

    for container in MAIN_CONTAINERS {
        items_mut(spec, container).for_each(request_limits);
    }
    default_pod_spec(spec);
    resources::default_pod_level(spec);
    // Of pods alone, where they are converted: templates keep what they say.
    if number(spec, "terminationGracePeriodSeconds").is_some_and(|period| period < 0) {
        set(spec, "terminationGracePeriodSeconds", 1);
    }
    fill(spec, "enableServiceLinks", true);
    if flag(spec, "hostNetwork") {
        for container in MAIN_CONTAINERS {
            items_mut(spec, container).for_each(host_ports);
        }
    }

    status::normalize(pod);
}

/// Fills in the pod template of a workload.
pub fn default_template(template: &mut Value) {
    section(template, "metadata");
    let spec = section(template, "spec");

    default_pod_spec(spec);
}

/// Fills in a pod's spec wherever it stands (SetDefaults_PodSpec and what is below it).
pub fn default_pod_spec(spec: &mut Value) {
    compact(spec, "spec");
    fill_zero(spec, "dnsPolicy", "ClusterFirst");
    fill_zero(spec, "restartPolicy", "Always");
    fill(spec, "securityContext", json!({}));
    fill(spec, "terminationGracePeriodSeconds", 30);
    fill_zero(spec, "schedulerName", "default-scheduler");
    sync_service_account(spec);
    items_mut(spec, "volumes").for_each(volume_defaults::volume);
    for container in CONTAINERS {
        items_mut(spec, container).for_each(default_container);
    }
    round(spec, "overhead");
    if let Some(resources) = get_mut(spec, "resources") {
        round_resources(resources);
    }
}

/// The old name of `serviceAccountName` says the same.
pub(crate) fn sync_service_account(spec: &mut Value) {
    let name = match text(spec, "serviceAccountName") {
        "" => text(spec, "serviceAccount"),
        name => name,
    };
    if !name.is_empty() {
        let name = name.to_owned();
        set(spec, "serviceAccountName", name.clone());
        set(spec, "serviceAccount", name);
    }
}

/// Rounds the amounts of `limits` and `requests` to thousandths, in canonical form.
pub(crate) fn round_resources(resources: &mut Value) {
    round(resources, "limits");
    round(resources, "requests");
}

/// SetDefaults_ObjectFieldSelector.
pub(crate) fn field_ref(holder: &mut Value) {
    if let Some(field) = get_mut(holder, "fieldRef") {
        fill_zero(field, "apiVersion", "v1");
    }
    if let Some(field) = get_mut(holder, "resourceFieldRef") {
        fill(field, "divisor", "0");
        canonical(field, "divisor");
    }
}

/// An amount in canonical form; what is none stays as it is.
pub(crate) fn canonical(value: &mut Value, field: &str) {
    if let Some(amount) = get_mut(value, field)
        && let Some(quantity) = Quantity::from_json(amount)
    {
        *amount = quantity.to_string().into();
    }
}

fn round(value: &mut Value, field: &str) {
    let amounts = value.get_mut(field).and_then(Value::as_object_mut);
    for amount in amounts.into_iter().flat_map(|map| map.values_mut()) {
        if let Some(quantity) = Quantity::from_json(amount) {
            *amount = quantity.rounded_to_milli().to_string().into();
        }
    }
}

fn default_container(container: &mut Value) {
    let policy = pull_policy(text(container, "image"));
    fill_zero(container, "imagePullPolicy", policy);
    fill_zero(container, "terminationMessagePath", "/dev/termination-log");
    fill_zero(container, "terminationMessagePolicy", "File");
    let resources = section(container, "resources");

    round_resources(resources);

    items_mut(container, "ports").for_each(|port| fill_zero(port, "protocol", "TCP"));
    for variable in items_mut(container, "env") {
        if let Some(source) = get_mut(variable, "valueFrom") {
            field_ref(source);
            if let Some(file) = get_mut(source, "fileKeyRef") {
                fill(file, "optional", false);
            }
        }
    }
    for probe in ["livenessProbe", "readinessProbe", "startupProbe"] {
        if let Some(probe) = get_mut(container, probe) {
            default_probe(probe);
        }
    }
    if let Some(lifecycle) = get_mut(container, "lifecycle") {
        for hook in ["postStart", "preStop"] {
            if let Some(hook) = get_mut(lifecycle, hook) {
                default_http(hook);
            }
        }
    }
}

fn default_probe(probe: &mut Value) {
    let numbers = [
        ("timeoutSeconds", 1),
        ("periodSeconds", 10),
        ("successThreshold", 1),
        ("failureThreshold", 3),
    ];
    for (field, default) in numbers {
        fill_zero(probe, field, default);
    }
    default_http(probe);
    if let Some(grpc) = get_mut(probe, "grpc") {
        fill(grpc, "service", "");
    }
}

fn default_http(handler: &mut Value) {
    if let Some(http) = get_mut(handler, "httpGet") {
        fill_zero(http, "path", "/");
        fill_zero(http, "scheme", "HTTP");
    }
}

/// What is limited and not requested is requested up to its limit.
fn request_limits(container: &mut Value) {
    let Some(resources) = get_mut(container, "resources") else { return };
    if get(resources, "limits").is_none() {
        return;
    }
    let limits: Vec<_> = entries(resources, "limits")
        .into_iter()
        .map(|(name, limit)| (name.to_owned(), limit.clone()))
        .collect();
    let requests = section(resources, "requests");

    for (name, limit) in limits {
        fill(requests, &name, limit);
    }
}

fn host_ports(container: &mut Value) {
    for port in items_mut(container, "ports") {
        let number = count(port, "containerPort");
        fill_zero(port, "hostPort", number);
    }
}
