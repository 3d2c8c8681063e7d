//! The rules: for each kind, from what was read to findings. All of them are pure functions.
//!
//! # Parts
//! - `workloads`: Deployments, ReplicaSets, StatefulSets, DaemonSets
//! - `pod`: pods, and what they wait for
//! - `batch`: Jobs and CronJobs
//! - `scaling`: autoscalers and disruption budgets
//! - `service`: Services and their endpoints
//! - `storage`: claims, volumes and classes
//! - `node`, `namespace`: those
//! - `deletion`: objects that are being deleted

mod batch;
mod deletion;
mod namespace;
mod node;
mod pod;
mod scaling;
mod service;
mod storage;
mod workloads;

use std::collections::BTreeSet;

use api::{Resource, Time};

use crate::json::{condition_is, list, said, since, text};
use crate::look::{Look, Thing};
use crate::{Facts, Finding, Names, Need, Severity};

/// What the rules make of the facts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Examined {
    /// Along the chain, from the object on.
    pub findings: Vec<Finding>,
    /// What has not been read yet; until it is, the findings are not complete.
    pub needs: BTreeSet<Need>,
}

/// Looks at an object, by the rule of its kind, and along the chain.
pub fn examine(
    facts: &Facts,
    resource: &Resource,
    object: &serde_json::Value,
    now: Time,
) -> Examined {
    let thing = Thing::new(resource, &std::sync::Arc::new(object.clone()));
    examined(facts, &thing, &Names::default(), now)
}

pub(crate) fn examined(facts: &Facts, thing: &Thing, names: &Names, now: Time) -> Examined {
    let mut look = Look::new(facts, names, now);
    look.visit(thing);
    Examined { findings: look.findings, needs: look.needs }
}

/// The rule of a kind.
pub(crate) fn of(look: &mut Look<'_>, thing: &Thing) {
    let (group, plural) = (&*thing.resource.group, &*thing.resource.plural);
    match (group, plural) {
        ("", "pods") => return pod::pod(look, thing),
        ("", "namespaces") => return namespace::namespace(look, thing),
        ("", "persistentvolumeclaims") => return storage::claim(look, thing),
        ("", "persistentvolumes") => return storage::volume(look, thing),
        _ => {}
    }
    if deletion::holds(look, thing) {
        return;
    }
    match (group, plural) {
        ("apps", "deployments") => workloads::deployment(look, thing),
        ("apps", "replicasets") | ("", "replicationcontrollers") => {
            workloads::replica_set(look, thing);
        }
        ("apps", "statefulsets") => workloads::stateful_set(look, thing),
        ("apps", "daemonsets") => workloads::daemon_set(look, thing),
        ("batch", "jobs") => batch::job(look, thing),
        ("batch", "cronjobs") => batch::cron_job(look, thing),
        ("autoscaling", "horizontalpodautoscalers") => scaling::autoscaler(look, thing),
        ("policy", "poddisruptionbudgets") => scaling::budget(look, thing),
        ("", "services") => service::service(look, thing),
        ("", "resourcequotas") => workloads::quota(look, thing),
        ("", "nodes") => node::node(look, thing),
        ("storage.k8s.io", "storageclasses") => storage::class(look, thing),
        _ => any(look, thing),
    }
}

/// A kind without a rule: its conditions, by the usual meaning, and its last warning.
fn any(look: &mut Look<'_>, thing: &Thing) {
    for kind in ["Ready", "Available", "Established", "Synced"] {
        if let Some(condition) = condition_is(&thing.json, kind, "False") {
            let cause = format!("has the condition {kind}=False: {}", said(condition));
            look.waits(thing, cause).since(since(condition));
        }
    }
    let events = look.events(thing);
    if let Some(event) = events.iter().find(|event| text(event, "/type") == "Warning") {
        look.note(thing, format!("has a warning: {}", said(event)))
            .since(crate::look::event_time(event));
    }
    let conditions = list(&thing.json, "/status/conditions").len();
    if look.worst_since(0) == Severity::Note {
        let cause = match conditions {
            0 => "exists; there is no rule for its kind".to_owned(),
            _ => "exists, and no condition of it says otherwise".to_owned(),
        };
        look.note(thing, cause);
    }
}
