//! Deletions of all objects that a list would show.

use serde_json::{Value, json};

use super::Written;
use super::delete::delete_with;
use super::fields::{map, set, text};
use super::options::Deletion;
use crate::read::Selection;
use crate::request::{Call, ListOptions};
use crate::server::State;
use crate::status::Status;

/// Handles a DELETE of a collection with the list of what was deleted.
pub(super) fn delete(state: &mut State, call: &Call) -> Result<Written, Status> {
    let options = Deletion::read(call)?;
    let list = ListOptions::of(call)?;
    let limit = Some(list.limit).filter(|limit| *limit > 0);
    let selection = Selection::of(call, &list);
    let stored = state.store.list(&call.served.table, selection.namespace.as_deref());
    let stored = stored.iter().filter(|stored| selection.picks(&stored.object));
    let chosen = stored.take(limit.unwrap_or(usize::MAX));
    let mut chosen: Vec<_> = chosen.map(|stored| Value::clone(&stored.object)).collect();
    let revision = state.store.revision();
    for object in &chosen {
        let one = Call {
            name: text(object, "/metadata/name").to_owned(),
            namespace: text(object, "/metadata/namespace").to_owned(),
            parameters: call.parameters.clone(),
            served: call.served.clone(),
            subresource: String::new(),
            headers: call.headers.clone(),
            body: call.body.clone(),
            user: call.user.clone(),
            ..*call
        };
        match delete_with(state, &one, &options) {
            Err(status) if status.code != 404 => return Err(status),
            Ok(_) | Err(_) => {}
        }
    }
    let resource = &call.served.resource;
    let api_version = resource.api_version();
    for object in &mut chosen {
        for field in ["apiVersion", "kind"] {
            set(map(object, &[]), field, Value::Null);
        }
        if call.served.custom {
            let map = map(object, &[]);
            map.insert("apiVersion".to_owned(), api_version.clone().into());
            map.insert("kind".to_owned(), resource.kind.to_string().into());
        }
    }
    let document = json!({
        "kind": format!("{}List", resource.kind),
        "apiVersion": api_version,
        "metadata": {"resourceVersion": revision.to_string()},
        "items": chosen,
    });
    let document = document.into();
    Ok(Written { code: 200, document, warnings: Vec::new() })
}
