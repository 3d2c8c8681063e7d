//! The patches that change an object by what they say and nothing else: JSON patch, merge patch,
//! strategic merge patch.

mod go;
mod json;
mod lists;
mod merge;
mod strategic;
#[cfg(test)]
mod tests;

use serde_json::Value;

use crate::{Schema, TypeId};

pub(crate) use go::{plain, syntax, type_of};

/// Why a patch does not apply.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PatchError {
    /// It is no patch of its kind: 400.
    #[error("{0}")]
    Malformed(String),
    /// It does not fit the object, as a `test` that fails: 422.
    #[error("{0}")]
    Misfit(String),
    /// It says more than one patch may: 413.
    #[error("{0}")]
    TooLarge(String),
    /// What the API server has no code for: 500, without a reason.
    #[error("{0}")]
    Failed(String),
}

/// RFC 6902, as evanphx/json-patch applies it. The object stays as it is where that fails.
pub fn json(object: &mut Value, patch: &[u8]) -> Result<(), PatchError> {
    *object = json::applied(object.clone(), &json::operations(patch)?)?;
    Ok(())
}

/// RFC 7386, as evanphx/json-patch applies it: unlike there, nulls in new arrays' objects go too.
pub fn merge(object: &mut Value, patch: &Value) {
    merge::merge(object, patch);
}

/// Upstream's strategic merge (apimachinery's strategicpatch), for an object of type `id`. The
/// object is of no use where that fails.
pub fn strategic(
    schema: &Schema,
    id: TypeId,
    object: &mut Value,
    patch: &Value,
) -> Result<(), PatchError> {
    strategic::strategic(schema, id, object, patch)
}
