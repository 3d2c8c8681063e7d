//! New objects.

use apimachinery::fields;
use schema::apply::{self, Applier};
use schema::{Decoded, Schema};
use serde_json::{Value, json};

use super::body::{Wanted, put_in_namespace};
use super::fields::{has, metadata, set, text};
use super::options::{Of, Options};
use super::{
    Document, Written, about, about_kind, check_metadata, complete, is_definition, key, names, put,
    with_environment,
};
use crate::access;
use crate::admission::{self, Attributes, Operation};
use crate::registry::Served;
use crate::request::Call;
use crate::server::State;
use crate::status::Status;
use crate::surface;

/// How often a name is generated before the server gives up.
const ATTEMPTS_MAX: usize = 8;
/// What a client cannot say of an object (WipeObjectMetaSystemFields).
const SYSTEM_FIELDS: [&str; 5] =
    ["creationTimestamp", "uid", "deletionTimestamp", "deletionGracePeriodSeconds", "selfLink"];

/// Handles a POST.
pub(super) fn create(state: &mut State, call: &Call) -> Result<Written, Status> {
    let options = Options::read(call, Of::Create)?;
    let decoded = Wanted::of(call, options.strictness).read(call)?;
    let warnings = decoded.warnings.clone();
    created(state, call, &options, decoded).map_err(|status| status.warned(&warnings))
}

fn created(
    state: &mut State,
    call: &Call,
    options: &Options,
    decoded: Decoded,
) -> Result<Written, Status> {
    let (mut object, mut warnings) = (decoded.object, decoded.warnings);
    let served = &call.served;
    if !served.verbs.contains(&"get") {
        let reviewed = surface::review(state, call, &object)?.unwrap_or(object);
        return Ok(Written { code: 201, document: reviewed.into(), warnings });
    }
    for field in SYSTEM_FIELDS {
        metadata(&mut object).remove(field);
    }
    put_in_namespace(&mut object, call)?;
    warnings.extend(single_owners(&mut object, Admission::Before));
    own(state, call, options, &Value::Null, &mut object);
    let attributes = Attributes::of(call, Operation::Create);
    admission::admit(state, &attributes, &mut object, None)?;
    warnings.extend(single_owners(&mut object, Admission::After));
    access::check_escalation(&state.access, call, &object, None)?;
    let document = insert(state, call, options, &object, &mut warnings)?;
    Ok(Written { code: 201, document, warnings })
}

/// Puts a new object into the store. It has passed its type and mutating admission.
pub(super) fn insert(
    state: &mut State,
    call: &Call,
    options: &Options,
    object: &Value,
    warnings: &mut Vec<String>,
) -> Result<Document, Status> {
    let generates =
        text(object, "/metadata/name").is_empty() && has(object, "/metadata/generateName");
    let attempts = if generates { ATTEMPTS_MAX } else { 1 };
    let mut result = Err(super::internal("no name was tried"));
    for _ in 0..attempts {
        result = attempt(state, call, options, object.clone());
        match &result {
            Err(status) if status.reason == "AlreadyExists" => {}
            Ok(_) | Err(_) => break,
        }
    }
    let (stored, more) = result?;
    warnings.extend(more);
    Ok(stored)
}

/// One name is tried.
fn attempt(
    state: &mut State,
    call: &Call,
    options: &Options,
    mut object: Value,
) -> Result<(Document, Vec<String>), Status> {
    let served = &call.served;
    fill(state, call, &mut object);
    admission::service::allocate(state, served, &mut object, None)?;
    put_in_namespace(&mut object, call)?;
    with_environment(state, call, |env| served.strategy.prepare_create(&mut object, env));
    if is_definition(&served.table) {
        surface::complete_definition(state, &mut object);
    }
    if &*served.table == "certificatesigningrequests.certificates.k8s.io" {
        sign(call, &mut object);
    }
    complete(served, &mut object);
    let name = text(&object, "/metadata/name").to_owned();
    let mut faults = check_metadata(&object, served);
    faults.extend(served.strategy.validate_create(&object));
    if !faults.is_empty() {
        return Err(Status::invalid(about_kind(served, &name), &faults));
    }
    let warnings = served.strategy.warnings(&object, None);
    let attributes = Attributes::of(call, Operation::Create);
    let charges = admission::validate(state, &attributes, &object, None)?;
    if !text(&object, "/metadata/resourceVersion").is_empty() {
        let message = "resourceVersion should not be set on objects to be created";
        return Err(Status::new(500, "", message));
    }
    let key = key(call, &name);
    if let Some(known) = state.store.get(&served.table, &key) {
        return Err(exists(served, &object, &known.object));
    }
    if options.dry_run {
        return Ok((object.into(), warnings));
    }
    admission::charge(state, charges);
    Ok((put(state, &served.table, &key, object).into(), warnings))
}

/// What the server says of each new object: its uid, when it was made, and its name.
fn fill(state: &State, call: &Call, object: &mut Value) {
    let random = &state.runtime.random;
    let base = text(object, "/metadata/generateName").to_owned();
    let map = metadata(object);
    map.insert("creationTimestamp".to_owned(), call.now.to_string().into());
    map.insert("uid".to_owned(), names::uid(random).into());
    let unnamed = map.get("name").and_then(Value::as_str).is_none_or(str::is_empty);
    if unnamed && !base.is_empty() {
        map.insert("name".to_owned(), names::generated(&base, random).into());
    }
}

/// Only the server writes the author of a certificate request.
fn sign(call: &Call, object: &mut Value) {
    let spec = super::fields::map(object, &["spec"]);
    spec.insert("username".to_owned(), call.user.name.clone().into());
    spec.insert("groups".to_owned(), call.user.groups.clone().into());
}

/// 409: the name is taken.
fn exists(served: &Served, object: &Value, known: &Value) -> Status {
    let about = about(served, text(object, "/metadata/name"));
    let mut status = Status::already_exists(about);
    if !text(object, "/metadata/generateName").is_empty() {
        let why = "the server was not able to generate a unique name for the object";
        status.message = format!("{about} already exists, {why}");
        status.details["retryAfterSeconds"] = json!(1);
    }
    if has(known, "/metadata/deletionTimestamp") {
        status.message = format!("object is being deleted: {}", status.message);
    }
    status
}

/// An object that the server creates for itself, if it is not there, without authorization.
pub(crate) fn insert_quietly(state: &mut State, served: &Served, mut object: Value) {
    let now = state.runtime.clock.now();
    let random = || state.runtime.random.bits();
    let env = strategies::Environment { now, random: &random };
    served.strategy.default(&mut object);
    served.strategy.prepare_create(&mut object, &env);
    let uid = names::uid(&state.runtime.random);
    let map = metadata(&mut object);
    map.insert("creationTimestamp".to_owned(), now.to_string().into());
    map.insert("uid".to_owned(), uid.into());
    let key = api::Key::new(text(&object, "/metadata/namespace"), text(&object, "/metadata/name"));
    if state.store.get(&served.table, &key).is_none() {
        put(state, &served.table, &key, object);
    }
}

/// Writes the managers into `managedFields`.
pub(super) fn own(state: &State, call: &Call, options: &Options, old: &Value, new: &mut Value) {
    if !state.options.track_updates {
        let known = fields::at(old, "/metadata/managedFields").cloned();
        let map = metadata(new);
        match known {
            Some(known) => drop(map.insert("managedFields".to_owned(), known)),
            None => drop(map.remove("managedFields")),
        }
        return;
    }
    let served = &call.served;
    let (api_version, now) = (served.resource.api_version(), call.now.to_string());
    let by = Applier {
        manager: &options.manager,
        force: options.force,
        subresource: &call.subresource,
        api_version: &api_version,
        now: &now,
    };
    apply::updated(Schema::builtin(), served.ty, old, new, &by);
}

/// When owners are looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Admission {
    Before,
    After,
}

/// Drops owners that are there twice; the warning, if there are such.
pub(super) fn single_owners(object: &mut Value, when: Admission) -> Option<String> {
    let owners = fields::at(object, "/metadata/ownerReferences").and_then(Value::as_array)?;
    let (mut once, mut twice): (Vec<Value>, Vec<String>) = (Vec::new(), Vec::new());
    for owner in owners {
        if once.contains(owner) {
            twice.push(text(owner, "/uid").to_owned());
        } else {
            once.push(owner.clone());
        }
    }
    if twice.is_empty() {
        return None;
    }
    set(metadata(object), "ownerReferences", once.into());
    let after = match when {
        Admission::Before => "",
        Admission::After => " after mutating admission happens",
    };
    Some(format!(
        ".metadata.ownerReferences contains duplicate entries{after}; API server dedups owner \
         references in 1.20+, and may reject such requests as early as 1.24; please fix your \
         requests; duplicate UID(s) observed: {}",
        twice.join(", ")
    ))
}
