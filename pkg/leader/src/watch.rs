//! The watch on one Lease or LeaseCandidate, so that a change is seen at once.

use std::time::Duration;

use api::{Key, Resource};
use cache::frames::{EventKind, WatchDecoder, error_of};
use client::{ApiError, Client};
use runtime::Runtime;
use tokio::sync::mpsc;

use crate::lease::Lease;

/// The timeout of a watch.
const WATCH_SECONDS: u32 = 300;
/// A watch that is silent for longer than its timeout has a broken connection.
const SILENCE_MAX: Duration = Duration::from_secs(WATCH_SECONDS as u64 + 10);
/// The number of changes in the channel; further ones wait in the connection.
const WAITING_MAX: usize = 16;

/// A change of the object.
#[derive(Debug)]
pub(crate) enum Seen {
    /// It changed to this.
    Changed(Lease),
    /// It was deleted, at this version.
    Deleted(u64),
}

/// Watches the object of this name until the receiver is dropped. After a failure it retries after
/// `retry` with jitter. Changes may be missed, repeated or delayed: the receiver must still read
/// the object from time to time.
pub(crate) fn start(
    client: Client,
    resource: &Resource,
    key: &Key,
    retry: Duration,
    runtime: &Runtime,
) -> mpsc::Receiver<Seen> {
    let (sender, receiver) = mpsc::channel(WAITING_MAX);
    let path = format!(
        "{}?fieldSelector=metadata.name%3D{}&timeoutSeconds={WATCH_SECONDS}&watch=true",
        resource.collection_path(&key.namespace),
        client::percent_encoded(&key.name)
    );
    let runtime = runtime.clone();
    runtime::spawn("leader-watch", async move {
        let watching = async {
            loop {
                // A watch that the API server has ended in its time is opened again at once.
                let began = runtime.clock.instant();
                let watched = watch_once(&client, &path, &sender).await;
                if let Err(error) = &watched {
                    tracing::debug!(path, %error, "cannot watch for leader election");
                }
                if watched.is_err() || runtime.clock.instant() - began < retry {
                    runtime.clock.sleep(runtime.random.jitter(retry, 1.0)).await;
                }
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
