//! What the parts of a cluster have in common.

use std::sync::Arc;

use api::{Key, Resource, Time};
use serde_json::Value;

/// A part of a cluster that acts on what it sees.
pub trait Part: Send {
    /// The kinds that it is shown.
    fn watches(&self) -> &'static [Resource];

    /// Takes what changed since the last step, in the order of the versions, and returns what to
    /// send. Its requests may fail: only later changes of the objects count. What it requested and
    /// does not see it requests again, with back-off.
    fn step(&mut self, now: Time, changes: &[Change]) -> Reaction;
}

/// A change of an object.
#[derive(Clone, Debug)]
pub struct Change {
    /// Its kind.
    pub resource: Resource,
    /// The object as it is now; if it is deleted, as it was last.
    pub object: Arc<Value>,
    /// Whether it is deleted.
    pub gone: bool,
}

/// What a part does in a step.
#[derive(Clone, Debug, Default)]
pub struct Reaction {
    /// In this order.
    pub requests: Vec<Sent>,
    /// When its next step is due even if nothing changes.
    pub again: Option<Time>,
}

/// A request, and its sender.
#[derive(Clone, Debug, PartialEq)]
pub struct Sent {
    /// The sender.
    pub by: Sender,
    /// The request.
    pub request: Request,
}

/// The sender of a request: each has other rights.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Sender {
    /// The kubelet of this node.
    Node(String),
    /// A kubelet without a certificate: the bearer of the bootstrap token with this id.
    Bootstrap(String),
    /// The scheduler.
    Scheduler,
    /// The operator, who removes machines. A kubelet may not delete its Node.
    Operator,
}

/// An object that a request is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// Its kind.
    pub resource: Resource,
    /// Its name.
    pub key: Key,
    /// Such as `status`; empty: the object.
    pub subresource: &'static str,
}

/// A request to the API server.
#[derive(Clone, Debug, PartialEq)]
pub enum Request {
    /// POST: a new object, or a document to a subresource (`binding`).
    Create(Target, Value),
    /// PUT.
    Update(Target, Value),
    /// PATCH with a strategic merge patch.
    Patch(Target, Value),
    /// DELETE, with the `DeleteOptions`.
    Delete(Target, Value),
}

// === impl Reaction ===

impl Reaction {
    /// Adds requests of a sender.
    pub(crate) fn send(&mut self, by: &Sender, requests: impl IntoIterator<Item = Request>) {
        let sent = requests.into_iter().map(|request| Sent { by: by.clone(), request });
        self.requests.extend(sent);
    }
}
