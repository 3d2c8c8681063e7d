//! Services and their endpoints.

use api::{Kind, Pod};
use serde_json::Value;

use super::pod::{is_active, is_ready};
use super::workloads::pods;
use crate::json::{labels, list, said, text};
use crate::look::{Look, Thing, event_time};

pub(super) fn service(look: &mut Look<'_>, it: &Thing) {
    if it.text("/spec/type") == "ExternalName" {
        look.note(it, format!("is a name for {}", it.text("/spec/externalName")));
        return;
    }
    balancer(look, it);
    let wanted = labels(&it.json, "/spec/selector");
    if wanted.is_empty() {
        look.note(it, "has no selector: somebody else writes its endpoints");
        return;
    }
    let Some(all) = look.try_list(&Pod::RESOURCE, it.namespace()) else { return };
    let is_selected = |pod: &&Thing| labels(&pod.json, "/metadata/labels").contains_all(&wanted);
    let selected: Vec<_> =
        all.iter().filter(is_selected).filter(|pod| is_active(&pod.json)).cloned().collect();
    let words: Vec<_> = wanted.iter().map(|(key, value)| format!("{key}={value}")).collect();
    let selector = words.join(",");
    if selected.is_empty() {
        let has_name = all.iter().any(|pod| {
            let of_pod = labels(&pod.json, "/metadata/labels");
            wanted.iter().any(|(key, value)| of_pod.get(key) == Some(value))
        });
        let more = if has_name { "; some have a part of these labels" } else { "" };
        look.stuck(it, format!("has no endpoints: no pod has the labels {selector}{more}"))
            .waiting_for("pods with these labels, or another selector");
        return;
    }
    let ready = selected.iter().filter(|pod| is_ready(&pod.json)).count();
    let publishes = it.json.pointer("/spec/publishNotReadyAddresses") == Some(&Value::Bool(true));
    let many = i64::try_from(selected.len()).unwrap_or(i64::MAX);
    let bad: Vec<_> = selected.iter().filter(|pod| !is_ready(&pod.json)).cloned().collect();
    if let Some(port) = lost_port(it, &selected) {
        let why = "no container of its pods has a port of that name";
        look.stuck(it, format!("has no endpoints for its port {port}: {why}"))
            .waiting_for("pods with a port of that name, or another targetPort");
    } else if ready == 0 && !publishes {
        look.waits(it, format!("has no ready endpoints: {} selected, none ready", pods(many)));
    } else {
        look.note(it, format!("has {ready} ready endpoints of {} selected", pods(many)));
    }
    look.follow_alike(&bad);
}

/// A named target port that no selected pod has.
fn lost_port(it: &Thing, selected: &[Thing]) -> Option<String> {
    let has = |name: &str| {
        selected.iter().any(|pod| {
            let containers = list(&pod.json, "/spec/containers").iter();
            let mut ports = containers.flat_map(|container| list(container, "/ports"));
            ports.any(|port| text(port, "/name") == name)
        })
    };
    let ports = list(&it.json, "/spec/ports").iter();
    let mut names = ports.filter_map(|port| port.pointer("/targetPort")?.as_str());
    names.find(|name| !has(name)).map(str::to_owned)
}

/// The load balancer of a Service that asks for one.
fn balancer(look: &mut Look<'_>, it: &Thing) {
    let is_asked = it.text("/spec/type") == "LoadBalancer";
    if !is_asked || !list(&it.json, "/status/loadBalancer/ingress").is_empty() {
        return;
    }
    let made = crate::json::time(&it.json, "/metadata/creationTimestamp");
    match look.event(it, &["SyncLoadBalancerFailed"]) {
        Some(event) => {
            look.stuck(it, format!("has no load balancer: {}", said(&event)))
                .since(event_time(&event))
                .next("its controller tries again");
        }
        None => {
            look.waits(it, "has no load balancer yet").since(made).waiting_for(
                "the controller of a cloud, which must run beside kube-controller-manager",
            );
        }
    }
}
