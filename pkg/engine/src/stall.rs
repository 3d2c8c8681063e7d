//! Detects that a controller's loop has stopped: by proof, never because something is slow.

use std::fmt;
use std::time::Duration;

use api::Key;
use runtime::Instant;
use workqueue::Backlog;

/// How long a worker may sync a key without a sign of life from its requests. One try of a request
/// ends after little more than two minutes, a server can ask for a delay of one minute, and both
/// are signs of life: a sync that is silent for this long hangs, or computes without end.
pub(crate) const SILENT_MAX: Duration = Duration::from_mins(10);
/// How long a key may be ready while a worker is free. Taking one costs microseconds; a minute is
/// longer than every pause of a merely overloaded machine.
pub(crate) const UNTAKEN_MAX: Duration = Duration::from_mins(1);
/// How long the same proof must hold. The process may have been stopped as a whole, and the
/// observer may run before the workers do; workers resume within moments.
pub(crate) const CONFIRM: Duration = Duration::from_secs(1);

/// The state of a loop that should run.
pub(crate) struct Loop {
    /// How many workers there should be.
    pub(crate) workers: usize,
    /// How many there are.
    pub(crate) alive: usize,
    /// The key being synced whose last sign of life is the oldest, and its time.
    pub(crate) quietest: Option<(Key, Instant)>,
    /// The queue.
    pub(crate) backlog: Backlog,
}

/// Why a loop stalls. Two equal values prove that nothing happened in between.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Proof {
    /// No worker is left.
    Deserted,
    /// A sync has given no sign of life since then.
    Silent { key: Key, since: Instant },
    /// Keys are ready, a worker is free, and no key was taken since then.
    Untaken { since: Instant },
}

/// A proof that is not confirmed yet.
#[derive(Debug, Default)]
pub(crate) struct Suspicion(Option<(Proof, Instant)>);

// === impl Loop ===

impl Loop {
    pub(crate) fn proof(&self, now: Instant) -> Option<Proof> {
        // Upstream's flags allow zero workers.
        if self.workers == 0 {
            return None;
        }
        if self.alive == 0 {
            return Some(Proof::Deserted);
        }
        if let Some((key, since)) = &self.quietest
            && now.saturating_duration_since(*since) > SILENT_MAX
        {
            return Some(Proof::Silent { key: key.clone(), since: *since });
        }
        let since = self.backlog.untaken_since?;
        let waited = now.saturating_duration_since(since) > UNTAKEN_MAX;
        (waited && self.backlog.working < self.workers).then_some(Proof::Untaken { since })
    }
}

// === impl Suspicion ===

impl Suspicion {
    /// Takes the present observation. Returns it if it was the same before, long enough ago.
    pub(crate) fn confirm(&mut self, proof: Option<Proof>, now: Instant) -> Option<Proof> {
        let Some(proof) = proof else {
            self.0 = None;
            return None;
        };
        match &self.0 {
            Some((known, at)) if *known == proof => {
                (now.saturating_duration_since(*at) >= CONFIRM).then_some(proof)
            }
            Some(_) | None => {
                self.0 = Some((proof, now));
                None
            }
        }
    }
}

// === impl Proof ===

impl Proof {
    /// As text.
    pub(crate) fn words(&self, workers: usize, now: Instant) -> impl fmt::Display {
        let seconds = |since: &Instant| now.saturating_duration_since(*since).as_secs();
        match self {
            Self::Deserted => {
                format!(
                    "none of {workers} workers is left, although the controller was not stopped"
                )
            }
            Self::Silent { key, since } => {
                format!("{key} is in work, and nothing was heard of it for {} s", seconds(since))
            }
            Self::Untaken { since } => {
                format!(
                    "keys are ready and workers are free, but none was taken for {} s",
                    seconds(since)
                )
            }
        }
    }
}
