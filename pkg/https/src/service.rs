//! The service as one connection sees it: it knows the client, and cannot panic.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::pin::Pin;
use std::task::{Context, Poll};

use http::{Request, Response, StatusCode};
use http_body::{Body, Frame, SizeHint};
use hyper::body::Incoming;
use tower::ServiceExt;

use crate::PeerCertificates;
use crate::activity::{Activity, Answering};

/// A service behind a fence: a panic is an answer of 500.
#[derive(Clone)]
pub(crate) struct FencedService<S> {
    pub(crate) service: S,
    pub(crate) activity: Activity,
    pub(crate) peer: SocketAddr,
    pub(crate) certificates: PeerCertificates,
}

/// The body of an answer. The request is being answered until it has been sent.
pub(crate) struct AnswerBody<B> {
    /// None: the service panicked.
    body: Option<B>,
    _answering: Answering,
}

type Answer<B> = Result<Response<AnswerBody<B>>, Infallible>;

impl<S, B> hyper::service::Service<Request<Incoming>> for FencedService<S>
where
    S: tower::Service<Request<Incoming>, Response = Response<B>, Error = Infallible>,
    S: Clone + Send + 'static,
    S::Future: Send,
    B: 'static,
{
    type Response = Response<AnswerBody<B>>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Answer<B>> + Send>>;

    fn call(&self, mut request: Request<Incoming>) -> Self::Future {
        let answering = self.activity.answer();
        let service = self.service.clone();
        request.extensions_mut().insert(self.peer);
        request.extensions_mut().insert(self.certificates.clone());
        let (method, path) = (request.method().clone(), request.uri().path().to_owned());
        Box::pin(async move {
            let response = match runtime::fenced_async(service.oneshot(request)).await {
                Ok(Ok(response)) => response.map(Some),
                Ok(Err(never)) => match never {},
                Err(panic) => {
                    tracing::error!(%method, path, panic = panic.0, "answering a request panicked");
                    let mut response = Response::new(None);
                    *response.status_mut() = StatusCode::INTERNAL_SERVER_ERROR;
                    response
                }
            };
            Ok(response.map(|body| AnswerBody { body, _answering: answering }))
        })
    }
}

impl<B: Body + Unpin> Body for AnswerBody<B> {
    type Data = B::Data;
    type Error = B::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<B::Data>, B::Error>>> {
        match &mut self.body {
            Some(body) => Pin::new(body).poll_frame(cx),
            None => Poll::Ready(None),
        }
    }

    fn is_end_stream(&self) -> bool {
        self.body.as_ref().is_none_or(Body::is_end_stream)
    }

    fn size_hint(&self) -> SizeHint {
        self.body.as_ref().map_or(SizeHint::with_exact(0), Body::size_hint)
    }
}
