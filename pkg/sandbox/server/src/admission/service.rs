//! The addresses and ports of services: which are taken is derived from the store, so that what is
//! deleted is free again.

use std::collections::BTreeSet;
use std::net::Ipv4Addr;

use apimachinery::fields;
use serde_json::{Value, json};
use strategies::{Invalid, Path};

use crate::registry::Served;
use crate::server::State;
use crate::status::{About, Status};
use crate::write::fields::{items, map, number, text, texts};

/// The network of services, 10.96.0.0/12.
const NETWORK: Ipv4Addr = Ipv4Addr::new(10, 96, 0, 0);
const NETWORK_BITS: u32 = 12;
/// The first addresses are left to Services that ask for them, as upstream does.
const STATIC_ADDRESSES: u32 = 256;
const PORTS: std::ops::RangeInclusive<i64> = 30_000..=32_767;
/// The same of ports.
const STATIC_PORTS: i64 = 86;

/// Gives a service what it lacks (pkg/registry/core/service/storage/alloc.go); nothing for others.
pub(crate) fn allocate(
    state: &State,
    served: &Served,
    service: &mut Value,
    old: Option<&Value>,
) -> Result<(), Status> {
    if &*served.table != "services" {
        return Ok(());
    }
    let own = (text(service, "/metadata/namespace"), text(service, "/metadata/name"));
    let own = (own.0.to_owned(), own.1.to_owned());
    let all = state.store.list("services", None);
    let others = all.iter().map(|it| &*it.object).filter(|it| {
        (text(it, "/metadata/namespace"), text(it, "/metadata/name")) != (&own.0, &own.1)
    });
    let others: Vec<&Value> = others.collect();
    if let Some(old) = old {
        keep(service, old);
    }
    let mut faults = Vec::new();
    address(state, service, &others, &mut faults);
    let ports = others.iter().flat_map(|it| taken_ports(it)).collect();
    node_ports(state, service, ports, &mut faults);
    if faults.is_empty() {
        return Ok(());
    }
    Err(Status::invalid(About { group: "", resource: "Service", name: &own.1 }, &faults))
}

/// What an update leaves out stays (patchAllocatedValues).
fn keep(new: &mut Value, old: &Value) {
    if has_address(new) && has_address(old) {
        for field in ["clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy"] {
            let said = fields::at(new, &format!("/spec/{field}"));
            let said = said.is_some_and(|it| it != "" && it != &json!([]) && !it.is_null());
            if let (false, Some(value)) = (said, fields::at(old, &format!("/spec/{field}"))) {
                map(new, &["spec"]).insert(field.to_owned(), value.clone());
            }
        }
    }
    if !(has_ports(new) && has_ports(old)) {
        return;
    }
    let port = |it: &Value| number(it, "/nodePort").unwrap_or(0);
    let used: BTreeSet<i64> = items(new, "/spec/ports").iter().map(port).collect();
    let known: Vec<_> = items(old, "/spec/ports")
        .iter()
        .map(|it| (text(it, "/name").to_owned(), port(it)))
        .filter(|(_, port)| *port != 0 && !used.contains(port))
        .collect();
    let ports = new.pointer_mut("/spec/ports").and_then(Value::as_array_mut);
    for it in ports.into_iter().flatten().filter(|it| port(it) == 0) {
        let name = text(it, "/name");
        if let Some((_, port)) = known.iter().find(|(known, _)| known == name) {
            map(it, &[]).insert("nodePort".to_owned(), (*port).into());
        }
    }
}

/// The cluster's address, and its family.
fn address(state: &State, service: &mut Value, others: &[&Value], faults: &mut Vec<Invalid>) {
    if !has_address(service) {
        return;
    }
    let path = Path::new("spec");
    if text(service, "/spec/ipFamilyPolicy") == "RequireDualStack" {
        let detail = "this cluster is not configured for dual-stack services";
        faults.push(path.child("ipFamilyPolicy").invalid("RequireDualStack", detail));
        return;
    }
    let asked = texts(service, "/spec/clusterIPs").into_iter().next();
    let asked = asked.unwrap_or_else(|| text(service, "/spec/clusterIP").to_owned());
    let address = match asked.as_str() {
        "" => free_address(state, others),
        "None" => Some(asked),
        _ => {
            if let Err(why) = check_address(&asked, others) {
                let detail = format!("failed to allocate IP {asked}: {why}");
                faults.push(path.child("clusterIPs").invalid(json!([asked]), &detail));
            }
            Some(asked)
        }
    };
    let spec = map(service, &["spec"]);
    let Some(address) = address else {
        let detail = "failed to allocate IP: range is full";
        faults.push(path.child("clusterIPs").invalid(json!([]), detail));
        return;
    };
    spec.insert("clusterIP".to_owned(), address.clone().into());
    spec.insert("clusterIPs".to_owned(), json!([address]));
    for (field, value) in
        [("ipFamilies", json!(["IPv4"])), ("ipFamilyPolicy", json!("SingleStack"))]
    {
        let known = spec.get(field).is_some_and(|it| !it.is_null() && it != &json!([]));
        if !known {
            spec.insert(field.to_owned(), value);
        }
    }
}

fn has_address(service: &Value) -> bool {
    matches!(text(service, "/spec/type"), "" | "ClusterIP" | "NodePort" | "LoadBalancer")
}

fn has_ports(service: &Value) -> bool {
    matches!(text(service, "/spec/type"), "NodePort" | "LoadBalancer")
}

fn check_address(asked: &str, others: &[&Value]) -> Result<(), String> {
    let range = format!("{NETWORK}/{NETWORK_BITS}");
    let outside = || {
        format!(
            "the provided IP ({asked}) is not in the valid range. The range of valid IPs is {range}"
        )
    };
    let address: Ipv4Addr = asked.parse().map_err(|_| outside())?;
    let mask = u32::MAX << (32 - NETWORK_BITS);
    if u32::from(address) & mask != u32::from(NETWORK) {
        return Err(outside());
    }
    if others.iter().any(|it| texts(it, "/spec/clusterIPs").iter().any(|known| known == asked)) {
        return Err("provided IP is already allocated".to_owned());
    }
    Ok(())
}

/// A free address: from a random one on.
fn free_address(state: &State, others: &[&Value]) -> Option<String> {
    let taken: BTreeSet<String> =
        others.iter().flat_map(|it| texts(it, "/spec/clusterIPs")).collect();
    let size = (1_u32 << (32 - NETWORK_BITS)) - STATIC_ADDRESSES - 1;
    let start = u32::try_from(state.runtime.random.bits() % u64::from(size)).unwrap_or(0);
    let at = |offset: u32| {
        let offset = STATIC_ADDRESSES + (start + offset) % size;
        Ipv4Addr::from(u32::from(NETWORK) + offset).to_string()
    };
    (0..size).map(at).find(|address| !taken.contains(address))
}

/// The ports that a service has on all nodes.
fn taken_ports(service: &Value) -> Vec<i64> {
    let ports = items(service, "/spec/ports").iter().filter_map(|it| number(it, "/nodePort"));
    let health = number(service, "/spec/healthCheckNodePort");
    ports.chain(health).filter(|port| *port != 0).collect()
}

/// Gives ports where the type asks for them, and checks those that are asked for.
fn node_ports(
    state: &State,
    service: &mut Value,
    mut taken: BTreeSet<i64>,
    faults: &mut Vec<Invalid>,
) {
    if !has_ports(service) {
        return;
    }
    let balancer = text(service, "/spec/type") == "LoadBalancer";
    let said = fields::at(service, "/spec/allocateLoadBalancerNodePorts");
    let wants = !(balancer && said == Some(&Value::Bool(false)));
    let path = Path::new("spec").child("ports");
    // One port number over several protocols shares its node port.
    let mut shared: Vec<(i64, i64)> = Vec::new();
    let mut own: BTreeSet<i64> = BTreeSet::new();
    let count = items(service, "/spec/ports").len();
    for at in 0..count {
        let number_at = |field: &str| number(service, &format!("/spec/ports/{at}/{field}"));
        let (port, said) = (number_at("port").unwrap_or(0), number_at("nodePort").unwrap_or(0));
        let known = shared.iter().find(|(known, _)| *known == port).map(|(_, node)| *node);
        let requested = items(service, "/spec/ports").iter().find_map(|it| {
            let same = number(it, "/port") == Some(port);
            number(it, "/nodePort").filter(|node| same && *node != 0)
        });
        let node = match (said, known) {
            (0, _) if !wants => continue,
            (0, Some(node)) => node,
            (0, None) => match requested.or_else(|| free_port(state, &taken)) {
                Some(node) => node,
                None => continue,
            },
            (said, _) => said,
        };
        if known != Some(node) && own.insert(node) {
            let why = match node {
                node if !PORTS.contains(&node) => Some(format!(
                    "provided port is not in the valid range. The range of valid ports is {}-{}",
                    PORTS.start(),
                    PORTS.end()
                )),
                node if !taken.insert(node) => {
                    Some("provided port is already allocated".to_owned())
                }
                _ => None,
            };
            faults.extend(why.map(|why| path.index(at).child("nodePort").invalid(node, &why)));
        }
        shared.push((port, node));
        if let Some(it) = service.pointer_mut(&format!("/spec/ports/{at}")) {
            map(it, &[]).insert("nodePort".to_owned(), node.into());
        }
    }
    let local = text(service, "/spec/externalTrafficPolicy") == "Local";
    let health = number(service, "/spec/healthCheckNodePort").unwrap_or(0);
    if balancer
        && local
        && health == 0
        && let Some(port) = free_port(state, &taken)
    {
        map(service, &["spec"]).insert("healthCheckNodePort".to_owned(), port.into());
    }
}

/// A free port: from a random one on.
fn free_port(state: &State, taken: &BTreeSet<i64>) -> Option<i64> {
    let (first, last) = (PORTS.start() + STATIC_PORTS, *PORTS.end());
    let size = last - first + 1;
    let start = i64::try_from(state.runtime.random.bits() % size.unsigned_abs()).unwrap_or(0);
    let at = |offset: i64| first + (start + offset) % size;
    (0..size).map(at).find(|port| !taken.contains(port))
}
