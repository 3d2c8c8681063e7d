//! The kinds of discovery.k8s.io.

use api::Time;
use serde_json::Value;

use crate::formats::{
    Wrongs, dns_label, dns_subdomain, endpoint_ip, ip, label_key, label_value, legacy_ip,
};
use crate::generation;
use crate::metadata::immutable;
use crate::selector::validate_labels;
use crate::semantic::same_at;
use crate::table::{AGE, NAME, age, cell, heading, name, some};
use crate::value::{
    entries, fill, get, items, items_mut, maybe, number, or_null, remove, text, texts,
};
use crate::{Cell, Column, Environment, Fault, Invalid, Path, Strategy};

const COLUMNS: &[Column] =
    &[NAME, heading("AddressType"), heading("Ports"), heading("Endpoints"), AGE];
const TYPES: [&str; 3] = ["FQDN", "IPv4", "IPv6"];
const PROTOCOLS: [&str; 3] = ["SCTP", "TCP", "UDP"];
const ADDRESSES_MAX: usize = 100;
const ENDPOINTS_MAX: usize = 1000;
const HINTS_MAX: usize = 8;
const PORTS_MAX: usize = 20_000;
const TOPOLOGY_MAX: usize = 16;

/// A part of the endpoints of a service.
pub struct EndpointSlice;

impl Strategy for EndpointSlice {
    fn default(&self, object: &mut Value) {
        // Written as null by upstream, too.
        fill(object, "endpoints", Value::Null);
        fill(object, "ports", Value::Null);
        for port in items_mut(object, "ports") {
            fill(port, "name", "");
            fill(port, "protocol", "TCP");
        }
    }

    fn prepare_create(&self, object: &mut Value, _env: &Environment<'_>) {
        generation::start(object);
        for endpoint in items_mut(object, "endpoints") {
            remove(endpoint, "deprecatedTopology");
        }
    }

    fn validate_create(&self, object: &Value) -> Vec<Invalid> {
        let mut wrongs = address_type(object);
        wrongs.extend(ports(object));
        wrongs.extend(endpoints(object));
        wrongs
    }

    fn prepare_update(&self, new: &mut Value, old: &Value, _env: &Environment<'_>) {
        let counted = ["/addressType", "/endpoints", "/ports", "/metadata/labels"];
        generation::count(new, old, &counted);
    }

    fn validate_update(&self, new: &Value, old: &Value) -> Vec<Invalid> {
        let mut wrongs = address_type(new);
        wrongs.extend(ports(new));
        // Older versions took what this one refuses.
        if !same_at(new, old, "/endpoints") {
            wrongs.extend(endpoints(new));
        }
        wrongs.extend(immutable(new, old, "/addressType", &Path::new("addressType")));
        wrongs
    }

    fn columns(&self) -> &'static [Column] {
        COLUMNS
    }

    fn row(&self, object: &Value, now: Time) -> Vec<Cell> {
        let port = |port: &Value| match (number(port, "/port"), maybe(port, "/name")) {
            (Some(number), _) => number.to_string(),
            (None, Some(name)) => name.to_owned(),
            (None, None) => "*".to_owned(),
        };
        let ports: Vec<_> = items(object, "/ports").iter().map(port).collect();
        let endpoints = items(object, "/endpoints").iter();
        let addresses: Vec<_> =
            endpoints.flat_map(|it| texts(it, "/addresses")).map(str::to_owned).collect();
        vec![
            name(object),
            cell(object, "/addressType"),
            list(&ports).into(),
            list(&addresses).into(),
            age(object, now),
        ]
    }
}

fn list(list: &[String]) -> String {
    match some(list, 3, "").as_str() {
        "" => "<unset>".to_owned(),
        text => text.to_owned(),
    }
}

fn address_type(object: &Value) -> Vec<Invalid> {
    let path = Path::new("addressType");
    match text(object, "/addressType") {
        "" => vec![path.required("")],
        kind if TYPES.contains(&kind) => Vec::new(),
        kind => vec![path.not_supported(kind, &TYPES)],
    }
}

fn ports(object: &Value) -> Vec<Invalid> {
    let path = Path::new("ports");
    let ports = items(object, "/ports");
    if ports.len() > PORTS_MAX {
        return vec![path.is(Fault::TooMany(ports.len(), PORTS_MAX))];
    }
    let mut wrongs = Vec::new();
    for (index, port) in ports.iter().enumerate() {
        let path = path.index(index);
        let name = text(port, "/name");
        if !name.is_empty() {
            wrongs.extend(path.child("name").refuse(name, dns_label(name)));
        }
        if ports[..index].iter().any(|other| text(other, "/name") == name) {
            wrongs.push(path.child("name").is(Fault::Duplicate(name.into())));
        }
        match maybe(port, "/protocol") {
            None => wrongs.push(path.child("protocol").required("")),
            Some(protocol) if PROTOCOLS.contains(&protocol) => {}
            Some(protocol) => {
                wrongs.push(path.child("protocol").not_supported(protocol, &PROTOCOLS));
            }
        }
        if let Some(protocol) = maybe(port, "/appProtocol") {
            wrongs.extend(path.child("appProtocol").refuse(protocol, label_key(protocol)));
        }
    }
    wrongs
}

fn endpoints(object: &Value) -> Vec<Invalid> {
    let path = Path::new("endpoints");
    let endpoints = items(object, "/endpoints");
    if endpoints.len() > ENDPOINTS_MAX {
        return vec![path.is(Fault::TooMany(endpoints.len(), ENDPOINTS_MAX))];
    }
    let kind = text(object, "/addressType");
    let endpoints = endpoints.iter().enumerate();
    endpoints.flat_map(|(index, it)| endpoint_wrongs(it, kind, &path.index(index))).collect()
}

fn endpoint_wrongs(endpoint: &Value, kind: &str, path: &Path) -> Vec<Invalid> {
    let mut wrongs = addresses(endpoint, kind, &path.child("addresses"));
    if let Some(node) = maybe(endpoint, "/nodeName") {
        wrongs.extend(path.child("nodeName").refuse(node, dns_subdomain(node)));
    }
    let topology = path.child("deprecatedTopology");
    let count = entries(endpoint, "/deprecatedTopology").len();
    if count > TOPOLOGY_MAX {
        wrongs.push(topology.is(Fault::TooMany(count, TOPOLOGY_MAX)));
    }
    wrongs.extend(validate_labels(&or_null(endpoint, "/deprecatedTopology"), &topology));
    if let Some(host) = maybe(endpoint, "/hostname") {
        wrongs.extend(path.child("hostname").refuse(host, dns_label(host)));
    }
    if let Some(hints) = get(endpoint, "/hints") {
        let path = path.child("hints");
        wrongs.extend(hint_wrongs(hints, "forZones", label_value, &path));
        wrongs.extend(hint_wrongs(hints, "forNodes", dns_subdomain, &path));
    }
    wrongs
}

fn addresses(endpoint: &Value, kind: &str, path: &Path) -> Vec<Invalid> {
    let addresses = texts(endpoint, "/addresses");
    let mut wrongs = Vec::new();
    if addresses.is_empty() {
        wrongs.push(path.required("must contain at least 1 address"));
    } else if addresses.len() > ADDRESSES_MAX {
        wrongs.push(path.is(Fault::TooMany(addresses.len(), ADDRESSES_MAX)));
    }
    for (index, address) in addresses.into_iter().enumerate() {
        let item = path.index(index);
        let (bad, six) = match kind {
            "IPv4" => (legacy_ip(address), false),
            "IPv6" => (ip(address), true),
            "FQDN" => {
                wrongs.extend(domain(address, &item));
                continue;
            }
            _ => continue,
        };
        let readable = bad.is_empty();
        wrongs.extend(item.refuse(address, bad));
        if readable {
            if address.contains(':') != six {
                wrongs.push(path.invalid(address, &format!("must be an {kind} address")));
            }
            wrongs.extend(item.refuse(address, endpoint_ip(address)));
        }
    }
    wrongs
}

/// IsFullyQualifiedDomainName.
fn domain(name: &str, path: &Path) -> Vec<Invalid> {
    if name.is_empty() {
        return vec![path.required("")];
    }
    let name = name.strip_suffix('.').unwrap_or(name);
    let bad = dns_subdomain(name);
    if !bad.is_empty() {
        return vec![path.invalid(name, &bad.join(","))];
    }
    if !name.contains('.') {
        let wrong = "should be a domain with at least two segments separated by dots";
        return vec![path.invalid(name, wrong)];
    }
    let bad = name.split('.').map(|part| (part, dns_label(part))).find(|(_, bad)| !bad.is_empty());
    bad.map(|(part, bad)| path.invalid(part, &bad.join(","))).into_iter().collect()
}

fn hint_wrongs(hints: &Value, name: &str, rule: fn(&str) -> Wrongs, path: &Path) -> Vec<Invalid> {
    let path = path.child(name);
    let hints = items(hints, &format!("/{name}"));
    if hints.len() > HINTS_MAX {
        return vec![path.is(Fault::TooMany(hints.len(), HINTS_MAX))];
    }
    let mut wrongs = Vec::new();
    for (index, hint) in hints.iter().enumerate() {
        let (path, name) = (path.index(index).child("name"), text(hint, "/name"));
        if hints[..index].iter().any(|other| text(other, "/name") == name) {
            wrongs.push(path.is(Fault::Duplicate(name.into())));
        }
        wrongs.extend(path.refuse(name, rule(name)));
    }
    wrongs
}
