//! Lists and watches one kind: every decision of it, and no I/O.
//!
//! A state machine: the driver (`informer`) reports what happened ([`Input`]) and carries out what
//! comes back ([`Effect`]). The rules are those of upstream's client-go tools/cache/reflector.go
//! and tools/pager/pager.go, with two differences. A list that is older than what was shown before
//! is refused: a controller that has seen a pod would otherwise create it again. (Versions are
//! comparable numbers since Kubernetes 1.35.) And the first list asks for the latest state, where
//! upstream accepts any (`resourceVersion=0`): a stale server does not know what this process wrote
//! before a restart, or what the previous leader wrote.
//!
//! After a restore of etcd to an older revision every list is older, for as long as the process
//! lives. A stale or faulty server does not keep answering lists of the latest state that way, so
//! after several such lists [`RoundError::Rewound`] reports the restore as certain. A server may
//! let a watch begin at a version that it has not reached; then no event comes, so a watch that
//! ends without even a bookmark is followed by a list.

use std::fmt;
use std::time::Duration;

use mutant::Mutant;

/// Objects in one page of a paged list, as upstream's pager.
pub const PAGE_OBJECTS: u32 = 500;
/// The first wait after a failure.
pub const BACKOFF_MIN: Duration = Duration::from_millis(800);
/// The longest wait, before jitter.
pub const BACKOFF_MAX: Duration = Duration::from_secs(30);
/// After this long without a wait the next wait is the shortest again.
pub const BACKOFF_RESET: Duration = Duration::from_mins(2);
/// A watch that was silent for this long is taken as broken: bookmarks come each minute.
pub const WATCH_SILENT: Duration = Duration::from_mins(2);
/// The number of lists of the latest state, one after the other and all older than what was shown,
/// after which a restore is certain,
pub const REWOUND_LISTS: u32 = 5;
/// if this much time lies between the first and the last of them.
pub const REWOUND_AFTER: Duration = Duration::from_mins(1);
/// A watch that ends sooner than this, without an event, is an error.
pub const WATCH_SHORT: Duration = Duration::from_secs(1);

/// The decisions of one reflector.
#[derive(Debug)]
pub struct Reflector {
    state: State,
    /// A round begins with a list, not with a streaming list: the gate `WatchListClient` is off.
    lists: bool,
    /// The highest version that was shown; none before the first list.
    shown: Option<u64>,
    /// The server no longer has `shown`, or does not have it yet: read the latest state.
    unavailable: bool,
    backoff: Backoff,
    /// When the last request was sent, or the streaming list was complete.
    since: Duration,
    /// Whether since then an event came, or a bookmark of a version that was not shown before.
    events: bool,
    /// Lists of the latest state that were older than what was shown, without a newer one in
    /// between: when the first one came, and how many.
    older: Option<(Duration, u32)>,
}

/// The state of the reflector.
#[derive(Clone, Debug, PartialEq, Eq)]
enum State {
    /// Nothing is sent yet.
    Idle,
    /// A streaming list is open; objects are being collected.
    Streaming,
    /// A list, or a page of it, is requested.
    Listing {
        /// Which state was requested.
        at: At,
        /// Objects in a page, if paged.
        limit: Option<u32>,
        /// The version of the first page, once it is read.
        version: Option<u64>,
    },
    /// The driver is putting a list into the store.
    Replacing {
        /// Whether the list came as a stream, which continues as the watch.
        stream: bool,
    },
    /// A watch is requested, or a streaming list has become one.
    Watching,
    /// A round failed: wait, then begin another one with a list.
    Resting,
    /// The server refused the watch for now: wait, then request the same watch again.
    Pausing,
}

/// What happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Input {
    /// The driver is ready.
    Start,
    /// The wait is over.
    Waited,
    /// A list of the latest state is needed, whatever is in progress.
    Renew,
    /// An object was added, changed or deleted, which made this version.
    Event(u64),
    /// All events up to `version` were sent.
    Bookmark {
        /// The version.
        version: u64,
        /// Whether all objects that existed at the beginning have been sent: annotation
        /// `k8s.io/initial-events-end`.
        list_end: bool,
    },
    /// A page of a list was collected.
    Page {
        /// The version of the list.
        version: u64,
        /// Where the next page starts; none: this was the last.
        next: Option<String>,
    },
    /// The store now holds the list.
    Replaced,
    /// The request was refused, or the response was broken or contained an error.
    Failed(Failure),
    /// The watch ended or its connection broke.
    Ended,
}

/// Errors, as far as the reflector distinguishes them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    /// Connection refused, or 429: the server will recover, and no event is lost.
    Unavailable,
    /// 410: the version, or the continuation of the list, is too old for the server.
    Expired,
    /// The version is ahead of the server.
    TooLarge,
    /// 404: the server does not serve the kind. Another form of request would not help.
    Unserved,
    /// Anything else.
    Other,
}

/// What the driver must do next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Drop the open response, send this, and report the first result. A [`Request::Stream`] and a
    /// first page begin a new collection.
    Send(Request),
    /// Drop the open response and wait for `delay`, plus a random part of up to as much again; then
    /// [`Input::Waited`].
    Wait {
        /// The shortest wait.
        delay: Duration,
        /// What failed.
        why: RoundError,
    },
    /// Report the next part of the open response.
    Read,
    /// Put the event into the collection, then as [`Effect::Read`].
    Collect,
    /// Put the event into the store and notify the handlers, then as [`Effect::Read`].
    Apply,
    /// The store is at this version now, then as [`Effect::Read`].
    Advance(u64),
    /// Replace the store by the collection, which has this version; then [`Input::Replaced`].
    Replace(u64),
}

/// A request to the API server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Request {
    /// A watch that first sends all existing objects (`sendInitialEvents`).
    Stream {
        /// Which state.
        at: At,
    },
    /// A list.
    List {
        /// Which state; not sent with `page`, which implies it.
        at: At,
        /// The most objects in the answer.
        limit: Option<u32>,
        /// Where to continue.
        page: Option<String>,
    },
    /// A watch of the changes after `from`.
    Watch {
        /// The version that is known.
        from: u64,
    },
}

/// The state that a request asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum At {
    /// No `resourceVersion`: the newest, as etcd has it.
    Latest,
    /// This one or a newer one.
    NotOlderThan(u64),
}

/// Why a round failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RoundError {
    /// The failure that was reported.
    Failed(Failure),
    /// The watch ended within [`WATCH_SHORT`] without an event.
    Short,
    /// The streaming list ended before it was complete.
    Incomplete,
    /// The list is older than what was shown.
    Older {
        /// Version of the list.
        list: u64,
        /// The version that was shown.
        shown: u64,
    },
    /// As `Older`, and so were [`REWOUND_LISTS`] lists of the latest state, for [`REWOUND_AFTER`]:
    /// etcd was restored, and the version that was shown will not come back.
    Rewound {
        /// Version of the list.
        list: u64,
        /// The version that was shown.
        shown: u64,
    },
}

/// Exponential delays, as `Backoff.DelayWithReset` of k8s.io/apimachinery.
#[derive(Debug)]
pub(crate) struct Backoff {
    next: Duration,
    last: Duration,
}

// === impl Reflector ===

impl Default for Reflector {
    fn default() -> Self {
        Self {
            state: State::Idle,
            lists: false,
            shown: None,
            unavailable: false,
            backoff: Backoff::default(),
            since: Duration::ZERO,
            events: false,
            older: None,
        }
    }
}

impl Reflector {
    /// A reflector that never asks for a streaming list.
    pub fn listing() -> Self {
        Self { lists: true, ..Self::default() }
    }

    /// This reflector, continuing where another one ended, which had shown this version; 0: none.
    pub fn after(self, shown: u64) -> Self {
        Self { shown: Some(shown).filter(|shown| *shown > 0), ..self }
    }

    /// Handles what happened at `now` (any monotonic time) and returns what to do next.
    #[expect(
        clippy::too_many_lines,
        clippy::match_same_arms,
        reason = "the table of transitions is read as a whole, one arm each"
    )]
    pub fn on(&mut self, input: Input, now: Duration) -> Effect {
        match (self.state.clone(), input) {
            (_, Input::Renew) => {
                self.unavailable = true;
                self.begin(now)
            }
            (State::Idle, Input::Start) | (State::Resting, Input::Waited) => self.begin(now),
            (State::Pausing, Input::Waited) => self.watch(now),

            (State::Streaming, Input::Event(_)) => {
                self.events = true;
                Effect::Collect
            }
            (State::Streaming, Input::Bookmark { version, list_end: true }) => {
                self.complete(version, true, now)
            }
            (State::Streaming, Input::Bookmark { list_end: false, .. }) => {
                self.events = true;
                Effect::Read
            }
            (
                State::Streaming,
                Input::Failed(failure @ (Failure::Unavailable | Failure::Unserved)),
            ) => self.rest(RoundError::Failed(failure), now),
            (State::Streaming, Input::Failed(Failure::Expired | Failure::TooLarge))
                if !self.unavailable =>
            {
                self.unavailable = true;
                self.begin(now)
            }
            (State::Streaming, Input::Failed(_)) => self.list(self.list_at(), true, now),
            (State::Streaming, Input::Ended) if self.is_short(now) => {
                self.list(self.list_at(), true, now)
            }
            (State::Streaming, Input::Ended) => self.rest(RoundError::Incomplete, now),

            (State::Listing { at, limit, version: first }, Input::Page { version, next }) => {
                let version = first.unwrap_or(version);
                let Some(page) = next else {
                    return self.complete(version, false, now);
                };
                self.state = State::Listing { at, limit, version: Some(version) };
                self.send(Request::List { at, limit, page: Some(page) }, now)
            }
            // The continuation expired; the whole list in one response cannot.
            (State::Listing { at, version: Some(_), .. }, Input::Failed(Failure::Expired)) => {
                self.list(at, false, now)
            }
            (
                State::Listing { at: At::NotOlderThan(_), .. },
                Input::Failed(Failure::Expired | Failure::TooLarge),
            ) => {
                self.unavailable = true;
                self.list(At::Latest, true, now)
            }
            (State::Listing { .. }, Input::Failed(failure)) => {
                self.rest(RoundError::Failed(failure), now)
            }

            (State::Replacing { stream: false }, Input::Replaced) => self.watch(now),
            (State::Replacing { stream: true }, Input::Replaced) => {
                self.state = State::Watching;
                (self.since, self.events) = (now, false);
                Effect::Read
            }

            (State::Watching, Input::Event(version)) => {
                self.events = true;
                self.shown = self.shown.max(Some(version));
                Effect::Apply
            }
            (State::Watching, Input::Bookmark { version, .. }) => {
                let version = version + if mutant::is(Mutant::BookmarkTooFar) { 10 } else { 0 };
                self.events = self.events || self.shown <= Some(version);
                self.shown = self.shown.max(Some(version));
                Effect::Advance(version)
            }
            // The server will accept the same watch soon: no need to list again.
            (State::Watching, Input::Failed(Failure::Unavailable)) => {
                self.wait(State::Pausing, RoundError::Failed(Failure::Unavailable), now)
            }
            (State::Watching, Input::Failed(Failure::Expired))
                if mutant::is(Mutant::ExpiredNotListed) =>
            {
                self.shown = None;
                self.wait(State::Pausing, RoundError::Failed(Failure::Expired), now)
            }
            (State::Watching, Input::Failed(failure)) => {
                self.rest(RoundError::Failed(failure), now)
            }
            (State::Watching, Input::Ended) if self.is_short(now) => {
                self.rest(RoundError::Short, now)
            }
            // The server may be at an older version, which gets no event for a long time.
            (State::Watching, Input::Ended) if self.is_silent(now) => self.begin(now),
            (State::Watching, Input::Ended) => self.watch(now),

            // A driver that keeps the contract never reports these; a new round is safe after any
            // of them.
            (State::Idle | State::Resting | State::Pausing | State::Replacing { .. }, _)
            | (
                State::Streaming,
                Input::Start | Input::Waited | Input::Page { .. } | Input::Replaced,
            )
            | (
                State::Listing { .. },
                Input::Start
                | Input::Waited
                | Input::Event(_)
                | Input::Bookmark { .. }
                | Input::Replaced
                | Input::Ended,
            )
            | (
                State::Watching,
                Input::Start | Input::Waited | Input::Page { .. } | Input::Replaced,
            ) => self.rest(RoundError::Failed(Failure::Other), now),
        }
    }

    /// A round begins with a streaming list if that is allowed: it is cheap for the server.
    fn begin(&mut self, now: Duration) -> Effect {
        if self.lists {
            return self.list(self.list_at(), true, now);
        }
        self.state = State::Streaming;
        let at = match self.shown {
            Some(version) if !self.unavailable => At::NotOlderThan(version),
            Some(_) | None => At::Latest,
        };
        self.send(Request::Stream { at }, now)
    }

    fn list(&mut self, at: At, paged: bool, now: Duration) -> Effect {
        // When pages are requested at a version, a server returns exactly that one, and not from
        // its watch cache.
        let whole = matches!(at, At::NotOlderThan(_));
        let limit = (paged && !whole).then_some(PAGE_OBJECTS);
        self.state = State::Listing { at, limit, version: None };
        self.send(Request::List { at, limit, page: None }, now)
    }

    fn list_at(&self) -> At {
        match self.shown {
            Some(version) if !self.unavailable => At::NotOlderThan(version),
            // Another process may have acted on what a stale server does not know yet.
            Some(_) | None => At::Latest,
        }
    }

    fn watch(&mut self, now: Duration) -> Effect {
        self.state = State::Watching;
        self.send(Request::Watch { from: self.shown.unwrap_or_default() }, now)
    }

    fn send(&mut self, request: Request, now: Duration) -> Effect {
        (self.since, self.events) = (now, false);
        Effect::Send(request)
    }

    /// A list is complete.
    fn complete(&mut self, version: u64, stream: bool, now: Duration) -> Effect {
        if let Some(shown) =
            self.shown.filter(|&shown| version < shown && !mutant::is(Mutant::OlderLists))
        {
            return self.refuse(version, shown, now);
        }
        self.older = None;
        self.shown = Some(version);
        self.unavailable = false;
        self.state = State::Replacing { stream };
        Effect::Replace(version)
    }

    /// A list is older than what was shown. The next one asks for the latest state; if that is what
    /// this one asked for, it is counted.
    fn refuse(&mut self, list: u64, shown: u64, now: Duration) -> Effect {
        if !std::mem::replace(&mut self.unavailable, true) {
            return self.rest(RoundError::Older { list, shown }, now);
        }
        let (first, count) = self.older.unwrap_or((now, 0));
        let count = count.saturating_add(1);
        self.older = Some((first, count));
        let is_certain = count >= REWOUND_LISTS && now.saturating_sub(first) >= REWOUND_AFTER;
        let why = if is_certain {
            RoundError::Rewound { list, shown }
        } else {
            RoundError::Older { list, shown }
        };
        self.rest(why, now)
    }

    fn rest(&mut self, why: RoundError, now: Duration) -> Effect {
        self.wait(State::Resting, why, now)
    }

    fn wait(&mut self, state: State, why: RoundError, now: Duration) -> Effect {
        self.state = state;
        Effect::Wait { delay: self.backoff.step(now), why }
    }

    fn is_silent(&self, now: Duration) -> bool {
        !self.events && now.saturating_sub(self.since) >= WATCH_SILENT
    }

    fn is_short(&self, now: Duration) -> bool {
        !self.events && now.saturating_sub(self.since) < WATCH_SHORT
    }
}

// === impl Backoff ===

impl Default for Backoff {
    fn default() -> Self {
        Self { next: BACKOFF_MIN, last: Duration::ZERO }
    }
}

impl Backoff {
    pub(crate) fn step(&mut self, now: Duration) -> Duration {
        if now.saturating_sub(self.last) > BACKOFF_RESET {
            self.next = BACKOFF_MIN;
        }
        self.last = now;
        let delay = self.next;
        self.next = BACKOFF_MAX.min(delay * 2);
        delay
    }
}

// === impl RoundError ===

impl fmt::Display for RoundError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Failed(_) => f.write_str("the request failed"),
            Self::Short => f.write_str("the watch ended within a second without an event"),
            Self::Incomplete => f.write_str("the stream ended before it had sent all objects"),
            Self::Older { list, shown } | Self::Rewound { list, shown } => {
                write!(f, "the server's list is of version {list}, older than {shown} seen before")
            }
        }
    }
}
