//! Tests of the queue. Comments name the corresponding upstream tests.

use std::time::Duration;

use runtime::{Clock, Instant};

mod limiter;
mod metrics;
mod queue;
mod shell;

/// Some moment.
fn start() -> Instant {
    Clock::system().instant()
}

const fn ms(count: u64) -> Duration {
    Duration::from_millis(count)
}
