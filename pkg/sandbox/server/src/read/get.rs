//! One object.

use api::Key;
use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::{HeaderValue, Response};

use super::render::{Renderer, Shown};
use crate::request::{Call, Form, ListOptions};
use crate::server::State;
use crate::status::{About, Status};
use crate::write;

/// Handles `get`, of an object or of what is below it.
pub(crate) fn get(state: &State, call: &Call, form: Form) -> Result<Response<Bytes>, Status> {
    let resource = &call.served.resource;
    let store = &state.store;
    let asked = ListOptions::version_of(call.parameter("resourceVersion"))?;
    if asked > store.revision() {
        return Err(Status::too_large_version(asked, store.revision()));
    }
    let key = Key::new(&call.namespace, &call.name);
    let found = store.get(&call.served.table, &key).ok_or_else(|| {
        let (group, resource) = (&*resource.group, &*resource.plural);
        Status::not_found(About { group, resource, name: &call.name })
    })?;
    let renderer = Renderer::new(call, form);
    let below = call.served.subresources.iter().find(|it| it.name == call.subresource);
    if call.subresource == "log" {
        return Ok(log());
    }
    let Some(below) = below else { return renderer.answer(200, &Shown::Stored(found)) };
    match below.kind {
        (group, _, kind) if group == resource.group && kind == resource.kind => {
            renderer.answer(200, &Shown::Stored(found))
        }
        (_, _, "Scale") => {
            let nothing = || Status::new(404, "NotFound", "there is nothing to scale");
            let document = write::show_scale(&call.served, &found.object).ok_or_else(nothing)?;
            renderer.answer(200, &Shown::Document(&document))
        }
        (_, _, kind) => {
            let below = &call.subresource;
            let message =
                format!("the sandbox has no {kind} to show at {}/{below}", resource.plural);
            Err(Status::new(501, "NotImplemented", message))
        }
    }
}

/// What `kubectl logs` shows of any pod.
fn log() -> Response<Bytes> {
    let mut answer = Response::new(Bytes::from_static(b"this pod is hollow, nothing runs in it\n"));
    let text = HeaderValue::from_static("text/plain");
    answer.headers_mut().insert(CONTENT_TYPE, text);
    answer
}
