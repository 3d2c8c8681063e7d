//! Objects that are there and change.

use std::sync::Arc;

use api::Key;
use apimachinery::fields;
use serde_json::Value;

use super::body::{Wanted, check_name, put_in_namespace};
use super::create::{Admission, insert, own, single_owners};
use super::fields::{has, items, metadata, number, set, text};
use super::options::{Of, Options};
use super::part::Part;
use super::policy::takes_any_version;
use super::{
    Document, Written, about, about_kind, check_metadata, complete, existing, is_definition, key,
    put as store, remove, with_environment,
};
use crate::access;
use crate::admission::{self, Attributes, Operation};
use crate::registry::Served;
use crate::request::Call;
use crate::server::State;
use crate::status::{About, Status};
use crate::surface;

/// The error for an update of an older version.
const CONFLICT: &str = "the object has been modified; please apply your changes to the latest \
                        version and try again";
/// What an update cannot change, once it is there.
const FIXED: [&str; 2] = ["creationTimestamp", "deletionTimestamp"];

/// A change of an object that is there, or, if that is allowed, of none.
pub(super) struct Change<'a> {
    pub(super) call: &'a Call,
    pub(super) part: Part,
    pub(super) options: &'a Options,
    /// Whether the object is made if it is not there.
    pub(super) creates: bool,
    /// The uid that is meant.
    pub(super) uid: Option<&'a str>,
}

/// Whether an object was there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    Created,
    Updated,
}

/// Handles a PUT.
pub(super) fn put(state: &mut State, call: &Call, part: Part) -> Result<Written, Status> {
    let options = Options::read(call, Of::Update)?;
    let decoded = Wanted::of(call, options.strictness).read(call)?;
    let (mut sent, mut warnings) = (decoded.object, decoded.warnings);
    let unknown = warnings.clone();
    let warned = |status: Status| status.warned(&unknown);
    put_in_namespace(&mut sent, call).map_err(warned)?;
    check_name(&sent, call).map_err(warned)?;
    warnings.extend(single_owners(&mut sent, Admission::Before));
    let uid = text(&sent, "/metadata/uid").to_owned();
    let change = Change {
        call,
        part,
        options: &options,
        creates: part == Part::Whole && call.served.strategy.allows_create_on_update(),
        uid: Some(uid.as_str()).filter(|uid| !uid.is_empty()),
    };
    let old = existing(state, call);
    own(state, call, &options, old.as_deref().unwrap_or(&Value::Null), &mut sent);
    update(state, &change, old, sent, warnings).map_err(warned)
}

/// Writes `sent` over `old`: Store.Update of apiserver, after the object was made.
pub(super) fn update(
    state: &mut State,
    change: &Change<'_>,
    old: Option<Arc<Value>>,
    mut sent: Value,
    mut warnings: Vec<String>,
) -> Result<Written, Status> {
    let call = change.call;
    let Some(old) = old else {
        return create(state, change, sent, warnings);
    };
    check_uid(change, &old)?;
    let attributes = Attributes::of(call, Operation::Update);
    admission::admit(state, &attributes, &mut sent, Some(&old))?;
    warnings.extend(single_owners(&mut sent, Admission::After));
    access::check_escalation(&state.access, call, &sent, Some(&old))?;
    check_version(change, &mut sent, &old)?;
    let (new, more) = prepared(state, change, sent, &old)?;
    warnings.extend(more);
    let charges = admission::validate(state, &attributes, &new, Some(&old))?;
    if !change.options.dry_run {
        admission::charge(state, charges);
    }
    let (document, outcome) = commit(state, change, new, &old);
    let code = if outcome == Outcome::Created { 201 } else { 200 };
    Ok(Written { code, document, warnings })
}

/// What is written in the end, checked.
fn prepared(
    state: &State,
    change: &Change<'_>,
    mut sent: Value,
    old: &Value,
) -> Result<(Value, Vec<String>), Status> {
    let (call, part) = (change.call, change.part);
    let served = &call.served;
    put_in_namespace(&mut sent, call)?;
    let generation = fields::at(old, "/metadata/generation").cloned().unwrap_or_default();
    set(metadata(&mut sent), "generation", generation);
    let mut new = part.lay(sent, old, served);
    with_environment(state, call, |env| part.prepare(served, (&mut new, old), env));
    if part == Part::Whole {
        admission::service::allocate(state, served, &mut new, Some(old))?;
        if is_definition(&served.table) {
            surface::complete_definition(state, &mut new);
        }
    }
    keep_metadata(&mut new, old);
    complete(served, &mut new);
    let mut faults = check_metadata(&new, served);
    faults.extend(strategies::validate_metadata_update(&new, old));
    faults.extend(part.validate(served, &new, old));
    if !faults.is_empty() {
        return Err(Status::invalid(about_kind(served, &call.name), &faults));
    }
    let warnings = match part {
        Part::Whole => served.strategy.warnings(&new, Some(old)),
        Part::Status
        | Part::Approval
        | Part::EphemeralContainers
        | Part::Resize
        | Part::Finalize => Vec::new(),
    };
    // A write that changes nothing is none (IgnoreManagedFieldsTimestampsTransformer).
    schema::apply::keep_times(old, &mut new);
    Ok((new, warnings))
}

/// Writes, deletes what has lost its last finalizer, or does nothing if nothing changes.
fn commit(state: &mut State, change: &Change<'_>, new: Value, old: &Value) -> (Document, Outcome) {
    let call = change.call;
    let (table, key) = (&call.served.table, key(call, &call.name));
    if is_finished(&new, old, table) {
        if !change.options.dry_run {
            remove(state, &call.served, &key);
        }
        return (new.into(), Outcome::Updated);
    }
    if new == *old || change.options.dry_run {
        return (new.into(), Outcome::Updated);
    }
    (store(state, table, &key, new).into(), Outcome::Updated)
}

/// The object is made (create on update, apply).
fn create(
    state: &mut State,
    change: &Change<'_>,
    mut sent: Value,
    mut warnings: Vec<String>,
) -> Result<Written, Status> {
    let call = change.call;
    if !change.creates {
        return Err(Status::not_found(about(&call.served, &call.name)));
    }
    if let Some(uid) = change.uid {
        let why = format!("UID in precondition: {uid}, UID in object meta: ");
        return Err(precondition(&call.served, &key(call, &call.name), &why));
    }
    for field in ["deletionTimestamp", "deletionGracePeriodSeconds", "resourceVersion"] {
        metadata(&mut sent).remove(field);
    }
    let attributes = Attributes::of(call, Operation::Create);
    admission::admit(state, &attributes, &mut sent, None)?;
    warnings.extend(single_owners(&mut sent, Admission::After));
    access::check_escalation(&state.access, call, &sent, None)?;
    let document = insert(state, call, change.options, &sent, &mut warnings)?;
    Ok(Written { code: 201, document, warnings })
}

/// Whether the object only waited for its finalizers (ShouldDeleteDuringUpdate).
pub(super) fn is_finished(new: &Value, old: &Value, table: &str) -> bool {
    items(new, "/metadata/finalizers").is_empty()
        && has(old, "/metadata/deletionTimestamp")
        && number(old, "/metadata/deletionGracePeriodSeconds").unwrap_or(0) == 0
        && (table != "namespaces" || items(new, "/spec/finalizers").is_empty())
}

fn check_uid(change: &Change<'_>, old: &Value) -> Result<(), Status> {
    let known = text(old, "/metadata/uid");
    match change.uid {
        Some(uid) if uid != known => {
            let why = format!("UID in precondition: {uid}, UID in object meta: {known}");
            let call = change.call;
            Err(precondition(&call.served, &key(call, &call.name), &why))
        }
        Some(_) | None => Ok(()),
    }
}

/// 409 as the storage says it.
pub(super) fn precondition(served: &Served, key: &Key, why: &str) -> Status {
    let group = match &*served.resource.group {
        group if served.custom => format!("{group}/"),
        _ => String::new(),
    };
    let plural = &served.resource.plural;
    let why = format!(
        "StorageError: invalid object, Code: 4, Key: /registry/{group}{plural}/{key}, \
         ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: {why}"
    );
    Status::conflict(about(served, &key.name), &why)
}

/// The version that is changed is the one that is there.
fn check_version(change: &Change<'_>, sent: &mut Value, old: &Value) -> Result<(), Status> {
    let served = &change.call.served;
    let (said, known) = (text(sent, "/metadata/resourceVersion"), text(old, VERSION));
    if !said.is_empty() && said.parse::<u64>().is_err() {
        let why = format!("strconv.ParseUint: parsing {said:?}: invalid syntax");
        let path = strategies::Path::new("metadata").child("resourceVersion");
        let about = About { resource: &served.resource.plural, ..about(served, &change.call.name) };
        return Err(Status::invalid(about, &[path.invalid(said, &why)]));
    }
    let unset = said.is_empty() || said == "0";
    if unset && !takes_any_version(&*served.strategy, served.custom) {
        let path = strategies::Path::new("metadata").child("resourceVersion");
        let fault = path.invalid(0, "must be specified for an update");
        return Err(Status::invalid(about(served, &change.call.name), &[fault]));
    }
    if !unset && said != known {
        return Err(Status::conflict(about(served, &change.call.name), CONFLICT));
    }
    let known = known.to_owned();
    metadata(sent).insert("resourceVersion".to_owned(), known.into());
    Ok(())
}

const VERSION: &str = "/metadata/resourceVersion";

/// What BeforeUpdate of apiserver keeps of the metadata.
fn keep_metadata(new: &mut Value, old: &Value) {
    let map = metadata(new);
    map.remove("selfLink");
    for field in FIXED {
        let known = fields::at(old, &format!("/metadata/{field}")).cloned().unwrap_or_default();
        // A deletion cannot be asked for by an update.
        set(map, field, known);
    }
    for field in ["uid", "deletionGracePeriodSeconds"] {
        let said = map.get(field).is_some_and(|it| !it.is_null() && it != "");
        if !said {
            let known = fields::at(old, &format!("/metadata/{field}")).cloned().unwrap_or_default();
            set(map, field, known);
        }
    }
}
