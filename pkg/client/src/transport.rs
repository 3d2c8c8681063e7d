//! What sends the requests of clients.

use std::pin::Pin;
use std::sync::Arc;

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::BodyExt;
use http_body_util::combinators::UnsyncBoxBody;
use kube::client::Body;
use tower::BoxError;

use crate::error::cause;

/// The body of an answer.
pub(crate) type AnyBody = UnsyncBoxBody<Bytes, BoxError>;
/// An answer that is on its way.
pub(crate) type Sending = Pin<Box<dyn Future<Output = Result<Response<AnyBody>, BoxError>> + Send>>;

/// Sends to one API server. Cheap to clone; clones share the connections.
///
/// A client of kube's is one too. It has a task of its own that each request passes through, which
/// costs two more turns of the scheduler for each: what sends over the network does without.
#[derive(Clone)]
pub struct Transport(Arc<dyn Fn(Request<Body>) -> Sending + Send + Sync>);

impl Transport {
    /// Over whatever this sends with.
    pub(crate) fn new(send: impl Fn(Request<Body>) -> Sending + Send + Sync + 'static) -> Self {
        Self(Arc::new(send))
    }

    pub(crate) fn send(&self, request: Request<Body>) -> Sending {
        (self.0)(request)
    }
}

impl From<kube::Client> for Transport {
    fn from(kube: kube::Client) -> Self {
        Self::new(move |request| {
            let kube = kube.clone();
            Box::pin(async move {
                let answer = kube.send(request).await.map_err(cause)?;
                Ok(answer.map(|body| body.map_err(cause).boxed_unsync()))
            })
        })
    }
}
