//! The wall clock and the monotonic clock.
#![expect(clippy::disallowed_methods, reason = "this is the wrapper that the ban points to")]

use std::future::Future;
use std::num::NonZeroU32;
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, LazyLock};
use std::time::{Duration, SystemTime};

use api::Time;
use rustix::time::{ClockId, clock_gettime};
use tokio::time::Instant;

use crate::Latest;

/// The origin of [`Clock::uptime`] of the system's clock.
static BEGAN: LazyLock<Instant> = LazyLock::new(Instant::now);

/// A handle on the time. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Clock {
    /// None: the system's clocks.
    origin: Option<Arc<Origin>>,
}

/// The origin of simulated clocks. They follow tokio's clock, which tests pause and advance.
#[derive(Debug)]
struct Origin {
    /// The wall time at `at`.
    wall: Time,
    at: Instant,
    /// How fast they run; none: as tokio's clock.
    pace: Option<Latest<Pace>>,
    /// How long the simulated machine was suspended, in nanoseconds.
    suspended_ns: AtomicU64,
    /// How long the simulated machine slept while tokio's clock ran, in nanoseconds.
    slept_ns: AtomicU64,
    /// By how much a test has set the wall clock forward, in nanoseconds.
    set_ns: AtomicI64,
}

/// How fast a clock runs, since its speed was set last.
#[derive(Clone, Copy, Debug)]
struct Pace {
    since: Instant,
    /// How far it had run by then.
    before: Duration,
    /// How many times faster it runs than tokio's clock; 0: it stands still.
    speed: u32,
}

/// A wait in progress.
struct Rest {
    /// The whole delay; none: it has begun.
    delay: Option<Duration>,
    since: Instant,
    total: Duration,
    /// The machine's sleep when it was last checked.
    slept: Duration,
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
        Self::with_pace(start, None)
    }

    /// A clock that shows `start` now and runs `speed` times as fast as tokio's; waits are shorter
    /// by the same factor. Its instants are not tokio's: only its own methods can wait for them.
    pub fn faster(start: Time, speed: NonZeroU32) -> Self {
        let (since, before) = (Instant::now(), Duration::ZERO);
        let pace = Pace { since, before, speed: speed.get() };
        Self::with_pace(start, Some(Latest::new(pace)))
    }

    fn with_pace(start: Time, pace: Option<Latest<Pace>>) -> Self {
        let origin = Origin {
            wall: start,
            at: Instant::now(),
            pace,
            suspended_ns: AtomicU64::default(),
            slept_ns: AtomicU64::default(),
            set_ns: AtomicI64::default(),
        };
        Self { origin: Some(Arc::new(origin)) }
    }

    /// The wall time.
    pub fn now(&self) -> Time {
        match &self.origin {
            Some(origin) => origin.wall(),
            None => SystemTime::now()
                .duration_since(SystemTime::UNIX_EPOCH)
                .map_or(Time::EPOCH, |since| Time::EPOCH + since),
        }
    }

    /// The monotonic time.
    pub fn instant(&self) -> Instant {
        self.origin.as_ref().map_or_else(Instant::now, |origin| origin.at + origin.running())
    }

    /// The monotonic time as a number: the time since the process first asked for it (if simulated:
    /// since the clock was made). For comparing moments without waiting.
    pub fn uptime(&self) -> Duration {
        match &self.origin {
            Some(origin) => origin.running(),
            None => BEGAN.elapsed(),
        }
    }

    /// The time since the machine started (if simulated: since the clock was made). Unlike
    /// [`Clock::instant`] it runs while the machine is suspended, and unlike [`Clock::now`] it
    /// cannot be set: a moment that has passed on this clock has passed for every process.
    pub fn boottime(&self) -> Duration {
        if let Some(origin) = &self.origin {
            return origin.elapsed();
        }
        let time = clock_gettime(ClockId::Boottime);
        let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
        Duration::new(seconds, u32::try_from(time.tv_nsec).unwrap_or(0))
    }

    /// Suspends the simulated machine for `time`: the wall clock and [`Clock::boottime`] advance,
    /// [`Clock::instant`] and all waits do not. No effect on the system's clock.
    pub fn suspend(&self, time: Duration) {
        if let Some(origin) = &self.origin {
            let nanos = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
            origin.suspended_ns.fetch_add(nanos, Ordering::SeqCst);
        }
    }

    /// Declares that the simulated machine was suspended for this `time`, which tokio's clock has
    /// counted: [`Clock::instant`] and all waits have stood still. Only for a process that did not
    /// run meanwhile. No effect on the system's clock.
    pub fn slept(&self, time: Duration) {
        if let Some(origin) = &self.origin {
            let nanos = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
            origin.slept_ns.fetch_add(nanos, Ordering::SeqCst);
            self.suspend(time);
        }
    }

    /// The clock of another simulated machine: it shows the same until one of them is set or
    /// suspended. The system's clock is the same everywhere.
    pub fn of_another_machine(&self) -> Self {
        let apart = |origin: &Arc<Origin>| {
            Arc::new(Origin {
                wall: origin.wall,
                at: origin.at,
                pace: origin.pace.clone(),
                suspended_ns: origin.suspended_ns.load(Ordering::SeqCst).into(),
                slept_ns: origin.slept_ns.load(Ordering::SeqCst).into(),
                set_ns: origin.set_ns.load(Ordering::SeqCst).into(),
            })
        };
        Self { origin: self.origin.as_ref().map(apart) }
    }

    /// Sets the wall clock of the simulated machine: it shows this much more, or less, than if it
    /// had never been set. No effect on the system's clock.
    pub fn set_wall(&self, ahead_ms: i64) {
        if let Some(origin) = &self.origin {
            origin.set_ns.store(ahead_ms.saturating_mul(1_000_000), Ordering::SeqCst);
        }
    }

    /// Sets how many times as fast as tokio's a clock of [`Clock::faster`] runs from now on, for
    /// all waits that have begun, too. 0: it stands still, and no wait ends. No effect on others.
    pub fn set_speed(&self, speed: u32) {
        if let Some(pace) = self.pace() {
            pace.update(|pace| {
                *pace = Pace { since: Instant::now(), before: pace.run(), speed };
                true
            });
        }
    }

    /// How many times as fast as tokio's it runs.
    pub fn speed(&self) -> u32 {
        self.pace().map_or(1, |pace| pace.with(|pace| pace.speed))
    }

    /// Waits for `delay`.
    pub async fn sleep(&self, delay: Duration) {
        if let Some(pace) = self.pace() {
            return sleep_at(pace, delay).await;
        }
        let mut rest = Rest::new(self, delay);
        while let Some(left) = rest.left(self) {
            tokio::time::sleep(left).await;
        }
    }

    /// Waits until `at`.
    pub async fn sleep_until(&self, at: Instant) {
        match &self.origin {
            Some(_) => self.sleep(at.saturating_duration_since(self.instant())).await,
            None => tokio::time::sleep_until(at).await,
        }
    }

    /// Waits for `future`, at most for `limit`.
    pub async fn timeout<F: Future>(
        &self,
        limit: Duration,
        future: F,
    ) -> Result<F::Output, Elapsed> {
        let (mut future, mut rest) = (pin!(future), Rest::new(self, limit));
        if let Some(pace) = self.pace() {
            return tokio::select! {
                biased;
                output = future => Ok(output),
                () = sleep_at(pace, limit) => Err(Elapsed),
            };
        }
        while let Some(left) = rest.left(self) {
            let waited = tokio::time::timeout(left, &mut future).await;
            if let Ok(output) = waited {
                return Ok(output);
            }
        }
        Err(Elapsed)
    }

    /// How long waits have stood still.
    fn slept_so_far(&self) -> Duration {
        self.origin.as_deref().map(Origin::slept).unwrap_or_default()
    }

    fn pace(&self) -> Option<&Latest<Pace>> {
        self.origin.as_ref()?.pace.as_ref()
    }
}

/// Waits for `delay` on a clock whose speed may change meanwhile. Boxed, since each wait of any
/// clock would be larger by it.
fn sleep_at(pace: &Latest<Pace>, delay: Duration) -> Pin<Box<dyn Future<Output = ()> + Send>> {
    let mut reader = pace.reader();
    let end = pace.with(Pace::run).saturating_add(delay);
    Box::pin(async move {
        loop {
            let (left, speed) = reader.look(|pace| (end.saturating_sub(pace.run()), pace.speed));
            if left.is_zero() {
                return;
            }
            let rest = async {
                match left.checked_div(speed) {
                    // Rounded up: what is left of a nanosecond is no reason to look again.
                    Some(rest) => {
                        let rest = rest.saturating_add(Duration::from_nanos(1));
                        tokio::time::sleep(rest).await;
                    }
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                biased;
                () = reader.changed() => {}
                () = rest => {}
            }
        }
    })
}

// === impl Pace ===

impl Pace {
    /// How far the clock has run.
    fn run(&self) -> Duration {
        self.before + self.since.elapsed().saturating_mul(self.speed)
    }
}

// === impl Rest ===

impl Rest {
    fn new(clock: &Clock, delay: Duration) -> Self {
        Self { delay: Some(delay), since: clock.instant(), total: delay, slept: Duration::ZERO }
    }

    /// How long to wait now. None: the wait is over, unless the machine slept meanwhile.
    fn left(&mut self, clock: &Clock) -> Option<Duration> {
        let slept = clock.slept_so_far();
        let has_slept = std::mem::replace(&mut self.slept, slept) != slept;
        if let Some(delay) = self.delay.take() {
            return Some(delay);
        }
        let left = self.total.saturating_sub(clock.instant() - self.since);
        Some(left).filter(|left| has_slept && !left.is_zero())
    }
}

// === impl Origin ===

impl Origin {
    /// The wall time.
    fn wall(&self) -> Time {
        let set_ns = self.set_ns.load(Ordering::SeqCst);
        let (time, by) = (self.wall + self.elapsed(), Duration::from_nanos(set_ns.unsigned_abs()));
        if set_ns < 0 { time - by } else { time + by }
    }

    /// The age of the machine.
    fn elapsed(&self) -> Duration {
        self.running() + Duration::from_nanos(self.suspended_ns.load(Ordering::SeqCst))
    }

    /// The part of it for which the machine was not suspended.
    fn running(&self) -> Duration {
        let run = self.pace.as_ref().map_or_else(|| self.at.elapsed(), |pace| pace.with(Pace::run));
        run.saturating_sub(self.slept())
    }

    /// How long it slept while tokio's clock ran.
    fn slept(&self) -> Duration {
        Duration::from_nanos(self.slept_ns.load(Ordering::SeqCst))
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

    #[tokio::test(start_paused = true)]
    async fn setting_the_wall_clock_changes_no_other_clock() {
        let clock = Clock::simulated(Time::EPOCH + 3600 * SECOND);
        let other = clock.of_another_machine();
        let started = other.instant();
        for (ahead_ms, shown) in [(60_000, 3661), (-60_000, 3542), (0, 3603)] {
            clock.sleep(SECOND).await;
            other.set_wall(ahead_ms);
            assert_eq!(other.now(), Time::EPOCH + shown * SECOND);
        }
        assert_eq!(other.instant() - started, 3 * SECOND);
        assert_eq!((other.boottime(), clock.now()), (3 * SECOND, other.now()));
        other.suspend(SECOND);
        assert_eq!((other.boottime(), clock.boottime()), (4 * SECOND, 3 * SECOND));
    }

    #[tokio::test(start_paused = true)]
    async fn waits_stand_still_while_a_machine_sleeps() {
        let site = Clock::simulated(Time::EPOCH);
        let clock = site.of_another_machine();
        let (other, started) = (clock.clone(), clock.instant());
        let sleeper = async {
            site.sleep(2 * SECOND).await;
            other.slept(SECOND);
        };
        let sleep = async {
            clock.sleep(3 * SECOND).await;
            assert_eq!(site.boottime(), 4 * SECOND);
        };
        let until = async {
            clock.sleep_until(started + 3 * SECOND).await;
            assert_eq!(site.boottime(), 4 * SECOND);
        };
        let limit = clock.timeout(3 * SECOND, site.sleep(7 * SECOND / 2));
        let (.., limit) = tokio::join!(sleeper, sleep, until, limit);
        assert_eq!(limit, Ok(()));
        assert_eq!((clock.boottime(), clock.now()), (site.boottime(), site.now()));
        assert_eq!((clock.instant() - started, site.boottime()), (3 * SECOND, 4 * SECOND));
        assert_eq!(clock.timeout(SECOND, std::future::pending::<()>()).await, Err(Elapsed));
        assert_eq!(site.boottime(), 5 * SECOND);
    }

    /// A timer that fired while the machine slept does not count.
    #[tokio::test(start_paused = true)]
    async fn a_process_that_slept_waits_for_what_was_left() {
        let site = Clock::simulated(Time::EPOCH);
        let (clock, process) = (site.of_another_machine(), crate::Process::new());
        let inside = clock.clone();
        let wait = process.run(async move {
            inside.sleep(5 * SECOND).await;
            let timed_out = inside.timeout(2 * SECOND, std::future::pending::<()>()).await;
            assert_eq!(timed_out, Err(Elapsed));
        });
        let sleeper = async {
            for seconds in [3, 3] {
                site.sleep(seconds * SECOND).await;
                process.stop();
                site.sleep(40 * SECOND).await;
                clock.slept(40 * SECOND);
                process.go_on();
            }
        };
        tokio::join!(wait, sleeper);
        assert_eq!(site.boottime(), 87 * SECOND);
    }

    #[tokio::test(start_paused = true)]
    async fn a_faster_clock_waits_shorter() {
        let tokio = Instant::now();
        let clock = Clock::faster(Time::EPOCH, NonZeroU32::new(60).unwrap());
        let started = clock.instant();
        clock.sleep(60 * SECOND).await;
        assert_eq!(tokio.elapsed().as_secs(), 1);
        assert_eq!(clock.now().since(Time::EPOCH).as_secs(), 60);
        clock.sleep_until(started + 120 * SECOND).await;
        assert_eq!(tokio.elapsed().as_secs(), 2);
        assert_eq!(clock.timeout(60 * SECOND, std::future::pending::<()>()).await, Err(Elapsed));
        assert_eq!(tokio.elapsed().as_secs(), 3);
        assert_eq!((clock.instant() - started).as_secs(), 180);
    }

    /// Waits that have begun follow the new speed, and none ends while the clock stands still.
    #[tokio::test(start_paused = true)]
    async fn the_speed_of_a_clock_can_be_changed() {
        let clock = Clock::faster(Time::EPOCH, NonZeroU32::MIN);
        let (tokio, started) = (Instant::now(), clock.instant());
        let waits = async {
            let never = std::future::pending::<()>();
            let ((), timed_out) =
                tokio::join!(clock.sleep(60 * SECOND), clock.timeout(60 * SECOND, never));
            assert_eq!(timed_out, Err(Elapsed));
            tokio.elapsed().as_secs()
        };
        let changes = async {
            tokio::time::sleep(10 * SECOND).await;
            clock.set_speed(0);
            tokio::time::sleep(100 * SECOND).await;
            assert_eq!((clock.instant() - started, clock.speed()), (10 * SECOND, 0));
            assert_eq!(clock.now(), Time::EPOCH + 10 * SECOND);
            clock.set_speed(25);
        };
        let (took, ()) = tokio::join!(waits, changes);
        assert_eq!(took, 10 + 100 + 2);
        assert_eq!((clock.instant() - started).as_secs(), 60);
        let simulated = Clock::simulated(Time::EPOCH);
        simulated.set_speed(25);
        assert_eq!(simulated.speed(), 1);
    }

    /// As [`Clock::instant`].
    #[tokio::test(start_paused = true)]
    async fn setting_the_wall_clock_does_not_change_the_uptime() {
        let clock = Clock::simulated(Time::EPOCH);
        clock.sleep(SECOND).await;
        clock.set_wall(-60_000);
        clock.suspend(60 * SECOND);
        assert_eq!(clock.uptime(), SECOND);
        let before = Clock::system().uptime();
        assert!(Clock::system().uptime() >= before);
    }

    #[test]
    fn the_boottime_of_the_system_advances() {
        let clock = Clock::system();
        let before = clock.boottime();
        assert!(before > Duration::ZERO);
        assert!(clock.boottime() >= before);
        clock.suspend(1000 * SECOND);
        assert!(clock.boottime() < before + 1000 * SECOND);
    }
}
