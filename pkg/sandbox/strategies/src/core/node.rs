//! Node.

use std::borrow::Cow;
use std::collections::BTreeSet;

use api::Time;
use serde_json::{Value, json};

use crate::amounts::of_resources;
use crate::formats::{label_key, label_value, legacy_cidr, parts};
use crate::table::{AGE, NAME, age, cell, cell_or, heading, name, wide};
use crate::value::{
    entries, fill, fill_zero, flag, get, items, keep, or_null, remove, section, set, text, texts,
};
use crate::{Cell, Column, Environment, Fault, Invalid, Path, Strategy};

const COLUMNS: &[Column] = &[
    NAME,
    heading("Status"),
    heading("Roles"),
    AGE,
    heading("Version"),
    wide("Internal-IP"),
    wide("External-IP"),
    wide("OS-Image"),
    wide("Kernel-Version"),
    wide("Container-Runtime"),
];

/// A node.
pub struct Node;

impl Strategy for Node {
    fn default(&self, object: &mut Value) {
        pod_cidrs(section(object, "spec"));
        let status = section(object, "status");
        if let Some(capacity) = get(status, "/capacity").cloned() {
            fill(status, "allocatable", capacity);
        }
        let daemons = section(status, "daemonEndpoints");
        fill_zero(section(daemons, "kubeletEndpoint"), "Port", 0);
        node_info(section(status, "nodeInfo"));
    }

    fn prepare_create(&self, object: &mut Value, _env: &Environment<'_>) {
        remove(section(object, "spec"), "configSource");
        remove(section(object, "status"), "config");
    }

    fn validate_create(&self, object: &Value) -> Vec<Invalid> {
        let mut wrongs = taints(object);
        wrongs.extend(resources(object));
        let path = Path::new("spec").child("podCIDRs");
        let ranges = texts(object, "/spec/podCIDRs");
        for (index, range) in ranges.iter().enumerate() {
            wrongs.extend(path.index(index).refuse(range, legacy_cidr(range)));
        }
        let v6 = ranges.iter().filter_map(|range| parts(range)).filter(|it| it.0.is_ipv6()).count();
        if ranges.len() > 2 || (ranges.len() == 2 && v6 != 1) {
            let wrong = "may specify no more than one CIDR for each IP family";
            wrongs.push(path.invalid(or_null(object, "/spec/podCIDRs"), wrong));
        }
        wrongs
    }

    fn prepare_update(&self, new: &mut Value, old: &Value, _env: &Environment<'_>) {
        keep(new, old, "status");
    }

    fn validate_update(&self, new: &Value, old: &Value) -> Vec<Invalid> {
        let mut wrongs = self.validate_create(new);
        wrongs.extend(update_wrongs(new, old));
        wrongs
    }

    fn prepare_status(&self, new: &mut Value, old: &Value, _env: &Environment<'_>) {
        keep(new, old, "spec");
    }

    fn validate_status(&self, new: &Value, old: &Value) -> Vec<Invalid> {
        update_wrongs(new, old)
    }

    fn warnings(&self, object: &Value, _old: Option<&Value>) -> Vec<String> {
        let known = [
            ("/spec/configSource", "spec.configSource: the feature is removed"),
            (
                "/spec/externalID",
                "spec.externalID: this field is deprecated, and is unused by Kubernetes",
            ),
        ];
        let said = known.iter().filter(|(pointer, _)| {
            get(object, pointer).is_some_and(|value| value.as_str() != Some(""))
        });
        said.map(|(_, warning)| (*warning).to_owned()).collect()
    }

    fn selectable(&self, object: &Value, field: &str) -> Option<Cow<'static, str>> {
        let unschedulable = flag(object, "/spec/unschedulable");
        (field == "spec.unschedulable").then(|| unschedulable.to_string().into())
    }

    fn selectable_fields(&self) -> &'static [&'static str] {
        &["spec.unschedulable"]
    }

    fn columns(&self) -> &'static [Column] {
        COLUMNS
    }

    fn row(&self, object: &Value, now: Time) -> Vec<Cell> {
        let info = |field: &str| cell_or(object, &format!("/status/nodeInfo/{field}"), "<unknown>");
        let mut kernel = info("kernelVersion").as_str().unwrap_or_default().to_owned();
        let architecture = text(object, "/status/nodeInfo/architecture");
        if !architecture.is_empty() {
            kernel = format!("{kernel} ({architecture})");
        }
        vec![
            name(object),
            status(object).into(),
            roles(object).into(),
            age(object, now),
            cell(object, "/status/nodeInfo/kubeletVersion"),
            address(object, "InternalIP").into(),
            address(object, "ExternalIP").into(),
            info("osImage"),
            kernel.into(),
            info("containerRuntimeVersion"),
        ]
    }
}

/// `podCIDR` is the first of `podCIDRs`, and wins (Convert_v1_NodeSpec_To_core_NodeSpec).
fn pod_cidrs(spec: &mut Value) {
    let (one, many) = (text(spec, "/podCIDR").to_owned(), texts(spec, "/podCIDRs"));
    match (one.as_str(), many.first().map(|range| (*range).to_owned())) {
        ("", Some(first)) => set(spec, "podCIDR", first),
        (_, Some(first)) if first == one => {}
        ("", None) => {}
        (_, _) => set(spec, "podCIDRs", json!([one])),
    }
}

/// These are written even if no client sets them.
fn node_info(info: &mut Value) {
    const SAID: [&str; 10] = [
        "machineID",
        "systemUUID",
        "bootID",
        "kernelVersion",
        "osImage",
        "containerRuntimeVersion",
        "kubeletVersion",
        "kubeProxyVersion",
        "operatingSystem",
        "architecture",
    ];
    for field in SAID {
        fill(info, field, "");
    }
}

fn taints(object: &Value) -> Vec<Invalid> {
    let mut wrongs = Vec::new();
    let mut seen = BTreeSet::new();
    for (index, taint) in items(object, "/spec/taints").iter().enumerate() {
        // Upstream says metadata, too.
        let path = Path::new("metadata").child("taints").index(index);
        let (key, value) = (text(taint, "/key"), text(taint, "/value"));
        let effect = text(taint, "/effect");
        wrongs.extend(path.child("key").refuse(key, label_key(key)));
        let bad = label_value(value);
        if !bad.is_empty() {
            wrongs.push(path.child("value").invalid(value, &bad.join(";")));
        }
        match effect {
            "" => wrongs.push(path.child("effect").required("")),
            "NoSchedule" | "PreferNoSchedule" | "NoExecute" => {}
            _ => {
                let known = ["NoSchedule", "PreferNoSchedule", "NoExecute"];
                wrongs.push(path.child("effect").not_supported(effect, &known));
            }
        }
        if !seen.insert((effect, key)) {
            wrongs.push(path.is(Fault::Duplicate(taint.clone())));
        }
    }
    wrongs
}

fn resources(object: &Value) -> Vec<Invalid> {
    let of = |list: &str| {
        let path = Path::new("status").child(list);
        of_resources(object, &format!("/status/{list}"), |name| path.child(name))
    };
    [of("capacity"), of("allocatable")].concat()
}

fn update_wrongs(new: &Value, old: &Value) -> Vec<Invalid> {
    let mut wrongs = resources(new);
    let addresses = items(new, "/status/addresses");
    for (index, address) in addresses.iter().enumerate() {
        if addresses[..index].contains(address) {
            let path = Path::new("status").child("addresses").index(index);
            wrongs.push(path.is(Fault::Duplicate(address.clone())));
        }
    }
    let spec = Path::new("spec");
    let (had, has) = (texts(old, "/spec/podCIDRs"), texts(new, "/spec/podCIDRs"));
    let changed = if had.len() == has.len() {
        had.iter().zip(&has).filter(|(had, has)| had != has).count()
    } else {
        usize::from(!had.is_empty())
    };
    let wrong = "node updates may not change podCIDR except from \"\" to valid";
    wrongs.extend((0..changed).map(|_| spec.child("podCIDRs").forbidden(wrong)));
    let provider = text(old, "/spec/providerID");
    if !provider.is_empty() && provider != text(new, "/spec/providerID") {
        let wrong = "node updates may not change providerID except from \"\" to valid";
        wrongs.push(spec.child("providerID").forbidden(wrong));
    }
    wrongs.extend(taints(new));
    if text(new, "/spec/externalID") != text(old, "/spec/externalID") {
        wrongs.push(spec.child("externalID").forbidden("may not be updated"));
    }
    wrongs
}

fn status(object: &Value) -> String {
    let conditions = items(object, "/status/conditions").iter();
    let ready = conditions.rev().find(|condition| text(condition, "/type") == "Ready");
    let mut status = match ready.map(|ready| text(ready, "/status")) {
        Some("True") => "Ready",
        Some(_) => "NotReady",
        None => "Unknown",
    }
    .to_owned();
    if flag(object, "/spec/unschedulable") {
        status.push_str(",SchedulingDisabled");
    }
    status
}

fn roles(object: &Value) -> String {
    let role = |(key, value): (&str, &Value)| {
        let role = match key.strip_prefix("node-role.kubernetes.io/") {
            Some(role) => role,
            None if key == "kubernetes.io/role" => value.as_str().unwrap_or_default(),
            None => "",
        };
        (!role.is_empty()).then(|| role.to_owned())
    };
    let roles: BTreeSet<_> =
        entries(object, "/metadata/labels").into_iter().filter_map(role).collect();
    if roles.is_empty() {
        return "<none>".to_owned();
    }
    roles.into_iter().collect::<Vec<_>>().join(",")
}

fn address(object: &Value, kind: &str) -> String {
    let addresses = items(object, "/status/addresses").iter();
    let found = addresses
        .filter(|address| text(address, "/type") == kind)
        .map(|it| text(it, "/address").to_owned());
    found.into_iter().next().unwrap_or_else(|| "<none>".to_owned())
}
