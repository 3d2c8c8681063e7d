//! Two engines that appear as one controller.

use std::sync::Arc;

use api::Key;
use futures::FutureExt;
use futures::future::BoxFuture;
use runtime::Instant;

use crate::record::{FAILING_MAX, IN_WORK_MAX, PLANS_MAX};
use crate::shadow::ENDED_MAX;
use crate::{Counts, EngineStatus, Explanation, InWork, Inspect, Phase, ShadowStatus, Viewer};

/// Two engines of one controller, each with its own queue, as upstream's garbage collector has one
/// queue for deletions and one for owners whose dependents are orphaned.
pub struct Both(pub Arc<dyn Inspect>, pub Arc<dyn Inspect>);

impl Inspect for Both {
    fn status(&self) -> EngineStatus {
        merged(self.0.status(), self.1.status())
    }

    fn in_work(&self) -> Vec<InWork> {
        oldest(self.0.in_work(), self.1.in_work())
    }

    fn shadow(&self) -> Option<ShadowStatus> {
        let (first, second) = (self.0.shadow()?, self.1.shadow()?);
        let (a, b) = (first.counts, second.counts);
        let mut ended = joined(first.ended, second.ended);
        ended.sort_by_key(|difference| std::cmp::Reverse(difference.ended.map(|end| end.at)));
        ended.truncate(ENDED_MAX);
        Some(ShadowStatus {
            grace: first.grace,
            counts: Counts {
                agreed: a.agreed + b.agreed,
                late: a.late + b.late,
                moot: a.moot + b.moot,
                dropped: a.dropped + b.dropped,
            },
            waiting: first.waiting + second.waiting,
            open: first.open + second.open,
            differences: joined(first.differences, second.differences),
            ended,
        })
    }

    /// The explanation of the first engine, unless only the second one finds the object.
    fn explain<'a>(&'a self, key: &'a Key, viewer: &'a dyn Viewer) -> BoxFuture<'a, Explanation> {
        async move {
            let first = self.0.explain(key, viewer).await;
            if first.found {
                return first;
            }
            let second = self.1.explain(key, viewer).await;
            if second.found { second } else { first }
        }
        .boxed()
    }

    fn cannot_start(&self, why: &str) {
        self.0.cannot_start(why);
        self.1.cannot_start(why);
    }

    fn stalled(&self, now: Instant) -> Option<String> {
        // Both are asked every time: each one needs two observations to be sure.
        let (first, second) = (self.0.stalled(now), self.1.stalled(now));
        first.or(second)
    }
}

fn merged(a: EngineStatus, b: EngineStatus) -> EngineStatus {
    let by_time = |a: &crate::Failure, b: &crate::Failure| b.at.cmp(&a.at);
    let mut waiting_for = joined(a.waiting_for, b.waiting_for);
    waiting_for.sort_by(|a, b| a.resource.cmp(&b.resource));
    waiting_for.dedup_by(|a, b| a.resource == b.resource);
    let mut reads = joined(a.reads, b.reads);
    reads.sort();
    reads.dedup();
    let last = |a, b| {
        let mut failures = joined(a, b);
        failures.sort_by(by_time);
        failures.truncate(FAILING_MAX);
        failures.sort_by(|a, b| a.key.cmp(&b.key));
        failures
    };
    let (failing, given_up) = (last(a.failing, b.failing), last(a.given_up, b.given_up));
    let mut plans = joined(a.plans, b.plans);
    plans.sort_by_key(|plan| std::cmp::Reverse(plan.at));
    plans.truncate(PLANS_MAX);
    let mut errors = joined(Vec::from_iter(a.last_error), Vec::from_iter(b.last_error));
    errors.sort_by(by_time);
    EngineStatus {
        phase: if progress(a.phase) <= progress(b.phase) { a.phase } else { b.phase },
        cannot_start: a.cannot_start.or(b.cannot_start),
        waiting_for,
        reads,
        workers: a.workers + b.workers,
        workers_alive: a.workers_alive + b.workers_alive,
        queued: a.queued + b.queued,
        delayed: a.delayed + b.delayed,
        unsettled: a.unsettled + b.unsettled,
        in_work: oldest(a.in_work, b.in_work),
        failing,
        given_up,
        last_error: errors.into_iter().next(),
        plans,
        syncs: a.syncs + b.syncs,
        failures: a.failures + b.failures,
        panics: a.panics + b.panics,
    }
}

fn oldest(a: Vec<InWork>, b: Vec<InWork>) -> Vec<InWork> {
    let mut in_work = joined(a, b);
    in_work.sort_by_key(|work| work.since);
    in_work.truncate(IN_WORK_MAX);
    in_work
}

fn joined<T>(mut a: Vec<T>, b: Vec<T>) -> Vec<T> {
    a.extend(b);
    a
}

/// The order of the phases; the earlier one of two is shown.
fn progress(phase: Phase) -> u8 {
    match phase {
        Phase::NotStarted => 0,
        Phase::WaitingForCaches => 1,
        Phase::Running => 2,
        Phase::Stopped => 3,
    }
}
