//! The CPU profile: a timer interrupts the thread that uses the CPU, and the handler records its
//! stack.

use std::time::Duration;

use pprof::{ProfilerGuardBuilder, UnresolvedReport};
use runtime::Runtime;
use tokio::sync::{Semaphore, oneshot};
use tokio::task::spawn_blocking;

use crate::stacks::{SampleType, Stacks};
use crate::{Error, SECONDS_MAX, scratch};

/// Samples per second of CPU time, over all threads, as Go's. With [`SECONDS_MAX`] this limits
/// their number; Linux also takes at most one per tick of its clock.
const FREQUENCY_HZ: i32 = 100;
const PERIOD: Duration = Duration::from_millis(10);
const CPU: SampleType = ("cpu", "nanoseconds");

/// One profile at a time: there is one timer per process.
static SLOT: Semaphore = Semaphore::const_new(1);

/// Records where the process spends CPU time for `seconds`, 1 to [`SECONDS_MAX`], or until it shuts
/// down: a gzipped profile of pprof. Recording also ends when the future is dropped.
pub async fn cpu(seconds: u64, runtime: &Runtime) -> Result<Vec<u8>, Error> {
    if !(1..=SECONDS_MAX).contains(&seconds) {
        return Err(Error::Seconds(seconds));
    }
    record(async {
        tokio::select! {
            biased;
            () = runtime.cancel.cancelled() => {}
            () = runtime.clock.sleep(Duration::from_secs(seconds)) => {}
        }
    })
    .await
}

/// Records until `end` is ready.
pub(crate) async fn record(end: impl Future<Output = ()>) -> Result<Vec<u8>, Error> {
    let slot = SLOT.try_acquire().map_err(|_| Error::InUse)?;
    let (start, started) = oneshot::channel();
    let (stop, stopped) = oneshot::channel();
    // On a thread of its own, since starting and ending take milliseconds each, and so that
    // dropping the caller ends it by dropping `stop`.
    let recording = spawn_blocking(move || {
        let report = sample(start, stopped);
        drop(slot);
        report.map(|report| encode(&report))
    });
    if started.await.is_ok() {
        end.await;
    }
    stop.send(()).ok();
    recording.await.map_err(|error| Error::Collect(error.to_string()))?
}

/// Waits until no recording is in progress.
#[cfg(test)]
pub(crate) async fn ended() {
    drop(SLOT.acquire().await);
}

/// Samples from now, after notifying `start`, to the message on `stopped`.
fn sample(
    start: oneshot::Sender<()>,
    stopped: oneshot::Receiver<()>,
) -> Result<UnresolvedReport, Error> {
    scratch::prepare();
    let failed = |error: pprof::Error| Error::Cpu(error.to_string());
    let sampler = ProfilerGuardBuilder::default().frequency(FREQUENCY_HZ).build();
    let sampler = sampler.map_err(failed)?;
    start.send(()).ok();
    stopped.blocking_recv().map_err(|_| Error::Cpu("nobody waits for the profile".to_owned()))?;
    sampler.report().build_unresolved().map_err(failed)
}

#[expect(clippy::cast_precision_loss, reason = "counts of samples are far below 2^52")]
fn encode(report: &UnresolvedReport) -> Vec<u8> {
    let mut stacks = Stacks::default();
    report.data.iter().for_each(|(stack, count)| {
        // The innermost address is the interrupted instruction, not a return address. The profile
        // treats all as return addresses, which point behind the call.
        let innermost = stack.frames.first().map(|frame| frame.ip + 1);
        let callers = stack.frames.iter().skip(1).map(|frame| frame.ip);
        let mut addresses: Vec<usize> = innermost.into_iter().chain(callers).collect();
        addresses.reverse();
        stacks.add(addresses, *count as f64 * PERIOD.as_nanos() as f64);
    });
    stacks.encode(CPU, CPU)
}
