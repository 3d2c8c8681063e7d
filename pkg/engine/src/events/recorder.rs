//! Sends events without ever blocking the code that records them.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use client::{ApiError, Client};
use controller::Event;
use runtime::{Cancel, Clock, Instant, Runtime};
use tokio::sync::mpsc;

use super::correlator::{Correlator, EventObject, Recorded};

/// The length of the queue; further events are dropped.
pub(super) const QUEUED_MAX: usize = 1000;
/// How often an event is sent before it is given up.
pub(super) const TRIES_MAX: u32 = 12;
/// The wait between two tries.
pub(super) const RETRY_DELAY: Duration = Duration::from_secs(10);
/// How long events are still sent after [`Recorder::finish`].
pub(super) const DRAIN_LIMIT: Duration = Duration::from_secs(1);
/// The shortest time between two log lines about dropped events.
pub(super) const DROP_LOG_INTERVAL: Duration = Duration::from_secs(10);

/// Takes the events of one component. Cheap to clone; clones share the queue. As upstream's
/// `EventRecorder` and `EventBroadcaster`: client-go, `tools/record/event.go`.
#[derive(Clone, Debug)]
pub struct Recorder(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    component: &'static str,
    queue: mpsc::Sender<Recorded>,
    clock: Clock,
    dropped: Mutex<Dropped>,
    /// Set once no more events are recorded.
    end: Cancel,
}

/// Events that were dropped since the last log line about them.
#[derive(Debug, Default)]
pub(super) struct Dropped {
    count: u64,
    logged: Option<Instant>,
}

/// The task that sends.
struct Sink {
    client: Client,
    correlator: Correlator,
    /// Its cancel is the recorder's end.
    runtime: Runtime,
}

// === impl Recorder ===

impl Recorder {
    /// Starts the task that sends the events of `component` with `client`. It ends when all clones
    /// are dropped, or with [`Recorder::finish`]. `runtime.cancel` does not end it: syncs in
    /// progress may still record events.
    pub fn start(client: Client, component: &'static str, runtime: &Runtime) -> Self {
        let (sender, queue) = mpsc::channel(QUEUED_MAX);
        let correlator = Correlator::new(component, runtime.random.clone());
        let end = Cancel::new();
        let runtime = Runtime { cancel: end.clone(), ..runtime.clone() };
        let clock = runtime.clock.clone();
        let sink = Sink { client, correlator, runtime };
        runtime::spawn("events", sink.run(queue));
        let dropped = Mutex::default();
        Self(Arc::new(Shared { component, queue: sender, clock, dropped, end }))
    }

    /// Records that `event` happens now. Never blocks: if 1000 events are queued, it is dropped and
    /// logged, at most every 10 s.
    pub fn record(&self, event: Event) {
        let Shared { component, queue, clock, dropped, .. } = &*self.0;
        let Event { about, r#type, reason, message } = &event;
        tracing::debug!(component, %about, ?r#type, %reason, message, "Event occurred");
        let Err(error) = queue.try_send(Recorded { event, at: clock.now() }) else {
            return;
        };
        let mut dropped = dropped.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = dropped.add(clock.instant()) {
            tracing::warn!(component, count, %error, "dropped events");
        }
    }

    /// Ends recording: tries the queued events once each, for at most a second.
    pub async fn finish(&self) {
        self.0.end.cancel();
        self.0.queue.closed().await;
    }
}

// === impl Dropped ===

impl Dropped {
    /// Counts one. Returns how many to log, if a log line is due.
    pub(super) fn add(&mut self, now: Instant) -> Option<u64> {
        self.count += 1;
        if self.logged.is_some_and(|at| now.duration_since(at) < DROP_LOG_INTERVAL) {
            return None;
        }
        self.logged = Some(now);
        Some(std::mem::take(&mut self.count))
    }
}

// === impl Sink ===

impl Sink {
    async fn run(mut self, mut queue: mpsc::Receiver<Recorded>) {
        let Runtime { clock, cancel, .. } = self.runtime.clone();
        let overtime = async {
            cancel.cancelled().await;
            clock.sleep(DRAIN_LIMIT).await;
        };
        tokio::select! {
            biased;
            () = self.drain(&mut queue) => {}
            () = overtime => {
                tracing::warn!(queued = queue.len(), "shutting down, events are lost");
            }
        }
    }

    /// Sends the queued events, then waits for more unless the process shuts down.
    async fn drain(&mut self, queue: &mut mpsc::Receiver<Recorded>) {
        let cancel = self.runtime.cancel.clone();
        loop {
            let next = tokio::select! {
                biased;
                next = queue.recv() => next,
                () = cancel.cancelled() => None,
            };
            let Some(recorded) = next else { return };
            let now = self.runtime.clock.now();
            if let Some(event) = self.correlator.correlate(recorded, now) {
                self.send(&event).await;
            }
        }
    }

    /// Sends until the API server has responded; meanwhile other events wait, as upstream's
    /// `recordToSink`.
    async fn send(&self, event: &EventObject) {
        let Runtime { clock, random, cancel } = &self.runtime;
        let (key, about, reason) = (&event.key, &event.about, &event.reason);
        for tries in 1..=TRIES_MAX {
            let Err(error) = self.send_once(event).await else { return };
            if is_expected(&error) {
                tracing::debug!(%key, %about, %reason, %error, "Server rejected event");
                return;
            }
            if error.status().is_some() && !is_put_off(&error) {
                tracing::warn!(%key, %about, %reason, %error, "Server rejected event");
                return;
            }
            if tries == TRIES_MAX {
                tracing::warn!(%key, %about, %reason, %error, tries, "Unable to write event");
                return;
            }
            tracing::warn!(%key, %about, %reason, %error, "Unable to write event (may retry)");
            // A random first delay keeps many clients from retrying at the same time.
            let delay = if tries == 1 { RETRY_DELAY.mul_f64(random.unit()) } else { RETRY_DELAY };
            tokio::select! {
                biased;
                () = cancel.cancelled() => {
                    tracing::warn!(%key, %about, %reason, "Unable to write event (shutting down)");
                    return;
                }
                () = clock.sleep(delay) => {}
            }
        }
    }

    /// As upstream's `recordEvent`: an Event that was sent before may have expired since.
    async fn send_once(&self, event: &EventObject) -> Result<(), ApiError> {
        if event.is_known() {
            let (path, patch) = (event.path()?, event.patch());
            match self.client.patch(&path, patch).await {
                Err(error) if error.is_not_found() => {}
                done => return done.map(drop),
            }
        }
        self.client.create(&event.collection_path(), event.body()).await.map(drop)
    }
}

/// Whether the API server asks to retry later. An Event has a name, so a retry cannot create it
/// twice.
fn is_put_off(error: &ApiError) -> bool {
    error.status().is_some_and(|status| status.code >= 500 && status.retry_after.is_some())
}

/// Refusals that are logged at debug only.
fn is_expected(error: &ApiError) -> bool {
    let made_before = error.status().is_some_and(|status| status.reason == "AlreadyExists");
    made_before || error.is_namespace_terminating()
}
