//! What a sync of a node looks at.

use std::sync::Arc;

use api::{Key, Node};
use controller::View;

use super::size::Size;

/// A node, and what the size of the cluster asks for.
#[derive(Clone, Debug)]
pub struct Snapshot {
    /// The node.
    pub node: Arc<Node>,
    /// What its annotation should say.
    pub ttl_seconds: u32,
    /// How many nodes there are.
    pub nodes: usize,
}

pub(super) fn observe(key: &Key, view: &View<'_>, size: Size) -> Option<Snapshot> {
    let node = view.of::<Node>().get(key)?;
    Some(Snapshot { node, ttl_seconds: size.ttl_seconds(), nodes: size.nodes })
}

// === impl Snapshot ===

impl Snapshot {
    pub(super) fn summary(&self) -> Vec<(&'static str, String)> {
        vec![
            ("nodes", self.nodes.to_string()),
            ("wanted", format!("{}s", self.ttl_seconds)),
            (Node::TTL, self.node.ttl.as_deref().unwrap_or("none").to_owned()),
        ]
    }
}
