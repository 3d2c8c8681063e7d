//! Responses in the forms of Go's net/http.

use axum::response::{IntoResponse, Response};
use http::StatusCode;
use http::header::{CONTENT_TYPE, X_CONTENT_TYPE_OPTIONS};

/// Go's type of plain text.
pub(crate) const TEXT: &str = "text/plain; charset=utf-8";

/// Text that no browser interprets as anything else.
pub(crate) fn text(
    status: StatusCode,
    content_type: &'static str,
    body: impl Into<String>,
) -> Response {
    let headers = [(CONTENT_TYPE, content_type), (X_CONTENT_TYPE_OPTIONS, "nosniff")];
    (status, headers, body.into()).into_response()
}

/// As `http.Error`.
pub(crate) fn error(status: StatusCode, message: &str) -> Response {
    text(status, TEXT, format!("{message}\n"))
}

/// As `http.NotFound`.
pub(crate) fn not_found() -> Response {
    error(StatusCode::NOT_FOUND, "404 page not found")
}
