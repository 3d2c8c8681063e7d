//! Sends the requests of clients.

use std::pin::Pin;
use std::sync::Arc;

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::BodyExt;
use http_body_util::combinators::UnsyncBoxBody;
use kube::client::Body;
use tower::BoxError;

use crate::error::cause;

/// The body of a response.
pub(crate) type AnyBody = UnsyncBoxBody<Bytes, BoxError>;
/// A response in progress.
pub(crate) type Sending = Pin<Box<dyn Future<Output = Result<Response<AnyBody>, BoxError>> + Send>>;

/// Sends to one API server. Cheap to clone; clones share the connections.
///
/// A client of kube's is a transport, too. It has a task that each request passes through, which
/// costs two more switches of tasks per request; the transport over the network avoids that.
#[derive(Clone)]
pub struct Transport(Arc<dyn Fn(Request<Body>) -> Sending + Send + Sync>);

impl Transport {
    /// A transport that sends with this function.
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
