//! What a connection is doing, so that it can be closed when that is nothing.

#[cfg(test)]
mod tests;

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use runtime::{Clock, Instant, Latest, Reader};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio_rustls::server::TlsStream;

use crate::Limits;

/// How long to listen to a client after the last word has been sent: if we hung up while it still
/// talks, the system would throw away what it has not read, our answer included. Go's figure.
const LINGER: Duration = Duration::from_millis(500);

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
#[derive(Clone, Copy)]
pub(crate) struct State {
    /// Requests that are being answered.
    pub(crate) answering: usize,
    /// When it began to wait for the next request, or for the rest of its head.
    since: Instant,
    is_in_head: bool,
}

/// A request that is being answered, until this is dropped.
pub(crate) struct Answering(Activity);

/// A TLS connection whose bytes are noticed, and which is not hung up on a talking client.
pub(crate) struct Watched {
    stream: TlsStream<TcpStream>,
    activity: Activity,
    /// The last word was sent; until when to listen.
    lingering: Option<Pin<Box<dyn Future<Output = ()> + Send>>>,
}

// === impl Activity ===

impl Activity {
    /// A connection that has just been made. In HTTP/1 its first request is due.
    pub(crate) fn new(protocol: Protocol, clock: Clock) -> Self {
        let since = clock.instant();
        let state = State { answering: 0, since, is_in_head: protocol == Protocol::One };
        Self { state: Latest::new(state), clock, protocol }
    }

    /// What the connection does.
    pub(crate) fn state(&self) -> State {
        self.state.get()
    }

    /// What the connection does, and when that changes.
    pub(crate) fn reader(&self) -> Reader<State> {
        self.state.reader()
    }

    /// A request has come.
    pub(crate) fn answer(&self) -> Answering {
        self.state.update(|state| {
            state.answering += 1;
            true
        });
        Answering(self.clone())
    }

    /// Between requests, the first byte is the start of a head. In HTTP/2 it may be a sign of life.
    fn received(&self) {
        if self.protocol == Protocol::Two {
            return;
        }
        let since = self.clock.instant();
        self.state.update(|state| {
            let starts = state.answering == 0 && !state.is_in_head;
            if starts {
                (state.since, state.is_in_head) = (since, true);
            }
            starts
        });
    }

    /// A client that takes the rest of its answer slowly is not idle. Nobody needs to be told:
    /// this only leaves more time.
    fn sent(&self) {
        let since = self.clock.instant();
        if self.protocol == Protocol::One {
            self.state.update(|state| {
                if !state.is_in_head {
                    state.since = since;
                }
                false
            });
        }
    }
}

impl State {
    /// When to close the connection if nothing changes; None while it has something to do.
    pub(crate) fn closes_at(&self, limits: &Limits) -> Option<Instant> {
        let limit = if self.is_in_head { limits.head } else { limits.idle };
        (self.answering == 0).then(|| self.since + limit)
    }
}

impl Drop for Answering {
    fn drop(&mut self) {
        let since = self.0.clock.instant();
        self.0.state.update(|state| {
            state.answering -= 1;
            (state.since, state.is_in_head) = (since, false);
            true
        });
    }
}

// === impl Watched ===

impl Watched {
    pub(crate) fn new(stream: TlsStream<TcpStream>, activity: Activity) -> Self {
        Self { stream, activity, lingering: None }
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
        let count = ready!(Pin::new(&mut self.stream).poll_write(cx, bytes))?;
        self.activity.sent();
        Poll::Ready(Ok(count))
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
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
