//! What becomes of a volume on all its nodes. As `reconcile` in upstream's
//! attachdetach/reconciler.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use api::{Key, Kind as _, Node, Pod, Text};
use controller::{Action, Count, Event, EventType, Facts, ObjectRef, Plan, Query, Step, Write};

use super::snapshot::{Place, Snapshot, Want};
use super::{attach, detach, node_key, worlds};

/// How many nodes the reason of a plan has words for.
const NODES_SHOWN_MAX: usize = 4;

/// What was decided, for the memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Of a volume, by node.
    Volume(BTreeMap<Text, Next>),
    /// Of the list of a node.
    Node {
        /// Whether it lists a volume that has no attachment.
        is_unbacked: bool,
    },
}

/// What is to be remembered of a volume on a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Next {
    /// None: nothing.
    pub(super) memory: Option<worlds::Place>,
    /// What the status of the node is to say.
    pub(super) listing: Listing,
}

/// What the status of a node is to say of a volume.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Listing {
    /// It is attached.
    Listed,
    /// It is not, so that the kubelet does not mount it any more.
    Dropped,
    /// What it says now, as long as the volume has an attachment.
    Unsaid,
}

/// A plan in the making.
#[derive(Default)]
pub(super) struct Draft {
    why: Vec<String>,
    events: Vec<Action>,
    writes: Vec<Action>,
    queries: Vec<Query>,
    counts: Vec<Count>,
    again: Option<Duration>,
    error: Option<String>,
    pub(super) nexts: BTreeMap<Text, Next>,
    /// The nodes that get the volume by this plan.
    pub(super) creates: Vec<Text>,
}

pub(super) fn decide(s: &Snapshot, facts: &Facts) -> (Plan, Verdict) {
    let mut draft = Draft::default();
    // As upstream: what an attachment waits for comes first.
    for (node, place) in s.places.iter().filter(|(_, place)| place.wants.is_empty()) {
        detach::decide(s, (node, place), facts, &mut draft);
    }
    let mut wanting: Vec<_> = s.places.iter().filter(|(_, it)| !it.wants.is_empty()).collect();
    // Of several nodes, the one whose pod was first.
    wanting.sort_by_key(|(node, place)| (place.oldest(), *node));
    for (node, place) in wanting {
        attach::decide(s, (node, place), &mut draft);
    }
    draft.finish()
}

/// As `GenerateMsg` in upstream's pkg/volume/util/operationexecutor.
pub(super) fn message(prefix: &str, name: &str, suffix: &str) -> String {
    format!("{prefix} for volume {name:?} {suffix}")
}

/// The live read of a node.
pub(super) fn live(node: &str) -> Query {
    Query::view::<Node>(node_key(node))
}

// === impl Draft ===

impl Draft {
    /// Says why, of a node.
    pub(super) fn says(&mut self, node: &str, why: impl Into<String>) {
        self.why.push(format!("{node}: {}", why.into()));
    }

    /// Looks again after this time at the latest.
    pub(super) fn again(&mut self, after: Duration) {
        self.again = Some(self.again.map_or(after, |known| known.min(after)));
    }

    /// Needs an answer.
    pub(super) fn asks(&mut self, query: Query) {
        self.queries.push(query);
    }

    pub(super) fn writes(&mut self, write: Write) {
        self.writes.push(write.into());
    }

    pub(super) fn counts(&mut self, count: Count) {
        self.counts.push(count);
    }

    /// Retries with back-off.
    pub(super) fn fails(&mut self, error: String) {
        self.error.get_or_insert(error);
    }

    /// An Event on each of these pods.
    pub(super) fn tells(
        &mut self,
        wants: &[Want],
        r#type: EventType,
        reason: &'static str,
        message: &str,
    ) {
        let event = |want: &Want| {
            let about = Arc::new(ObjectRef::new(&Pod::RESOURCE, &want.pod.meta));
            let (reason, message) = (reason.into(), message.to_owned());
            Action::Event(Event { about, r#type, reason, message })
        };
        self.events.extend(wants.iter().map(event));
    }

    pub(super) fn next(&mut self, node: &Text, memory: worlds::Place, listing: Listing) {
        self.nexts.insert(node.clone(), Next { memory: Some(memory), listing });
    }

    /// Nothing is left of the volume there.
    pub(super) fn ends(&mut self, node: &Text) {
        self.nexts.insert(node.clone(), Next { memory: None, listing: Listing::Unsaid });
    }

    fn finish(self) -> (Plan, Verdict) {
        let mut why = self.why;
        let more = why.len().saturating_sub(NODES_SHOWN_MAX);
        why.truncate(NODES_SHOWN_MAX);
        let mut why = why.join("; ");
        if more > 0 {
            why = format!("{why}; and {more} more nodes");
        }
        let verdict = Verdict::Volume(self.nexts);
        if !self.queries.is_empty() {
            return (Plan::fetch(why, self.queries), verdict);
        }
        let steps = [Step::InOrder(self.events), Step::Together(self.writes)];
        let is_some = |step: &Step| match step {
            Step::InOrder(actions) | Step::Together(actions) => !actions.is_empty(),
            Step::SlowStart(_) | Step::Chains(_) | Step::Fetch(_) => true,
        };
        let plan = Plan {
            why: why.into(),
            steps: steps.into_iter().filter(is_some).collect(),
            again: self.again,
            error: self.error,
            quiet: false,
            counts: self.counts,
        };
        (plan, verdict)
    }
}

// === impl Place ===

impl Place {
    /// When the first pod that needs it was made.
    fn oldest(&self) -> Option<api::Time> {
        self.wants.iter().filter_map(|want| want.pod.meta.creation_timestamp).min()
    }
}

/// The pods of some nodes that need the volume, by key.
pub(super) fn pods_on<'a>(s: &'a Snapshot, nodes: &[&Text]) -> Vec<&'a Key> {
    let places = nodes.iter().filter_map(|node| s.places.get(*node));
    places.flat_map(|place| &place.wants).map(|want| &want.pod.meta.key).collect()
}
