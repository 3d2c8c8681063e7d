//! Pods get their node: `POST bindings` and `POST pods/NAME/binding`.

use std::sync::Arc;

use api::Key;
use serde_json::{Value, json};
use strategies::pod;

use super::body::{Wanted, put_in_namespace};
use super::fields::{map, text};
use super::options::{Of, Options};
use super::update::precondition;
use super::{Written, about, put, success};
use crate::admission::{self, Attributes, Operation};
use crate::registry::Served;
use crate::request::Call;
use crate::server::State;
use crate::status::{About, Status};

/// Handles both.
pub(super) fn create(state: &mut State, call: &Call) -> Result<Written, Status> {
    let options = Options::read(call, Of::Create)?;
    let decoded = Wanted::document(("", "v1", "Binding"), options.strictness).read(call)?;
    let mut binding = decoded.object;
    put_in_namespace(&mut binding, call)?;
    let name = text(&binding, "/metadata/name").to_owned();
    if !call.subresource.is_empty() && name != call.name {
        return Err(Status::bad_request("name in URL does not match name in Binding object"));
    }
    check_target(&binding)?;
    let attributes = Attributes::of(call, Operation::Create);
    admission::admit(state, &attributes, &mut binding, None)?;
    let pods = pods(state)?;
    let key = Key::new(&call.namespace, &name);
    let stored = state.store.get(&pods.table, &key);
    let stored = stored.ok_or_else(|| Status::not_found(about(&pods, &name)))?;
    let mut pod = serde_json::Value::clone(&stored.object);
    for (what, field) in [("UID", "uid"), ("ResourceVersion", "resourceVersion")] {
        let pointer = format!("/metadata/{field}");
        let (wanted, known) = (text(&binding, &pointer), text(&pod, &pointer));
        if !wanted.is_empty() && wanted != known {
            let why = format!("{what} in precondition: {wanted}, {what} in object meta: {known}");
            return Err(precondition(&pods, &key, &why));
        }
    }
    pod::bind(&mut pod, text(&binding, "/target/name"), call.now).map_err(|why| {
        let about = About { group: "", resource: "pods/binding", name: &name };
        Status::conflict(about, &why)
    })?;
    pod::copy_metadata(&mut pod, &binding);
    if !options.dry_run {
        put(state, &pods.table, &key, pod);
    }
    Ok(Written { code: 201, document: done().into(), warnings: decoded.warnings })
}

/// `Status` of a create that leaves nothing to show.
pub(super) fn done() -> Value {
    let mut document = success(&Value::Null);
    map(&mut document, &[]).insert("code".to_owned(), json!(201));
    document
}

/// The resource of pods.
pub(super) fn pods(state: &State) -> Result<Arc<Served>, Status> {
    let pods = state.registry.get("", "v1", "pods").cloned();
    pods.ok_or_else(|| super::internal("pods are not served"))
}

/// ValidatePodBinding: what it says has no reason of its own.
fn check_target(binding: &Value) -> Result<(), Status> {
    let faults: Vec<_> = pod::validate_binding(binding).iter().map(ToString::to_string).collect();
    match faults.as_slice() {
        [] => Ok(()),
        [one] => Err(Status::new(500, "", one.clone())),
        _ => Err(Status::new(500, "", format!("[{}]", faults.join(", ")))),
    }
}
