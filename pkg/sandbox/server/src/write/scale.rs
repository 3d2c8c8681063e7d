//! `/scale`: the replicas of an object, whatever its kind.

use std::sync::Arc;

use apimachinery::fields;
use serde_json::{Map, Value, json};
use strategies::{Invalid, Path};

use super::body::{Wanted, check_name, put_in_namespace};
use super::fields::{map, metadata, number, set, text};
use super::options::{Of, Options};
use super::part::Part;
use super::patch::{Kind, configuration, patched};
use super::{Written, about, existing, found, update};
use crate::registry::{ScalePaths, Served};
use crate::request::Call;
use crate::server::State;
use crate::status::{About, Status};

/// The kind of the documents.
const SCALE: (&str, &str, &str) = ("autoscaling", "v1", "Scale");

/// Handles a PUT.
pub(super) fn update(state: &mut State, call: &Call) -> Result<Written, Status> {
    let options = Options::read(call, Of::Update)?;
    let decoded = Wanted::document(SCALE, options.strictness).read(call)?;
    let old = found(state, call)?;
    write(state, call, &options, old, decoded.object)
}

/// Handles a PATCH: of the scale, not of the object.
pub(super) fn patch(state: &mut State, call: &Call) -> Result<Written, Status> {
    let kind = Kind::of(call)?;
    let options = Options::read(call, kind.options())?;
    let old = found(state, call)?;
    let scale = read(call, &old)?;
    let wanted = Wanted::document(SCALE, options.strictness);
    let new = match kind {
        Kind::Apply => {
            let body = configuration(call)?.to_string();
            wanted
                .decode(body.as_bytes())
                .map_err(|error| Status::bad_request(error.to_string()))?
        }
        Kind::Json | Kind::Merge | Kind::Strategic => patched(call, kind, &wanted, &scale)?,
    };
    write(state, call, &options, old, new.object)
}

fn read(call: &Call, object: &Value) -> Result<Value, Status> {
    let about = about(&call.served, &call.name);
    show(&call.served, object).ok_or_else(|| Status::not_found(about))
}

/// The scale of an object; none: its kind has none.
pub(crate) fn show(served: &Served, object: &Value) -> Option<Value> {
    let Some(ScalePaths { wanted, present, selector }) = &served.scale else {
        return strategies::scale::read(object);
    };
    let metadata = ["name", "namespace", "uid", "resourceVersion", "creationTimestamp"];
    let metadata = metadata.iter().filter_map(|field| {
        let value = object.get("metadata")?.get(*field)?;
        Some(((*field).to_owned(), value.clone()))
    });
    let metadata: Map<String, Value> = metadata.collect();
    let replicas = fields::at(object, wanted)?.as_i64()?;
    let mut status = json!({"replicas": number(object, present).unwrap_or(0)});
    if let Some(text) = selector.as_ref().and_then(|at| fields::at(object, at)?.as_str()) {
        map(&mut status, &[]).insert("selector".to_owned(), text.into());
    }
    Some(json!({
        "kind": SCALE.2,
        "apiVersion": "autoscaling/v1",
        "metadata": metadata,
        "spec": {"replicas": replicas},
        "status": status,
    }))
}

/// Sets the replicas of a custom object.
fn custom(object: &mut Value, paths: &ScalePaths, scale: &Value) -> Vec<Invalid> {
    let replicas = number(scale, "/spec/replicas").unwrap_or(0);
    if replicas < 0 {
        let path = Path::new("spec").child("replicas");
        return vec![path.invalid(replicas, "should be a non-negative integer")];
    }
    let mut names: Vec<_> = paths.wanted.split('/').skip(1).collect();
    if let Some(last) = names.pop() {
        map(object, &names).insert(last.to_owned(), replicas.into());
    }
    Vec::new()
}

/// Writes what a scale says into its object.
fn write(
    state: &mut State,
    call: &Call,
    options: &Options,
    old: Arc<Value>,
    mut scale: Value,
) -> Result<Written, Status> {
    put_in_namespace(&mut scale, call)?;
    check_name(&scale, call)?;
    let mut new = Value::clone(&old);
    let faults = match &call.served.scale {
        Some(paths) => custom(&mut new, paths, &scale),
        None => strategies::scale::write(&mut new, &scale),
    };
    if !faults.is_empty() {
        let about = About { group: SCALE.0, resource: SCALE.2, name: &call.name };
        return Err(Status::invalid(about, &faults));
    }
    let version = text(&scale, "/metadata/resourceVersion").to_owned();
    let version =
        if version.is_empty() { text(&old, "/metadata/resourceVersion") } else { &version };
    set(metadata(&mut new), "resourceVersion", version.into());
    super::create::own(state, call, options, &old, &mut new);
    let uid = text(&scale, "/metadata/uid").to_owned();
    let change = update::Change {
        call,
        part: Part::Whole,
        options,
        creates: false,
        uid: Some(uid.as_str()).filter(|uid| !uid.is_empty()),
    };
    let written = update::update(state, &change, Some(old), new, Vec::new())?;
    let object = if options.dry_run { None } else { existing(state, call) };
    let document = read(call, object.as_deref().unwrap_or(&written.document))?;
    Ok(Written { document: document.into(), ..written })
}
