//! The server as a tower service.

use std::convert::Infallible;
use std::error::Error;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::{HeaderValue, Response};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use runtime::Clock;

use super::Body;
use crate::access::User;
use crate::read::render;
use crate::request::Request;
use crate::server::{Reply, Server};
use crate::status::Status;

/// How long a client may take to send a body.
const BODY_READ_MAX: Duration = Duration::from_mins(1);

/// A [`Server`] as a tower service: fit for `kube::Client::new`, and for hyper. It is always ready
/// and never fails: failures are responses.
#[derive(Clone)]
pub struct Service {
    server: Server,
    user: Option<User>,
}

type Answering = Pin<Box<dyn Future<Output = Result<Response<Body>, Infallible>> + Send>>;

impl Server {
    /// The server as a tower service, without a socket.
    pub fn service(&self) -> Service {
        Service { server: self.clone(), user: None }
    }

    /// The same for a client whose certificate names a user. A token counts only beside
    /// [`User::anonymous`].
    pub fn service_as(&self, user: User) -> Service {
        Service { server: self.clone(), user: Some(user) }
    }
}

impl<B> tower::Service<http::Request<B>> for Service
where
    B: http_body::Body + Send + 'static,
    B::Data: Send,
    B::Error: Into<Box<dyn Error + Send + Sync>>,
{
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = Answering;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: http::Request<B>) -> Answering {
        let Self { server, user } = self.clone();
        Box::pin(async move {
            let answer = match read(&server, request).await {
                Ok(request) => server.answer(Request { user, ..request }),
                Err(status) => Reply::Whole(render::status(&status, false)),
            };
            Ok(match answer {
                Reply::Whole(whole) => whole.map(Body::whole),
                Reply::Watch(watch) => {
                    let mut answer = Response::new(Body::watch(watch));
                    let json = HeaderValue::from_static("application/json");
                    answer.headers_mut().insert(CONTENT_TYPE, json);
                    answer
                }
            })
        })
    }
}

/// The request with its body, unless that is too large or too slow.
async fn read<B>(server: &Server, request: http::Request<B>) -> Result<Request, Status>
where
    B: http_body::Body,
    B::Error: Into<Box<dyn Error + Send + Sync>>,
{
    let (head, body) = request.into_parts();
    let bytes_max = server.shared.options.body_bytes_max;
    let body = std::pin::pin!(Limited::new(body, bytes_max));
    // A client is as fast as it is, however fast the sandbox's clock runs.
    let body = Clock::system().timeout(BODY_READ_MAX, body.collect()).await;
    let body: Bytes = match body {
        Ok(Ok(body)) => body.to_bytes(),
        Ok(Err(error)) if error.is::<LengthLimitError>() => {
            return Err(Status::too_large(bytes_max));
        }
        Ok(Err(error)) => return Err(Status::bad_request(error.to_string())),
        Err(runtime::Elapsed) => {
            return Err(Status::new(408, "Timeout", "the body of the request took too long"));
        }
    };
    let path = head.uri.path().to_owned();
    let query = head.uri.query().unwrap_or_default().to_owned();
    Ok(Request { method: head.method, path, query, headers: head.headers, body, user: None })
}
