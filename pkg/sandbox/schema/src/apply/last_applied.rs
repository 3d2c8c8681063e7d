//! `kubectl apply --server-side` over what `kubectl apply` made. Upstream: apimachinery's
//! util/managedfields/internal/lastapplied*.go.

use serde_json::Value;

use super::Applier;
use super::atom::{Atoms, Place};
use super::comparison::compare;
use super::set::Set;
use super::typed::{field_set, flaws};
use super::update::Taken;

const ANNOTATION: &str = "kubectl.kubernetes.io/last-applied-configuration";
const KUBECTL: &str = "kubectl";
/// What all annotations of an object may take.
const ANNOTATIONS_BYTES_MAX: usize = 256 * 1024;

/// What kubectl may take without force: what it applied by itself, as long as it is there still.
pub(super) fn allowed(
    atoms: Atoms<'_>,
    place: Place<'_>,
    live: &Value,
    by: &Applier<'_>,
) -> Option<Set> {
    if by.manager != KUBECTL {
        return None;
    }
    let last: Value = serde_json::from_str(annotation(live)?).ok()?;
    if last.get("apiVersion")?.as_str()? != by.api_version || !flaws(atoms, place, &last).is_empty()
    {
        return None;
    }
    let difference = compare(atoms, place, &last, live).ok()?;
    let set = field_set(atoms, place, &last).ok()?;
    Some(set.difference(&difference.set()).difference(&difference.removed))
}

/// The conflicts that are left.
pub(super) fn left(taken: Vec<Taken>, allowed: impl Fn() -> Option<Set>) -> Vec<Taken> {
    let Some(allowed) = allowed() else { return taken };
    let left = taken.into_iter().map(|Taken { from, fields }| {
        let fields = fields.difference(&allowed);
        Taken { from, fields }
    });
    left.filter(|taken| !taken.fields.is_empty()).collect()
}

/// Keeps the annotation what kubectl applied last, if there is one.
pub(super) fn sync(object: &mut Value, applied: Value, manager: &str) {
    if manager != KUBECTL || annotation(object).is_none() {
        return;
    }
    let mut applied = applied;
    if let Some(annotations) =
        applied.pointer_mut("/metadata/annotations").and_then(Value::as_object_mut)
    {
        annotations.remove(ANNOTATION);
    }
    let Some(annotations) =
        object.pointer_mut("/metadata/annotations").and_then(Value::as_object_mut)
    else {
        return;
    };
    annotations.insert(ANNOTATION.to_owned(), Value::from(format!("{applied}\n")));
    let bytes: usize =
        annotations.iter().map(|(key, value)| key.len() + value.as_str().map_or(0, str::len)).sum();
    if bytes > ANNOTATIONS_BYTES_MAX {
        annotations.remove(ANNOTATION);
    }
}

fn annotation(object: &Value) -> Option<&str> {
    let annotations = object.pointer("/metadata/annotations")?;
    annotations.get(ANNOTATION)?.as_str().filter(|it| !it.is_empty())
}
