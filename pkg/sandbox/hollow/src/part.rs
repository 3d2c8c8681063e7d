//! What the parts of a cluster have in common.

use std::sync::Arc;

use api::{Key, Resource, Time};
use serde_json::Value;

/// A part of a cluster that acts on what it sees.
pub trait Part: Send {
    /// The kinds that it is shown.
    fn watches(&self) -> &'static [Resource];

    /// Takes what changed since it was last asked, in the order of the versions, and says what to
    /// send. Its requests may fail: what counts is what it is shown of the objects, later. What it
    /// asked for and does not see it asks for again, with back-off.
    fn step(&mut self, now: Time, changes: &[Change]) -> Turn;
}

/// A change of an object.
#[derive(Clone, Debug)]
pub struct Change {
    /// Its kind.
    pub resource: Resource,
    /// The object as it is now; if it is gone, as it was last.
    pub object: Arc<Value>,
    /// Whether it is gone.
    pub gone: bool,
}

/// What a part does next.
#[derive(Clone, Debug, Default)]
pub struct Turn {
    /// In this order.
    pub requests: Vec<Sent>,
    /// When it wants to be asked even if nothing changes.
    pub again: Option<Time>,
}

/// A request, and who sends it.
#[derive(Clone, Debug, PartialEq)]
pub struct Sent {
    /// As whom.
    pub by: Sender,
    /// What is asked for.
    pub request: Request,
}

/// Who sends a request: each has other rights.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Sender {
    /// The kubelet of this node.
    Node(String),
    /// The scheduler.
    Scheduler,
    /// Whoever takes machines away. A kubelet may not delete its Node.
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

// === impl Turn ===

impl Turn {
    /// Sends requests as somebody.
    pub(crate) fn send(&mut self, by: &Sender, requests: impl IntoIterator<Item = Request>) {
        let sent = requests.into_iter().map(|request| Sent { by: by.clone(), request });
        self.requests.extend(sent);
    }
}
