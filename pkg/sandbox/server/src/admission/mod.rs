//! What a request must pass before it is written: the plug-ins that upstream's API server runs by
//! default, in its order, and what services are given.

mod account;
mod bootstrap;
mod defaults;
mod limits;
mod namespace;
mod priority;
mod quota;
mod resources;
pub(crate) mod service;

#[cfg(test)]
mod tests;

use serde_json::{Value, json};

pub(crate) use quota::{Charge, charge};

use crate::registry::Served;
use crate::request::Call;
use crate::server::State;
use crate::status::Status;
use crate::write::about;
use crate::write::fields::text;

/// What is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operation {
    Create,
    Update,
}

/// What is done to what.
pub(crate) struct Attributes<'a> {
    pub(crate) operation: Operation,
    pub(crate) served: &'a Served,
    pub(crate) subresource: &'a str,
    /// Empty: none.
    pub(crate) namespace: &'a str,
    /// Empty: the object says it.
    pub(crate) name: &'a str,
}

impl<'a> Attributes<'a> {
    /// Those of a call.
    pub(crate) fn of(call: &'a Call, operation: Operation) -> Self {
        let served = &call.served;
        let namespace = if served.resource.namespaced { call.namespace.as_str() } else { "" };
        Self { operation, served, subresource: &call.subresource, namespace, name: &call.name }
    }

    /// Whether an object itself of this table is created.
    fn creates(&self, table: &str) -> bool {
        self.operation == Operation::Create && self.is(table)
    }

    /// Whether it is about an object itself of this table.
    fn is(&self, table: &str) -> bool {
        &*self.served.table == table && self.subresource.is_empty()
    }

    /// 403 (admission.NewForbidden).
    fn forbidden(&self, object: &Value, why: &str) -> Status {
        let names = [self.name, text(object, "/metadata/name"), text(object, GENERATE), "Unknown"];
        let name = names.into_iter().find(|name| !name.is_empty()).unwrap_or_default();
        Status::forbidden(about(self.served, name), why)
    }
}

const GENERATE: &str = "/metadata/generateName";

/// Changes an object on its way in, or refuses it: the mutating half of the plug-ins.
pub(crate) fn admit(
    state: &State,
    attributes: &Attributes<'_>,
    object: &mut Value,
    old: Option<&Value>,
) -> Result<(), Status> {
    namespace::admit(state, attributes, object)?;
    limits::admit(state, attributes, object, old);
    if attributes.creates("pods") {
        let accounts = if state.options.require_service_accounts {
            account::Accounts::Required
        } else {
            account::Accounts::Optional
        };
        account::admit(state, attributes, object, accounts)?;
    }
    if state.options.guard_nodes_and_volumes {
        defaults::taint(attributes, object);
        defaults::protect(attributes, object);
    }
    priority::admit(state, attributes, object, old)?;
    defaults::tolerate(attributes, object);
    defaults::storage_class(state, attributes, object);
    Ok(())
}

/// Refuses a whole object: the validating half. What it costs in quota is only charged once the
/// object is written.
pub(crate) fn validate(
    state: &State,
    attributes: &Attributes<'_>,
    object: &Value,
    old: Option<&Value>,
) -> Result<Vec<Charge>, Status> {
    limits::validate(state, attributes, object, old)?;
    priority::validate(state, attributes, object)?;
    quota::validate(state, attributes, object, old)
}

/// Refuses a deletion.
pub(crate) fn admit_delete(served: &Served, name: &str) -> Result<(), Status> {
    namespace::admit_delete(served, name)
}

/// Makes what a fresh API server makes by itself, if it is not there yet.
pub(crate) fn bootstrap(state: &mut State) {
    bootstrap::make(state);
}

/// 403 with a cause.
fn with_cause(mut status: Status, reason: &str, message: &str, field: &str) -> Status {
    let cause = json!([{"reason": reason, "message": message, "field": field}]);
    if let Some(details) = status.details.as_object_mut() {
        details.insert("causes".to_owned(), cause);
    }
    status
}
