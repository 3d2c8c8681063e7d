//! The durations of an election.

use std::time::Duration;

/// Delays between two tries to acquire are up to this factor longer than the retry period:
/// upstream's `JitterFactor`.
pub(crate) const JITTER_FACTOR: f64 = 1.2;
/// The shortest timeout of a request.
const REQUEST_LIMIT_MIN: Duration = Duration::from_secs(1);
/// See [`Timing::undelivered_max`].
const UNDELIVERED_MIN: Duration = Duration::from_secs(1);

/// The duration of a lease, and how often to try for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timing {
    /// How long other contenders leave a lease alone after its last change. Only whole seconds
    /// count, since a Lease holds no fractions. Upstream's default: 15 s.
    pub lease_duration: Duration,
    /// How long the leader tries to renew, counted from its last renewal, before it gives up.
    /// Upstream's default: 10 s.
    pub renew_deadline: Duration,
    /// The delay between two tries. Upstream's default: 2 s.
    pub retry_period: Duration,
}

/// Durations that do not fit together: a sentence for each broken rule.
#[derive(Clone, Debug, thiserror::Error, PartialEq, Eq)]
#[error("{}", .0.join("; "))]
pub struct InvalidTiming(pub Vec<&'static str>);

// === impl Timing ===

impl Default for Timing {
    fn default() -> Self {
        let [lease_duration, renew_deadline, retry_period] = [15, 10, 2].map(Duration::from_secs);
        Self { lease_duration, renew_deadline, retry_period }
    }
}

impl Timing {
    /// Checks the durations, and names the flags, as client-go's `NewLeaderElector` and
    /// component-base's `ValidateLeaderElectionConfiguration`. One rule is ours: a lease of less
    /// than a second is refused here, since the API server would refuse it.
    pub fn validate(&self) -> Result<(), InvalidTiming> {
        let Self { lease_duration, renew_deadline, retry_period } = *self;
        let rules = [
            (
                lease_duration >= Duration::from_secs(1),
                "--leader-elect-lease-duration must be at least one second",
            ),
            (!renew_deadline.is_zero(), "--leader-elect-renew-deadline must be greater than zero"),
            (!retry_period.is_zero(), "--leader-elect-retry-period must be greater than zero"),
            (
                lease_duration > renew_deadline,
                "--leader-elect-lease-duration must be greater than --leader-elect-renew-deadline",
            ),
            (
                renew_deadline.as_secs_f64() > JITTER_FACTOR * retry_period.as_secs_f64(),
                "--leader-elect-renew-deadline must be greater than 1.2 times \
                 --leader-elect-retry-period",
            ),
        ];
        let broken: Vec<_> =
            rules.iter().filter(|(holds, _)| !holds).map(|(_, rule)| *rule).collect();
        if broken.is_empty() { Ok(()) } else { Err(InvalidTiming(broken)) }
    }

    /// How long a lease that we write lasts, counted from the moment before the write.
    pub(crate) fn validity(&self) -> Duration {
        Duration::from_secs(self.lease_duration.as_secs())
    }

    /// How long after its last renewal a leader gives up.
    pub(crate) fn deadline(&self) -> Duration {
        self.renew_deadline.min(self.validity())
    }

    /// How long the kernel may try to deliver a write that was allowed at the last moment: half of
    /// the time between the end of our leadership and the end of the lease. The other half is for
    /// the kernel's first try, which it does not count, and for contenders that count in whole
    /// seconds. With less than a second the connection would not survive a lost packet.
    pub fn undelivered_max(&self) -> Duration {
        (self.validity().saturating_sub(self.deadline()) / 2).max(UNDELIVERED_MIN)
    }

    /// The timeout of a request, as upstream's client for leader election.
    pub(crate) fn request_limit(&self) -> Duration {
        (self.renew_deadline / 2).max(REQUEST_LIMIT_MIN)
    }
}
