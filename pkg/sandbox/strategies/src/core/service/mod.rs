//! Service. Addresses and ports are given out elsewhere, between [`Strategy::prepare_create`] and
//! [`Strategy::validate_create`], and the same of updates.

mod rules;

use std::borrow::Cow;
use std::collections::BTreeSet;

use api::Time;
use serde_json::{Value, json};

use crate::formats::legacy_ip;
use crate::selector;
use crate::semantic::same_at;
use crate::table::{AGE, NAME, age, cell, heading, load_balancer, name, wide};
use crate::value::{
    annotation, count, entries, fill, fill_zero, get, items, items_mut, keep, number, or_null,
    remove, section, set, text, texts,
};
use crate::{Cell, Column, Environment, Invalid, NameRule, Path, Strategy};

const COLUMNS: &[Column] = &[
    NAME,
    heading("Type"),
    heading("Cluster-IP"),
    heading("External-IP"),
    heading("Port(s)"),
    AGE,
    wide("Selector"),
];
const HINTS: &str = "service.kubernetes.io/topology-aware-hints";

/// A service.
pub struct Service;

impl Strategy for Service {
    fn name_rule(&self) -> NameRule {
        NameRule::Label
    }

    fn default(&self, object: &mut Value) {
        default_spec(section(object, "spec"));
        let balanced = text(object, "/spec/type") == "LoadBalancer";
        let status = section(object, "status");
        let given = section(status, "loadBalancer");
        for given in items_mut(given, "ingress") {
            if balanced && !text(given, "/ip").is_empty() {
                fill(given, "ipMode", "VIP");
            }
        }
    }

    fn prepare_create(&self, object: &mut Value, _env: &Environment<'_>) {
        set(object, "status", json!({ "loadBalancer": {} }));
        let spec = section(object, "spec");
        let ip = text(spec, "/clusterIP").to_owned();
        if !ip.is_empty() && texts(spec, "/clusterIPs").is_empty() {
            set(spec, "clusterIPs", json!([ip]));
        }
        fill_families(spec, None);
    }

    fn validate_create(&self, object: &Value) -> Vec<Invalid> {
        rules::validate(object)
    }

    fn prepare_update(&self, new: &mut Value, old: &Value, _env: &Environment<'_>) {
        let was = or_null(old, "/spec");
        let spec = section(new, "spec");
        keep_given(spec, &was);
        align_addresses(spec, &was);
        fill_families(spec, Some(&was));
        drop_unused(spec, &was);
        keep(new, old, "status");
        if text(new, "/spec/type") != "LoadBalancer" {
            set(section(new, "status"), "loadBalancer", json!({}));
        }
    }

    fn validate_update(&self, new: &Value, old: &Value) -> Vec<Invalid> {
        rules::validate_update(new, old)
    }

    fn prepare_status(&self, new: &mut Value, old: &Value, _env: &Environment<'_>) {
        keep(new, old, "spec");
    }

    fn validate_status(&self, new: &Value, _old: &Value) -> Vec<Invalid> {
        let path = Path::new("status").child("loadBalancer").child("ingress");
        let mut wrongs = Vec::new();
        for (index, given) in items(new, "/status/loadBalancer/ingress").iter().enumerate() {
            let (path, ip) = (path.index(index), text(given, "/ip"));
            if !ip.is_empty() {
                wrongs.extend(path.child("ip").refuse(ip, legacy_ip(ip)));
            }
            let mode = text(given, "/ipMode");
            if !mode.is_empty() && !["Proxy", "VIP"].contains(&mode) {
                wrongs.push(path.child("ipMode").not_supported(mode, &["Proxy", "VIP"]));
            }
        }
        wrongs
    }

    fn warnings(&self, object: &Value, _old: Option<&Value>) -> Vec<String> {
        let headless = is_headless(object);
        let said = |pointer: &str| !text(object, pointer).is_empty();
        let external_ips = !items(object, "/spec/externalIPs").is_empty();
        let external = text(object, "/spec/type") == "ExternalName";
        let known = [
            (
                annotation(object, HINTS).is_some(),
                "annotation service.kubernetes.io/topology-aware-hints is deprecated, please use \
                 service.kubernetes.io/topology-mode instead",
            ),
            (
                headless && said("/spec/loadBalancerIP"),
                "spec.loadBalancerIP is ignored for headless services",
            ),
            (headless && external_ips, "spec.externalIPs is ignored for headless services"),
            (
                headless && text(object, "/spec/sessionAffinity") == "ClientIP",
                "spec.SessionAffinity is ignored for headless services",
            ),
            (
                external_ips && !headless && !external,
                "spec.externalIPs is deprecated and may no longer be implemented in some clusters",
            ),
            (
                external_ips && external,
                "spec.externalIPs is ignored when spec.type is \"ExternalName\"",
            ),
            (
                said("/spec/externalName") && !external,
                "spec.externalName is ignored when spec.type is not \"ExternalName\"",
            ),
            (
                text(object, "/spec/trafficDistribution") == "PreferClose",
                "spec.trafficDistribution: \"PreferClose\" is deprecated; use \"PreferSameZone\"",
            ),
        ];
        known.iter().filter(|(said, _)| *said).map(|(_, warning)| (*warning).to_owned()).collect()
    }

    fn allows_create_on_update(&self) -> bool {
        true
    }

    fn selectable(&self, object: &Value, field: &str) -> Option<Cow<'static, str>> {
        let value = match field {
            "spec.clusterIP" => text(object, "/spec/clusterIP"),
            "spec.type" => text(object, "/spec/type"),
            _ => return None,
        };
        Some(value.to_owned().into())
    }

    fn selectable_fields(&self) -> &'static [&'static str] {
        &["spec.clusterIP", "spec.type"]
    }

    fn columns(&self) -> &'static [Column] {
        COLUMNS
    }

    fn row(&self, object: &Value, now: Time) -> Vec<Cell> {
        let internal = texts(object, "/spec/clusterIPs").first().copied().unwrap_or("<none>");
        vec![
            name(object),
            cell(object, "/spec/type"),
            internal.into(),
            external(object).into(),
            ports(object).into(),
            age(object, now),
            selector::print_labels(&or_null(object, "/spec/selector")).into(),
        ]
    }
}

/// Whether its pods are reached without an address of its own.
fn is_headless(object: &Value) -> bool {
    texts(object, "/spec/clusterIPs") == ["None"]
}

/// Whether it can be reached from outside (ExternallyAccessible), by its spec.
fn is_accessible(spec: &Value) -> bool {
    match text(spec, "/type") {
        "LoadBalancer" | "NodePort" => true,
        "ClusterIP" => !items(spec, "/externalIPs").is_empty(),
        _ => false,
    }
}

fn needs_node_ports(spec: &Value) -> bool {
    ["LoadBalancer", "NodePort"].contains(&text(spec, "/type"))
}

/// Whether a load balancer must know which nodes have pods.
fn needs_health_check(spec: &Value) -> bool {
    text(spec, "/type") == "LoadBalancer" && text(spec, "/externalTrafficPolicy") == "Local"
}

/// SetDefaults_Service.
fn default_spec(spec: &mut Value) {
    fill_zero(spec, "sessionAffinity", "None");
    match text(spec, "/sessionAffinity") {
        "None" => drop(remove(spec, "sessionAffinityConfig")),
        "ClientIP" if number(spec, "/sessionAffinityConfig/clientIP/timeoutSeconds").is_none() => {
            set(spec, "sessionAffinityConfig", json!({ "clientIP": { "timeoutSeconds": 10_800 } }));
        }
        _ => {}
    }
    fill_zero(spec, "type", "ClusterIP");
    for port in items_mut(spec, "ports") {
        fill_zero(port, "protocol", "TCP");
        let target = get(port, "/targetPort");
        if target.is_none_or(|it| *it == json!(0) || *it == json!("")) {
            let same = count(port, "/port");
            set(port, "targetPort", same);
        }
    }
    if is_accessible(spec) {
        fill_zero(spec, "externalTrafficPolicy", "Cluster");
    }
    if ["ClusterIP", "LoadBalancer", "NodePort"].contains(&text(spec, "/type")) {
        fill(spec, "internalTrafficPolicy", "Cluster");
    }
    if text(spec, "/type") == "LoadBalancer" {
        fill(spec, "allocateLoadBalancerNodePorts", true);
    }
}

/// The families of addresses, as initIPFamilyFields of a cluster with IPv4 alone.
fn fill_families(spec: &mut Value, was: Option<&Value>) {
    if text(spec, "/type") == "ExternalName" {
        return;
    }
    let bare = text(spec, "/clusterIP") == "None" && entries(spec, "/selector").is_empty();
    let policy = was.map(|was| text(was, "/ipFamilyPolicy")).filter(|policy| !policy.is_empty());
    let otherwise = if bare { "RequireDualStack" } else { "SingleStack" };
    fill(spec, "ipFamilyPolicy", policy.unwrap_or(otherwise));
    let mut families: Vec<Value> = items(spec, "/ipFamilies").to_vec();
    for ip in texts(spec, "/clusterIPs").iter().skip(families.len()).filter(|ip| **ip != "None") {
        families.push(if ip.contains(':') { "IPv6" } else { "IPv4" }.into());
    }
    if families.is_empty() {
        families.push("IPv4".into());
    }
    if bare && families.len() == 1 && text(spec, "/ipFamilyPolicy") != "SingleStack" {
        let other = if families == ["IPv4"] { "IPv6" } else { "IPv4" };
        families.push(other.into());
    }
    set(spec, "ipFamilies", families);
}

/// What the API server gave out, and the client does not say, stays (patchAllocatedValues).
fn keep_given(spec: &mut Value, was: &Value) {
    let needs_address = |spec: &Value| text(spec, "/type") != "ExternalName";
    if needs_address(was) && needs_address(spec) {
        fill_zero(spec, "clusterIP", text(was, "/clusterIP"));
        if text(spec, "/clusterIP").is_empty() {
            remove(spec, "clusterIP");
        }
        if texts(spec, "/clusterIPs").is_empty() && !texts(was, "/clusterIPs").is_empty() {
            keep(spec, was, "clusterIPs");
        }
    }
    if needs_node_ports(was) && needs_node_ports(spec) {
        let used: Vec<_> = node_ports(was).intersection(&node_ports(spec)).copied().collect();
        for port in items_mut(spec, "ports") {
            let named = |it: &&Value| text(it, "/name") == text(port, "/name");
            let given = items(was, "/ports").iter().rfind(named);
            let given = given.and_then(|it| number(it, "/nodePort")).unwrap_or_default();
            let free = given != 0 && !used.contains(&given);
            if free && count(port, "/nodePort") == 0 {
                set(port, "nodePort", given);
            }
        }
    }
    if needs_health_check(was) && needs_health_check(spec) {
        let given = count(was, "/healthCheckNodePort");
        if given != 0 {
            fill_zero(spec, "healthCheckNodePort", given);
        }
    }
}

/// `clusterIP` is the first of `clusterIPs` (normalizeClusterIPs).
fn align_addresses(spec: &mut Value, was: &Value) {
    let (ip, old) = (text(spec, "/clusterIP").to_owned(), text(was, "/clusterIP"));
    if ip == old || !same_at(spec, was, "/clusterIPs") {
        return;
    }
    if ip.is_empty() {
        remove(spec, "clusterIPs");
    } else {
        set(spec, "clusterIPs", json!([ip]));
    }
}

/// Drops fields of another type that the client did not touch (dropTypeDependentFields).
fn drop_unused(spec: &mut Value, was: &Value) {
    let is = |spec: &Value, kind: &str| text(spec, "/type") == kind;
    let same = |spec: &Value, name: &str| same_at(spec, was, &format!("/{name}"));
    if !is(was, "ExternalName") && is(spec, "ExternalName") {
        if same(spec, "clusterIP") && same(spec, "clusterIPs") {
            remove(spec, "clusterIP");
            remove(spec, "clusterIPs");
        }
        for name in ["ipFamilies", "ipFamilyPolicy"] {
            if same(spec, name) {
                remove(spec, name);
            }
        }
    }
    let given = node_ports(was);
    if needs_node_ports(was) && !needs_node_ports(spec) && node_ports(spec).is_subset(&given) {
        for port in items_mut(spec, "ports") {
            remove(port, "nodePort");
        }
    }
    let balanced = |spec: &Value| is(spec, "LoadBalancer");
    let dropped = [
        ("healthCheckNodePort", needs_health_check(was) && !needs_health_check(spec)),
        ("allocateLoadBalancerNodePorts", balanced(was) && !balanced(spec)),
        ("loadBalancerClass", balanced(was) && !balanced(spec)),
        ("externalTrafficPolicy", is_accessible(was) && !is_accessible(spec)),
    ];
    for (name, _) in dropped.into_iter().filter(|(_, unused)| *unused) {
        if same(spec, name) {
            remove(spec, name);
        }
    }
    if is(spec, "ExternalName") {
        remove(spec, "internalTrafficPolicy");
    }
}

fn node_ports(spec: &Value) -> BTreeSet<i64> {
    let ports = items(spec, "/ports").iter().filter_map(|port| number(port, "/nodePort"));
    ports.filter(|port| *port != 0).collect()
}

/// As getServiceExternalIP.
fn external(object: &Value) -> String {
    let fixed = texts(object, "/spec/externalIPs");
    match text(object, "/spec/type") {
        "ClusterIP" | "NodePort" if fixed.is_empty() => "<none>".to_owned(),
        "ClusterIP" | "NodePort" => fixed.join(","),
        "LoadBalancer" => {
            let given = load_balancer(object);
            let all: Vec<_> =
                [given.as_str()].into_iter().filter(|it| !it.is_empty()).chain(fixed).collect();
            if all.is_empty() { "<pending>".to_owned() } else { all.join(",") }
        }
        "ExternalName" => text(object, "/spec/externalName").to_owned(),
        _ => "<unknown>".to_owned(),
    }
}

/// As makePortString.
fn ports(object: &Value) -> String {
    let one = |port: &Value| {
        let (own, protocol) = (count(port, "/port"), text(port, "/protocol"));
        match count(port, "/nodePort") {
            on_nodes @ 1.. => format!("{own}:{on_nodes}/{protocol}"),
            _ => format!("{own}/{protocol}"),
        }
    };
    let ports: Vec<_> = items(object, "/spec/ports").iter().map(one).collect();
    if ports.is_empty() { "<none>".to_owned() } else { ports.join(",") }
}
