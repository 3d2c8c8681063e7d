//! The rate limiters of queues that have others than most.

use std::time::Duration;

use api::Key;
use controllers::legacytokencleaner;
use workqueue::{ItemBackoff, Limiter, TokenBucket};

/// The rate limiter of Jobs, and of their orphans. As `NewController` in upstream's
/// pkg/controller/job.
pub(super) fn job_limiter() -> Limiter<Key> {
    let pause = ItemBackoff::new(Duration::from_secs(1), Duration::from_mins(1));
    Limiter::new(pause, TokenBucket::unlimited())
}

/// The rate limiter of the controllers of EndpointSlices, whose first retry comes after a second:
/// a sync can mean many writes. As `NewController` in upstream's pkg/controller/endpointslice and
/// endpointslicemirroring.
pub(super) fn slice_limiter(max_seconds: u64) -> Limiter<Key> {
    let pause = ItemBackoff::new(Duration::from_secs(1), Duration::from_secs(max_seconds));
    Limiter::new(pause, TokenBucket::new(10.0, 100))
}

/// The rate limiter of certificate controllers. As `NewCertificateController` in upstream's
/// pkg/controller/certificates.
pub(super) fn certificate_limiter() -> Limiter<Key> {
    let pause = ItemBackoff::new(Duration::from_millis(200), Duration::from_secs(1000));
    Limiter::new(pause, TokenBucket::new(10.0, 100))
}

/// The back-off of the legacy token cleaner after a failed pass.
pub(crate) fn token_cleaner_backoff() -> ItemBackoff<Key> {
    ItemBackoff::new(legacytokencleaner::RETRY_MIN, legacytokencleaner::RETRY_MAX)
}
