//! What a service may not say.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::formats::{
    dns_label, dns_subdomain, endpoint_ip, label_key, legacy_cidr, legacy_ip, port_name,
    port_number,
};
use crate::selector::validate_labels;
use crate::value::{count, entries, get, items, maybe, number, or_null, text, texts};
use crate::{Fault, Invalid, Path};

use super::{is_accessible, is_headless, needs_health_check};

const AFFINITIES: [&str; 2] = ["ClientIP", "None"];
const BALANCED: &str = "may only be used when `type` is 'LoadBalancer'";
const DISTRIBUTIONS: [&str; 3] = ["PreferClose", "PreferSameZone", "PreferSameNode"];
const FAMILIES: [&str; 2] = ["IPv4", "IPv6"];
const FAMILY_POLICIES: [&str; 3] = ["PreferDualStack", "RequireDualStack", "SingleStack"];
const ONCE: &str = "may not change once set";
const PROTOCOLS: [&str; 3] = ["SCTP", "TCP", "UDP"];
const TRAFFIC: [&str; 2] = ["Cluster", "Local"];
const TYPES: [&str; 4] = ["ClusterIP", "ExternalName", "LoadBalancer", "NodePort"];

/// validateService.
pub(super) fn validate(object: &Value) -> Vec<Invalid> {
    let path = Path::new("spec");
    let kind = text(object, "/spec/type");
    let mut wrongs = Vec::new();
    let ports = items(object, "/spec/ports");
    if ports.is_empty() && !is_headless(object) && kind != "ExternalName" {
        wrongs.push(path.child("ports").required(""));
    }
    wrongs.extend(type_wrongs(object, kind, &path));
    wrongs.extend(port_wrongs(ports, &path.child("ports")));
    wrongs.extend(validate_labels(&or_null(object, "/spec/selector"), &path.child("selector")));
    wrongs.extend(affinity(object, &path));
    wrongs.extend(addresses(object, kind, &path));
    for (index, ip) in texts(object, "/spec/externalIPs").into_iter().enumerate() {
        let bad = legacy_ip(ip);
        let bad = if bad.is_empty() { endpoint_ip(ip) } else { bad };
        wrongs.extend(path.child("externalIPs").index(index).refuse(ip, bad));
    }
    wrongs.extend(one_of(&path.child("type"), kind, &TYPES));
    wrongs.extend(taken_ports(ports, kind, &path.child("ports")));
    wrongs.extend(balancer(object, kind, &path));
    wrongs.extend(traffic(object, kind, &path));
    wrongs
}

/// ValidateServiceUpdate.
pub(super) fn validate_update(new: &Value, old: &Value) -> Vec<Invalid> {
    let spec = Path::new("spec");
    let mut wrongs = Vec::new();
    let named = [new, old].iter().any(|it| text(it, "/spec/type") == "ExternalName");
    let (is_headless, was_headless) = (is_headless(new), is_headless(old));
    if !(named || is_headless && was_headless) {
        wrongs.extend(kept(new, old, "clusterIPs", &spec));
    }
    if !(named || is_headless || was_headless) {
        wrongs.extend(kept(new, old, "ipFamilies", &spec));
    }
    let balanced = |it: &Value| text(it, "/spec/type") == "LoadBalancer";
    let class = "/spec/loadBalancerClass";
    if balanced(new) && balanced(old) && maybe(new, class) != maybe(old, class) {
        wrongs.push(spec.child("loadBalancerClass").invalid(or_null(new, class), ONCE));
    }
    let checked = |it: &Value| get(it, "/spec").is_some_and(needs_health_check);
    let port = "/spec/healthCheckNodePort";
    if checked(new) && checked(old) && number(new, port) != number(old, port) {
        wrongs.push(spec.child("healthCheckNodePort").forbidden("field is immutable"));
    }
    wrongs.extend(validate(new));
    wrongs
}

/// Addresses and their families stay, but a second one may come and go.
fn kept(new: &Value, old: &Value, name: &str, spec: &Path) -> Vec<Invalid> {
    let pointer = format!("/spec/{name}");
    let (is, was) = (texts(new, &pointer), texts(old, &pointer));
    let path = spec.child(name);
    let wrong =
        |index: usize, wrong: &str| path.index(index).invalid(or_null(new, &pointer), wrong);
    if is.len() == was.len() {
        let changed = (0..is.len()).filter(|index| is.get(*index) != was.get(*index));
        // Upstream blames the first family, whichever changed.
        let at = |index| if name == "ipFamilies" { 0 } else { index };
        return changed.map(|index| wrong(at(index), ONCE)).collect();
    }
    let mut wrongs = Vec::new();
    if is.is_empty() {
        let what = if name == "ipFamilies" { "ipFamily" } else { "clusterIP" };
        wrongs.push(wrong(0, &format!("primary {what} can not be unset")));
    } else if !was.is_empty() && is.first() != was.first() {
        wrongs.push(wrong(0, ONCE));
    }
    let single = text(new, "/spec/ipFamilyPolicy") == "SingleStack";
    if is.len() == 1 && was.len() > 1 && !single {
        let what = if name == "ipFamilies" { "ipFamily" } else { "clusterIP" };
        let detail = format!("must be set to 'SingleStack' when releasing the secondary {what}");
        let policy = or_null(new, "/spec/ipFamilyPolicy");
        wrongs.push(spec.child("ipFamilyPolicy").invalid(policy, &detail));
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

fn type_wrongs(object: &Value, kind: &str, path: &Path) -> Vec<Invalid> {
    let mut wrongs = Vec::new();
    match kind {
        "LoadBalancer" | "NodePort" if is_headless(object) => {
            let wrong = format!("may not be set to 'None' for {kind} services");
            wrongs.push(path.child("clusterIPs").index(0).invalid("None", &wrong));
        }
        "ExternalName" => {
            let wrong = "may not be set for ExternalName services";
            for name in ["clusterIPs", "ipFamilies"] {
                if !items(object, &format!("/spec/{name}")).is_empty() {
                    wrongs.push(path.child(name).forbidden(wrong));
                }
            }
            if get(object, "/spec/ipFamilyPolicy").is_some() {
                wrongs.push(path.child("ipFamilyPolicy").forbidden(wrong));
            }
            let name = text(object, "/spec/externalName");
            let name = name.strip_suffix('.').unwrap_or(name);
            let path = path.child("externalName");
            if name.is_empty() {
                wrongs.push(path.required(""));
            } else {
                wrongs.extend(path.refuse(name, dns_subdomain(name)));
            }
        }
        _ => {}
    }
    wrongs
}

/// validateServicePort of each.
fn port_wrongs(ports: &[Value], path: &Path) -> Vec<Invalid> {
    let mut wrongs = Vec::new();
    let mut names = BTreeSet::new();
    for (index, port) in ports.iter().enumerate() {
        let path = path.index(index);
        let name = text(port, "/name");
        if !name.is_empty() {
            wrongs.extend(path.child("name").refuse(name, dns_label(name)));
            if !names.insert(name) {
                wrongs.push(path.child("name").is(Fault::Duplicate(name.into())));
            }
        } else if ports.len() > 1 {
            wrongs.push(path.child("name").required(""));
        }
        let number = count(port, "/port");
        wrongs.extend(port_number(number).map(|wrong| path.child("port").invalid(number, &wrong)));
        wrongs.extend(one_of(&path.child("protocol"), text(port, "/protocol"), &PROTOCOLS));
        let target_path = path.child("targetPort");
        match get(port, "/targetPort") {
            Some(Value::String(name)) => wrongs.extend(target_path.refuse(name, port_name(name))),
            target => {
                let number = target.and_then(Value::as_i64).unwrap_or_default();
                let wrong = port_number(number);
                wrongs.extend(wrong.map(|wrong| target_path.invalid(number, &wrong)));
            }
        }
        if let Some(protocol) = maybe(port, "/appProtocol") {
            wrongs.extend(path.child("appProtocol").refuse(protocol, label_key(protocol)));
        }
    }
    wrongs
}

/// Two ports cannot be the same.
fn taken_ports(ports: &[Value], kind: &str, path: &Path) -> Vec<Invalid> {
    let mut wrongs = Vec::new();
    let on_nodes = |port: &Value| number(port, "/nodePort").filter(|number| *number != 0);
    if kind == "ClusterIP" {
        let wrong = "may not be used when `type` is 'ClusterIP'";
        for (index, _) in ports.iter().enumerate().filter(|(_, port)| on_nodes(port).is_some()) {
            wrongs.push(path.index(index).child("nodePort").forbidden(wrong));
        }
    }
    let mut seen = BTreeSet::new();
    for (index, port) in ports.iter().enumerate() {
        let Some(number) = on_nodes(port) else { continue };
        if !seen.insert((text(port, "/protocol"), number)) {
            let path = path.index(index).child("nodePort");
            wrongs.push(path.is(Fault::Duplicate(number.into())));
        }
    }
    let mut seen = BTreeSet::new();
    for (index, port) in ports.iter().enumerate() {
        let (protocol, number) = (text(port, "/protocol"), number(port, "/port"));
        if !seen.insert((protocol, number)) {
            let both = json!({ "port": number, "protocol": protocol });
            wrongs.push(path.index(index).is(Fault::Duplicate(both)));
        }
    }
    wrongs
}

fn affinity(object: &Value, path: &Path) -> Vec<Invalid> {
    let kind = text(object, "/spec/sessionAffinity");
    let mut wrongs: Vec<_> =
        one_of(&path.child("sessionAffinity"), kind, &AFFINITIES).into_iter().collect();
    let path = path.child("sessionAffinityConfig");
    let config = get(object, "/spec/sessionAffinityConfig");
    if kind == "None" && config.is_some() {
        wrongs.push(path.forbidden("must not be set when session affinity is None"));
    }
    if kind == "ClientIP" {
        let path = path.child("clientIP").child("timeoutSeconds");
        match config.and_then(|config| number(config, "/clientIP/timeoutSeconds")) {
            None => wrongs.push(path.required("when session affinity type is ClientIP")),
            Some(1..=86_400) => {}
            Some(seconds) => {
                let wrong = "must be greater than 0 and less than 86400";
                wrongs.push(path.invalid(seconds, wrong));
            }
        }
    }
    wrongs
}

/// ValidateServiceClusterIPsRelatedFields, and what a cluster with IPv4 alone refuses.
fn addresses(object: &Value, kind: &str, spec: &Path) -> Vec<Invalid> {
    if kind == "ExternalName" {
        return Vec::new();
    }
    let (ip, ips) = (text(object, "/spec/clusterIP"), texts(object, "/spec/clusterIPs"));
    let path = spec.child("clusterIPs");
    let all = |wrong: &str| path.invalid(or_null(object, "/spec/clusterIPs"), wrong);
    let mut wrongs = Vec::new();
    match (ip, ips.first()) {
        ("", None) => {}
        ("", Some(_)) => wrongs.push(all("must be empty when `clusterIP` is not specified")),
        (_, None) => wrongs.push(path.required("")),
        (ip, Some(first)) if ip == *first => {}
        (_, Some(_)) => wrongs.push(all("first value must match `clusterIP`")),
    }
    wrongs.extend(families(object, spec));
    let before = wrongs.len();
    for (index, ip) in ips.iter().enumerate() {
        if index == 0 && *ip == "None" {
            if ips.len() > 1 {
                wrongs.push(all("'None' must be the first and only value"));
            }
            continue;
        }
        wrongs.extend(path.index(index).refuse(ip, legacy_ip(ip)));
    }
    if wrongs.len() > before {
        return wrongs;
    }
    if ips.len() > 2 {
        wrongs.push(all("may only hold up to 2 values"));
    }
    let of_six = ips.iter().filter(|ip| ip.contains(':')).count();
    if ips.len() > 1 && of_six != 1 {
        wrongs.push(all("may specify no more than one IP for each IP family"));
    }
    let families = texts(object, "/spec/ipFamilies");
    for (index, (ip, family)) in ips.iter().zip(families).enumerate() {
        let actual = if ip.contains(':') { "IPv6" } else { "IPv4" };
        if !is_headless(object) && FAMILIES.contains(&family) && family != actual {
            let wrong = format!("expected an {family} value as indicated by `ipFamilies[{index}]`");
            wrongs.push(path.index(index).invalid(*ip, &wrong));
        }
    }
    wrongs
}

fn families(object: &Value, spec: &Path) -> Vec<Invalid> {
    let path = spec.child("ipFamilies");
    let families = texts(object, "/spec/ipFamilies");
    let bare =
        text(object, "/spec/clusterIP") == "None" && entries(object, "/spec/selector").is_empty();
    let mut wrongs = Vec::new();
    for (index, family) in families.iter().enumerate() {
        let path = path.index(index);
        if !FAMILIES.contains(family) {
            wrongs.push(path.not_supported(*family, &FAMILIES));
        } else if *family == "IPv6" && !bare {
            wrongs.push(path.invalid(*family, "not configured on this cluster"));
        }
        if families[..index].contains(family) {
            wrongs.push(path.is(Fault::Duplicate((*family).into())));
        }
    }
    let path = spec.child("ipFamilyPolicy");
    match maybe(object, "/spec/ipFamilyPolicy") {
        Some("RequireDualStack") if !bare => {
            let wrong = "this cluster is not configured for dual-stack services";
            wrongs.push(path.invalid("RequireDualStack", wrong));
        }
        Some(policy) if !FAMILY_POLICIES.contains(&policy) => {
            wrongs.push(path.not_supported(policy, &FAMILY_POLICIES));
        }
        Some("SingleStack") if families.len() == 2 => {
            let wrong = "must be 'RequireDualStack' or 'PreferDualStack' when multiple IP families \
                         are specified";
            wrongs.push(path.invalid("SingleStack", wrong));
        }
        Some(_) | None => {}
    }
    wrongs
}

fn balancer(object: &Value, kind: &str, path: &Path) -> Vec<Invalid> {
    let balanced = kind == "LoadBalancer";
    let mut wrongs = Vec::new();
    let ranges = texts(object, "/spec/loadBalancerSourceRanges");
    // Upstream writes this one with a capital.
    let ranges_path = path.child("LoadBalancerSourceRanges");
    if !ranges.is_empty() && !balanced {
        wrongs.push(ranges_path.forbidden(BALANCED));
    }
    for (index, range) in ranges.iter().enumerate() {
        let range = range.trim();
        wrongs.extend(ranges_path.index(index).refuse(range, legacy_cidr(range)));
    }
    match (get(object, "/spec/allocateLoadBalancerNodePorts"), balanced) {
        (Some(_), false) => {
            wrongs.push(path.child("allocateLoadBalancerNodePorts").forbidden(BALANCED));
        }
        (None, true) => wrongs.push(Path::new("allocateLoadBalancerNodePorts").required("")),
        (Some(_), true) | (None, false) => {}
    }
    let class_path = path.child("loadBalancerClass");
    match maybe(object, "/spec/loadBalancerClass") {
        Some(class) if balanced => wrongs.extend(class_path.refuse(class, label_key(class))),
        Some(_) => wrongs.push(class_path.forbidden(BALANCED)),
        None => {}
    }
    wrongs
}

fn traffic(object: &Value, kind: &str, path: &Path) -> Vec<Invalid> {
    let mut wrongs = Vec::new();
    let external = text(object, "/spec/externalTrafficPolicy");
    let external_path = path.child("externalTrafficPolicy");
    if get(object, "/spec").is_some_and(is_accessible) {
        wrongs.extend(one_of(&external_path, external, &TRAFFIC));
    } else if !external.is_empty() {
        let wrong = "may only be set for externally-accessible services";
        wrongs.push(external_path.invalid(external, wrong));
    }
    let port = count(object, "/spec/healthCheckNodePort");
    if port != 0 && !get(object, "/spec").is_some_and(needs_health_check) {
        let wrong =
            "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'";
        wrongs.push(path.child("healthCheckNodePort").invalid(port, wrong));
    }
    let internal_path = path.child("internalTrafficPolicy");
    match maybe(object, "/spec/internalTrafficPolicy") {
        None if ["ClusterIP", "LoadBalancer", "NodePort"].contains(&kind) => {
            wrongs.push(internal_path.required(""));
        }
        Some(policy) if !TRAFFIC.contains(&policy) => {
            wrongs.push(internal_path.not_supported(policy, &TRAFFIC));
        }
        Some(_) | None => {}
    }
    let distribution = maybe(object, "/spec/trafficDistribution");
    if let Some(bad) = distribution.filter(|it| !DISTRIBUTIONS.contains(it)) {
        wrongs.push(path.child("trafficDistribution").not_supported(bad, &DISTRIBUTIONS));
    }
    wrongs
}
