//! Finalizers that protect an object for as long as something uses it: added and removed by a PUT
//! of the version that was decided on, which changes nothing else.

use api::{Edit, Kind, Meta, Raw};
use serde_json::Value;

use crate::{ObjectRef, Write};

/// The object with one more finalizer.
pub fn added<T: Kind>(meta: &Meta, raw: &Raw, finalizer: &str) -> Write {
    update::<T>(meta, raw, present(meta).chain([finalizer]).collect())
}

/// The object without a finalizer.
pub fn removed<T: Kind>(meta: &Meta, raw: &Raw, finalizer: &str) -> Write {
    update::<T>(meta, raw, present(meta).filter(|name| *name != finalizer).collect())
}

fn present(meta: &Meta) -> impl Iterator<Item = &str> {
    meta.finalizers.iter().map(|name| &**name)
}

fn update<T: Kind>(meta: &Meta, raw: &Raw, finalizers: Vec<&str>) -> Write {
    let value = if finalizers.is_empty() { Value::Null } else { finalizers.into() };
    let edits = vec![Edit::new(["metadata", "finalizers"], value)];
    Write::update(ObjectRef::new(&T::RESOURCE, meta), raw.clone(), edits)
}
