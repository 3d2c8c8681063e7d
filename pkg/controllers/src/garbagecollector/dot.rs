//! The page of the graph, for Graphviz. Byte for byte as upstream's `dump.go`.

use std::collections::{BTreeMap, VecDeque};
use std::fmt::Write as _;

use api::{OwnerRef, Text, go};

use super::graph::Graph;
use super::identity::Identity;
use super::node::Node;

/// A box of the picture.
struct Vertex {
    identity: Identity,
    /// In the order of [`CONDITIONS`].
    conditions: [bool; 4],
}

/// The attributes of a box, in the order of its label.
const CONDITIONS: [&str; 4] = ["beingDeleted", "deletingDependents", "virtual", "missingFromGraph"];

/// What is on the page: what the graph was at one moment.
pub struct Picture {
    vertices: Vec<Vertex>,
    edges: Vec<(Text, Text)>,
}

impl Graph {
    /// The objects that have owners or dependents; with `uids`, those that hang together with one
    /// of these objects. A reference to an object that is not in the graph gives a box of its own,
    /// once for each reference.
    pub fn picture(&self, uids: &[&str]) -> Picture {
        let shown: BTreeMap<&str, &Node> = if uids.is_empty() {
            self.all().map(|node| (&*node.uid, node)).collect()
        } else {
            connected(self, uids)
        };
        let (mut vertices, mut edges) = (Vec::new(), Vec::new());
        for node in shown.values() {
            if node.has_dependents() || !node.owners.is_empty() {
                vertices.push(Vertex::of(node));
            }
            for owner in node.owners.iter() {
                // Only one without links is left out though it is there.
                let is_shown = shown.get(&*owner.uid);
                if !is_shown.is_some_and(|node| node.has_dependents() || !node.owners.is_empty()) {
                    vertices.push(Vertex::missing(owner));
                }
                edges.push((node.uid.clone(), owner.uid.clone()));
            }
        }
        Picture { vertices, edges }
    }
}

impl Picture {
    /// The graph in the language of Graphviz.
    pub fn dot(self) -> String {
        let Self { mut vertices, mut edges } = self;
        vertices.sort_by(|a, b| a.identity.uid.cmp(&b.identity.uid));
        edges.sort();
        let mut page = String::from("strict digraph full {\n");
        if !vertices.is_empty() {
            page.push_str("  // Node definitions.\n");
        }
        for vertex in &vertices {
            vertex.write(&mut page);
        }
        if !edges.is_empty() {
            page.push_str("  // Edge definitions.\n");
        }
        for (from, to) in &edges {
            let _ = writeln!(page, "  {} -> {};", go::quote(&**from), go::quote(&**to));
        }
        page.push_str("}\n");
        page
    }
}

/// The nodes that can be reached from these, along the edges or against them.
fn connected<'a>(nodes: &'a Graph, uids: &[&'a str]) -> BTreeMap<&'a str, &'a Node> {
    let mut shown = BTreeMap::new();
    let mut next: VecDeque<&str> = uids.iter().copied().collect();
    while let Some(uid) = next.pop_front() {
        let Some(node) = nodes.by_uid(uid) else { continue };
        if shown.insert(&*node.uid, node).is_some() {
            continue;
        }
        let owners = node.owners.iter().map(|owner| &*owner.uid);
        let dependents = node.dependents().map(|slot| &*nodes.node(slot).uid);
        next.extend(owners.chain(dependents).filter(|uid| !shown.contains_key(uid)));
    }
    shown
}

// === impl Vertex ===

impl Vertex {
    fn of(node: &Node) -> Self {
        let conditions = [node.is_terminating(), node.is_waiting(), node.is_virtual(), false];
        Self { identity: node.identity(), conditions }
    }

    fn missing(owner: &OwnerRef) -> Self {
        let identity = Identity::of(owner, &api::intern(""));
        Self { identity, conditions: [false, false, false, true] }
    }

    fn write(&self, page: &mut String) {
        let Identity { kind, api_version, namespace, name, uid } = &self.identity;
        let (group, version) = group_version(api_version);
        let dot = if group.is_empty() { "" } else { "." };
        let conditions = CONDITIONS.iter().zip(self.conditions).filter(|(_, is_so)| *is_so);
        let conditions = conditions.map(|(name, _)| *name).collect::<Vec<_>>().join(",");
        let [terminating, waiting, is_virtual, missing] = self.conditions.map(text);
        let end = if conditions.is_empty() { "" } else { "\n" };
        let label = format!(
            "uid={uid}\nnamespace={namespace}\n{kind}.{version}{dot}{group}/{name}\n{conditions}{end}"
        );
        let attributes: [(&str, &str); 11] = [
            ("label", &label),
            ("group", group),
            ("version", version),
            ("kind", kind),
            ("namespace", namespace),
            ("name", name),
            ("uid", uid),
            ("missing", missing),
            ("beingDeleted", terminating),
            ("deletingDependents", waiting),
            ("virtual", is_virtual),
        ];
        let _ = writeln!(page, "  {} [", go::quote(&**uid));
        for (name, value) in attributes {
            let _ = writeln!(page, "    {name}={}", go::quote(value));
        }
        page.push_str("  ];\n");
    }
}

/// As `schema.ParseGroupVersion`, which has nothing of what it cannot parse.
fn group_version(api_version: &str) -> (&str, &str) {
    match api_version.split_once('/') {
        Some((_, version)) if version.contains('/') => ("", ""),
        Some(both) => both,
        None => ("", api_version),
    }
}

fn text(is_so: bool) -> &'static str {
    if is_so { "true" } else { "false" }
}
