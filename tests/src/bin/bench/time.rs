//! Real time, since real processes keep no other.

use anyhow::{Context, anyhow};
use cluster_tests::now;
use k8s_openapi::jiff::Timestamp;
use std::time::Duration;
use tokio::time::{Instant, timeout_at};

/// When something started, by both clocks: that of the logs, and the one that only counts.
pub(crate) struct Clock {
    pub(crate) started: Timestamp,
    counting: Instant,
}

// === impl Clock ===

impl Clock {
    /// Starts now.
    pub(crate) fn start() -> Self {
        Self { started: timestamp(), counting: now() }
    }

    /// How long ago that was.
    pub(crate) fn elapsed(&self) -> Duration {
        now() - self.counting
    }
}

/// Cuts off what takes too long, with an error that says so.
pub(crate) async fn within<T>(
    what: &str,
    limit: Duration,
    work: impl Future<Output = anyhow::Result<T>>,
) -> anyhow::Result<T> {
    let deadline = now() + limit;
    let done = timeout_at(deadline, work).await;
    done.map_err(|_| anyhow!("waited {limit:?} for the scenario {what}"))?
        .with_context(|| format!("waiting for the scenario {what}"))
}

#[expect(clippy::disallowed_methods, reason = "real processes keep real time")]
pub(crate) fn timestamp() -> Timestamp {
    Timestamp::now()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn what_hangs_is_cut_off() {
        let hangs = within::<()>("to end", Duration::from_secs(1), std::future::pending());
        let error = hangs.await.unwrap_err().to_string();
        assert_eq!(error, "waited 1s for the scenario to end");
    }
}
