//! Discovery that is wrong about a group: it lacks it, says that it is stale, or prefers another
//! version.
//!
//! As upstream's aggregator (kube-aggregator's pkg/apiserver/handler_discovery.go): what it knew of
//! a group whose server does not respond is still in it, as stale. It lacks a group that is new to
//! it. The server of a group decides the order of its versions.

use bytes::Bytes;
use http::{HeaderValue, Method, header, response};
use http_body_util::{BodyExt as _, Full};
use serde_json::Value;

use crate::fault::Fault;
use crate::life::{About, SiteResponse};

/// Where all groups but core are.
const GROUPS: &str = "/apis";

// === impl About ===

impl About {
    /// Whether it asks which groups there are.
    pub(crate) fn discovers(&self) -> bool {
        self.method == Method::GET && self.path == GROUPS
    }

    /// Whether it is about objects of a group.
    pub(crate) fn is_of_group(&self, group: &str) -> bool {
        let rest = self.path.strip_prefix("/apis/").and_then(|rest| rest.strip_prefix(group));
        rest.is_some_and(|rest| rest.starts_with('/'))
    }
}

/// What is wrong with the response to this, if it requests the list of groups.
pub(crate) fn wrong(about: &About, fault: Option<Fault>) -> Option<Fault> {
    let is_right = matches!(fault, Some(Fault::Unconverted(_)));
    fault.filter(|fault| about.discovers() && fault.group().is_some() && !is_right)
}

/// The whole answer as it is then. It has a name of its own.
pub(crate) fn bent(fault: Fault, mut head: response::Parts, body: &[u8]) -> SiteResponse {
    let mut document: Value = serde_json::from_slice(body).unwrap_or_default();
    let group = fault.group().unwrap_or_default();
    let named = |it: &Value| it["metadata"]["name"] == group || it["name"] == group;
    for list in ["items", "groups"] {
        let Some(groups) = document[list].as_array_mut() else { continue };
        match fault {
            Fault::Lacks(_) => groups.retain(|it| !named(it)),
            _ => groups.iter_mut().filter(|it| named(it)).for_each(|it| change(fault, it)),
        }
    }
    let name = head.headers.get(header::ETAG).and_then(|name| name.to_str().ok());
    let name = name.map(|name| format!("\"{} {fault}\"", name.trim_matches('"')));
    if let Some(name) = name.and_then(|name| HeaderValue::from_str(&name).ok()) {
        head.headers.insert(header::ETAG, name);
    }
    head.headers.remove(header::CONTENT_LENGTH);
    let body = Full::new(Bytes::from(document.to_string()));
    SiteResponse::from_parts(head, body.map_err(Into::into).boxed_unsync())
}

fn change(fault: Fault, group: &mut Value) {
    let Some(versions) = group["versions"].as_array_mut() else { return };
    match fault {
        Fault::Stale(_) => versions.iter_mut().for_each(|it| it["freshness"] = "Stale".into()),
        Fault::Flips(_) => versions.reverse(),
        _ => {}
    }
}
