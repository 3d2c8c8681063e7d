//! Memory and processor time of the manager over time, for the plot.

use crate::proc;
use cluster_tests::{now, pass};
use std::convert::Infallible;
use std::sync::{Mutex, MutexGuard};
use std::time::Duration;
use tokio::time::Instant;

/// Between two samples; reading one costs some twenty microseconds.
const PERIOD: Duration = Duration::from_millis(250);

/// What the process had at one time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Sample {
    /// Since the scenario began.
    pub(crate) at_s: f64,
    pub(crate) rss_kib: u64,
    /// Since the process began.
    pub(crate) cpu_s: f64,
    /// Another process than before: the processor time starts anew.
    pub(crate) pid: i32,
}

/// The samples of one scenario.
#[derive(Debug, Clone)]
pub(crate) struct Track {
    pub(crate) scenario: &'static str,
    pub(crate) samples: Vec<Sample>,
}

/// Takes samples, while a scenario runs.
#[derive(Debug, Default)]
pub(crate) struct Samples {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    pid: i32,
    since: Option<Instant>,
    tracks: Vec<Track>,
}

// === impl Samples ===

impl Samples {
    /// From now on of this process.
    pub(crate) fn follow(&self, pid: i32) {
        self.state().pid = pid;
    }

    /// A scenario begins.
    pub(crate) fn begin(&self, scenario: &'static str) {
        let mut state = self.state();
        state.since = Some(now());
        state.tracks.push(Track { scenario, samples: Vec::new() });
    }

    /// It is over.
    pub(crate) fn end(&self) {
        self.state().since = None;
    }

    /// All of them so far.
    pub(crate) fn tracks(&self) -> Vec<Track> {
        self.state().tracks.clone()
    }

    /// Takes one every [`PERIOD`], for ever.
    pub(crate) async fn take(&self) -> Infallible {
        loop {
            self.take_one();
            pass(PERIOD).await;
        }
    }

    fn take_one(&self) {
        let mut state = self.state();
        let (Some(since), pid) = (state.since, state.pid) else { return };
        // It may have ended, and the next one not begun.
        let (Ok(cpu), Ok(memory)) = (proc::cpu(pid), proc::memory(pid)) else { return };
        let at_s = (now() - since).as_secs_f64();
        let cpu_s = cpu.user_s + cpu.system_s;
        if let Some(track) = state.tracks.last_mut() {
            track.samples.push(Sample { at_s, rss_kib: memory.rss_kib, cpu_s, pid });
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("nothing panics while it holds this")
    }
}
