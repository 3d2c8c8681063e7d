//! What a pass looks at, and which requests are over.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use api::{CertificateSigningRequest, Time};
use controller::View;
use mutant::Mutant;

/// Upstream's `approvedExpiration` and `deniedExpiration`.
const SETTLED: Duration = Duration::from_hours(1);
/// Upstream's `pendingExpiration`.
const PENDING: Duration = Duration::from_hours(24);

/// All certificate requests at one moment.
#[derive(Clone, Debug)]
pub struct Snapshot {
    /// The moment.
    pub now: Time,
    /// The requests, by name.
    pub requests: Vec<Arc<CertificateSigningRequest>>,
}

/// Why a request is over, in upstream's order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Reason {
    /// It was approved and issued a while ago.
    Issued,
    /// It was denied a while ago.
    Denied,
    /// Its signer gave up a while ago.
    Failed,
    /// Nobody has looked at it for long.
    Pending,
    /// Its certificate is no longer valid.
    Expired,
    /// It was approved long ago, and never issued.
    Unissued,
}

pub(super) fn observe(view: &View<'_>) -> Snapshot {
    Snapshot { now: view.now, requests: view.of::<CertificateSigningRequest>().all() }
}

/// Why it is to be deleted; none: it stays. As `handle`.
pub(super) fn reason(request: &CertificateSigningRequest, now: Time) -> Option<Reason> {
    if request.unreadable.is_some() || request.meta.is_terminating() {
        return None;
    }
    let is_older = |at: Option<Time>, age: Duration| at.is_some_and(|at| now.since(at) > age);
    let has = |kind: &str, age: Duration| {
        let age = if mutant::is(Mutant::DecidedIsOver) { Duration::ZERO } else { age };
        let mut updates = request.condition_updates.iter();
        updates.any(|(known, at)| **known == *kind && is_older(*at, age))
    };
    let is_expired = || request.not_after().is_some_and(|end| now > end);
    let is_unhandled = request.condition_updates.is_empty();
    if request.issued && has("Approved", SETTLED) {
        Some(Reason::Issued)
    } else if has("Denied", SETTLED) {
        Some(Reason::Denied)
    } else if has("Failed", SETTLED) {
        Some(Reason::Failed)
    } else if is_unhandled && is_older(request.meta.creation_timestamp, PENDING) {
        Some(Reason::Pending)
    } else if request.issued && request.is_approved() && is_expired() {
        Some(Reason::Expired)
    } else if !request.issued && has("Approved", PENDING) {
        Some(Reason::Unissued)
    } else {
        None
    }
}

// === impl Snapshot ===

impl Snapshot {
    /// The requests that are over, and why.
    pub(super) fn over(&self) -> Vec<(&CertificateSigningRequest, Reason)> {
        let requests = self.requests.iter();
        requests.filter_map(|it| Some((&**it, reason(it, self.now)?))).collect()
    }

    pub(super) fn summary(&self) -> Vec<(&'static str, String)> {
        vec![("requests", self.requests.len().to_string()), ("over", self.over().len().to_string())]
    }
}

// === impl Reason ===

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Issued => "issued",
            Self::Denied => "denied",
            Self::Failed => "failed",
            Self::Pending => "pending",
            Self::Expired => "expired",
            Self::Unissued => "approved and not issued",
        })
    }
}
