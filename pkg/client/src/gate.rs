//! A gate between TLS and the kernel: no byte leaves while the guard refuses writes.
//!
//! A request that was allowed is not sent yet: it waits for its connection, for HTTP/2 and for the
//! task that writes it. A process that is stopped meanwhile still has such requests when it
//! continues, so the guard must be asked again where the bytes are handed over.

use std::io::{Error, ErrorKind, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll};

use http::Uri;
use hyper::rt::{Read, ReadBufCursor, Write};
use hyper_util::client::legacy::connect::{Connected, Connection};
use tower::{BoxError, Service};

use crate::Guard;

/// Opens connections that ask a guard.
#[derive(Clone)]
pub(crate) struct GatedConnector<C> {
    pub(crate) tcp: C,
    /// None: every byte may leave.
    pub(crate) guard: Option<Guard>,
}

/// A connection that asks `guard` before each write. A refusal is an error of the connection, and
/// so the end of it.
pub(crate) struct Gated<S> {
    stream: S,
    guard: Option<Guard>,
}

type Opened<S> = Pin<Box<dyn Future<Output = Result<Gated<S>, BoxError>> + Send>>;

// === impl GatedConnector ===

impl<C> Service<Uri> for GatedConnector<C>
where
    C: Service<Uri, Future: Send + 'static, Error: Into<BoxError>>,
{
    type Response = Gated<C::Response>;
    type Error = BoxError;
    type Future = Opened<C::Response>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.tcp.poll_ready(cx).map_err(Into::into)
    }

    fn call(&mut self, server: Uri) -> Self::Future {
        let (opening, guard) = (self.tcp.call(server), self.guard.clone());
        Box::pin(async move {
            let stream = opening.await.map_err(Into::into)?;
            Ok(Gated { stream, guard })
        })
    }
}

// === impl Gated ===

impl<S> Gated<S> {
    fn ask(&self) -> Result<(), Error> {
        let refusal = self.guard.as_ref().and_then(|guard| guard().err());
        refusal.map_or(Ok(()), |why| Err(Error::new(ErrorKind::PermissionDenied, why)))
    }
}

impl<S: Connection> Connection for Gated<S> {
    fn connected(&self) -> Connected {
        self.stream.connected()
    }
}

impl<S: Read + Unpin> Read for Gated<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: ReadBufCursor<'_>,
    ) -> Poll<Result<(), Error>> {
        Pin::new(&mut self.stream).poll_read(cx, buffer)
    }
}

impl<S: Write + Unpin> Write for Gated<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<Result<usize, Error>> {
        self.ask()?;
        Pin::new(&mut self.stream).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<(), Error>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<(), Error>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        parts: &[IoSlice<'_>],
    ) -> Poll<Result<usize, Error>> {
        self.ask()?;
        Pin::new(&mut self.stream).poll_write_vectored(cx, parts)
    }
}

#[cfg(test)]
mod tests;
