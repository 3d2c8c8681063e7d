//! Writes, as upstream's tests of the store, of `registry/rest` and of the handlers have them.

mod create;
mod delete;
mod patch;
mod subresources;
mod update;

use std::sync::Arc;

use api::{Key, Time};
use http::HeaderMap;
use runtime::Runtime;
use serde_json::{Value, json};
use strategies::Plain;

use super::fields::{has, text};
use super::{Written, write};
use crate::access::User;
use crate::registry::{Rules, Served};
use crate::request::{Call, Verb};
use crate::server::{Options, State};
use crate::status::Status;
use crate::store::Store;

/// 2026-01-01T00:00:00Z.
pub(crate) const NOW: Time = Time::from_unix(1_767_225_600, 0);

/// An empty server with the namespace `default`.
pub(crate) fn state() -> State {
    let options = Options { guard_nodes_and_volumes: true, ..Options::default() };
    let mut state = State::new(Store::new(100), &Runtime::simulated(NOW, 7), options);
    have(&mut state, "v1/namespaces", &json!({"metadata": {"name": "default"}}));
    state
}

fn copy(served: &Served) -> Served {
    Served {
        resource: served.resource.clone(),
        singular: served.singular.clone(),
        short_names: served.short_names.clone(),
        categories: served.categories.clone(),
        verbs: served.verbs.clone(),
        subresources: served.subresources.clone(),
        table: served.table.clone(),
        ty: served.ty,
        strategy: served.strategy.clone(),
        custom: served.custom,
        scale: served.scale.clone(),
        definition: served.definition.clone(),
    }
}

/// Serves `widgets.example.com`, as a CustomResourceDefinition would.
fn serve_widgets(state: &mut State) {
    let pods = served(state, "v1/pods");
    let resource = api::Resource::namespaced("example.com", "v1", "widgets", "Widget");
    let table = "widgets.example.com".into();
    let ty = schema::Schema::builtin().custom();
    let strategy = Rules::Builtin(&Plain);
    let widgets = Served { resource, table, ty, strategy, custom: true, ..copy(&pods) };
    state.registry.add(widgets);
}

/// `v1/pods`, `apps/v1/deployments`.
pub(crate) fn served(state: &State, place: &str) -> Arc<Served> {
    let parts: Vec<_> = place.split('/').collect();
    let found = match parts.as_slice() {
        [version, plural] => state.registry.get("", version, plural),
        [group, version, plural] => state.registry.get(group, version, plural),
        _ => None,
    };
    found.unwrap_or_else(|| panic!("{place} is not served")).clone()
}

/// Puts an object into the store, with defaults and a uid made of its name.
pub(crate) fn have(state: &mut State, place: &str, object: &Value) {
    let served = served(state, place);
    let mut object = object.clone();
    object["apiVersion"] = served.resource.api_version().into();
    object["kind"] = served.resource.kind.to_string().into();
    let name = text(&object, "/metadata/name").to_owned();
    if served.resource.namespaced && !has(&object, "/metadata/namespace") {
        object["metadata"]["namespace"] = "default".into();
    }
    if !has(&object, "/metadata/uid") {
        object["metadata"]["uid"] = format!("uid-{name}").into();
    }
    object["metadata"]["creationTimestamp"] = "2025-12-31T00:00:00Z".into();
    served.strategy.default(&mut object);
    schema::complete(schema::Schema::builtin(), served.ty, &mut object);
    let key = Key::new(text(&object, "/metadata/namespace"), &name);
    state.store.put(&served.table, &key, object);
}

/// What is in the store; null: nothing.
pub(crate) fn stored(state: &State, place: &str, name: &str) -> Value {
    let served = served(state, place);
    let namespace = if served.resource.namespaced { "default" } else { "" };
    let stored = state.store.get(&served.table, &Key::new(namespace, name));
    stored.map_or(Value::Null, |it| serde_json::Value::clone(&it.object))
}

/// A request: `POST v1/pods`, `DELETE v1/pods/web?dryRun=All`, `PUT v1/pods/web/status`. The
/// content type of a patch stands before its place: `PATCH merge v1/pods/web`.
pub(crate) fn call(state: &State, request: &str, body: &Value) -> Call {
    let mut words: Vec<_> = request.split(' ').collect();
    let (path, query) = words.pop().map(|it| it.split_once('?').unwrap_or((it, ""))).unwrap();
    let segments: Vec<_> = path.split('/').collect();
    let length = if segments[0].contains('.') || !segments[0].starts_with('v') { 3 } else { 2 };
    let served = served(state, &segments[..length].join("/"));
    let at = |at: usize| segments.get(length + at).copied().unwrap_or_default().to_owned();
    let (name, subresource) = (at(0), at(1));
    let verb = match (words[0], name.as_str()) {
        ("POST", _) => Verb::Create,
        ("PUT", _) => Verb::Update,
        ("PATCH", _) => Verb::Patch,
        ("DELETE", "") => Verb::DeleteCollection,
        ("DELETE", _) => Verb::Delete,
        (other, _) => panic!("{other}"),
    };
    let mut headers = HeaderMap::new();
    let content_type = match words.get(1).copied() {
        Some("merge") => "application/merge-patch+json",
        Some("strategic") => "application/strategic-merge-patch+json",
        Some("json") => "application/json-patch+json",
        Some("apply") => "application/apply-patch+yaml",
        Some(other) => other,
        None => "application/json",
    };
    headers.insert(http::header::CONTENT_TYPE, content_type.parse().unwrap());
    let parameters = query.split('&').filter_map(|it| it.split_once('='));
    let parameters = parameters.map(|(key, value)| (key.to_owned(), value.to_owned())).collect();
    let namespace = if served.resource.namespaced { "default" } else { "" }.to_owned();
    let body = if body.is_null() { Vec::new() } else { body.to_string().into_bytes() }.into();
    let user = User { name: "tester".to_owned(), groups: Vec::new() };
    Call { verb, served, namespace, name, subresource, parameters, headers, body, user, now: NOW }
}

/// Sends a request.
pub(crate) fn send(state: &mut State, request: &str, body: &Value) -> Result<Written, Status> {
    let call = call(state, request, body);
    write(state, &call)
}

/// Sends a request that is refused: its code, reason and message.
pub(crate) fn refused(state: &mut State, request: &str, body: &Value) -> String {
    let revision = state.store.revision();
    let status = send(state, request, body).expect_err(request);
    assert_eq!(state.store.revision(), revision, "{request} is refused and writes nothing");
    format!("{} {}: {}", status.code, status.reason, status.message)
}

/// A pod that runs.
pub(crate) fn pod(name: &str) -> Value {
    let container = json!({"name": "main", "image": "example.com/main"});
    json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": name, "namespace": "default", "labels": {"app": "web"}},
        "spec": {"nodeName": "node-1", "containers": [container]},
    })
}

/// A configmap.
fn map(name: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": name, "namespace": "default"}, "data": {"a": "1"},
    })
}
