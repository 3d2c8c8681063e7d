//! Server-side apply: which manager owns which field, and what becomes of an object when one of
//! them applies (structured-merge-diff v6 and apimachinery's managedfields).

mod atom;
mod comparison;
mod element;
mod empty;
mod last_applied;
mod managers;
mod merging;
mod set;
#[cfg(test)]
mod tests;
mod typed;
mod update;

use serde_json::Value;

use crate::{Schema, TypeId};
use update::Updater;

/// The manager of an apply, and its options.
#[derive(Clone, Copy, Debug)]
pub struct Applier<'a> {
    /// The field manager.
    pub manager: &'a str,
    /// Whether fields of other managers are taken from them.
    pub force: bool,
    /// The subresource that is applied to; empty: the object.
    pub subresource: &'a str,
    /// `group/version` of the request.
    pub api_version: &'a str,
    /// RFC 3339, for `managedFields`.
    pub now: &'a str,
}

/// Why a configuration cannot be applied.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ApplyError {
    /// Other managers own fields with other values: 409.
    #[error("{}", conflict_text(.0))]
    Conflicts(Vec<Conflict>),
    /// The configuration or `managedFields` cannot be read: 400.
    #[error("{0}")]
    Malformed(String),
    /// What the API server has no code for, as what does not fit the type: 500, without a reason.
    #[error("{0}")]
    Failed(String),
}

/// A field that another manager owns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conflict {
    /// `conflict with "kubectl-client-side-apply" using apps/v1`
    pub message: String,
    /// `.spec.replicas`
    pub field: String,
}

/// Conflicts with one manager follow one another.
fn conflict_text(conflicts: &[Conflict]) -> String {
    if let [conflict] = conflicts {
        return format!("Apply failed with 1 conflict: {}: {}", conflict.message, conflict.field);
    }
    let mut lines = Vec::new();
    for with_one in conflicts.chunk_by(|one, other| one.message == other.message) {
        let message = with_one.first().map_or("", |conflict| &conflict.message);
        lines.push(format!("{}:", message.replacen("conflict with", "conflicts with", 1)));
        lines.extend(with_one.iter().map(|conflict| format!("- {}", conflict.field)));
    }
    format!("Apply failed with {} conflicts: {}", conflicts.len(), lines.join("\n"))
}

/// The object after `applied` was applied to `live` (null: it is created), with its new
/// `managedFields`. Defaults and validation come after it.
pub fn apply(
    schema: &Schema,
    id: TypeId,
    live: &Value,
    applied: Value,
    by: &Applier<'_>,
) -> Result<Value, ApplyError> {
    check(schema, id, &applied, by)?;
    let updater = Updater::new(schema, id, by);
    let mut object = updater.apply(live, &applied)?;
    last_applied::sync(&mut object, applied, by.manager);
    Ok(object)
}

/// Sets `managedFields` of `new`, which `by` wrote over `old` (null: created) by anything but an
/// apply. Objects that nobody has applied yet have none, and get none: that is cheaper than what
/// the API server does, and shows only in the names of a first conflict.
pub fn updated(schema: &Schema, id: TypeId, old: &Value, new: &mut Value, by: &Applier<'_>) {
    if !managers::are_tracked(old) && !managers::are_tracked(new) {
        managers::remove(new);
        return;
    }
    Updater::new(schema, id, by).updated(old, new);
}

/// Gives `new` the `managedFields` of `old`, if nothing else of the two differs, but the times in
/// them: so a write that changes nothing is none. To be called when defaults are set. Upstream:
/// apiserver's handlers/fieldmanager/equality.go.
pub fn keep_times(old: &Value, new: &mut Value) {
    let Some(entries) = managers::of(old) else { return };
    if !managers::same_but_times(old, new) {
        return;
    }
    let Some(metadata) = new.get_mut("metadata").and_then(Value::as_object_mut) else { return };
    metadata.insert("managedFields".to_owned(), entries.clone());
}

/// Refuses what is no configuration of this kind and version.
fn check(schema: &Schema, id: TypeId, applied: &Value, by: &Applier<'_>) -> Result<(), ApplyError> {
    let text = |field: &str| applied.get(field).and_then(Value::as_str).unwrap_or_default();
    let (group, version) = by.api_version.split_once('/').unwrap_or(("", by.api_version));
    let mut kinds = schema.kinds().filter(|it| it.3 == id);
    let is_kind = schema.get(id).open
        || kinds.any(|(g, v, kind, _)| g == group && v == version && kind == text("kind"));
    if text("apiVersion") != by.api_version || !is_kind {
        return Err(ApplyError::Malformed(format!("invalid object type: {}", kind_text(applied))));
    }
    if managers::of(applied).is_some() {
        return Err(ApplyError::Malformed("metadata.managedFields must be nil".to_owned()));
    }
    Ok(())
}

/// `apps/v1, Kind=Deployment`
fn kind_text(object: &Value) -> String {
    let text = |field: &str| object.get(field).and_then(Value::as_str).unwrap_or_default();
    let version = match text("apiVersion") {
        version if version.contains('/') => version.to_owned(),
        version => format!("/{version}"),
    };
    format!("{version}, Kind={}", text("kind"))
}
