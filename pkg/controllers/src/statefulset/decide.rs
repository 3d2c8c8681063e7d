//! What should be done for a StatefulSet. As `updateStatefulSet` in upstream's
//! `stateful_set_control.go`: pods that are missing or not ready first, then those that the set has
//! no place for, then the update.

use std::sync::Arc;

use api::{Kind, Pod, StatefulSet};
use controller::{Action, Facts, Plan, Query, Step, pods};
use mutant::Mutant;

use super::replica::{self, Turn};
use super::revisions::{self, Present, Settled};
use super::rolling;
use super::snapshot::{self, Roster, Snapshot};
use super::{BATCH_MAX, CREATES_MAX, Controller};

/// What `report` must know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Course {
    /// The name of the revision that pods had before the update.
    pub current: String,
    /// The name of the revision that pods get.
    pub update: String,
    /// How often the name of a revision was taken by another template.
    pub collision_count: i32,
    /// How many pods of the former are deleted to be made from the latter.
    pub rolled: i32,
}

/// A plan that grows, until something must come first.
#[derive(Default)]
struct Work {
    steps: Vec<Step>,
    asks: Vec<Query>,
    /// What is waited for or done, the most important first.
    why: Vec<String>,
    error: Option<String>,
    rolled: i32,
}

/// Whether the next part of a plan may be looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Next {
    Go,
    Stop,
}

impl Controller {
    pub(super) fn plan(self, s: &Snapshot, facts: &Facts) -> (Plan, Option<Course>) {
        if let Err(why) = snapshot::selector(&s.set) {
            return (Plan::rest(why), None);
        }
        if s.set.meta.is_terminating() {
            return (Plan::rest("the set is being deleted"), Some(self.last_course(s)));
        }
        let (resource, owner) = (&StatefulSet::RESOURCE, &s.set.meta);
        let mut course = None;
        let plan = s.revisions.before(resource, owner, facts, || {
            s.pods.before(resource, owner, facts, || {
                let settled = match revisions::settle(s, facts, self.comparison) {
                    Ok(settled) => settled,
                    Err(plan) => return plan,
                };
                let (plan, rolled) = self.carry_out(s, &settled, facts);
                course = Some(Course {
                    current: settled.current.name,
                    update: settled.update.name,
                    collision_count: settled.collision_count,
                    rolled,
                });
                plan
            })
        });
        (plan, course)
    }

    /// Of a set that is being deleted no revision is made or changed.
    fn last_course(self, s: &Snapshot) -> Course {
        let status = &s.set.status;
        let update = match revisions::present(s, self.comparison) {
            Present::Last(revision) | Present::Earlier(revision) => {
                revision.meta.key.name.to_string()
            }
            Present::Missing => status.update_revision.clone(),
        };
        let known = |name: &str| s.revisions.mine.iter().any(|it| *it.meta.key.name == *name);
        let current = match &status.current_revision {
            name if known(name) => name.clone(),
            _ => update.clone(),
        };
        let collision_count = status.collision_count.unwrap_or(0);
        Course { current, update, collision_count, rolled: 0 }
    }

    fn carry_out(self, s: &Snapshot, settled: &Settled, facts: &Facts) -> (Plan, i32) {
        let mut work = Work::default();
        work.steps.extend(settled.write.clone().map(|write| Step::InOrder(vec![write])));
        self.work(s, settled, facts, &mut work);
        if !work.asks.is_empty() {
            return (Plan::fetch("pods must be changed; how are they now?", work.asks), 0);
        }
        if work.error.is_none() {
            work.steps.extend(revisions::cleanup(s, settled));
        }
        if work.why.is_empty() {
            work.why.push("each pod is there, available and up to date".to_owned());
        }
        let again = pods::next_check(&s.pods.mine, s.set.min_ready_seconds, s.now);
        let (why, steps, error) = (work.why.join("; ").into(), work.steps, work.error);
        (Plan { why, steps, error, again, ..Plan::default() }, work.rolled)
    }

    fn work(self, s: &Snapshot, settled: &Settled, facts: &Facts, work: &mut Work) {
        let roster = s.roster();
        if replicas(s, settled, &roster, facts, work) == Next::Stop {
            return;
        }
        if condemned(s, &roster, work) == Next::Stop {
            return;
        }
        let update = rolling::update(s, settled, &roster, self.max_unavailable);
        work.why.extend(update.why);
        work.error = update.error;
        work.rolled = i32::try_from(update.deletes.len()).unwrap_or(i32::MAX);
        if !update.deletes.is_empty() {
            work.steps.push(Step::InOrder(update.deletes));
        }
    }
}

/// The pods that the set has a place for, those that are there and those that are not.
fn replicas(
    s: &Snapshot,
    settled: &Settled,
    roster: &Roster<'_>,
    facts: &Facts,
    work: &mut Work,
) -> Next {
    let mut places: Vec<(i32, Option<&Arc<Pod>>)> =
        roster.missing(&s.set).take(CREATES_MAX).map(|at| (at, None)).collect();
    places.extend(roster.replicas.iter().map(|(at, pod)| (*at, Some(*pod))));
    places.sort_by_key(|(at, _)| *at);
    let turns = places.into_iter().map(|(at, pod)| match pod {
        Some(pod) => replica::keep(s, settled, (at, pod), facts),
        None => replica::make(s, settled, at),
    });
    work.take(s, turns)
}

/// The pods that it has none for: their claims get their owners, then the pods are deleted.
fn condemned(s: &Snapshot, roster: &Roster<'_>, work: &mut Work) -> Next {
    let claims = roster.condemned.iter().map(|place| replica::disown(s, *place));
    work.act(s, claims.filter(|actions| !actions.is_empty()).collect());
    let unavailable = |pod: &&&Arc<Pod>| s.is_unavailable(pod);
    let by_number = roster.condemned.iter().rev().map(|(_, pod)| pod);
    let mut in_order = roster.replicas.values().chain(by_number);
    let first = in_order.find(unavailable).copied();
    let turns = roster.condemned.iter().map(|(_, pod)| replica::condemn(s, pod, first));
    work.take(s, turns)
}

// === impl Work ===

impl Work {
    /// Takes the turns of pods: where pods wait for each other, up to the first one that others
    /// wait for.
    fn take(&mut self, s: &Snapshot, turns: impl Iterator<Item = Turn>) -> Next {
        let mut chains = Vec::new();
        let mut next = Next::Go;
        for turn in turns {
            if !turn.actions.is_empty() {
                chains.push(turn.actions);
            }
            let stops = turn.waits.is_some() && !mutant::is(Mutant::StatefulUnordered);
            self.why.extend(turn.waits);
            self.asks.extend(turn.asks.clone());
            self.error = self.error.take().or(turn.error);
            if self.error.is_some() {
                next = Next::Stop;
            }
            if s.is_ordered() && (stops || next == Next::Stop || turn.asks.is_some()) {
                next = Next::Stop;
                break;
            }
        }
        self.act(s, chains);
        next
    }

    /// One after the other, or in batches that double: a failure ends the plan after its batch.
    fn act(&mut self, s: &Snapshot, mut chains: Vec<Vec<Action>>) {
        if s.is_ordered() {
            let actions: Vec<Action> = chains.into_iter().flatten().collect();
            self.steps.extend((!actions.is_empty()).then_some(Step::InOrder(actions)));
            return;
        }
        let mut size = 1;
        while !chains.is_empty() {
            let rest = chains.split_off(size.min(chains.len()));
            self.steps.push(Step::Chains(std::mem::replace(&mut chains, rest)));
            size = (2 * size).min(BATCH_MAX);
        }
    }
}
