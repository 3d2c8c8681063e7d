//! /debug/pprof and /debug/flags.

use std::sync::Arc;

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::response::{Html, IntoResponse, Response};
use axum::routing::any;
use http::header::{CONTENT_TYPE, LOCATION};
use http::{Method, StatusCode};

use crate::{Debugging, answer};

/// The largest request body that is read.
pub(crate) const BODY_BYTES_MAX: usize = 64 << 10;

/// As apiserver/pkg/server/routes/flags.go, whose only flag here is `v`.
const FLAGS: &str = "<html>
<head>
<title>/debug/flags/</title>
</head>
<body>
/debug/flags/<br>
<br>
flags:<br>
<table>
<tr>v<br>
</table>
<br>
full flags configurable<br>
</body>
</html>
";

type SetVerbosity = Box<dyn Fn(u32) -> Result<(), String> + Send + Sync>;

/// The debug pages, and `rest` behind them.
pub(crate) fn router(debugging: Debugging, rest: Router) -> Router {
    let set_verbosity = Arc::new(debugging.set_verbosity);
    Router::new()
        .route("/debug/pprof", any(redirect_to_profiles))
        .route("/debug/flags", any(Html(FLAGS)))
        .route("/debug/flags/", any(Html(FLAGS)))
        .route("/debug/flags/{*flag}", any(Html(FLAGS)))
        .route(
            "/debug/flags/v",
            any(async move |method: Method, body: Body| {
                put_verbosity(&set_verbosity, &method, body).await
            }),
        )
        .fallback_service(debugging.profiles.fallback_service(rest))
}

/// As `http.Redirect`: only GET and HEAD get a link.
async fn redirect_to_profiles(method: Method) -> Response {
    let (status, location) = (StatusCode::FOUND, (LOCATION, "/debug/pprof/"));
    if method == Method::GET || method == Method::HEAD {
        let link = "<a href=\"/debug/pprof/\">Found</a>.\n\n";
        let html = (CONTENT_TYPE, "text/html; charset=utf-8");
        return (status, [location, html], link).into_response();
    }
    (status, [location]).into_response()
}

/// As `StringFlagPutHandler` in apiserver/pkg/server/routes/flags.go.
async fn put_verbosity(set: &SetVerbosity, method: &Method, body: Body) -> Response {
    if method != Method::PUT {
        return plain(StatusCode::NOT_ACCEPTABLE, "unsupported http method");
    }
    let set = match to_bytes(body, BODY_BYTES_MAX).await {
        Ok(body) => set_verbosity(set, &body),
        Err(error) => Err(format!("error reading request body: {error}")),
    };
    match set {
        Ok(text) => plain(StatusCode::OK, &text),
        Err(text) => plain(StatusCode::BAD_REQUEST, &text),
    }
}

/// As `GlogSetter` in component-base/logs/logs.go, which parses the number twice, as unsigned and
/// as signed.
fn set_verbosity(set: &SetVerbosity, value: &[u8]) -> Result<String, String> {
    let unsigned = |why| format!("strconv.ParseUint: parsing {}: {why}", api::go::quote(value));
    let digits = std::str::from_utf8(value).ok().filter(|text| !text.is_empty());
    let digits = digits.filter(|text| text.bytes().all(|byte| byte.is_ascii_digit()));
    let digits = digits.ok_or_else(|| unsigned("invalid syntax"))?;
    let level: u32 = digits.parse().map_err(|_| unsigned("value out of range"))?;
    let failed = |why| format!("failed set klog.logging.verbosity {digits}: {why}");
    if i32::try_from(level).is_err() {
        let why =
            format!("strconv.ParseInt: parsing {}: value out of range", api::go::quote(value));
        return Err(failed(why));
    }
    set(level).map_err(failed)?;
    Ok(format!("successfully set klog.logging.verbosity to {digits}"))
}

/// Here upstream names no charset.
fn plain(status: StatusCode, message: &str) -> Response {
    answer::text(status, "text/plain", format!("{message}\n"))
}
