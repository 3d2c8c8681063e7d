//! The new ReplicaSet. As `getNewReplicaSet` in upstream's `pkg/controller/deployment/sync.go`.

use std::sync::Arc;

use api::{Deployment, Key, Kind, Meta, Raw, ReplicaSet};
use controller::{Announce, Answer, Facts, Plan, Query, Step, Write, controller_ref};
use serde_json::{Map, Value, json};

use super::changes;
use super::decide::Verdict;
use super::revision;
use super::snapshot::Snapshot;
use super::template::{self, HASH_LABEL, Template};

/// The API server's word for a name that is taken.
pub(super) const ALREADY_EXISTS: &str = "AlreadyExists";

/// The name of the new set, with what makes it unique.
pub(super) struct Name {
    /// The name.
    pub(super) set: String,
    hash: String,
}

/// The name that the new set gets.
pub(super) fn name(s: &Snapshot) -> Name {
    let deployment = &s.deployment;
    let template = Template::of(deployment.raw.field("spec"));
    let hash = template.hash(deployment.status.collision_count);
    Name { set: template::set_name(&deployment.meta.key.name, &hash), hash }
}

/// Makes the new set with so many pods. After a sync that failed it looks first whether the name is
/// taken: by the set itself, which the cache does not show yet, or by one of another template.
pub(super) fn plan(s: &Snapshot, facts: &Facts, replicas: i32) -> (Plan, Verdict) {
    let name = name(s);
    let key = Key { namespace: s.deployment.meta.key.namespace.clone(), name: (*name.set).into() };
    let query = Query::object(ReplicaSet::RESOURCE, key);
    match facts.get(&query).map(Answer::object) {
        // Mostly it is free. If not, the API server refuses, and the next sync looks.
        None if !s.has_failed => (create(s, &name, replicas), Verdict::Creation(replicas)),
        None => {
            let why = "there is no ReplicaSet of the template; is its name free?";
            (Plan::fetch(why, vec![query]), Verdict::Nothing)
        }
        Some(Ok(Some((meta, raw)))) if is_new(s, meta, raw) => {
            let error = format!("{} {:?} is not in the cache yet", ReplicaSet::RESOURCE, name.set);
            (Plan::failed("the new ReplicaSet exists already", error), Verdict::Nothing)
        }
        // The status says so, and then there is another name.
        Some(Ok(Some(_))) => {
            let why = "the name of the new ReplicaSet is taken by another one";
            let error = format!("{} {:?} already exists", ReplicaSet::RESOURCE, name.set);
            (Plan::failed(why, error), Verdict::Collision)
        }
        // If it cannot be read, creating it shows whether it exists.
        Some(Ok(None) | Err(_)) => (create(s, &name, replicas), Verdict::Creation(replicas)),
    }
}

fn is_new(s: &Snapshot, meta: &Meta, raw: &Raw) -> bool {
    let wanted = Template::of(s.deployment.raw.field("spec"));
    meta.is_controlled_by(&s.deployment.meta.uid) && Template::of(raw.field("spec")) == wanted
}

fn create(s: &Snapshot, name: &Name, replicas: i32) -> Plan {
    let announce = Announce {
        about: Arc::new(s.object()),
        done: None,
        failed: (
            "ReplicaSetCreateError",
            format!("Failed to create new replica set {:?}: ", name.set).into(),
        ),
        // Upstream emits no Event for it either: it adopts the set, or takes another name.
        silent: &[ALREADY_EXISTS],
    };
    let namespace = s.deployment.meta.key.namespace.clone();
    let create =
        Write::create(ReplicaSet::RESOURCE, namespace, body(s, name, replicas).to_string());
    let mut actions = vec![create.announced(announce).into()];
    if replicas > 0 {
        actions.push(changes::scaled(&Arc::new(s.object()), &name.set, 0, replicas));
    }
    let why = format!("new ReplicaSet {} with {replicas} pods", name.set);
    Plan::one(why, Step::InOrder(actions))
}

/// The new set as JSON.
fn body(s: &Snapshot, name: &Name, replicas: i32) -> Value {
    let meta = &s.deployment.meta;
    let spec = s.deployment.raw.field("spec");
    let spec: Value =
        spec.and_then(|spec| serde_json::from_str(spec.get()).ok()).unwrap_or_default();
    let mut template = spec["template"].clone();
    let mut selector = spec["selector"].clone();
    let labels = with_hash(&mut template["metadata"]["labels"], &name.hash).clone();
    with_hash(&mut selector["matchLabels"], &name.hash);
    json!({
        "apiVersion": ReplicaSet::RESOURCE.api_version(),
        "kind": ReplicaSet::RESOURCE.kind,
        "metadata": {
            "name": name.set, "namespace": meta.key.namespace, "labels": labels,
            "annotations": revision::at_creation(s),
            "ownerReferences": [controller_ref(&Deployment::RESOURCE, meta)],
        },
        "spec": {
            "replicas": replicas, "minReadySeconds": s.deployment.min_ready_seconds,
            "selector": selector, "template": template,
        },
    })
}

fn with_hash<'a>(labels: &'a mut Value, hash: &str) -> &'a Value {
    if !labels.is_object() {
        *labels = Value::Object(Map::new());
    }
    labels[HASH_LABEL] = hash.into();
    labels
}
