//! What a connection is doing, so that it can be closed when that is nothing.

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

/// How long to listen to a client after the last word has been sent: if we hung up while it still
/// talks, the system would throw away what it has not read, our answer included. Go's figure.
const LINGER: Duration = Duration::from_millis(500);
/// How long a connection without a request may take to end, once it is told to.
const GOODBYE_MAX: Duration = Duration::from_secs(1);

/// What one connection is doing. Clones are the same connection.
#[derive(Clone)]
pub(crate) struct Activity {
    state: Latest<State>,
    clock: Clock,
    protocol: Protocol,
}

/// What is spoken after the handshake.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Protocol {
    /// HTTP/1.0 or 1.1: one request after the other.
    One,
    /// HTTP/2: many at once, and signs of life between them.
    Two,
}

/// One look at what a connection is doing.
pub(crate) struct State {
    /// Requests that are being answered, by number. Since when a part of the answer waits for the
    /// client; none: the answer is being made.
    answers: BTreeMap<u64, Option<Instant>>,
    requests: u64,
    /// Since when the system takes no more bytes for the client.
    blocked: Option<Instant>,
    /// When it began to wait for the next request, or for the rest of its head.
    since: Instant,
    is_in_head: bool,
    /// No more requests are taken.
    is_leaving: bool,
}

/// How a connection ends if nothing changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// With the words that the protocol has for it.
    InPeace,
    /// At once: the client takes nothing of its answer, so it would not hear them.
    AtOnce,
}

/// What an answer that has begun waits for.
#[derive(Clone, Copy)]
pub(crate) enum Waits {
    /// That its client takes what is there.
    ForClient,
    /// That the page makes more of it.
    ForPage,
}

/// A request that is being answered, until this is dropped.
pub(crate) struct Answering {
    activity: Activity,
    number: u64,
}

/// A TLS connection whose bytes are noticed, and which is not hung up on a talking client.
pub(crate) struct Watched {
    stream: TlsStream<TcpStream>,
    activity: Activity,
    /// Cancelled if the connection is broken off.
    evicted: Cancel,
    /// The last word was sent; until when to listen.
    lingering: Option<Pin<Box<dyn Future<Output = ()> + Send>>>,
}

// === impl Activity ===

impl Activity {
    /// A connection that has just been made. In HTTP/1 its first request is due.
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

    /// What the connection does.
    pub(crate) fn look<T>(&self, look: impl FnOnce(&State) -> T) -> T {
        self.state.with(look)
    }

    /// What the connection does, and when that changes.
    pub(crate) fn reader(&self) -> Reader<State> {
        self.state.reader()
    }

    /// A request has come; none: it comes too late.
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

    /// The connection ends as soon as the requests that are being answered have been.
    pub(crate) fn leave(&self) {
        self.state.update(|state| !std::mem::replace(&mut state.is_leaving, true));
    }

    /// Between requests, the first byte is the start of a head. In HTTP/2 it may be a sign of life.
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

    /// Whether the system took bytes for the client. A client that takes the rest of its answer
    /// slowly is not idle; in HTTP/2 the bytes may be anything.
    fn sent(&self, took: bool) {
        let now = self.clock.instant();
        self.state.update(|state| {
            if !took {
                // The deadline is nearer than what is waited for.
                return state.blocked.replace(state.blocked.unwrap_or(now)).is_none();
            }
            state.blocked = None;
            if self.protocol == Protocol::One {
                if !state.is_in_head {
                    state.since = now;
                }
                state.answers.values_mut().flatten().for_each(|waits| *waits = now);
            }
            // Nobody needs to be told: this only leaves more time.
            false
        });
    }
}

// === impl State ===

impl State {
    pub(crate) fn is_leaving(&self) -> bool {
        self.is_leaving
    }

    /// When and how to close the connection if nothing changes; none while it has something to do.
    pub(crate) fn end(&self, limits: &Limits) -> Option<(Instant, End)> {
        let limit = if self.is_in_head { limits.head } else { limits.idle };
        let idle = self.answers.is_empty().then(|| (self.since + limit, End::InPeace));
        let stalls = self.stalls_at(limits).map(|at| (at, End::AtOnce));
        [idle, stalls].into_iter().flatten().min_by_key(|(at, _)| *at)
    }

    /// When to give up on a connection that was told to end at `told`.
    pub(crate) fn goodbye_ends(&self, told: Instant, limits: &Limits) -> Option<Instant> {
        if self.answers.is_empty() {
            return Some(self.since.max(told) + GOODBYE_MAX);
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
    /// Whether a part of the answer, a new one, now waits for the client.
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
    /// Of a connection that is broken off, the system keeps nothing: it would go on offering the
    /// client what that does not take.
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

/// Reads until there is nothing more, without looking at it.
fn poll_ignore(stream: &mut TcpStream, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
    let mut bytes = [0; 4096];
    loop {
        let mut buffer = ReadBuf::new(&mut bytes);
        match ready!(Pin::new(&mut *stream).poll_read(cx, &mut buffer)) {
            Ok(()) if !buffer.filled().is_empty() => {}
            // Whoever has broken off has heard enough.
            Ok(()) | Err(_) => return Poll::Ready(Ok(())),
        }
    }
}

/// Ends a connection without TLS in the same way.
pub(crate) async fn hang_up(stream: &mut TcpStream, clock: &Clock) {
    let ended = async {
        tokio::io::AsyncWriteExt::shutdown(stream).await?;
        std::future::poll_fn(|cx| poll_ignore(stream, cx)).await
    };
    // Too late or broken off: in both cases the client has had its time.
    let _: Result<io::Result<()>, runtime::Elapsed> = clock.timeout(LINGER, ended).await;
}
