//! The one loop with side effects, for all controllers.
//!
//! For a key: observe and decide behind a panic fence, act on the plan, report the status, requeue.
//! Reads come from the caches, writes carry preconditions, and the engine does not act for a key
//! until the caches show its earlier writes (`expectations`).
//!
//! [`Inspect`] shows the state of a controller, what it would do for a key, and whether its loop
//! has stopped.

mod act;
mod ambiguous_writes;
mod both;
mod door;

pub mod events;
mod expectations;
mod explain;
mod glance;
mod inspect;
mod kinds;
mod metrics;
mod provider;
mod read;
mod record;
mod shadow;
mod stall;
mod telemetry;
mod worker;

#[cfg(test)]
mod tests;

pub use both::Both;
use expectations::{Expectations, Settled};
pub use glance::{Glance, glance};
pub use inspect::{
    Acted, EngineStatus, Explanation, Fact, Failure, InWork, Insider, Inspect, Phase, Place,
    Planned, Unsettled, Viewer, WaitingFor,
};
use kinds::Kinds;
pub use metrics::Metrics;
use record::Record;
pub use shadow::{Counts, Difference, End, How, ShadowStatus};
pub use worker::{Engine, Parts};
