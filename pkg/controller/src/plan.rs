//! A decision as data: the writes, their order, and why; and the outcome.

mod json;
mod sight;

#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::fmt;
use std::time::Duration;

use crate::{Action, Count, ObjectRef, Query};

pub use sight::{Sight, Subject};

/// The reason for a plan, in a few words.
pub type Why = Cow<'static, str>;

/// What a controller wants to do for one key. Prints one action per line.
#[derive(Clone, Debug, Default)]
pub struct Plan {
    /// The reason, shown by the debug pages.
    pub why: Why,
    /// Steps, one after the other; the first one that fails ends the plan.
    pub steps: Vec<Step>,
    /// When to requeue the key although nothing changed.
    pub again: Option<Duration>,
    /// Set if the key must be retried with back-off even though all writes succeed.
    pub error: Option<String>,
    /// The error may last until a person changes something, and each retry repeats it: debug pages
    /// show it, and it is logged at debug level only.
    pub quiet: bool,
    /// The counts for the controller's families ([`crate::Controller::METRICS`]) when it is acted
    /// on.
    pub counts: Vec<Count>,
}

/// Some actions and how they run.
#[derive(Clone, Debug)]
pub enum Step {
    /// One after the other; the first failure ends the step.
    InOrder(Vec<Action>),
    /// All at once; all are tried.
    Together(Vec<Action>),
    /// In batches of 1, 2, 4, …; after a batch with a failure the rest is skipped. As upstream's
    /// `slowStartBatch`.
    SlowStart(Vec<Action>),
    /// Several chains at once, each of them in order. A failure ends only its own chain; then the
    /// step has failed.
    Chains(Vec<Vec<Action>>),
    /// Live reads, all at once. The engine adds the answers to the facts and decides again, at most
    /// eight times; steps after it are ignored. Usually it is the only step. Steps before it are
    /// done first, and if they fail, so does the sync: this is for reads that depend on an earlier
    /// write. Without a query, only the results of those steps are new.
    Fetch(Vec<Query>),
}

/// The outcome of the plan, for `report`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// Earlier writes are not visible in the cache yet, so nothing was written this time; or the
    /// plan ended early because its namespace is being deleted.
    pub unsettled: bool,
    /// The first failure; if all writes succeeded, the plan's own error.
    pub error: Option<String>,
    /// Which of the plan's steps failed, counted from 0; none: all writes succeeded.
    pub step: Option<usize>,
    /// The API server's reason of that failure, such as `AlreadyExists`; empty if there is none.
    pub reason: String,
    /// Its HTTP code; none if there is none.
    pub code: Option<u16>,
    /// The objects that were made, also if a later write failed, in no order.
    pub made: Vec<ObjectRef>,
}

// === impl Plan ===

impl Plan {
    /// Nothing to do.
    pub fn rest(why: impl Into<Why>) -> Self {
        Self { why: why.into(), ..Self::default() }
    }

    /// Nothing to do but to retry with back-off.
    pub fn failed(why: impl Into<Why>, error: impl Into<String>) -> Self {
        Self { error: Some(error.into()), ..Self::rest(why) }
    }

    /// As [`Plan::failed`], without a warning.
    pub fn failed_quietly(why: impl Into<Why>, error: impl Into<String>) -> Self {
        Self { quiet: true, ..Self::failed(why, error) }
    }

    /// Only live reads.
    pub fn fetch(why: impl Into<Why>, queries: Vec<Query>) -> Self {
        Self { why: why.into(), steps: vec![Step::Fetch(queries)], ..Self::default() }
    }

    /// One step.
    pub fn one(why: impl Into<Why>, step: Step) -> Self {
        Self { why: why.into(), steps: vec![step], ..Self::default() }
    }

    /// Whether nothing would be read or written.
    pub fn is_rest(&self) -> bool {
        self.steps.is_empty()
    }

    /// Its first round: the steps before the first live reads, and those reads; none: the plan has
    /// no live reads.
    pub fn round(&self) -> (&[Step], Option<&[Query]>) {
        let reads = self.steps.iter().enumerate().find_map(|(at, step)| match step {
            Step::Fetch(queries) => Some((at, queries.as_slice())),
            Step::InOrder(_) | Step::Together(_) | Step::SlowStart(_) | Step::Chains(_) => None,
        });
        match reads {
            Some((at, queries)) => (&self.steps[..at], Some(queries)),
            None => (&self.steps, None),
        }
    }

    /// The number of writes.
    pub fn actions(&self) -> usize {
        let steps = self.steps.iter().map(|step| match step {
            Step::InOrder(actions) | Step::Together(actions) | Step::SlowStart(actions) => {
                actions.len()
            }
            Step::Chains(chains) => chains.iter().map(Vec::len).sum(),
            Step::Fetch(_) => 0,
        });
        steps.sum()
    }

    /// The same plan, requeued after `delay`.
    #[must_use]
    pub fn again_after(mut self, delay: Option<Duration>) -> Self {
        self.again = delay;
        self
    }
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "why: {}", self.why)?;
        for step in &self.steps {
            match step {
                Step::InOrder(actions) => write_actions(f, "in order", actions)?,
                Step::Together(actions) => write_actions(f, "together", actions)?,
                Step::SlowStart(actions) => write_actions(f, "slow start", actions)?,
                Step::Chains(chains) => {
                    for (number, chain) in chains.iter().enumerate() {
                        write_actions(f, &format!("chain {number}"), chain)?;
                    }
                }
                Step::Fetch(queries) if queries.is_empty() => writeln!(f, "decide again")?,
                Step::Fetch(queries) => {
                    queries.iter().try_for_each(|query| writeln!(f, "fetch {query}"))?;
                }
            }
        }
        if let Some(delay) = self.again {
            writeln!(f, "again in {delay:?}")?;
        }
        if let Some(error) = &self.error {
            writeln!(f, "error: {error}")?;
        }
        Ok(())
    }
}

fn write_actions(f: &mut fmt::Formatter<'_>, how: &str, actions: &[Action]) -> fmt::Result {
    actions.iter().try_for_each(|action| writeln!(f, "{how}: {action}"))
}
