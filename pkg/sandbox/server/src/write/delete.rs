//! Deletions: at once, with a grace period, or once all finalizers are removed.

use std::sync::Arc;
use std::time::Duration;

use api::Time;
use serde_json::{Value, json};

use super::fields::{has, items, metadata, number, set, text, texts};
use super::options::{Deletion, Propagation};
use super::policy::returns_deleted;
use super::{Document, Written, about, found, is_definition, key, put, remove, success};
use crate::admission;
use crate::registry::Served;
use crate::request::Call;
use crate::server::State;
use crate::status::{About, Status};
use crate::surface;

const ORPHAN: &str = "orphan";
const FOREGROUND: &str = "foregroundDeletion";

/// How far a deletion is (BeforeDelete of apiserver).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Grace {
    /// There is none.
    None,
    /// The object has so many seconds; its metadata says so.
    Given(i64),
    /// It is being deleted already, and its end is not later than the new request's.
    Pending,
}

/// What became of an object.
#[derive(Debug)]
pub(super) struct Deleted {
    /// The object, or a `Status` about it.
    pub(super) document: Document,
    /// Whether it is deleted.
    pub(super) gone: bool,
}

/// Handles a DELETE.
pub(super) fn delete(state: &mut State, call: &Call) -> Result<Written, Status> {
    let options = Deletion::read(call)?;
    let deleted = delete_with(state, call, &options)?;
    let accepted = !deleted.gone && options.orphan == Some(false);
    let code = if accepted { 202 } else { 200 };
    Ok(Written { code, document: deleted.document, warnings: Vec::new() })
}

/// Deletes the object of a call.
pub(super) fn delete_with(
    state: &mut State,
    call: &Call,
    options: &Deletion,
) -> Result<Deleted, Status> {
    let old = found(state, call)?;
    if &*call.served.table == "namespaces" {
        return delete_namespace(state, call, options, &old);
    }
    delete_object(state, call, options, &old)
}

/// Store.Delete of apiserver.
fn delete_object(
    state: &mut State,
    call: &Call,
    options: &Deletion,
    old: &Arc<Value>,
) -> Result<Deleted, Status> {
    let (served, key) = (&call.served, key(call, &call.name));
    check_preconditions(served, options, old)?;
    let mut new = Value::clone(old);
    if is_definition(&served.table) && !has(old, "/metadata/deletionTimestamp") {
        surface::begin_deletion(state, &mut new);
        if new != **old {
            let document = if options.dry_run {
                new.into()
            } else {
                put(state, &served.table, &key, new).into()
            };
            return Ok(Deleted { document, gone: false });
        }
    }
    let grace = give_grace(served, options, &mut new, call.now);
    if grace == Grace::Pending {
        return Ok(Deleted { document: farewell(served, Value::clone(old).into()), gone: false });
    }
    admission::admit_delete(served, &call.name)?;
    let finalizers = collected(served, options, &new);
    if let Some(finalizers) = finalizers {
        let value = if finalizers.is_empty() { Value::Null } else { finalizers.into() };
        set(metadata(&mut new), "finalizers", value);
    }
    let waits = !items(&new, "/metadata/finalizers").is_empty();
    if grace == Grace::None && waits {
        mark(&mut new, call.now);
    }
    let stays = waits || matches!(grace, Grace::Given(1..));
    let changes = grace != Grace::None || waits;
    let new: Document = if changes && new != **old && !options.dry_run {
        put(state, &served.table, &key, new).into()
    } else {
        new.into()
    };
    if stays {
        return Ok(Deleted { document: new, gone: false });
    }
    if options.dry_run {
        let document = if changes { new } else { farewell(served, new) };
        return Ok(Deleted { document, gone: true });
    }
    let removed = remove(state, served, &key).map_or(new, Document::Stored);
    Ok(Deleted { document: farewell(served, removed), gone: true })
}

/// What the response shows of a deleted object (finalizeDelete).
fn farewell(served: &Served, object: Document) -> Document {
    if returns_deleted(&served.table) {
        return object;
    }
    let mut details = json!({"name": text(&object, "/metadata/name")});
    let map = super::fields::map(&mut details, &[]);
    if !served.resource.group.is_empty() {
        map.insert("group".to_owned(), served.resource.group.to_string().into());
    }
    map.insert("kind".to_owned(), served.resource.plural.to_string().into());
    map.insert("uid".to_owned(), text(&object, "/metadata/uid").into());
    success(&details).into()
}

/// 409 if another object, or another version of it, is meant.
pub(super) fn check_preconditions(
    served: &Served,
    options: &Deletion,
    object: &Value,
) -> Result<(), Status> {
    let name = text(object, "/metadata/name");
    let about = About { resource: &served.resource.kind, ..about(served, name) };
    let checks = [
        ("UID", "uid", &options.uid, "deleted and then recreated"),
        ("ResourceVersion", "resourceVersion", &options.version, "modified"),
    ];
    for (what, field, wanted, how) in checks {
        let known = text(object, &format!("/metadata/{field}"));
        match wanted {
            Some(wanted) if wanted != known => {
                let why = format!(
                    "the {what} in the precondition ({wanted}) does not match the {what} in \
                     record ({known}). The object might have been {how}"
                );
                return Err(Status::conflict(about, &why));
            }
            Some(_) | None => {}
        }
    }
    Ok(())
}

/// Says in the metadata when the object ends.
fn give_grace(served: &Served, options: &Deletion, object: &mut Value, now: Time) -> Grace {
    let asked = options.grace.map(|seconds| if seconds < 0 { 1 } else { seconds });
    if has(object, "/metadata/deletionTimestamp") {
        return shorten(object, asked, now);
    }
    let Some(seconds) = served.strategy.grace_seconds(object, asked) else { return Grace::None };
    let generation = number(object, "/metadata/generation").unwrap_or(0);
    let map = metadata(object);
    map.insert("deletionTimestamp".to_owned(), later(now, seconds).to_string().into());
    map.insert("deletionGracePeriodSeconds".to_owned(), seconds.into());
    if generation > 0 {
        map.insert("generation".to_owned(), (generation + 1).into());
    }
    Grace::Given(seconds)
}

/// A second deletion can only bring the end nearer.
fn shorten(object: &mut Value, asked: Option<i64>, now: Time) -> Grace {
    let known = match number(object, "/metadata/deletionGracePeriodSeconds") {
        None | Some(0) => return Grace::None,
        Some(seconds) => seconds.max(1),
    };
    let Some(mut seconds) = asked.filter(|asked| *asked < known) else { return Grace::Pending };
    let end = Time::parse(text(object, "/metadata/deletionTimestamp")).unwrap_or(now);
    let start = end - Duration::from_secs(u64::try_from(known).unwrap_or(0));
    let mut end = later(start, seconds);
    if end < now {
        end = now;
        // It was to have a grace period, so other clients must be able to see it terminating.
        seconds = seconds.min(1);
    }
    let map = metadata(object);
    map.insert("deletionTimestamp".to_owned(), end.to_string().into());
    map.insert("deletionGracePeriodSeconds".to_owned(), seconds.into());
    Grace::Given(seconds)
}

fn later(now: Time, seconds: i64) -> Time {
    now + Duration::from_secs(u64::try_from(seconds).unwrap_or(0))
}

/// An object that has no grace but finalizers ends now (markAsDeleting).
fn mark(object: &mut Value, now: Time) {
    let generation = number(object, "/metadata/generation").unwrap_or(0);
    let end = text(object, "/metadata/deletionTimestamp").to_owned();
    let map = metadata(object);
    if end.is_empty() && generation > 0 {
        map.insert("generation".to_owned(), (generation + 1).into());
    }
    if Time::parse(&end).map_or(true, |end| end > now) {
        map.insert("deletionTimestamp".to_owned(), now.to_string().into());
    }
    map.insert("deletionGracePeriodSeconds".to_owned(), 0.into());
}

/// The finalizers, if the garbage collector needs others
/// (deletionFinalizersForGarbageCollection).
fn collected(served: &Served, options: &Deletion, object: &Value) -> Option<Vec<String>> {
    let known = texts(object, "/metadata/finalizers");
    let default = served.strategy.default_propagation();
    let first = known.iter().find(|it| *it == ORPHAN || *it == FOREGROUND).map(String::as_str);
    let orphans = match (default, options.orphan, options.propagation, first) {
        ("", ..) => false,
        (_, Some(orphan), ..) => orphan,
        (_, None, Some(policy), _) => policy == Propagation::Orphan,
        (_, None, None, Some(first)) => first == ORPHAN,
        (_, None, None, None) => default == "Orphan",
    };
    let waits = match (default, options.orphan, options.propagation, first) {
        ("", ..) | (_, Some(_), ..) => false,
        (_, None, Some(policy), _) => policy == Propagation::Foreground,
        (_, None, None, first) => first == Some(FOREGROUND),
    };
    let others = known.iter().filter(|it| *it != ORPHAN && *it != FOREGROUND).cloned();
    let mut wanted: Vec<String> = others.collect();
    wanted.extend(orphans.then(|| ORPHAN.to_owned()));
    wanted.extend(waits.then(|| FOREGROUND.to_owned()));
    let same = wanted.len() == known.len() && wanted.iter().all(|it| known.contains(it));
    (!same).then_some(wanted)
}

/// A namespace is deleted once its content is: the namespace controller reports that by
/// `/finalize`.
fn delete_namespace(
    state: &mut State,
    call: &Call,
    options: &Deletion,
    old: &Arc<Value>,
) -> Result<Deleted, Status> {
    let (served, key) = (&call.served, key(call, &call.name));
    let known =
        [("UID", "uid", &options.uid), ("ResourceVersion", "resourceVersion", &options.version)];
    for (what, field, wanted) in known {
        let known = text(old, &format!("/metadata/{field}"));
        if let Some(wanted) = wanted.as_ref().filter(|wanted| *wanted != known) {
            let why = format!(
                "Precondition failed: {what} in precondition: {wanted}, {what} in object meta: \
                 {known}"
            );
            return Err(Status::conflict(about(served, &call.name), &why));
        }
    }
    if has(old, "/metadata/deletionTimestamp") {
        if !items(old, "/spec/finalizers").is_empty() {
            return Ok(Deleted { document: Value::clone(old).into(), gone: false });
        }
        return delete_object(state, call, options, old);
    }
    admission::admit_delete(served, &call.name)?;
    let mut new = Value::clone(old);
    let mut finalizers = texts(&new, "/metadata/finalizers");
    let wanted = [
        (ORPHAN, options.orphan, Propagation::Orphan),
        (FOREGROUND, options.orphan.map(|orphan| !orphan), Propagation::Foreground),
    ];
    for (finalizer, said, policy) in wanted {
        let there = finalizers.iter().any(|it| it == finalizer);
        let asked = options.propagation.map(|asked| asked == policy);
        match said.or(asked).unwrap_or(there) {
            true if !there => finalizers.push(finalizer.to_owned()),
            false => finalizers.retain(|it| it != finalizer),
            true => {}
        }
    }
    let value = if finalizers.is_empty() { Value::Null } else { finalizers.into() };
    let map = metadata(&mut new);
    map.insert("deletionTimestamp".to_owned(), call.now.to_string().into());
    set(map, "finalizers", value);
    super::fields::map(&mut new, &["status"]).insert("phase".to_owned(), "Terminating".into());
    let document =
        if options.dry_run { new.into() } else { put(state, &served.table, &key, new).into() };
    Ok(Deleted { document, gone: false })
}
