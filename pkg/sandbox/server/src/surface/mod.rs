//! Responses about the server itself: discovery, OpenAPI, versions, health; access reviews; and
//! which resources CustomResourceDefinitions add.

mod custom;
mod definition;
mod discovery;
mod jsonpath;
mod lasting;
mod openapi;
mod review;
mod server;
#[cfg(test)]
mod tests;
pub(crate) mod token;

use bytes::Bytes;
use http::Method;
use serde_json::Value;

use crate::request::Request;
use crate::server::State;
use crate::status::Status;

pub(crate) use definition::{begin_deletion, complete_definition, definitions_changed};
pub(crate) use review::review;

/// A document that is not an object.
#[derive(Clone, Debug)]
pub(crate) struct Page {
    pub(crate) content_type: String,
    pub(crate) body: Bytes,
    /// With its quotes, if the client may keep the page: `If-None-Match` with it is answered by
    /// 304.
    pub(crate) etag: Option<String>,
}

/// Handles a path that names no resource; 404 if there is nothing.
pub(crate) fn page(state: &State, request: &Request) -> Result<Page, Status> {
    let path = match request.path.trim_end_matches('/') {
        "" => "/",
        path => path,
    };
    let found = match path {
        "/" | "/index.html" => Some(server::index(state)),
        "/version" => Some(server::version()),
        "/healthz" | "/livez" | "/readyz" => Some(server::health(path, &request.query)),
        _ if path.starts_with("/openapi/v3") => openapi::page(state, path),
        _ if server::is_check(path) => Some(Page::text("ok".to_owned())),
        _ => discovery::page(state, path, &request.headers),
    };
    match found {
        Some(_) if !matches!(request.method, Method::GET | Method::HEAD) => {
            let message = "the server does not allow this method on the requested resource";
            Err(Status::new(405, "MethodNotAllowed", message))
        }
        Some(page) => Ok(page),
        None => {
            Err(Status::new(404, "NotFound", "the server could not find the requested resource"))
        }
    }
}

impl Page {
    fn json(document: &Value) -> Self {
        let body = serde_json::to_vec(document).unwrap_or_default().into();
        Self { content_type: "application/json".to_owned(), body, etag: None }
    }

    fn text(text: String) -> Self {
        let content_type = "text/plain; charset=utf-8".to_owned();
        Self { content_type, body: text.into(), etag: None }
    }
}

/// Changes when the text does: 64 bits of FNV-1a in hexadecimal.
fn hash(text: &[u8]) -> String {
    let mut hash: u64 = 0xcbf2_9ce4_8422_2325;
    for byte in text {
        hash = (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
    }
    format!("{hash:016X}")
}
