//! The service for one connection: it has the client's data, catches panics, and can close the
//! connection.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::pin::Pin;
use std::task::{Context, Poll};

use http::header::CONNECTION;
use http::{Request, Response, StatusCode, Version};
use http_body::{Body, Frame, SizeHint};
use hyper::body::Incoming;
use tower::ServiceExt;

use crate::activity::{Activity, Answering, Waits};
use crate::{Line, PeerCertificates};

/// A service behind a fence: a panic becomes a response of 500.
#[derive(Clone)]
pub(crate) struct FencedService<S> {
    pub(crate) service: S,
    pub(crate) activity: Activity,
    pub(crate) peer: SocketAddr,
    pub(crate) certificates: PeerCertificates,
    pub(crate) line: Line,
}

/// The body of a response. The request is in progress until the body has been sent.
pub(crate) struct ResponseBody<B> {
    /// None: the service panicked, or was not called.
    body: Option<B>,
    answering: Option<Answering>,
}

type ServiceResult<B> = Result<Response<ResponseBody<B>>, Infallible>;

impl<S, B> hyper::service::Service<Request<Incoming>> for FencedService<S>
where
    S: tower::Service<Request<Incoming>, Response = Response<B>, Error = Infallible>,
    S: Clone + Send + 'static,
    S::Future: Send,
    B: Send + 'static,
{
    type Response = Response<ResponseBody<B>>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = ServiceResult<B>> + Send>>;

    fn call(&self, mut request: Request<Incoming>) -> Self::Future {
        let Some(answering) = self.activity.answer() else {
            let response = empty(StatusCode::SERVICE_UNAVAILABLE);
            let response = response.map(|body| ResponseBody { body, answering: None });
            return Box::pin(std::future::ready(Ok(response)));
        };
        let (service, activity) = (self.service.clone(), self.activity.clone());
        request.extensions_mut().insert(self.peer);
        request.extensions_mut().insert(self.certificates.clone());
        request.extensions_mut().insert(self.line.clone());
        let (method, path) = (request.method().clone(), request.uri().path().to_owned());
        let version = request.version();
        Box::pin(async move {
            let mut response = match runtime::fenced_async(service.oneshot(request)).await {
                Ok(Ok(response)) => response.map(Some),
                Ok(Err(never)) => match never {},
                Err(panic) => {
                    tracing::error!(%method, path, panic = panic.0, "answering a request panicked");
                    empty(StatusCode::INTERNAL_SERVER_ERROR)
                }
            };
            if version == Version::HTTP_2 && hangs_up(&mut response) {
                activity.leave();
            }
            answering.waits(Waits::ForClient);
            Ok(response.map(|body| ResponseBody { body, answering: Some(answering) }))
        })
    }
}

fn empty<B>(status: StatusCode) -> Response<Option<B>> {
    let mut response = Response::new(None);
    *response.status_mut() = status;
    response
}

/// Whether the service wants the connection closed. HTTP/2 has no such header, so it is removed and
/// obeyed, as Go's `writeHeaders` does.
fn hangs_up<B>(response: &mut Response<B>) -> bool {
    let value = response.headers_mut().remove(CONNECTION);
    value.is_some_and(|value| value.as_bytes().eq_ignore_ascii_case(b"close"))
}

impl<B: Body + Unpin> Body for ResponseBody<B> {
    type Data = B::Data;
    type Error = B::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<B::Data>, B::Error>>> {
        let Some(body) = &mut self.body else { return Poll::Ready(None) };
        let frame = Pin::new(body).poll_frame(cx);
        // It is polled for more: the client has read what came before.
        if let Some(answering) = &self.answering {
            answering.waits(if frame.is_ready() { Waits::ForClient } else { Waits::ForPage });
        }
        frame
    }

    fn is_end_stream(&self) -> bool {
        self.body.as_ref().is_none_or(Body::is_end_stream)
    }

    fn size_hint(&self) -> SizeHint {
        self.body.as_ref().map_or(SizeHint::with_exact(0), Body::size_hint)
    }
}
