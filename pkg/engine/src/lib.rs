//! The one loop that touches the world, for all controllers.
//!
//! For a key: observe and decide behind a panic fence, act on the plan, report the status, requeue.
//! Reads come from the caches, writes go out with preconditions, and a key whose writes the caches
//! do not show yet is not acted on again (`expectations`).

mod act;
pub mod events;
mod expectations;
mod metrics;
mod worker;

#[cfg(test)]
mod tests;

use expectations::{Expectations, Settled};
pub use metrics::Metrics;
pub use worker::{Engine, Parts};
