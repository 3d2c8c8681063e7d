//! What a node gets. As `AllocateOrOccupyCIDR` and `updateCIDRsAllocation` in upstream's
//! `pkg/controller/nodeipam/ipam/range_allocator.go`.

use std::sync::Arc;

use api::{Kind, Node};
use controller::{Action, Event, EventType, ObjectRef, Plan, Step, Write};
use serde_json::json;

use super::blocks::Found;
use super::snapshot::{Choice, Snapshot, problem};

/// After how many failures in a row an Event tells of them. Upstream's `cidrUpdateRetries`.
const FAILURES_TOLD: u32 = 3;

/// What was decided.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The node stays as it is.
    Left,
    /// It gets these blocks.
    Offered(Vec<Found>),
}

pub(super) fn decide(s: &Snapshot) -> (Plan, Verdict) {
    match &s.choice {
        Choice::Nothing => (leave(s), Verdict::Left),
        Choice::Exhausted(at) => (exhausted(s, *at), Verdict::Left),
        Choice::Free(blocks) => (offer(s, blocks, 0), Verdict::Offered(blocks.clone())),
        Choice::Again(blocks, failures) => {
            (offer(s, blocks, *failures), Verdict::Offered(blocks.clone()))
        }
    }
}

fn leave(s: &Snapshot) -> Plan {
    if s.node.meta.is_terminating() {
        return Plan::rest("the node is being deleted");
    }
    match problem(&s.ranges, &s.node) {
        None => Plan::rest("the node has its ranges"),
        Some(problem) => Plan::failed("the node has ranges that are not the cluster's", problem),
    }
}

fn exhausted(s: &Snapshot, at: usize) -> Plan {
    let error = format!(
        "failed to allocate cidr from cluster cidr at idx:{at}: CIDR allocation failed; there are \
         no remaining CIDRs left to allocate in the accepted range"
    );
    let why = "--cluster-cidr has no free range for the node";
    let plan = Plan::one(why, Step::InOrder(vec![event(s, "CIDRNotAvailable")]));
    Plan { error: Some(error), ..plan }
}

fn offer(s: &Snapshot, blocks: &[Found], failures: u32) -> Plan {
    let meta = &s.node.meta;
    let cidrs = s.written(blocks);
    let body = json!({
        "metadata": {"uid": &*meta.uid},
        "spec": {"podCIDR": cidrs.first(), "podCIDRs": cidrs},
    });
    let patch = Write::strategic(ObjectRef::new(&Node::RESOURCE, meta), body.to_string());
    let is_told = failures > 0 && failures.is_multiple_of(FAILURES_TOLD);
    let told = is_told.then(|| event(s, "CIDRAssignmentFailed"));
    let actions = told.into_iter().chain([patch.into()]).collect();
    Plan::one(format!("the node gets {}", cidrs.join(", ")), Step::InOrder(actions))
}

/// As `RecordNodeStatusChange`.
fn event(s: &Snapshot, reason: &'static str) -> Action {
    let meta = &s.node.meta;
    Action::Event(Event {
        about: Arc::new(ObjectRef::new(&Node::RESOURCE, meta)),
        r#type: EventType::Normal,
        reason: reason.into(),
        message: format!("Node {} status is now: {reason}", meta.key.name),
    })
}
