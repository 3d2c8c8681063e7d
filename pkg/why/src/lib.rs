//! Why an object is not as it should be: what its controller wants, what is there, what it waits
//! for, and what comes next; for any cluster, whoever manages it, by reading alone.
//!
//! [`ask`] reads what it needs, and runs two kinds of pure functions over it:
//!
//! - the **rules** (`rules`), which follow the chain from the object to the cause: from a
//!   Deployment to its ReplicaSets, their pods, and what those wait for. A rule asks the [`Facts`]
//!   for objects; what has not been read yet is noted, read, and the rules run again.
//! - the **decision** of the object's controller (`decision`): the very functions that the manager
//!   runs, over caches that are filled with the same objects.
//!
//! The result is data, a [`Report`]; [`text`] writes it for people.
//!
//! **Invariant:** nothing is sent but GETs ([`Reader::new`] takes the writes away from its
//! connection). What may not be read is in [`Report::unseen`], and never taken for absent.

mod caches;
mod decision;
mod facts;
mod fetch;
mod finding;
mod json;
mod look;
mod names;
mod rules;
#[cfg(test)]
mod tests;
pub mod text;

pub use facts::{Facts, Need, Seen};
pub use fetch::{AskError, Question, Reader, ask};
pub use finding::{Decision, Finding, Line, Report, Severity, State, Subject, Unseen};
pub use names::Names;
pub use rules::{Examined, examine};
