//! A shadow: an engine that decides as if it led, and writes nothing.
//!
//! It runs beside the manager in charge. What it would write goes to a judge, which finds out
//! whether it comes true. What the memory of a controller learns of its own writes, it learns here
//! when they have come true; so it is right also when another process has written.

mod judge;
#[cfg(test)]
mod tests;
mod wish;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use api::Key;
use cache::{Informer, Selection};
use controller::{Action, Facts, Outcome, Plan, Sight, Step};
use serde::{Serialize, Serializer};

use crate::door::Opaque;
use crate::metrics::Shadowed;
use crate::record::cut;
use crate::worker::{FETCH_ROUNDS_MAX, Synced, TOO_MANY_FETCHES};
use crate::{Engine, Fact, Kinds, read};

pub(crate) use judge::ENDED_MAX;
pub use judge::{Counts, Difference, End, How};
use judge::{Evidence, Judge, Moment};
use wish::{Target, Wish, Wishes};

/// How often one sync observes: once more if the memory has learned something.
const PASSES_MAX: usize = 2;
/// Why the pages of a shadow show no bodies.
const HIDDEN: &str = "the explanation of the key shows it to those that may get the object";

/// What makes an engine a shadow.
pub(crate) struct Shadow {
    judge: Mutex<Judge<Arc<Origin>>>,
    metrics: Shadowed,
}

/// What a plan was decided on.
struct Origin {
    snapshot: Opaque,
    verdict: Opaque,
}

/// An object in a cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Held {
    version: u64,
    is_terminating: bool,
}

/// The result of one look at a key.
enum Imagined {
    /// That of the sync.
    Synced(Synced),
    /// Something has come true, and the memory has learned it: the key must be looked at again.
    Learned,
}

/// The state of a shadow. All lists are bounded.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ShadowStatus {
    /// How long the manager in charge has for each write.
    #[serde(rename = "graceSeconds", serialize_with = "seconds")]
    pub grace: Duration,
    /// How many writes ended how.
    pub counts: Counts,
    /// The number of keys with writes that have not come true.
    pub waiting: usize,
    /// The number of differences.
    pub open: usize,
    /// The differences; of more than 100 the first ones.
    pub differences: Vec<Difference>,
    /// The last differences that ended, newest first.
    pub ended: Vec<Difference>,
}

fn seconds<S: Serializer>(time: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_f64(time.as_secs_f64())
}

// === impl Shadow ===

impl Shadow {
    pub(crate) fn new(grace: Duration, metrics: Shadowed) -> Self {
        Self { judge: Mutex::new(Judge::new(grace)), metrics }
    }

    pub(crate) fn status(&self) -> ShadowStatus {
        let judge = self.judge();
        ShadowStatus {
            grace: judge.grace(),
            counts: judge.counts,
            waiting: judge.waiting(),
            open: judge.open(),
            differences: judge.differences().cloned().collect(),
            ended: judge.ended().cloned().collect(),
        }
    }

    fn judge(&self) -> MutexGuard<'_, Judge<Arc<Origin>>> {
        self.judge.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Has the judge do something, and counts what that changes.
    fn judged<T>(&self, judge: impl FnOnce(&mut Judge<Arc<Origin>>) -> T) -> T {
        let mut state = self.judge();
        let before = (state.counts, state.open());
        let result = judge(&mut state);
        self.metrics.count(before, (state.counts, state.open()));
        result
    }
}

// === impl Engine ===

impl Engine {
    /// A sync of a shadow: as that of a leader, but nothing is written.
    pub(crate) async fn shadow(&self, shadow: &Shadow, key: &Key) -> Synced {
        let mut synced = self.imagine(shadow, key).await;
        for _ in 1..PASSES_MAX {
            let Imagined::Learned = synced else { break };
            synced = self.imagine(shadow, key).await;
        }
        match synced {
            Imagined::Synced(synced) => synced,
            // It is still learning: what is new enqueues the key, too.
            Imagined::Learned => Synced::Done(Some(shadow.judge().grace())),
        }
    }

    async fn imagine(&self, shadow: &Shadow, key: &Key) -> Imagined {
        let started = self.act.runtime.clock.instant();
        let view = self.view().after(self.queue.num_requeues(key));
        let shows = |target: &Target, wish: &Wish| self.act.kinds.shows(target, wish);
        let Some(snapshot) = self.controller.observe(key, &view) else {
            let now = self.moment();
            shadow.judged(|judge| judge.gone(key, now, &shows));
            self.enqueue_all(self.controller.deleted(key));
            return Imagined::Synced(Synced::Deleted);
        };
        let (plan, verdict) = match self.decided(&snapshot).await {
            Ok(decided) => decided,
            Err(ended) => return Imagined::Synced(ended),
        };
        let (steps, reads) = plan.round();
        let mut wishes = Wishes::of(steps);
        let is_rest = wishes.is_empty() && reads.is_none();
        wishes.lacks_status = !is_rest;
        let outcome = Outcome { error: plan.error.clone(), ..Outcome::default() };
        // With writes in sight the status is still that of the time before them.
        if is_rest && let Some(status) = self.controller.report(&snapshot, Some(&verdict), &outcome)
        {
            wishes.add(&status);
        }
        let origin = Arc::new(Origin { snapshot, verdict });
        let kept = (!is_rest).then(|| Arc::clone(&origin));
        let (now, evidence) = (self.moment(), || self.evidence(&plan, &origin.snapshot));
        let ruling =
            shadow.judged(|judge| judge.decided((key, wishes, kept), now, &shows, evidence));
        if let Some(origin) = ruling.came_true {
            self.learned(&origin, &Outcome::default());
            return Imagined::Learned;
        }
        if is_rest {
            self.learned(&origin, &outcome);
        }
        let again = plan.again.filter(|_| reads.is_none());
        let passed = self.act.runtime.clock.instant() - started;
        let again = again.into_iter().chain(ruling.again).min();
        let again = again.map(|delay| delay.saturating_sub(passed));
        Imagined::Synced(match plan.error {
            Some(error) => {
                if let Some(delay) = again {
                    self.queue.add_after(key.clone(), delay);
                }
                Synced::failed_quietly(error)
            }
            None => Synced::Done(again),
        })
    }

    /// What the plan came to, as if it had been acted on.
    fn learned(&self, origin: &Origin, outcome: &Outcome) {
        let Origin { snapshot, verdict } = origin;
        self.enqueue_all(self.controller.acted(snapshot, verdict, outcome));
    }

    /// Decides, with the live reads that do not depend on writes.
    async fn decided(&self, snapshot: &Opaque) -> Result<(Plan, Opaque), Synced> {
        let mut facts = Facts::default();
        for round in 0..=FETCH_ROUNDS_MAX {
            let (plan, verdict) = self.controller.decide(snapshot, &facts);
            let (steps, Some(queries)) = plan.round() else { return Ok((plan, verdict)) };
            if !is_imagined(steps, &mut facts) {
                return Ok((plan, verdict));
            }
            if round == FETCH_ROUNDS_MAX {
                break;
            }
            let answers = read::fetch(&self.act.client, &self.act.doors(), queries).await;
            for (query, answer) in queries.iter().zip(answers) {
                self.learn(snapshot, query, &answer);
                facts.answers.insert(query.clone(), answer);
            }
        }
        Err(Synced::failed(TOO_MANY_FETCHES.to_owned()))
    }

    fn evidence(&self, plan: &Plan, snapshot: &Opaque) -> Evidence {
        let hidden = plan.subjects().into_iter().map(|it| (it, Err(HIDDEN.to_owned())));
        let shown = plan.clone().as_seen(&Sight::Of(hidden.collect()));
        let facts = self.controller.summary(snapshot).into_iter();
        Evidence {
            why: cut(&plan.why),
            plan: cut(&shown.to_string()),
            facts: facts.map(|(name, value)| Fact { name, value: cut(&value) }).collect(),
        }
    }

    fn moment(&self) -> Moment {
        let clock = &self.act.runtime.clock;
        Moment { uptime: clock.uptime(), time: clock.now() }
    }
}

/// Whether the results of these steps can be told without a write: that of deleting all objects of
/// a kind, since what is left of them is read afterwards.
fn is_imagined(steps: &[Step], facts: &mut Facts) -> bool {
    let mut emptied = Vec::new();
    for step in steps {
        let (Step::InOrder(actions) | Step::Together(actions) | Step::SlowStart(actions)) = step
        else {
            return false;
        };
        for write in actions.iter().filter_map(Action::write) {
            let Some(all) = write.emptied() else { return false };
            emptied.push(all);
        }
    }
    facts.emptied.extend(emptied.into_iter().map(|all| (all, None)));
    true
}

// === impl Kinds ===

impl Kinds {
    /// Whether the caches show that a write was done; also if they would never show it.
    fn shows(&self, target: &Target, wish: &Wish) -> bool {
        let Target { resource, key, uid, .. } = target;
        if target.is_generated {
            return true;
        }
        let selections = self.selections(resource, key);
        let held = |uid| selections.iter().filter_map(|it| self.held(it, key, uid)).max();
        if selections.is_empty() {
            return true;
        }
        match target.verb {
            "create" => held(None).is_some(),
            "delete" => held(Some(uid)).is_none_or(|held| held.is_terminating),
            _ => held(Some(uid)).is_none_or(|held| held.version > wish.version),
        }
    }

    /// The object in a cache, with this uid if one is given.
    fn held(&self, selection: &Selection, key: &Key, uid: Option<&str>) -> Option<Held> {
        let held = |informer: &Informer| {
            let (version, is_terminating) = informer.found(key, uid)?;
            Some(Held { version, is_terminating })
        };
        let of_all = || {
            let (version, is_terminating) =
                self.everything.as_ref()?.found(&selection.resource, key, uid)?;
            Some(Held { version, is_terminating })
        };
        match self.of(selection).next() {
            Some(_) => self.of(selection).filter_map(|informer| held(informer)).max(),
            None => of_all(),
        }
    }
}
