//! Evicts pods from nodes whose taints with the effect `NoExecute` they do not tolerate, or no
//! longer.
//!
//! Reads: Pod, Node. Writes: Pod (its status, delete), Event. Upstream: `pkg/controller/
//! tainteviction` (v1.36).
//!
//! # Parts
//! - `timers`: which pods wait for their eviction, and which were evicted: what no cache shows.
//!
//! **Invariant:** a pod is evicted only if its node had, when the timer began, a taint that it did
//! not tolerate for longer, and still has it at the last look; or if its node was deleted
//! meanwhile.
//! **Invariant:** a pod with another uid is another pod: no timer of a predecessor ends it.
//! **Invariant:** a timer that runs stays as it is, whatever the tolerations say by then. Only
//! taints or tolerations that make it needless end it. As upstream.
//!
//! Timers count on a clock that cannot be set. They are lost with the process, as upstream's: its
//! successor begins them anew.
//!
//! What an event costs: of a pod, a look at its node; of a node, one more for each of its pods, and
//! only if taints with the effect `NoExecute` have changed.
//!
//! Otherwise than upstream: an eviction that fails is retried with back-off, not given up after 50
//! ms. The pod is not read live first; uid and version guard the writes. A pod that is being
//! deleted and is marked as DisruptionTarget is not deleted once more. The metric of the duration
//! counts seconds; upstream's counts nanoseconds times 10⁹.

mod decide;
mod snapshot;
mod timers;

#[cfg(test)]
mod tests;

use api::{Effect, Key, Node, Pod, Taint};
use controller::{Change, Enqueue, Facts, Family, News, Plan, View, Watches};

pub use decide::Verdict;
pub use snapshot::Snapshot;
pub use timers::Timers;

/// Upstream's `UpdateWorkerSize`.
pub const WORKERS: usize = 8;

/// The controller, with its gates.
#[derive(Clone, Copy, Debug)]
pub struct Controller {
    /// Whether tolerations may compare numbers: `TaintTolerationComparisonOperators`.
    pub compares_tolerations: bool,
    /// Whether conditions of pods say of which generation they are:
    /// `PodObservedGenerationTracking`. Without it, only those that did before.
    pub tracks_generations: bool,
}

impl controller::Controller for Controller {
    type Snapshot = Snapshot;
    type Memory = Timers;
    type Verdict = Verdict;

    const METRICS: &'static [Family] = &[decide::DELETIONS_TOTAL, decide::DELETION_DURATION];

    fn watches(&self, table: &mut impl Watches<Self>) {
        table.remembers::<Pod>(|_, timers, change, view, queue| {
            pod_changed(timers, change, view, queue);
        });
        table.remembers::<Node>(|_, timers, change, view, queue| {
            node_changed(timers, change, view, queue);
        });
    }

    fn observe(&self, key: &Key, view: &View<'_>, timers: &Timers) -> Option<Snapshot> {
        snapshot::observe(*self, key, view, timers)
    }

    fn decide(&self, snapshot: &Snapshot, _: &Facts) -> (Plan, Verdict) {
        decide::decide(snapshot)
    }

    fn summary(&self, snapshot: &Snapshot) -> Vec<(&'static str, String)> {
        snapshot.summary()
    }

    fn remember(&self, timers: &mut Timers, news: News<'_, Self>, _: &mut Enqueue) {
        match news {
            News::Acted { snapshot, verdict, outcome } => {
                timers.acted(snapshot, verdict, outcome);
            }
            News::Gone(key) => timers.forget(key),
            News::Answered { .. } => {}
        }
    }
}

// === Watch table ===

/// As `PodUpdated`.
fn pod_changed(timers: &Timers, change: &Change<Pod>, view: &View<'_>, queue: &mut Enqueue) {
    let key = &change.object().meta.key;
    match change {
        Change::Added(pod) if timers.knows(key) || is_on_tainted_node(pod, view) => queue.add(key),
        Change::Updated { old, new }
            if old.tolerations != new.tolerations || old.node_name != new.node_name =>
        {
            queue.add(key);
        }
        Change::Added(_) | Change::Updated { .. } => {}
        // Also if nothing is remembered: a sync that evicts it may be about to.
        Change::Deleted(_) => queue.forget(key),
    }
}

/// As `NodeUpdated` and the start of `handleNodeUpdate`. A node that was deleted stops no timer.
fn node_changed(timers: &Timers, change: &Change<Node>, view: &View<'_>, queue: &mut Enqueue) {
    let node = match change {
        Change::Added(node) => node,
        Change::Updated { old, new } if no_execute(old).eq(no_execute(new)) => return,
        Change::Updated { new, .. } => new,
        Change::Deleted(_) => return,
    };
    let is_tainted = no_execute(node).next().is_some();
    for pod in view.of::<Pod>().by(Pod::BY_NODE, &node.meta.key.name) {
        if is_tainted || timers.knows(&pod.meta.key) {
            queue.add(&pod.meta.key);
        }
    }
}

fn is_on_tainted_node(pod: &Pod, view: &View<'_>) -> bool {
    let node = pod.node_name.as_ref().and_then(|name| view.of::<Node>().get(&Key::new("", name)));
    node.is_some_and(|node| no_execute(&node).next().is_some())
}

/// As `getNoExecuteTaints`.
fn no_execute(node: &Node) -> impl Iterator<Item = &Taint> {
    node.taints.iter().filter(|taint| taint.effect == Effect::NoExecute)
}
