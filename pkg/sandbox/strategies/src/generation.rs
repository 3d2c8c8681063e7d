//! `metadata.generation`: how often the user's part of an object changed.

use serde_json::Value;

use crate::semantic::same_at;
use crate::value::{number, or_null, section, set};

const PLACE: &str = "/metadata/generation";

/// That of a new object.
pub(crate) fn start(object: &mut Value) {
    set(section(object, "metadata"), "generation", 1);
}

/// It stays as it was.
pub(crate) fn keep(new: &mut Value, old: &Value) {
    set(section(new, "metadata"), "generation", or_null(old, PLACE));
}

/// It counts if the object does not say the same at each of these JSON pointers.
pub(crate) fn count(new: &mut Value, old: &Value, pointers: &[&str]) {
    if pointers.iter().all(|pointer| same_at(new, old, pointer)) {
        return keep(new, old);
    }
    let last = number(old, PLACE).unwrap_or_default();
    set(section(new, "metadata"), "generation", last.saturating_add(1));
}

/// Whether an update counted it. That of a new object is new.
pub(crate) fn is_new(object: &Value, old: Option<&Value>) -> bool {
    old.is_none_or(|old| number(object, PLACE) != number(old, PLACE))
}
