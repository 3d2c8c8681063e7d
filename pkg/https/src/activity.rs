//! The activity of a connection, so that an idle one can be closed.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use runtime::{Cancel, Clock, Instant, Latest, Reader};
use socket2::SockRef;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio_rustls::server::TlsStream;

use crate::Limits;

/// How long to read from a client after the last byte was sent: if we closed while the client still
/// sends, the kernel would discard data in both directions, our response included. Go's figure.
const LINGER: Duration = Duration::from_millis(500);
/// How long an idle connection may take to end after it was asked to.
const GOODBYE_MAX: Duration = Duration::from_secs(1);

/// The activity of one connection. Clones are the same connection.
#[derive(Clone)]
pub(crate) struct Activity {
    state: Latest<State>,
    clock: Clock,
    protocol: Protocol,
}

/// The protocol after the handshake.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Protocol {
    /// HTTP/1.0 or 1.1: one request after the other.
    One,
    /// HTTP/2: many requests at once, and pings between them.
    Two,
}

/// The state of a connection at one moment.
pub(crate) struct State {
    /// Requests in progress, by number, each with the time since which a part of its response waits
    /// for the client; none: the page is producing the response.
    answers: BTreeMap<u64, Option<Instant>>,
    requests: u64,
    /// Since when the kernel takes no more bytes for the client.
    blocked: Option<Instant>,
    /// When it began to wait for the next request, or for the rest of its head.
    since: Instant,
    is_in_head: bool,
    /// New requests are refused.
    is_leaving: bool,
}

/// How a connection ends if nothing changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// By the protocol's own close.
    InPeace,
    /// At once: the client does not read, so it would not get the close.
    AtOnce,
}

/// What an unfinished response waits for.
#[derive(Clone, Copy)]
pub(crate) enum Waits {
    /// For the client to read.
    ForClient,
    /// For the page to produce more.
    ForPage,
}

/// A request in progress, until this is dropped.
pub(crate) struct Answering {
    activity: Activity,
    number: u64,
}

/// A TLS connection whose traffic is tracked, and which is not closed while the client still sends.
pub(crate) struct Watched {
    stream: TlsStream<TcpStream>,
    activity: Activity,
    /// Cancelled if the connection is aborted.
    evicted: Cancel,
    /// The last byte was sent; how long to read on.
    lingering: Option<Pin<Box<dyn Future<Output = ()> + Send>>>,
}

// === impl Activity ===

impl Activity {
    /// A new connection. In HTTP/1 its first request is due.
    pub(crate) fn new(protocol: Protocol, clock: Clock) -> Self {
        let state = State {
            answers: BTreeMap::new(),
            requests: 0,
            blocked: None,
            since: clock.instant(),
            is_in_head: protocol == Protocol::One,
            is_leaving: false,
        };
        Self { state: Latest::new(state), clock, protocol }
    }

    /// Reads the state.
    pub(crate) fn look<T>(&self, look: impl FnOnce(&State) -> T) -> T {
        self.state.with(look)
    }

    /// A reader of the state and its changes.
    pub(crate) fn reader(&self) -> Reader<State> {
        self.state.reader()
    }

    /// A request has arrived; none: it is too late.
    pub(crate) fn answer(&self) -> Option<Answering> {
        let mut number = None;
        self.state.update(|state| {
            if !state.is_leaving {
                state.requests += 1;
                state.answers.insert(state.requests, None);
                number = Some(state.requests);
            }
            number.is_some()
        });
        Some(Answering { activity: self.clone(), number: number? })
    }

    /// Ends the connection as soon as the requests in progress are answered.
    pub(crate) fn leave(&self) {
        self.state.update(|state| !std::mem::replace(&mut state.is_leaving, true));
    }

    /// Between requests, the first byte starts a head. In HTTP/2 it may be a ping.
    fn received(&self) {
        if self.protocol == Protocol::Two {
            return;
        }
        let since = self.clock.instant();
        self.state.update(|state| {
            let starts = state.answers.is_empty() && !state.is_in_head;
            if starts {
                (state.since, state.is_in_head) = (since, true);
            }
            starts
        });
    }

    /// Notes whether the kernel took bytes for the client. A client that reads its response slowly
    /// is not idle; in HTTP/2 the bytes may be anything.
    fn sent(&self, took: bool) {
        let now = self.clock.instant();
        self.state.update(|state| {
            if !took {
                // The new deadline is earlier than the one that is waited for.
                return state.blocked.replace(state.blocked.unwrap_or(now)).is_none();
            }
            state.blocked = None;
            if self.protocol == Protocol::One {
                if !state.is_in_head {
                    state.since = now;
                }
                state.answers.values_mut().flatten().for_each(|waits| *waits = now);
            }
            // No notification: this only extends the deadline.
            false
        });
    }
}

// === impl State ===

impl State {
    pub(crate) fn is_leaving(&self) -> bool {
        self.is_leaving
    }

    /// When and how to close the connection if nothing changes; none while a request is in
    /// progress.
    pub(crate) fn end(&self, limits: &Limits) -> Option<(Instant, End)> {
        let limit = if self.is_in_head { limits.head } else { limits.idle };
        let idle = self.answers.is_empty().then(|| (self.since + limit, End::InPeace));
        let stalls = self.stalls_at(limits).map(|at| (at, End::AtOnce));
        [idle, stalls].into_iter().flatten().min_by_key(|(at, _)| *at)
    }

    /// When to abort a connection that was asked to end at `asked_at`.
    pub(crate) fn goodbye_ends(&self, asked_at: Instant, limits: &Limits) -> Option<Instant> {
        if self.answers.is_empty() {
            return Some(self.since.max(asked_at) + GOODBYE_MAX);
        }
        self.stalls_at(limits)
    }

    fn stalls_at(&self, limits: &Limits) -> Option<Instant> {
        let waits = self.answers.values().chain([&self.blocked]).flatten().min();
        waits.map(|since| *since + limits.write)
    }
}

// === impl Answering ===

impl Answering {
    /// Notes whether another part of the response now waits for the client.
    pub(crate) fn waits(&self, waits: Waits) {
        let since = match waits {
            Waits::ForClient => Some(self.activity.clock.instant()),
            Waits::ForPage => None,
        };
        self.activity.state.update(|state| {
            let before = state.answers.insert(self.number, since);
            since.is_some() && before.flatten().is_none()
        });
    }
}

impl Drop for Answering {
    fn drop(&mut self) {
        let since = self.activity.clock.instant();
        self.activity.state.update(|state| {
            state.answers.remove(&self.number);
            (state.since, state.is_in_head) = (since, false);
            true
        });
    }
}

// === impl Watched ===

impl Watched {
    pub(crate) fn new(stream: TlsStream<TcpStream>, activity: Activity, evicted: Cancel) -> Self {
        Self { stream, activity, evicted, lingering: None }
    }
}

impl Drop for Watched {
    /// When a connection is aborted, the kernel drops what it holds: otherwise it would keep
    /// offering data that the client does not read.
    fn drop(&mut self) {
        if self.evicted.is_cancelled() {
            // If this fails, the connection has ended already.
            let _: io::Result<()> =
                SockRef::from(self.stream.get_ref().0).set_linger(Some(Duration::ZERO));
        }
    }
}
impl AsyncRead for Watched {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        ready!(Pin::new(&mut self.stream).poll_read(cx, buffer))?;
        if buffer.filled().len() > before {
            self.activity.received();
        }
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Watched {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(cx, bytes);
        self.activity.sent(written.is_ready());
        written
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = Pin::new(&mut self.stream).poll_flush(cx);
        if flushed.is_pending() {
            self.activity.sent(false);
        }
        flushed
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.lingering.is_none() {
            ready!(Pin::new(&mut self.stream).poll_shutdown(cx))?;
            let clock = self.activity.clock.clone();
            self.lingering = Some(Box::pin(async move { clock.sleep(LINGER).await }));
        }
        let me = self.get_mut();
        let ends = me.lingering.as_mut().is_none_or(|end| end.as_mut().poll(cx).is_ready());
        if ends { Poll::Ready(Ok(())) } else { poll_ignore(me.stream.get_mut().0, cx) }
    }
}

/// Reads and discards until there is nothing more.
fn poll_ignore(stream: &mut TcpStream, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
    let mut bytes = [0; 4096];
    loop {
        let mut buffer = ReadBuf::new(&mut bytes);
        match ready!(Pin::new(&mut *stream).poll_read(cx, &mut buffer)) {
            Ok(()) if !buffer.filled().is_empty() => {}
            // The client has disconnected.
            Ok(()) | Err(_) => return Poll::Ready(Ok(())),
        }
    }
}

/// Closes a connection without TLS in the same way.
pub(crate) async fn hang_up(stream: &mut TcpStream, clock: &Clock) {
    let ended = async {
        tokio::io::AsyncWriteExt::shutdown(stream).await?;
        std::future::poll_fn(|cx| poll_ignore(stream, cx)).await
    };
    // Timed out or disconnected: in both cases the client has had its time.
    let _: Result<io::Result<()>, runtime::Elapsed> = clock.timeout(LINGER, ended).await;
}
