//! The one loop that touches the world, for all controllers.
//!
//! For a key: observe and decide behind a panic fence, act on the plan, report the status, requeue.
//! Reads come from the caches, writes go out with preconditions, and a key whose writes the caches
//! do not show yet is not acted on again (`expectations`).
//!
//! [`Inspect`] tells how a controller gets on, what it would do for a key, and whether its loop has
//! stopped.

mod act;
mod both;
mod door;
mod doubts;
pub mod events;
mod expectations;
mod explain;
mod inspect;
mod metrics;
mod read;
mod record;
mod stall;
mod telemetry;
mod worker;

#[cfg(test)]
mod tests;

pub use both::Both;
use expectations::{Expectations, Settled};
pub use inspect::{
    Acted, Explanation, Fact, Failure, InWork, Insider, Inspect, Phase, Place, Planned, Status,
    Unsettled, Viewer, WaitingFor,
};
pub use metrics::Metrics;
use record::Record;
pub use worker::{Engine, Parts};
