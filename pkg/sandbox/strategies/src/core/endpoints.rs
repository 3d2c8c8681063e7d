//! Endpoints.

use api::Time;
use serde_json::Value;

use crate::formats::{dns_label, dns_subdomain, endpoint_ip, label_key, legacy_ip, port_number};
use crate::semantic::same_at;
use crate::table::{AGE, NAME, age, heading, name, some};
use crate::value::{count, fill_zero, get, items, items_mut, maybe, text};
use crate::{Cell, Column, Invalid, Path, Strategy};

const COLUMNS: &[Column] = &[NAME, heading("Endpoints"), AGE];
const PROTOCOLS: [&str; 3] = ["SCTP", "TCP", "UDP"];

/// The endpoints of a service.
pub struct Endpoints;

impl Strategy for Endpoints {
    fn default(&self, object: &mut Value) {
        for subset in items_mut(object, "subsets") {
            for port in items_mut(subset, "ports") {
                fill_zero(port, "protocol", "TCP");
            }
        }
    }

    fn validate_create(&self, object: &Value) -> Vec<Invalid> {
        let path = Path::new("subsets");
        let subsets = items(object, "/subsets").iter().enumerate();
        subsets.flat_map(|(index, subset)| subset_wrongs(subset, &path.index(index))).collect()
    }

    fn validate_update(&self, new: &Value, old: &Value) -> Vec<Invalid> {
        // Older versions took what this one refuses.
        if same_at(new, old, "/subsets") { Vec::new() } else { self.validate_create(new) }
    }

    fn allows_create_on_update(&self) -> bool {
        true
    }

    fn columns(&self) -> &'static [Column] {
        COLUMNS
    }

    fn row(&self, object: &Value, now: Time) -> Vec<Cell> {
        vec![name(object), summary(object).into(), age(object, now)]
    }
}

fn subset_wrongs(subset: &Value, path: &Path) -> Vec<Invalid> {
    let (ready, other) = (items(subset, "/addresses"), items(subset, "/notReadyAddresses"));
    let mut wrongs = Vec::new();
    if ready.is_empty() && other.is_empty() {
        wrongs.push(path.required("must specify `addresses` or `notReadyAddresses`"));
    }
    for (name, addresses) in [("addresses", ready), ("notReadyAddresses", other)] {
        for (index, address) in addresses.iter().enumerate() {
            wrongs.extend(address_wrongs(address, &path.child(name).index(index)));
        }
    }
    let ports = items(subset, "/ports");
    for (index, port) in ports.iter().enumerate() {
        let path = path.child("ports").index(index);
        match text(port, "/name") {
            "" if ports.len() > 1 => wrongs.push(path.child("name").required("")),
            "" => {}
            name => wrongs.extend(path.child("name").refuse(name, dns_label(name))),
        }
        let number = count(port, "/port");
        wrongs.extend(port_number(number).map(|wrong| path.child("port").invalid(number, &wrong)));
        let protocol = text(port, "/protocol");
        if protocol.is_empty() {
            wrongs.push(path.child("protocol").required(""));
        } else if !PROTOCOLS.contains(&protocol) {
            wrongs.push(path.child("protocol").not_supported(protocol, &PROTOCOLS));
        }
        if let Some(protocol) = maybe(port, "/appProtocol") {
            wrongs.extend(path.child("appProtocol").refuse(protocol, label_key(protocol)));
        }
    }
    wrongs
}

fn address_wrongs(address: &Value, path: &Path) -> Vec<Invalid> {
    let ip = text(address, "/ip");
    let mut wrongs = path.child("ip").refuse(ip, legacy_ip(ip));
    let host = text(address, "/hostname");
    if !host.is_empty() {
        wrongs.extend(path.child("hostname").refuse(host, dns_label(host)));
    }
    if let Some(node) = maybe(address, "/nodeName") {
        wrongs.extend(path.child("nodeName").refuse(node, dns_subdomain(node)));
    }
    wrongs.extend(path.child("ip").refuse(ip, endpoint_ip(ip)));
    wrongs
}

/// As formatEndpoints.
fn summary(object: &Value) -> String {
    let subsets = items(object, "/subsets");
    if subsets.is_empty() {
        return "<none>".to_owned();
    }
    let mut list = Vec::new();
    for subset in subsets {
        let ips: Vec<_> =
            items(subset, "/addresses").iter().map(|address| text(address, "/ip")).collect();
        if get(subset, "/ports").is_none() || items(subset, "/ports").is_empty() {
            list.extend(ips.iter().map(|ip| (*ip).to_owned()));
        }
        for port in items(subset, "/ports") {
            let port = count(port, "/port");
            list.extend(ips.iter().map(|ip| {
                if ip.contains(':') { format!("[{ip}]:{port}") } else { format!("{ip}:{port}") }
            }));
        }
    }
    some(&list, 3, "")
}
