//! Processes of a simulation: groups of tasks that stop, continue and end together.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use futures::future::poll_fn;

thread_local! {
    /// The process of the task that runs on this thread; none outside of a simulation.
    static CURRENT: RefCell<Option<Process>> = const { RefCell::new(None) };
}

/// A process on a simulated machine. All code that runs in it, and every task that is spawned from
/// there, stops, continues and ends with it, between two polls, as with SIGSTOP, SIGCONT and
/// SIGKILL. Its timers run while it is stopped, and fire when it continues. Clones are the same
/// process.
#[derive(Clone, Debug, Default)]
pub struct Process(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    is_stopped: bool,
    is_killed: bool,
    /// The tasks to poll once it continues, in that order.
    waiting: Vec<Waker>,
    /// The number of tasks it ever had.
    spawned: u64,
    /// Its tasks, to be woken at its end.
    tasks: BTreeMap<u64, Waker>,
}

/// A future that runs in a process.
struct Contained<F> {
    process: Process,
    /// Its number among the tasks of the process.
    number: u64,
    /// None: it has ended.
    future: Option<Pin<Box<F>>>,
}

impl Process {
    /// A running process.
    pub fn new() -> Self {
        Self::default()
    }

    /// The present process, in a simulation.
    pub(crate) fn current() -> Option<Self> {
        CURRENT.with_borrow(Clone::clone)
    }

    /// Runs a future in this process. None: the process was killed before the future was ready.
    pub fn run<F: Future>(&self, future: F) -> impl Future<Output = Option<F::Output>> + use<F> {
        let mut state = self.state();
        state.spawned += 1;
        let (process, number) = (self.clone(), state.spawned);
        Contained { process, number, future: Some(Box::pin(future)) }
    }

    /// Stops all its tasks until [`Process::go_on`].
    pub fn stop(&self) {
        self.state().is_stopped = true;
    }

    /// Continues all its tasks.
    pub fn go_on(&self) {
        let mut state = self.state();
        state.is_stopped = false;
        let waiting = std::mem::take(&mut state.waiting);
        drop(state);
        waiting.into_iter().for_each(Waker::wake);
    }

    /// Ends all its tasks where they are, also if it is stopped.
    pub fn kill(&self) {
        let mut state = self.state();
        state.is_killed = true;
        let tasks = std::mem::take(&mut state.tasks);
        let waiting = std::mem::take(&mut state.waiting);
        drop(state);
        tasks.into_values().chain(waiting).for_each(Waker::wake);
    }

    /// Waits while it is stopped. For code outside of the process that responds to it: a future
    /// that one of its own tasks awaits resolves no sooner than the task runs.
    pub async fn running(&self) {
        poll_fn(|cx| self.poll_running(cx)).await;
    }

    fn poll_running(&self, cx: &mut Context<'_>) -> Poll<()> {
        let mut state = self.state();
        if state.is_stopped && !state.is_killed {
            state.waiting.push(cx.waker().clone());
            return Poll::Pending;
        }
        Poll::Ready(())
    }

    /// Whether it has ended; the task with this number is woken when it does.
    fn is_over(&self, task: u64, cx: &Context<'_>) -> bool {
        let mut state = self.state();
        if !state.is_killed {
            state.tasks.insert(task, cx.waker().clone());
        }
        state.is_killed
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Runs code outside of any process, so that tasks that it spawns outlive the present process.
pub fn outside<T>(act: impl FnOnce() -> T) -> T {
    within(None, act)
}

fn within<T>(process: Option<Process>, act: impl FnOnce() -> T) -> T {
    let _back = Back(CURRENT.replace(process));
    act()
}

/// Restores the current process, also after a panic.
struct Back(Option<Process>);

impl Drop for Back {
    fn drop(&mut self) {
        CURRENT.set(self.0.take());
    }
}

// === impl Contained ===

impl<F: Future> Future for Contained<F> {
    type Output = Option<F::Output>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let process = self.process.clone();
        if process.is_over(self.number, cx) {
            within(Some(process), || self.future = None);
            return Poll::Ready(None);
        }
        if process.poll_running(cx).is_pending() {
            return Poll::Pending;
        }
        let Some(future) = &mut self.future else { return Poll::Ready(None) };
        let done = within(Some(process), || future.as_mut().poll(cx));
        done.map(|output| {
            self.future = None;
            Some(output)
        })
    }
}

impl<F> Drop for Contained<F> {
    fn drop(&mut self) {
        self.process.state().tasks.remove(&self.number);
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use api::Time;

    use super::*;
    use crate::{Cancel, Clock, Latest, spawn};

    const SECOND: Duration = Duration::from_secs(1);

    /// A process with a task that was spawned in it and counts the seconds.
    fn counting(clock: &Clock) -> (Process, Latest<u64>) {
        let (process, count) = (Process::new(), Latest::new(0));
        let (clock, counted) = (clock.clone(), count.clone());
        let task = async move {
            for second in 1.. {
                clock.sleep(SECOND).await;
                counted.set(second);
            }
        };
        let init = process.run(async move {
            spawn("count", task);
        });
        spawn("init", async { assert_eq!(init.await, Some(())) });
        (process, count)
    }

    #[tokio::test(start_paused = true)]
    async fn a_process_stops_and_continues_with_its_tasks() {
        let clock = Clock::simulated(Time::EPOCH);
        let (process, count) = counting(&clock);
        clock.sleep(3 * SECOND + SECOND / 2).await;
        assert_eq!(count.get(), 3);
        process.stop();
        clock.sleep(10 * SECOND).await;
        assert_eq!(count.get(), 3);
        // The timer that fired meanwhile counts now, the next one a second later.
        process.go_on();
        clock.sleep(SECOND / 2).await;
        assert_eq!(count.get(), 4);
        clock.sleep(SECOND).await;
        assert_eq!(count.get(), 5);
    }

    #[tokio::test(start_paused = true)]
    async fn a_killed_process_has_no_tasks() {
        let clock = Clock::simulated(Time::EPOCH);
        for stopped in [false, true] {
            let (process, count) = counting(&clock);
            clock.sleep(SECOND + SECOND / 2).await;
            if stopped {
                process.stop();
            }
            assert_eq!(process.state().tasks.len(), 1);
            process.kill();
            clock.sleep(10 * SECOND).await;
            assert_eq!((count.get(), count.is_shared()), (1, false));
            assert!(process.state().tasks.is_empty());
            assert_eq!(process.run(async { 1 }).await, None);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_outside_outlives_it() {
        let clock = Clock::simulated(Time::EPOCH);
        let (process, done) = (Process::new(), Cancel::new());
        let (itself, told) = (process.clone(), done.clone());
        let waker = async move {
            clock.sleep(SECOND).await;
            itself.go_on();
            told.cancel();
        };
        let stopped = process.clone();
        let all = process.run(async move {
            outside(|| spawn("waker", waker));
            stopped.stop();
            stopped.running().await;
            "goes on"
        });
        assert_eq!(all.await, Some("goes on"));
        assert!(done.is_cancelled());
    }

    #[tokio::test(start_paused = true)]
    async fn a_panic_does_not_leave_its_process_behind() {
        let process = Process::new();
        let all = process.run(crate::fenced_async(async { panic!("no") }));
        assert!(all.await.is_some_and(|it: Result<(), _>| it.is_err()));
        assert!(Process::current().is_none());
        let direct = crate::fenced(|| within(Some(process), || panic!("no")));
        assert!(direct.is_err_and(|it: crate::Fenced| it.0 == "no"));
        assert!(Process::current().is_none());
    }
}
