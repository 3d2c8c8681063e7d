//! Scales workloads by what their pods use, or by other metrics.
//!
//! Reads: HorizontalPodAutoscaler, Pod; live, what is served, the `scale` of the target, and the
//! three metrics APIs. Writes: the `scale` of the target (a PUT of `autoscaling/v1` Scale),
//! HorizontalPodAutoscaler/status, Events. Upstream: `pkg/controller/podautoscaler` (v1.36).
//!
//! Keys are autoscalers. Each is synced once in a `--horizontal-pod-autoscaler-sync-period`,
//! whatever changes, and first a period after it was seen first. As upstream.
//!
//! **Invariant:** if no metric, or not each one, can be computed, the target does not shrink.
//! **Invariant:** a size is written only on the version of the target that was decided on.
//! **Invariant:** a size is between `minReplicas` and `maxReplicas`, and a change of size within
//! the policies; the target shrinks at most to the highest size that was recommended within the
//! window. What was recommended is lost with the process: its successor begins with the size that
//! it finds. As upstream.
//!
//! What an event costs: of an autoscaler, a key in the queue; of a pod, nothing. A sync looks at
//! all pods of the namespace, and at the selectors of all its autoscalers.
//!
//! # Parts
//! - `scale`: the size of the target.
//! - `samples`: what the metrics APIs respond.
//! - `custom`: where they have a metric.
//! - `replicas`: from samples to a number of replicas.
//! - `metric`: what one metric asks for.
//! - `behavior`: windows, policies and limits.
//! - `memory`: what no cache shows.
//! - `telemetry`: what is counted.
//!
//! Otherwise than upstream,
//! - the metrics of an autoscaler are read at once, not one after the other;
//! - if the target has changed before its new size is written, all is read anew and decided anew,
//!   at once and up to five times. Upstream writes the old decision on the new version;
//! - a new autoscaler of the name of an old one does not inherit its recommendations;
//! - autoscalers that select the same pods are named in order, and the gauge of the desired
//!   replicas ends with its autoscaler;
//! - the metric of the duration of a computation begins with the sync; a reconciliation of which
//!   the status could not be written counts as one that did not scale.

mod behavior;
mod custom;
mod decide;
mod memory;
mod metric;
mod replicas;
mod report;
mod samples;
mod scale;
mod snapshot;
mod telemetry;

#[cfg(test)]
mod tests;

use std::time::Duration;

use api::{HorizontalPodAutoscaler, Key, Pod};
use controller::{
    Answer, Change, Count, Ended, Enqueue, Facts, Family, News, Outcome, Plan, Query, View,
    Watches, Write,
};

pub use custom::Version;
pub use decide::{ConditionChange, Decision, Numbers, Rescale, Verdict};
pub use memory::{Memory, Past, Recommendation, ScaleEvent, Selectors};
pub use snapshot::Snapshot;

/// After this, a target that had changed is read anew.
const CONFLICT_PAUSE: Duration = Duration::from_millis(10);

/// The flags and gates.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// `--horizontal-pod-autoscaler-sync-period`: how often an autoscaler is looked at.
    pub sync_period: Duration,
    /// `--horizontal-pod-autoscaler-downscale-stabilization`: how far back a higher recommendation
    /// counts.
    pub downscale_stabilization: Duration,
    /// `--horizontal-pod-autoscaler-tolerance`: the deviation from the target, as a share, that
    /// changes nothing.
    pub tolerance: f64,
    /// `--horizontal-pod-autoscaler-cpu-initialization-period`: how long a pod starts.
    pub cpu_initialization_period: Duration,
    /// `--horizontal-pod-autoscaler-initial-readiness-delay`: how long a change of readiness is its
    /// first.
    pub initial_readiness_delay: Duration,
    /// Whether autoscalers may have tolerances of their own: `HPAConfigurableTolerance`.
    pub admits_tolerances: bool,
    /// Whether they may scale to nothing, and back: `HPAScaleToZero`.
    pub scales_to_zero: bool,
    /// Whether what a pod asks for as a whole counts: `PodLevelResources`.
    pub counts_pod_level: bool,
}

/// The controller.
#[derive(Clone, Copy, Debug)]
pub struct Controller(pub Options);

impl controller::Controller for Controller {
    type Snapshot = Snapshot;
    type Memory = Memory;
    type Verdict = Verdict;

    const METRICS: &'static [Family] = telemetry::ALL;

    const FOLLOWS_WRITES: bool = false;

    fn watches(&self, table: &mut impl Watches<Self>) {
        table.on::<HorizontalPodAutoscaler>(|controller, change, _, queue| match change {
            Change::Added(it) | Change::Updated { new: it, .. } => {
                queue.add_after(&it.meta.key, controller.0.sync_period);
            }
            Change::Deleted(it) => queue.forget(&it.meta.key),
        });
        table.reads::<Pod>();
    }

    fn observe(&self, key: &Key, view: &View<'_>, memory: &Memory) -> Option<Snapshot> {
        snapshot::observe(&self.0, key, view, memory)
    }

    fn decide(&self, snapshot: &Snapshot, facts: &Facts) -> (Plan, Verdict) {
        decide::decide(snapshot, facts)
    }

    fn summary(&self, snapshot: &Snapshot) -> Vec<(&'static str, String)> {
        report::summary(snapshot)
    }

    fn counts(&self, _: Option<&Snapshot>, verdict: Option<&Verdict>, ended: &Ended) -> Vec<Count> {
        match verdict {
            Some(Verdict::Decided(decision)) => telemetry::ended(decision, ended),
            Some(Verdict::Unread) | None => Vec::new(),
        }
    }

    fn gauges(&self, view: &View<'_>, memory: &Memory) -> Vec<Count> {
        telemetry::gauges(view, memory)
    }

    fn report(
        &self,
        snapshot: &Snapshot,
        verdict: Option<&Verdict>,
        outcome: &Outcome,
    ) -> Option<Write> {
        match verdict? {
            Verdict::Decided(decision) => report::report(snapshot, decision, outcome),
            Verdict::Unread => None,
        }
    }

    fn remember(&self, memory: &mut Memory, news: News<'_, Self>, queue: &mut Enqueue) {
        match news {
            News::Answered { snapshot, query, answer } => learn(memory, snapshot, query, answer),
            News::Acted { snapshot, verdict: Verdict::Decided(decision), outcome } => {
                memory.acted(snapshot, decision, outcome);
                if decide::is_tried_again(snapshot, outcome) {
                    queue.add_after(&snapshot.autoscaler.meta.key, CONFLICT_PAUSE);
                }
            }
            News::Acted { verdict: Verdict::Unread, .. } => {}
            News::Gone(key) => memory.forget(key),
        }
    }
}

fn learn(memory: &mut Memory, snapshot: &Snapshot, query: &Query, answer: &Answer) {
    if let Ok(served) = answer.served() {
        memory.learn_served(snapshot.uptime, served);
    }
    let is_group = matches!(query, Query::Path(path) if **path == *custom::CUSTOM_GROUP);
    let version = answer.json().ok().filter(|_| is_group).and_then(custom::version_in);
    if let Some(version) = version {
        memory.learn_custom(snapshot.uptime, version);
    }
}
