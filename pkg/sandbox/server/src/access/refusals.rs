//! The refused requests, for tests: a controller that is refused retries for ever, and no other log
//! would show it.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

/// How many are remembered. More than a few are of no use.
const REFUSALS_MAX: usize = 256;

/// A request that was refused to a user.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Refusal {
    /// Such as `system:serviceaccount:kube-system:replicaset-controller`.
    pub user: String,
    /// The whole message, which names the user, the verb and the resource.
    pub message: String,
}

/// Those of a server and of its past selves, each different one once. Clones are the same ones.
#[derive(Clone, Debug, Default)]
pub(crate) struct Refusals(Arc<Mutex<BTreeSet<Refusal>>>);

impl Refusals {
    pub(crate) fn note(&self, user: &str, message: &str) {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() < REFUSALS_MAX {
            known.insert(Refusal { user: user.to_owned(), message: message.to_owned() });
        }
    }

    pub(crate) fn all(&self) -> Vec<Refusal> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).iter().cloned().collect()
    }
}
