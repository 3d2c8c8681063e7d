//! What a request asks for.

mod body;
mod fields;
mod labels;
mod list;
mod media;
mod path;
mod query;
mod user;

#[cfg(test)]
mod tests;

use std::sync::Arc;

use api::Time;
use bytes::Bytes;
use http::{HeaderMap, Method};

use crate::registry::Served;
use crate::server::State;
use crate::status::Status;

pub(crate) use body::check as check_body;
pub(crate) use fields::Fields;
pub(crate) use labels::Labels;
pub(crate) use list::{ListOptions, Match};
pub(crate) use media::{Form, Include, negotiate, wants_pretty};
pub(crate) use user::user_of;

/// A request, whole.
#[derive(Clone, Debug)]
pub struct Request {
    /// The method.
    pub method: Method,
    /// The path, still percent-encoded.
    pub path: String,
    /// What stands after `?`; may be empty.
    pub query: String,
    /// The headers.
    pub headers: HeaderMap,
    /// The body.
    pub body: Bytes,
}

/// What a request turned out to be.
pub(crate) enum Asked {
    /// About a resource.
    Call(Box<Call>),
    /// About the server itself, or nothing.
    Page(Box<Request>),
}

/// A request for a resource, as it was understood.
pub(crate) struct Call {
    pub(crate) verb: Verb,
    pub(crate) served: Arc<Served>,
    /// Empty: none, or all.
    pub(crate) namespace: String,
    /// Empty: none.
    pub(crate) name: String,
    /// Empty: the object itself.
    pub(crate) subresource: String,
    /// The parameters of the query, decoded, in their order.
    pub(crate) parameters: Vec<(String, String)>,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
    pub(crate) user: User,
    pub(crate) now: Time,
}

/// What is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verb {
    Get,
    List,
    Watch,
    Create,
    Update,
    Patch,
    Delete,
    DeleteCollection,
}

/// Who asks: the server believes what it is told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct User {
    pub(crate) name: String,
    pub(crate) groups: Vec<String>,
}

// === impl Request ===

impl Request {
    /// A request without headers and body.
    pub fn new(method: Method, path: &str, query: &str) -> Self {
        let (path, query) = (path.to_owned(), query.to_owned());
        Self { method, path, query, headers: HeaderMap::new(), body: Bytes::new() }
    }

    /// The same with a JSON body.
    pub fn with_json(mut self, body: impl Into<Bytes>) -> Self {
        let json = http::HeaderValue::from_static("application/json");
        self.headers.insert(http::header::CONTENT_TYPE, json);
        self.body = body.into();
        self
    }

    /// Finds out what is asked for (upstream's RequestInfo, and its routes).
    pub(crate) fn ask(self, state: &State) -> Result<Asked, Status> {
        let now = state.runtime.clock.now();
        let parameters = query::parse(&self.query);
        let Some(path) = path::parse(&self.path)? else {
            return Ok(Asked::Page(Box::new(self)));
        };
        let route = path.route(&state.registry, &self.method, &parameters)?;
        let user = user_of(&self.headers);
        let path::Route { verb, served, namespace, name, subresource } = route;
        let mut call = Call {
            verb,
            served,
            namespace,
            name,
            subresource,
            parameters,
            headers: self.headers,
            body: self.body,
            user,
            now,
        };
        check_body(&mut call)?;
        Ok(Asked::Call(Box::new(call)))
    }
}

// === impl Call ===

impl Call {
    /// The first value of a parameter; empty: it is absent.
    pub(crate) fn parameter(&self, name: &str) -> &str {
        query::first(&self.parameters, name).unwrap_or_default()
    }

    /// The first value of a parameter that is true unless it says `false` or `0`, as upstream
    /// reads them; none: it is absent.
    pub(crate) fn switch(&self, name: &str) -> Option<bool> {
        query::switch(&self.parameters, name)
    }

    /// The first value of a parameter that is a number; none: it is absent.
    pub(crate) fn number(&self, name: &str) -> Result<Option<i64>, Status> {
        query::number(&self.parameters, name)
    }

    /// The namespace, if the call is about one.
    pub(crate) fn within(&self) -> Option<&str> {
        (!self.namespace.is_empty()).then_some(&*self.namespace)
    }
}

// === impl Verb ===

impl Verb {
    /// As discovery writes it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Get => "get",
            Self::List => "list",
            Self::Watch => "watch",
            Self::Create => "create",
            Self::Update => "update",
            Self::Patch => "patch",
            Self::Delete => "delete",
            Self::DeleteCollection => "deletecollection",
        }
    }
}
