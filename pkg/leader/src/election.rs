//! The rules of the election: the next action, from what was seen and when.
//!
//! Nothing here reads a clock or does I/O. Time is always counted to our disadvantage: our own
//! lease ends by the clock that runs while the machine is suspended, another holder's lease by the
//! one that does not. Wall times are only written into the record, for people, and never compared:
//! the clocks of two machines may differ by any amount. As client-go's `LeaderElector`
//! (`tools/leaderelection/leaderelection.go`).
//!
//! In a coordinated election (KEP 4355) the API server names the holder. A contender then takes
//! nothing: it renews what it has been given, until the API server prefers another one. The API
//! server does compare wall times, so it may name a new holder too early: that one waits until the
//! lease of the one before has ended by the rules above.

use std::fmt;
use std::time::Duration;

use api::Time;
use mutant::Mutant;

use crate::Timing;
use crate::lease::Record;
use crate::timing::JITTER_FACTOR;

/// Standbys that see a lease become free at the same moment delay their write by a random time up
/// to this, so that one of them is first and the others see it.
pub(crate) const CLAIM_JITTER: Duration = Duration::from_millis(20);

/// The shortest delay before a leader retries a renewal.
const PAUSE_MIN: Duration = Duration::from_millis(100);

/// One contender.
#[derive(Debug)]
pub(crate) struct Election {
    identity: String,
    timing: Timing,
    /// Whether the API server names the holder.
    is_coordinated: bool,
    /// The last record seen, and when it was first seen.
    observed: Option<Observed>,
    /// Whether the Lease did not exist at the last read.
    absent: bool,
    /// When the lease of the last other holder ends, unless that has released it, by
    /// [`Now::mono`].
    others_end: Duration,
    state: State,
}

#[derive(Clone, Debug)]
struct Observed {
    record: Record,
    /// By [`Now::mono`].
    at: Duration,
}

/// The state of a contender. Standby becomes Leading by an accepted write, Leading becomes Lost by
/// the deadline or by another holder in the record. There is no way back.
#[derive(Clone, Debug, PartialEq, Eq)]
enum State {
    /// Another contender leads, or none.
    Standby {
        /// When to read the Lease again if no change is seen, by [`Now::mono`].
        look_at: Duration,
        /// When to write, by [`Now::mono`]; none: the last record seen is stale or unknown.
        claim_at: Option<Duration>,
    },
    /// We lead.
    Leading(Lead),
    /// We have led; the process must end.
    Lost(LossReason),
}

/// The state of a leader.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Lead {
    /// The moment before the last successful write was sent, by [`Now::boot`].
    renewed: Duration,
    /// When to write again, by [`Now::boot`].
    renew_at: Duration,
    /// What the present renewal has tried.
    attempt: Attempt,
}

/// The steps of a renewal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Attempt {
    /// An update of the known version, without a read.
    Fast,
    /// A read, then an update of the version that was read.
    Slow,
}

/// The present time, for one step.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Now {
    /// [`runtime::Clock::boottime`].
    pub(crate) boot: Duration,
    /// [`runtime::Clock::instant`], since an arbitrary moment.
    pub(crate) mono: Duration,
    /// The wall clock.
    pub(crate) wall: Time,
    /// A random number in [0, 1).
    pub(crate) luck: f64,
}

/// What happened.
#[derive(Clone, Debug)]
pub(crate) enum Input {
    /// A wait is over, or the election begins.
    Tick,
    /// The Lease says this.
    Found(Record),
    /// There is no Lease.
    Absent,
    /// A create or update was accepted; it was sent after the moment `sent` of [`Now::boot`].
    Written { record: Record, sent: Duration },
    /// A write was refused because the Lease has changed, or a read or write failed.
    Failed,
}

/// What to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Action {
    /// Read the Lease.
    Get,
    /// Create the Lease with this record.
    Create(Record),
    /// Update the last Lease seen with this record.
    Update(Record),
    /// Wait until this moment of [`Now::mono`], or until the Lease changes.
    Wait(Duration),
    /// Stop at once.
    Lost(LossReason),
}

/// Why leadership was lost.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum LossReason {
    /// The record has another holder.
    Replaced(String),
    /// No renewal succeeded within this time.
    Deadline(Duration),
    /// The API server has ended the term in favour of this contender.
    EndOfTerm(String),
}

impl fmt::Display for LossReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Replaced(holder) => write!(f, "the lease is held by {holder}"),
            Self::Deadline(limit) => write!(f, "the lease could not be renewed within {limit:?}"),
            Self::EndOfTerm(next) => write!(f, "its term is over, the API server prefers {next}"),
        }
    }
}

// === impl Election ===

impl Election {
    /// A contender that has seen nothing yet.
    pub(crate) fn new(identity: &str, timing: Timing, is_coordinated: bool) -> Self {
        let state = State::Standby { look_at: Duration::ZERO, claim_at: None };
        Self {
            identity: identity.to_owned(),
            timing,
            is_coordinated,
            observed: None,
            absent: false,
            others_end: Duration::ZERO,
            state,
        }
    }

    /// Handles an input, and returns what to do now.
    pub(crate) fn step(&mut self, input: Input, now: Now) -> Action {
        match self.state.clone() {
            State::Standby { look_at, claim_at } => self.stand_by(input, look_at, claim_at, now),
            State::Leading(lead) => self.lead(input, lead, now),
            State::Lost(why) => Action::Lost(why),
        }
    }

    /// When we lose the lease unless a write is accepted before, and so how long we may write, by
    /// [`Now::boot`]; none: we do not lead.
    pub(crate) fn deadline(&self) -> Option<Duration> {
        Some(self.renewed()? + self.timing.deadline())
    }

    /// The moment before the last successful write was sent, by [`Now::boot`]; none: we do not
    /// lead.
    pub(crate) fn renewed(&self) -> Option<Duration> {
        match self.state {
            State::Leading(lead) => Some(lead.renewed),
            State::Standby { .. } | State::Lost(_) => None,
        }
    }

    /// Whether we lead, or another holder was seen to renew within the duration of its record.
    pub(crate) fn is_held(&self, now: Now) -> bool {
        let seen = self.observed.as_ref().filter(|seen| !seen.record.holder.is_empty());
        let lasts = |seen: &Observed| Duration::from_secs(seen.record.duration_seconds);
        let is_fresh = |seen: &Observed| now.mono < seen.at.saturating_add(lasts(seen));
        self.renewed().is_some() || (!self.absent && seen.is_some_and(is_fresh))
    }

    /// The record that releases the lease; none: it is not ours. It lasts for one second, since a
    /// Lease cannot say zero.
    pub(crate) fn release(&self, wall: Time) -> Option<Record> {
        let record = self.observed.as_ref().map(|seen| &seen.record)?;
        (record.holder == self.identity).then(|| Record {
            holder: String::new(),
            duration_seconds: 1,
            acquired: Some(wall),
            renewed: Some(wall),
            transitions: record.transitions,
            preferred: String::new(),
        })
    }

    /// Only a changed record restarts the wait for its end.
    pub(crate) fn observe(&mut self, record: Record, now: Now) {
        self.absent = false;
        let differs = self.observed.as_ref().is_none_or(|seen| seen.record != record);
        if differs || mutant::is(Mutant::LeaseSeenAnew) {
            if record.holder.is_empty() {
                self.others_end = Duration::ZERO;
            } else if record.holder != self.identity {
                let lasts = Duration::from_secs(record.duration_seconds);
                self.others_end = now.mono.saturating_add(lasts);
            }
            self.observed = Some(Observed { record, at: now.mono });
        }
    }

    fn stand_by(
        &mut self,
        input: Input,
        look_at: Duration,
        claim_at: Option<Duration>,
        now: Now,
    ) -> Action {
        let look_again =
            now.mono + self.timing.retry_period.mul_f64(1.0 + now.luck * JITTER_FACTOR);
        let (look_at, claim_at) = match input {
            Input::Tick => (look_at, claim_at),
            Input::Found(record) => {
                self.observe(record, now);
                (look_again, self.claim_at(now))
            }
            Input::Absent => {
                self.absent = true;
                (look_again, self.claim_at(now))
            }
            Input::Written { record, sent } => {
                self.observe(record, now);
                if now.boot < sent + self.timing.deadline() {
                    return self.renew_later(sent, sent, now);
                }
                // The response took so long that another contender may hold the lease by now.
                (now.mono, None)
            }
            // What was seen is stale: read the Lease before writing again.
            Input::Failed => (look_again, None),
        };
        if claim_at.is_some_and(|at| at <= now.mono) {
            self.state = State::Standby { look_at: look_again, claim_at: None };
            return self.claim(now);
        }
        self.state = State::Standby { look_at, claim_at };
        if look_at <= now.mono {
            return Action::Get;
        }
        Action::Wait(claim_at.map_or(look_at, |at| at.min(look_at)))
    }

    fn lead(&mut self, input: Input, lead: Lead, now: Now) -> Action {
        let Lead { renewed, renew_at, attempt } = lead;
        if let Input::Written { record, sent } = input {
            self.observe(record, now);
            return self.renew_later(sent, sent, now);
        }
        if now.boot >= renewed + self.timing.deadline() {
            return self.lose_by_deadline();
        }
        let (attempt, action) = match input {
            Input::Tick if now.boot < renew_at => {
                return wait(renew_at.min(renewed + self.timing.deadline()), now);
            }
            Input::Tick if self.is_unelected() => (Attempt::Slow, Action::Get),
            Input::Tick => (Attempt::Fast, self.claim(now)),
            Input::Found(record) => {
                if !record.holder.is_empty() && record.holder != self.identity {
                    return self.lose(LossReason::Replaced(record.holder));
                }
                self.observe(record, now);
                if self.is_unelected() {
                    return self.renew_later(renewed, now.boot, now);
                }
                (Attempt::Slow, self.claim(now))
            }
            Input::Absent => {
                self.absent = true;
                if self.is_unelected() {
                    return self.renew_later(renewed, now.boot, now);
                }
                (Attempt::Slow, self.claim(now))
            }
            Input::Failed if attempt == Attempt::Fast => (Attempt::Slow, Action::Get),
            Input::Failed | Input::Written { .. } => {
                return self.renew_later(renewed, now.boot, now);
            }
        };
        self.state = State::Leading(Lead { attempt, ..lead });
        action
    }

    /// We lead since `renewed`; the next write is a retry period after `last`.
    fn renew_later(&mut self, renewed: Duration, last: Duration, now: Now) -> Action {
        let deadline = renewed + self.timing.deadline();
        if now.boot >= deadline {
            return self.lose_by_deadline();
        }
        let renew_at = last + self.pause(deadline.saturating_sub(last));
        self.state = State::Leading(Lead { renewed, renew_at, attempt: Attempt::Fast });
        wait(renew_at.min(deadline), now)
    }

    /// The delay before the next try with this much time left. Upstream's delays are constant, so
    /// the last one may end too late although the network has recovered.
    fn pause(&self, left: Duration) -> Duration {
        let pause = self.timing.retry_period;
        if pause < left { pause } else { pause.min((left / 2).max(PAUSE_MIN)) }
    }

    fn lose_by_deadline(&mut self) -> Action {
        let next = self.observed.as_ref().map(|seen| seen.record.preferred.clone());
        let next = next.filter(|next| self.is_coordinated && !next.is_empty());
        let deadline = LossReason::Deadline(self.timing.deadline());
        self.lose(next.map_or(deadline, LossReason::EndOfTerm))
    }

    fn lose(&mut self, why: LossReason) -> Action {
        self.state = State::Lost(why.clone());
        Action::Lost(why)
    }

    /// Whether the API server names the holder, and it is not us, or not for another term. Upstream
    /// renews nothing then, and so leads until its deadline.
    fn is_unelected(&self) -> bool {
        let is_ours = |seen: &Observed| {
            seen.record.holder == self.identity && seen.record.preferred.is_empty()
        };
        self.is_coordinated && (self.absent || !self.observed.as_ref().is_some_and(is_ours))
    }

    /// When a standby may write; none: not before the Lease changes. What the API server gives
    /// lasts for five seconds. Upstream's contender that misses them never claims it, and the API
    /// server gives it to no other one; here it is claimed later.
    fn claim_at(&self, now: Now) -> Option<Duration> {
        if !self.is_coordinated {
            return Some(self.free_at(now));
        }
        (!self.is_unelected()).then(|| self.others_end.max(now.mono))
    }

    /// When the lease becomes free for us. Another holder's lease lasts for the duration in *its
    /// record*, counted from when we first saw that record. That holds even if the Lease was
    /// deleted since: its holder may not know and may still write.
    fn free_at(&self, now: Now) -> Duration {
        let at_once = now.mono + CLAIM_JITTER.mul_f64(now.luck);
        match &self.observed {
            Some(seen) if seen.record.holder == self.identity => now.mono,
            Some(seen) if !seen.record.holder.is_empty() => {
                let parts = if mutant::is(Mutant::TakeoverTooEarly) { 3 } else { 1 };
                let lasts = Duration::from_secs(seen.record.duration_seconds) / parts;
                let end = seen.at.saturating_add(lasts);
                if self.absent { end.max(at_once) } else { end }
            }
            Some(_) | None => at_once,
        }
    }

    /// The write that acquires or renews the lease.
    fn claim(&self, now: Now) -> Action {
        let mut record = Record {
            holder: self.identity.clone(),
            duration_seconds: self.timing.validity().as_secs(),
            acquired: Some(now.wall),
            renewed: Some(now.wall),
            transitions: 0,
            preferred: String::new(),
        };
        let Some(Observed { record: seen, .. }) = self.observed.as_ref().filter(|_| !self.absent)
        else {
            return Action::Create(record);
        };
        if seen.holder == self.identity {
            record.acquired = seen.acquired.or(record.acquired);
            record.transitions = seen.transitions;
        } else {
            record.transitions = seen.transitions.saturating_add(1);
        }
        Action::Update(record)
    }
}

/// Waits until a moment of [`Now::boot`].
fn wait(until: Duration, now: Now) -> Action {
    Action::Wait(now.mono + until.saturating_sub(now.boot))
}
