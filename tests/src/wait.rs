//! Waiting for what real processes do in their own time.

use anyhow::anyhow;
use std::time::Duration;
use tokio::time::{Instant, timeout_at};

/// Short beside the time a real component takes for anything, long beside one request.
const POLL: Duration = Duration::from_millis(50);

/// Probes until there is a value and returns it.
///
/// An error of a probe is not final, since a server may be restarting: the last one is the cause
/// of the error that names `what` once `limit` has passed. A probe that is at work then is dropped.
pub async fn wait_until<T>(
    what: &str,
    limit: Duration,
    mut probe: impl AsyncFnMut() -> anyhow::Result<Option<T>>,
) -> anyhow::Result<T> {
    let deadline = now() + limit;
    let mut last = None;
    loop {
        match timeout_at(deadline, probe()).await {
            Ok(Ok(Some(found))) => return Ok(found),
            Ok(Ok(None)) => last = None,
            Ok(Err(error)) => last = Some(error),
            Err(_elapsed) => {}
        }
        if now() >= deadline {
            let message = format!("waited {limit:?} for {what}");
            return Err(match last {
                Some(error) => error.context(message),
                None => anyhow!(message),
            });
        }
        pause().await;
    }
}

/// The present moment.
#[expect(clippy::disallowed_methods, reason = "real processes keep real time")]
pub fn now() -> Instant {
    Instant::now()
}

async fn pause() {
    pass(POLL).await;
}

/// Lets time pass: for what is itself a time, such as how long something hangs, never to wait for
/// something.
#[expect(clippy::disallowed_methods, reason = "real processes keep real time")]
pub async fn pass(time: Duration) {
    tokio::time::sleep(time).await;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn answer_ends_the_wait() {
        let mut probes = 0;
        let found = wait_until("three", Duration::from_secs(1), async || {
            probes += 1;
            Ok((probes == 3).then_some(probes))
        });
        assert_eq!(found.await.unwrap(), 3);
    }

    #[tokio::test(start_paused = true)]
    async fn timeout_names_what_and_the_last_error() {
        let found = wait_until::<()>("a miracle", Duration::from_secs(1), async || {
            anyhow::bail!("connection refused")
        });
        let error = format!("{:#}", found.await.unwrap_err());
        assert_eq!(error, "waited 1s for a miracle: connection refused");
    }
    #[tokio::test(start_paused = true)]
    async fn hanging_probe_is_cut_short() {
        let probe = async || std::future::pending().await;
        let error =
            wait_until::<()>("a response", Duration::from_secs(1), probe).await.unwrap_err();
        assert_eq!(format!("{error:#}"), "waited 1s for a response");
    }
}
