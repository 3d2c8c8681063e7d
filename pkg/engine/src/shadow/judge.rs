//! Compares what a shadow wants with what comes true. Pure: the caller passes in the time, and what
//! the caches show.
//!
//! A write that a plan wants, and that the next plan for the same key no longer wants, has come
//! true if its object shows it; else it is moot, since something else has made it needless. A write
//! that stays wanted beyond the grace period is a difference, until it has come true (late) or is
//! moot.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use api::{Key, Time};
use serde::Serialize;

use super::wish::{Target, Wish, Wishes};
use crate::Fact;

/// The number of keys with wishes that are judged at once.
pub(crate) const KEYS_MAX: usize = 10_000;
/// The number of differences that are kept.
pub(crate) const DIFFERENCES_MAX: usize = 100;
/// The number of differences that have ended and are kept.
pub(crate) const ENDED_MAX: usize = 20;

/// Judges the plans for the keys of one engine. `O` is what the caller keeps of a plan until it has
/// come true.
#[derive(Debug)]
pub(crate) struct Judge<O> {
    grace: Duration,
    cases: BTreeMap<Key, Case<O>>,
    /// Newest first.
    ended: VecDeque<Difference>,
    /// How many wishes are differences, kept or not.
    open: usize,
    kept: usize,
    pub(crate) counts: Counts,
}

/// How many wishes ended how.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Counts {
    /// They came true within the grace period.
    pub agreed: u64,
    /// They came true later.
    pub late: u64,
    /// They were no longer wanted although they had not come true.
    pub moot: u64,
    /// They were not judged, or the difference was not kept, since there were too many.
    pub dropped: u64,
}

/// The wishes for one key.
#[derive(Debug)]
struct Case<O> {
    held: BTreeMap<Target, Held>,
    origin: Option<O>,
}

/// A wish that has not come true.
#[derive(Debug)]
struct Held {
    wish: Wish,
    since: Moment,
    /// Whether the grace period is over.
    is_open: bool,
    /// The same, as long as there is room.
    difference: Option<Difference>,
}

/// A moment, by both clocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Moment {
    pub(crate) uptime: Duration,
    pub(crate) time: Time,
}

/// What a shadow would have written and the manager in charge has not, beyond the grace period.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Difference {
    /// The key of the controller.
    pub key: String,
    /// The write.
    pub step: String,
    /// How often it is wanted: so many objects are to be made.
    pub times: usize,
    /// The fields that it would change.
    pub fields: String,
    /// Since when it is wanted.
    pub since: Time,
    /// When the grace period was over.
    pub found: Time,
    /// Why the plan wants it.
    pub why: String,
    /// The plan, without bodies.
    pub plan: String,
    /// What the controller saw instead.
    pub facts: Vec<Fact>,
    /// When it was no longer wanted, and whether it had come true; none: it is wanted.
    pub ended: Option<End>,
}

/// How a difference ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct End {
    /// When.
    pub at: Time,
    /// How.
    pub how: How,
}

/// How a wish ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum How {
    /// It came true.
    CameTrue,
    /// It was no longer wanted.
    Moot,
}

/// What a shadow knows of a plan, for people.
#[derive(Clone, Debug, Default)]
pub(crate) struct Evidence {
    pub(crate) why: String,
    pub(crate) plan: String,
    pub(crate) facts: Vec<Fact>,
}

/// The result of a judgement.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Ruling<O> {
    /// What was kept of the plan before, if part of it came true.
    pub(crate) came_true: Option<O>,
    /// When to look at the key again, although nothing has changed.
    pub(crate) again: Option<Duration>,
}

/// Says whether the caches show that a wish has come true.
pub(crate) type Shows<'a> = &'a dyn Fn(&Target, &Wish) -> bool;

// === impl Judge ===

impl<O> Judge<O> {
    pub(crate) fn new(grace: Duration) -> Self {
        Self {
            grace,
            cases: BTreeMap::new(),
            ended: VecDeque::new(),
            open: 0,
            kept: 0,
            counts: Counts::default(),
        }
    }

    pub(crate) fn grace(&self) -> Duration {
        self.grace
    }

    /// The number of keys with wishes that have not come true.
    pub(crate) fn waiting(&self) -> usize {
        self.cases.len()
    }

    /// The number of differences, also of those that are not kept.
    pub(crate) fn open(&self) -> usize {
        self.open
    }

    /// The differences, by key.
    pub(crate) fn differences(&self) -> impl Iterator<Item = &Difference> {
        self.cases
            .values()
            .flat_map(|case| case.held.values())
            .filter_map(|it| it.difference.as_ref())
    }

    /// The last differences that ended, newest first.
    pub(crate) fn ended(&self) -> impl Iterator<Item = &Difference> {
        self.ended.iter()
    }

    /// The plan for `key` now wants this, and the plan before no longer counts. `origin` is handed
    /// back by a later ruling.
    pub(crate) fn decided(
        &mut self,
        (key, wishes, origin): (&Key, Wishes, Option<O>),
        now: Moment,
        shows: Shows<'_>,
        evidence: impl FnOnce() -> Evidence,
    ) -> Ruling<O> {
        let before = self.cases.remove(key);
        let is_new = before.is_none();
        let (mut held, before) = before.map_or((BTreeMap::new(), None), |it| (it.held, it.origin));
        let mut any = false;
        let mut still = BTreeMap::new();
        for (target, wish) in wishes.by_target {
            let known = held.remove(&target);
            let (next, came_true) = self.compared(&target, (known, wish), now, shows);
            any |= came_true;
            still.insert(target, next);
        }
        for (target, held) in held {
            if wishes.lacks_status && target.is_status() && !shows(&target, &held.wish) {
                // Nobody knows whether it is still wanted. Its time begins anew.
                let since = if held.is_open { held.since } else { now };
                still.insert(target, Held { since, ..held });
            } else {
                any |= self.end(&target, held, now, shows);
            }
        }
        let came_true = before.filter(|_| any);
        if still.is_empty() {
            return Ruling { came_true, again: None };
        }
        if is_new && self.cases.len() >= KEYS_MAX {
            self.counts.dropped += u64::try_from(still.len()).unwrap_or(u64::MAX);
            return Ruling { came_true, again: None };
        }
        if is_new {
            self.counts.dropped += u64::try_from(wishes.dropped).unwrap_or(u64::MAX);
        }
        self.find(key, &mut still, now, evidence);
        let again = still.values().map(|held| held.left(self.grace, now)).min();
        self.cases.insert(key.clone(), Case { held: still, origin });
        Ruling { came_true, again }
    }

    /// The object of `key` was deleted, or the key has nothing to do any more.
    pub(crate) fn gone(&mut self, key: &Key, now: Moment, shows: Shows<'_>) {
        let held = self.cases.remove(key).map(|case| case.held).unwrap_or_default();
        for (target, held) in held {
            self.end(&target, held, now, shows);
        }
    }

    /// A wish that is wanted now, and whether part of the one before has come true.
    fn compared(
        &mut self,
        target: &Target,
        (known, wish): (Option<Held>, Wish),
        now: Moment,
        shows: Shows<'_>,
    ) -> (Held, bool) {
        let fresh = |wish| Held { wish, since: now, is_open: false, difference: None };
        let Some(mut held) = known else { return (fresh(wish), false) };
        if held.wish.content == wish.content && held.wish.times == wish.times {
            return (held, false);
        }
        let done = held.wish.times.saturating_sub(wish.times);
        if held.wish.content == wish.content && done > 0 {
            // Some of them were made: the rest has its time from now on.
            self.count(held.is_open, How::CameTrue, done);
            self.close(held, How::CameTrue, now);
            return (fresh(wish), true);
        }
        if held.wish.content != wish.content && shows(target, &held.wish) {
            self.end(target, held, now, shows);
            return (fresh(wish), true);
        }
        // Nothing was done, so the time goes on.
        held.wish = wish;
        (held, false)
    }

    /// A wish is no longer wanted. Whether it came true.
    fn end(&mut self, target: &Target, held: Held, now: Moment, shows: Shows<'_>) -> bool {
        let how = if shows(target, &held.wish) { How::CameTrue } else { How::Moot };
        self.count(held.is_open, how, held.wish.times);
        self.close(held, how, now);
        how == How::CameTrue
    }

    fn count(&mut self, is_open: bool, how: How, times: usize) {
        let times = u64::try_from(times).unwrap_or(u64::MAX);
        match how {
            How::CameTrue if is_open => self.counts.late += times,
            How::CameTrue => self.counts.agreed += times,
            How::Moot => self.counts.moot += times,
        }
    }

    fn close(&mut self, held: Held, how: How, now: Moment) {
        self.open -= usize::from(held.is_open);
        let Some(difference) = held.difference else { return };
        self.kept -= 1;
        self.ended.truncate(ENDED_MAX - 1);
        let ended = Some(End { at: now.time, how });
        self.ended.push_front(Difference { ended, ..difference });
    }

    /// Opens a difference for each wish whose grace period is over.
    fn find(
        &mut self,
        key: &Key,
        wishes: &mut BTreeMap<Target, Held>,
        now: Moment,
        evidence: impl FnOnce() -> Evidence,
    ) {
        let mut evidence = Some(evidence);
        let mut seen: Option<Evidence> = None;
        for (target, held) in wishes {
            if held.is_open || held.age(now) < self.grace {
                continue;
            }
            held.is_open = true;
            self.open += 1;
            if self.kept == DIFFERENCES_MAX {
                self.counts.dropped += 1;
                continue;
            }
            self.kept += 1;
            if let Some(evidence) = evidence.take() {
                seen = Some(evidence());
            }
            let Evidence { why, plan, facts } = seen.clone().unwrap_or_default();
            held.difference = Some(Difference {
                key: key.to_string(),
                step: target.to_string(),
                times: held.wish.times,
                fields: held.wish.fields.clone(),
                since: held.since.time,
                found: now.time,
                why,
                plan,
                facts,
                ended: None,
            });
        }
    }
}

// === impl Held ===

impl Held {
    fn age(&self, now: Moment) -> Duration {
        now.uptime.saturating_sub(self.since.uptime)
    }

    /// How long until it must be looked at again.
    fn left(&self, grace: Duration, now: Moment) -> Duration {
        if self.is_open { grace } else { grace.saturating_sub(self.age(now)) }
    }
}
