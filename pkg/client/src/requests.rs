//! Requests as log lines, with the texts of client-go's transport/round_trippers.go: from `-v=6` on
//! the result, from 8 on the headers too. Bodies are never logged: they may be Secrets.

use std::collections::BTreeSet;
use std::time::Duration;

use http::{HeaderMap, Method, Request, Response, header};
use tracing::{Level, debug, enabled};

use crate::ApiError;

/// The target of lines without headers: this module.
pub const LOG_ANSWERS: &str = "client::requests";
/// The target of lines with headers.
pub const LOG_HEADERS: &str = "client::headers";

/// Logs a request before it is sent.
pub(crate) fn log_request<B>(host: &str, request: &Request<B>) {
    let (verb, url) = (request.method(), url(host, request.uri()));
    debug!(target: LOG_HEADERS, %verb, %url, headers = shown(request.headers()), "Request");
}

/// Logs the result of a request; an empty status means that there was no response.
pub(crate) fn log_response<B>(
    (verb, host, path): (&Method, &str, &str),
    answer: &Result<Response<B>, ApiError>,
    elapsed: Duration,
) {
    let url = url(host, path);
    let milliseconds = u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX);
    match answer {
        Ok(response) if enabled!(target: LOG_HEADERS, Level::DEBUG) => {
            let (status, headers) = (response.status(), shown(response.headers()));
            debug!(target: LOG_HEADERS, %verb, %url, %status, headers, milliseconds, "Response");
        }
        Ok(response) => {
            debug!(%verb, %url, status = %response.status(), milliseconds, "Response");
        }
        Err(error) => debug!(%verb, %url, status = "", milliseconds, %error, "Response"),
    }
}

/// Without a scheme, which is known only where the connection is opened.
fn url(host: &str, path: impl std::fmt::Display) -> String {
    format!("//{host}{path}")
}

/// One per line, sorted; credentials are masked, except for their type.
fn shown(headers: &HeaderMap) -> String {
    let lines: BTreeSet<String> = headers
        .iter()
        .map(|(name, value)| {
            let value = String::from_utf8_lossy(value.as_bytes());
            let secret = [header::AUTHORIZATION, header::COOKIE, header::SET_COOKIE];
            if !secret.contains(name) {
                return format!("{name}: {value}\n");
            }
            match value.split_once(' ') {
                Some(("Bearer", _)) => format!("{name}: Bearer <masked>\n"),
                Some(_) | None => format!("{name}: <masked>\n"),
            }
        })
        .collect();
    lines.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// client-go, `maskValue`.
    #[test]
    fn credentials_are_masked() {
        let request = Request::get("/api")
            .header("user-agent", "kcm")
            .header("authorization", "Bearer s3cret")
            .header("accept", "application/json")
            .header("cookie", "s3cret=1");
        let headers = request.body(()).unwrap().headers().clone();
        let expected = "accept: application/json\nauthorization: Bearer <masked>\n\
                        cookie: <masked>\nuser-agent: kcm\n";
        assert_eq!(shown(&headers), expected);
        for (value, expected) in [("Basic dTpw", "<masked>"), ("s3cret", "<masked>")] {
            let headers = HeaderMap::from_iter([(header::AUTHORIZATION, value.parse().unwrap())]);
            assert_eq!(shown(&headers), format!("authorization: {expected}\n"));
        }
    }
}
