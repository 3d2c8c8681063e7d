//! A decision as data: the writes, their order, and why; and how it went.

mod json;
mod sight;

#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::fmt;
use std::time::Duration;

use crate::{Action, Count, Query};

pub use sight::{Sight, Subject};

/// Why a plan is as it is, in a few words.
pub type Why = Cow<'static, str>;

/// What a controller wants done for one key. Prints as one action a line.
#[derive(Clone, Debug, Default)]
pub struct Plan {
    /// The reason, shown by the debug pages.
    pub why: Why,
    /// Steps, one after the other; the first one that fails ends the plan.
    pub steps: Vec<Step>,
    /// When to look again although nothing changed.
    pub again: Option<Duration>,
    /// Set if the key must be tried again with back-off even though all writes succeed.
    pub error: Option<String>,
    /// The error may last for as long as people leave things as they are, and each try says the
    /// same: it is shown by the debug pages, and the log has it at debug level only.
    pub quiet: bool,
    /// What to add to the controller's families ([`crate::Controller::METRICS`]) when it is acted
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
    /// Several lists at once, each of them in order. A failure ends its own list only; then the
    /// step has failed.
    Chains(Vec<Vec<Action>>),
    /// Live reads, all at once. The engine adds the answers to the facts and decides again, at most
    /// eight times; steps behind it are not looked at. Mostly it is the only step. What stands
    /// before it is done first, and if that fails, so does the sync: for what can only be read once
    /// something was written.
    Fetch(Vec<Query>),
}

/// How the plan went, for `report`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// Earlier writes are not visible in the cache yet, so nothing was written this time; or the
    /// plan ended early since its namespace is being deleted.
    pub unsettled: bool,
    /// The first failure; if all writes went well, the plan's own error.
    pub error: Option<String>,
    /// Which of the plan's steps failed, counted from 0; none: all writes went well.
    pub step: Option<usize>,
    /// The API server's word for that failure, such as `AlreadyExists`; empty if it gave none.
    pub reason: String,
    /// Its HTTP code; none if it gave none.
    pub code: Option<u16>,
}

// === impl Plan ===

impl Plan {
    /// Nothing to do.
    pub fn rest(why: impl Into<Why>) -> Self {
        Self { why: why.into(), ..Self::default() }
    }

    /// Nothing to do but to try again with back-off.
    pub fn failed(why: impl Into<Why>, error: impl Into<String>) -> Self {
        Self { error: Some(error.into()), ..Self::rest(why) }
    }

    /// As [`Plan::failed`], and no warning.
    pub fn failed_quietly(why: impl Into<Why>, error: impl Into<String>) -> Self {
        Self { quiet: true, ..Self::failed(why, error) }
    }

    /// Nothing but live reads.
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

    /// Its first round: the steps that come before the first live reads, and those reads; none: the
    /// plan ends with the steps.
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

    /// How many writes it asks for.
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

    /// The same plan, looked at again after `delay`.
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
