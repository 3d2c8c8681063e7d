//! The responses to refused requests: bytes and headers as upstream's.
//!
//! Errors are a `metav1.Status` as JSON. Upstream also writes YAML and protobuf for clients that
//! ask for them; we always write JSON, with its content type.

use api::go;
use bytes::Bytes;
use http::header::{
    ACCEPT, CACHE_CONTROL, CONNECTION, CONTENT_TYPE, USER_AGENT, X_CONTENT_TYPE_OPTIONS,
};
use http::request::Parts;
use http::{HeaderName, HeaderValue, Response, StatusCode, Version};
use serde::Serialize;

use crate::access::Question;

/// User agents whose responses are indented, as `isPrettyPrint` of
/// pkg/endpoints/handlers/negotiation.
const HUMANS: [&str; 3] = ["curl", "Wget", "Mozilla/5.0"];
const MACHINE_TYPES: [&str; 5] = [
    "*/*",
    "application/*",
    "application/json",
    "application/yaml",
    "application/vnd.kubernetes.protobuf",
];
const NOSNIFF: (HeaderName, HeaderValue) =
    (X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));

/// `metav1.Status`, in the order of upstream's fields.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Failure<'a> {
    kind: &'static str,
    api_version: &'static str,
    metadata: Empty,
    status: &'static str,
    message: &'a str,
    reason: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    details: Option<Empty>,
    code: u16,
}

#[derive(Serialize)]
struct Empty {}

/// 401: the credentials are not valid.
pub(crate) fn unauthorized(request: &Parts) -> Response<Bytes> {
    let status = failure(StatusCode::UNAUTHORIZED, "Unauthorized", "Unauthorized", None);
    closing(request, json(request, &status))
}

/// 403: the user is authenticated, and not allowed to do this.
pub(crate) fn forbidden(request: &Parts, question: &Question<'_>, reason: &str) -> Response<Bytes> {
    let Question { user, verb, path } = question;
    let message = format!("User {} cannot {verb} path {}", go::quote(&user.name), go::quote(path));
    let mut message = format!("forbidden: {}", sanitized(&message));
    if !reason.is_empty() {
        message = format!("{message}: {reason}");
    }
    let status = failure(StatusCode::FORBIDDEN, "Forbidden", &message, Some(Empty {}));
    let mut response = json(request, &status);
    response.headers_mut().extend([NOSNIFF]);
    if user.is_anonymous() { closing(request, response) } else { response }
}

/// 500: the authorizer could not decide.
pub(crate) fn internal_error(
    request: &Parts,
    question: &Question<'_>,
    error: &str,
) -> Response<Bytes> {
    let target = request.uri.path_and_query().map_or("", |target| target.as_str());
    let text = sanitized(&format!("Internal Server Error: {}: {error}", go::quote(target)));
    let body = Bytes::from(format!("{text}\n"));
    let code = StatusCode::INTERNAL_SERVER_ERROR;
    let mut response = answer(code, "text/plain; charset=utf-8", body);
    response.headers_mut().extend([NOSNIFF]);
    if question.user.is_anonymous() { closing(request, response) } else { response }
}

fn failure<'a>(
    code: StatusCode,
    reason: &'static str,
    message: &'a str,
    details: Option<Empty>,
) -> Failure<'a> {
    Failure {
        kind: "Status",
        api_version: "v1",
        metadata: Empty {},
        status: "Failure",
        message,
        reason,
        details,
        code: code.as_u16(),
    }
}

fn json(request: &Parts, status: &Failure<'_>) -> Response<Bytes> {
    let text = if is_indented(request) {
        serde_json::to_string_pretty(status)
    } else {
        serde_json::to_string(status).map(|text| text + "\n")
    };
    let text = go::escape_html(text.expect("a status is JSON"));
    let code = StatusCode::from_u16(status.code).expect("it was made of one");
    answer(code, "application/json", text.into())
}

fn answer(code: StatusCode, content_type: &'static str, body: Bytes) -> Response<Bytes> {
    let mut response = Response::new(body);
    *response.status_mut() = code;
    let headers = response.headers_mut();
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache, private"));
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    response
}

/// Over HTTP/2 an anonymous user cannot keep a connection, as UnauthenticatedHTTP2DOSMitigation.
/// HTTP/2 has no such header: as in Go, the server closes the connection and drops the header.
fn closing(request: &Parts, mut response: Response<Bytes>) -> Response<Bytes> {
    if request.version == Version::HTTP_2 {
        response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
    }
    response
}

fn is_indented(request: &Parts) -> bool {
    let header = |name| request.headers.get(name).and_then(|value| value.to_str().ok());
    let accept = header(ACCEPT).filter(|accept| !accept.trim().is_empty());
    if let Some(accept) = accept {
        // A client that accepts none of these gets indented JSON without a charset, also from
        // upstream.
        let Some(part) = accept.split(',').find(|part| takes_objects(part)) else { return true };
        if part.split(';').any(|word| word.trim() == "pretty=1") {
            return true;
        }
    }
    let mut pairs = request.uri.query().unwrap_or_default().split('&');
    let wish = pairs.find_map(|pair| pair.strip_prefix("pretty="));
    if let Some(wish) = wish.filter(|wish| !wish.is_empty()) {
        return matches!(wish, "1" | "t" | "T" | "TRUE" | "true" | "True");
    }
    let agent = header(USER_AGENT).unwrap_or_default();
    HUMANS.iter().any(|human| agent.starts_with(human))
}

/// Whether a part of an Accept header accepts an unchanged object: in a type that upstream
/// supports, and not converted to another kind.
fn takes_objects(part: &str) -> bool {
    let mut words = part.split(';').map(str::trim);
    let media = words.next().unwrap_or_default();
    let other_kind = words.any(|word| ["as=", "g=", "v="].iter().any(|key| word.starts_with(key)));
    MACHINE_TYPES.iter().any(|known| known.eq_ignore_ascii_case(media)) && !other_kind
}

/// Escapes everything that a browser could take for markup, as
/// pkg/endpoints/handlers/responsewriters.
fn sanitized(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
