//! NamespaceLifecycle: nothing new in namespaces that are not there or are ending.

use api::Key;
use serde_json::Value;

use super::{Attributes, Operation, with_cause};
use crate::registry::Served;
use crate::server::State;
use crate::status::{About, Status};
use crate::write::about;
use crate::write::fields::text;

/// What cannot be deleted.
const IMMORTAL: [&str; 3] = ["default", "kube-system", "kube-public"];

pub(super) fn admit(
    state: &State,
    attributes: &Attributes<'_>,
    object: &Value,
) -> Result<(), Status> {
    let namespace = attributes.namespace;
    let reviews = "localsubjectaccessreviews.authorization.k8s.io";
    if namespace.is_empty() || &*attributes.served.table == reviews {
        return Ok(());
    }
    let Some(stored) = state.store.get("namespaces", &Key::new("", namespace)) else {
        let about = About { group: "", resource: "namespaces", name: namespace };
        return Err(Status::not_found(about));
    };
    let ending = text(&stored.object, "/status/phase") == "Terminating";
    if attributes.operation == Operation::Update || !ending {
        return Ok(());
    }
    let why = format!(
        "unable to create new content in namespace {namespace} because it is being terminated"
    );
    let status = attributes.forbidden(object, &why);
    let message = format!("namespace {namespace} is being terminated");
    Err(with_cause(status, "NamespaceTerminating", &message, "metadata.namespace"))
}

pub(super) fn admit_delete(served: &Served, name: &str) -> Result<(), Status> {
    if &*served.table == "namespaces" && IMMORTAL.contains(&name) {
        return Err(Status::forbidden(about(served, name), "this namespace may not be deleted"));
    }
    Ok(())
}
