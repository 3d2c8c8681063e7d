//! What is done with the objects of one kind.

use std::borrow::Cow;

use api::Time;
use serde_json::Value;

use crate::{Invalid, NameRule};

/// The rules of one kind: upstream's defaulting functions, registry strategy, validation and
/// printer. Objects are whole and have passed their type; `metadata` is looked after elsewhere,
/// but for what a kind adds to that (`generation` among it).
///
/// What is left out is as most kinds have it.
pub trait Strategy: Send + Sync {
    /// What its names look like.
    fn name_rule(&self) -> NameRule {
        NameRule::Subdomain
    }

    /// Fills in what upstream's defaulting fills in, of a body that came in, before anything else
    /// looks at it.
    fn default(&self, _object: &mut Value) {}

    /// What only the API server may say of a new object (PrepareForCreate): without a status, with
    /// its first generation.
    fn prepare_create(&self, _object: &mut Value, _env: &Environment<'_>) {}

    /// What a new object may not say.
    fn validate_create(&self, _object: &Value) -> Vec<Invalid> {
        Vec::new()
    }

    /// What an update may not touch (PrepareForUpdate): the status stays, the generation counts.
    fn prepare_update(&self, _new: &mut Value, _old: &Value, _env: &Environment<'_>) {}

    /// What an update may not say or change.
    fn validate_update(&self, _new: &Value, _old: &Value) -> Vec<Invalid> {
        Vec::new()
    }

    /// The same of an update of `/status`, which may touch nothing but `status` (and, for most
    /// kinds, labels, annotations, finalizers and owners, which are dropped from it elsewhere).
    fn prepare_status(&self, _new: &mut Value, _old: &Value, _env: &Environment<'_>) {}

    /// What an update of `/status` may not say.
    fn validate_status(&self, _new: &Value, _old: &Value) -> Vec<Invalid> {
        Vec::new()
    }

    /// What a client is to be warned of when it creates this, or updates `old`: of what is about
    /// to be stored, with its new generation.
    fn warnings(&self, _object: &Value, _old: Option<&Value>) -> Vec<String> {
        Vec::new()
    }

    /// Whether an object that is updated under a name where there is none is created.
    fn allows_create_on_update(&self) -> bool {
        false
    }

    /// Whether an update must say which version it changes.
    fn needs_version_on_update(&self) -> bool {
        false
    }

    /// The grace that a deletion has if it asks for none, in seconds; none: it is deleted at once.
    /// `asked`: what the request says. (CheckGracefulDelete.)
    fn grace_seconds(&self, _object: &Value, _asked: Option<i64>) -> Option<i64> {
        None
    }

    /// What a deletion does with what the object owns if neither the request nor a finalizer says
    /// it: `Background`, or `Orphan` for the kinds whose clients once deleted the pods themselves;
    /// empty: nothing, whatever the request says. (DefaultGarbageCollectionPolicy, of the version
    /// that is served: CronJobs orphaned theirs in batch/v1beta1 only.)
    fn default_propagation(&self) -> &'static str {
        "Background"
    }

    /// The value of a field that lists can be filtered by, besides `metadata.name` and
    /// `metadata.namespace`; none: there is no such field.
    fn selectable(&self, _object: &Value, _field: &str) -> Option<Cow<'static, str>> {
        None
    }

    /// The fields that [`Strategy::selectable`] knows.
    fn selectable_fields(&self) -> &[&'static str] {
        &[]
    }

    /// The columns of its table.
    fn columns(&self) -> &'static [Column] {
        &[
            Column { name: "Name", kind: "string", format: "name", wide: false },
            Column { name: "Age", kind: "string", format: "", wide: false },
        ]
    }

    /// A row of its table, a cell per column.
    fn row(&self, object: &Value, now: Time) -> Vec<Cell> {
        crate::table::row(object, now)
    }

    /// The fields behind `/scale`; none: there is no such subresource, or it is looked after
    /// elsewhere.
    fn scale_selector(&self, _object: &Value) -> Option<String> {
        None
    }
}

/// A column of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Column {
    /// The heading.
    pub name: &'static str,
    /// `string`, `integer`, …
    pub kind: &'static str,
    /// `name`, or empty.
    pub format: &'static str,
    /// Whether only `-o wide` shows it (priority 1).
    pub wide: bool,
}

/// A cell: text or a number.
pub type Cell = Value;

/// What a strategy may know besides the object.
pub struct Environment<'a> {
    /// The time.
    pub now: Time,
    /// 64 random bits at each call.
    pub random: &'a dyn Fn() -> u64,
}
