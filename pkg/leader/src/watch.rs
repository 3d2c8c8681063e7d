//! The watch on one Lease, so that a standby learns of a change at once.

use std::time::Duration;

use api::Key;
use cache::frames::{EventKind, WatchDecoder, error_of};
use client::{ApiError, Client};
use runtime::Runtime;
use tokio::sync::mpsc;

use crate::lease::{LEASES, Lease};

/// How long the API server is asked to keep a watch open.
const WATCH_SECONDS: u32 = 300;
/// A watch that says nothing for longer than it should live is dead.
const SILENCE_MAX: Duration = Duration::from_secs(WATCH_SECONDS as u64 + 10);
/// Changes that wait to be looked at; more wait in the connection.
const WAITING_MAX: usize = 16;

/// A change of the Lease.
#[derive(Debug)]
pub(crate) enum Seen {
    /// It is this now.
    Changed(Lease),
    /// It was deleted, at this version.
    Deleted(u64),
}

/// Watches the Lease of this name until nobody listens. After a failure it tries again a jittered
/// `retry` later. Changes may be missed, doubled or late: reading the Lease now and then remains
/// the listener's duty.
pub(crate) fn start(
    client: Client,
    key: &Key,
    retry: Duration,
    runtime: &Runtime,
) -> mpsc::Receiver<Seen> {
    let (sender, receiver) = mpsc::channel(WAITING_MAX);
    let path = format!(
        "{}?fieldSelector=metadata.name%3D{}&timeoutSeconds={WATCH_SECONDS}&watch=true",
        LEASES.collection_path(&key.namespace),
        client::percent_encoded(&key.name)
    );
    let runtime = runtime.clone();
    runtime::spawn("leader-watch", async move {
        let watching = async {
            loop {
                if let Err(error) = watch_once(&client, &path, &sender).await {
                    tracing::debug!(path, %error, "cannot watch the leader election lease");
                }
                runtime.clock.sleep(runtime.random.jitter(retry, 1.0)).await;
            }
        };
        tokio::select! {
            biased;
            () = sender.closed() => {}
            () = watching => {}
        }
    });
    receiver
}

/// Passes on changes until the watch ends.
async fn watch_once(
    client: &Client,
    path: &str,
    sender: &mpsc::Sender<Seen>,
) -> Result<(), ApiError> {
    let mut answer = client.stream(path, "application/json", SILENCE_MAX).await?;
    let mut decoder = WatchDecoder::new(answer.codec);
    while let Some(chunk) = answer.chunk(SILENCE_MAX).await? {
        decoder.feed(&chunk);
        loop {
            let event = decoder.pop().map_err(|error| ApiError::Decode(error.to_string()))?;
            let Some(event) = event else { break };
            let lease = || Lease::parse(event.object).map_err(|error| ApiError::Decode(error.0));
            let seen = match event.kind {
                EventKind::Added | EventKind::Modified => Seen::Changed(lease()?),
                EventKind::Deleted => Seen::Deleted(lease()?.version),
                EventKind::Bookmark => continue,
                EventKind::Error => return Err(error_of(answer.codec, event.object)),
            };
            if sender.send(seen).await.is_err() {
                return Ok(());
            }
        }
    }
    Ok(())
}
