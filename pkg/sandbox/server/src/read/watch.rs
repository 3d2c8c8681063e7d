//! Changes as they come.
//!
//! A watch is a cursor into the history that all watches share, and a selection: nothing is queued
//! for it. A slow reader gets events later; one that is too slow gets a 410.

use std::time::Duration;

use bytes::Bytes;
use runtime::{Clock, Instant, Reader};
use serde_json::{Value, json};

use super::Selection;
use super::render::{Columns, Renderer, Shown};
use crate::request::{Call, Form, ListOptions};
use crate::server::{Server, Slot, State};
use crate::status::Status;
use crate::store::{Compacted, Event, Store};

/// After how many bytes a chunk is full: no event is cut.
const CHUNK_BYTES: usize = 1 << 16;
/// How long a watch lasts that says nothing, up to twice that (`--min-request-timeout`).
const TIMEOUT_MIN: Duration = Duration::from_mins(30);
/// No watch lasts longer.
const TIMEOUT_MAX: Duration = Duration::from_hours(10_000);
/// How often a client that wants bookmarks gets one, and how long before its watch ends.
const BOOKMARK_EVERY: Duration = Duration::from_mins(1);
const BOOKMARK_BEFORE_END: Duration = Duration::from_secs(2);

/// A watch that was opened: the body of a response, chunk by chunk.
pub struct Watch {
    server: Server,
    selection: Selection,
    form: Form,
    columns: Columns,
    /// All events up to this revision were sent.
    cursor: u64,
    phase: Phase,
    /// None: no bookmarks are wanted.
    bookmark_at: Option<Instant>,
    ends_at: Instant,
    pace: Pace,
    changed: Reader<u64>,
    _slot: Slot,
}

/// A watch that is about to be opened: what it takes from the state.
pub(crate) struct Opening {
    selection: Selection,
    form: Form,
    cursor: u64,
    phase: Phase,
    bookmarks: bool,
    timeout: Option<Duration>,
}

/// Where a watch is.
#[derive(Clone, Debug, PartialEq)]
enum Phase {
    /// The objects at the cursor are sent, from a path on; then a bookmark, perhaps.
    Initial { from: Option<String>, ends_with_bookmark: bool },
    /// Changes are sent.
    Following,
    /// The error is sent.
    Failed(Box<Status>),
    /// Nothing more is sent.
    Ended,
}

/// The clock by which a watch ends. A server whose clock runs faster does not end watches sooner of
/// clients that do not say when.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Pace {
    Server,
    Client,
}

/// What a watch does next.
enum Step {
    Tell(Bytes),
    Wait,
    End,
}

// === impl Opening ===

impl Opening {
    /// Where a watch begins. An error about its version is sent in the watch, as upstream's cache
    /// does it.
    pub(crate) fn of(state: &State, call: &Call, form: Form) -> Result<Self, Status> {
        let options = ListOptions::of(call)?;
        let asked = options.version()?;
        let selection = Selection::of(call, &options);
        let revision = state.store.revision();
        let sends = options.send_initial_events;
        let (cursor, phase) = if sends == Some(true) {
            let phase = if asked > revision {
                Phase::Failed(Box::new(Status::too_large_version(asked, revision)))
            } else {
                Phase::Initial { from: None, ends_with_bookmark: options.bookmarks }
            };
            (revision, phase)
        } else if asked == 0 {
            (revision, Phase::Following)
        } else {
            let missed = state.store.after(&selection.served.table, asked).err();
            let phase = missed.map_or(Phase::Following, |missed| too_old(asked, missed));
            (asked, phase)
        };
        let timeout = options.timeout_seconds.filter(|seconds| *seconds > 0);
        let timeout = timeout.map(|seconds| Duration::from_secs(seconds).min(TIMEOUT_MAX));
        Ok(Self { selection, form, cursor, phase, bookmarks: options.bookmarks, timeout })
    }

    /// Opens it. `changed` must have been made while the state was locked.
    pub(crate) fn open(self, server: &Server, changed: Reader<u64>, slot: Slot) -> Watch {
        let Self { selection, form, cursor, phase, bookmarks, timeout } = self;
        let runtime = &server.shared.runtime;
        let (pace, timeout) = match timeout {
            Some(timeout) => (Pace::Server, timeout),
            None => (Pace::Client, runtime.random.jitter(TIMEOUT_MIN, 1.0)),
        };
        let now = pace.clock(server).instant();
        let mut watch = Watch {
            server: server.clone(),
            selection,
            form,
            columns: Columns::Shown,
            cursor,
            phase,
            bookmark_at: None,
            ends_at: now + timeout,
            pace,
            changed,
            _slot: slot,
        };
        if bookmarks {
            watch.bookmark_at = watch.next_bookmark(now);
        }
        watch
    }
}

// === impl Pace ===

impl Pace {
    fn clock(self, server: &Server) -> Clock {
        match self {
            Self::Server => server.shared.runtime.clock.clone(),
            Self::Client => Clock::system(),
        }
    }
}

// === impl Watch ===

impl Watch {
    /// The next events, each as JSON and a line feed; none: the watch has ended. Waits until there
    /// is something to send.
    pub async fn next(&mut self) -> Option<Bytes> {
        loop {
            // Before looking, so that a change while looking notifies.
            self.changed.look(|_| ());
            match self.step() {
                Step::Tell(chunk) => return Some(chunk),
                Step::End => return None,
                Step::Wait => {}
            }
            let runtime = self.server.shared.runtime.clone();
            let clock = self.pace.clock(&self.server);
            let wakes_at = self.bookmark_at.map_or(self.ends_at, |at| at.min(self.ends_at));
            tokio::select! { biased;
                () = runtime.cancel.cancelled() => return None,
                () = self.changed.changed() => {}
                () = clock.sleep_until(wakes_at) => {}
            }
        }
    }

    /// The events to send now, without waiting; none: nothing, or the watch has ended.
    pub fn try_next(&mut self) -> Option<Bytes> {
        match self.step() {
            Step::Tell(chunk) => Some(chunk),
            Step::Wait | Step::End => None,
        }
    }

    fn step(&mut self) -> Step {
        let server = self.server.clone();
        let (now, instant) =
            (server.shared.runtime.clock.now(), self.pace.clock(&server).instant());
        let mut out = Vec::new();
        let state = server.state();
        let served = self.selection.served.clone();
        let renderer = Renderer::of(&served, self.form, now);
        if instant >= self.ends_at {
            return Step::End;
        }
        if let Phase::Initial { from, ends_with_bookmark } = self.phase.clone() {
            self.tell_initial(&state.store, &renderer, &mut out, (from, ends_with_bookmark));
        }
        if self.phase == Phase::Following {
            self.tell_changes(&state.store, &renderer, &mut out);
        }
        drop(state);
        match &self.phase {
            Phase::Failed(status) => {
                let document = status.json();
                write_event(&mut out, "ERROR", |out| {
                    renderer.write(out, &Shown::Document(&document), Columns::Hidden);
                });
                self.phase = Phase::Ended;
            }
            Phase::Ended if out.is_empty() => return Step::End,
            Phase::Following
                if out.is_empty() && self.bookmark_at.is_some_and(|at| at <= instant) =>
            {
                self.bookmark_at = self.next_bookmark(instant);
                self.write_bookmark(&mut out, &renderer, None);
            }
            Phase::Ended | Phase::Following | Phase::Initial { .. } => {}
        }
        if out.is_empty() { Step::Wait } else { Step::Tell(out.into()) }
    }

    /// What was there when the watch began, as objects that were added.
    fn tell_initial(
        &mut self,
        store: &Store,
        renderer: &Renderer<'_>,
        out: &mut Vec<u8>,
        (from, ends_with_bookmark): (Option<String>, bool),
    ) {
        let snapshot = match store.at(&self.selection.served.table, self.cursor) {
            Ok(snapshot) => snapshot,
            Err(missed) => {
                self.phase = too_old(self.cursor, missed);
                return;
            }
        };
        let single = self.selection.path();
        let namespace = self.selection.namespace.as_deref();
        let from = from.or_else(|| single.clone());
        let objects = snapshot.objects(namespace, from.as_deref());
        let mut columns = self.columns;
        let in_reach = |path: &str| single.as_deref().is_none_or(|single| single == path);
        for (path, stored) in objects.take_while(|(path, _)| in_reach(path)) {
            if !self.selection.picks(&stored.object) {
                continue;
            }
            if out.len() >= CHUNK_BYTES {
                self.columns = columns;
                self.phase = Phase::Initial { from: Some(path.to_owned()), ends_with_bookmark };
                return;
            }
            write_event(out, "ADDED", |out| renderer.write(out, &Shown::Stored(stored), columns));
            columns = Columns::Hidden;
        }
        self.columns = columns;
        self.phase = Phase::Following;
        if ends_with_bookmark {
            let annotations = json!({"k8s.io/initial-events-end": "true"});
            self.write_bookmark(out, renderer, Some(annotations));
        }
    }

    /// What has changed since.
    fn tell_changes(&mut self, store: &Store, renderer: &Renderer<'_>, out: &mut Vec<u8>) {
        let changes = match store.follow(&self.selection.served.table, self.cursor) {
            Ok(changes) => changes,
            Err(missed) => {
                self.phase = too_old(self.cursor, missed);
                return;
            }
        };
        for event in changes {
            if out.len() >= CHUNK_BYTES {
                return;
            }
            self.cursor = event.revision;
            if let Some((name, shown)) = transition(event, &self.selection) {
                write_event(out, name, |out| renderer.write(out, &shown, self.columns));
                self.columns = Columns::Hidden;
            }
        }
        // A cursor that is ahead waits until the store is there.
        self.cursor = self.cursor.max(store.revision());
    }

    fn write_bookmark(
        &mut self,
        out: &mut Vec<u8>,
        renderer: &Renderer<'_>,
        annotations: Option<Value>,
    ) {
        let is_plain = annotations.is_none() && !matches!(self.form, Form::Table(..));
        if is_plain {
            return write_event(out, "BOOKMARK", |out| renderer.write_bookmark(out, self.cursor));
        }
        let resource = &self.selection.served.resource;
        let mut object = json!({
            "kind": resource.kind,
            "apiVersion": resource.api_version(),
            "metadata": {"resourceVersion": self.cursor.to_string()},
        });
        if let Some(annotations) = annotations {
            object["metadata"]["annotations"] = annotations;
        }
        let columns = self.columns;
        write_event(out, "BOOKMARK", |out| {
            renderer.write(out, &Shown::Document(&object), columns);
        });
        self.columns = Columns::Hidden;
    }

    /// About every minute, and shortly before the end.
    fn next_bookmark(&self, now: Instant) -> Option<Instant> {
        let regular = now + BOOKMARK_EVERY;
        let last = self.ends_at.checked_sub(BOOKMARK_BEFORE_END).unwrap_or(self.ends_at);
        let next = regular.min(last);
        (next > now).then_some(next)
    }
}

/// What a change is for a watch with a selector.
fn transition<'a>(event: &'a Event, selection: &Selection) -> Option<(&'static str, Shown<'a>)> {
    let namespace = &*event.key.namespace;
    let after = event.after.as_ref().filter(|it| selection.matches(namespace, &it.object));
    let before = event.before.as_ref().filter(|it| selection.matches(namespace, &it.object));
    match (before, after) {
        (None, None) => None,
        (None, Some(after)) => Some(("ADDED", Shown::Stored(after))),
        (Some(_), Some(after)) => Some(("MODIFIED", Shown::Stored(after))),
        (Some(_), None) => Some(("DELETED", Shown::Gone(event))),
    }
}

fn too_old(asked: u64, missed: Compacted) -> Phase {
    let message = format!("too old resource version: {asked} ({})", missed.oldest);
    Phase::Failed(Box::new(Status::expired(message)))
}

fn write_event(out: &mut Vec<u8>, name: &str, object: impl FnOnce(&mut Vec<u8>)) {
    out.extend_from_slice(b"{\"type\":\"");
    out.extend_from_slice(name.as_bytes());
    out.extend_from_slice(b"\",\"object\":");
    object(out);
    out.extend_from_slice(b"}\n");
}
