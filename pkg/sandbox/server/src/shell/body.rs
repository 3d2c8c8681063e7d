//! The body of a response: bytes, or a watch.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use futures::Stream;
use http_body::{Frame, SizeHint};

use crate::read::Watch;

/// The body of a response.
pub struct Body(Kind);

enum Kind {
    /// None: it was read.
    Whole(Option<Bytes>),
    /// Chunk by chunk, each made when it is asked for.
    Watch(Pin<Box<dyn Stream<Item = Bytes> + Send>>),
}

impl Body {
    pub(super) fn whole(bytes: Bytes) -> Self {
        Self(Kind::Whole(Some(bytes).filter(|bytes| !bytes.is_empty())))
    }

    pub(super) fn watch(watch: Watch) -> Self {
        let chunks = futures::stream::unfold(watch, |mut watch| async move {
            let chunk = watch.next().await?;
            Some((chunk, watch))
        });
        Self(Kind::Watch(Box::pin(chunks)))
    }
}

impl http_body::Body for Body {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let chunk = match &mut self.0 {
            Kind::Whole(bytes) => Poll::Ready(bytes.take()),
            Kind::Watch(chunks) => chunks.as_mut().poll_next(context),
        };
        chunk.map(|chunk| chunk.map(|chunk| Ok(Frame::data(chunk))))
    }

    fn is_end_stream(&self) -> bool {
        matches!(self.0, Kind::Whole(None))
    }

    fn size_hint(&self) -> SizeHint {
        match &self.0 {
            Kind::Whole(bytes) => {
                let length = bytes.as_ref().map_or(0, Bytes::len);
                SizeHint::with_exact(u64::try_from(length).unwrap_or(u64::MAX))
            }
            Kind::Watch(_) => SizeHint::default(),
        }
    }
}
