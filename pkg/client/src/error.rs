//! What can go wrong with a request.

use std::error::Error;
use std::time::Duration;

use api::{Codec, InvalidName, wire};
use tower::BoxError;

use crate::Status;

/// The API server's messages for a failed precondition: from `BeforeDelete` in upstream's
/// k8s.io/apiserver/pkg/registry/rest/delete.go, which is the usual place, and from
/// `Preconditions.Check` in pkg/storage/interfaces.go.
const PRECONDITIONS: [&str; 3] = [
    "the UID in the precondition (",
    "the ResourceVersion in the precondition (",
    "Precondition failed: ",
];

/// A request that failed. Prints as the message for an operator or an Event: the API server's own
/// message if there was a response.
#[derive(Clone, Debug, thiserror::Error, PartialEq, Eq)]
pub enum ApiError {
    /// The API server responded with an error.
    #[error("{}", .0.message)]
    Status(Box<Status>),
    /// No response came; the request may have been carried out.
    #[error("{text}")]
    Transport {
        /// The error and its causes.
        text: String,
        /// Whether the connection was refused, so that nothing was carried out.
        refused: bool,
    },
    /// No response came in time; the request may have been carried out.
    #[error("{0}")]
    Timeout(String),
    /// The response could not be decoded.
    #[error("{0}")]
    Decode(String),
    /// Nothing was sent, since there are no credentials.
    #[error("{0}")]
    Credentials(String),
    /// Nothing was sent, since the name of the object cannot be part of a path.
    #[error("{0}")]
    Name(#[from] InvalidName),
    /// A write that was not sent: the client's guard refused it, for this reason.
    #[error("{0}")]
    Fenced(String),
}

impl ApiError {
    /// The error of a response. A body that is not a `Status` becomes the message.
    pub fn from_answer(code: u16, retry_after: Option<Duration>, body: &[u8]) -> Self {
        // The server writes errors in the requested codec, whatever Content-Type says.
        let codec =
            if body.starts_with(wire::PROTOBUF_MAGIC) { Codec::Protobuf } else { Codec::Json };
        let mut status = Status::decode(codec, body).unwrap_or_default();
        if status.message.is_empty() {
            status.bare = true;
            let text = String::from_utf8_lossy(body);
            let text: String = text.trim().chars().take(1024).collect();
            status.message = if text.is_empty() {
                format!("the server answered with HTTP {code}")
            } else {
                format!("the server answered with HTTP {code}: {text}")
            };
        }
        status.code = code;
        status.retry_after = retry_after.or(status.retry_after);
        Self::Status(Box::new(status))
    }

    /// A failure below HTTP.
    pub fn from_transport(error: &(dyn Error + 'static)) -> Self {
        let (mut text, mut refused) = (error.to_string(), false);
        let mut cause = Some(error);
        while let Some(error) = cause {
            let io = error.downcast_ref::<std::io::Error>();
            refused |= io.is_some_and(|io| io.kind() == std::io::ErrorKind::ConnectionRefused);
            let words = error.to_string();
            if !text.contains(&words) {
                text = format!("{text}: {words}");
            }
            cause = error.source();
        }
        Self::Transport { text, refused }
    }

    /// The API server's `Status`, if there was a response.
    pub fn status(&self) -> Option<&Status> {
        match self {
            Self::Status(status) => Some(status),
            Self::Transport { .. }
            | Self::Timeout(_)
            | Self::Decode(_)
            | Self::Credentials(_)
            | Self::Name(_)
            | Self::Fenced(_) => None,
        }
    }

    /// 404.
    pub fn is_not_found(&self) -> bool {
        self.has_code(404)
    }

    /// 404 because the object does not exist. Not if the server does not know its kind, or the
    /// whole path, which says nothing about the object.
    pub fn is_object_missing(&self) -> bool {
        self.is_not_found() && self.status().is_some_and(|status| !status.name.is_empty())
    }

    /// 403.
    pub fn is_forbidden(&self) -> bool {
        self.has_code(403)
    }

    /// 405: the kind does not support it.
    pub fn is_method_not_allowed(&self) -> bool {
        self.has_code(405)
    }

    /// 409 because the object has changed or exists.
    pub fn is_conflict(&self) -> bool {
        self.has_code(409)
    }

    /// 409 because the object differs from the one that the request named, by uid or version. Only
    /// the message shows that: its `Status` has no causes.
    pub fn is_failed_precondition(&self) -> bool {
        let words = |status: &Status| PRECONDITIONS.iter().any(|it| status.message.contains(it));
        self.is_conflict() && self.status().is_some_and(words)
    }

    /// 410, or its reason: the requested version is no longer available.
    pub fn is_gone(&self) -> bool {
        let gone = |status: &Status| matches!(status.reason.as_str(), "Expired" | "Gone");
        self.has_code(410) || self.status().is_some_and(gone)
    }

    /// 415: the kind does not support patches of this type.
    pub fn is_unsupported_media_type(&self) -> bool {
        self.has_code(415)
    }

    /// 422: the object is not valid.
    pub fn is_invalid(&self) -> bool {
        self.has_code(422)
    }

    /// 429.
    pub fn is_too_many_requests(&self) -> bool {
        self.has_code(429)
    }

    /// Whether the connection was refused.
    pub fn is_refused(&self) -> bool {
        matches!(self, Self::Transport { refused: true, .. })
    }

    /// Whether the request may have been carried out although it failed. That holds for every 5xx:
    /// etcd's "request timed out" and "leader changed" come as 500, and 502, 503 and 504 also come
    /// from load balancers, which do not know.
    pub fn is_ambiguous(&self) -> bool {
        match self {
            Self::Transport { refused, .. } => !refused,
            Self::Timeout(_) | Self::Decode(_) => true,
            Self::Credentials(_) | Self::Name(_) | Self::Fenced(_) => false,
            Self::Status(status) => status.code >= 500,
        }
    }

    /// The server has not reached the requested version.
    pub fn is_too_large_resource_version(&self) -> bool {
        self.has_cause("ResourceVersionTooLarge")
            || self.status().is_some_and(|s| s.message.contains("Too large resource version"))
    }

    /// Nothing can be created because the namespace is being deleted.
    pub fn is_namespace_terminating(&self) -> bool {
        self.has_cause("NamespaceTerminating")
    }

    /// The label for metrics: the HTTP code, `<error>` as upstream, or `<fenced>`.
    pub fn label(&self) -> String {
        match self {
            Self::Status(status) => status.code.to_string(),
            Self::Transport { .. }
            | Self::Timeout(_)
            | Self::Decode(_)
            | Self::Credentials(_)
            | Self::Name(_) => "<error>".to_owned(),
            Self::Fenced(_) => "<fenced>".to_owned(),
        }
    }

    fn has_code(&self, code: u16) -> bool {
        self.status().is_some_and(|status| status.code == code)
    }

    fn has_cause(&self, reason: &str) -> bool {
        let mut causes = self.status().into_iter().flat_map(|status| &status.causes);
        causes.any(|cause| cause.reason == reason)
    }
}

/// The cause of an error of kube's. Its own text covers all that kube can do, and would pull in its
/// code for kubeconfigs (decision 0005).
pub(crate) fn cause(error: kube::Error) -> BoxError {
    match error {
        kube::Error::Service(error) => error,
        kube::Error::HyperError(error) => error.into(),
        // Sending has no other errors.
        _ => "the request was not sent".into(),
    }
}
