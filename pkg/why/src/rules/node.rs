//! Nodes: what is wrong with them, and when their pods go.

use std::time::Duration;

use api::{Kind, Pod};
use serde_json::Value;

use super::pod::is_active;
use super::workloads::pods;
use crate::json::{condition, flag, list, number, said, since, text, time};
use crate::look::{Look, Thing};
use crate::text::age;

/// The conditions that are bad if they are true.
const PRESSURES: [&str; 4] =
    ["MemoryPressure", "DiskPressure", "PIDPressure", "NetworkUnavailable"];
/// Pods that are named one by one.
const SHOWN_MAX: usize = 5;

pub(super) fn node(look: &mut Look<'_>, it: &Thing) {
    let start = look.findings.len();
    match condition(&it.json, "Ready") {
        None => drop(look.waits(it, "has not said how it is yet")),
        Some(ready) if text(ready, "/status") == "True" => {}
        Some(ready) => {
            let cause = match text(ready, "/status") {
                "Unknown" => format!("does not answer: {}", said(ready)),
                _ => format!("is not ready: {}", said(ready)),
            };
            look.stuck(it, cause).since(since(ready)).waiting_for("its kubelet, to report again");
        }
    }
    for kind in PRESSURES {
        if let Some(it_is) = crate::json::condition_is(&it.json, kind, "True") {
            look.stuck(it, format!("has {kind}: {}", said(it_is))).since(since(it_is));
        }
    }
    if flag(&it.json, "/spec/unschedulable") {
        look.stuck(it, "is cordoned, so no new pods come to it")
            .waiting_for("somebody to uncordon it");
    }
    let taints: Vec<Value> = list(&it.json, "/spec/taints").to_vec();
    let shown: Vec<_> = taints.iter().map(taint).collect();
    if look.findings.len() == start {
        look.note(it, "is ready");
    }
    if !shown.is_empty() {
        look.note(it, format!("has the taints {}", shown.join(", ")));
    }
    let evicting: Vec<_> =
        taints.iter().filter(|taint| text(taint, "/effect") == "NoExecute").cloned().collect();
    if !evicting.is_empty() {
        evictions(look, it, &evicting);
    }
}

fn taint(taint: &Value) -> String {
    let (key, value) = (text(taint, "/key"), text(taint, "/value"));
    let value = if value.is_empty() { String::new() } else { format!("={value}") };
    format!("{key}{value}:{}", text(taint, "/effect"))
}

/// When the pods of a node go.
fn evictions(look: &mut Look<'_>, it: &Thing, taints: &[Value]) {
    let selector = format!("spec.nodeName={}", it.name());
    let Some(all) = look.try_list_where(&Pod::RESOURCE, "", &selector) else { return };
    let (mut stay, mut goes) = (0, Vec::new());
    for pod in all.iter().filter(|pod| is_active(&pod.json)) {
        match leaves(pod, taints) {
            Some((after, since)) => goes.push((since + after, pod)),
            None => stay += 1,
        }
    }
    goes.sort_by_key(|(at, pod)| (*at, pod.name().to_owned()));
    for (at, pod) in goes.iter().take(SHOWN_MAX) {
        let left = at.since(look.now);
        let when = if left.is_zero() { "now".to_owned() } else { format!("in {}", age(left)) };
        let (namespace, name) = (pod.namespace(), pod.name());
        look.waits(it, format!("evicts pod/{name} of namespace {namespace} {when}"))
            .next(format!("at {at}, unless its taints go before"));
    }
    let more = goes.len().saturating_sub(SHOWN_MAX);
    if more > 0 {
        look.note(it, format!("evicts {} more later", pods(i64::try_from(more).unwrap_or(0))));
    }
    if stay > 0 {
        look.note(it, format!("keeps {}, which tolerate its taints", pods(stay)));
    }
}

/// After which time since when a pod leaves because of taints; none: it tolerates them.
fn leaves(pod: &Thing, taints: &[Value]) -> Option<(Duration, api::Time)> {
    let tolerations = list(&pod.json, "/spec/tolerations");
    let mut first: Option<(Duration, api::Time)> = None;
    for taint in taints {
        let added = time(taint, "/timeAdded");
        let fitting = tolerations.iter().filter(|it| tolerates(it, taint));
        let seconds: Vec<_> = fitting.map(|it| number(it, "/tolerationSeconds")).collect();
        if seconds.is_empty() {
            return Some((Duration::ZERO, added.unwrap_or(api::Time::EPOCH)));
        }
        let least = seconds.into_iter().flatten().min();
        if let Some(least) = least {
            let after = Duration::from_secs(u64::try_from(least).unwrap_or(0));
            let added = added.unwrap_or(api::Time::EPOCH);
            let is_sooner = first.is_none_or(|(known, at)| added + after < at + known);
            if is_sooner {
                first = Some((after, added));
            }
        }
    }
    first
}

fn tolerates(toleration: &Value, taint: &Value) -> bool {
    let effect = text(toleration, "/effect");
    let key = text(toleration, "/key");
    let is_effect = effect.is_empty() || effect == text(taint, "/effect");
    let is_key = key.is_empty() || key == text(taint, "/key");
    let exists = text(toleration, "/operator") == "Exists";
    is_effect && is_key && (exists || text(toleration, "/value") == text(taint, "/value"))
}
