//! Authentication and authorization: credentials, RBAC, and the rules for kubelets.
//!
//! As kubernetes' plugin/pkg/auth/authorizer/rbac, with roles and bindings in an index that each
//! write of one of them changes.

mod attributes;
mod credentials;
mod escalation;
mod index;
mod policy;
mod refusals;
mod rule;
mod user;

#[cfg(test)]
mod tests;

use std::sync::Arc;

use api::Key;
use serde_json::Value;

pub(crate) use attributes::{Attributes, Resource, To};
pub(crate) use credentials::{AUDIENCE, authenticate, known};
pub(crate) use escalation::check as check_escalation;
use index::{Grant, Index};
pub(crate) use policy::{is_basic, objects as policy};
pub use refusals::Refusal;
pub(crate) use refusals::Refusals;
use rule::Rule;
pub use user::User;

use crate::server::{Options, Policy};
use crate::status::{About, Status};
use crate::store::{Store, Table};

/// The authorizer.
#[derive(Clone)]
pub(crate) struct Access {
    index: Arc<Index>,
    /// The revision of the last write of a role or a binding.
    changed_at: u64,
}

/// Whether a user may do something.
pub(crate) enum Verdict<'a> {
    /// The group `system:masters` may do everything.
    Master,
    /// Kubelets may.
    Node,
    /// A binding says so.
    Granted(&'a Grant),
    /// Nothing says so. What is wrong with the bindings that might.
    Refused(Vec<String>),
}

// === impl Access ===

impl Access {
    /// What the roles and bindings of a store say, and what holds without being there.
    pub(crate) fn of(store: &Store, options: &Options) -> Self {
        let mut index = match options.policy {
            Policy::Shown => Index::default(),
            Policy::Hidden => policy::hidden(),
        };
        for table in index::TABLES {
            for stored in store.list(table, None) {
                index.set(table, &policy::key(&stored.object), Some(&stored.object));
            }
        }
        Self { index: Arc::new(index), changed_at: store.revision() }
    }

    /// The same where the store is as it was at a revision; none: it was different then.
    pub(crate) fn as_of(&self, revision: u64) -> Option<Self> {
        (self.changed_at <= revision).then(|| self.clone())
    }

    /// Takes over how an object is now; none: it is deleted.
    pub(crate) fn changed(&mut self, table: &Table, key: &Key, now: (u64, Option<&Value>)) {
        if index::TABLES.contains(&&**table) {
            let (revision, object) = now;
            Arc::make_mut(&mut self.index).set(table, key, object);
            self.changed_at = revision;
        }
    }

    /// Whether a user may do something.
    pub(crate) fn judge(&self, user: &User, what: &Attributes<'_>) -> Verdict<'_> {
        if user.is_master() {
            return Verdict::Master;
        }
        if user.is_node() && policy::node_rules().iter().any(|rule| rule.allows(what)) {
            return Verdict::Node;
        }
        match self.index.find(user, what) {
            Ok(grant) => Verdict::Granted(grant),
            Err(faults) => Verdict::Refused(faults),
        }
    }

    /// All rules that a user has in a namespace, and what is wrong with others.
    pub(crate) fn rules_of(&self, user: &User, namespace: &str) -> (Vec<&Rule>, Vec<String>) {
        self.index.rules_of(user, namespace)
    }
}

// === impl Verdict ===

impl Verdict<'_> {
    pub(crate) fn is_allowed(&self) -> bool {
        match self {
            Self::Master | Self::Node | Self::Granted(_) => true,
            Self::Refused(_) => false,
        }
    }

    /// Why; may be empty.
    pub(crate) fn reason(&self) -> String {
        match self {
            Self::Master | Self::Node => String::new(),
            Self::Granted(grant) => format!("RBAC: allowed by {}", grant.describe()),
            Self::Refused(faults) => match aggregate(faults) {
                Some(faults) => format!("RBAC: {faults}"),
                None => String::new(),
            },
        }
    }
}

/// 403 (apiserver's `responsewriters.Forbidden`).
pub(crate) fn forbidden(user: &User, what: &Attributes<'_>, reason: &str) -> Status {
    let mut why = what.refused(&user.name);
    if !reason.is_empty() {
        why = format!("{why}: {reason}");
    }
    match what.to {
        To::Resource(Resource { group, plural, name, .. }) => {
            Status::forbidden(About { group, resource: plural, name }, &why)
        }
        To::Path(_) => {
            let mut status = Status::new(403, "Forbidden", format!("forbidden: {why}"));
            status.details = serde_json::json!({});
            status
        }
    }
}

/// Several errors as one, as apimachinery's `NewAggregate` says them; none: there are none.
pub(crate) fn aggregate(errors: &[String]) -> Option<String> {
    let mut once: Vec<&str> = Vec::new();
    for error in errors {
        if !once.contains(&error.as_str()) {
            once.push(error);
        }
    }
    match once.as_slice() {
        [] => None,
        [one] => Some((*one).to_owned()),
        all => Some(format!("[{}]", all.join(", "))),
    }
}
