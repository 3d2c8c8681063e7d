//! Whether a node's annotation is right. As `updateNodeIfNeeded` in upstream's
//! `pkg/controller/ttl/ttl_controller.go`.

use api::{Kind, Node};
use controller::{ObjectRef, Plan, Step, Write};
use mutant::Mutant;
use serde_json::json;

use super::snapshot::Snapshot;

pub(super) fn decide(s: &Snapshot) -> Plan {
    if is_right(&s.node, s.ttl_seconds) {
        return Plan::rest("the annotation is right");
    }
    let meta = &s.node.meta;
    let annotations = json!({ Node::TTL: s.ttl_seconds.to_string() });
    let body = json!({ "metadata": { "annotations": annotations, "uid": &*meta.uid } }).to_string();
    let patch = Write::strategic(ObjectRef::new(&Node::RESOURCE, meta), body);
    let why = format!("{} nodes ask for {}s", s.nodes, s.ttl_seconds);
    Plan::one(why, Step::InOrder(vec![patch.into()]))
}

/// Whether the annotation is this number, however it is written: `+15` and `015` are 15.
pub(super) fn is_right(node: &Node, ttl_seconds: u32) -> bool {
    let found = node.ttl.as_ref().and_then(|text| text.parse::<i64>().ok());
    found == Some(i64::from(ttl_seconds)) && !mutant::is(Mutant::TtlEndless)
}
