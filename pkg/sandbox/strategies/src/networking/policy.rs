//! NetworkPolicy.

use api::Time;
use serde_json::{Value, json};

use crate::formats::{is_within, legacy_cidr, parts, port_name, port_number};
use crate::generation;
use crate::selector::{self, Values};
use crate::table::{AGE, NAME, age, heading, name};
use crate::value::{fill, get, items, items_mut, number, or_null, section, set, text, texts};
use crate::{Cell, Column, Environment, Invalid, Path, Strategy};

const COLUMNS: &[Column] = &[NAME, heading("Pod-Selector"), AGE];
const PROTOCOLS: [&str; 3] = ["TCP", "UDP", "SCTP"];
const TYPES: [&str; 2] = ["Ingress", "Egress"];

/// Who may talk to whom.
pub struct NetworkPolicy;

impl Strategy for NetworkPolicy {
    fn default(&self, object: &mut Value) {
        let spec = section(object, "spec");
        section(spec, "podSelector");
        for side in ["ingress", "egress"] {
            for rule in items_mut(spec, side) {
                for port in items_mut(rule, "ports") {
                    fill(port, "protocol", "TCP");
                }
            }
        }
        if items(spec, "/policyTypes").is_empty() {
            let outward = !items(spec, "/egress").is_empty();
            let types = if outward { json!(TYPES) } else { json!(["Ingress"]) };
            set(spec, "policyTypes", types);
        }
    }

    fn prepare_create(&self, object: &mut Value, _env: &Environment<'_>) {
        generation::start(object);
    }

    fn validate_create(&self, object: &Value) -> Vec<Invalid> {
        let path = Path::new("spec");
        let mut wrongs = get(object, "/spec/podSelector").map_or_else(Vec::new, |labels| {
            selector::validate(labels, Values::Checked, &path.child("podSelector"))
        });
        for (side, peers) in [("ingress", "from"), ("egress", "to")] {
            let rules = items(object, &format!("/spec/{side}")).iter().enumerate();
            for (index, rule) in rules {
                let path = path.child(side).index(index);
                for (index, port) in items(rule, "/ports").iter().enumerate() {
                    wrongs.extend(port_wrongs(port, &path.child("ports").index(index)));
                }
                for (index, peer) in items(rule, &format!("/{peers}")).iter().enumerate() {
                    wrongs.extend(peer_wrongs(peer, &path.child(peers).index(index)));
                }
            }
        }
        let path = path.child("policyTypes");
        let types = texts(object, "/spec/policyTypes");
        if types.len() > TYPES.len() {
            let wrong = "may not specify more than two policyTypes";
            wrongs.push(path.invalid(or_null(object, "/spec/policyTypes"), wrong));
            return wrongs;
        }
        let unknown = types.iter().enumerate().filter(|(_, kind)| !TYPES.contains(kind));
        wrongs.extend(unknown.map(|(index, kind)| path.index(index).not_supported(*kind, &TYPES)));
        wrongs
    }

    fn prepare_update(&self, new: &mut Value, old: &Value, _env: &Environment<'_>) {
        generation::count(new, old, &["/spec"]);
    }

    fn validate_update(&self, new: &Value, _old: &Value) -> Vec<Invalid> {
        self.validate_create(new)
    }

    fn columns(&self) -> &'static [Column] {
        COLUMNS
    }

    fn row(&self, object: &Value, now: Time) -> Vec<Cell> {
        let pods = selector::print(&or_null(object, "/spec/podSelector"));
        vec![name(object), pods.into(), age(object, now)]
    }
}

/// ValidateNetworkPolicyPort.
fn port_wrongs(port: &Value, path: &Path) -> Vec<Invalid> {
    let protocol = text(port, "/protocol");
    let mut wrongs = Vec::new();
    if !protocol.is_empty() && !PROTOCOLS.contains(&protocol) {
        wrongs.push(path.child("protocol").not_supported(protocol, &PROTOCOLS));
    }
    let (end, end_path) = (number(port, "/endPort"), path.child("endPort"));
    let path = path.child("port");
    match (get(port, "/port"), end) {
        (Some(Value::String(name)), end) => {
            let wrong = "may not be specified when `port` is non-numeric";
            wrongs.extend(end.map(|end| end_path.invalid(end, wrong)));
            wrongs.extend(path.refuse(name, port_name(name)));
        }
        (Some(start), end) => {
            let start = start.as_i64().unwrap_or_default();
            wrongs.extend(port_number(start).map(|wrong| path.invalid(start, &wrong)));
            let Some(end) = end else { return wrongs };
            if end < start {
                let wrong = "must be greater than or equal to `port`";
                wrongs.push(end_path.invalid(start, wrong));
            }
            wrongs.extend(port_number(end).map(|wrong| end_path.invalid(end, &wrong)));
        }
        (None, Some(end)) => {
            let wrong = "may not be specified when `port` is not specified";
            wrongs.push(end_path.invalid(end, wrong));
        }
        (None, None) => {}
    }
    wrongs
}

/// ValidateNetworkPolicyPeer.
fn peer_wrongs(peer: &Value, path: &Path) -> Vec<Invalid> {
    let mut wrongs = Vec::new();
    let mut peers = 0;
    for name in ["podSelector", "namespaceSelector"] {
        if let Some(labels) = get(peer, &format!("/{name}")) {
            peers += 1;
            wrongs.extend(selector::validate(labels, Values::Checked, &path.child(name)));
        }
    }
    let block = get(peer, "/ipBlock");
    if let Some(block) = block {
        wrongs.extend(block_wrongs(block, &path.child("ipBlock")));
    }
    if peers == 0 && block.is_none() {
        wrongs.push(path.required("must specify a peer"));
    } else if peers > 0 && block.is_some() {
        wrongs.push(path.forbidden("may not specify both ipBlock and another peer"));
    }
    wrongs
}

/// ValidateIPBlock.
fn block_wrongs(block: &Value, path: &Path) -> Vec<Invalid> {
    let range = text(block, "/cidr");
    let (path, cidr_path) = (path.child("except"), path.child("cidr"));
    if range.is_empty() {
        return vec![cidr_path.required("")];
    }
    let mut wrongs = cidr_path.refuse(range, legacy_cidr(range));
    if parts(range).is_none() {
        return wrongs;
    }
    for (index, except) in texts(block, "/except").into_iter().enumerate() {
        let path = path.index(index);
        wrongs.extend(path.refuse(except, legacy_cidr(except)));
        if parts(except).is_some() && !is_within(except, range) {
            wrongs.push(path.invalid(except, "must be a strict subset of `cidr`"));
        }
    }
    wrongs
}
