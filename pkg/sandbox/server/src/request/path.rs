//! Paths, as upstream's RequestInfoFactory reads them, and what they lead to.

use std::sync::Arc;

use http::Method;
use serde_json::json;

use super::{Verb, query};
use crate::access::{Attributes, Resource, To};
use crate::registry::{Registry, Served};
use crate::status::Status;

/// A path below `/api` or `/apis` that is long enough to name a resource.
pub(super) struct Path {
    group: String,
    version: String,
    /// Whether it has the deprecated `/watch/` in it.
    watches: bool,
    namespace: Option<String>,
    resource: String,
    name: String,
    subresource: String,
    /// Whether there is more behind the subresource.
    is_longer: bool,
}

/// Where a path leads to.
pub(super) struct Route {
    pub(super) verb: Verb,
    pub(super) served: Arc<Served>,
    pub(super) namespace: String,
    pub(super) name: String,
    pub(super) subresource: String,
}

/// What is below a namespace rather than being a resource in it.
const NAMESPACE_SUBRESOURCES: [&str; 2] = ["status", "finalize"];

/// Reads a path; none: it names no resource.
pub(super) fn parse(path: &str) -> Result<Option<Path>, Status> {
    let Some(path) = query::decode(path) else {
        return Err(Status::bad_request(format!("invalid URL escape in {path:?}")));
    };
    let mut parts = path.trim_matches('/').split('/').map(str::to_owned);
    let mut next = || parts.next();
    let group = match next().as_deref() {
        Some("api") => Some(String::new()),
        Some("apis") => next(),
        _ => None,
    };
    let (Some(group), Some(version), Some(first)) = (group, next(), next()) else {
        return Ok(None);
    };
    let mut rest: Vec<_> = std::iter::once(first).chain(parts).collect();
    let watches = rest.first().is_some_and(|it| it == "watch") && rest.len() > 1;
    if watches {
        rest.remove(0);
    }
    let mut namespace = None;
    if rest.first().is_some_and(|it| it == "namespaces") {
        namespace = rest.get(1).cloned();
        let below = rest.get(2).map(String::as_str);
        if below.is_some_and(|below| !NAMESPACE_SUBRESOURCES.contains(&below)) {
            rest.drain(..2);
        }
    }
    let mut rest = rest.into_iter();
    let mut part = || rest.next().unwrap_or_default();
    let (resource, name, subresource) = (part(), part(), part());
    let is_longer = rest.next().is_some();
    Ok(Some(Path { group, version, watches, namespace, resource, name, subresource, is_longer }))
}

/// The one object that a list or a watch is about.
fn chosen(parameters: &[(String, String)]) -> Option<&str> {
    let terms = query::first(parameters, "fieldSelector")?.split(',');
    let mut names = terms.filter_map(|term| {
        let value = term.trim().strip_prefix("metadata.name=")?;
        Some(value.strip_prefix('=').unwrap_or(value))
    });
    names.next().filter(|it| !it.contains(['/', '%']) && !matches!(*it, "." | ".."))
}

// === impl Path ===

impl Path {
    /// What is done to what, as far as roles are concerned.
    pub(super) fn attributes<'a>(
        &'a self,
        method: &Method,
        parameters: &'a [(String, String)],
    ) -> Attributes<'a> {
        let watches = self.watches || query::switch(parameters, "watch").unwrap_or(false);
        let (mut verb, mut name) = (self.verb(method, watches), self.name.as_str());
        if *method == Method::HEAD {
            verb = Some(if name.is_empty() { Verb::List } else { Verb::Get });
        }
        if name.is_empty() && !self.watches && matches!(verb, Some(Verb::List | Verb::Watch)) {
            name = chosen(parameters).unwrap_or_default();
        }
        let resource = Resource {
            group: &self.group,
            plural: &self.resource,
            subresource: &self.subresource,
            namespace: self.namespace.as_deref().unwrap_or_default(),
            name,
        };
        Attributes { verb: verb.map_or("", Verb::name), to: To::Resource(resource) }
    }

    /// What is served there, and what the method does with it.
    pub(super) fn route(
        self,
        registry: &Registry,
        method: &Method,
        parameters: &[(String, String)],
    ) -> Result<Route, Status> {
        let served = registry.get(&self.group, &self.version, &self.resource);
        let Some(served) = served.filter(|served| self.fits(served)).cloned() else {
            return Err(self.unknown());
        };
        let watches = self.watches || query::switch(parameters, "watch").unwrap_or(false);
        let verb = self.verb(method, watches);
        let verb = verb.filter(|verb| self.allows(&served, *verb));
        let verb = verb.ok_or_else(|| self.wrong_method())?;
        let namespace = match self.namespace {
            Some(namespace) if served.resource.namespaced => namespace,
            _ => String::new(),
        };
        let Self { name, subresource, .. } = self;
        Ok(Route { verb, served, namespace, name, subresource })
    }

    /// Whether the path has the parts that the resource needs.
    fn fits(&self, served: &Served) -> bool {
        // Namespaces are their own namespace.
        let is_namespace = self.group.is_empty() && self.resource == "namespaces";
        let placed = match self.namespace {
            Some(_) => served.resource.namespaced || is_namespace,
            None => !served.resource.namespaced || self.name.is_empty(),
        };
        let below = &self.subresource;
        let known = below.is_empty() || served.subresources.iter().any(|it| it.name == below);
        placed && known && !self.is_longer
    }

    fn verb(&self, method: &Method, watches: bool) -> Option<Verb> {
        if self.watches {
            return (method == Method::GET && self.subresource.is_empty()).then_some(Verb::Watch);
        }
        let is_one = !self.name.is_empty();
        Some(match (method.as_str(), is_one) {
            ("GET", true) => Verb::Get,
            ("GET", false) if watches => Verb::Watch,
            ("GET", false) => Verb::List,
            ("POST", _) => Verb::Create,
            ("PUT", true) => Verb::Update,
            ("PATCH", true) => Verb::Patch,
            ("DELETE", true) => Verb::Delete,
            ("DELETE", false) => Verb::DeleteCollection,
            _ => return None,
        })
    }

    fn allows(&self, served: &Served, verb: Verb) -> bool {
        let name = verb.name();
        if !self.subresource.is_empty() {
            let below = served.subresources.iter().find(|it| it.name == self.subresource);
            return below.is_some_and(|below| below.verbs.contains(&name));
        }
        // Objects are made in their namespace, and under the name that they say.
        let all = served.resource.namespaced && self.namespace.is_none();
        let is_placed = match verb {
            Verb::Create => self.name.is_empty() && !all,
            Verb::DeleteCollection => !all,
            Verb::Get | Verb::List | Verb::Watch | Verb::Update | Verb::Patch | Verb::Delete => {
                true
            }
        };
        is_placed && served.verbs.contains(&name)
    }

    fn unknown(&self) -> Status {
        self.refuse(404, "NotFound", "the server could not find the requested resource")
    }

    fn wrong_method(&self) -> Status {
        let message = "the server does not allow this method on the requested resource";
        self.refuse(405, "MethodNotAllowed", message)
    }

    /// As client-go completes the bare responses that a real API server gives.
    fn refuse(&self, code: u16, reason: &'static str, message: &str) -> Status {
        let mut status = Status::new(code, reason, message);
        let about = [("name", &self.name), ("group", &self.group), ("kind", &self.resource)];
        let about = about.into_iter().filter(|(_, value)| !value.is_empty());
        status.details = about.map(|(field, it)| (field.to_owned(), json!(it))).collect();
        status
    }
}
