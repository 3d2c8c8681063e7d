//! What a decision about a pod looks at.

use std::sync::Arc;
use std::time::Duration;

use api::{Key, Node, Pod, Status, Taint, Time, Toleration};
use controller::View;
use mutant::Mutant;

use super::timers::{Stage, Timer};
use super::{Controller, Timers, no_execute};

/// A pod and its node at one moment.
#[derive(Clone, Debug)]
pub struct Snapshot {
    /// The moment.
    pub now: Time,
    /// The same on a clock that cannot be set.
    pub uptime: Duration,
    /// The gates.
    pub(super) controller: Controller,
    /// The pod's name.
    pub key: Key,
    /// The pod; none: it was deleted, and something is remembered of it.
    pub pod: Option<Arc<Pod>>,
    /// Its node; none if it is on none, or on one that is not cached.
    pub node: Option<Arc<Node>>,
    /// What is remembered of the pod, or of another one of this name.
    pub timer: Option<Timer>,
}

/// How a pod bears the taints of its node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tolerance<'a> {
    /// There are none.
    Untainted,
    /// Not this one.
    Not(&'a Taint),
    /// All of them, for so long.
    For(Duration),
    /// All of them, for good.
    Endless,
}

pub(super) fn observe(
    controller: Controller,
    key: &Key,
    view: &View<'_>,
    timers: &Timers,
) -> Option<Snapshot> {
    let (pod, timer) = (view.of::<Pod>().get(key), timers.get(key).cloned());
    if pod.is_none() && timer.is_none() {
        return None;
    }
    let node = pod.as_ref().and_then(|pod| pod.node_name.as_ref());
    let node = node.and_then(|name| view.of::<Node>().get(&Key::new("", name)));
    let (now, uptime, key) = (view.now, view.uptime, key.clone());
    Some(Snapshot { now, uptime, controller, key, pod, node, timer })
}

// === impl Snapshot ===

impl Snapshot {
    /// What is remembered of this very pod.
    pub(super) fn stage(&self) -> Option<Stage> {
        let (timer, pod) = (self.timer.as_ref()?, self.pod.as_ref()?);
        (timer.uid == pod.meta.uid).then_some(timer.stage)
    }

    /// Whether the timer of another pod, which had this name, runs.
    pub(super) fn has_lost_timer(&self) -> bool {
        let waits =
            self.timer.as_ref().is_some_and(|timer| matches!(timer.stage, Stage::Waits { .. }));
        waits && self.stage().is_none()
    }

    /// Whether the pod was evicted, by this process or (by its mark) by another one.
    pub(super) fn is_evicted(&self) -> bool {
        self.pod.as_ref().is_some_and(|pod| {
            let is_marked = matches!(pod.disruption_target, Some((Status::True, _)));
            pod.meta.is_terminating() && (is_marked || self.stage() == Some(Stage::Evicted))
        })
    }

    /// As `GetMatchingTolerations` and `getMinTolerationTime`: of each taint the first toleration
    /// that fits counts, and of those the shortest.
    pub(super) fn tolerance<'a>(&self, pod: &Pod, node: &'a Node) -> Tolerance<'a> {
        let mut shortest: Option<i64> = None;
        let mut is_tainted = false;
        for taint in no_execute(node) {
            is_tainted = true;
            let Some(used) = pod.tolerations.iter().find(|it| self.tolerates(it, taint)) else {
                return Tolerance::Not(taint);
            };
            shortest = shortest.into_iter().chain(used.seconds).min();
        }
        match shortest {
            _ if !is_tainted => Tolerance::Untainted,
            None => Tolerance::Endless,
            // A span that is longer than a century would only overflow.
            Some(seconds) => {
                let seconds = u32::try_from(seconds.max(0)).unwrap_or(u32::MAX);
                let seconds = if mutant::is(Mutant::TolerationTimeIgnored) { 0 } else { seconds };
                Tolerance::For(Duration::from_secs(seconds.into()))
            }
        }
    }

    fn tolerates(&self, toleration: &Toleration, taint: &Taint) -> bool {
        toleration.tolerates(taint)
            || self.controller.compares_tolerations && toleration.tolerates_by_number(taint)
    }

    /// A moment on the wall clock.
    pub(super) fn wall(&self, moment: Duration) -> Time {
        let (ahead, ago) = (moment.saturating_sub(self.uptime), self.uptime.saturating_sub(moment));
        self.now + ahead - ago
    }

    pub(super) fn summary(&self) -> Vec<(&'static str, String)> {
        let mut facts = Vec::new();
        if let Some(pod) = &self.pod {
            facts.push(("node", pod.node_name.as_deref().unwrap_or("none").to_owned()));
            facts.extend(pod.tolerations.iter().map(|it| ("tolerates", it.to_string())));
            if let Some(at) = pod.meta.deletion_timestamp {
                facts.push(("being deleted since", at.to_string()));
            }
        }
        let taints = self.node.iter().flat_map(|node| no_execute(node));
        facts.extend(taints.map(|taint| ("taint", taint.to_string())));
        let timer = self.timer.as_ref().map(|timer| match timer.stage {
            Stage::Waits { due, span } => {
                format!("runs out at {}, {span:?} after it began", self.wall(due))
            }
            Stage::Marked { due } => format!("ran out at {}", self.wall(due)),
            Stage::Evicted => "the pod was evicted".to_owned(),
        });
        facts.extend(timer.map(|timer| ("timer", timer)));
        facts
    }
}
