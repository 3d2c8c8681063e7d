//! A change of an object.

use std::sync::{Arc, OnceLock};

use api::Key;
use bytes::Bytes;
use serde_json::Value;

use super::stored::{TypeMeta, encode, splice};
use super::{Stored, set_version};

/// What an event takes besides its objects.
const EVENT_BYTES: usize = 256;

/// A change.
pub(crate) struct Event {
    /// When.
    pub(crate) revision: u64,
    /// Whose.
    pub(crate) key: Key,
    /// The object before; none: it was created.
    pub(crate) before: Option<Arc<Stored>>,
    /// The object after, at `revision`; none: it was deleted.
    pub(crate) after: Option<Arc<Stored>>,
    /// The object before, for watches that no longer match it, encoded once.
    gone: OnceLock<(Bytes, usize)>,
}

impl Event {
    pub(crate) fn new(
        revision: u64,
        key: Key,
        before: Option<Arc<Stored>>,
        after: Option<Arc<Stored>>,
    ) -> Self {
        Self { revision, key, before, after, gone: OnceLock::new() }
    }

    /// The object as it was before, but at the version of this change: for watches that see it no
    /// more.
    pub(crate) fn gone(&self) -> Value {
        let mut object = self.before.as_ref().map_or(Value::Null, |it| Value::clone(&it.object));
        set_version(&mut object, self.revision);
        object
    }

    /// Writes the JSON of [`Event::gone`].
    pub(crate) fn write_gone(&self, out: &mut Vec<u8>, ty: TypeMeta<'_>) {
        let (json, start) = self.gone.get_or_init(|| encode(&self.gone()));
        let before = self.before.as_ref().map_or(&Value::Null, |it| &*it.object);
        splice(out, json, *start, (ty, before));
    }

    /// What it takes of memory that nothing else needs, roughly: what is now is needed anyway.
    pub(super) fn bytes(&self) -> usize {
        EVENT_BYTES + self.before.as_ref().map_or(0, |it| it.bytes)
    }
}
