//! Sends the requests of clients.

use std::pin::Pin;
use std::sync::Arc;

use bytes::Bytes;
use http::{Method, Request, Response};
use http_body_util::BodyExt;
use http_body_util::combinators::UnsyncBoxBody;
use kube::client::Body;
use tower::BoxError;

use crate::error::cause;

/// The body of a response.
pub(crate) type AnyBody = UnsyncBoxBody<Bytes, BoxError>;
/// A response in progress.
pub(crate) type Sending = Pin<Box<dyn Future<Output = Result<Response<AnyBody>, BoxError>> + Send>>;

/// The paths of the reviews that a secure port needs.
const REVIEWS: [&str; 2] = [
    "/apis/authentication.k8s.io/v1/tokenreviews",
    "/apis/authorization.k8s.io/v1/subjectaccessreviews",
];

/// What may be sent over a transport.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Admits {
    /// Everything.
    All,
    /// GETs.
    Reads,
    /// GETs, and the reviews of tokens and of access, which store nothing.
    Reviews,
}

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

    /// This transport, which refuses what `admits` does not admit, before anything is sent.
    pub(crate) fn admitting(self, admits: Admits) -> Self {
        if admits == Admits::All {
            return self;
        }
        Self::new(move |request| match admits.refusal(request.method(), request.uri().path()) {
            None => self.send(request),
            Some(why) => Box::pin(std::future::ready(Err(why.into()))),
        })
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

// === impl Admits ===

impl Admits {
    /// Why this request must not be sent.
    fn refusal(self, method: &Method, path: &str) -> Option<String> {
        let is_review = method == Method::POST && REVIEWS.contains(&path);
        let is_admitted = match self {
            Self::All => true,
            Self::Reads => method == Method::GET,
            Self::Reviews => method == Method::GET || is_review,
        };
        (!is_admitted).then(|| format!("this connection only reads: {method} {path} is not sent"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shadow_only_reads() {
        let [token, access] = REVIEWS;
        for (method, path, reads, reviews) in [
            (Method::GET, "/api/v1/pods", true, true),
            (Method::POST, "/api/v1/namespaces/a/pods", false, false),
            (Method::POST, token, false, true),
            (Method::POST, access, false, true),
            (Method::PUT, access, false, false),
            (Method::POST, "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", false, false),
            (Method::PUT, "/api/v1/nodes/a/status", false, false),
            (Method::PATCH, "/api/v1/nodes/a", false, false),
            (Method::DELETE, "/api/v1/nodes/a", false, false),
        ] {
            let admitted = |admits: Admits| admits.refusal(&method, path).is_none();
            assert!(admitted(Admits::All));
            assert_eq!(admitted(Admits::Reads), reads, "{method} {path}");
            assert_eq!(admitted(Admits::Reviews), reviews, "{method} {path}");
        }
    }
}
