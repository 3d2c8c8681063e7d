//! The wall clock and the monotonic clock.
#![expect(clippy::disallowed_methods, reason = "this is the wrapper that the ban points to")]

use std::future::Future;
use std::time::{Duration, SystemTime};

use api::Time;
use tokio::time::Instant;

/// A handle on the time. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Clock {
    /// None: the system's wall clock. Some: the wall time at a tokio instant, from which it follows
    /// tokio's clock, which tests pause and advance.
    origin: Option<(Time, Instant)>,
}

/// A wait that took longer than its limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Elapsed;

impl Clock {
    /// The system's clock.
    pub fn system() -> Self {
        Self { origin: None }
    }

    /// A wall clock that shows `start` now and then follows tokio's clock.
    pub fn simulated(start: Time) -> Self {
        Self { origin: Some((start, Instant::now())) }
    }

    /// The wall time.
    pub fn now(&self) -> Time {
        match self.origin {
            Some((start, at)) => start + at.elapsed(),
            None => SystemTime::now()
                .duration_since(SystemTime::UNIX_EPOCH)
                .map_or(Time::EPOCH, |since| Time::EPOCH + since),
        }
    }

    /// The monotonic time.
    pub fn instant(&self) -> Instant {
        Instant::now()
    }

    /// Waits for `delay`.
    pub async fn sleep(&self, delay: Duration) {
        tokio::time::sleep(delay).await;
    }

    /// Waits until `at`.
    pub async fn sleep_until(&self, at: Instant) {
        tokio::time::sleep_until(at).await;
    }

    /// Waits for `future`, at most for `limit`.
    pub async fn timeout<F: Future>(
        &self,
        limit: Duration,
        future: F,
    ) -> Result<F::Output, Elapsed> {
        tokio::time::timeout(limit, future).await.map_err(|_| Elapsed)
    }
}
