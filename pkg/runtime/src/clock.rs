//! The wall clock and the monotonic clock.
#![expect(clippy::disallowed_methods, reason = "this is the wrapper that the ban points to")]

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

use api::Time;
use rustix::time::{ClockId, clock_gettime};
use tokio::time::Instant;

/// A handle on the time. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Clock {
    /// None: the system's clocks.
    origin: Option<Origin>,
}

/// Where simulated clocks begin. They follow tokio's clock, which tests pause and advance.
#[derive(Clone, Debug)]
struct Origin {
    /// The wall time at `at`.
    wall: Time,
    at: Instant,
    /// How long the simulated machine was suspended, in nanoseconds.
    suspended_ns: Arc<AtomicU64>,
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
        let (at, suspended_ns) = (Instant::now(), Arc::default());
        Self { origin: Some(Origin { wall: start, at, suspended_ns }) }
    }

    /// The wall time.
    pub fn now(&self) -> Time {
        match &self.origin {
            Some(origin) => origin.wall + origin.elapsed(),
            None => SystemTime::now()
                .duration_since(SystemTime::UNIX_EPOCH)
                .map_or(Time::EPOCH, |since| Time::EPOCH + since),
        }
    }

    /// The monotonic time.
    pub fn instant(&self) -> Instant {
        Instant::now()
    }

    /// The time since the machine started (if simulated: since the clock was made). Unlike
    /// [`Clock::instant`] it goes on while the machine is suspended, and unlike [`Clock::now`]
    /// nobody can set it: what ended at a moment on this clock has ended for everybody.
    pub fn boottime(&self) -> Duration {
        if let Some(origin) = &self.origin {
            return origin.elapsed();
        }
        let time = clock_gettime(ClockId::Boottime);
        let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
        Duration::new(seconds, u32::try_from(time.tv_nsec).unwrap_or(0))
    }

    /// Lets the simulated machine be suspended for `time`: the wall clock and
    /// [`Clock::boottime`] go on, [`Clock::instant`] and all waits do not. Nothing on the system's
    /// clock.
    pub fn suspend(&self, time: Duration) {
        if let Some(origin) = &self.origin {
            let nanos = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
            origin.suspended_ns.fetch_add(nanos, Ordering::SeqCst);
        }
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

impl Origin {
    fn elapsed(&self) -> Duration {
        self.at.elapsed() + Duration::from_nanos(self.suspended_ns.load(Ordering::SeqCst))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[tokio::test(start_paused = true)]
    async fn a_suspended_machine_ages_but_does_not_wait() {
        let clock = Clock::simulated(Time::EPOCH);
        let other = clock.clone();
        let started = clock.instant();
        clock.sleep(SECOND).await;
        clock.suspend(60 * SECOND);
        assert_eq!(other.boottime(), 61 * SECOND);
        assert_eq!(other.now(), Time::EPOCH + 61 * SECOND);
        assert_eq!(other.instant() - started, SECOND);
    }

    #[test]
    fn the_system_has_a_boottime_that_goes_on() {
        let clock = Clock::system();
        let before = clock.boottime();
        assert!(before > Duration::ZERO);
        assert!(clock.boottime() >= before);
        clock.suspend(1000 * SECOND);
        assert!(clock.boottime() < before + 1000 * SECOND);
    }
}
