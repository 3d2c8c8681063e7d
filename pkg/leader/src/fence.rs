//! How long the leader may write.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use client::Guard;
use mutant::Mutant;
use runtime::Clock;

/// No lease is valid yet.
const CLOSED: u64 = 0;
/// No lease will ever be valid again.
const SEALED: u64 = 1;
/// There is no election, so the fence never closes.
const OPEN: u64 = u64::MAX;

/// Checks before each write whether the lease is certainly still ours. Cheap to clone; clones are
/// the same fence.
///
/// It closes at the renew deadline, counted from the moment *before* the last successful renewal
/// was sent. The lease lasts longer. The difference leaves time for a request on its way, and for
/// upstream's contenders, which distinguish renewals by the second and so may count from one that
/// is up to a second older. The clock runs while the machine is suspended ([`Clock::boottime`]), so
/// a process that was stopped or suspended writes nothing when it resumes.
#[derive(Clone, Debug)]
pub struct Fence {
    clock: Clock,
    /// When it closes, in nanoseconds of [`Clock::boottime`].
    until_ns: Arc<AtomicU64>,
}

/// Why writing is not allowed.
#[derive(Clone, Copy, Debug, thiserror::Error, PartialEq, Eq)]
pub enum Fenced {
    /// We do not lead: not yet, or no longer.
    #[error("not sent: this process is not the leader")]
    NotLeading,
    /// The renew deadline passed this long ago.
    #[error("not sent: the time to renew the leader election lease ended {0:?} ago")]
    Expired(Duration),
}

// === impl Fence ===

impl Fence {
    /// A fence that is always open, for a manager that runs without leader election.
    pub fn open() -> Self {
        Self { clock: Clock::system(), until_ns: Arc::new(AtomicU64::new(OPEN)) }
    }

    /// A fence that is closed until there is a lease.
    pub(crate) fn closed(clock: Clock) -> Self {
        Self { clock, until_ns: Arc::new(AtomicU64::new(CLOSED)) }
    }

    /// Whether a write is allowed at this moment.
    pub fn check(&self) -> Result<(), Fenced> {
        match self.until_ns.load(Ordering::SeqCst) {
            OPEN => Ok(()),
            _ if mutant::is(Mutant::NoFence) => Ok(()),
            CLOSED | SEALED => Err(Fenced::NotLeading),
            until_ns => {
                let (until, now) = (Duration::from_nanos(until_ns), self.clock.boottime());
                match now.checked_sub(until) {
                    Some(over) => Err(Fenced::Expired(over)),
                    None => Ok(()),
                }
            }
        }
    }

    /// This fence as the check of a client before each write: `client.guarded(fence.guard())`.
    pub fn guard(&self) -> Guard {
        let fence = self.clone();
        Arc::new(move || fence.check().map_err(|fenced| fenced.to_string()))
    }

    /// Allows writes until this moment of [`Clock::boottime`], unless sealed.
    pub(crate) fn extend(&self, until: Duration) {
        let nanos = u64::try_from(until.as_nanos()).unwrap_or(OPEN).clamp(SEALED + 1, OPEN - 1);
        let unsealed = |old| (old != SEALED).then_some(nanos);
        // An error says that it is sealed, and it stays sealed.
        let _ = self.until_ns.fetch_update(Ordering::SeqCst, Ordering::SeqCst, unsealed);
    }

    /// Forbids all writes from now on.
    pub(crate) fn seal(&self) {
        self.until_ns.store(SEALED, Ordering::SeqCst);
    }
}
