//! Responses to writes: creates, updates, patches and deletions, of objects and of what is below
//! them. What apiserver's `registry/generic/registry/store.go` and `endpoints/handlers` do.
//!
//! A write holds the whole state, so nothing changes between its look and its write: there are no
//! conflicts but those that the client asks for by a version.

mod binding;
mod body;
mod collection;
mod create;
mod delete;
mod eviction;
pub(crate) mod fields;

pub(crate) mod names;
mod options;
mod part;
mod patch;
mod policy;
mod scale;
mod token;
mod update;

#[cfg(test)]
pub(crate) mod tests;

use std::ops::Deref;
use std::sync::Arc;

use api::Key;
use schema::Schema;
use serde_json::{Value, json};
use strategies::{Environment, Invalid, Path};

pub(crate) use create::insert_quietly;
pub(crate) use scale::show as show_scale;

use crate::registry::Served;
use crate::request::{Call, Verb};
use crate::server::State;
use crate::status::{About, Status};
use crate::store::{Stored, Table};
use part::Part;

/// What was written.
#[derive(Debug)]
pub(crate) struct Written {
    /// 200, 201 or 202.
    pub(crate) code: u16,
    /// What the client is shown: an object of the resource, or another document.
    pub(crate) document: Document,
    /// What it is warned of.
    pub(crate) warnings: Vec<String>,
}

/// What a client is shown of a write.
#[derive(Debug)]
pub(crate) enum Document {
    /// An object as it is stored: its JSON is encoded once, for all responses.
    Stored(Arc<Stored>),
    /// Something else.
    Made(Value),
}

/// Does what a call with a writing verb asks for.
pub(crate) fn write(state: &mut State, call: &Call) -> Result<Written, Status> {
    match (call.subresource.as_str(), call.verb) {
        ("exec" | "attach" | "portforward" | "proxy" | "log", _) => Err(no_containers(call)),
        ("", Verb::Create) if &*call.served.table == "bindings" => binding::create(state, call),
        ("", Verb::Create) => create::create(state, call),
        ("", Verb::Update) => update::put(state, call, Part::Whole),
        ("", Verb::Patch) => patch::patch(state, call, Part::Whole),
        ("", Verb::Delete) => delete::delete(state, call),
        ("", Verb::DeleteCollection) => collection::delete(state, call),
        ("scale", Verb::Update) => scale::update(state, call),
        ("scale", Verb::Patch) => scale::patch(state, call),
        ("eviction", Verb::Create) => eviction::create(state, call),
        ("binding", Verb::Create) => binding::create(state, call),
        ("token", Verb::Create) => token::create(state, call),
        ("finalize", Verb::Update) => update::put(state, call, Part::Finalize),
        (_, Verb::Update | Verb::Patch) => match Part::of(&call.subresource) {
            Some(part) if call.verb == Verb::Update => update::put(state, call, part),
            Some(part) => patch::patch(state, call, part),
            None => Err(not_allowed()),
        },
        (_, _) => Err(not_allowed()),
    }
}

/// 501: what only a kubelet can do.
pub(crate) fn no_containers(call: &Call) -> Status {
    let (plural, what) = (&call.served.resource.plural, &call.subresource);
    let message = format!("the sandbox runs no containers: {plural}/{what} is not there");
    Status::new(501, "NotImplemented", message)
}

/// 405.
fn not_allowed() -> Status {
    let message = "the server does not allow this method on the requested resource";
    Status::new(405, "MethodNotAllowed", message)
}

/// 500.
fn internal(why: &str) -> Status {
    let mut status = Status::new(500, "InternalError", format!("Internal error occurred: {why}"));
    status.details = json!({"causes": [{"message": why}]});
    status
}

/// `metav1.Status` of a success, with these details.
fn success(details: &Value) -> Value {
    let mut document = json!({"kind": "Status", "apiVersion": "v1", "metadata": {}});
    let map = fields::map(&mut document, &[]);
    map.insert("status".to_owned(), "Success".into());
    fields::set(map, "details", details.clone());
    document
}

/// What a status about an object of this resource says of it.
pub(crate) fn about<'a>(served: &'a Served, name: &'a str) -> About<'a> {
    About { group: &served.resource.group, resource: &served.resource.plural, name }
}

/// The same, with the kind.
fn about_kind<'a>(served: &'a Served, name: &'a str) -> About<'a> {
    About { group: &served.resource.group, resource: &served.resource.kind, name }
}

/// The key of an object of the call's resource.
fn key(call: &Call, name: &str) -> Key {
    let namespace = if call.served.resource.namespaced { call.namespace.as_str() } else { "" };
    Key::new(namespace, name)
}

/// The object of a call, in its version.
fn existing(state: &State, call: &Call) -> Option<Arc<Value>> {
    let stored = state.store.get(&call.served.table, &key(call, &call.name))?;
    let mut object = stored.object.clone();
    if call.served.custom {
        let (map, version) = (Arc::make_mut(&mut object), call.served.resource.api_version());
        fields::map(map, &[]).insert("apiVersion".to_owned(), version.into());
    }
    Some(object)
}

/// The object of a call; 404 if there is none.
fn found(state: &State, call: &Call) -> Result<Arc<Value>, Status> {
    existing(state, call).ok_or_else(|| Status::not_found(about(&call.served, &call.name)))
}

/// What is wrong with the metadata of an object.
fn check_metadata(object: &Value, served: &Served) -> Vec<Invalid> {
    let (namespaced, rule) = (served.resource.namespaced, served.strategy.name_rule());
    strategies::validate_metadata(object, namespaced, rule, &Path::new("metadata"))
}

/// Writes an object as Go would.
fn complete(served: &Served, object: &mut Value) {
    schema::complete(Schema::builtin(), served.ty, object);
}

/// Does something with what strategies may know.
fn with_environment<T>(state: &State, call: &Call, act: impl FnOnce(&Environment<'_>) -> T) -> T {
    let random = || state.runtime.random.bits();
    act(&Environment { now: call.now, random: &random })
}

/// Puts an object into the store and notifies what depends on its kind.
fn put(state: &mut State, table: &Table, key: &Key, object: Value) -> Arc<Stored> {
    let stored = state.store.put(table, key, object);
    state.access.changed(table, key, (stored.revision, Some(&stored.object)));
    if is_definition(table) {
        crate::surface::definitions_changed(state);
    }
    stored
}

/// Removes an object from the store and notifies what depends on its kind.
fn remove(state: &mut State, served: &Served, key: &Key) -> Option<Arc<Stored>> {
    let removed = state.store.remove(&served.table, key)?;
    state.access.changed(&served.table, key, (state.store.revision(), None));
    // A definition that is being deleted waits for its last object.
    if served.custom || is_definition(&served.table) {
        crate::surface::definitions_changed(state);
    }
    Some(removed)
}

fn is_definition(table: &str) -> bool {
    table == "customresourcedefinitions.apiextensions.k8s.io"
}

// === impl Document ===

impl Deref for Document {
    type Target = Value;

    fn deref(&self) -> &Value {
        match self {
            Self::Stored(stored) => &stored.object,
            Self::Made(value) => value,
        }
    }
}

impl From<Value> for Document {
    fn from(value: Value) -> Self {
        Self::Made(value)
    }
}

impl From<Arc<Stored>> for Document {
    fn from(stored: Arc<Stored>) -> Self {
        Self::Stored(stored)
    }
}

impl PartialEq<Value> for Document {
    fn eq(&self, other: &Value) -> bool {
        **self == *other
    }
}
