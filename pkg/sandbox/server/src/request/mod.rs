//! What a request asks for.

mod body;
mod fields;
mod list;
mod media;
mod path;
mod query;

#[cfg(test)]
mod tests;

use std::sync::Arc;

use api::Time;
use bytes::Bytes;
use http::{HeaderMap, Method};

use crate::access::{self, Attributes, To, User};
use crate::registry::Served;
use crate::server::State;
use crate::status::Status;

pub(crate) use api::SelectorText as Labels;
pub(crate) use body::check as check_body;
pub(crate) use fields::Fields;
pub(crate) use list::{ListOptions, Match};
pub(crate) use media::{Form, Include, negotiate, wants_pretty};

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
    /// The user of the client's certificate; none: it has none, and the headers authenticate.
    pub user: Option<User>,
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

// === impl Request ===

impl Request {
    /// A request without headers and body.
    pub fn new(method: Method, path: &str, query: &str) -> Self {
        let (path, query) = (path.to_owned(), query.to_owned());
        Self { method, path, query, headers: HeaderMap::new(), body: Bytes::new(), user: None }
    }

    /// The same from a user.
    pub fn by(self, user: User) -> Self {
        Self { user: Some(user), ..self }
    }

    /// The same with a JSON body.
    pub fn with_json(mut self, body: impl Into<Bytes>) -> Self {
        let json = http::HeaderValue::from_static("application/json");
        self.headers.insert(http::header::CONTENT_TYPE, json);
        self.body = body.into();
        self
    }

    /// Parses the request, and authorizes it (upstream's RequestInfo, its filters for
    /// authentication and authorization, and its routes). A refused user does not learn whether the
    /// object exists.
    pub(crate) fn ask(self, state: &State) -> Result<Asked, Status> {
        let now = state.runtime.clock.now();
        let parameters = query::parse(&self.query);
        let user = access::authenticate(state, &self)?;
        let Some(path) = path::parse(&self.path)? else {
            let verb = self.method.as_str().to_ascii_lowercase();
            let path = query::decode(&self.path).unwrap_or_default();
            permit(state, &user, &Attributes { verb: &verb, to: To::Path(&path) })?;
            return Ok(Asked::Page(Box::new(self)));
        };
        permit(state, &user, &path.attributes(&self.method, &parameters))?;
        let route = path.route(&state.registry, &self.method, &parameters)?;
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

/// Refuses a request that the user may not send.
fn permit(state: &State, user: &User, what: &Attributes<'_>) -> Result<(), Status> {
    let verdict = state.access.judge(user, what);
    if verdict.is_allowed() {
        return Ok(());
    }
    let status = access::forbidden(user, what, &verdict.reason());
    state.refusals.note(&user.name, &status.message);
    Err(status)
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
