//! What Go's types hold before anything is set: what is not left out of their JSON is there, and
//! nobody owns that it is there.

use serde_json::{Map, Value};

use crate::{Schema, Shape, TypeId};

/// Structures that are part of their owner rather than referred to, other than `metadata`, `spec`
/// and `status` of kinds. From OpenAPI: fields with the default `{}`, as far as they are not in
/// lists.
const PARTS: [(&str, &str); 18] = [
    ("api.apps.v1.DaemonSetSpec", "updateStrategy"),
    ("api.apps.v1.DeploymentSpec", "strategy"),
    ("api.apps.v1.ReplicaSetSpec", "template"),
    ("api.apps.v1.StatefulSetSpec", "updateStrategy"),
    ("api.batch.v1.JobTemplateSpec", "metadata"),
    ("api.batch.v1.JobTemplateSpec", "spec"),
    ("api.core.v1.Event", "source"),
    ("api.core.v1.NodeDaemonEndpoints", "kubeletEndpoint"),
    ("api.core.v1.NodeStatus", "daemonEndpoints"),
    ("api.core.v1.NodeStatus", "nodeInfo"),
    ("api.core.v1.PersistentVolumeClaimSpec", "resources"),
    ("api.core.v1.PodTemplate", "template"),
    ("api.core.v1.PodTemplateSpec", "metadata"),
    ("api.core.v1.PodTemplateSpec", "spec"),
    ("api.core.v1.ServiceStatus", "loadBalancer"),
    ("api.networking.v1.IngressStatus", "loadBalancer"),
    ("api.networking.v1.NetworkPolicySpec", "podSelector"),
    ("api.resource.v1.ResourceClaimSpec", "devices"),
];

/// An object of a kind.
pub(super) fn kind(schema: &Schema, id: TypeId) -> Value {
    if schema.get(id).open {
        return Value::Object(Map::new());
    }
    object(schema, id, &["metadata", "spec", "status"])
}

fn object(schema: &Schema, id: TypeId, parts: &[&str]) -> Value {
    let it = schema.get(id);
    let mut fields = Map::new();
    for field in &it.fields {
        let is_part = parts.contains(&field.name) || PARTS.contains(&(it.name, field.name));
        let value = match field.shape {
            // What is required and has one owner is a selector, and referred to.
            Shape::Object(id) if is_part || (field.required && !schema.get(id).atomic) => {
                object(schema, id, &[])
            }
            _ if field.required => Value::Null,
            _ => continue,
        };
        fields.insert(field.name.to_owned(), value);
    }
    Value::Object(fields)
}
